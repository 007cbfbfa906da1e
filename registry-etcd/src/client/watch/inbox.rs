//! What comes from the feeds to the task that reads their stream.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::mux::{Mux, Wanted};
use crate::client::tasks::Tasks;

/// Watches that are wanted and feeds that were dropped, since the task last looked. No larger than the number of feeds
/// that live, so it needs no bound of its own.
#[derive(Debug)]
pub(in crate::client) struct Inbox {
    next: AtomicU64,
    news: Mutex<News>,
    wake: Notify,
    tasks: Tasks,
}

#[derive(Debug, Default)]
struct News {
    wanted: Vec<Wanted>,
    left: Vec<u64>,
}

impl Inbox {
    pub(super) fn new(tasks: Tasks) -> Self {
        Self { next: AtomicU64::new(1), news: Mutex::default(), wake: Notify::new(), tasks }
    }

    /// A number for a watch: never one that was used before, never 0.
    pub(super) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Asks for a watch.
    pub(super) fn want(&self, wanted: Wanted) {
        self.lock().wanted.push(wanted);
        self.wake.notify_one();
    }

    /// A feed was dropped.
    pub(in crate::client) fn leave(&self, id: u64) {
        if self.is_closed() {
            return;
        }
        let mut news = self.lock();
        match news.wanted.iter().position(|wanted| wanted.id == id) {
            Some(unseen) => drop(news.wanted.swap_remove(unseen)),
            None => news.left.push(id),
        }
        drop(news);
        self.wake.notify_one();
    }

    /// Whether the session was closed.
    pub(in crate::client) fn is_closed(&self) -> bool {
        self.tasks.has_ended()
    }

    /// Waits for news. Cancel safe.
    pub(super) async fn news(&self) {
        self.wake.notified().await;
    }

    /// Whether a watch is wanted that the task has not seen.
    pub(super) fn is_wanted(&self) -> bool {
        !self.lock().wanted.is_empty()
    }

    /// Brings the news to `mux`.
    pub(super) fn deliver(&self, mux: &mut Mux) {
        let News { wanted, left } = std::mem::take(&mut *self.lock());
        for wanted in wanted {
            mux.add(wanted);
        }
        for id in left {
            mux.remove(id);
        }
    }

    fn lock(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
