//! What Recover follows and feeds: one service, or the names of all, over the same source.

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt};
use tokio::time::Instant;

use crate::error::Result;
use crate::feed::Feed;
use crate::item::ResyncReason;
use crate::name::ServiceName;
use crate::names::NamesFeed;
use crate::recover::{Ends, Sink, Upstream};
use crate::revision::Revision;
use crate::source::{Batch, Digest, Follow, RawServices, RawState, ServicesBatch, WatchSource};
use crate::stream::WatchEnd;
use crate::sync::lock;

pub(crate) struct ServiceUpstream {
    pub(crate) source: Arc<dyn WatchSource>,
    pub(crate) service: ServiceName,
}

impl Upstream for ServiceUpstream {
    type List = RawState;
    type Batch = Batch;

    fn name(&self) -> String {
        self.service.to_string()
    }

    fn list(&self) -> BoxFuture<'_, Result<RawState>> {
        self.source.list(&self.service).boxed()
    }

    fn revision(list: &RawState) -> Revision {
        list.revision
    }

    fn follow(&self, after: Revision) -> Follow<Batch> {
        self.source.follow(&self.service, after)
    }

    fn digest(&self) -> Option<BoxFuture<'_, Result<Digest>>> {
        Some(self.source.digest(&self.service).boxed())
    }
}

impl Ends for Mutex<Feed> {
    fn end(&self, end: WatchEnd) {
        lock(self).end(end, Instant::now());
    }
}

impl Sink<ServiceUpstream> for Mutex<Feed> {
    fn position(&self) -> Option<Revision> {
        lock(self).merged().map(crate::merge::Merged::revision)
    }

    fn list(&self, list: RawState, reason: ResyncReason) {
        lock(self).list(list, reason, Instant::now());
    }

    fn batch(&self, batch: Batch) {
        lock(self).batch(batch, Instant::now());
    }

    fn progress(&self, revision: Revision) {
        lock(self).progress(revision, Instant::now());
    }

    fn connected(&self) {
        lock(self).connected(Instant::now());
    }

    fn disconnected(&self, cause: &str) {
        lock(self).disconnected(Instant::now(), cause);
    }

    fn digest(&self) -> Option<Digest> {
        lock(self).merged().map(crate::merge::Merged::digest)
    }
}

pub(crate) struct NamesUpstream {
    pub(crate) source: Arc<dyn WatchSource>,
}

impl Upstream for NamesUpstream {
    type List = RawServices;
    type Batch = ServicesBatch;

    fn name(&self) -> String {
        "the names of services".to_owned()
    }

    fn list(&self) -> BoxFuture<'_, Result<RawServices>> {
        self.source.list_services().boxed()
    }

    fn revision(list: &RawServices) -> Revision {
        list.revision
    }

    fn follow(&self, after: Revision) -> Follow<ServicesBatch> {
        self.source.follow_services(after)
    }

    fn digest(&self) -> Option<BoxFuture<'_, Result<Digest>>> {
        None
    }
}

impl Ends for Mutex<NamesFeed> {
    fn end(&self, end: WatchEnd) {
        lock(self).end(end);
    }
}

impl Sink<NamesUpstream> for Mutex<NamesFeed> {
    fn position(&self) -> Option<Revision> {
        lock(self).revision()
    }

    fn list(&self, list: RawServices, _: ResyncReason) {
        lock(self).list(list);
    }

    fn batch(&self, batch: ServicesBatch) {
        lock(self).batch(batch);
    }

    fn progress(&self, _: Revision) {}

    fn connected(&self) {
        lock(self).connected();
    }

    fn disconnected(&self, cause: &str) {
        lock(self).disconnected(Instant::now(), cause);
    }

    fn digest(&self) -> Option<Digest> {
        None
    }
}
