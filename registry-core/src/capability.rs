//! What backends may differ in: a closed list.

use std::fmt;

/// One thing that a backend has or has not. Everything else is asked of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// It lies behind a link that can fail.
    Outage,
    /// It forgets old history.
    Compaction,
    /// Its history can be replaced by another (a restored backup).
    Lineage,
    /// It can answer stale reads; a backend without it answers them linearizable and says so.
    StaleReads,
    /// A second client can join the same registry from elsewhere.
    SecondClient,
    /// Others can write beneath it.
    Stranger,
}

impl Capability {
    /// All there are.
    pub const ALL: [Self; 6] =
        [Self::Outage, Self::Compaction, Self::Lineage, Self::StaleReads, Self::SecondClient, Self::Stranger];

    fn bit(self) -> u8 {
        1 << self as u8
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// A set of [`Capability`].
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities(u8);

impl Capabilities {
    /// None of them.
    pub fn none() -> Self {
        Self(0)
    }

    /// All of them.
    pub fn all() -> Self {
        Capability::ALL.into_iter().fold(Self::none(), Self::with)
    }

    /// The set with one more.
    #[must_use]
    pub fn with(self, capability: Capability) -> Self {
        Self(self.0 | capability.bit())
    }

    /// Whether it holds this one.
    pub fn has(self, capability: Capability) -> bool {
        self.0 & capability.bit() != 0
    }

    /// Those it holds.
    pub fn iter(self) -> impl Iterator<Item = Capability> {
        Capability::ALL.into_iter().filter(move |capability| self.has(*capability))
    }
}

impl fmt::Debug for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}
