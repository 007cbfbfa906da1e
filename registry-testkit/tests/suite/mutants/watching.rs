//! Mistakes about watches.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use registry_core::{
    Change, Query, RemoveReason, Result, ResyncReason, ServiceDiscovery, Snapshot, StateCell, WatchItem,
    WatchState, WatchStream, fold,
};
use tokio::task::JoinSet;

use super::Mistake;

type Registry = Arc<dyn ServiceDiscovery>;

/// A mistake that makes other items of each item, given what it keeps.
macro_rules! mistells {
    ($name:ident, $kept:ty, |$keep:pat_param, $item:ident| $items:expr) => {
        #[derive(Debug)]
        pub(super) struct $name(Registry);

        #[async_trait]
        impl Mistake for $name {
            fn plant(inner: Registry) -> Self {
                Self(inner)
            }
            fn inner(&self) -> &Registry {
                &self.0
            }
            fn watch(&self, query: &Query) -> Result<WatchStream> {
                let watch = self.0.watch(query)?;
                let state = watch.state().clone();
                let mut kept = <$kept>::default();
                let items = watch.flat_map(move |item| {
                    let $keep = &mut kept;
                    let items: Vec<Result<WatchItem>> = match item {
                        Ok($item) => $items.into_iter().map(Ok).collect(),
                        Err(error) => vec![Err(error)],
                    };
                    stream::iter(items)
                });
                Ok(WatchStream::new(items, state))
            }
        }
    };
}

/// The item with other changes; nothing if none is left.
fn with_changes(item: WatchItem, edit: impl Fn(&Change) -> Option<Change>) -> Vec<WatchItem> {
    let WatchItem::Changes { revision, changes } = item else { return vec![item] };
    let changes: Arc<[Change]> = changes.iter().filter_map(edit).collect();
    if changes.is_empty() { vec![] } else { vec![WatchItem::Changes { revision, changes }] }
}

fn is_removal(change: &Change) -> bool {
    matches!(change, Change::Removed { .. })
}

mistells!(SilentRemoval, (), |(), item| with_changes(item, |change| {
    (!is_removal(change)).then(|| change.clone())
}));

mistells!(TwoRemovals, (), |(), item| match &item {
    WatchItem::Changes { changes, .. } if changes.iter().any(is_removal) => vec![item.clone(), item],
    _ => vec![item],
});

mistells!(WrongReason, (), |(), item| with_changes(item, |change| {
    let Change::Removed { instance, reason: RemoveReason::Expired } = change else {
        return Some(change.clone());
    };
    Some(Change::Removed { instance: instance.clone(), reason: RemoveReason::Deregistered })
}));

mistells!(ReplaysHistory, Vec<WatchItem>, |history, item| {
    if matches!(item, WatchItem::Changes { .. }) {
        history.push(item.clone());
    }
    if history.len() == 5 {
        let mut replayed = std::mem::take(history);
        replayed.insert(0, item);
        replayed
    } else {
        vec![item]
    }
});

mistells!(LosesAChange, u32, |seen, item| {
    *seen += 1;
    if *seen == 7 && matches!(item, WatchItem::Changes { .. }) { vec![] } else { vec![item] }
});

mistells!(LosesWhenLagging, (), |(), item| match item {
    WatchItem::Resync { reason: ResyncReason::Lagged, .. } => vec![],
    item => vec![item],
});

mistells!(ResyncWithoutRemovals, (), |(), item| match item {
    WatchItem::Resync { reason, changes, snapshot } => {
        let changes = changes.iter().filter(|change| !is_removal(change)).cloned().collect();
        vec![WatchItem::Resync { reason, changes, snapshot }]
    }
    item => vec![item],
});

mistells!(SplitsUpdates, (), |(), item| match item {
    WatchItem::Changes { revision, changes } => {
        let split = |change: &Change| match change {
            Change::Updated { before, after } => vec![
                Change::Removed { instance: before.clone(), reason: RemoveReason::Unknown },
                Change::Added(after.clone()),
            ],
            other => vec![other.clone()],
        };
        let one = |change| WatchItem::Changes { revision, changes: [change].into() };
        changes.iter().flat_map(split).map(one).collect()
    }
    item => vec![item],
});

/// Publishes an empty list when the stream is lost.
#[derive(Debug)]
pub(super) struct EmptyAtTheEnd(Registry);

#[async_trait]
impl Mistake for EmptyAtTheEnd {
    fn plant(inner: Registry) -> Self {
        Self(inner)
    }
    fn inner(&self) -> &Registry {
        &self.0
    }
    fn watch(&self, query: &Query) -> Result<WatchStream> {
        let watch = self.0.watch(query)?;
        let cell = watch.state().clone();
        let state: Arc<Mutex<Option<Arc<Snapshot>>>> = Arc::default();
        let last = Arc::clone(&state);
        let items = watch.inspect(move |item| {
            let mut state = state.lock().unwrap();
            *state = item.as_ref().ok().and_then(|item| fold(state.take(), item).ok().flatten());
        });
        let end = stream::once(async move {
            let state = last.lock().unwrap().clone().expect("a state");
            let gone = |instance: &Arc<_>| Change::Removed {
                instance: Arc::clone(instance),
                reason: RemoveReason::Unknown,
            };
            let changes = state.instances.iter().map(gone).collect();
            let snapshot = Arc::new(Snapshot::empty(state.service.clone(), None, state.revision));
            Ok(WatchItem::Resync { reason: ResyncReason::Recovered, changes, snapshot })
        });
        Ok(WatchStream::new(items.chain(end), cell))
    }
}

/// Keeps a task for every watch that was ever opened.
#[derive(Debug)]
pub(super) struct OutlivesItsDrop(Registry, Mutex<JoinSet<()>>);

#[async_trait]
impl Mistake for OutlivesItsDrop {
    fn plant(inner: Registry) -> Self {
        Self(inner, Mutex::default())
    }
    fn inner(&self) -> &Registry {
        &self.0
    }
    fn watch(&self, query: &Query) -> Result<WatchStream> {
        self.1.lock().unwrap().spawn(tokio::time::sleep(Duration::from_hours(1)));
        self.0.watch(query)
    }
}

/// Calls a list current for ever, whatever becomes of its watch.
#[derive(Debug)]
pub(super) struct CalledFresh(Registry);

#[async_trait]
impl Mistake for CalledFresh {
    fn plant(inner: Registry) -> Self {
        Self(inner)
    }
    fn inner(&self) -> &Registry {
        &self.0
    }
    fn watch(&self, query: &Query) -> Result<WatchStream> {
        let watch = self.0.watch(query)?;
        let first = watch.state().load().snapshot.clone().expect("memory knows at once");
        Ok(WatchStream::new(watch, StateCell::new(WatchState::current(first))))
    }
}
