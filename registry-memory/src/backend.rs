//! The trait over the store.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use registry_core::{
    Beat, Capabilities, Capability, Error, ErrorKind, InstanceId, InstanceSpec, LeaseRef, Namespace,
    Override, Query, ReadOptions, Registered, Registration, Result, Revision, ServiceDiscovery, ServiceName,
    Services, ServicesStream, Snapshot, Ttl, WatchStream,
};
use tokio::runtime::Handle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::config::MemoryConfig;
use crate::entry::{Entry, lease_ref, not_registered};
use crate::lease::Lease;
use crate::store::{Space, Store};

/// A registry in this process: a handle on one namespace of it. Cloning is the same handle.
#[derive(Clone)]
pub struct MemoryRegistry {
    handle: Arc<MemoryHandle>,
}

#[derive(Debug)]
struct MemoryHandle {
    /// Tells its watches from those of the store's other handles.
    id: u64,
    store: Arc<Store>,
    space: Arc<Space>,
    /// Of registrations that name none.
    ttl: Ttl,
    closing: CancellationToken,
    closed: AtomicBool,
}

impl MemoryRegistry {
    /// An empty registry with the usual configuration, in the namespace `default`.
    pub fn new() -> Self {
        Self::with_config(MemoryConfig::default())
    }

    /// An empty registry, in the namespace `default`.
    pub fn with_config(config: MemoryConfig) -> Self {
        let ttl = config.ttl;
        Self::open(Store::new(config), &Namespace::default(), ttl)
    }

    /// Another handle, on this namespace of the same registry, closed on its own: what a second client would be.
    #[must_use]
    pub fn in_namespace(&self, namespace: &Namespace) -> Self {
        Self::open(Arc::clone(&self.handle.store), namespace, self.handle.ttl)
    }

    /// The same with the TTL of registrations that name none.
    pub(crate) fn another(&self, namespace: &Namespace, ttl: Option<Ttl>) -> Self {
        Self::open(Arc::clone(&self.handle.store), namespace, ttl.unwrap_or(self.handle.ttl))
    }

    fn open(store: Arc<Store>, namespace: &Namespace, ttl: Ttl) -> Self {
        let (space, id) = (store.space(namespace), store.opened());
        let closing = CancellationToken::new();
        Self {
            handle: Arc::new(MemoryHandle { id, store, space, ttl, closing, closed: AtomicBool::new(false) }),
        }
    }

    fn store(&self, operation: &'static str) -> Result<&Arc<Store>> {
        if self.handle.closing.is_cancelled() {
            return Err(Error::closed().with_operation(operation).with_target("memory:"));
        }
        Ok(&self.handle.store)
    }

    fn space(&self) -> &Space {
        &self.handle.space
    }

    fn entry(&self, service: &ServiceName) -> Arc<Entry> {
        self.space().entry(service, self.handle.store.config.queue)
    }
}

impl fmt::Debug for MemoryRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let services = self.handle.space.services.len();
        f.debug_struct("MemoryRegistry").field("services", &services).finish_non_exhaustive()
    }
}

impl Default for MemoryRegistry {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryHandle {
    fn end_watches(&self) {
        self.closing.cancel();
        let entries: Vec<_> = self.space.services.iter().map(|entry| Arc::clone(&entry)).collect();
        for entry in entries {
            entry.lock(&self.space, self.store.now()).end_watches(self.id);
        }
    }
}

impl Drop for MemoryHandle {
    fn drop(&mut self) {
        self.end_watches();
        if !*self.closed.get_mut() {
            self.store.closed();
        }
    }
}

#[async_trait]
impl ServiceDiscovery for MemoryRegistry {
    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with(Capability::SecondClient)
    }

    async fn register(&self, registration: Registration) -> Result<Registered> {
        let operation = |error: Error| error.with_operation("register").with_target("memory:");
        let store = self.store("register")?;
        store.config.limits.check(&registration.id, &registration.instance).map_err(operation)?;
        store.timer.ensure();
        let now = Instant::now();
        let (id, ttl) = (registration.id.clone(), registration.ttl.unwrap_or(self.handle.ttl));
        let entry = self.entry(&registration.service);
        let registered = entry.lock(self.space(), store.now()).register(registration, ttl);
        let (lease, revision) = registered.map_err(operation)?;
        Ok(Registered::new(lease_ref(&entry, &id, &lease), ttl, revision, now + ttl.get()))
    }

    async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat> {
        let store = self.store("heartbeat")?;
        let now = Instant::now();
        let beat = |ttl: Duration| Ok(Beat::new(now + ttl, true));
        if let Some(handle) = lease.handle::<Lease>()
            && handle.space == self.space().id
            && handle.beat(store.now())
        {
            return beat(handle.ttl);
        }
        let operation = |error: Error| error.with_operation("heartbeat").with_target("memory:");
        let gone = |_| operation(not_registered(lease.service(), lease.id()));
        let entry = self.space().find(lease.service()).map_err(gone)?;
        let locked = entry.lock(self.space(), store.now());
        let held = locked.held_by(lease).map_err(operation)?;
        if held.beat(store.now()) { beat(held.ttl) } else { Err(gone(self.space().revision())) }
    }

    async fn update(&self, lease: &LeaseRef, instance: InstanceSpec) -> Result<Revision> {
        let operation = |error: Error| error.with_operation("update").with_target("memory:");
        let store = self.store("update")?;
        store.config.limits.check(lease.id(), &instance).map_err(operation)?;
        let gone = |_| operation(not_registered(lease.service(), lease.id()));
        let entry = self.space().find(lease.service()).map_err(gone)?;
        entry.lock(self.space(), store.now()).update(lease, instance).map_err(operation)
    }

    async fn deregister(&self, lease: &LeaseRef) -> Result<Option<Revision>> {
        let store = self.store("deregister")?;
        let Ok(entry) = self.space().find(lease.service()) else { return Ok(None) };
        Ok(entry.lock(self.space(), store.now()).deregister(lease))
    }

    async fn holder(&self, service: &ServiceName, id: &InstanceId) -> Result<Option<LeaseRef>> {
        let store = self.store("holder")?;
        let Ok(entry) = self.space().find(service) else { return Ok(None) };
        let holder = entry.lock(self.space(), store.now()).holder(id);
        Ok(holder.map(|lease| lease_ref(&entry, id, &lease)))
    }

    async fn set_override(
        &self,
        service: &ServiceName,
        id: &InstanceId,
        value: Option<Override>,
    ) -> Result<Revision> {
        let store = self.store("set_override")?;
        if let Some(value) = &value {
            value.check().map_err(|error| error.with_operation("set_override").with_target("memory:"))?;
        }
        store.timer.ensure();
        Ok(self.entry(service).lock(self.space(), store.now()).set_override(id, value))
    }

    async fn discover(&self, query: &Query, _: ReadOptions) -> Result<Arc<Snapshot>> {
        let store = self.store("discover")?;
        let empty =
            |revision| Arc::new(Snapshot::empty(query.service.clone(), query.version.clone(), revision));
        let entry = match self.space().find(&query.service) {
            Ok(entry) => entry,
            Err(revision) => return Ok(empty(revision)),
        };
        let now = store.now();
        if query.version.is_none()
            && let Some(shared) = entry.shared(now)
        {
            return Ok(shared);
        }
        let snapshot = entry.lock(self.space(), now).snapshot(query.version.as_ref());
        Ok(snapshot.unwrap_or_else(|| empty(self.space().revision())))
    }

    fn watch(&self, query: &Query) -> Result<WatchStream> {
        let store = self.store("watch")?;
        let needed = store.timer.need(&current_runtime("watch")?);
        let entry = self.entry(&query.service);
        let stream =
            entry.lock(self.space(), store.now()).watch(self.handle.id, query.version.as_ref(), needed);
        if self.handle.closing.is_cancelled() {
            // Closed meanwhile: the watches were ended before this one was there.
            entry.lock(self.space(), store.now()).end_watches(self.handle.id);
        }
        Ok(stream)
    }

    async fn services(&self, _: ReadOptions) -> Result<Services> {
        let store = self.store("services")?;
        store.expire();
        let services = self.space().names().services();
        Ok(services.map_or_else(
            || Services::new(self.space().revision(), Arc::default()),
            |services| Services::clone(&services),
        ))
    }

    fn watch_services(&self) -> Result<ServicesStream> {
        let store = self.store("watch_services")?;
        let needed = store.timer.need(&current_runtime("watch_services")?);
        store.expire();
        let stream = self.space().names().subscribe(Box::new(needed));
        Ok(ServicesStream::new(stream.take_until(self.handle.closing.clone().cancelled_owned())))
    }

    async fn close(&self) {
        self.handle.end_watches();
        if !self.handle.closed.swap(true, Ordering::AcqRel) && self.handle.store.closed() {
            self.handle.store.timer.stop().await;
        }
    }
}

/// Watches expire in time only where the timer runs.
fn current_runtime(operation: &'static str) -> Result<Handle> {
    Handle::try_current().map_err(|error| {
        let why = "watching needs a tokio runtime to run on, and none is current";
        Error::new(ErrorKind::Unsupported, why).with_operation(operation).with_source(error)
    })
}

#[cfg(test)]
mod tests;
