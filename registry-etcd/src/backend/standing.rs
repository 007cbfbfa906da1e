//! What was found to stand under an instance's keys.

use registry_core::{ErrorKind, Result, Revision, Slot, Version};

use super::place::Place;
use crate::client::{Kv, LeaseId, OpAnswer};
use crate::record::Claim;

/// What stands for an id, as far as it was looked at.
#[derive(Debug, Clone)]
pub(crate) struct Standing {
    /// The revision it was read at, or one before it: what is written from it is compared with what it holds.
    pub(crate) revision: Revision,
    pub(crate) claim: Option<ClaimAt>,
    /// The records found, each with its version.
    pub(crate) records: Vec<RecordAt>,
    /// The lease of the mark that a deregistration left.
    pub(crate) left: Option<LeaseId>,
}

impl Standing {
    pub(crate) fn record(&self, version: Option<&Version>) -> Option<&Kv> {
        self.records.iter().find(|record| record.version.as_ref() == version).map(|record| &record.kv)
    }
}

/// A claim, readable or not.
#[derive(Debug, Clone)]
pub(crate) struct ClaimAt {
    pub(crate) kv: Kv,
    pub(crate) said: Result<Claim>,
}

/// A record's key and value.
#[derive(Debug, Clone)]
pub(crate) struct RecordAt {
    pub(crate) version: Option<Version>,
    pub(crate) kv: Kv,
}

/// Who a claim says owns the id. A claim without a lease would never end and so proves nothing (R3); one that is
/// unreadable is a stranger's.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Holder<'a> {
    Nobody,
    Unreadable(LeaseId),
    Owner(LeaseId, &'a Claim),
}

impl ClaimAt {
    pub(crate) fn new(kv: Kv) -> Self {
        let said = Claim::decode(&kv.value);
        Self { kv, said }
    }

    pub(crate) fn holder(&self) -> Holder<'_> {
        match (self.kv.lease, &self.said) {
            (None, _) => Holder::Nobody,
            (Some(lease), Ok(claim)) => Holder::Owner(lease, claim),
            (Some(lease), Err(_)) => Holder::Unreadable(lease),
        }
    }

    /// Whether it is of a schema that must not be overwritten here.
    pub(crate) fn is_newer(&self) -> bool {
        self.said.as_ref().is_err_and(|error| *error.kind() == ErrorKind::Unsupported)
    }
}

impl RecordAt {
    /// The error that forbids to write over it: it is of a newer schema.
    pub(crate) fn newer(&self, place: &Place) -> Result<()> {
        let slot = Slot::new(place.id().clone(), self.version.clone());
        match registry_core::record::decode(&slot, &self.kv.value) {
            Err(error) if *error.kind() == ErrorKind::Unsupported => Err(error),
            _ => Ok(()),
        }
    }
}

/// The keys that the reads of a transaction found, in the order of the reads.
pub(crate) fn found(answers: Vec<OpAnswer>) -> impl Iterator<Item = Option<Kv>> {
    answers.into_iter().filter_map(|answer| match answer {
        OpAnswer::Got(kvs) => Some(kvs.into_iter().next()),
        OpAnswer::Put | OpAnswer::Deleted(_) => None,
    })
}
