//! One of a registration's own keys: what it wrote there last, and what it heard since. Pure.

/// The revisions are of one history, or [`found`](Key::found) said anew where they begin.
#[derive(Debug)]
pub(super) struct Key {
    value: Vec<u8>,
    /// The revision of its own last write.
    revision: u64,
    /// The revision after that by which somebody else changed it, if it is still changed.
    damaged: Option<u64>,
}

/// What somebody put under the key.
#[derive(Debug, Clone, Copy)]
pub(super) struct Value<'a> {
    pub(super) bytes: &'a [u8],
    /// Under the registration's own lease.
    pub(super) mine: bool,
}

impl Key {
    pub(super) fn written((value, revision): (Vec<u8>, u64)) -> Self {
        Self { value, revision, damaged: None }
    }

    pub(super) fn revision(&self) -> u64 {
        self.revision
    }

    pub(super) fn is_intact(&self) -> bool {
        self.damaged.is_none()
    }

    pub(super) fn is(&self, value: &[u8]) -> bool {
        self.value == value
    }

    /// An event; nothing if the key was deleted. Answers whether it came after its own last write.
    pub(super) fn event(&mut self, revision: u64, value: Option<Value<'_>>) -> bool {
        if revision <= self.revision {
            return false;
        }
        if value.is_some_and(|value| self.stands(value)) {
            // Its own value under its own lease, whoever wrote it.
            self.revision = revision;
            self.damaged = None;
        } else {
            self.damaged = Some(revision);
        }
        true
    }

    /// What was found at `now`, with the revision that wrote it.
    pub(super) fn found(&mut self, now: u64, value: Option<(u64, Value<'_>)>) {
        match value {
            Some((revision, value)) if self.stands(value) => {
                self.revision = revision;
                self.damaged = None;
            }
            _ => {
                self.revision = 0;
                self.damaged = Some(now);
            }
        }
    }

    /// Its own write was answered at `now`: the key holds `value` since `revision`.
    pub(super) fn wrote(&mut self, value: Vec<u8>, revision: u64, now: u64) {
        // Of two writes under way the later one counts, whichever is settled first.
        if revision < self.revision {
            return;
        }
        self.value = value;
        self.revision = revision;
        self.damaged = self.damaged.filter(|damaged| *damaged > now);
    }

    /// Forgets the revisions of a history that is gone.
    pub(super) fn begin_anew(&mut self) {
        self.revision = 0;
        self.damaged = None;
    }

    fn stands(&self, value: Value<'_>) -> bool {
        value.mine && value.bytes == self.value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINE: Value<'_> = Value { bytes: b"mine", mine: true };
    const OTHER: Value<'_> = Value { bytes: b"other", mine: true };

    fn key() -> Key {
        Key::written((b"mine".to_vec(), 10))
    }

    #[test]
    fn what_came_before_its_own_write_is_no_damage() {
        let mut key = key();
        assert!(!key.event(10, Some(MINE)) && !key.event(9, None));
        assert!(key.is_intact());
    }

    #[test]
    fn deleted_overwritten_or_moved_to_another_lease_is_damage() {
        for value in [None, Some(OTHER), Some(Value { mine: false, ..MINE })] {
            let mut key = key();
            assert!(key.event(11, value));
            assert!(!key.is_intact(), "{value:?}");
            key.wrote(b"mine".to_vec(), 12, 12);
            assert!(key.is_intact(), "put again");
        }
    }

    #[test]
    fn an_event_of_its_own_write_that_comes_before_the_answer_is_no_damage_once_it_is_settled() {
        let mut key = key();
        key.event(12, Some(OTHER));
        key.wrote(b"other".to_vec(), 12, 12);
        assert!(key.is_intact());
        key.event(13, None);
        key.wrote(b"late".to_vec(), 11, 11);
        assert!(
            !key.is_intact() && key.is(b"other"),
            "an earlier write that is settled later changes nothing"
        );
    }

    #[test]
    fn what_is_found_in_another_history_counts_from_there() {
        let mut key = key();
        key.found(3, Some((2, MINE)));
        assert!(key.is_intact() && key.revision() == 2);
        key.found(4, None);
        assert!(!key.is_intact());
        key.wrote(b"mine".to_vec(), 5, 5);
        assert!(key.is_intact());
    }
}
