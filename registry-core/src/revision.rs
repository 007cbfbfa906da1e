//! Where in a history something happened.

use std::cmp::Ordering;
use std::fmt;

/// One history as this process saw it (A2): on etcd the cluster and a count of the breaks that were noticed, or one
/// memory registry. Revisions of two lineages cannot be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Lineage {
    origin: u64,
    breaks: u64,
}

impl Lineage {
    /// The unbroken history of `origin` (an etcd cluster id, or a number drawn for a memory registry).
    pub fn new(origin: u64) -> Self {
        Self { origin, breaks: 0 }
    }

    /// The history that begins where this one was found broken.
    #[must_use]
    pub fn broken(self) -> Self {
        Self { breaks: self.breaks + 1, ..self }
    }

    /// What the history belongs to.
    pub fn origin(self) -> u64 {
        self.origin
    }
}

/// A point in the total order of a backend's changes (A1).
///
/// Compared with `partial_cmp`, or better with [`Revision::is_after`]: revisions of different lineages have no order,
/// and no comparison operator says otherwise (A2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Revision {
    lineage: Lineage,
    number: u64,
}

impl Revision {
    /// The point `number` of `lineage`.
    pub fn new(lineage: Lineage, number: u64) -> Self {
        Self { lineage, number }
    }

    /// The history it belongs to.
    pub fn lineage(self) -> Lineage {
        self.lineage
    }

    /// Its number there.
    pub fn number(self) -> u64 {
        self.number
    }

    /// Whether it is certain that this point lies after `other`: same lineage, higher number.
    pub fn is_after(self, other: Self) -> bool {
        self.partial_cmp(&other) == Some(Ordering::Greater)
    }
}

impl PartialOrd for Revision {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self.lineage == other.lineage).then(|| self.number.cmp(&other.number))
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.number.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lineages_have_no_order() {
        let a = Lineage::new(1);
        let old = Revision::new(a, 9);
        let new = Revision::new(a.broken(), 3);
        assert_eq!(old.partial_cmp(&new), None);
        assert!(!old.is_after(new) && !new.is_after(old));
        assert!(Revision::new(a, 10).is_after(old));
    }
}
