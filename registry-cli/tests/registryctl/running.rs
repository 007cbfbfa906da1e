//! Runs the program: to its end, or beside the test.

use std::process::{Output, Stdio};
use std::time::Duration;

use tokio::process::Command;
use tokio::time::timeout;

/// No command that answers takes longer than this, on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// The program, told nothing by the environment of the test.
pub(crate) fn registryctl(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_registryctl"));
    command.args(arguments).env_remove("REGISTRY_TARGET").env_remove("REGISTRY_LOG");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// How it ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    /// The same, once it ended with this code.
    #[track_caller]
    pub(crate) fn with(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Whether what it says on stderr holds all of these.
    #[track_caller]
    pub(crate) fn says(&self, words: &[&str]) {
        for word in words {
            assert!(self.err.contains(word), "no {word:?} in {self:#?}");
        }
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("UTF-8"),
            err: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }
}

/// Runs it to its end.
pub(crate) async fn run(arguments: &[&str]) -> Ended {
    ended(&mut registryctl(arguments)).await
}

pub(crate) async fn ended(command: &mut Command) -> Ended {
    timeout(LIMIT, command.output()).await.expect("no end in time").expect("it can be started").into()
}
