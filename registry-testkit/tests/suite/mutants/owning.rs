//! Mistakes about who owns what.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use registry_core::{
    Beat, Error, ErrorKind, InstanceId, InstanceSpec, LeaseRef, Registered, Registration, Result, Revision,
    ServiceDiscovery, ServiceName, Takeover,
};

use super::Mistake;

type Registry = Arc<dyn ServiceDiscovery>;
type Known = Mutex<HashMap<(ServiceName, InstanceId), Registration>>;

/// The usual shape of a mistake: a registry, and perhaps the registrations it saw first.
macro_rules! planted {
    ($($known:ident)?) => {
        fn plant(inner: Registry) -> Self {
            Self(inner $(, $known::default())?)
        }
        fn inner(&self) -> &Registry {
            &self.0
        }
    };
}

fn key(lease: &LeaseRef) -> (ServiceName, InstanceId) {
    (lease.service().clone(), lease.id().clone())
}

fn first(known: &Known, registration: &Registration) -> Registration {
    let key = (registration.service.clone(), registration.id.clone());
    known.lock().unwrap().entry(key).or_insert_with(|| registration.clone()).clone()
}

#[derive(Debug)]
pub(super) struct RevivingHeartbeat(Registry, Known);

#[async_trait]
impl Mistake for RevivingHeartbeat {
    planted!(Known);
    async fn register(&self, registration: Registration) -> Result<Registered> {
        first(&self.1, &registration);
        self.0.register(registration).await
    }
    async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat> {
        match self.0.heartbeat(lease).await {
            Err(error) if *error.kind() == ErrorKind::NotRegistered => {
                let known = self.1.lock().unwrap().get(&key(lease)).cloned();
                let Some(known) = known else { return Err(error) };
                let again = self.0.register(known).await?;
                self.0.heartbeat(&again.lease).await
            }
            answer => answer,
        }
    }
}

#[derive(Debug)]
pub(super) struct DeletesTheSuccessor(Registry);

#[async_trait]
impl Mistake for DeletesTheSuccessor {
    planted!();
    async fn deregister(&self, lease: &LeaseRef) -> Result<Option<Revision>> {
        match self.0.holder(lease.service(), lease.id()).await? {
            Some(holder) => self.0.deregister(&holder).await,
            None => Ok(None),
        }
    }
}

#[derive(Debug)]
pub(super) struct NoFence(Registry);

#[async_trait]
impl Mistake for NoFence {
    planted!();
    async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat> {
        match self.0.holder(lease.service(), lease.id()).await? {
            Some(holder) => self.0.heartbeat(&holder).await,
            None => self.0.heartbeat(lease).await,
        }
    }
}

#[derive(Debug)]
pub(super) struct AlwaysTakesOver(Registry);

#[async_trait]
impl Mistake for AlwaysTakesOver {
    planted!();
    async fn register(&self, registration: Registration) -> Result<Registered> {
        self.0.register(registration.with_takeover(Takeover::Always)).await
    }
}

#[derive(Debug)]
pub(super) struct TakesOverByRemoval(Registry);

#[async_trait]
impl Mistake for TakesOverByRemoval {
    planted!();
    async fn register(&self, registration: Registration) -> Result<Registered> {
        if registration.takeover == Takeover::Always
            && let Some(holder) = self.0.holder(&registration.service, &registration.id).await?
        {
            self.0.deregister(&holder).await?;
        }
        self.0.register(registration).await
    }
}

#[derive(Debug)]
pub(super) struct OldBody(Registry, Known);

#[async_trait]
impl Mistake for OldBody {
    planted!(Known);
    async fn register(&self, mut registration: Registration) -> Result<Registered> {
        let first = first(&self.1, &registration);
        if first.owner == registration.owner {
            registration.instance = first.instance;
        }
        self.0.register(registration).await
    }
}

#[derive(Debug)]
pub(super) struct TornUpdate(Registry);

#[async_trait]
impl Mistake for TornUpdate {
    planted!();
    async fn update(&self, lease: &LeaseRef, instance: InstanceSpec) -> Result<Revision> {
        self.0.deregister(lease).await?;
        let again = Registration::new(lease.service().clone(), lease.id().clone(), instance);
        Ok(self.0.register(again.with_owner(lease.owner())).await?.revision)
    }
}

#[derive(Debug)]
pub(super) struct WritingHeartbeat(Registry, Known);

#[async_trait]
impl Mistake for WritingHeartbeat {
    planted!(Known);
    async fn register(&self, registration: Registration) -> Result<Registered> {
        first(&self.1, &registration);
        self.0.register(registration).await
    }
    async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat> {
        let body = self.1.lock().unwrap().get_mut(&key(lease)).map(|known| {
            known.instance.weight += 1;
            known.instance.clone()
        });
        if let Some(body) = body {
            self.0.update(lease, body).await?;
        }
        self.0.heartbeat(lease).await
    }
}

#[derive(Debug)]
pub(super) struct LiftsOverrides(Registry);

#[async_trait]
impl Mistake for LiftsOverrides {
    planted!();
    async fn update(&self, lease: &LeaseRef, instance: InstanceSpec) -> Result<Revision> {
        self.0.set_override(lease.service(), lease.id(), None).await?;
        self.0.update(lease, instance).await
    }
}

/// Calls what is gone fenced, so that a loop ends that should register again.
#[derive(Debug)]
pub(super) struct GoneIsFenced(Registry);

#[async_trait]
impl Mistake for GoneIsFenced {
    planted!();
    async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat> {
        let gone = |error: &Error| *error.kind() == ErrorKind::NotRegistered;
        let answer = self.0.heartbeat(lease).await;
        answer.map_err(|error| if gone(&error) { error.with_kind(ErrorKind::Fenced) } else { error })
    }
}
