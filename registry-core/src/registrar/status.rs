//! How a registration stands, and everything that befell it in order.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use tokio::time::Instant;

use crate::error::Error;
use crate::lease::Generation;
use crate::sync::lock;
use crate::ttl::Ttl;

/// How a registration stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum RegistrarStatus {
    /// Not registered yet, and trying.
    Registering,
    /// Alive as far as is known: its last acknowledged heartbeat is younger than its TTL.
    Registered {
        /// The ownership in force.
        generation: Generation,
        /// The granted TTL.
        ttl: Ttl,
    },
    /// Not known to be alive any more.
    Lost {
        /// Since when.
        since: Instant,
        /// How it came about.
        reason: LostReason,
        /// True: the [`LostPolicy`](super::LostPolicy) gave up, and this is the end. Else it is being tried again.
        gave_up: bool,
    },
    /// Taken out on purpose until it is resumed (H9).
    Paused,
    /// Seen by callers as draining, to be removed when the drain time is over (D5).
    Draining,
    /// Heartbeats have stopped and its removal is being tried (D4).
    Leaving,
    /// Over: deregistered.
    Deregistered {
        /// False: no try was acknowledged before the TTL ran out or the registrar was closed; it expires by itself.
        acknowledged: bool,
    },
    /// Over: another owner holds the id (H3).
    Fenced,
    /// Over: the first registration was refused.
    Refused {
        /// Why.
        error: Error,
    },
    /// Over: the registrar or its registry was closed. Nothing was deregistered.
    Closed,
}

/// How a registration was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum LostReason {
    /// The registry said so: it expired, or somebody removed it.
    NotRegistered,
    /// No heartbeat was acknowledged for a whole TTL, or it was given up while a try to register it again had no answer.
    /// It may be alive or not: nobody can say before the registry is reached again.
    Unreachable,
}

impl RegistrarStatus {
    /// Whether nothing will come after it.
    pub fn is_final(&self) -> bool {
        match self {
            Self::Registering | Self::Registered { .. } | Self::Paused | Self::Draining | Self::Leaving => {
                false
            }
            Self::Lost { gave_up, .. } => *gave_up,
            Self::Deregistered { .. } | Self::Fenced | Self::Refused { .. } | Self::Closed => true,
        }
    }

    /// Whether it is registered as far as is known.
    pub fn is_registered(&self) -> bool {
        matches!(self, Self::Registered { .. })
    }

    /// The generation in force while registered.
    pub fn generation(&self) -> Option<Generation> {
        match self {
            Self::Registered { generation, .. } => Some(*generation),
            _ => None,
        }
    }
}

impl fmt::Display for RegistrarStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Registering => "registering",
            Self::Registered { .. } => "registered",
            Self::Lost { gave_up: false, .. } => "lost",
            Self::Lost { gave_up: true, .. } => "lost, given up",
            Self::Paused => "paused",
            Self::Draining => "draining",
            Self::Leaving => "leaving",
            Self::Deregistered { .. } => "deregistered",
            Self::Fenced => "fenced",
            Self::Refused { .. } => "refused",
            Self::Closed => "closed",
        })
    }
}

/// One change of status.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct RegistrarEvent {
    /// Its place: each event's is one above that of the event before it.
    pub sequence: u64,
    /// How the registration stood from then on.
    pub status: RegistrarStatus,
}

/// How many events are kept for slow and late readers.
const KEPT: usize = 64;

/// Every change of status in order, from the first; a reader that falls more than 64 behind sees a gap in the sequence
/// numbers.
#[derive(Debug)]
pub struct RegistrarEvents {
    kept: Arc<Mutex<VecDeque<RegistrarEvent>>>,
    told: watch::Receiver<RegistrarStatus>,
    next: u64,
}

impl RegistrarEvents {
    /// The next change; none after the final one.
    ///
    /// # Cancel safety
    ///
    /// May be dropped at any time: no event is lost.
    pub async fn next(&mut self) -> Option<RegistrarEvent> {
        loop {
            // Seen before the look, so that what is told in between wakes the wait.
            self.told.mark_unchanged();
            let next = self.next;
            let found = lock(&self.kept).iter().find(|event| event.sequence >= next).cloned();
            if let Some(event) = found {
                self.next = event.sequence + 1;
                return Some(event);
            }
            self.told.changed().await.ok()?;
        }
    }
}

/// Where the driver tells changes of status.
#[derive(Debug)]
pub(super) struct Publisher {
    kept: Arc<Mutex<VecDeque<RegistrarEvent>>>,
    latest: watch::Sender<RegistrarStatus>,
    sequence: u64,
}

/// Where they are read.
#[derive(Debug)]
pub(super) struct Published {
    kept: Arc<Mutex<VecDeque<RegistrarEvent>>>,
    pub(super) latest: watch::Receiver<RegistrarStatus>,
}

impl Published {
    pub(super) fn events(&self) -> RegistrarEvents {
        RegistrarEvents { kept: Arc::clone(&self.kept), told: self.latest.clone(), next: 0 }
    }
}

impl Publisher {
    pub(super) fn new() -> (Self, Published) {
        let (latest, read) = watch::channel(RegistrarStatus::Registering);
        let kept = Arc::default();
        (Self { kept: Arc::clone(&kept), latest, sequence: 0 }, Published { kept, latest: read })
    }

    pub(super) fn tell(&mut self, status: RegistrarStatus) {
        {
            let mut kept = lock(&self.kept);
            if kept.len() == KEPT {
                kept.pop_front();
            }
            kept.push_back(RegistrarEvent { sequence: self.sequence, status: status.clone() });
        }
        self.sequence += 1;
        self.latest.send_replace(status);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_late_reader_gets_every_event_in_order_and_then_the_end() {
        let (mut publisher, published) = Publisher::new();
        let statuses = [RegistrarStatus::Registering, RegistrarStatus::Paused, RegistrarStatus::Closed];
        for status in &statuses {
            publisher.tell(status.clone());
        }
        let mut events = published.events();
        for (sequence, status) in statuses.iter().enumerate() {
            let event = events.next().await.unwrap();
            assert_eq!((event.sequence, event.status.to_string()), (sequence as u64, status.to_string()));
        }
        drop(publisher);
        assert!(events.next().await.is_none());
    }

    #[tokio::test]
    async fn a_reader_that_fell_too_far_behind_sees_the_gap() {
        let (mut publisher, published) = Publisher::new();
        let mut events = published.events();
        for _ in 0..KEPT + 3 {
            publisher.tell(RegistrarStatus::Leaving);
        }
        assert_eq!(events.next().await.unwrap().sequence, 3);
    }
}
