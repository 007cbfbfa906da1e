//! Mistakes about how things end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use registry_core::{
    Error, InstanceSpec, LeaseRef, Registered, Registration, Result, Revision, ServiceDiscovery, Ttl,
};
use tokio::task::JoinSet;

use super::Mistake;

type Registry = Arc<dyn ServiceDiscovery>;

/// Registers with another TTL than was asked, and says that it is the one asked.
async fn with_hidden_ttl(inner: &Registry, registration: Registration, ttl: Ttl) -> Result<Registered> {
    let asked = registration.ttl.unwrap_or_default();
    let answer = inner.register(registration.with_ttl(ttl)).await?;
    let deadline = tokio::time::Instant::now() + asked.get();
    Ok(Registered::new(answer.lease, asked, answer.revision, deadline))
}

#[derive(Debug)]
pub(super) struct EarlySweep(Registry);

#[async_trait]
impl Mistake for EarlySweep {
    fn plant(inner: Registry) -> Self {
        Self(inner)
    }
    fn inner(&self) -> &Registry {
        &self.0
    }
    async fn register(&self, registration: Registration) -> Result<Registered> {
        let ttl = Ttl::new(registration.ttl.unwrap_or_default().get() * 3 / 10)?;
        with_hidden_ttl(&self.0, registration, ttl).await
    }
}

#[derive(Debug)]
pub(super) struct NeverRemoves(Registry);

#[async_trait]
impl Mistake for NeverRemoves {
    fn plant(inner: Registry) -> Self {
        Self(inner)
    }
    fn inner(&self) -> &Registry {
        &self.0
    }
    async fn register(&self, registration: Registration) -> Result<Registered> {
        with_hidden_ttl(&self.0, registration, Ttl::MAX).await
    }
}

#[derive(Debug)]
pub(super) struct LowersTheTtl(Registry);

#[async_trait]
impl Mistake for LowersTheTtl {
    fn plant(inner: Registry) -> Self {
        Self(inner)
    }
    fn inner(&self) -> &Registry {
        &self.0
    }
    async fn register(&self, registration: Registration) -> Result<Registered> {
        let ttl = Ttl::new(registration.ttl.unwrap_or_default().get() / 2)?;
        self.0.register(registration.with_ttl(ttl)).await
    }
}

#[derive(Debug)]
pub(super) struct Resurrects(Registry);

#[async_trait]
impl Mistake for Resurrects {
    fn plant(inner: Registry) -> Self {
        Self(inner)
    }
    fn inner(&self) -> &Registry {
        &self.0
    }
    async fn deregister(&self, lease: &LeaseRef) -> Result<Option<Revision>> {
        let revision = self.0.deregister(lease).await?;
        let endpoint = "http://10.0.0.1:80".parse()?;
        let again =
            Registration::new(lease.service().clone(), lease.id().clone(), InstanceSpec::new(endpoint));
        self.0.register(again).await?;
        Ok(revision)
    }
}

#[derive(Debug)]
pub(super) struct NotIdempotent(Registry);

#[async_trait]
impl Mistake for NotIdempotent {
    fn plant(inner: Registry) -> Self {
        Self(inner)
    }
    fn inner(&self) -> &Registry {
        &self.0
    }
    async fn deregister(&self, lease: &LeaseRef) -> Result<Option<Revision>> {
        let revision = self.0.deregister(lease).await?;
        revision.map(Some).ok_or_else(|| Error::not_registered("it is gone already"))
    }
}

#[derive(Debug)]
pub(super) struct CloseDeregisters(Registry, Mutex<Vec<LeaseRef>>);

#[async_trait]
impl Mistake for CloseDeregisters {
    fn plant(inner: Registry) -> Self {
        Self(inner, Mutex::default())
    }
    fn inner(&self) -> &Registry {
        &self.0
    }
    async fn register(&self, registration: Registration) -> Result<Registered> {
        let answer = self.0.register(registration).await?;
        self.1.lock().unwrap().push(answer.lease.clone());
        Ok(answer)
    }
    async fn close(&self) {
        let held = std::mem::take(&mut *self.1.lock().unwrap());
        for lease in held {
            let _ = self.0.deregister(&lease).await;
        }
        self.0.close().await;
    }
}

#[derive(Debug)]
pub(super) struct NeverCloses(Registry);

#[async_trait]
impl Mistake for NeverCloses {
    fn plant(inner: Registry) -> Self {
        Self(inner)
    }
    fn inner(&self) -> &Registry {
        &self.0
    }
    async fn close(&self) {}
}

/// Answers at once and leaves the work to a task that nobody ends.
#[derive(Debug)]
pub(super) struct HidesATask(Registry, Mutex<JoinSet<()>>);

#[async_trait]
impl Mistake for HidesATask {
    fn plant(inner: Registry) -> Self {
        Self(inner, Mutex::default())
    }
    fn inner(&self) -> &Registry {
        &self.0
    }
    async fn update(&self, lease: &LeaseRef, instance: InstanceSpec) -> Result<Revision> {
        self.1.lock().unwrap().spawn(tokio::time::sleep(Duration::from_hours(1)));
        self.0.update(lease, instance).await
    }
}
