//! Messages of one watch, made into one batch per revision. Pure.

use crate::client::feed::Event;

/// Joins fragments, splits by revision, drops what was already delivered.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    held: Vec<Event>,
}

impl Joiner {
    /// Takes the events of a message.
    pub(super) fn hold(&mut self, events: Vec<Event>) {
        if self.held.is_empty() {
            self.held = events;
        } else {
            self.held.extend(events);
        }
    }

    /// Gives out what is held, one batch per revision above `after`. To be called when the last fragment is in.
    pub(super) fn take(&mut self, after: u64) -> Vec<(u64, Vec<Event>)> {
        let mut batches: Vec<(u64, Vec<Event>)> = Vec::new();
        for event in std::mem::take(&mut self.held).into_iter().filter(|event| event.revision() > after) {
            match batches.last_mut() {
                Some((revision, events)) if *revision == event.revision() => events.push(event),
                _ => batches.push((event.revision(), vec![event])),
            }
        }
        batches
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::feed::EventKind;

    fn delete(key: &str, revision: u64) -> Event {
        Event { kind: EventKind::Delete { key: key.into(), revision }, prev: None }
    }

    fn revisions(batches: &[(u64, Vec<Event>)]) -> Vec<(u64, usize)> {
        batches.iter().map(|(revision, events)| (*revision, events.len())).collect()
    }

    #[test]
    fn a_message_of_several_revisions_is_split() {
        let mut joiner = Joiner::default();
        joiner.hold(vec![delete("a", 5), delete("b", 5), delete("a", 7)]);
        assert_eq!(revisions(&joiner.take(4)), [(5, 2), (7, 1)]);
        assert!(joiner.take(4).is_empty(), "given out once");
    }

    #[test]
    fn a_revision_in_fragments_is_joined() {
        let mut joiner = Joiner::default();
        joiner.hold(vec![delete("a", 5)]);
        joiner.hold(vec![delete("b", 5)]);
        joiner.hold(vec![delete("c", 5), delete("a", 6)]);
        assert_eq!(revisions(&joiner.take(0)), [(5, 3), (6, 1)]);
    }

    #[test]
    fn what_was_delivered_is_dropped() {
        let mut joiner = Joiner::default();
        joiner.hold(vec![delete("a", 4), delete("a", 5), delete("a", 6)]);
        assert_eq!(revisions(&joiner.take(5)), [(6, 1)]);
    }
}
