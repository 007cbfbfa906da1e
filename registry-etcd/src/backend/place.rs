//! The keys of one instance.

use registry_core::{InstanceId, ServiceName, Version};

use crate::keys::{Keys, ServiceKeys};

/// Where an instance's claim, record and mark stand.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    id: InstanceId,
    keys: ServiceKeys,
    claim: Vec<u8>,
}

impl Place {
    pub(crate) fn new(keys: &Keys, service: &ServiceName, id: &InstanceId) -> Self {
        Self { id: id.clone(), keys: keys.service(service), claim: keys.claim(service, id) }
    }

    pub(crate) fn id(&self) -> &InstanceId {
        &self.id
    }

    pub(crate) fn claim(&self) -> Vec<u8> {
        self.claim.clone()
    }

    pub(crate) fn record(&self, version: Option<&Version>) -> Vec<u8> {
        self.keys.record_of(version, &self.id)
    }

    pub(crate) fn left(&self) -> Vec<u8> {
        self.keys.left(&self.id)
    }
}
