//! What a backend owes so that its watches keep the contract: a list, and the changes after a revision.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;

use crate::error::{Error, Result};
use crate::instance::InstanceSpec;
use crate::item::RemoveReason;
use crate::lease::Generation;
use crate::name::{InstanceId, ServiceName};
use crate::overrides::Override;
use crate::revision::Revision;
use crate::snapshot::{Rejected, Slot};

/// The changes after a revision, ended by the reason why there are no more. A stream that just ends is a
/// disconnection (W11).
pub type Follow<B> = BoxStream<'static, Result<Followed<B>, FollowEnd>>;

/// The small trait that a backend implements; [`WatchHub`](crate::WatchHub) makes contract-keeping watches of it.
///
/// It keeps no retry of its own: every loss ends the stream with a typed reason, and core decides what to do. Streams
/// are cancelled by being dropped, upstream too within a second (W13).
#[async_trait]
pub trait WatchSource: Send + Sync + 'static {
    /// Everything of `service` at one revision (Q1). Linearizable; bounded in time by the source.
    async fn list(&self, service: &ServiceName) -> Result<RawState>;

    /// What happened to `service` after `after`: one batch per revision, in order, none left out, none twice.
    ///
    /// `Followed::Progress` tells that the stream is live and caught up; the first should come as soon as it is.
    fn follow(&self, service: &ServiceName, after: Revision) -> Follow<Batch>;

    /// The keys of `service` with the revision that last wrote each, for the audit (W10).
    async fn digest(&self, service: &ServiceName) -> Result<Digest> {
        Ok(self.list(service).await?.digest())
    }

    /// Every instance that lives, of any service, at one revision: what `services` is made of (Q10).
    async fn list_services(&self) -> Result<RawServices>;

    /// Which instances came and went after `after`.
    fn follow_services(&self, after: Revision) -> Follow<ServicesBatch>;
}

/// One item of a followed stream.
#[derive(Debug, Clone)]
pub enum Followed<B> {
    /// The changes of one revision.
    Batch(B),
    /// The stream is live, and everything up to this revision was delivered.
    Progress(Revision),
}

/// Why a followed stream ended.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum FollowEnd {
    /// The link was lost, or the server ended the stream: follow again from where it was.
    Disconnected(Error),
    /// The history after the position is gone.
    Compacted,
    /// The backend's history is another one now.
    LineageChanged,
    /// The source dropped changes, or cannot resume.
    Lagged,
    /// Refused for good: the watch ends with this error (W11).
    Denied(Error),
    /// The backend was closed.
    Closed,
}

/// A record as it stands in the backend.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    /// Its id, as the key has it.
    pub id: InstanceId,
    /// The ownership it stands under.
    pub generation: Generation,
    /// The revision that wrote it.
    pub revision: Revision,
    /// What it says; the version is the key's.
    pub instance: Arc<InstanceSpec>,
    /// What was corrected when it was read; counted and listed as rejected but served.
    pub corrected: Option<Rejected>,
}

impl Record {
    /// Where it stands.
    pub fn slot(&self) -> Slot {
        Slot::new(self.id.clone(), self.instance.version.clone())
    }
}

/// An override as it stands in the backend.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredOverride {
    /// What was set.
    pub value: Arc<Override>,
    /// The revision that set it.
    pub revision: Revision,
}

/// Everything of a service at one revision.
#[derive(Debug, Clone, PartialEq)]
pub struct RawState {
    /// The revision.
    pub revision: Revision,
    /// The records, in any order.
    pub records: Vec<Record>,
    /// The overrides, also of ids that have no record.
    pub overrides: BTreeMap<InstanceId, StoredOverride>,
    /// What could not be read.
    pub rejected: Vec<Rejected>,
}

impl RawState {
    /// Nothing at `revision`.
    pub fn empty(revision: Revision) -> Self {
        Self { revision, records: Vec::new(), overrides: BTreeMap::new(), rejected: Vec::new() }
    }

    /// Its keys with the revision of each.
    pub fn digest(&self) -> Digest {
        let records = self.records.iter().map(|r| (DigestKey::Record(r.slot()), r.revision.number()));
        let overrides =
            self.overrides.iter().map(|(id, o)| (DigestKey::Override(id.clone()), o.revision.number()));
        Digest { revision: self.revision, keys: records.chain(overrides).collect() }
    }
}

/// The readable keys of a service, each with the number of the revision that last wrote it.
#[derive(Debug, Clone, PartialEq)]
pub struct Digest {
    /// The revision it was read at.
    pub revision: Revision,
    /// The keys.
    pub keys: BTreeMap<DigestKey, u64>,
}

/// A key of a service, as far as the audit tells them apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DigestKey {
    /// A record.
    Record(Slot),
    /// An override.
    Override(InstanceId),
}

/// What one revision did to a service.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The revision.
    pub revision: Revision,
    /// What it did, each slot at most once.
    pub events: Vec<RawEvent>,
}

/// One thing that a revision did.
#[derive(Debug, Clone, PartialEq)]
pub enum RawEvent {
    /// A record was written.
    Put(Record),
    /// A record went, or what stood there unreadable.
    Gone {
        /// Where it stood.
        slot: Slot,
        /// Why.
        reason: RemoveReason,
    },
    /// An override was set or removed.
    Override(InstanceId, Option<StoredOverride>),
    /// Something unreadable was written; where it has a slot, what stood there is gone (D6).
    Rejected(Rejected),
    /// A key without a slot that had been rejected is gone.
    Cleared {
        /// The key.
        key: String,
    },
}

/// The living instances of all services at one revision.
#[derive(Debug, Clone, PartialEq)]
pub struct RawServices {
    /// The revision.
    pub revision: Revision,
    /// Which instances live.
    pub living: Vec<(ServiceName, InstanceId)>,
}

/// What one revision did to the set of living instances.
#[derive(Debug, Clone, PartialEq)]
pub struct ServicesBatch {
    /// The revision.
    pub revision: Revision,
    /// Each instance with whether it lives now.
    pub events: Vec<(ServiceName, InstanceId, bool)>,
}
