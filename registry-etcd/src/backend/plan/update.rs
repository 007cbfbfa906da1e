//! Update: the body is replaced, what was damaged is put again, what is equal is left alone.

use registry_core::{OwnerToken, Result, Version};

use super::super::place::Place;
use super::super::standing::{ClaimAt, Holder, RecordAt, Standing};
use super::{fenced, not_registered, put, unchanged};
use crate::client::{Compare, Kv, LeaseId, Op, Txn};
use crate::record::Claim;

/// What a registration's record is to be.
#[derive(Debug)]
pub(crate) struct Update<'a> {
    pub(crate) place: &'a Place,
    pub(crate) lease: LeaseId,
    pub(crate) owner: OwnerToken,
    pub(crate) version: Option<&'a Version>,
    /// The encoded record.
    pub(crate) record: &'a [u8],
}

/// A step, and the revisions of what it leaves as it is; a step that writes nothing only proves that all is as it
/// should be.
#[derive(Debug)]
pub(crate) struct Writes {
    pub(crate) txn: Txn,
    /// The revision that wrote the claim, unless this step does.
    pub(crate) claim: Option<u64>,
    /// The revision that wrote the record, unless this step does.
    pub(crate) record: Option<u64>,
}

/// What the owner wrote last, as far as it knows nothing else.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    pub(crate) claim_revision: u64,
    pub(crate) record_revision: u64,
    pub(crate) version: Option<Version>,
}

impl Update<'_> {
    /// The step from what the owner wrote last; `equal` where the record is that already.
    pub(crate) fn known(&self, written: &Written, equal: bool) -> Result<Writes> {
        let moved = written.version.as_ref() != self.version;
        let key = self.place.record(self.version);
        let mut compare = vec![
            Compare::Lease(self.place.claim(), self.lease),
            Compare::ModRevision(self.place.claim(), written.claim_revision),
        ];
        let mut success = Vec::new();
        if moved {
            compare.push(Compare::Absent(key.clone()));
            success.push(Op::Delete { key: self.place.record(written.version.as_ref()) });
            success.push(put(self.place.claim(), &self.claim()?, self.lease));
        }
        let record = (equal && !moved).then_some(written.record_revision);
        match record {
            None => success.push(put(key, self.record, self.lease)),
            Some(revision) => compare.push(Compare::ModRevision(key, revision)),
        }
        let claim = (!moved).then_some(written.claim_revision);
        Ok(Writes { txn: Txn { compare, success, failure: Vec::new() }, claim, record })
    }

    /// The step from what was found. `last` is the version that the owner wrote last, if it knows.
    ///
    /// The claim decides: another's is `Fenced`; none, or one that a stranger left, is put again where the lease still
    /// lives, which the put itself finds out.
    pub(crate) fn found(&self, standing: &Standing, last: Option<&Option<Version>>) -> Result<Writes> {
        if standing.left == Some(self.lease) {
            return Err(not_registered());
        }
        let old_version = match standing.claim.as_ref().map(ClaimAt::holder) {
            Some(Holder::Owner(lease, claim)) if lease == self.lease => Some(&claim.version),
            Some(Holder::Owner(..)) => return Err(fenced()),
            Some(Holder::Unreadable(_) | Holder::Nobody) | None => last,
        };
        let target = standing.records.iter().find(|record| record.version.as_ref() == self.version);
        target.map_or(Ok(()), |record| RecordAt::newer(record, self.place))?;

        // The revision of what stands already as it is to stand.
        let stands = |kv: &Kv, value: &[u8]| {
            (kv.value == value && kv.lease == Some(self.lease)).then_some(kv.mod_revision)
        };
        let claim_value = self.claim()?;
        let claim = standing.claim.as_ref().and_then(|claim| stands(&claim.kv, &claim_value));
        let record = target.and_then(|record| stands(&record.kv, self.record));

        let claim_revision = standing.claim.as_ref().map(|claim| claim.kv.mod_revision);
        let mut compare = vec![unchanged(self.place.claim(), claim_revision)];
        if standing.claim.is_none() {
            // A deregistration that comes in between takes the claim away and leaves its mark.
            compare.push(match standing.left {
                Some(lease) => Compare::Lease(self.place.left(), lease),
                None => Compare::Absent(self.place.left()),
            });
        }
        let mut success = Vec::new();
        if claim.is_none() {
            success.push(put(self.place.claim(), &claim_value, self.lease));
        }
        if record.is_none() {
            success.push(put(self.place.record(self.version), self.record, self.lease));
        }
        if let Some(old) = old_version
            && old.as_ref() != self.version
            && standing.record(old.as_ref()).is_some()
        {
            success.push(Op::Delete { key: self.place.record(old.as_ref()) });
        }
        Ok(Writes { txn: Txn { compare, success, failure: Vec::new() }, claim, record })
    }

    /// The encoded claim.
    pub(crate) fn claim(&self) -> Result<Vec<u8>> {
        Claim { owner: self.owner, version: self.version.cloned() }.encode()
    }
}
