//! A line to etcd: one connection at a time, to the member that is in use until it fails.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use super::connection::{Connection, Connector, Purpose};
use crate::error::Fault;

/// Which member is in use. All lines of a session share it: what one finds dead, no other tries next.
#[derive(Debug)]
pub(super) struct Member {
    current: AtomicUsize,
    count: usize,
}

impl Member {
    /// Any of `count` members (at least one), so that many clients spread over them.
    pub(super) fn any_of(count: usize) -> Self {
        Self { current: AtomicUsize::new(fastrand::usize(..count)), count }
    }

    fn current(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// Goes on to the next, unless someone else already left this one.
    fn leave(&self, failed: usize) {
        let next = (failed + 1) % self.count;
        _ = self.current.compare_exchange(failed, next, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// One connection at a time. A connection that failed is thrown away: none is ever mended.
pub(super) struct Line {
    purpose: Purpose,
    member: Arc<Member>,
    current: Mutex<Option<Arc<Slot>>>,
}

/// A place for a connection to one member, made by the first who needs it. Keep it while a call or stream runs on it.
pub(super) struct Slot {
    member: usize,
    purpose: Purpose,
    made: OnceCell<Result<Connection, Fault>>,
}

impl Line {
    pub(super) fn new(purpose: Purpose, member: Arc<Member>) -> Self {
        Self { purpose, member, current: Mutex::new(None) }
    }

    /// The connection in use, or the place for the next.
    pub(super) fn slot(&self) -> Arc<Slot> {
        let mut current = self.lock();
        let slot = current.get_or_insert_with(|| {
            let (member, purpose) = (self.member.current(), self.purpose);
            Arc::new(Slot { member, purpose, made: OnceCell::new() })
        });
        Arc::clone(slot)
    }

    /// Throws a connection away, and leaves its member.
    pub(super) fn fail(&self, slot: &Arc<Slot>) {
        self.member.leave(slot.member);
        self.retire(slot);
    }

    /// Throws a connection away. Calls that run on it may finish.
    pub(super) fn retire(&self, slot: &Arc<Slot>) {
        let mut current = self.lock();
        if current.as_ref().is_some_and(|current| Arc::ptr_eq(current, slot)) {
            *current = None;
        }
    }

    /// Throws away whatever is in use.
    pub(super) fn clear(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<Slot>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// The connection; made now if this is the first call. All who wait meanwhile share the outcome, also a failure:
    /// a hundred calls cost one login, and a dead member holds up none of them longer than the first.
    ///
    /// Cancel safe: the next who waits starts over.
    pub(super) async fn connection(&self, connector: &Connector) -> Result<&Connection, Fault> {
        self.made
            .get_or_init(|| connector.connect(self.member, self.purpose))
            .await
            .as_ref()
            .map_err(Clone::clone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_is_left_once_however_many_notice() {
        let member = Member { current: AtomicUsize::new(2), count: 3 };
        member.leave(2);
        member.leave(2);
        assert_eq!(member.current(), 0);
    }

    #[test]
    fn a_retired_connection_does_not_take_its_successor_along() {
        let line = Line::new(Purpose::Calls, Arc::new(Member::any_of(1)));
        let old = line.slot();
        line.retire(&old);
        let new = line.slot();
        line.fail(&old);
        assert!(Arc::ptr_eq(&new, &line.slot()));
    }
}
