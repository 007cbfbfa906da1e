//! What can go wrong with the harness itself.

use std::{error::Error, fmt, io, path::PathBuf, process::ExitStatus, time::Duration};

use super::EtcdVersion;

/// Why a cluster could not be had, or an act on it could not be done.
#[derive(Debug)]
#[non_exhaustive]
pub enum HarnessError {
    /// No etcd is installed, or none of the version asked for.
    NotInstalled {
        /// The version asked for, if one was.
        wanted: Option<String>,
        /// The versions that are installed.
        found: Vec<EtcdVersion>,
    },
    /// A file taken for an etcd does not answer `--version` as one.
    BadBinary {
        /// The file.
        path: PathBuf,
        /// What it did instead.
        reason: String,
    },
    /// A text that is no version.
    BadVersion(String),
    /// The builder was asked for something that no cluster can be.
    BadRequest(String),
    /// A program beside etcd (`etcdctl`, `etcdutl`) is not installed.
    ToolMissing(String),
    /// The operating system refused something.
    Io {
        /// What was tried.
        what: String,
        /// Its answer.
        source: io::Error,
    },
    /// No free port, or each choice was taken by someone else before the member had it.
    NoFreePort,
    /// A member ended by itself.
    MemberExited {
        /// The member's index.
        member: usize,
        /// How it ended.
        status: ExitStatus,
        /// The end of its log.
        log: String,
    },
    /// A member was not ready in time.
    NotReady {
        /// The member's index.
        member: usize,
        /// How long was waited.
        waited: Duration,
        /// The last answer or error it gave.
        last: String,
        /// The end of its log.
        log: String,
    },
    /// No member led in time.
    NoLeader {
        /// How long was waited.
        waited: Duration,
    },
    /// The member is not running, or there is no member of that index.
    NotRunning(usize),
    /// A member answered with something else than 200 and a text.
    BadAnswer(String),
    /// A program ended with an error.
    Failed {
        /// The program and its arguments.
        command: String,
        /// What it wrote to its standard error.
        stderr: String,
    },
}

impl HarnessError {
    /// Wraps an error of the operating system, telling what was tried.
    pub(super) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::Io { what, source }
    }
}

const HOW_TO_INSTALL: &str = "run `cargo xtask setup`, or install etcd 3.4 or newer (Debian: etcd-server and \
                              etcd-client), or set REGISTRY_ETCD_BIN to an etcd binary";

impl fmt::Display for HarnessError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotInstalled { wanted: None, .. } => write!(f, "no etcd is installed: {HOW_TO_INSTALL}"),
            Self::NotInstalled { wanted: Some(wanted), found } => {
                let found = found.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                let found = if found.is_empty() { "none" } else { &found };
                write!(f, "no etcd {wanted} is installed (found: {found}): {HOW_TO_INSTALL}")
            }
            Self::BadBinary { path, reason } => {
                write!(f, "{} does not answer `--version` as etcd does: {reason}", path.display())
            }
            Self::BadVersion(text) => write!(f, "{text:?} is no version of etcd, such as 3.5 or 3.5.16"),
            Self::BadRequest(what) | Self::BadAnswer(what) => f.write_str(what),
            Self::ToolMissing(tool) => {
                write!(
                    f,
                    "no `{tool}` beside etcd or on PATH: run `cargo xtask setup`, or install etcd-client"
                )
            }
            Self::Io { what, .. } => write!(f, "cannot {what}"),
            Self::NoFreePort => f.write_str("no free port on 127.0.0.1"),
            Self::MemberExited { member, status, log } => {
                write!(f, "member {member} ended by itself ({status}); its log ends with:\n{log}")
            }
            Self::NotReady { member, waited, last, log } => write!(
                f,
                "member {member} is not ready after {waited:?} (last: {last}); its log ends with:\n{log}"
            ),
            Self::NoLeader { waited } => write!(f, "no member leads after {waited:?}"),
            Self::NotRunning(member) => write!(f, "member {member} is not running"),
            Self::Failed { command, stderr } => write!(f, "`{command}` failed: {}", stderr.trim()),
        }
    }
}

impl Error for HarnessError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
