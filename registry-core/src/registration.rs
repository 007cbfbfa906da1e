//! What is sent to register, and what comes back.

use std::time::Duration;

use tokio::time::Instant;

use crate::error::{Error, ErrorKind, Result};
use crate::instance::InstanceSpec;
use crate::lease::{Generation, LeaseRef, OwnerToken};
use crate::name::{InstanceId, ServiceName};
use crate::record;
use crate::revision::Revision;
use crate::snapshot::Slot;
use crate::ttl::Ttl;

/// What a registration may do to a living instance of the same id that another owner holds (R5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Takeover {
    /// Nothing: `AlreadyExists`.
    #[default]
    Never,
    /// Replace it if it is still this generation, else `AlreadyExists`.
    If(Generation),
    /// Replace whatever is there.
    Always,
}

impl Takeover {
    /// Whether the holder of `generation` may be replaced.
    pub fn allows(self, generation: Generation) -> bool {
        match self {
            Self::Never => false,
            Self::If(named) => named == generation,
            Self::Always => true,
        }
    }
}

/// What is sent to register an instance.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Registration {
    /// The service.
    pub service: ServiceName,
    /// The instance's id within it.
    pub id: InstanceId,
    /// Who registers: repeated with the same token it is the same registration.
    pub owner: OwnerToken,
    /// How long it lives without a heartbeat; none: what the handle was opened with, 15 s as a rule.
    pub ttl: Option<Ttl>,
    /// What it may do to a living instance of the same id.
    pub takeover: Takeover,
    /// What the instance says of itself.
    pub instance: InstanceSpec,
}

impl Registration {
    /// A registration by a new owner, with the handle's TTL, that takes nothing over.
    pub fn new(service: ServiceName, id: InstanceId, instance: InstanceSpec) -> Self {
        Self { service, id, owner: OwnerToken::random(), ttl: None, takeover: Takeover::default(), instance }
    }

    /// By this owner.
    #[must_use]
    pub fn with_owner(mut self, owner: OwnerToken) -> Self {
        self.owner = owner;
        self
    }

    /// With this TTL.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Ttl) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// With this permission to take over.
    #[must_use]
    pub fn with_takeover(mut self, takeover: Takeover) -> Self {
        self.takeover = takeover;
        self
    }
}

/// The bounds that every backend checks before it sends anything (R1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The largest encoded record, in bytes; 16 KiB by default.
    pub record: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { record: 16 * 1024 }
    }
}

impl Limits {
    /// Checks `instance` and gives its encoded record: what a backend calls first in `register` and `update`.
    ///
    /// `InvalidArgument` names the field; `TooLarge` tells limit and size.
    pub fn check(&self, id: &InstanceId, instance: &InstanceSpec) -> Result<Vec<u8>> {
        instance.check()?;
        let encoded = record::encode(id, instance)?;
        if encoded.len() > self.record {
            let kind = ErrorKind::TooLarge { limit: self.record, actual: encoded.len() };
            let why = format!("the record measures {} bytes, {} is the most", encoded.len(), self.record);
            return Err(Error::new(kind, why));
        }
        // What is acknowledged must be readable (R2): fields in `unknown` that the schema knows, or nested too deep.
        let slot = Slot::new(id.clone(), instance.version.clone());
        let read = record::decode(&slot, &encoded);
        if !read.is_ok_and(|read| read.instance == *instance) {
            let why = "holds a field that the schema knows, or one nested too deep: no reader would take it";
            return Err(Error::invalid("unknown", why));
        }
        Ok(encoded)
    }
}

/// What comes back from `register` (R4).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Registered {
    /// The proof of ownership, for heartbeats and all that follows.
    pub lease: LeaseRef,
    /// The granted TTL: what was asked or more.
    pub ttl: Ttl,
    /// The revision that made the instance visible.
    pub revision: Revision,
    /// Until when it lives without a heartbeat, counted from when the request was sent.
    pub deadline: Instant,
}

impl Registered {
    /// For backends.
    pub fn new(lease: LeaseRef, ttl: Ttl, revision: Revision, deadline: Instant) -> Self {
        Self { lease, ttl, revision, deadline }
    }

    /// The ownership that began.
    pub fn generation(&self) -> Generation {
        self.lease.generation()
    }
}

/// What comes back from a heartbeat (H1, H8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Beat {
    /// Until when the registration lives: at least the time the request was sent + TTL.
    pub deadline: Instant,
    /// False: record or claim vanished or was overwritten by a stranger; put it again with `update`.
    pub intact: bool,
}

impl Beat {
    /// For backends.
    pub fn new(deadline: Instant, intact: bool) -> Self {
        Self { deadline, intact }
    }

    /// The time left at `now`.
    pub fn time_left(&self, now: Instant) -> Duration {
        self.deadline.saturating_duration_since(now)
    }
}
