//! Every published crate can be packed, and builds from what was packed.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use super::Outcome;
use crate::cargo::{Metadata, Package, cargo, shown};
use crate::setup;
use crate::workspace::output;

pub(super) fn run() -> Result<Outcome> {
    if let Err(why) = setup::ensure(&[])?.protoc {
        return Ok(Outcome::Skipped(format!("the etcd backend cannot be built: {why:#}")));
    }
    let metadata = Metadata::read()?;
    let packages: Vec<&Package> = metadata.members().filter(|package| package.is_published()).collect();
    forget(&packages)?;
    let mut publish = cargo(&["publish", "--dry-run", "--allow-dirty", "--all-features"]);
    // In one call: a crate then finds the others that are not published yet.
    for package in &packages {
        publish.args(["--package", &package.name]);
    }
    eprintln!("+ {}", shown(&publish));
    let mut child = publish.stderr(Stdio::piped()).spawn()?;
    let mut taken = Vec::new();
    for line in child.stderr.take().into_iter().flat_map(|stderr| BufReader::new(stderr).lines()) {
        let line = line?;
        taken.extend(taken_name(&line).map(str::to_owned));
        eprintln!("{line}");
    }
    let status = child.wait()?;
    forget(&packages)?;
    if !status.success() {
        bail!("`cargo publish --dry-run` failed ({status})");
    }
    // A dry run only warns of it; the real one would be refused.
    for name in taken {
        println!(
            "note: {name} is on the registry already: it is published under another name or version, or not"
        );
    }
    Ok(Outcome::Passed)
}

/// Cargo takes a version of a published crate for unchangeable: what it built of it, and what it unpacked into its
/// own home (in a folder of a nameless host), would stand in for today's crate. Both must go.
fn forget(packages: &[&Package]) -> Result<()> {
    let mut clean = cargo(&["clean", "--quiet"]);
    for package in packages {
        clean.args(["--package", &package.name]);
    }
    output(&mut clean)?;
    let home = env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| Some(env::home_dir()?.join(".cargo")));
    let Some(entries) = home.and_then(|home| fs::read_dir(home.join("registry/src")).ok()) else {
        return Ok(());
    };
    for entry in entries {
        let folder = entry?;
        if !folder.file_name().to_string_lossy().starts_with('-') {
            continue;
        }
        for package in packages {
            let copy = folder.path().join(format!("{}-{}", package.name, package.version));
            if copy.is_dir() {
                fs::remove_dir_all(&copy).with_context(|| format!("{} cannot be removed", copy.display()))?;
            }
        }
    }
    Ok(())
}

fn taken_name(line: &str) -> Option<&str> {
    line.strip_prefix("warning: crate ")?.split_once(" already exists on ").map(|(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::taken_name;

    #[test]
    fn a_taken_name_is_noticed() {
        assert_eq!(taken_name("warning: crate a-b@0.1.0 already exists on the index"), Some("a-b@0.1.0"));
        assert_eq!(taken_name("warning: manifest has no documentation"), None);
    }
}
