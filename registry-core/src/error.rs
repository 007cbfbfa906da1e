//! The one error of the registry: a kind to act on, and words to read.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::lease::Generation;
use crate::snapshot::LeftOut;

type Source = Box<dyn std::error::Error + Send + Sync + 'static>;

/// The result of every call of the registry.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, in a form that a program can act on.
///
/// Match on it with a wildcard arm: kinds may be added.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Input that no backend would take; nothing was sent (R1).
    InvalidArgument {
        /// The field that is wrong, in the words of the API (`service`, `id`, `endpoints[0].port`).
        field: String,
    },
    /// The encoded record is larger than the registry takes; nothing was sent.
    TooLarge {
        /// The most that is taken, in bytes.
        limit: usize,
        /// What the record measures, in bytes.
        actual: usize,
    },
    /// The id is alive and held by another owner (R5).
    AlreadyExists {
        /// The ownership in force: what `Takeover::If` may name.
        generation: Generation,
    },
    /// The registration is unknown, expired or was deregistered (H2).
    NotRegistered,
    /// Another owner holds the id now (H3).
    Fenced,
    /// The backend could not be reached; nothing was changed as far as is known.
    Unavailable {
        /// How long the registration lives on without a heartbeat, where the call was about one (H4).
        time_left: Option<Duration>,
    },
    /// The service has no instance that may be called.
    NoAvailableInstances {
        /// How many were left out, by reason.
        left_out: LeftOut,
        /// The age of the list that says so.
        age: Duration,
    },
    /// A write whose outcome is unknown: it may have taken effect. Repeat it with the same owner token (R6).
    Ambiguous,
    /// A read that did not answer within its deadline (Q6).
    DeadlineExceeded,
    /// The caller is known and may not do this.
    PermissionDenied,
    /// The caller is not known: credentials are wrong, missing or expired.
    Unauthenticated,
    /// The backend refuses for lack of room or because of too many requests.
    ResourceExhausted,
    /// The backend cannot do this.
    Unsupported,
    /// The handle was closed (C3).
    Closed,
    /// A broken promise inside the registry or its backend. Please report it.
    Internal,
}

impl ErrorKind {
    /// The kind's name without its fields, as logs and metrics print it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::InvalidArgument { .. } => "InvalidArgument",
            Self::TooLarge { .. } => "TooLarge",
            Self::AlreadyExists { .. } => "AlreadyExists",
            Self::NotRegistered => "NotRegistered",
            Self::Fenced => "Fenced",
            Self::Unavailable { .. } => "Unavailable",
            Self::NoAvailableInstances { .. } => "NoAvailableInstances",
            Self::Ambiguous => "Ambiguous",
            Self::DeadlineExceeded => "DeadlineExceeded",
            Self::PermissionDenied => "PermissionDenied",
            Self::Unauthenticated => "Unauthenticated",
            Self::ResourceExhausted => "ResourceExhausted",
            Self::Unsupported => "Unsupported",
            Self::Closed => "Closed",
            Self::Internal => "Internal",
        }
    }
}

/// An error of the registry: [`kind`](Self::kind) to act on, the operation and target it concerns, and its cause.
///
/// `Display` tells one level only; the cause stands in [`source`](std::error::Error::source). Cheap to clone.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    operation: Option<&'static str>,
    target: Option<String>,
    source: Option<Arc<Source>>,
}

impl Error {
    /// An error of this kind with a message that says what to do or what is wrong.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Arc::new(Inner { kind, message: message.into(), operation: None, target: None, source: None }))
    }

    /// Bad input in `field` (R1).
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidArgument { field: field.into() }, message)
    }

    /// The registration is unknown, expired or gone (H2).
    pub fn not_registered(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotRegistered, message)
    }

    /// The handle was closed (C3).
    pub fn closed() -> Self {
        Self::new(ErrorKind::Closed, "the registry handle was closed")
    }

    /// The backend cannot be reached.
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unavailable { time_left: None }, message)
    }

    /// Names the operation, unless a layer below already did.
    #[must_use]
    pub fn with_operation(mut self, operation: &'static str) -> Self {
        let inner = Arc::make_mut(&mut self.0);
        inner.operation.get_or_insert(operation);
        self
    }

    /// Names the target (`etcd://…`, without credentials), unless a layer below already did.
    #[must_use]
    pub fn with_target(mut self, target: impl Into<String>) -> Self {
        let inner = Arc::make_mut(&mut self.0);
        inner.target.get_or_insert_with(|| target.into());
        self
    }

    /// Attaches the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        Arc::make_mut(&mut self.0).source = Some(Arc::new(source.into()));
        self
    }

    /// The same error under another kind: for layers that know more.
    #[must_use]
    pub fn with_kind(mut self, kind: ErrorKind) -> Self {
        Arc::make_mut(&mut self.0).kind = kind;
        self
    }

    /// What to act on.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The call that failed (`register`, `discover`, …), where known.
    pub fn operation(&self) -> Option<&'static str> {
        self.0.operation
    }

    /// The registry that was asked, without credentials, where known.
    pub fn target(&self) -> Option<&str> {
        self.0.target.as_deref()
    }

    /// Whether the same call may succeed later without anybody changing anything.
    ///
    /// Refused credentials and bad input never do. A write that is [`ErrorKind::Ambiguous`] may be repeated with the
    /// same owner token.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self.kind(),
            ErrorKind::Unavailable { .. }
                | ErrorKind::DeadlineExceeded
                | ErrorKind::Ambiguous
                | ErrorKind::ResourceExhausted
                | ErrorKind::NoAvailableInstances { .. }
        )
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = self.0.operation {
            write!(f, "{operation}: ")?;
        }
        f.write_str(&self.0.message)?;
        match &self.0.kind {
            ErrorKind::InvalidArgument { field } => write!(f, " (invalid `{field}`)")?,
            kind => write!(f, " ({})", kind.name())?,
        }
        if let Some(target) = &self.0.target {
            write!(f, " at {target}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("operation", &self.0.operation)
            .field("target", &self.0.target)
            .field("source", &self.0.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_ref().map(|source| &***source as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_field_operation_and_target_once() {
        let error = Error::invalid("service", "a service name must not be empty")
            .with_operation("register")
            .with_operation("outer")
            .with_target("memory:");
        assert_eq!(
            error.to_string(),
            "register: a service name must not be empty (invalid `service`) at memory:"
        );
    }

    #[test]
    fn the_cause_stands_in_source_and_not_in_the_message() {
        let error = Error::unavailable("no answer").with_source(std::io::Error::other("refused"));
        assert!(!error.to_string().contains("refused"));
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "refused");
    }

    #[test]
    fn refused_credentials_are_never_retryable() {
        for kind in [ErrorKind::PermissionDenied, ErrorKind::Unauthenticated, ErrorKind::Fenced] {
            assert!(!Error::new(kind, "x").is_retryable());
        }
        assert!(Error::unavailable("x").is_retryable());
    }
}
