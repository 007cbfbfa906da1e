//! A registry that passes everything on and remembers when heartbeats were sent: what leases are measured by.

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use registry_core::{
    Beat, Capabilities, InstanceId, InstanceSpec, LeaseRef, Override, Query, ReadOptions, Registered,
    Registration, Result, Revision, ServiceDiscovery, ServiceName, Services, ServicesStream, Snapshot,
    WatchStream,
};
use tokio::time::Instant;

/// What an instance last said to keep its lease, a registration counted as the first word.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Last {
    /// When the last one that was acknowledged was sent.
    pub(super) acknowledged: Option<Instant>,
    /// When the last one was sent; it may have arrived.
    pub(super) sent: Option<Instant>,
}

/// Read from outside, also when the instance is dead.
#[derive(Debug, Clone, Default)]
pub(super) struct Beats(Arc<Mutex<Last>>);

impl Beats {
    pub(super) fn last(&self) -> Last {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, note: impl FnOnce(&mut Last)) {
        note(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    async fn around<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        let sent = Instant::now();
        self.note(|last| last.sent = Some(sent));
        let answer = call.await?;
        self.note(|last| last.acknowledged = Some(sent));
        Ok(answer)
    }
}

#[derive(Debug)]
pub(super) struct Recording {
    inner: Arc<dyn ServiceDiscovery>,
    beats: Beats,
}

impl Recording {
    pub(super) fn over(inner: Arc<dyn ServiceDiscovery>) -> (Self, Beats) {
        let beats = Beats::default();
        (Self { inner, beats: beats.clone() }, beats)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ServiceDiscovery for Recording {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
    async fn register(&self, registration: Registration) -> Result<Registered> {
        self.beats.around(self.inner.register(registration)).await
    }
    async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat> {
        self.beats.around(self.inner.heartbeat(lease)).await
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
