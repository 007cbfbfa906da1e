//! Register: who may claim an id, and in which single step claim and record are put.

use registry_core::{Error, ErrorKind, OwnerToken, Result, Takeover, Version};

use super::super::place::Place;
use super::super::standing::{Holder, Standing};
use super::{already_exists, put, unchanged};
use crate::client::{Compare, LeaseId, Op, Txn};
use crate::record::{Claim, generation};

/// A registration that is to be put under `lease`.
#[derive(Debug)]
pub(crate) struct Register<'a> {
    pub(crate) place: &'a Place,
    pub(crate) lease: LeaseId,
    pub(crate) owner: OwnerToken,
    pub(crate) takeover: Takeover,
    pub(crate) version: Option<&'a Version>,
    /// The encoded claim.
    pub(crate) claim: &'a [u8],
    /// The encoded record.
    pub(crate) record: &'a [u8],
}

/// A step that takes over what stands.
#[derive(Debug)]
pub(crate) struct Takes {
    pub(crate) txn: Txn,
    /// The lease to revoke once the step was taken.
    pub(crate) replaced: Option<LeaseId>,
}

impl Register<'_> {
    /// The first step: nobody holds the id. Where that does not hold, it answers with claim and record.
    pub(crate) fn first(&self) -> Txn {
        let compare =
            vec![Compare::Absent(self.place.claim()), Compare::Absent(self.place.record(self.version))];
        self.step(compare, None)
    }

    /// The step from what was found; the error says why there is none.
    pub(crate) fn next(&self, standing: &Standing) -> Result<Takes> {
        for record in &standing.records {
            record.newer(self.place)?;
        }
        let mut replaced = None;
        let mut moved_from = None;
        if let Some(claim) = &standing.claim {
            match claim.holder() {
                Holder::Nobody => {}
                Holder::Owner(lease, said) => {
                    self.may_replace(lease, said.owner == self.owner)?;
                    replaced = Some(lease);
                    moved_from = Some(said);
                }
                Holder::Unreadable(lease) => {
                    self.may_replace(lease, false)?;
                    replaced = Some(lease);
                }
            }
            if claim.is_newer() {
                let why = "the claim is of a newer schema and must not be overwritten here";
                return Err(Error::new(ErrorKind::Unsupported, why));
            }
        }
        let record = standing.record(self.version).map(|kv| kv.mod_revision);
        let claim = standing.claim.as_ref().map(|claim| claim.kv.mod_revision);
        let compare =
            vec![unchanged(self.place.claim(), claim), unchanged(self.place.record(self.version), record)];
        Ok(Takes { txn: self.step(compare, moved_from), replaced: replaced.filter(|old| *old != self.lease) })
    }

    fn may_replace(&self, lease: LeaseId, mine: bool) -> Result<()> {
        if mine || self.takeover.allows(generation(lease)) { Ok(()) } else { Err(already_exists(lease)) }
    }

    fn step(&self, compare: Vec<Compare>, replaces: Option<&Claim>) -> Txn {
        let record = self.place.record(self.version);
        let mut success = vec![
            put(self.place.claim(), self.claim, self.lease),
            put(record.clone(), self.record, self.lease),
        ];
        if let Some(old) = replaces.filter(|old| old.version.as_ref() != self.version) {
            success.push(Op::Delete { key: self.place.record(old.version.as_ref()) });
        }
        let failure = vec![Op::Get { key: self.place.claim() }, Op::Get { key: record }];
        Txn { compare, success, failure }
    }
}
