//! Who is called when a directory's list changes.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
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
    next: u64,
    /// What was told last: a newcomer begins here, so that nobody misses a change or hears one twice.
    told: Option<Arc<Snapshot>>,
    listening: Vec<(u64, Listen)>,
}

impl Listeners {
    pub(super) fn new(service: ServiceName) -> Self {
        Self { service, inner: Mutex::default() }
    }

    pub(super) fn add(listeners: &Arc<Self>, mut listen: Listen) -> Listener {
        let mut inner = lock(&listeners.inner);
        let id = inner.next;
        inner.next += 1;
        let whole = inner.told.as_ref().filter(|told| !told.is_empty()).map(|told| Update {
            changes: told.instances.iter().cloned().map(Change::Added).collect(),
            snapshot: Arc::clone(told),
        });
        if whole.is_none_or(|update| listeners.call(&mut listen, &update)) {
            inner.listening.push((id, listen));
        }
        Listener { id, listeners: Arc::downgrade(listeners) }
    }

    /// Tells everybody; nobody is called where nothing changed.
    pub(super) fn tell(&self, changes: Arc<[Change]>, snapshot: Arc<Snapshot>) {
        let mut inner = lock(&self.inner);
        inner.told = Some(Arc::clone(&snapshot));
        if changes.is_empty() {
            return;
        }
        let update = Update { changes, snapshot };
        inner.listening.retain_mut(|(_, listen)| self.call(listen, &update));
    }

    pub(super) fn told(&self) -> Option<Arc<Snapshot>> {
        lock(&self.inner).told.clone()
    }

    /// Calls one; false if it panicked, which is its own harm alone.
    fn call(&self, listen: &mut Listen, update: &Update) -> bool {
        let called = catch_unwind(AssertUnwindSafe(|| listen(update)));
        if called.is_err() {
            error!(service = %self.service, "a listener panicked and is not called again");
        }
        called.is_ok()
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listeners").field("service", &self.service).finish_non_exhaustive()
    }
}

/// Keeps a listener listening; dropped, it is not called any more.
#[derive(Debug)]
#[must_use = "dropped, it ends the listening"]
pub struct Listener {
    id: u64,
    listeners: Weak<Listeners>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(listeners) = self.listeners.upgrade() {
            lock(&listeners.inner).listening.retain(|(id, _)| *id != self.id);
        }
    }
}
