//! Finds an event that was lost without a word: the backend's keys and revisions against what was folded (W10). Pure.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use crate::source::{Digest, DigestKey};

/// When to audit, and what a difference means.
///
/// A difference may be an event that is still on its way, so it counts only when the very same one is there again
/// after a while.
#[derive(Debug)]
pub(crate) struct Audit {
    interval: Duration,
    suspects: BTreeMap<DigestKey, Suspect>,
}

/// What the backend has and what was folded, by revision.
type Suspect = (Option<u64>, Option<u64>);

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Equal,
    /// Look again soon.
    Unsure,
    Drift,
}

impl Audit {
    /// How long an event may be on its way.
    pub(crate) const SETTLE: Duration = Duration::from_secs(2);

    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, suspects: BTreeMap::new() }
    }

    /// The next time: the interval, spread by a fifth, so that many clients do not audit together.
    pub(crate) fn next(&self, now: Instant) -> Instant {
        now + self.interval.mul_f64(0.8 + 0.4 * fastrand::f64())
    }

    pub(crate) fn compare(&mut self, folded: &Digest, backend: &Digest) -> Verdict {
        let mut suspects = BTreeMap::new();
        for (key, revision) in &backend.keys {
            let ours = folded.keys.get(key).copied();
            if ours != Some(*revision) {
                suspects.insert(key.clone(), (Some(*revision), ours));
            }
        }
        for (key, revision) in &folded.keys {
            if !backend.keys.contains_key(key) {
                suspects.insert(key.clone(), (None, Some(*revision)));
            }
        }
        let drift = suspects.iter().any(|(key, suspect)| self.suspects.get(key) == Some(suspect));
        let verdict = match (drift, suspects.is_empty()) {
            (true, _) => Verdict::Drift,
            (false, true) => Verdict::Equal,
            (false, false) => Verdict::Unsure,
        };
        self.suspects = if drift { BTreeMap::new() } else { suspects };
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::InstanceId;
    use crate::revision::{Lineage, Revision};

    fn digest(keys: &[(&str, u64)]) -> Digest {
        let keys = keys
            .iter()
            .map(|(id, revision)| (DigestKey::Override(InstanceId::new(id).unwrap()), *revision))
            .collect();
        Digest { revision: Revision::new(Lineage::new(1), 9), keys }
    }

    #[test]
    fn only_a_difference_that_stays_is_drift() {
        let mut audit = Audit::new(Duration::from_mins(5));
        assert_eq!(audit.compare(&digest(&[("a", 1)]), &digest(&[("a", 1)])), Verdict::Equal);
        assert_eq!(audit.compare(&digest(&[("a", 1)]), &digest(&[("a", 2)])), Verdict::Unsure);
        assert_eq!(audit.compare(&digest(&[("a", 2)]), &digest(&[("a", 3)])), Verdict::Unsure, "another one");
        assert_eq!(audit.compare(&digest(&[("a", 2)]), &digest(&[("a", 3)])), Verdict::Drift);
        assert_eq!(audit.compare(&digest(&[("a", 3), ("b", 1)]), &digest(&[("a", 3)])), Verdict::Unsure);
        assert_eq!(audit.compare(&digest(&[("a", 3), ("b", 1)]), &digest(&[("a", 3)])), Verdict::Drift);
    }

    #[test]
    fn audits_are_spread_by_a_fifth() {
        let audit = Audit::new(Duration::from_secs(100));
        let now = Instant::now();
        for _ in 0..100 {
            let wait = audit.next(now) - now;
            assert!((80..=120).contains(&wait.as_secs()), "{wait:?}");
        }
    }
}
