//! What core's watches are made of: lists, and what the session's one watch stream tells of a range of keys.

mod batch;
mod unreadable;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use registry_core::{
    Batch, Digest, DigestKey, Error, ErrorKind, Follow, FollowEnd, Followed, InstanceId, RawServices,
    RawState, Result, Revision, ServiceName, ServicesBatch, WatchSource,
};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use self::batch::{service_batch, services_batch};
use self::unreadable::Unreadable;
use crate::backend::list::{How, Lister, Listing};
use crate::client::{Event, FeedEvent, KeyRange, Kv, Session};
use crate::keys::{Keys, ServiceKey, ServiceKeys};
use crate::record::raw_state;

/// How many lists run at once: what a thousand services ask for together would cost a request's memory each, and etcd
/// its breath.
const LISTS: usize = 32;

/// The longest that a list waits for its turn, and for each page: then the watch says that it hears nothing (W4), and
/// core tries again.
const PATIENCE: Duration = Duration::from_secs(2);

/// The source of this backend's watches. It keeps no retry of its own.
pub(crate) struct EtcdSource {
    session: Session,
    keys: Keys,
    lister: Arc<Lister>,
    deadline: Duration,
    turns: Semaphore,
    unreadable: Arc<Unreadable>,
}

impl EtcdSource {
    pub(crate) fn new(session: Session, keys: Keys, lister: Arc<Lister>, deadline: Duration) -> Self {
        let turns = Semaphore::new(LISTS);
        Self { session, keys, lister, deadline, turns, unreadable: Arc::default() }
    }

    async fn listing(&self, range: KeyRange, keys_only: bool) -> Result<Listing> {
        let busy = || Error::unavailable("etcd does not answer the lists that were asked for before");
        let turn = timeout(PATIENCE, self.turns.acquire()).await.map_err(|_| busy())?;
        let _turn = turn.map_err(|_| Error::closed())?;
        let (began, deadline) = (Instant::now(), self.deadline);
        let how = How { keys_only, stale: false, began, deadline, page: PATIENCE };
        let ranges = [range];
        let late = || Error::new(ErrorKind::DeadlineExceeded, "etcd did not finish a watch's list in time");
        timeout(self.deadline, self.lister.list(&ranges, how)).await.unwrap_or_else(|_| Err(late()))
    }

    /// The batches of `range` after `after`, each made of its events by `make`.
    fn feed<B: Send + 'static>(
        &self,
        range: KeyRange,
        after: Revision,
        make: impl Fn(Revision, Vec<Event>) -> B + Send + 'static,
    ) -> Follow<B> {
        // A position of another history means nothing in this one (A2).
        if self.session.lineage().is_some_and(|lineage| lineage != after.lineage()) {
            return stream::once(async { Err(FollowEnd::LineageChanged) }).boxed();
        }
        let told = move |revision: Revision| {
            if revision.lineage() == after.lineage() { Ok(revision) } else { Err(FollowEnd::LineageChanged) }
        };
        let feed = self.session.follow(range, after.number());
        feed.map(move |item| match item? {
            FeedEvent::Batch { revision, events } => Ok(Followed::Batch(make(told(revision)?, events))),
            FeedEvent::Progress(revision) => Ok(Followed::Progress(told(revision)?)),
        })
        .boxed()
    }
}

#[async_trait]
impl WatchSource for EtcdSource {
    async fn list(&self, service: &ServiceName) -> Result<RawState> {
        let keys = self.keys.service(service);
        let listing = self.listing(keys.all(), false).await?;
        let raw = raw_state(&keys, listing.revision, &listing.kvs);
        self.unreadable.listed(service, &raw, &listing.kvs);
        Ok(raw)
    }

    fn follow(&self, service: &ServiceName, after: Revision) -> Follow<Batch> {
        let keys = self.keys.service(service);
        let range = keys.all();
        let unreadable = self.unreadable.of(service, keys.clone());
        self.feed(range, after, move |revision, events| {
            let batch = service_batch(&keys, revision, &events);
            unreadable.followed(&batch);
            batch
        })
    }

    async fn digest(&self, service: &ServiceName) -> Result<Digest> {
        let keys = self.keys.service(service);
        let listing = self.listing(keys.all(), true).await?;
        let readable = listing.kvs.iter().filter(|kv| !self.unreadable.has(service, kv));
        let keys = readable.filter_map(|kv| Some((digest_key(&keys, kv)?, kv.mod_revision))).collect();
        Ok(Digest { revision: listing.revision, keys })
    }

    async fn list_services(&self) -> Result<RawServices> {
        let listing = self.listing(self.keys.claims(), true).await?;
        let living = listing.kvs.iter().filter_map(|kv| living(&self.keys, kv)).collect();
        Ok(RawServices { revision: listing.revision, living })
    }

    fn follow_services(&self, after: Revision) -> Follow<ServicesBatch> {
        let keys = self.keys.clone();
        self.feed(keys.claims(), after, move |revision, events| services_batch(&keys, revision, &events))
    }
}

/// Which instance a claim keeps alive; one without a lease proves nothing (R3).
pub(crate) fn living(keys: &Keys, claim: &Kv) -> Option<(ServiceName, InstanceId)> {
    claim.lease?;
    keys.parse_claim(&claim.key).ok()
}

/// What the audit compares of a key whose value is not read.
fn digest_key(keys: &ServiceKeys, kv: &Kv) -> Option<DigestKey> {
    match keys.parse(&kv.key).ok()? {
        ServiceKey::Record(slot) => kv.lease.map(|_| DigestKey::Record(slot)),
        ServiceKey::Override(id) => Some(DigestKey::Override(id)),
        ServiceKey::Left(_) => None,
    }
}
