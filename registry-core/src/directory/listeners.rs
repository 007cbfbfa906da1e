//! Who is called when a directory's list changes.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Weak};

use tracing::error;

use crate::item::Change;
use crate::name::ServiceName;
use crate::snapshot::Snapshot;
use crate::sync::lock;

/// What a listener is called with.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Update {
    /// What changed, sorted by id; never empty.
    pub changes: Arc<[Change]>,
    /// What it led to.
    pub snapshot: Arc<Snapshot>,
}

type Listen = Box<dyn FnMut(&Update) + Send>;

pub(super) struct Listeners {
    service: ServiceName,
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    /// What was told last: a newcomer begins here, so that nobody misses a change or hears one twice.
    told: Option<Arc<Snapshot>>,
    listening: Vec<Arc<Entry>>,
}

/// One listener. Its own lock is taken while it is called, and no other: it may add and drop listeners.
struct Entry {
    alive: AtomicBool,
    listen: Mutex<Listen>,
}

impl Listeners {
    pub(super) fn new(service: ServiceName) -> Self {
        Self { service, inner: Mutex::default() }
    }

    pub(super) fn add(listeners: &Arc<Self>, listen: Listen) -> Listener {
        let entry = Arc::new(Entry { alive: AtomicBool::new(true), listen: Mutex::new(listen) });
        // Taken before anybody else can find the entry: what changes meanwhile waits for its turn.
        let mut listen = lock(&entry.listen);
        let told = {
            let mut inner = lock(&listeners.inner);
            inner.listening.push(Arc::clone(&entry));
            inner.told.clone()
        };
        if let Some(told) = told.filter(|told| !told.is_empty()) {
            let changes = told.instances.iter().cloned().map(Change::Added).collect();
            listeners.call(&entry, &mut listen, &Update { changes, snapshot: told });
        }
        drop(listen);
        Listener { entry, listeners: Arc::downgrade(listeners) }
    }

    /// Tells everybody; nobody is called where nothing changed.
    pub(super) fn tell(&self, changes: Arc<[Change]>, snapshot: Arc<Snapshot>) {
        let listening = {
            let mut inner = lock(&self.inner);
            inner.told = Some(Arc::clone(&snapshot));
            inner.listening.clone()
        };
        if changes.is_empty() {
            return;
        }
        let update = Update { changes, snapshot };
        for entry in listening {
            self.call(&entry, &mut lock(&entry.listen), &update);
        }
    }

    pub(super) fn told(&self) -> Option<Arc<Snapshot>> {
        lock(&self.inner).told.clone()
    }

    /// Calls one, if it still listens. One that panics is not called again: its own harm alone (C4).
    fn call(&self, entry: &Arc<Entry>, listen: &mut Listen, update: &Update) {
        if !entry.alive.load(Ordering::Acquire) {
            return;
        }
        if catch_unwind(AssertUnwindSafe(|| listen(update))).is_err() {
            error!(service = %self.service, "a listener panicked and is not called again");
            self.forget(entry);
        }
    }

    fn forget(&self, entry: &Arc<Entry>) {
        entry.alive.store(false, Ordering::Release);
        lock(&self.inner).listening.retain(|kept| !Arc::ptr_eq(kept, entry));
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listeners").field("service", &self.service).finish_non_exhaustive()
    }
}

/// Keeps a listener listening; dropped, it is not called any more (a call under way goes on to its end).
#[must_use = "dropped, it ends the listening"]
pub struct Listener {
    entry: Arc<Entry>,
    listeners: Weak<Listeners>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.entry.alive.store(false, Ordering::Release);
        if let Some(listeners) = self.listeners.upgrade() {
            listeners.forget(&self.entry);
        }
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Listener").finish()
    }
}
