//! A watch that is checked at every item.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use registry_core::{
    Change, Error, Query, RemoveReason, Revision, ServiceDiscovery, Snapshot, WatchItem, WatchStream, diff,
    fold,
};
use tokio::time::{Instant, timeout};

/// How long a first snapshot, or anything that must come, may take where the contract names no time.
const SOON: Duration = Duration::from_secs(5);

/// What a watch said within a time.
#[derive(Debug)]
pub enum Heard {
    /// An item.
    Item(WatchItem),
    /// Nothing.
    Silence,
    /// The end of the stream; what ended it, if it was an error.
    End(Option<Error>),
}

/// An open watch that folds what it reads, and panics at the first item that breaks W1, W2, W3, W5, W6 or W15.
pub struct Watched {
    stream: WatchStream,
    state: Option<Arc<Snapshot>>,
    items: Vec<WatchItem>,
}

impl Watched {
    /// Opens a watch; nothing is read yet.
    pub fn open(registry: &dyn ServiceDiscovery, query: &Query) -> Self {
        let stream = registry.watch(query).unwrap_or_else(|error| panic!("watch({query:?}): {error:?}"));
        Self { stream, state: None, items: Vec::new() }
    }

    /// The stream itself.
    pub fn stream(&self) -> &WatchStream {
        &self.stream
    }

    /// What the items read so far fold to.
    pub fn state(&self) -> Arc<Snapshot> {
        Arc::clone(self.state.as_ref().expect("a snapshot was read"))
    }

    /// What the items read so far fold to; nothing before the first snapshot.
    pub fn folded(&self) -> Option<&Arc<Snapshot>> {
        self.state.as_ref()
    }

    /// The items read so far.
    pub fn items(&self) -> &[WatchItem] {
        &self.items
    }

    /// The changes read so far, resyncs included.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.items.iter().flat_map(|item| changes_of(item).iter())
    }

    /// The reasons of all removals of `id` read so far.
    pub fn removals(&self, id: &str) -> Vec<RemoveReason> {
        let reason = |change: &Change| match change {
            Change::Removed { instance, reason } if instance.id == id => Some(*reason),
            _ => None,
        };
        self.changes().filter_map(reason).collect()
    }

    /// What comes within this time, checked.
    pub async fn hear(&mut self, within: Duration) -> Heard {
        match timeout(within, self.stream.next()).await {
            Err(_) => Heard::Silence,
            Ok(None) => Heard::End(None),
            Ok(Some(Err(error))) => Heard::End(Some(error)),
            Ok(Some(Ok(item))) => {
                self.take(&item);
                Heard::Item(item)
            }
        }
    }

    /// Reads on to the first snapshot, or gives the state if it was read before.
    pub async fn snapshot(&mut self) -> Arc<Snapshot> {
        self.until("a first snapshot", SOON, |_| true).await
    }

    /// Reads until the state is as asked; panics once `within` has passed.
    pub async fn until(
        &mut self,
        what: &str,
        within: Duration,
        wanted: impl Fn(&Snapshot) -> bool,
    ) -> Arc<Snapshot> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(state) = self.state.as_ref().filter(|state| wanted(state)) {
                return Arc::clone(state);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.hear(left).await {
                Heard::Item(_) => {}
                other => panic!("the watch has not within {within:?}: {what}; {other:?} at {:?}", self.state),
            }
        }
    }

    /// Reads on until the removal of `id` was told; panics once `within` has passed.
    pub async fn removed(&mut self, id: &str, within: Duration) {
        let deadline = Instant::now() + within;
        while self.removals(id).is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let heard = self.hear(left).await;
            assert!(
                matches!(heard, Heard::Item(_)),
                "no removal of {id} within {within:?}: {:?}",
                self.items
            );
        }
    }

    /// The changes of the next item that holds some; panics once `within` has passed without one.
    pub async fn next_changes(&mut self, within: Duration) -> Vec<Change> {
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.hear(left).await {
                Heard::Item(item) if !changes_of(&item).is_empty() => return changes_of(&item).to_vec(),
                Heard::Item(_) => {}
                other => panic!("no change within {within:?}: {other:?} at {:?}", self.state),
            }
        }
    }

    /// The one change of the next item that holds some.
    pub async fn next_change(&mut self) -> Change {
        let mut changes = self.next_changes(SOON).await;
        assert_eq!(changes.len(), 1, "one change was made: {changes:?}");
        changes.remove(0)
    }

    /// Reads for this long, in which no change may come.
    pub async fn quiet(&mut self, time: Duration) {
        let deadline = Instant::now() + time;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.hear(left).await {
                Heard::Silence => return,
                Heard::Item(item) if changes_of(&item).is_empty() => {}
                other => panic!("no change was to come: {other:?}"),
            }
        }
    }

    /// Reads all that is there, until nothing came for this long; how many items it was.
    pub async fn drain(&mut self, quiet: Duration) -> usize {
        let before = self.items.len();
        while let Heard::Item(_) = self.hear(quiet).await {}
        self.items.len() - before
    }

    /// Reads on to the end of the stream, and gives the error that ended it, if one did.
    pub async fn end(&mut self, within: Duration) -> Option<Error> {
        let deadline = Instant::now() + within;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.hear(left).await {
                Heard::Item(_) => {}
                Heard::Silence => panic!("the stream has not ended within {within:?}"),
                Heard::End(error) => return error,
            }
        }
    }

    /// Checks an item against the state, and folds it.
    fn take(&mut self, item: &WatchItem) {
        match (item, &self.state) {
            (WatchItem::Snapshot(_), Some(_)) => panic!("W1: a second snapshot: {item:?}"),
            (WatchItem::Resync { .. }, None) => panic!("W1: a resync before the first snapshot: {item:?}"),
            (WatchItem::Changes { revision, changes }, Some(state)) => {
                assert!(!changes.is_empty(), "W1: an item without a change at {revision}");
                changes.iter().for_each(|change| follows(change, state));
            }
            (WatchItem::Resync { snapshot, changes, .. }, Some(state)) => {
                not_backwards(snapshot.revision, state.revision);
                changes.iter().for_each(|change| follows(change, state));
                let told = differences(changes);
                let real = differences(&diff(state, snapshot));
                assert_eq!(told, real, "W5: a resync tells other changes than there are");
            }
            _ => {}
        }
        if let WatchItem::Snapshot(snapshot) | WatchItem::Resync { snapshot, .. } = item {
            sorted(snapshot);
        }
        self.state =
            fold(self.state.take(), item).unwrap_or_else(|error| panic!("W1: {error}; {:#?}", self.items));
        self.items.push(item.clone());
    }
}

impl fmt::Debug for Watched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watched")
            .field("state", &self.state)
            .field("items", &self.items)
            .finish_non_exhaustive()
    }
}

/// The changes that an item holds.
pub fn changes_of(item: &WatchItem) -> &[Change] {
    match item {
        WatchItem::Changes { changes, .. } | WatchItem::Resync { changes, .. } => changes,
        _ => &[],
    }
}

/// A change speaks of what was there, and something differs.
fn follows(change: &Change, state: &Snapshot) {
    match change {
        Change::Added(instance) => {
            assert!(state.get(&instance.id).is_none(), "W1: what was there is added: {change:?}");
        }
        Change::Updated { before, after } => {
            assert_ne!(before, after, "W15: an update of nothing");
            assert_eq!(state.get(&before.id), Some(before), "W1: an update of what was not so: {change:?}");
        }
        Change::Removed { instance, .. } => {
            assert_eq!(
                state.get(&instance.id),
                Some(instance),
                "W1: a removal of what was not there: {change:?}"
            );
        }
    }
}

/// A resync may stand where the state stands, never before it.
fn not_backwards(next: Revision, last: Revision) {
    let behind = next.lineage() == last.lineage() && last.is_after(next);
    assert!(!behind, "W6: the watch went back from {last} to {next}");
}

/// Sorted by id, no id twice (Q1).
pub fn sorted(snapshot: &Snapshot) {
    let ids: Vec<_> = snapshot.instances.iter().map(|instance| &instance.id).collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "Q1: not sorted, or one id twice: {ids:?}");
    let foreign = snapshot.instances.iter().find(|instance| instance.service != snapshot.service);
    assert!(foreign.is_none(), "Q4: an instance of another service: {foreign:?}");
}

/// Changes without the reasons of removals, which two states cannot tell.
fn differences(changes: &[Change]) -> Vec<String> {
    let plain = |change: &Change| match change {
        Change::Added(instance) => format!("+{instance:?}"),
        Change::Updated { before, after } => format!("{before:?} -> {after:?}"),
        Change::Removed { instance, .. } => format!("-{instance:?}"),
    };
    changes.iter().map(plain).collect()
}
