//! How it ends: 0 ok, 1 error, 2 usage, 3 not found, or the code of the command that was run.

use std::error::Error as _;
use std::io;
use std::process::ExitCode;

use registry_core::{Error, ErrorKind};

use crate::words::plain;

/// Something did not work.
pub(crate) const ERROR: u8 = 1;
/// It was asked for wrongly.
pub(crate) const USAGE: u8 = 2;
/// What was named is not there.
pub(crate) const NOT_FOUND: u8 = 3;

/// How a command ends that does not fail: 0, unless it passes on another program's code.
pub(crate) type Outcome = Result<u8, Failure>;

/// Why a command failed, and what to do next.
#[derive(Debug)]
pub(crate) struct Failure {
    code: u8,
    message: String,
    causes: Vec<String>,
    next: Option<String>,
    /// Nobody reads our output any more: no failure to talk about.
    quiet: bool,
}

impl Failure {
    fn new(code: u8, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), causes: Vec::new(), next: None, quiet: false }
    }

    pub(crate) fn error(message: impl Into<String>) -> Self {
        Self::new(ERROR, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(NOT_FOUND, message)
    }

    /// With what to do next.
    pub(crate) fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let code = match error.kind() {
            ErrorKind::InvalidArgument { .. } | ErrorKind::TooLarge { .. } => USAGE,
            ErrorKind::NotRegistered => NOT_FOUND,
            _ => ERROR,
        };
        let mut failure = Self::new(code, error.to_string());
        let mut cause = error.source();
        while let Some(error) = cause {
            failure.causes.push(error.to_string());
            cause = error.source();
        }
        failure.next = next(error.kind()).map(str::to_owned);
        failure
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let quiet = error.kind() == io::ErrorKind::BrokenPipe;
        Self { quiet, ..Self::error(format!("the answer could not be written: {error}")) }
    }
}

fn next(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::AlreadyExists { .. } => {
            "choose another --id, or replace the living instance with --takeover; `registryctl instances SERVICE` \
             shows it"
        }
        ErrorKind::Fenced => "another process took the id over; to have both, give each an --id of its own",
        ErrorKind::Unavailable { .. } | ErrorKind::DeadlineExceeded => {
            "see that the registry runs and that --target names it; --log=info tells what was tried"
        }
        ErrorKind::Ambiguous => {
            "it may have taken effect all the same: look with `registryctl instances SERVICE`, then repeat it"
        }
        ErrorKind::Unauthenticated => "name a user in the target: etcd://user:password@host:2379",
        ErrorKind::PermissionDenied => "ask the registry's administrator for a role that allows this",
        ErrorKind::ResourceExhausted => {
            "the registry is full or overloaded: free room in it or wait, then repeat"
        }
        ErrorKind::TooLarge { .. } => "say less with --meta and --address",
        ErrorKind::Internal => "please report this",
        _ => return None,
    })
}

/// Tells a failure on stderr, and gives the code to end with.
pub(crate) fn code(outcome: Outcome) -> ExitCode {
    let failure = match outcome {
        Ok(code) => return ExitCode::from(code),
        Err(failure) if failure.quiet => return ExitCode::SUCCESS,
        Err(failure) => failure,
    };
    eprintln!("error: {}", plain(&failure.message));
    let mut causes = failure.causes;
    causes.dedup();
    for cause in &causes {
        eprintln!("  because: {}", plain(cause));
    }
    if let Some(next) = &failure.next {
        eprintln!("  next: {}", plain(next));
    }
    ExitCode::from(failure.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_become_codes() {
        let code = |error: Error| Failure::from(error).code;
        assert_eq!(code(Error::invalid("id", "x")), USAGE);
        assert_eq!(code(Error::not_registered("x")), NOT_FOUND);
        assert_eq!(code(Error::unavailable("x")), ERROR);
    }

    #[test]
    fn a_reader_who_left_is_no_failure() {
        assert!(Failure::from(io::Error::from(io::ErrorKind::BrokenPipe)).quiet);
        assert!(!Failure::from(io::Error::from(io::ErrorKind::StorageFull)).quiet);
    }

    #[test]
    fn causes_are_told_one_by_one() {
        let error = Error::unavailable("no answer").with_source(io::Error::other("refused"));
        let failure = Failure::from(error);
        assert_eq!(failure.causes, ["refused"]);
        assert!(failure.next.is_some());
    }
}
