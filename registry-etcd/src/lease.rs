//! What a registration knows of its own two keys, hung on its [`LeaseRef`](registry_core::LeaseRef).
//!
//! A watch on the two keys ([`keep_watch`]) tells it what others do to them, so that a heartbeat learns of damage (H8)
//! and of a successor (H3) without reading. Damage is an event on a key *after* the registration's own last write of it.

mod key;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use registry_core::{Lineage, Revision, Version};
use tokio::sync::Notify;
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};

use self::key::{Key, Value};
pub(crate) use self::watch::keep_watch;
use crate::backend::place::Place;
use crate::backend::plan::Written;
use crate::backend::standing::{ClaimAt, Holder, Standing};
use crate::client::{Kv, LeaseId};

/// What hangs on a lease's reference. The watch ends with the last clone of it.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) own: Arc<Own>,
    /// The registry that made it: another has no watch on its keys.
    pub(crate) home: Arc<()>,
    pub(crate) watch: Mutex<AbortHandle>,
    /// Ends the watch.
    pub(crate) ends: CancellationToken,
    pub(crate) _guard: DropGuard,
}

/// A registration's knowledge of itself.
#[derive(Debug)]
pub(crate) struct Own {
    pub(crate) place: Place,
    pub(crate) lease: LeaseId,
    pub(crate) ttl: Duration,
    state: Mutex<State>,
    /// Rings when the record has moved to another key, and when the registration was deregistered.
    changed: Notify,
}

#[derive(Debug)]
struct State {
    /// The history that the revisions belong to.
    lineage: Lineage,
    claim: Key,
    record: Key,
    version: Option<Version>,
    phase: Phase,
    /// Writes under way: until they are settled, an event may be their own.
    writing: u32,
    /// A write's outcome is unknown.
    uncertain: bool,
    deadline: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Lives,
    /// Another generation holds the id.
    Fenced,
    /// Deregistered.
    Left,
}

/// Why a registration is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// Another generation holds the id.
    Fenced,
    /// It was deregistered. Who holds the id since then is not watched any more.
    Left,
}

/// What a write left under the two keys.
#[derive(Debug)]
pub(crate) struct Put {
    /// When it was answered.
    pub(crate) revision: Revision,
    pub(crate) version: Option<Version>,
    /// The claim, and the revision that wrote it.
    pub(crate) claim: (Vec<u8>, u64),
    /// The record, and the revision that wrote it.
    pub(crate) record: (Vec<u8>, u64),
}

impl Own {
    /// What a registration knows that was just put.
    pub(crate) fn new(place: Place, lease: LeaseId, put: Put, ttl: Duration, deadline: Instant) -> Self {
        let state = State {
            lineage: put.revision.lineage(),
            claim: Key::written(put.claim),
            record: Key::written(put.record),
            version: put.version,
            phase: Phase::Lives,
            writing: 0,
            uncertain: false,
            deadline,
        };
        Self { place, lease, ttl, state: Mutex::new(state), changed: Notify::new() }
    }

    /// Whether it is over, as far as it knows: fenced by another, or deregistered.
    pub(crate) fn over(&self) -> Option<Over> {
        match self.lock().phase {
            Phase::Lives => None,
            Phase::Fenced => Some(Over::Fenced),
            Phase::Left => Some(Over::Left),
        }
    }

    /// Whether claim and record stand as they were written, as far as was heard.
    pub(crate) fn is_intact(&self) -> bool {
        let state = self.lock();
        state.writing > 0 || state.is_sure()
    }

    /// The version it last wrote.
    pub(crate) fn version(&self) -> Option<Version> {
        self.lock().version.clone()
    }

    /// What was written last, and whether the record is `record` already; none where that is not sure.
    pub(crate) fn written(&self, record: &[u8]) -> Option<(Written, bool)> {
        let state = self.lock();
        let written = Written {
            claim_revision: state.claim.revision(),
            record_revision: state.record.revision(),
            version: state.version.clone(),
        };
        (state.writing == 0 && state.is_sure()).then(|| (written, state.record.is(record)))
    }

    /// A heartbeat was answered.
    pub(crate) fn prolong(&self, deadline: Instant) {
        let mut state = self.lock();
        state.deadline = state.deadline.max(deadline);
    }

    /// How long it lives without another heartbeat.
    pub(crate) fn time_left(&self) -> Duration {
        self.lock().deadline.saturating_duration_since(Instant::now())
    }

    /// It was deregistered.
    pub(crate) fn leave(&self) {
        self.lock().phase = Phase::Left;
        self.changed.notify_one();
    }

    /// Announces a write. Unless it is settled its outcome counts as unknown.
    pub(crate) fn write(&self) -> Writing<'_> {
        self.lock().writing += 1;
        Writing { own: self, unsettled: true }
    }

    /// The claim's key was written (or deleted) by `revision`. Answers whether the registration is fenced.
    pub(crate) fn claim_event(&self, revision: Revision, claim: Option<&ClaimAt>) -> bool {
        let mut state = self.lock();
        if revision.lineage() == state.lineage
            && state.claim.event(revision.number(), claim.map(|claim| self.value(&claim.kv)))
        {
            state.meets(claim.is_some_and(|claim| self.is_anothers(claim)));
        }
        state.phase == Phase::Fenced
    }

    /// The record's key was written (or deleted) by `revision`.
    pub(crate) fn record_event(&self, revision: Revision, kv: Option<&Kv>) {
        let mut state = self.lock();
        if revision.lineage() == state.lineage {
            state.record.event(revision.number(), kv.map(|kv| self.value(kv)));
        }
    }

    /// What was found to stand after a gap in the watch, perhaps in another history. Answers whether it is fenced.
    pub(crate) fn found(&self, standing: &Standing) -> bool {
        let mut state = self.lock();
        let revision = standing.revision.number();
        state.lineage = standing.revision.lineage();
        let claim = standing.claim.as_ref();
        state.claim.found(revision, claim.map(|claim| (claim.kv.mod_revision, self.value(&claim.kv))));
        let version = state.version.clone();
        let record = standing.record(version.as_ref());
        state.record.found(revision, record.map(|kv| (kv.mod_revision, self.value(kv))));
        // A write that was under way may have been before or after what was found.
        state.uncertain |= state.writing > 0;
        state.meets(claim.is_some_and(|claim| self.is_anothers(claim)));
        state.phase == Phase::Fenced
    }

    fn is_anothers(&self, claim: &ClaimAt) -> bool {
        matches!(claim.holder(), Holder::Owner(lease, _) if lease != self.lease)
    }

    fn value<'a>(&self, kv: &'a Kv) -> Value<'a> {
        Value { bytes: &kv.value, mine: kv.lease == Some(self.lease) }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic elsewhere harms its own task alone (C4).
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Another's claim fences whoever lives.
    fn meets(&mut self, anothers: bool) {
        if anothers && self.phase == Phase::Lives {
            self.phase = Phase::Fenced;
        }
    }

    fn is_sure(&self) -> bool {
        !self.uncertain && self.claim.is_intact() && self.record.is_intact()
    }
}

/// A write under way.
#[derive(Debug)]
pub(crate) struct Writing<'a> {
    own: &'a Own,
    unsettled: bool,
}

impl Writing<'_> {
    /// It was done. All is as it should be then, unless something came after it.
    pub(crate) fn done(mut self, put: Put) {
        self.unsettled = false;
        let mut state = self.own.lock();
        let moved = state.version != put.version;
        state.version = put.version;
        state.uncertain = false;
        if state.lineage != put.revision.lineage() {
            state.lineage = put.revision.lineage();
            state.claim.begin_anew();
            state.record.begin_anew();
        }
        let now = put.revision.number();
        state.claim.wrote(put.claim.0, put.claim.1, now);
        state.record.wrote(put.record.0, put.record.1, now);
        if moved {
            self.own.changed.notify_one();
        }
    }

    /// It certainly did nothing.
    pub(crate) fn refused(mut self) {
        self.unsettled = false;
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        let mut state = self.own.lock();
        state.writing -= 1;
        state.uncertain |= self.unsettled;
    }
}

#[cfg(test)]
mod tests;
