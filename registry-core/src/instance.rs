//! What an instance says of itself, and what a reader sees of it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::endpoint::Endpoint;
use crate::error::{Error, Result};
use crate::lease::Generation;
use crate::metadata::Metadata;
use crate::name::{InstanceId, ServiceName, Version};
use crate::overrides::Override;
use crate::revision::Revision;

/// What an instance says about its readiness for calls, from least to most restrictive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InstanceStatus {
    /// Takes calls.
    #[default]
    Up,
    /// Not ready yet.
    Starting,
    /// Finishes what it has; takes no new calls.
    Draining,
    /// Taken out of service.
    Disabled,
}

/// Health, written by the instance about itself or kept by whoever observes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Health {
    /// Nobody has said.
    #[default]
    Unknown,
    /// The field's PASSING.
    Healthy,
    /// The field's WARNING: a last resort.
    Degraded,
    /// The field's CRITICAL.
    Unhealthy,
}

/// Where an instance runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Locality {
    /// The region, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// The zone within the region, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
}

/// What a prober may ask the instance. The registry never probes; the caller's side does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum HealthCheck {
    /// Nothing.
    #[default]
    None,
    /// Whether the first endpoint accepts a connection.
    Tcp,
    /// Whether this path answers with success.
    Http {
        /// The path, beginning with `/`.
        path: String,
    },
}

/// The weight of an instance that says nothing about it: room for a canary of a hundredth.
pub const DEFAULT_WEIGHT: u32 = 100;

/// What an instance says of itself: the body of its record, replaced whole by `update` (R7).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct InstanceSpec {
    /// The version of the interface contract; part of the record's key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// Where it listens; one or more, their names differ.
    pub endpoints: Vec<Endpoint>,
    /// What it tells everybody.
    #[serde(default)]
    pub metadata: Metadata,
    /// Its share of traffic beside its siblings; 0 = no new traffic.
    #[serde(default = "default_weight")]
    pub weight: u32,
    /// What it says about its readiness.
    #[serde(default)]
    pub status: InstanceStatus,
    /// What it says about its health.
    #[serde(default)]
    pub health: Health,
    /// Where it runs.
    #[serde(default)]
    pub locality: Locality,
    /// What a prober may ask it.
    #[serde(default)]
    pub health_check: HealthCheck,
    /// Fields of the record that this version does not know: kept when the record is written again.
    #[serde(skip)]
    pub unknown: Map<String, Value>,
}

fn default_weight() -> u32 {
    DEFAULT_WEIGHT
}

impl InstanceSpec {
    /// An instance that is up and listens at `endpoint`.
    pub fn new(endpoint: Endpoint) -> Self {
        Self {
            version: None,
            endpoints: vec![endpoint],
            metadata: Metadata::new(),
            weight: DEFAULT_WEIGHT,
            status: InstanceStatus::default(),
            health: Health::default(),
            locality: Locality::default(),
            health_check: HealthCheck::default(),
            unknown: Map::new(),
        }
    }

    /// With this interface version.
    #[must_use]
    pub fn with_version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// With one more endpoint.
    #[must_use]
    pub fn with_endpoint(mut self, endpoint: Endpoint) -> Self {
        self.endpoints.push(endpoint);
        self
    }

    /// With this metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// With this weight.
    #[must_use]
    pub fn with_weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// With this status.
    #[must_use]
    pub fn with_status(mut self, status: InstanceStatus) -> Self {
        self.status = status;
        self
    }

    /// With this health.
    #[must_use]
    pub fn with_health(mut self, health: Health) -> Self {
        self.health = health;
        self
    }

    /// In this locality.
    #[must_use]
    pub fn with_locality(mut self, locality: Locality) -> Self {
        self.locality = locality;
        self
    }

    /// With this health check.
    #[must_use]
    pub fn with_health_check(mut self, health_check: HealthCheck) -> Self {
        self.health_check = health_check;
        self
    }

    /// Checks what the fields' types cannot: at least one endpoint, names that differ, a path that is one.
    ///
    /// An `InvalidArgument` names the field.
    pub fn check(&self) -> Result<()> {
        if self.endpoints.is_empty() {
            return Err(Error::invalid("endpoints", "an instance has at least one endpoint"));
        }
        for (i, endpoint) in self.endpoints.iter().enumerate() {
            endpoint.check()?;
            if self.endpoints[..i].iter().any(|earlier| earlier.name() == endpoint.name()) {
                let why = format!("two endpoints are named {:?}", endpoint.name());
                return Err(Error::invalid(format!("endpoints[{i}].name"), why));
            }
        }
        if let HealthCheck::Http { path } = &self.health_check
            && (!path.starts_with('/') || path.chars().any(|c| c.is_control() || c.is_whitespace()))
        {
            return Err(Error::invalid(
                "health_check.path",
                format!("{path:?} is no path: it begins with `/`"),
            ));
        }
        Ok(())
    }
}

/// An instance as a reader sees it: its own word, its operator's override, and which ownership and revision it is.
///
/// Two are equal when all of that but the record's revision is: a record written again unchanged is no change (W15).
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Instance {
    /// The service it belongs to.
    pub service: ServiceName,
    /// Its id within the service.
    pub id: InstanceId,
    /// The ownership it stands under.
    pub generation: Generation,
    /// The revision that wrote its record.
    pub revision: Revision,
    /// Its own word.
    pub own: Arc<InstanceSpec>,
    /// What an operator set for it, if anything.
    pub overridden: Option<Arc<Override>>,
}

impl Instance {
    /// For backends and their tests: an instance without an override.
    pub fn new(
        service: ServiceName,
        id: InstanceId,
        generation: Generation,
        revision: Revision,
        own: Arc<InstanceSpec>,
    ) -> Self {
        Self { service, id, generation, revision, own, overridden: None }
    }

    /// The status that counts: the more restrictive of its own and the operator's (Q11).
    pub fn status(&self) -> InstanceStatus {
        let operator = self.overridden.as_ref().and_then(|o| o.status).map(InstanceStatus::from);
        operator.map_or(self.own.status, |status| status.max(self.own.status))
    }

    /// The weight that counts: the operator's, if one is set.
    pub fn weight(&self) -> u32 {
        self.overridden.as_ref().and_then(|o| o.weight).unwrap_or(self.own.weight)
    }

    /// Its version.
    pub fn version(&self) -> Option<&Version> {
        self.own.version.as_ref()
    }

    /// Where it listens.
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.own.endpoints
    }

    /// Its metadata.
    pub fn metadata(&self) -> &Metadata {
        &self.own.metadata
    }

    /// The health it says of itself.
    pub fn health(&self) -> Health {
        self.own.health
    }

    /// Where it runs.
    pub fn locality(&self) -> &Locality {
        &self.own.locality
    }

    /// Whether it may be called: up, a weight above 0, neither degraded nor unhealthy.
    pub fn is_routable(&self) -> bool {
        self.status() == InstanceStatus::Up
            && self.weight() > 0
            && !matches!(self.health(), Health::Degraded | Health::Unhealthy)
    }
}

impl PartialEq for Instance {
    fn eq(&self, other: &Self) -> bool {
        self.service == other.service
            && self.id == other.id
            && self.generation == other.generation
            && self.own == other.own
            && self.overridden == other.overridden
    }
}
