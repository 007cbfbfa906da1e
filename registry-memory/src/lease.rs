//! One ownership, with the deadline that heartbeats move.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use registry_core::{Generation, OwnerToken};

/// What a `LeaseRef` of this backend carries: a heartbeat through it is one atomic exchange, with no look-up.
#[derive(Debug)]
pub(crate) struct Lease {
    pub(crate) generation: Generation,
    pub(crate) owner: OwnerToken,
    pub(crate) ttl: Duration,
    /// The namespace it was granted in: elsewhere it proves nothing.
    pub(crate) space: u64,
    /// On the store's clock; [`DEAD`] once the ownership has ended.
    deadline: AtomicU64,
}

/// Nanoseconds since the store began: its clock, small enough for an atomic.
pub(crate) type Nanos = u64;

const DEAD: Nanos = 0;

impl Lease {
    pub(crate) fn new(
        generation: Generation,
        owner: OwnerToken,
        ttl: Duration,
        space: u64,
        now: Nanos,
    ) -> Self {
        Self { generation, owner, ttl, space, deadline: AtomicU64::new(after(now, ttl)) }
    }

    /// Prolongs it, unless it has ended or run out: then nothing brings it back (H2).
    pub(crate) fn beat(&self, now: Nanos) -> bool {
        let next = after(now, self.ttl);
        self.deadline
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |deadline| {
                (deadline > now).then_some(deadline.max(next))
            })
            .is_ok()
    }

    /// Ends it.
    pub(crate) fn end(&self) {
        self.deadline.store(DEAD, Ordering::Release);
    }

    /// Ends it if it has run out; a heartbeat that came first wins.
    pub(crate) fn end_if_due(&self, now: Nanos) -> bool {
        self.deadline
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |deadline| (deadline <= now).then_some(DEAD))
            .is_ok()
    }

    pub(crate) fn deadline(&self) -> Nanos {
        self.deadline.load(Ordering::Acquire)
    }
}

/// `now + wait`, never the sign of death and never an overflow.
pub(crate) fn after(now: Nanos, wait: Duration) -> Nanos {
    now.saturating_add(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)).max(DEAD + 1)
}
