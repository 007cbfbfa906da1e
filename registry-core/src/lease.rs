//! What ownership of an instance is proven by.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::name::{InstanceId, ServiceName};

/// Random per registrar and kept with the claim: tells a repeated call from a rival. No secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OwnerToken(Uuid);

impl OwnerToken {
    /// A token that nobody else has.
    pub fn random() -> Self {
        Self(Uuid::new_v4())
    }
}

impl From<Uuid> for OwnerToken {
    fn from(uuid: Uuid) -> Self {
        Self(uuid)
    }
}

impl fmt::Display for OwnerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.simple().fmt(f)
    }
}

/// One ownership of an instance. Opaque: compared for equality only; order comes from revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Generation(u64);

impl Generation {
    /// The generation a backend calls by this number (etcd: the lease, memory: a counter).
    pub fn new(number: u64) -> Self {
        Self(number)
    }

    /// The backend's number.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.0)
    }
}

/// Proof of one ownership: what heartbeats, updates and deregistrations are sent with.
///
/// Opaque and cheap to clone. A backend may hang a handle of its own on it, so that a heartbeat needs no look-up.
/// Two are equal when service, id, generation and owner are.
#[derive(Clone)]
pub struct LeaseRef(Arc<Lease>);

struct Lease {
    service: ServiceName,
    id: InstanceId,
    generation: Generation,
    owner: OwnerToken,
    handle: Option<Arc<dyn Any + Send + Sync>>,
}

impl LeaseRef {
    /// For backends: the proof that `owner` holds `generation` of `service`/`id`.
    pub fn new(service: ServiceName, id: InstanceId, generation: Generation, owner: OwnerToken) -> Self {
        Self(Arc::new(Lease { service, id, generation, owner, handle: None }))
    }

    /// For backends: the same with a handle hung on it.
    pub fn with_handle(
        service: ServiceName,
        id: InstanceId,
        generation: Generation,
        owner: OwnerToken,
        handle: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        Self(Arc::new(Lease { service, id, generation, owner, handle: Some(handle) }))
    }

    /// The service.
    pub fn service(&self) -> &ServiceName {
        &self.0.service
    }

    /// The instance's id.
    pub fn id(&self) -> &InstanceId {
        &self.0.id
    }

    /// The ownership.
    pub fn generation(&self) -> Generation {
        self.0.generation
    }

    /// The owner.
    pub fn owner(&self) -> OwnerToken {
        self.0.owner
    }

    /// For backends: the handle, if one of this type hangs on it.
    pub fn handle<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.handle.as_deref()?.downcast_ref()
    }
}

impl PartialEq for LeaseRef {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.0, &other.0);
        a.service == b.service && a.id == b.id && a.generation == b.generation && a.owner == b.owner
    }
}

impl Eq for LeaseRef {}

impl fmt::Debug for LeaseRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseRef")
            .field("service", self.service())
            .field("id", self.id())
            .field("generation", &self.generation())
            .field("owner", &self.owner())
            .finish()
    }
}
