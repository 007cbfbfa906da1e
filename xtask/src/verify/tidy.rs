//! What no compiler checks: sizes, names, banned words, addresses, and the files that must be there.
//!
//! Each rule is a pure function over one file, and each is seen to fail in its own test.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::Outcome;
use crate::workspace::root;

mod addresses;
mod layout;
mod size;
mod words;

/// A text file of the project.
#[derive(Debug)]
struct File {
    /// From the workspace's root, with `/`.
    path: String,
    text: String,
}

impl File {
    fn is_rust(&self) -> bool {
        Path::new(&self.path).extension().is_some_and(|ending| ending == "rs")
    }

    fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text.lines().enumerate().map(|(index, line)| (index + 1, line))
    }

    fn at(&self, line: usize, what: &str) -> String {
        format!("{}:{line}: {what}", self.path)
    }
}

type Rule = fn(&File) -> Vec<String>;

const RULES: [Rule; 7] = [
    size::faults,
    words::banned,
    words::vendor,
    words::ignored_examples,
    addresses::home_paths,
    addresses::hosts,
    layout::faults,
];

pub(super) fn run() -> Result<Outcome> {
    let mut files = Vec::new();
    read(&root(), "", &mut files)?;
    for note in files.iter().filter_map(size::note) {
        println!("note: {note}");
    }
    let mut faults: Vec<String> =
        files.iter().flat_map(|file| RULES.iter().flat_map(|rule| rule(file))).collect();
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    faults.extend(layout::missing(&paths));
    for fault in &faults {
        println!("tidy: {fault}");
    }
    println!("{} text files looked at", files.len());
    if !faults.is_empty() {
        bail!("{} faults", faults.len());
    }
    Ok(Outcome::Passed)
}

/// Not part of the project's texts: built, fetched, or git's own.
fn is_foreign(path: &str) -> bool {
    matches!(path, "target" | ".git" | ".tools" | ".cargo/tools.toml")
}

fn read(folder: &Path, prefix: &str, files: &mut Vec<File>) -> Result<()> {
    let mut entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = format!("{prefix}{}", entry.file_name().display());
        let kind = entry.file_type()?;
        if is_foreign(&path) {
            continue;
        }
        if kind.is_dir() {
            read(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            let bytes = fs::read(entry.path()).with_context(|| format!("{path} cannot be read"))?;
            // What is not UTF-8 is no text.
            if let Ok(text) = String::from_utf8(bytes) {
                files.push(File { path, text });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
fn file(path: &str, text: &str) -> File {
    File { path: path.to_owned(), text: text.to_owned() }
}
