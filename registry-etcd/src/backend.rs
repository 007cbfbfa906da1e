//! The registry on etcd.

mod deregister;
mod heartbeat;
pub(crate) mod list;
pub(crate) mod look;
pub(crate) mod place;
pub(crate) mod plan;
mod read;
mod register;
mod setting;
mod share;
pub(crate) mod standing;
mod update;

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use registry_core::{
    Beat, Capabilities, Error, InstanceId, InstanceSpec, LeaseRef, Limits, Override, Query, ReadOptions,
    Registered, Registration, Result, Revision, ServiceDiscovery, ServiceName, Services, ServicesStream,
    Snapshot, Ttl, WatchHub, WatchStream,
};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::list::Lister;
use self::place::Place;
use self::share::Share;
pub(crate) use self::share::Shares;
use crate::client::{LeaseId, Session};
use crate::config::EtcdConfig;
use crate::keys::Keys;
use crate::lease::{Held, Own};
use crate::watch::EtcdSource;

/// A [`ServiceDiscovery`] on etcd.
///
/// Every registration stands under a lease of its own; all heartbeats go over one stream and all watches over another,
/// each on a connection of its own, however many there are. Opening connects to nothing yet.
///
/// Instances of handles on the same etcd and namespace are one registry, whichever process they are in.
pub struct EtcdRegistry {
    inner: Inner,
    hub: WatchHub,
    share: Mutex<Option<Arc<Share>>>,
}

/// What the calls work with.
struct Inner {
    session: Session,
    keys: Keys,
    limits: Limits,
    /// Of registrations that name none.
    ttl: Ttl,
    target: String,
    lister: Arc<Lister>,
    /// Tells this registry's own leases from another's.
    home: Arc<()>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

impl EtcdRegistry {
    /// A registry as `config` says, with a session of its own. Connects when it is first used.
    ///
    /// Errors: `InvalidArgument` names the field of the configuration that is wrong, or the TLS file that cannot be
    /// read.
    pub fn open(config: &EtcdConfig) -> Result<Self> {
        Shares::default().open(config)
    }

    fn new(config: &EtcdConfig, share: Arc<Share>) -> Self {
        let session = share.session().clone();
        let keys = Keys::new(&config.prefix, &config.namespace);
        let lister = Arc::new(Lister::new(session.clone(), config.page_size));
        let source = EtcdSource::new(session.clone(), keys.clone(), Arc::clone(&lister), config.list_timeout);
        let inner = Inner {
            session,
            keys,
            limits: config.limits,
            ttl: config.ttl,
            target: config.target(),
            lister,
            home: Arc::default(),
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        };
        let hub = WatchHub::new(Arc::new(source), config.watch.clone());
        Self { inner, hub, share: Mutex::new(Some(share)) }
    }
}

impl Inner {
    /// Runs a call until the registry is closed, and names it in its error.
    async fn run<T>(&self, operation: &'static str, call: impl Future<Output = Result<T>>) -> Result<T> {
        let result = match self.closing.run_until_cancelled(call).await {
            Some(result) => result,
            None => Err(Error::closed()),
        };
        result.map_err(|error| self.told(error, operation))
    }

    fn told(&self, error: Error, operation: &'static str) -> Error {
        error.with_operation(operation).with_target(self.target.as_str())
    }

    fn place(&self, service: &ServiceName, id: &InstanceId) -> Place {
        Place::new(&self.keys, service, id)
    }

    /// What this registry hung on `lease`; another's has no watch on its keys here.
    fn held<'a>(&self, lease: &'a LeaseRef) -> Option<&'a Held> {
        lease.handle::<Held>().filter(|held| Arc::ptr_eq(&held.home, &self.home))
    }

    fn own<'a>(&self, lease: &'a LeaseRef) -> Option<&'a Own> {
        self.held(lease).map(|held| &*held.own)
    }

    async fn give_back(&self, lease: LeaseId) {
        give_back(&self.session, lease).await;
    }
}

/// Revokes a lease that is of no use any more. Where that fails it runs out by itself.
async fn give_back(session: &Session, lease: LeaseId) {
    if let Err(error) = session.revoke(lease).await {
        tracing::debug!(%lease, %error, "a lease that is not needed any more is left to run out");
    }
}

#[async_trait]
impl ServiceDiscovery for EtcdRegistry {
    fn capabilities(&self) -> Capabilities {
        Capabilities::all()
    }

    async fn register(&self, registration: Registration) -> Result<Registered> {
        self.inner.run("register", self.inner.register(registration)).await
    }

    async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat> {
        self.inner.run("heartbeat", self.inner.heartbeat(lease)).await
    }

    async fn update(&self, lease: &LeaseRef, instance: InstanceSpec) -> Result<Revision> {
        self.inner.run("update", self.inner.update(lease, &instance)).await
    }

    async fn deregister(&self, lease: &LeaseRef) -> Result<Option<Revision>> {
        self.inner.run("deregister", self.inner.deregister(lease)).await
    }

    async fn holder(&self, service: &ServiceName, id: &InstanceId) -> Result<Option<LeaseRef>> {
        self.inner.run("holder", self.inner.holder(service, id)).await
    }

    async fn set_override(
        &self,
        service: &ServiceName,
        id: &InstanceId,
        value: Option<Override>,
    ) -> Result<Revision> {
        self.inner.run("set_override", self.inner.set_override(service, id, value)).await
    }

    async fn discover(&self, query: &Query, options: ReadOptions) -> Result<Arc<Snapshot>> {
        self.inner.run("discover", self.inner.discover(query, options)).await
    }

    fn watch(&self, query: &Query) -> Result<WatchStream> {
        self.hub.watch(query).map_err(|error| self.inner.told(error, "watch"))
    }

    async fn services(&self, options: ReadOptions) -> Result<Services> {
        self.inner.run("services", self.inner.services(options)).await
    }

    fn watch_services(&self) -> Result<ServicesStream> {
        self.hub.watch_services().map_err(|error| self.inner.told(error, "watch_services"))
    }

    async fn close(&self) {
        self.inner.closing.cancel();
        self.hub.close().await;
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
        {
            // Let go of under the lock: whoever else closes finds the session ended, and waits for it too.
            let mut share = self.share.lock().unwrap_or_else(PoisonError::into_inner);
            drop(share.take());
        }
        if self.inner.session.has_ended() {
            self.inner.session.close().await;
        }
    }
}

impl Drop for EtcdRegistry {
    fn drop(&mut self) {
        self.inner.closing.cancel();
    }
}

impl fmt::Debug for EtcdRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdRegistry").field("target", &self.inner.target).finish_non_exhaustive()
    }
}
