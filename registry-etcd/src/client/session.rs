//! The one way to etcd for everything that shares endpoints and credentials.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use registry_core::{Lineage, Result};
use tokio_util::sync::DropGuard;

use super::call::{Core, Repeat};
use super::feed::Feed;
use super::keepalive::KeepAlive;
use super::kv;
use super::model::{Granted, KeyRange, LeaseId, RangeAnswer, RangeRequest, Txn, TxnAnswer};
use super::watch::Watches;
use crate::config::EtcdConfig;

/// Calls, heartbeats and watches, each on a connection of its own, all to the member that is in use until it fails.
///
/// Cheap to clone. Everything ends with the last clone, or with [`close`](Self::close). Errors name the target.
#[derive(Clone)]
pub(crate) struct Session(Arc<Shared>);

struct Shared {
    core: Arc<Core>,
    keepalive: KeepAlive,
    watches: Watches,
    /// Ends the tasks with the last clone: they hold the core, not this.
    _guard: DropGuard,
}

impl Session {
    /// Checks the configuration and the files of TLS; an `InvalidArgument` names what is wrong. Connects when first
    /// needed, and needs a runtime only then.
    pub(crate) fn open(config: &EtcdConfig) -> Result<Self> {
        let core = Arc::new(Core::new(config)?);
        Ok(Self(Arc::new(Shared {
            keepalive: KeepAlive::new(&core),
            watches: Watches::new(&core, config),
            _guard: core.tasks.guard(),
            core,
        })))
    }

    /// Reads keys, within `deadline`, from as many members as that takes.
    ///
    /// `Unavailable` if no member takes the call, `DeadlineExceeded` if none answers in time; one for which
    /// [`is_history_gone`](crate::error::is_history_gone) holds if the revision asked for is not there. Cancel safe.
    pub(crate) async fn range(&self, request: RangeRequest, deadline: Duration) -> Result<RangeAnswer> {
        let core = &self.0.core;
        // A read at a revision tells of the present one as well.
        let floor = (!request.stale).then(|| core.history.floor());
        let answer = core.call(Repeat::Harmless, deadline, |client| kv::range(client, &request)).await?;
        Ok(kv::range_answer(answer, &core.history, floor))
    }

    /// Does a transaction, at most once.
    ///
    /// `Unavailable` if it was certainly not done, `Ambiguous` if that is unknown, `NotRegistered` if it puts under a
    /// lease that is not there, `ResourceExhausted` if etcd is out of space. Dropped, it may have been done.
    pub(crate) async fn txn(&self, txn: Txn) -> Result<TxnAnswer> {
        let core = &self.0.core;
        let floor = core.history.floor();
        let txn = kv::transaction(txn);
        let answer = core.call(Repeat::Never, core.call, |client| kv::txn(client, txn.clone())).await?;
        Ok(kv::txn_answer(answer, &core.history, floor))
    }

    /// Makes a lease of at least `ttl`, in whole seconds.
    ///
    /// `Unavailable` also where it is unknown whether there is one now: it dies by itself. The same if dropped.
    pub(crate) async fn grant(&self, ttl: Duration) -> Result<Granted> {
        self.0.core.grant(ttl).await
    }

    /// Ends a lease, and deletes what stands under it; false if it is not there. Cancel safe: it may have ended.
    pub(crate) async fn revoke(&self, lease: LeaseId) -> Result<bool> {
        self.0.core.revoke(lease).await
    }

    /// Renews a lease, on the one stream of all heartbeats: the TTL it has from now, or none if it is not there.
    ///
    /// `Unavailable` after `timeout`, or at once if the stream dies. Cancel safe: it may have been renewed.
    pub(crate) async fn renew(&self, lease: LeaseId, timeout: Duration) -> Result<Option<Duration>> {
        self.0.keepalive.renew(&self.0.core, lease, timeout).await
    }

    /// Follows what happens to `range` after the revision `after` of the present lineage, on the one stream of all
    /// watches. Never waits: whatever is wrong ends the feed.
    pub(crate) fn follow(&self, range: KeyRange, after: u64) -> Feed {
        self.0.watches.follow(&self.0.core, range, after)
    }

    /// The history that answers belong to; none before the first.
    pub(crate) fn lineage(&self) -> Option<Lineage> {
        self.0.core.history.lineage()
    }

    /// Ends every task, socket and feed; calls answer `Closed` from now on. Idempotent, and bounded with all of etcd
    /// dead: nothing is said to the server.
    pub(crate) async fn close(&self) {
        self.0.core.close().await;
        self.0.keepalive.clear();
        self.0.watches.clear();
    }

    /// Whether it was closed or abandoned.
    pub(crate) fn has_ended(&self) -> bool {
        self.0.core.tasks.has_ended()
    }

    /// The same as [`close`](Self::close) without waiting for it, whoever still holds a clone.
    pub(crate) fn abandon(&self) {
        drop(self.0.core.tasks.guard());
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("lineage", &self.lineage()).finish_non_exhaustive()
    }
}
