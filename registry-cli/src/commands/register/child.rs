//! The program that is registered while it runs.

use std::io::{self, IsTerminal};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process;

use super::Command;
use crate::exit::{ERROR, Failure};

pub(super) struct Child {
    process: process::Child,
    /// It leads a group of its own.
    group: Option<Pid>,
}

impl Child {
    /// Starts it in a group of its own, so that Ctrl-C reaches us alone and it goes on while callers turn away. From a
    /// terminal such a group may not read: it then has no input.
    pub(super) fn start(command: &Command<'_>) -> Result<Self, Failure> {
        let input = if io::stdin().is_terminal() { Stdio::null() } else { Stdio::inherit() };
        let process = process::Command::new(command.program)
            .args(command.arguments)
            .stdin(input)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| {
                let program = command.program.to_string_lossy();
                Failure::error(format!("{program} cannot be started: {error}"))
                    .next("name a program that is on PATH, or its path, after `--`")
            })?;
        let group = process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok(Self { process, group })
    }

    /// Its exit code, as a shell tells it: 128 + the signal that ended it. Cancel safe.
    pub(super) async fn wait(&mut self) -> Result<u8, Failure> {
        let status = self.process.wait().await;
        status.map(code).map_err(|error| Failure::error(format!("the command is lost sight of: {error}")))
    }

    /// Sends it, and whatever it started in its group, a signal.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // It may have ended by itself: so much the better.
            let _ = kill_process_group(group, signal);
        }
    }
}

fn code(status: ExitStatus) -> u8 {
    let signalled = status.signal().map(|signal| 128 + signal);
    status.code().or(signalled).and_then(|code| u8::try_from(code).ok()).unwrap_or(ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_a_shell() {
        assert_eq!(code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(code(ExitStatus::from_raw(0)), 0);
        assert_eq!(code(ExitStatus::from_raw(9)), 137);
    }
}
