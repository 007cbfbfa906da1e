//! What a suite could not run says so in a file: one line `<harness> <rule> <why>` per skip.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};

use crate::workspace::root;

/// Names the file to the test processes.
pub(crate) const VARIABLE: &str = "REGISTRY_SKIPS";

/// The file of one test run.
#[derive(Debug)]
pub(crate) struct Skips {
    pub(crate) file: PathBuf,
}

impl Skips {
    /// Starts empty.
    pub(crate) fn new(run: &str) -> Result<Self> {
        let folder = root().join("target");
        fs::create_dir_all(&folder)?;
        let file = folder.join(format!("skips-{run}.txt"));
        fs::write(&file, "").with_context(|| format!("{} cannot be written", file.display()))?;
        Ok(Self { file })
    }

    /// What was skipped, one line per test.
    pub(crate) fn read(&self) -> Result<Vec<String>> {
        Ok(skipped(&fs::read_to_string(&self.file)?))
    }
}

fn skipped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text.lines().filter_map(worded).collect();
    lines.sort();
    lines
}

fn worded(line: &str) -> Option<String> {
    let mut words = line.trim().splitn(3, ' ');
    let (harness, rule) = (words.next().filter(|word| !word.is_empty())?, words.next().unwrap_or("?"));
    Some(format!("skipped: {harness} {rule}: {}", words.next().unwrap_or("no reason given")))
}

#[cfg(test)]
mod tests {
    use super::skipped;

    #[test]
    fn every_skip_is_told_with_its_reason() {
        let text = "memory W9 no compaction here\netcd R6\n\n";
        assert_eq!(
            skipped(text),
            ["skipped: etcd R6: no reason given", "skipped: memory W9: no compaction here"]
        );
    }
}
