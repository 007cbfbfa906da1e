//! Counting what test runners say.

use std::fmt;
use std::ops::AddAssign;

/// Tests by outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Tally {
    pub(crate) const PASSED: Self = Self { passed: 1, failed: 0, skipped: 0 };
    pub(crate) const FAILED: Self = Self { passed: 0, failed: 1, skipped: 0 };
    pub(crate) const SKIPPED: Self = Self { passed: 0, failed: 0, skipped: 1 };

    /// Reads `test result: ok. 9 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; ...`. What is filtered
    /// out was not asked for; what is ignored was, and did not run.
    pub(crate) fn of_line(line: &str) -> Option<Self> {
        let counts = line.trim_start().strip_prefix("test result: ")?.split_once(". ")?.1;
        let count = |name: &str| {
            let mut parts = counts.split(';').filter_map(|part| part.trim().split_once(' '));
            parts.find(|(_, word)| *word == name).and_then(|(number, _)| number.parse().ok())
        };
        Some(Self { passed: count("passed")?, failed: count("failed")?, skipped: count("ignored")? })
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn closing_lines_add_up_to_one_summary() {
        let lines = [
            "running 3 tests",
            "test result: ok. 9 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.00s",
            "test result: FAILED. 2 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.20s",
            "all doctests ran in 0.10s; merged doctests compilation took 0.05s",
        ];
        let mut sum = Tally::default();
        lines.iter().filter_map(|line| Tally::of_line(line)).for_each(|tally| sum += tally);
        assert_eq!(sum.to_string(), "11 passed, 3 failed, 1 skipped");
    }

    #[test]
    fn other_words_count_nothing() {
        for line in ["test result: ok", "test result: ok. many passed; 0 failed", "", "passed"] {
            assert_eq!(Tally::of_line(line), None, "{line}");
        }
    }
}
