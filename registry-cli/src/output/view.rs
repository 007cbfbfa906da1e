//! What programs read. Names here are a promise: fields are added, never renamed.

use std::collections::BTreeMap;

use registry_core::{
    Change, Health, Instance, InstanceStatus, Locality, Override, Rejected, Snapshot, WatchItem, WatchStatus,
};
use serde::Serialize;

/// The list of a service at one revision.
#[derive(Debug, Serialize)]
pub(crate) struct SnapshotView<'a> {
    service: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<&'a str>,
    revision: u64,
    instances: Vec<InstanceView<'a>>,
    rejected: Vec<RejectedView<'a>>,
}

impl<'a> From<&'a Snapshot> for SnapshotView<'a> {
    fn from(snapshot: &'a Snapshot) -> Self {
        Self {
            service: snapshot.service.as_str(),
            version: snapshot.version.as_ref().map(registry_core::Version::as_str),
            revision: snapshot.revision.number(),
            instances: snapshot.instances.iter().map(|instance| InstanceView::from(&**instance)).collect(),
            rejected: snapshot.rejected.iter().map(RejectedView::from).collect(),
        }
    }
}

/// An instance as callers see it: the override is merged into status, weight and `routable`.
#[derive(Debug, Serialize)]
pub(crate) struct InstanceView<'a> {
    id: &'a str,
    status: InstanceStatus,
    routable: bool,
    weight: u32,
    version: Option<&'a str>,
    health: Health,
    endpoints: Vec<EndpointView<'a>>,
    metadata: BTreeMap<&'a str, &'a str>,
    locality: &'a Locality,
    generation: String,
    revision: u64,
    #[serde(rename = "override")]
    overridden: Option<&'a Override>,
}

impl<'a> From<&'a Instance> for InstanceView<'a> {
    fn from(instance: &'a Instance) -> Self {
        let endpoints = instance.endpoints().iter().map(|endpoint| EndpointView {
            name: endpoint.name(),
            url: endpoint.to_string(),
            scheme: endpoint.scheme(),
            host: endpoint.host().to_string(),
            port: endpoint.port(),
        });
        let metadata = instance.metadata().iter().map(|(key, value)| (key.as_str(), value.as_str()));
        Self {
            id: instance.id.as_str(),
            status: instance.status(),
            routable: instance.is_routable(),
            weight: instance.weight(),
            version: instance.version().map(registry_core::Version::as_str),
            health: instance.health(),
            endpoints: endpoints.collect(),
            metadata: metadata.collect(),
            locality: instance.locality(),
            generation: instance.generation.to_string(),
            revision: instance.revision.number(),
            overridden: instance.overridden.as_deref(),
        }
    }
}

#[derive(Debug, Serialize)]
struct EndpointView<'a> {
    name: &'a str,
    url: String,
    scheme: &'a str,
    host: String,
    port: u16,
}

#[derive(Debug, Serialize)]
struct RejectedView<'a> {
    key: &'a str,
    reason: &'a str,
    served: bool,
}

impl<'a> From<&'a Rejected> for RejectedView<'a> {
    fn from(rejected: &'a Rejected) -> Self {
        Self { key: &rejected.key, reason: &rejected.reason, served: rejected.served }
    }
}

/// One item of a watch.
#[derive(Debug, Serialize)]
#[serde(tag = "item", rename_all = "snake_case")]
pub(crate) enum ItemView<'a> {
    Snapshot(SnapshotView<'a>),
    Changes {
        revision: u64,
        changes: Vec<ChangeView<'a>>,
    },
    Resync {
        reason: &'static str,
        changes: Vec<ChangeView<'a>>,
        snapshot: SnapshotView<'a>,
    },
    Connected,
    Disconnected {
        cause: &'a str,
    },
    Progress {
        revision: u64,
    },
    /// What this program does not know yet.
    Other,
}

impl<'a> From<&'a WatchItem> for ItemView<'a> {
    fn from(item: &'a WatchItem) -> Self {
        let views = |changes: &'a [Change]| changes.iter().map(ChangeView::from).collect();
        match item {
            WatchItem::Snapshot(snapshot) => Self::Snapshot(SnapshotView::from(&**snapshot)),
            WatchItem::Changes { revision, changes } => {
                Self::Changes { revision: revision.number(), changes: views(changes) }
            }
            WatchItem::Resync { reason, changes, snapshot } => Self::Resync {
                reason: reason.name(),
                changes: views(changes),
                snapshot: SnapshotView::from(&**snapshot),
            },
            WatchItem::Status(WatchStatus::Connected) => Self::Connected,
            WatchItem::Status(WatchStatus::Disconnected { cause, .. }) => Self::Disconnected { cause },
            WatchItem::Progress(revision) => Self::Progress { revision: revision.number() },
            _ => Self::Other,
        }
    }
}

/// One change.
#[derive(Debug, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub(crate) enum ChangeView<'a> {
    Added { instance: InstanceView<'a> },
    Updated { before: InstanceView<'a>, after: InstanceView<'a> },
    Removed { reason: &'static str, instance: InstanceView<'a> },
}

impl<'a> From<&'a Change> for ChangeView<'a> {
    fn from(change: &'a Change) -> Self {
        match change {
            Change::Added(instance) => Self::Added { instance: InstanceView::from(&**instance) },
            Change::Updated { before, after } => {
                Self::Updated { before: InstanceView::from(&**before), after: InstanceView::from(&**after) }
            }
            Change::Removed { instance, reason } => {
                Self::Removed { reason: reason.name(), instance: InstanceView::from(&**instance) }
            }
        }
    }
}
