//! When a watch stream is asked for a sign of life, and when it counts as dead. Pure.

use std::time::Duration;

use tokio::time::Instant;

/// An unanswered question is put again this many times within the time for the answer: a server that is about to catch
/// up drops it.
const REPEATS: u32 = 8;

/// What to do now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tick {
    /// Wait.
    Wait,
    /// Ask for progress.
    Ask,
    /// Give the stream up.
    Dead,
}

/// The clock of one stream.
#[derive(Debug)]
pub(super) struct Pace {
    silence: Duration,
    answer: Duration,
    /// The last message, whatever it said: under a flood the server answers only when it has caught up.
    heard: Instant,
    creating: Option<Instant>,
    asked: Option<Instant>,
    next: Instant,
    /// The last time that every watch was told.
    told: Instant,
}

impl Pace {
    /// Asks at least each `silence`, and waits `answer` for it.
    pub(super) fn new(silence: Duration, answer: Duration, now: Instant) -> Self {
        Self { silence, answer, heard: now, creating: None, asked: None, next: now + silence, told: now }
    }

    /// A message came.
    pub(super) fn heard(&mut self, now: Instant) {
        self.heard = now;
    }

    /// A create was sent.
    pub(super) fn creating(&mut self, now: Instant) {
        self.creating = Some(now);
    }

    /// The create was answered. If there is a new watch, it wants to know soon whether it is live.
    pub(super) fn created(&mut self, fresh: bool, now: Instant) {
        self.creating = None;
        if fresh && self.asked.is_none() {
            self.next = now;
        }
    }

    /// Progress was answered; true if it is time to tell every watch, not only new ones.
    pub(super) fn answered(&mut self, now: Instant) -> bool {
        self.asked = None;
        let all = now >= self.told + self.silence;
        if all {
            self.told = now;
        }
        self.next = self.told + self.silence;
        all
    }

    /// What to do at `now`. `Ask` is to be done.
    pub(super) fn tick(&mut self, now: Instant) -> Tick {
        if self.death().is_some_and(|death| now >= death) {
            return Tick::Dead;
        }
        if now < self.next {
            return Tick::Wait;
        }
        self.asked.get_or_insert(now);
        self.next = now + self.answer / REPEATS;
        Tick::Ask
    }

    /// When to tick again.
    pub(super) fn deadline(&self) -> Instant {
        self.death().map_or(self.next, |death| death.min(self.next))
    }

    fn death(&self) -> Option<Instant> {
        let since = self.creating.into_iter().chain(self.asked).min()?;
        Some(since.max(self.heard) + self.answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: Duration = Duration::from_secs(5);
    const ANSWER: Duration = Duration::from_secs(2);

    fn at(start: Instant, millis: u64) -> Instant {
        start + Duration::from_millis(millis)
    }

    #[tokio::test]
    async fn a_silent_stream_is_dead_after_the_silence_and_the_answer() {
        let start = Instant::now();
        let mut pace = Pace::new(P, ANSWER, start);
        assert_eq!(pace.tick(at(start, 4_999)), Tick::Wait);
        assert_eq!(pace.tick(at(start, 5_000)), Tick::Ask);
        assert_eq!(pace.tick(at(start, 5_249)), Tick::Wait);
        assert_eq!(pace.tick(at(start, 5_250)), Tick::Ask, "asked again");
        assert_eq!(pace.tick(at(start, 7_000)), Tick::Dead);
    }

    #[tokio::test]
    async fn any_message_proves_life() {
        let start = Instant::now();
        let mut pace = Pace::new(P, ANSWER, start);
        pace.tick(at(start, 5_000));
        pace.heard(at(start, 6_900));
        assert_ne!(pace.tick(at(start, 8_800)), Tick::Dead);
        assert_eq!(pace.tick(at(start, 8_900)), Tick::Dead);
    }

    #[tokio::test]
    async fn an_old_message_does_not_prove_life() {
        let start = Instant::now();
        let mut pace = Pace::new(P, ANSWER, start);
        pace.creating(at(start, 100));
        assert_eq!(pace.deadline(), at(start, 2_100));
        assert_eq!(pace.tick(at(start, 2_100)), Tick::Dead);
    }

    #[tokio::test]
    async fn a_new_watch_asks_at_once_and_all_are_told_each_silence() {
        let start = Instant::now();
        let mut pace = Pace::new(P, ANSWER, start);
        pace.creating(start);
        pace.created(true, at(start, 1));
        assert_eq!(pace.tick(at(start, 1)), Tick::Ask);
        assert!(!pace.answered(at(start, 2)), "only the new one");
        assert_eq!(pace.tick(at(start, 4_999)), Tick::Wait);
        assert_eq!(pace.tick(at(start, 5_000)), Tick::Ask, "a busy stream is asked as well");
        assert!(pace.answered(at(start, 5_001)));
    }
}
