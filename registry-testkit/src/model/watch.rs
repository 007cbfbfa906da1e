//! A watch beside the model: what it folds to, and whether it told each change once.

use std::collections::BTreeMap;
use std::time::Duration;

use registry_core::{
    Change, InstanceId, Query, RemoveReason, ServiceDiscovery, ServiceName, Snapshot, Version, WatchItem,
};

use super::drive::seen;
use super::state::{Happened, Model, Seen};
use crate::watched::{Heard, Watched};

/// How many changes a first snapshot may lag behind.
const EARLIER: usize = 20;

/// A watch, and where the model stood when it was opened.
pub(super) struct Compared {
    watched: Watched,
    of: ServiceName,
    version: Option<Version>,
    /// How many things had happened to the service.
    since: usize,
}

impl Compared {
    /// Opens a watch and reads it up to the model's state. Its first snapshot may be a little older: watches of one
    /// service share what is known of it.
    pub(super) async fn open(
        registry: &dyn ServiceDiscovery,
        of: &ServiceName,
        version: Option<Version>,
        model: &Model,
        within: Duration,
    ) -> Self {
        let mut query = Query::new(of.clone());
        query.version.clone_from(&version);
        let mut watched = Watched::open(registry, &query);
        let wanted = model.list(of, version.as_ref());
        watched.until("the model's state", within, |state| states(state) == wanted).await;
        Self { watched, of: of.clone(), version, since: model.happened(of).len() }
    }

    /// Reads until the fold is the model's state, and compares the changes that were told.
    pub(super) async fn read(&mut self, model: &Model, within: Duration) {
        let wanted = model.list(&self.of, self.version.as_ref());
        self.watched.until("the model's state", within, |state| states(state) == wanted).await;
        // Changes that cancel each other out may still be on their way.
        while model.is_certain(&self.of) && !self.resynced() && !self.told_as_it_happened(model) {
            if !matches!(self.watched.hear(within).await, Heard::Item(_)) {
                assert_eq!(self.told(), self.due(model, self.since), "W2: each change once, as it happened");
            }
        }
        let folded = self.watched.state();
        assert_eq!(states(&folded), wanted, "W1: what was told folds to the state");
    }

    /// Whether what was told is what happened since it was opened, or since a little earlier.
    fn told_as_it_happened(&self, model: &Model) -> bool {
        let count: usize = self.due(model, self.since).values().map(Vec::len).sum();
        if self.watched.changes().count() < count {
            return false;
        }
        let told = self.told();
        (self.since.saturating_sub(EARLIER)..=self.since).rev().any(|since| self.due(model, since) == told)
    }

    /// Whether it was too slow to be told everything.
    fn resynced(&self) -> bool {
        self.watched.items().iter().any(|item| matches!(item, WatchItem::Resync { .. }))
    }

    /// What was told of each instance, in order.
    fn told(&self) -> BTreeMap<InstanceId, Vec<String>> {
        let mut told: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for change in self.watched.changes() {
            let words = match change {
                Change::Added(instance) => format!("added {:?}", seen(instance)),
                Change::Updated { after, .. } => format!("updated {:?}", seen(after)),
                Change::Removed { reason, .. } => format!("removed {reason:?}"),
            };
            told.entry(change.id().clone()).or_default().push(words);
        }
        told
    }

    /// What must have been told since so many things had happened.
    fn due(&self, model: &Model, since: usize) -> BTreeMap<InstanceId, Vec<String>> {
        let mut due: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for happened in &model.happened(&self.of)[since..] {
            if let Some((id, words)) = self.words(happened) {
                due.entry(id).or_default().push(words);
            }
        }
        due
    }

    /// A change as this view is told it.
    fn words(&self, happened: &Happened) -> Option<(InstanceId, String)> {
        let in_view = |seen: &&Seen| self.version.is_none() || seen.body.version == self.version;
        let before = happened.before.as_ref().filter(in_view);
        let after = happened.after.as_ref().filter(in_view);
        match (before, after) {
            (None, None) => None,
            (None, Some(after)) => Some((after.id.clone(), format!("added {after:?}"))),
            (Some(_), Some(after)) => Some((after.id.clone(), format!("updated {after:?}"))),
            (Some(before), None) => {
                let reason = if happened.after.is_some() { RemoveReason::Filtered } else { happened.reason };
                Some((before.id.clone(), format!("removed {reason:?}")))
            }
        }
    }
}

fn states(snapshot: &Snapshot) -> Vec<Seen> {
    snapshot.instances.iter().map(|instance| seen(instance)).collect()
}
