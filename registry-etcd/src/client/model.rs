//! The words of etcd's store: keys, ranges, transactions.

use std::fmt;
use std::time::Duration;

use registry_core::Revision;

/// The lease a key may stand under. Never 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct LeaseId(pub(crate) i64);

impl LeaseId {
    /// The lease that a field of the protocol names; 0 is none.
    pub(crate) fn from_wire(id: i64) -> Option<Self> {
        (id != 0).then_some(Self(id))
    }
}

impl fmt::Display for LeaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As etcdctl prints it.
        write!(f, "{:x}", self.0)
    }
}

/// Where a range ends.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum KeyEnd {
    /// With its first key: one key.
    One,
    /// Before this key.
    Before(Vec<u8>),
}

/// Some keys: what is watched.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct KeyRange {
    /// The first key.
    pub(crate) key: Vec<u8>,
    /// Where they end.
    pub(crate) end: KeyEnd,
}

impl KeyRange {
    /// This key alone.
    pub(crate) fn one(key: impl Into<Vec<u8>>) -> Self {
        Self { key: key.into(), end: KeyEnd::One }
    }

    /// Every key that begins with `prefix`.
    pub(crate) fn prefix(prefix: impl Into<Vec<u8>>) -> Self {
        let key = prefix.into();
        let end = KeyEnd::Before(after_prefix(&key));
        Self { key, end }
    }
}

/// The first key after all that begin with `prefix`; etcd's "no end" if there is none.
fn after_prefix(prefix: &[u8]) -> Vec<u8> {
    let kept = prefix.iter().rposition(|byte| *byte != u8::MAX).map_or(0, |last| last + 1);
    let mut end = prefix[..kept].to_vec();
    match end.last_mut() {
        Some(last) => *last += 1,
        None => end.push(0),
    }
    end
}

/// A read of some keys.
#[derive(Debug, Clone)]
pub(crate) struct RangeRequest {
    /// The first key.
    pub(crate) key: Vec<u8>,
    /// Where the range ends.
    pub(crate) end: KeyEnd,
    /// The most keys that are answered; 0 is all.
    pub(crate) limit: i64,
    /// The revision to read at; the newest if none.
    pub(crate) revision: Option<u64>,
    /// Whether values are left out.
    pub(crate) keys_only: bool,
    /// Whether the member that is asked may answer from what it knows, without asking the leader.
    pub(crate) stale: bool,
}

impl RangeRequest {
    /// All of `range`, newest, linearizable, with values.
    pub(crate) fn of(range: KeyRange) -> Self {
        Self { key: range.key, end: range.end, limit: 0, revision: None, keys_only: false, stale: false }
    }
}

/// The answer to a [`RangeRequest`].
#[derive(Debug, Clone)]
pub(crate) struct RangeAnswer {
    /// The revision of the store when it answered (not the one that was asked for).
    pub(crate) revision: Revision,
    /// The keys in their order.
    pub(crate) kvs: Vec<Kv>,
    /// Whether the limit cut some off.
    pub(crate) more: bool,
}

/// A key as it stands in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Kv {
    /// The key.
    pub(crate) key: Vec<u8>,
    /// Its value; empty if keys only were asked for.
    pub(crate) value: Vec<u8>,
    /// The revision that made it.
    pub(crate) create_revision: u64,
    /// The revision that last wrote it.
    pub(crate) mod_revision: u64,
    /// The lease that it dies with.
    pub(crate) lease: Option<LeaseId>,
}

/// One atomic step: if every comparison holds `success`, else `failure`. No key twice, at most 128 operations.
#[derive(Debug, Clone, Default)]
pub(crate) struct Txn {
    /// What is compared.
    pub(crate) compare: Vec<Compare>,
    /// What is done if all of it holds.
    pub(crate) success: Vec<Op>,
    /// What is done if not.
    pub(crate) failure: Vec<Op>,
}

/// A comparison of a transaction.
#[derive(Debug, Clone)]
pub(crate) enum Compare {
    /// The key is not there.
    Absent(Vec<u8>),
    /// The key was last written by this revision.
    ModRevision(Vec<u8>, u64),
    /// The key stands under this lease.
    Lease(Vec<u8>, LeaseId),
}

/// An operation of a transaction.
#[derive(Debug, Clone)]
pub(crate) enum Op {
    /// Writes a key.
    Put {
        /// The key.
        key: Vec<u8>,
        /// Its value.
        value: Vec<u8>,
        /// The lease that it dies with.
        lease: Option<LeaseId>,
    },
    /// Deletes a key, if it is there.
    Delete {
        /// The key.
        key: Vec<u8>,
    },
    /// Reads a key.
    Get {
        /// The key.
        key: Vec<u8>,
    },
}

/// The answer to a [`Txn`].
#[derive(Debug, Clone)]
pub(crate) struct TxnAnswer {
    /// Whether every comparison held.
    pub(crate) succeeded: bool,
    /// The revision of the store after it: that of its writes, if it wrote.
    pub(crate) revision: Revision,
    /// The answers to the operations that were done, in their order.
    pub(crate) answers: Vec<OpAnswer>,
}

/// The answer to an [`Op`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OpAnswer {
    /// Written.
    Put,
    /// This many keys were deleted.
    Deleted(u64),
    /// What was there.
    Got(Vec<Kv>),
}

/// A lease that was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Granted {
    /// Its id.
    pub(crate) lease: LeaseId,
    /// The TTL that the server chose; it may be longer than the one asked for.
    pub(crate) ttl: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_before_the_first_key_that_does_not_begin_with_it() {
        assert_eq!(after_prefix(b"a/"), b"a0");
        assert_eq!(after_prefix(b"a\xff\xff"), b"b");
        assert_eq!(after_prefix(b"\xff"), b"\0", "no end");
        assert_eq!(after_prefix(b""), b"\0", "every key");
    }
}
