//! Deregister: one generation goes, in one step that says so, and nothing else.

use registry_core::Version;

use super::super::place::Place;
use super::super::standing::{ClaimAt, Holder, Standing};
use super::update::Written;
use super::{put, unchanged};
use crate::client::{Compare, LeaseId, Op, Txn};
use crate::record::LEFT;

/// A registration that is to be removed.
#[derive(Debug)]
pub(crate) struct Leave<'a> {
    pub(crate) place: &'a Place,
    pub(crate) lease: LeaseId,
    /// Whether the mark is left: not where the store refuses every put.
    pub(crate) mark: bool,
}

impl Leave<'_> {
    /// The step from what the owner wrote last.
    pub(crate) fn known(&self, written: &Written) -> Txn {
        let compare = vec![
            Compare::Lease(self.place.claim(), self.lease),
            Compare::ModRevision(self.place.claim(), written.claim_revision),
        ];
        self.step(compare, true, Some(self.place.record(written.version.as_ref())))
    }

    /// The step from what was found; none where this generation is gone already. `last` is the version that the owner
    /// wrote last, if it knows.
    pub(crate) fn found(&self, standing: &Standing, last: Option<&Option<Version>>) -> Option<Txn> {
        let claim_revision = standing.claim.as_ref().map(|claim| claim.kv.mod_revision);
        let mut compare = vec![unchanged(self.place.claim(), claim_revision)];
        let (mine, version) = match standing.claim.as_ref().map(ClaimAt::holder) {
            Some(Holder::Owner(lease, claim)) if lease == self.lease => (true, Some(&claim.version)),
            Some(Holder::Owner(..)) => return None,
            Some(Holder::Unreadable(lease)) => (lease == self.lease, last),
            // Gone, or a stranger's that proves nothing.
            Some(Holder::Nobody) | None => (false, last),
        };
        let record = version.and_then(|version| standing.record(version.as_ref()));
        // Without the claim only a record under this very lease is its own.
        let record = record.filter(|kv| mine || kv.lease == Some(self.lease));
        if !mine && record.is_none() {
            return None;
        }
        if let Some(kv) = record {
            compare.push(Compare::ModRevision(kv.key.clone(), kv.mod_revision));
        }
        Some(self.step(compare, mine, record.map(|kv| kv.key.clone())))
    }

    fn step(&self, compare: Vec<Compare>, claim: bool, record: Option<Vec<u8>>) -> Txn {
        let mut success = Vec::new();
        if let Some(key) = record {
            success.push(Op::Delete { key });
        }
        if claim {
            success.push(Op::Delete { key: self.place.claim() });
        }
        if self.mark {
            success.push(put(self.place.left(), LEFT, self.lease));
        }
        Txn { compare, success, failure: Vec::new() }
    }
}
