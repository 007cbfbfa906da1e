//! One filtered view on a service, fanned out to watchers that may be slow: bounded queues, and a collapse on overflow.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use futures::Stream;

use crate::error::Result;
use crate::instance::Instance;
use crate::item::{Change, RemoveReason, ResyncReason, WatchItem, WatchStatus};
use crate::name::{InstanceId, Version};
use crate::snapshot::Snapshot;
use crate::stream::{StateCell, WatchEnd, WatchState, WatchStream};
use crate::sync::lock;

/// What is pushed to every watcher of a view.
#[derive(Debug, Clone)]
pub(crate) enum Push {
    Item(WatchItem),
    End(WatchEnd),
}

/// The watchers of one version (or of all) of one service.
#[derive(Debug)]
pub(crate) struct View {
    /// Whose watchers: those of different handles end apart.
    handle: u64,
    version: Option<Version>,
    cell: StateCell,
    queues: Mutex<Queues>,
}

#[derive(Debug, Default)]
struct Queues {
    next: u64,
    by_id: HashMap<u64, Queue>,
}

impl View {
    pub(crate) fn new(handle: u64, version: Option<Version>, state: WatchState) -> Self {
        Self { handle, version, cell: StateCell::new(state), queues: Mutex::default() }
    }

    pub(crate) fn handle(&self) -> u64 {
        self.handle
    }

    pub(crate) fn version(&self) -> Option<&Version> {
        self.version.as_ref()
    }

    pub(crate) fn state(&self) -> WatchState {
        WatchState::clone(&self.cell.load())
    }

    pub(crate) fn is_unused(&self) -> bool {
        self.lock().by_id.is_empty()
    }

    /// What `changes` of the whole service are to this view (W18).
    pub(crate) fn filter(&self, changes: &[Change]) -> Vec<Change> {
        let Some(version) = &self.version else { return changes.to_vec() };
        let mine = |instance: &Arc<Instance>| instance.version() == Some(version);
        changes
            .iter()
            .filter_map(|change| match change {
                Change::Added(instance) | Change::Removed { instance, .. } => {
                    mine(instance).then(|| change.clone())
                }
                Change::Updated { before, after } => match (mine(before), mine(after)) {
                    (true, true) => Some(change.clone()),
                    (true, false) => {
                        Some(Change::Removed { instance: Arc::clone(before), reason: RemoveReason::Filtered })
                    }
                    (false, true) => Some(Change::Added(Arc::clone(after))),
                    (false, false) => None,
                },
            })
            .collect()
    }

    /// Publishes `state` and gives `push` to every watcher, in one step: no watcher sees one without the other.
    pub(crate) fn publish(&self, state: WatchState, push: Option<Push>, capacity: usize) {
        let mut queues = self.lock();
        self.cell.store(state);
        let Some(push) = push else { return };
        for queue in queues.by_id.values_mut() {
            queue.push(push.clone(), capacity);
        }
    }

    /// A watcher of this view, which begins with what is known now. `guard` is dropped with it.
    pub(crate) fn subscribe(self: &Arc<Self>, guard: Box<dyn Send>) -> WatchStream {
        let mut queues = self.lock();
        let id = queues.next;
        queues.next += 1;
        let state = self.cell.load();
        queues.by_id.insert(id, Queue::starting_from(&state));
        drop(queues);
        let items = Watcher { view: Arc::clone(self), id, _guard: guard };
        WatchStream::new(items, self.cell.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        lock(&self.queues)
    }
}

/// One watcher's queue: items in order, or what they collapsed to.
#[derive(Debug)]
struct Queue {
    /// Whether a snapshot was queued already: before it an overflow is told by a later snapshot.
    started: bool,
    items: VecDeque<WatchItem>,
    /// The changes in `items`.
    changes: usize,
    /// After an overflow: what was passed over, netted by id, in place of data in `items`.
    lagged: Option<BTreeMap<InstanceId, Net>>,
    end: Option<WatchEnd>,
    waker: Option<Waker>,
}

/// What several changes of one id come to.
#[derive(Debug)]
struct Net {
    before: Option<Arc<Instance>>,
    after: Option<Arc<Instance>>,
    reason: RemoveReason,
}

impl Queue {
    fn starting_from(state: &WatchState) -> Self {
        let mut items = VecDeque::new();
        if matches!(state.status, WatchStatus::Disconnected { .. }) {
            items.push_back(WatchItem::Status(state.status.clone()));
        }
        if let Some(snapshot) = &state.snapshot {
            items.push_back(WatchItem::Snapshot(Arc::clone(snapshot)));
        }
        let end = state.ended.clone();
        Self { started: state.snapshot.is_some(), items, changes: 0, lagged: None, end, waker: None }
    }

    fn push(&mut self, push: Push, capacity: usize) {
        match push {
            Push::End(end) => self.end = self.end.take().or(Some(end)),
            Push::Item(item) => self.push_item(item, capacity),
        }
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn push_item(&mut self, item: WatchItem, capacity: usize) {
        match &item {
            WatchItem::Status(_) => self.items.retain(|queued| !matches!(queued, WatchItem::Status(_))),
            WatchItem::Progress(_) => {
                // What is pending proves more than progress does, and the newest progress is enough.
                if self.lagged.is_some() || !self.items.is_empty() {
                    return;
                }
            }
            WatchItem::Snapshot(_) => self.started = true,
            WatchItem::Changes { changes, .. } | WatchItem::Resync { changes, .. } => {
                if let Some(net) = &mut self.lagged {
                    return accumulate(net, changes);
                }
                self.changes += changes.len().max(1);
                if self.changes > capacity && !self.items.is_empty() {
                    return self.collapse(&item);
                }
            }
        }
        self.items.push_back(item);
    }

    /// Turns everything pending and `last` into what they come to.
    fn collapse(&mut self, last: &WatchItem) {
        let mut net = BTreeMap::new();
        let mut snapshot_pending = false;
        for item in self.items.iter().chain([last]) {
            match item {
                WatchItem::Changes { changes, .. } | WatchItem::Resync { changes, .. } => {
                    accumulate(&mut net, changes);
                }
                WatchItem::Snapshot(_) => snapshot_pending = true,
                WatchItem::Status(_) | WatchItem::Progress(_) => {}
            }
        }
        self.items.retain(|item| matches!(item, WatchItem::Status(_)));
        self.changes = 0;
        // Where not even the first snapshot was taken, a newer one says it all.
        self.started = !snapshot_pending;
        self.lagged = Some(net);
    }

    fn pop(&mut self, current: Option<&Arc<Snapshot>>) -> Option<WatchItem> {
        if let Some(item) = self.items.pop_front() {
            if let WatchItem::Changes { changes, .. } | WatchItem::Resync { changes, .. } = &item {
                self.changes = self.changes.saturating_sub(changes.len().max(1));
            }
            return Some(item);
        }
        let snapshot = Arc::clone(current?);
        let net = self.lagged.take()?;
        if !std::mem::replace(&mut self.started, true) {
            return Some(WatchItem::Snapshot(snapshot));
        }
        let changes = net.into_values().filter_map(Net::into_change).collect();
        Some(WatchItem::Resync { reason: ResyncReason::Lagged, changes, snapshot })
    }
}

fn accumulate(net: &mut BTreeMap<InstanceId, Net>, changes: &[Change]) {
    for change in changes {
        let (before, after, reason) = match change {
            Change::Added(after) => (None, Some(after), RemoveReason::Unknown),
            Change::Updated { before, after } => (Some(before), Some(after), RemoveReason::Unknown),
            Change::Removed { instance, reason } => (Some(instance), None, *reason),
        };
        let entry = net.entry(change.id().clone()).or_insert_with(|| Net {
            before: before.cloned(),
            after: None,
            reason,
        });
        entry.after = after.cloned();
        entry.reason = reason;
        // Bounds the collapse by the instances before and now: who came and went in between is forgotten.
        if entry.before.is_none() && entry.after.is_none() {
            net.remove(change.id());
        }
    }
}

impl Net {
    fn into_change(self) -> Option<Change> {
        match (self.before, self.after) {
            (None, None) => None,
            (None, Some(after)) => Some(Change::Added(after)),
            (Some(instance), None) => Some(Change::Removed { instance, reason: self.reason }),
            (Some(before), Some(after)) => (before != after).then_some(Change::Updated { before, after }),
        }
    }
}

struct Watcher {
    view: Arc<View>,
    id: u64,
    _guard: Box<dyn Send>,
}

impl Stream for Watcher {
    type Item = Result<WatchItem>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut queues = self.view.lock();
        let Some(queue) = queues.by_id.get_mut(&self.id) else { return Poll::Ready(None) };
        let state = self.view.cell.load();
        if let Some(item) = queue.pop(state.snapshot.as_ref()) {
            return Poll::Ready(Some(Ok(item)));
        }
        if let Some(end) = queue.end.replace(WatchEnd::Closed) {
            return Poll::Ready(end.into_item());
        }
        queue.end = None;
        queue.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.view.lock().by_id.remove(&self.id);
    }
}

#[cfg(test)]
mod tests;
