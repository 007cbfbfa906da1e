//! The backend to be certified: it counts the heartbeats that it hands on.
//!
//! A wrapper owes what a backend owes. It forwards every method, and lets the compiler see that none is forgotten.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use registry_core::{
    Beat, Capabilities, InstanceId, InstanceSpec, LeaseRef, Override, Query, ReadOptions, Registered,
    Registration, Result, Revision, ServiceDiscovery, ServiceName, Services, ServicesStream, Snapshot,
    WatchStream,
};
use registry_memory::MemoryRegistry;

#[derive(Debug)]
pub(crate) struct Counted {
    inner: MemoryRegistry,
    heartbeats: AtomicU64,
}

impl Counted {
    pub(crate) fn new() -> Self {
        Self { inner: MemoryRegistry::new(), heartbeats: AtomicU64::new(0) }
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ServiceDiscovery for Counted {
    fn capabilities(&self) -> Capabilities {
        // There is this one handle and no second; what a backend claims here the suite tests.
        Capabilities::none()
    }

    async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat> {
        self.heartbeats.fetch_add(1, Ordering::Relaxed);
        self.inner.heartbeat(lease).await
    }

    async fn register(&self, registration: Registration) -> Result<Registered> {
        self.inner.register(registration).await
    }

    async fn update(&self, lease: &LeaseRef, instance: InstanceSpec) -> Result<Revision> {
        self.inner.update(lease, instance).await
    }

    async fn deregister(&self, lease: &LeaseRef) -> Result<Option<Revision>> {
        self.inner.deregister(lease).await
    }

    async fn holder(&self, service: &ServiceName, id: &InstanceId) -> Result<Option<LeaseRef>> {
        self.inner.holder(service, id).await
    }

    async fn set_override(
        &self,
        service: &ServiceName,
        id: &InstanceId,
        value: Option<Override>,
    ) -> Result<Revision> {
        self.inner.set_override(service, id, value).await
    }

    async fn discover(&self, query: &Query, options: ReadOptions) -> Result<Arc<Snapshot>> {
        self.inner.discover(query, options).await
    }

    fn watch(&self, query: &Query) -> Result<WatchStream> {
        self.inner.watch(query)
    }

    async fn services(&self, options: ReadOptions) -> Result<Services> {
        self.inner.services(options).await
    }

    fn watch_services(&self) -> Result<ServicesStream> {
        self.inner.watch_services()
    }

    async fn close(&self) {
        self.inner.close().await;
    }
}
