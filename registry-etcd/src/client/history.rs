//! Which history the answers belong to, and whether it is still the same.

use registry_core::{Lineage, Revision};
use tokio::sync::watch;

/// What is known of etcd's history. Shared by everything of a session.
#[derive(Debug)]
pub(super) struct History(watch::Sender<Known>);

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    lineage: Option<Lineage>,
    breaks: u64,
    /// The highest revision that is certainly committed in this lineage.
    highest: u64,
}

/// What was known when a linearizable call began: its answer cannot be older.
#[derive(Debug, Clone, Copy)]
pub(super) struct Floor(Known);

impl History {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(Known::default()))
    }

    /// The present lineage, once etcd has answered.
    pub(super) fn lineage(&self) -> Option<Lineage> {
        self.0.borrow().lineage
    }

    /// Tells of each change of lineage.
    pub(super) fn changes(&self) -> Changes {
        Changes(self.0.subscribe())
    }

    /// To be taken before a linearizable call is sent.
    pub(super) fn floor(&self) -> Floor {
        Floor(*self.0.borrow())
    }

    /// Places the answer to a linearizable call. One below what was committed when it was sent tells that the history
    /// was replaced, as a restore does under the same cluster id (ETCD.md 7).
    pub(super) fn linearizable(&self, cluster: u64, number: u64, floor: Floor) -> Revision {
        self.update(|known| {
            known.enter(cluster);
            if known.lineage == floor.0.lineage && number < floor.0.highest {
                known.break_off();
            }
            known.highest = known.highest.max(number);
            known.revision(number)
        })
    }

    /// Places what a watch delivered.
    pub(super) fn committed(&self, cluster: u64, number: u64) -> Revision {
        self.update(|known| {
            known.enter(cluster);
            known.highest = known.highest.max(number);
            known.revision(number)
        })
    }

    /// Places an answer that says nothing about what is committed: a stale read, a grant, `created` of a watch.
    pub(super) fn stale(&self, cluster: u64, number: u64) -> Revision {
        self.update(|known| {
            known.enter(cluster);
            known.revision(number)
        })
    }

    /// Notes that `at` was found broken; whoever notices later is told the same successor.
    pub(super) fn broken(&self, at: Lineage) -> Lineage {
        self.update(|known| {
            if known.lineage == Some(at) {
                known.break_off();
            }
            known.lineage.unwrap_or(at)
        })
    }

    fn update<T>(&self, change: impl FnOnce(&mut Known) -> T) -> T {
        let mut result = None;
        self.0.send_if_modified(|known| {
            let before = known.lineage;
            result = Some(change(known));
            known.lineage != before
        });
        result.expect("send_if_modified calls its argument")
    }
}

impl Known {
    /// Answers come from `cluster`; 0 is an answer that does not say.
    fn enter(&mut self, cluster: u64) {
        match self.lineage {
            None => self.lineage = Some(Lineage::new(cluster)),
            Some(lineage) if cluster != 0 && lineage.origin() != cluster => self.begin(cluster),
            Some(_) => {}
        }
    }

    fn break_off(&mut self) {
        self.begin(self.lineage.map_or(0, Lineage::origin));
    }

    /// A history that was not seen before, even if the cluster was.
    fn begin(&mut self, cluster: u64) {
        self.breaks += 1;
        self.highest = 0;
        self.lineage = Some((0..self.breaks).fold(Lineage::new(cluster), |lineage, _| lineage.broken()));
    }

    fn revision(&self, number: u64) -> Revision {
        Revision::new(self.lineage.unwrap_or(Lineage::new(0)), number)
    }
}

/// Waits for the lineage to change.
#[derive(Debug)]
pub(super) struct Changes(watch::Receiver<Known>);

impl Changes {
    /// The lineage, after it changed. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Lineage> {
        if self.0.changed().await.is_err() {
            // The session is gone, and its tasks with it.
            std::future::pending::<()>().await;
        }
        self.0.borrow_and_update().lineage
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_below_what_was_committed_before_it_was_sent_breaks_the_lineage() {
        let history = History::new();
        let old = history.linearizable(7, 100, history.floor());
        let new = history.linearizable(7, 40, history.floor());
        assert_ne!(old.lineage(), new.lineage());
        assert_eq!(new.lineage(), history.lineage().unwrap());
        let next = history.linearizable(7, 41, history.floor());
        assert!(next.is_after(new));
    }

    #[test]
    fn answers_that_overtake_each_other_break_nothing() {
        let history = History::new();
        let floor = history.floor();
        let fast = history.linearizable(7, 100, floor);
        let slow = history.linearizable(7, 99, floor);
        assert_eq!(fast.lineage(), slow.lineage());
    }

    #[test]
    fn stale_answers_break_nothing() {
        let history = History::new();
        let new = history.committed(7, 100);
        assert_eq!(history.stale(7, 3).lineage(), new.lineage());
    }

    #[test]
    fn a_break_counts_once_however_many_notice() {
        let history = History::new();
        let at = history.committed(7, 100).lineage();
        let next = history.broken(at);
        assert_eq!(history.broken(at), next);
        assert_ne!(next, at);
    }

    #[test]
    fn a_cluster_that_comes_back_is_another_lineage() {
        let history = History::new();
        let first = history.committed(7, 100).lineage();
        let other = history.committed(8, 5).lineage();
        let again = history.committed(7, 6).lineage();
        assert!(first != other && other != again && again != first);
        assert_eq!(again.origin(), 7);
    }

    #[test]
    fn an_answer_without_a_cluster_belongs_to_the_present_one() {
        let history = History::new();
        let lineage = history.committed(7, 1).lineage();
        assert_eq!(history.stale(0, 0).lineage(), lineage);
    }
}
