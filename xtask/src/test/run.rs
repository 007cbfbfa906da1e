//! One run of a test runner: its output passes through and its closing lines are kept.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use super::tally::Tally;
use crate::cargo::shown;

/// What a run ended with.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) tally: Tally,
    /// `test result: ...` as it was printed, where there were tests.
    pub(crate) closing: Vec<String>,
}

pub(crate) fn run(command: &mut Command) -> Result<Outcome> {
    eprintln!("+ {}", shown(command));
    let started = command.stdout(Stdio::piped()).spawn();
    let mut child = started.with_context(|| format!("{} could not be started", shown(command)))?;
    let mut outcome = Outcome::default();
    if let Some(stdout) = child.stdout.take() {
        outcome.listen(BufReader::new(stdout))?;
    }
    outcome.judge(child.wait()?.success(), &shown(command));
    Ok(outcome)
}

impl Outcome {
    /// Bytes, not text: a test may print anything.
    fn listen(&mut self, mut stdout: impl BufRead) -> Result<()> {
        let mut line = Vec::new();
        while stdout.read_until(b'\n', &mut line)? > 0 {
            let text = String::from_utf8_lossy(&line);
            print!("{text}");
            if let Some(tally) = Tally::of_line(&text) {
                self.tally += tally;
                // Of the many programs without a test, none is named again at the end.
                if tally != Tally::default() {
                    self.closing.push(text.trim().to_owned());
                }
            }
            line.clear();
        }
        Ok(())
    }

    /// A runner that fails without a failed test did not build, or a test process died: that counts.
    fn judge(&mut self, success: bool, name: &str) {
        if !success && self.tally.failed == 0 {
            self.tally += Tally::FAILED;
            self.closing.push(format!("`{name}` did not come to an end of its own: counted as failed"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Tally};

    #[test]
    fn a_runner_that_dies_is_a_failure() {
        let mut outcome = Outcome::default();
        outcome.listen("running 1 test\n\u{0}\n".as_bytes()).unwrap();
        outcome.judge(false, "cargo test");
        assert_eq!(outcome.tally, Tally::FAILED);
        assert_eq!(outcome.closing.len(), 1);
    }

    #[test]
    fn closing_lines_are_kept_as_they_are() {
        const NONE: &str = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let line = "test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out";
        let mut outcome = Outcome::default();
        outcome.listen(format!("test a ... ok\n{line}\n{NONE}\n").as_bytes()).unwrap();
        outcome.judge(true, "cargo test");
        assert_eq!((outcome.tally.passed, outcome.closing), (2, vec![line.to_owned()]));
    }
}
