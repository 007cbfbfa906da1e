//! One service's merged state and its watchers: what memory feeds under its lock, and Recover from a source.

use std::sync::Arc;

use tokio::time::Instant;

use crate::item::{Change, ResyncReason, WatchItem, WatchStatus, apply, diff};
use crate::merge::Merged;
use crate::name::{ServiceName, Version};
use crate::revision::Revision;
use crate::snapshot::Snapshot;
use crate::source::{Batch, RawState};
use crate::stream::{WatchEnd, WatchState, WatchStream};
use crate::view::{Push, View};

/// The merged state of one service, its views, and the queues of their watchers.
///
/// Every method takes the state one step further and tells the watchers; none of them waits for anybody. A slow
/// watcher's queue is bounded and collapses into one resync (W8).
#[derive(Debug)]
pub struct Feed {
    service: ServiceName,
    capacity: usize,
    merged: Option<Merged>,
    status: WatchStatus,
    /// When the backend was last heard; none for an embedded one, which is always current.
    proven: Option<Instant>,
    embedded: bool,
    ended: Option<WatchEnd>,
    views: Vec<Arc<View>>,
}

impl Feed {
    /// A feed that knows nothing yet; watchers' queues hold `capacity` changes.
    pub fn new(service: ServiceName, capacity: usize) -> Self {
        Self {
            service,
            capacity,
            merged: None,
            status: WatchStatus::Connecting,
            proven: None,
            embedded: false,
            ended: None,
            views: Vec::new(),
        }
    }

    /// A feed of an embedded backend: empty at `revision`, always current.
    pub fn embedded(service: ServiceName, capacity: usize, revision: Revision) -> Self {
        let merged = Merged::from_list(service.clone(), RawState::empty(revision));
        let unknown = Self::new(service, capacity);
        Self { merged: Some(merged), status: WatchStatus::Connected, embedded: true, ..unknown }
    }

    /// The merged state, once there is one.
    pub fn merged(&self) -> Option<&Merged> {
        self.merged.as_ref()
    }

    /// Whether its watches have ended: a newcomer needs another feed.
    pub fn is_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Whether anybody watches.
    pub fn is_watched(&mut self) -> bool {
        self.views.retain(|view| !view.is_unused());
        !self.views.is_empty()
    }

    /// Begins, or begins anew, from a list: a snapshot the first time, later one resync for `reason`, whose changes
    /// are what differs from what was delivered (W5).
    pub fn list(&mut self, raw: RawState, reason: ResyncReason, now: Instant) {
        self.heard(now);
        if self.status == WatchStatus::Connecting {
            self.status = WatchStatus::Connected;
        }
        let merged = self.merged.insert(Merged::from_list(self.service.clone(), raw));
        let merged = &*merged;
        let next = |view: &View, before: Option<&Arc<Snapshot>>| {
            let snapshot = Arc::new(merged.snapshot(view.version()));
            let item = match before {
                None => WatchItem::Snapshot(Arc::clone(&snapshot)),
                Some(before) => {
                    let changes = diff(before, &snapshot).into();
                    WatchItem::Resync { reason, changes, snapshot: Arc::clone(&snapshot) }
                }
            };
            (Some(snapshot), Some(item))
        };
        publish(&mut self.views, &self.status, self.proven, self.capacity, next);
    }

    /// Makes the changes of one revision. What is not after the present one changes nothing (W6).
    ///
    /// Gives the changes as a watcher of all versions sees them.
    pub fn batch(&mut self, batch: Batch, now: Instant) -> Vec<Change> {
        self.heard(now);
        let revision = batch.revision;
        let Some(merged) = self.merged.as_mut().filter(|merged| revision.is_after(merged.revision())) else {
            return Vec::new();
        };
        let changes = merged.apply(batch);
        let merged = &*merged;
        let rejected = merged.rejected();
        let next = |view: &View, before: Option<&Arc<Snapshot>>| {
            let Some(before) = before else { return (None, None) };
            let seen = view.filter(&changes);
            let after = if seen.is_empty() {
                Ok(Snapshot { revision, ..before.as_ref().clone() })
            } else {
                apply(before, revision, &seen)
            };
            debug_assert!(after.is_ok(), "a view's changes fit the view: {after:?}");
            let mut after = after.unwrap_or_else(|_| merged.snapshot(view.version()));
            after.rejected = Arc::clone(&rejected);
            let item = (!seen.is_empty()).then(|| WatchItem::Changes { revision, changes: seen.into() });
            (Some(Arc::new(after)), item)
        };
        publish(&mut self.views, &self.status, self.proven, self.capacity, next);
        changes
    }

    /// The backend proved that everything up to `revision` was delivered.
    pub fn progress(&mut self, revision: Revision, now: Instant) {
        self.heard(now);
        if let Some(merged) = &mut self.merged {
            merged.advance(revision);
        }
        let next = |_: &View, before: Option<&Arc<Snapshot>>| match before {
            Some(before) if revision.is_after(before.revision) => {
                let after = Snapshot { revision, ..before.as_ref().clone() };
                (Some(Arc::new(after)), Some(WatchItem::Progress(revision)))
            }
            _ => (None, None),
        };
        publish(&mut self.views, &self.status, self.proven, self.capacity, next);
    }

    /// The link to the backend is lost; `cause` is for people (W4). `since` stays what it was the first time.
    pub fn disconnected(&mut self, now: Instant, cause: &str) {
        if !matches!(self.status, WatchStatus::Disconnected { .. }) {
            self.turn(WatchStatus::Disconnected { since: now, cause: cause.into() }, true);
        }
    }

    /// The link is there and has caught up (W4). Told only where its loss was.
    pub fn connected(&mut self, now: Instant) {
        self.heard(now);
        match self.status {
            WatchStatus::Connected => {}
            WatchStatus::Connecting => self.turn(WatchStatus::Connected, false),
            WatchStatus::Disconnected { .. } => self.turn(WatchStatus::Connected, true),
        }
    }

    /// Ends every watch, once what is queued was read; the first end counts. From `now` on nothing is heard.
    pub fn end(&mut self, end: WatchEnd, now: Instant) {
        let end = self.ended.get_or_insert(end).clone();
        if self.status.is_connected() {
            self.status = over(now);
        }
        for view in std::mem::take(&mut self.views) {
            self.end_view(&view, &end, now);
        }
    }

    /// Ends the watches of one of the handles that share this feed.
    pub fn end_of(&mut self, handle: u64, end: &WatchEnd, now: Instant) {
        let of_handle = |view: &mut Arc<View>| view.handle() == handle;
        let ended: Vec<_> = self.views.extract_if(.., of_handle).collect();
        for view in ended {
            self.end_view(&view, end, now);
        }
    }

    fn end_view(&self, view: &View, end: &WatchEnd, now: Instant) {
        let before = view.state();
        let status = if before.status.is_connected() { over(now) } else { before.status };
        let state = WatchState { status, ended: Some(end.clone()), ..before };
        view.publish(state, Some(Push::End(end.clone())), self.capacity);
    }

    /// A watcher of one version, or of all, which begins with what is known now. `guard` is dropped with it.
    pub fn subscribe(&mut self, version: Option<&Version>, guard: Box<dyn Send>) -> WatchStream {
        self.subscribe_of(0, version, guard)
    }

    /// The same for one of several handles that share this feed and end apart; numbers are the caller's.
    pub fn subscribe_of(
        &mut self,
        handle: u64,
        version: Option<&Version>,
        guard: Box<dyn Send>,
    ) -> WatchStream {
        let same = |view: &Arc<View>| view.handle() == handle && view.version() == version;
        self.views.retain(|view| same(view) || !view.is_unused());
        if let Some(view) = self.views.iter().find(|view| same(view)) {
            return view.subscribe(guard);
        }
        let snapshot = self.merged.as_ref().map(|merged| Arc::new(merged.snapshot(version)));
        let ended = self.ended.clone();
        let state = WatchState { snapshot, status: self.status.clone(), proven: self.proven, ended };
        let view = Arc::new(View::new(handle, version.cloned(), state));
        let stream = view.subscribe(guard);
        self.views.push(view);
        stream
    }

    fn heard(&mut self, now: Instant) {
        if !self.embedded {
            self.proven = Some(now);
        }
    }

    fn turn(&mut self, status: WatchStatus, told: bool) {
        self.status = status;
        let item = told.then(|| WatchItem::Status(self.status.clone()));
        publish(&mut self.views, &self.status, self.proven, self.capacity, |_, _| (None, item.clone()));
    }
}

/// How a watch stands that has ended.
fn over(since: Instant) -> WatchStatus {
    WatchStatus::Disconnected { since, cause: "the watch has ended".into() }
}

/// Gives every view its next snapshot (or leaves it) and its watchers an item.
fn publish(
    views: &mut Vec<Arc<View>>,
    status: &WatchStatus,
    proven: Option<Instant>,
    capacity: usize,
    next: impl Fn(&View, Option<&Arc<Snapshot>>) -> (Option<Arc<Snapshot>>, Option<WatchItem>),
) {
    views.retain(|view| !view.is_unused());
    for view in views {
        let before = view.state();
        let (snapshot, item) = next(view, before.snapshot.as_ref());
        let snapshot = snapshot.or(before.snapshot);
        let state = WatchState { snapshot, status: status.clone(), proven, ended: before.ended };
        view.publish(state, item.map(Push::Item), capacity);
    }
}

#[cfg(test)]
mod tests;
