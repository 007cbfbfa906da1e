//! Convenience for callers, written once over the trait so that a backend owes little.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::discovery::ServiceDiscovery;
use crate::error::{Error, ErrorKind, Result};
use crate::instance::Instance;
use crate::query::{Query, ReadOptions};
use crate::snapshot::Snapshot;

/// What every registry can do for a caller, made of what [`ServiceDiscovery`] owes.
#[async_trait]
pub trait ServiceDiscoveryExt: ServiceDiscovery {
    /// The instances that may be called and that `filter` lets through, by one linearizable read.
    ///
    /// `NoAvailableInstances` when there is none, with how many were left out and why. Cancel safe.
    async fn select(&self, query: &Query, filter: &InstanceFilter) -> Result<Vec<Arc<Instance>>> {
        let asked = Instant::now();
        let snapshot = self.discover(query, ReadOptions::default()).await?;
        let chosen: Vec<_> =
            snapshot.routable().filter(|instance| filter.allows(instance)).cloned().collect();
        if chosen.is_empty() { Err(no_instances(&snapshot, asked.elapsed())) } else { Ok(chosen) }
    }
}

impl<T: ServiceDiscovery + ?Sized> ServiceDiscoveryExt for T {}

/// The error of a caller that finds nobody to call in `snapshot`, which is `age` old.
pub fn no_instances(snapshot: &Snapshot, age: std::time::Duration) -> Error {
    let left_out = snapshot.left_out();
    let message = match snapshot.len() {
        0 => format!("{:?} has no living instance", snapshot.service),
        living => format!("{:?} has {living} living instances and none that may be called", snapshot.service),
    };
    Error::new(ErrorKind::NoAvailableInstances { left_out, age }, message)
}

/// Which instances a caller wants beside their being routable.
///
/// ```
/// # use registry_core::InstanceFilter;
/// let filter = InstanceFilter::new().zone("eu-1").metadata("tier", "gold");
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InstanceFilter {
    region: Option<String>,
    zone: Option<String>,
    metadata: std::collections::BTreeMap<String, String>,
}

impl InstanceFilter {
    /// Lets everything through.
    pub fn new() -> Self {
        Self::default()
    }

    /// Only instances of this region.
    #[must_use]
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = Some(region.into());
        self
    }

    /// Only instances of this zone.
    #[must_use]
    pub fn zone(mut self, zone: impl Into<String>) -> Self {
        self.zone = Some(zone.into());
        self
    }

    /// Only instances whose metadata hold this pair; may be said several times.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Whether `instance` passes.
    pub fn allows(&self, instance: &Instance) -> bool {
        let wanted = |wanted: &Option<String>, actual: &Option<String>| wanted.is_none() || wanted == actual;
        wanted(&self.region, &instance.locality().region)
            && wanted(&self.zone, &instance.locality().zone)
            && self.metadata.iter().all(|(key, value)| instance.metadata().get(key) == Some(value.as_str()))
    }
}
