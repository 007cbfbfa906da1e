//! What a stream that carries many watches does with each message. Pure: no I/O, the time is an argument.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use registry_core::{FollowEnd, Lineage, Revision};
use tokio::time::Instant;

use super::joiner::Joiner;
use super::pace::{Pace, Tick};
use super::wire::{Message, Request};
use crate::client::feed::{Event, Sink};
use crate::client::history::History;
use crate::client::model::KeyRange;
use crate::error::{Fault, classify_watch, is_denial};

/// A watch that somebody wants.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) id: u64,
    pub(super) range: KeyRange,
    /// The last revision that is already known.
    pub(super) after: u64,
    /// The history that revision belongs to, if any is known.
    pub(super) lineage: Option<Lineage>,
    pub(super) sink: Sink,
}

/// What only a read can tell.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Question {
    /// A watch was refused: are the credentials too weak, or is the login of the stream outdated?
    Refused { id: u64, range: KeyRange },
    /// The member is behind the position: does it lag, or was the history replaced?
    Behind { id: u64, range: KeyRange },
}

/// The watches of one stream.
#[derive(Debug)]
pub(super) struct Mux {
    watches: HashMap<u64, Watch>,
    /// Those not yet asked for. A refused create carries no id, so one is made after the other.
    waiting: VecDeque<u64>,
    creating: Option<u64>,
    requests: VecDeque<Request>,
    /// Those that have not been told yet that they are live.
    fresh: Vec<u64>,
    pace: Pace,
}

#[derive(Debug)]
struct Watch {
    range: KeyRange,
    /// The last revision that was delivered.
    position: u64,
    lineage: Option<Lineage>,
    sink: Sink,
    joiner: Joiner,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The server does not know it, or not yet.
    Asked,
    /// It is there, and a question is open: events are held back.
    Doubted,
    Live,
}

impl Mux {
    pub(super) fn new(silence: Duration, answer: Duration, now: Instant) -> Self {
        Self {
            watches: HashMap::new(),
            waiting: VecDeque::new(),
            creating: None,
            requests: VecDeque::new(),
            fresh: Vec::new(),
            pace: Pace::new(silence, answer, now),
        }
    }

    /// Takes on a watch.
    pub(super) fn add(&mut self, wanted: Wanted) {
        let Wanted { id, range, after, lineage, sink } = wanted;
        let joiner = Joiner::default();
        self.watches.insert(id, Watch { range, position: after, lineage, sink, joiner, stage: Stage::Asked });
        self.waiting.push_back(id);
    }

    /// Nobody wants a watch any more.
    pub(super) fn remove(&mut self, id: u64) -> Option<Sink> {
        let watch = self.watches.remove(&id)?;
        if watch.stage != Stage::Asked {
            self.requests.push_back(Request::Cancel(id));
        }
        Some(watch.sink)
    }

    /// Ends one watch.
    pub(super) fn end(&mut self, id: u64, end: FollowEnd) {
        if let Some(sink) = self.remove(id) {
            sink.end(end);
        }
    }

    /// Ends all watches, for the same reason.
    pub(super) fn end_all(&mut self, end: &FollowEnd) {
        for (_, watch) in self.watches.drain() {
            watch.sink.end(end.clone());
        }
    }

    /// The history changed: ends what belongs to another.
    pub(super) fn enter(&mut self, lineage: Option<Lineage>) {
        let others =
            self.watches.iter().filter(|(_, watch)| watch.lineage.is_some() && watch.lineage != lineage);
        for id in others.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.end(id, FollowEnd::LineageChanged);
        }
    }

    /// Whether there is something to send.
    pub(super) fn has_request(&self) -> bool {
        !self.requests.is_empty() || (self.creating.is_none() && !self.waiting.is_empty())
    }

    /// What to send next.
    pub(super) fn next_request(&mut self, now: Instant) -> Option<Request> {
        if let Some(request) = self.requests.pop_front() {
            return Some(request);
        }
        while self.creating.is_none() {
            let id = self.waiting.pop_front()?;
            // Else it was left while it waited.
            if let Some(watch) = self.watches.get(&id) {
                self.creating = Some(id);
                self.pace.creating(now);
                return Some(Request::Create { id, range: watch.range.clone(), start: watch.position + 1 });
            }
        }
        None
    }

    /// When to [`tick`](Self::tick) next.
    pub(super) fn deadline(&self) -> Instant {
        self.pace.deadline()
    }

    /// What the time asks for; false if the stream is dead.
    pub(super) fn tick(&mut self, now: Instant) -> bool {
        match self.pace.tick(now) {
            Tick::Wait => true,
            Tick::Ask => {
                self.requests.push_back(Request::Progress);
                true
            }
            Tick::Dead => false,
        }
    }

    /// Whether nothing is watched.
    pub(super) fn is_empty(&self) -> bool {
        self.watches.is_empty() && self.creating.is_none()
    }

    /// Takes in a message; the answer to the question it may raise is brought to [`settled`](Self::settled) or
    /// [`end`](Self::end).
    pub(super) fn hear(&mut self, message: Message, history: &History, now: Instant) -> Option<Question> {
        self.pace.heard(now);
        if message.created {
            return self.created(&message, history, now);
        }
        let Some(id) = message.watch else {
            history.stale(message.cluster, message.revision);
            self.progress(now);
            return None;
        };
        if message.canceled {
            return self.canceled(id, &message);
        }
        let watch = self.watches.get_mut(&id)?;
        watch.joiner.hold(message.events);
        if !message.fragment && watch.stage == Stage::Live {
            self.deliver(id, message.cluster, history);
        }
        None
    }

    /// A question about a watch was answered well.
    pub(super) fn settled(&mut self, id: u64, history: &History, now: Instant) {
        if let Some(watch) = self.watches.get_mut(&id) {
            watch.stage = Stage::Live;
            self.fresh.push(id);
            self.pace.created(true, now);
            self.deliver(id, 0, history);
        }
    }

    /// Where a watch stands: its last revision and the history that it belongs to.
    pub(super) fn position(&self, id: u64) -> Option<Revision> {
        let watch = self.watches.get(&id)?;
        Some(Revision::new(watch.lineage?, watch.position))
    }

    fn created(&mut self, message: &Message, history: &History, now: Instant) -> Option<Question> {
        let id = self.creating.take()?;
        let Some(watch) = self.watches.get_mut(&id) else {
            // Left while it was made.
            self.pace.created(false, now);
            if !message.canceled {
                self.requests.push_back(Request::Cancel(id));
            }
            return None;
        };
        let lineage = history.stale(message.cluster, message.revision).lineage();
        let range = watch.range.clone();
        if message.canceled {
            self.pace.created(false, now);
            return self.refused(id, range, &message.reason);
        }
        watch.stage = Stage::Doubted;
        if *watch.lineage.get_or_insert(lineage) != lineage {
            self.pace.created(false, now);
            self.end(id, FollowEnd::LineageChanged);
            return None;
        }
        if message.revision < watch.position {
            self.pace.created(false, now);
            return Some(Question::Behind { id, range });
        }
        self.settled(id, history, now);
        None
    }

    fn canceled(&mut self, id: u64, message: &Message) -> Option<Question> {
        let watch = self.watches.get_mut(&id)?;
        // The server does not know it any more, so there is nothing to cancel...
        watch.stage = Stage::Asked;
        if message.compacted.is_some() {
            // ... but here etcd 3.5 keeps it among those that are behind, and answers no question about progress until
            // it is cancelled. Whether that is answered does not matter: the id is unknown here from now on.
            self.requests.push_back(Request::Cancel(id));
            self.end(id, FollowEnd::Compacted);
            return None;
        }
        let range = watch.range.clone();
        self.refused(id, range, &message.reason)
    }

    fn refused(&mut self, id: u64, range: KeyRange, reason: &str) -> Option<Question> {
        let fault = classify_watch(reason);
        match &fault {
            Fault::Token(_) => Some(Question::Refused { id, range }),
            // Some servers say no more than this of an outdated login.
            Fault::Refused(error) if is_denial(error) => Some(Question::Refused { id, range }),
            _ => {
                self.end(id, fault.into_end());
                None
            }
        }
    }

    /// Progress of the stream: everything that is live is live still. A server may say it before it sends what it has
    /// (3.4, early 3.5), so its revision is not passed on.
    fn progress(&mut self, now: Instant) {
        let tell = |watch: &Watch| {
            if let (Stage::Live, Some(lineage)) = (watch.stage, watch.lineage) {
                watch.sink.progress(Revision::new(lineage, watch.position));
            }
        };
        let fresh = std::mem::take(&mut self.fresh);
        if self.pace.answered(now) {
            self.watches.values().for_each(tell);
        } else {
            fresh.iter().filter_map(|id| self.watches.get(id)).for_each(tell);
        }
    }

    fn deliver(&mut self, id: u64, cluster: u64, history: &History) {
        let Some(watch) = self.watches.get_mut(&id) else { return };
        for (number, events) in watch.joiner.take(watch.position) {
            match watch.deliver(history.committed(cluster, number), events) {
                Ok(()) => {}
                Err(end) => return self.end(id, end),
            }
        }
    }
}

impl Watch {
    fn deliver(&mut self, revision: Revision, events: Vec<Event>) -> Result<(), FollowEnd> {
        if *self.lineage.get_or_insert(revision.lineage()) != revision.lineage() {
            return Err(FollowEnd::LineageChanged);
        }
        if !self.sink.batch(revision, events) {
            return Err(FollowEnd::Lagged);
        }
        self.position = revision.number();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
