//! What a watch delivers, and the one fold that turns it into a state.

use std::fmt;
use std::sync::Arc;

use tokio::time::Instant;

use crate::instance::Instance;
use crate::name::InstanceId;
use crate::revision::Revision;
use crate::snapshot::Snapshot;

/// One item of a watch.
///
/// The first item with data is a snapshot at r0, then come changes with strictly rising revisions (W1). [`fold`] turns
/// any prefix of them into the state at that revision.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum WatchItem {
    /// The state to begin with.
    Snapshot(Arc<Snapshot>),
    /// All changes of one revision (W3).
    Changes {
        /// The revision that made them.
        revision: Revision,
        /// What changed, sorted by id; never empty.
        changes: Arc<[Change]>,
    },
    /// Changes were passed over, or may have been; here is what they came to (W2, W5).
    Resync {
        /// Why.
        reason: ResyncReason,
        /// The difference to what was delivered before; empty where nothing differs.
        changes: Arc<[Change]>,
        /// The state now.
        snapshot: Arc<Snapshot>,
    },
    /// The link to the backend was lost, or is back and has caught up (W4). Never a removal.
    Status(WatchStatus),
    /// Everything up to this revision was delivered.
    Progress(Revision),
}

/// One difference between two states of a service.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// An instance that was not there.
    Added(Arc<Instance>),
    /// An instance that differs (W15): another body, override or generation.
    Updated {
        /// As it was.
        before: Arc<Instance>,
        /// As it is.
        after: Arc<Instance>,
    },
    /// An instance that is no more.
    Removed {
        /// As it was last seen.
        instance: Arc<Instance>,
        /// Why it went.
        reason: RemoveReason,
    },
}

impl Change {
    /// The id it is about.
    pub fn id(&self) -> &InstanceId {
        match self {
            Self::Added(instance) | Self::Removed { instance, .. } => &instance.id,
            Self::Updated { after, .. } => &after.id,
        }
    }
}

/// Why an instance went (D6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RemoveReason {
    /// Its owner said so.
    Deregistered,
    /// Its lease ran out, a stranger deleted it, or its record was made unreadable.
    Expired,
    /// It left the version that was asked for; it lives on.
    Filtered,
    /// It went while nobody could look.
    Unknown,
}

impl RemoveReason {
    /// The contract's word for it, in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deregistered => "deregistered",
            Self::Expired => "expired",
            Self::Filtered => "filtered",
            Self::Unknown => "unknown",
        }
    }
}

impl fmt::Display for RemoveReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Why a watch began anew from a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ResyncReason {
    /// The backend forgot the history in between.
    Compacted,
    /// The consumer was too slow, or the backend dropped changes.
    Lagged,
    /// The backend's history is another one now (a restored backup, another cluster).
    LineageChanged,
    /// The source could not go on where it was.
    Recovered,
    /// The audit found a difference.
    Audit,
}

impl ResyncReason {
    /// The reason in lower case, as metrics print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compacted => "compacted",
            Self::Lagged => "lagged",
            Self::LineageChanged => "lineage_changed",
            Self::Recovered => "recovered",
            Self::Audit => "audit",
        }
    }
}

impl fmt::Display for ResyncReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether a watch hears its backend.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum WatchStatus {
    /// Nobody knows yet: the first attempt is under way. Never comes as an item.
    Connecting,
    /// It does, and has caught up.
    Connected,
    /// It does not; what was delivered may be stale.
    Disconnected {
        /// Since when.
        since: Instant,
        /// What was seen, for people.
        cause: Arc<str>,
    },
}

impl WatchStatus {
    /// Whether the link is up.
    pub fn is_connected(&self) -> bool {
        matches!(self, Self::Connected)
    }
}

/// An item that does not follow from the state it was folded into: the watch broke its promise.
#[derive(Debug, Clone, PartialEq)]
pub struct FoldError(String);

impl fmt::Display for FoldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FoldError {}

/// Folds `item` into `state` and gives the state after it.
///
/// The state is nothing before the first snapshot. Used by everyone who keeps a state from items; an error means that
/// the stream broke W1: changes before a snapshot, an addition of what is there, a change of what is not, or a
/// revision that does not rise.
///
/// ```
/// # use std::sync::Arc;
/// # use registry_core::{fold, Lineage, Revision, ServiceName, Snapshot, WatchItem};
/// let revision = Revision::new(Lineage::new(1), 7);
/// let empty = Arc::new(Snapshot::empty(ServiceName::new("orders")?, None, revision));
/// let state = fold(None, &WatchItem::Snapshot(empty.clone()))?;
/// assert_eq!(state, Some(empty));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn fold(state: Option<Arc<Snapshot>>, item: &WatchItem) -> Result<Option<Arc<Snapshot>>, FoldError> {
    match item {
        WatchItem::Snapshot(snapshot) | WatchItem::Resync { snapshot, .. } => Ok(Some(Arc::clone(snapshot))),
        WatchItem::Changes { revision, changes } => {
            let state = state.ok_or_else(|| FoldError("changes came before a snapshot".into()))?;
            if !revision.is_after(state.revision) {
                let why = format!("changes of {revision:?} came after {:?}", state.revision);
                return Err(FoldError(why));
            }
            apply(&state, *revision, changes).map(|state| Some(Arc::new(state)))
        }
        WatchItem::Progress(revision) => Ok(state.map(|mut state| {
            if revision.is_after(state.revision) {
                Arc::make_mut(&mut state).revision = *revision;
            }
            state
        })),
        WatchItem::Status(_) => Ok(state),
    }
}

/// `state` with `changes` (sorted by id) made to it.
pub(crate) fn apply(state: &Snapshot, revision: Revision, changes: &[Change]) -> Result<Snapshot, FoldError> {
    let mut instances = Vec::with_capacity(state.instances.len() + changes.len());
    let mut old = state.instances.iter().peekable();
    for change in changes {
        while let Some(instance) = old.next_if(|instance| instance.id < *change.id()) {
            instances.push(Arc::clone(instance));
        }
        let present = old.next_if(|instance| instance.id == *change.id()).is_some();
        match change {
            Change::Added(instance) if !present => instances.push(Arc::clone(instance)),
            Change::Updated { after, .. } if present => instances.push(Arc::clone(after)),
            Change::Removed { .. } if present => {}
            _ => return Err(FoldError(format!("at {revision}: {change:?} does not fit the state"))),
        }
    }
    instances.extend(old.map(Arc::clone));
    if !instances.is_sorted_by(|a, b| a.id < b.id) {
        return Err(FoldError(format!("at {revision}: changes are not sorted by id, or one id twice")));
    }
    Ok(Snapshot { revision, instances: instances.into(), ..state.clone() })
}

/// What leads from `before` to `after`; the reason of a removal is not known from two states.
pub fn diff(before: &Snapshot, after: &Snapshot) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut old = before.instances.iter().peekable();
    let gone = |instance: &Arc<Instance>| Change::Removed {
        instance: Arc::clone(instance),
        reason: RemoveReason::Unknown,
    };
    for new in after.instances.iter() {
        while let Some(instance) = old.next_if(|instance| instance.id < new.id) {
            changes.push(gone(instance));
        }
        match old.next_if(|instance| instance.id == new.id) {
            None => changes.push(Change::Added(Arc::clone(new))),
            Some(before) if Arc::ptr_eq(before, new) || before == new => {}
            Some(before) => {
                changes.push(Change::Updated { before: Arc::clone(before), after: Arc::clone(new) });
            }
        }
    }
    changes.extend(old.map(gone));
    changes
}
