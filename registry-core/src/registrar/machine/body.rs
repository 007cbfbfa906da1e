//! What the instance says of itself: the newest word, and how much of it the registry has (R7).

use tokio::time::Instant;

use super::command::Change;
use crate::backoff::Backoff;
use crate::error::{Error, ErrorKind};
use crate::instance::{InstanceSpec, InstanceStatus};

/// The newest body and what the registry acknowledged of it.
#[derive(Debug)]
pub(super) struct Body {
    spec: InstanceSpec,
    /// Counts the changes, from 1.
    version: u64,
    /// The newest version that was acknowledged, and its body: what to go back to when a change is refused.
    acked: u64,
    good: InstanceSpec,
    /// A stranger damaged what the registry has (H8).
    damaged: bool,
    /// When it may be written again.
    at: Instant,
    backoff: Backoff,
    /// The newest version that could not be written by a try, and why.
    failed: Option<(u64, Error)>,
}

impl Body {
    pub(super) fn new(spec: InstanceSpec, backoff: Backoff, now: Instant) -> Self {
        let good = spec.clone();
        Self { spec, version: 1, acked: 0, good, damaged: false, at: now, backoff, failed: None }
    }

    pub(super) fn spec(&self) -> &InstanceSpec {
        &self.spec
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    pub(super) fn acked(&self) -> u64 {
        self.acked
    }

    /// When the registry must be told something, if it must.
    pub(super) fn due(&self) -> Option<Instant> {
        (self.damaged || self.acked < self.version).then_some(self.at)
    }

    /// Why this version was not written by the last try that carried it.
    pub(super) fn failure(&self, version: u64) -> Option<&Error> {
        self.failed.as_ref().filter(|(failed, _)| *failed >= version).map(|(_, error)| error)
    }

    pub(super) fn forget_failure(&mut self) {
        self.failed = None;
    }

    /// Takes in a change, to be written at once; gives its version.
    pub(super) fn change(&mut self, change: Change, now: Instant) -> u64 {
        match change {
            Change::Body(spec) => self.spec = *spec,
            Change::Status(status) => self.spec.status = status,
            Change::Health(health) => self.spec.health = health,
        }
        self.version += 1;
        self.at = now;
        self.version
    }

    /// A drain is not ended by an update.
    pub(super) fn stay_draining(&mut self) {
        self.spec.status = InstanceStatus::Draining;
    }

    pub(super) fn damage(&mut self, now: Instant) {
        if !self.damaged {
            self.damaged = true;
            self.at = now;
        }
    }

    /// It is on its way: what it repairs is known, what breaks meanwhile is not.
    pub(super) fn sent(&mut self) {
        self.damaged = false;
    }

    pub(super) fn ack(&mut self, version: u64, body: InstanceSpec) {
        self.acked = self.acked.max(version);
        self.good = body;
        self.backoff.reset();
    }

    /// The registry has nothing of it any more.
    pub(super) fn lost(&mut self) {
        self.damaged = false;
    }

    /// A try failed. What the registry will never take is given up for the last body that it took, so that it does
    /// not stand in the way of a later registration.
    pub(super) fn fail(&mut self, version: u64, error: &Error, now: Instant) {
        self.failed = Some((version, error.clone()));
        self.at = now + self.backoff.next();
        self.damaged = true;
        let never = matches!(
            error.kind(),
            ErrorKind::InvalidArgument { .. } | ErrorKind::TooLarge { .. } | ErrorKind::Unsupported
        );
        if never && version == self.version && self.spec != self.good {
            self.spec = self.good.clone();
            self.version += 1;
        }
    }
}
