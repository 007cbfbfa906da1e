//! The living instances of a service at one revision.

use std::fmt;
use std::sync::Arc;

use crate::instance::{Health, Instance, InstanceStatus};
use crate::name::{InstanceId, ServiceName, Version};
use crate::query::ReadMode;
use crate::revision::Revision;

/// The living instances of a service (or of one of its versions) at one revision: sorted by id, no id twice (Q1).
///
/// Handed out shared and never copied; immutable.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// The service.
    pub service: ServiceName,
    /// The version asked for; any if none.
    pub version: Option<Version>,
    /// The point in the backend's history it shows.
    pub revision: Revision,
    /// How it was read.
    pub read: ReadMode,
    /// All living instances with their status (Q8), sorted by id.
    pub instances: Arc<[Arc<Instance>]>,
    /// Records that could not be read or stand beside another of the same id (Q5).
    pub rejected: Arc<[Rejected]>,
}

impl Snapshot {
    /// A snapshot of instances already sorted by id.
    pub fn new(
        service: ServiceName,
        version: Option<Version>,
        revision: Revision,
        instances: Arc<[Arc<Instance>]>,
        rejected: Arc<[Rejected]>,
    ) -> Self {
        debug_assert!(instances.is_sorted_by(|a, b| a.id < b.id));
        Self { service, version, revision, read: ReadMode::Linearizable, instances, rejected }
    }

    /// An empty service.
    pub fn empty(service: ServiceName, version: Option<Version>, revision: Revision) -> Self {
        Self::new(service, version, revision, Arc::default(), Arc::default())
    }

    /// The instance with this id.
    pub fn get(&self, id: &InstanceId) -> Option<&Arc<Instance>> {
        self.instances.binary_search_by(|instance| instance.id.cmp(id)).ok().map(|i| &self.instances[i])
    }

    /// The instances that may be called.
    pub fn routable(&self) -> impl Iterator<Item = &Arc<Instance>> {
        self.instances.iter().filter(|instance| instance.is_routable())
    }

    /// How many living instances.
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// Whether the backend answered that there is none.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }

    /// How many may not be called, by reason.
    pub fn left_out(&self) -> LeftOut {
        let mut left_out = LeftOut::default();
        for instance in self.instances.iter() {
            left_out.count(instance);
        }
        left_out
    }
}

/// A record that is not served, or is served with a correction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// Where it stands: the backend's key.
    pub key: String,
    /// Whose it would be, where the key tells.
    pub slot: Option<Slot>,
    /// What is wrong with it.
    pub reason: String,
    /// True where the instance is listed all the same, its record corrected (a body that names another id).
    pub served: bool,
}

/// Where a record stands within its service: its version (as the key has it) and its id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot {
    /// The id.
    pub id: InstanceId,
    /// The version in the key.
    pub version: Option<Version>,
}

impl Slot {
    /// The slot of `id` under `version`.
    pub fn new(id: InstanceId, version: Option<Version>) -> Self {
        Self { id, version }
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version.as_ref().map_or("-", Version::as_str);
        write!(f, "v={version}/{}", self.id)
    }
}

/// How many instances may not be called, each counted under the first reason that holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Not ready yet.
    pub starting: usize,
    /// Draining.
    pub draining: usize,
    /// Taken out of service.
    pub disabled: usize,
    /// With a weight of 0.
    pub weightless: usize,
    /// Degraded: a last resort.
    pub degraded: usize,
    /// Unhealthy.
    pub unhealthy: usize,
}

impl LeftOut {
    fn count(&mut self, instance: &Instance) {
        let reason = match (instance.status(), instance.health()) {
            (InstanceStatus::Starting, _) => &mut self.starting,
            (InstanceStatus::Draining, _) => &mut self.draining,
            (InstanceStatus::Disabled, _) => &mut self.disabled,
            (InstanceStatus::Up, _) if instance.weight() == 0 => &mut self.weightless,
            (InstanceStatus::Up, Health::Degraded) => &mut self.degraded,
            (InstanceStatus::Up, Health::Unhealthy) => &mut self.unhealthy,
            (InstanceStatus::Up, Health::Unknown | Health::Healthy) => return,
        };
        *reason += 1;
    }

    /// How many in all.
    pub fn total(&self) -> usize {
        self.starting + self.draining + self.disabled + self.weightless + self.degraded + self.unhealthy
    }
}

/// The sorted names of the services that have a living instance, at one revision (Q10).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Services {
    /// The point in the backend's history it shows.
    pub revision: Revision,
    /// The names, sorted.
    pub names: Arc<[ServiceName]>,
}

impl Services {
    /// Names already sorted.
    pub fn new(revision: Revision, names: Arc<[ServiceName]>) -> Self {
        debug_assert!(names.is_sorted_by(|a, b| a < b));
        Self { revision, names }
    }
}
