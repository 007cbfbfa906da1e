//! What a suite could not run says so in a file: one line `<harness> <rule> <why>` per skip.

use std::collections::BTreeMap;
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

    /// What was skipped, one per test.
    pub(crate) fn read(&self) -> Result<Vec<Skip>> {
        Ok(fs::read_to_string(&self.file)?.lines().filter_map(Skip::parse).collect())
    }
}

/// One test that returned without looking.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skip {
    harness: String,
    rule: String,
    why: String,
}

impl Skip {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.trim().splitn(3, ' ').map(str::to_owned);
        let harness = words.next().filter(|word| !word.is_empty())?;
        let rule = words.next().unwrap_or_else(|| "?".to_owned());
        Some(Self { harness, rule, why: words.next().unwrap_or_else(|| "no reason given".to_owned()) })
    }
}

/// One line per rule and reason, with all whom it concerns.
pub(crate) fn told(skips: &[Skip]) -> Vec<String> {
    let mut rules: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for skip in skips {
        rules.entry((&skip.rule, &skip.why)).or_default().push(&skip.harness);
    }
    let lines = rules.into_iter().map(|((rule, why), mut harnesses)| {
        harnesses.sort_unstable();
        format!("skipped: {rule}: {why} ({})", harnesses.join(", "))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::{Skip, told};

    #[test]
    fn every_skip_is_told_with_its_reason() {
        let text = "memory W9 no compaction here\netcd R6\n\nboxed W9 no compaction here\n";
        let skips: Vec<Skip> = text.lines().filter_map(Skip::parse).collect();
        assert_eq!(skips.len(), 3);
        assert_eq!(
            told(&skips),
            ["skipped: R6: no reason given (etcd)", "skipped: W9: no compaction here (boxed, memory)"]
        );
    }
}
