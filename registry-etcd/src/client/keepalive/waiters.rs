//! Who waits for which answer. Pure.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use registry_core::{Error, Result};
use tokio::sync::oneshot;

use crate::client::LeaseId;

/// What a renewal is answered: the TTL, or none if there is no such lease.
pub(super) type Answer = Result<Option<Duration>>;

/// The renewals that one stream has not answered yet.
///
/// The server answers each request, those of one lease in their order. So an answer belongs to the oldest request of
/// its lease, also if nobody waits for that any more: given to a younger one it would promise time that is not there
/// (H1).
#[derive(Debug, Default)]
pub(super) struct Waiters(HashMap<LeaseId, VecDeque<oneshot::Sender<Answer>>>);

impl Waiters {
    /// A request of `lease` is about to be sent.
    pub(super) fn add(&mut self, lease: LeaseId, waiter: oneshot::Sender<Answer>) {
        self.0.entry(lease).or_default().push_back(waiter);
    }

    /// The server answered: seconds that are left, none or fewer for a lease that is not there.
    pub(super) fn answer(&mut self, lease: LeaseId, seconds: i64) {
        let ttl = u64::try_from(seconds).ok().filter(|left| *left > 0).map(Duration::from_secs);
        let Some(waiting) = self.0.get_mut(&lease) else { return };
        if let Some(waiter) = waiting.pop_front() {
            // Whoever gave up does not want it.
            _ = waiter.send(Ok(ttl));
        }
        if waiting.is_empty() {
            self.0.remove(&lease);
        }
    }

    /// No answer will come.
    pub(super) fn fail(self, error: &Error) {
        for waiter in self.0.into_values().flatten() {
            _ = waiter.send(Err(error.clone()));
        }
    }

    /// Whether every request was answered.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: LeaseId = LeaseId(7);

    fn waiting(waiters: &mut Waiters) -> oneshot::Receiver<Answer> {
        let (waiter, answer) = oneshot::channel();
        waiters.add(LEASE, waiter);
        answer
    }

    #[test]
    fn a_late_answer_to_an_abandoned_request_is_not_given_to_the_next() {
        let mut waiters = Waiters::default();
        drop(waiting(&mut waiters));
        let mut second = waiting(&mut waiters);
        waiters.answer(LEASE, 15);
        assert!(second.try_recv().is_err(), "that was the first one's");
        waiters.answer(LEASE, 14);
        assert_eq!(second.try_recv().unwrap().unwrap(), Some(Duration::from_secs(14)));
        assert!(waiters.is_empty());
    }

    #[test]
    fn a_lease_without_time_is_not_there() {
        for seconds in [0, -1] {
            let mut waiters = Waiters::default();
            let mut answer = waiting(&mut waiters);
            waiters.answer(LEASE, seconds);
            assert_eq!(answer.try_recv().unwrap().unwrap(), None);
        }
    }

    #[test]
    fn all_are_told_when_the_stream_dies() {
        let mut waiters = Waiters::default();
        let mut answers = [waiting(&mut waiters), waiting(&mut waiters)];
        waiters.fail(&Error::unavailable("gone"));
        assert!(answers.iter_mut().all(|answer| answer.try_recv().unwrap().is_err()));
    }

    #[test]
    fn an_answer_that_nobody_asked_for_is_ignored() {
        Waiters::default().answer(LEASE, 15);
    }
}
