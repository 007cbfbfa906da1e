//! What etcd's errors mean here: one table.
//!
//! Codes mislead (ETCD.md 5): a dead stream is `Unknown`, overload is `Unknown` or `ResourceExhausted`, an outdated
//! token is `InvalidArgument`. So the text of the server decides first, then what broke the transport, then the code.

use std::error::Error as StdError;
use std::fmt;

use etcd_client::Error as VendorError;
use registry_core::{Error, ErrorKind, FollowEnd};
use tonic::{Code, ConnectError, Status};

/// What a failed call means for the next step. The error inside is the one to report if there is none.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// Certainly not processed: another member may be asked, also to write.
    Unprocessed(Error),
    /// The outcome is unknown: only what may happen twice may be asked again.
    Lost(Error),
    /// The server's final word.
    Refused(Error),
    /// The token is not accepted any more: authenticate, then ask again.
    Token(Error),
}

impl Fault {
    /// The error to report.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Unprocessed(error) | Self::Lost(error) | Self::Refused(error) | Self::Token(error) => error,
        }
    }

    /// How a watch ends by it: what is refused for good ends it, all else is a lost link.
    pub(crate) fn into_end(self) -> FollowEnd {
        match self {
            Self::Refused(error) if is_denial(&error) => FollowEnd::Denied(error),
            fault => FollowEnd::Disconnected(fault.into_error()),
        }
    }

    /// No connection came up in the time of the call.
    pub(crate) fn too_late() -> Self {
        Self::Unprocessed(Error::unavailable("no connection to etcd in the time of the call"))
    }

    /// An attempt that did not answer in time.
    pub(crate) fn timed_out(what: &str) -> Self {
        Self::Lost(Error::new(ErrorKind::DeadlineExceeded, format!("etcd did not answer {what} in time")))
    }
}

/// Whether credentials were refused.
pub(crate) fn is_denial(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unauthenticated)
}

/// Whether a read failed because the revision it asked for is not in the history (any more): list anew.
pub(crate) fn is_history_gone(error: &Error) -> bool {
    error.source().is_some_and(<dyn StdError>::is::<HistoryGone>)
}

/// The cause of an error for which [`is_history_gone`] holds.
#[derive(Debug)]
struct HistoryGone;

impl fmt::Display for HistoryGone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the revision is not in the history of the store")
    }
}

impl StdError for HistoryGone {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meaning {
    Unprocessed,
    Lost,
    Token,
    HistoryGone,
    Refused(Kind),
}

/// The kinds that etcd's refusals have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Invalid,
    Internal,
    NotRegistered,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unsupported,
}

use Kind::{
    Internal, Invalid, NotRegistered, PermissionDenied, ResourceExhausted, Unauthenticated, Unsupported,
};
use Meaning::Refused;

/// A part of the server's text, and its meaning. The first that is found counts.
const TEXTS: &[(&str, Meaning)] = &[
    ("invalid auth token", Meaning::Token),
    ("revision of auth store is old", Meaning::Token),
    // Authentication was switched on after the connection was made.
    ("user name is empty", Meaning::Token),
    ("authentication failed", Refused(Unauthenticated)),
    ("permission denied", Refused(PermissionDenied)),
    ("required revision has been compacted", Meaning::HistoryGone),
    ("required revision is a future revision", Meaning::HistoryGone),
    ("database space exceeded", Refused(ResourceExhausted)),
    ("too many requests", Refused(ResourceExhausted)),
    ("requested lease not found", Refused(NotRegistered)),
    ("too large lease TTL", Refused(Invalid)),
    ("request is too large", Refused(Invalid)),
    ("decoded message length too large", Refused(ResourceExhausted)),
    ("too many operations in txn", Refused(Internal)),
    ("duplicate key given in txn", Refused(Internal)),
    // Checked before a request is taken up.
    ("no leader", Meaning::Unprocessed),
    ("corrupt cluster", Meaning::Unprocessed),
    ("not supported for learner", Meaning::Unprocessed),
    ("not capable", Meaning::Unprocessed),
];

/// What a broken transport says somewhere below its error.
const CAUSES: &[(&str, Meaning)] = &[
    // The server wants a certificate, or another one.
    ("alert: AccessDenied", Refused(Unauthenticated)),
    ("alert: BadCertificate", Refused(Unauthenticated)),
    ("alert: CertificateExpired", Refused(Unauthenticated)),
    ("alert: CertificateRequired", Refused(Unauthenticated)),
    ("alert: CertificateRevoked", Refused(Unauthenticated)),
    ("alert: CertificateUnknown", Refused(Unauthenticated)),
    ("alert: UnknownCA", Refused(Unauthenticated)),
    ("alert: UnsupportedCertificate", Refused(Unauthenticated)),
    // We do not accept the server's. It may be renewed, so it is no final word.
    ("invalid peer certificate", Meaning::Unprocessed),
];

const CODES: &[(Code, Meaning)] = &[
    (Code::PermissionDenied, Refused(PermissionDenied)),
    (Code::Unauthenticated, Meaning::Token),
    (Code::ResourceExhausted, Refused(ResourceExhausted)),
    (Code::InvalidArgument, Refused(Invalid)),
    (Code::OutOfRange, Refused(Invalid)),
    (Code::NotFound, Refused(NotRegistered)),
    (Code::Unimplemented, Refused(Unsupported)),
    (Code::FailedPrecondition, Refused(Internal)),
    (Code::AlreadyExists, Refused(Internal)),
];

/// Classifies an error of the client crate.
pub(crate) fn classify(error: VendorError) -> Fault {
    match error {
        VendorError::GRpcStatus(status) => fault(of_status(&status), status),
        VendorError::TransportError(error) => fault(of_transport(&error), error),
        VendorError::InvalidArgs(text) => fault(Refused(Invalid), text),
        error => fault(Meaning::Lost, error),
    }
}

/// Classifies the failure to bring up a connection: nothing was sent.
pub(crate) fn classify_connect(error: tonic::transport::Error) -> Fault {
    fault(of_transport(&error), error)
}

/// Classifies why the server refused or ended one watch of a stream that lives on.
pub(crate) fn classify_watch(reason: &str) -> Fault {
    fault(find(TEXTS, reason).unwrap_or(Meaning::Lost), reason)
}

fn of_transport(error: &tonic::transport::Error) -> Meaning {
    of_causes(error).unwrap_or(Meaning::Unprocessed)
}

fn of_status(status: &Status) -> Meaning {
    find(TEXTS, status.message())
        .or_else(|| of_causes(status))
        .or_else(|| CODES.iter().find(|(code, _)| *code == status.code()).map(|(_, meaning)| *meaning))
        .unwrap_or(Meaning::Lost)
}

/// What the chain of causes tells.
fn of_causes(error: &(dyn StdError + 'static)) -> Option<Meaning> {
    let mut unsent = None;
    let mut next = error.source();
    while let Some(cause) = next {
        if let Some(meaning) = find(CAUSES, &cause.to_string()) {
            return Some(meaning);
        }
        if cause.is::<ConnectError>() {
            unsent = Some(Meaning::Unprocessed);
        }
        next = cause.source();
    }
    unsent
}

fn find(table: &[(&str, Meaning)], text: &str) -> Option<Meaning> {
    table.iter().find(|(part, _)| text.contains(part)).map(|(_, meaning)| *meaning)
}

fn fault(meaning: Meaning, cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Fault {
    let unavailable = || ErrorKind::Unavailable { time_left: None };
    match meaning {
        Meaning::Unprocessed => {
            Fault::Unprocessed(Error::new(unavailable(), "etcd cannot take requests").with_source(cause))
        }
        Meaning::Lost => {
            Fault::Lost(Error::new(unavailable(), "etcd did not finish the request").with_source(cause))
        }
        Meaning::Token => Fault::Token(
            Error::new(ErrorKind::Unauthenticated, "etcd does not accept the login").with_source(cause),
        ),
        Meaning::HistoryGone => {
            let message = "the history that was asked for is not there";
            Fault::Refused(Error::new(unavailable(), message).with_source(HistoryGone))
        }
        Refused(kind) => {
            Fault::Refused(Error::new(kind.into(), "etcd refused the request").with_source(cause))
        }
    }
}

impl From<Kind> for ErrorKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Invalid => Self::InvalidArgument { field: "request".to_owned() },
            Internal => Self::Internal,
            NotRegistered => Self::NotRegistered,
            PermissionDenied => Self::PermissionDenied,
            ResourceExhausted => Self::ResourceExhausted,
            Unauthenticated => Self::Unauthenticated,
            Unsupported => Self::Unsupported,
        }
    }
}

#[cfg(test)]
mod tests;
