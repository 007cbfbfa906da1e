//! What all handles of one memory registry share: the counter, the namespaces, the deadlines.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use dashmap::DashMap;
use registry_core::{Generation, Lineage, NamesFeed, Namespace, Revision, ServiceName};
use tokio::sync::Notify;
use tokio::time::Instant;
use uuid::Uuid;

use crate::config::MemoryConfig;
use crate::entry::Entry;
use crate::lease::Nanos;
use crate::timer::Timer;

/// One memory registry.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) config: MemoryConfig,
    pub(crate) timer: Timer,
    spaces: DashMap<Namespace, Arc<Space>>,
    core: Arc<Core>,
    open_handles: AtomicUsize,
    /// Numbers handles.
    handles: AtomicU64,
}

/// What the namespaces share.
#[derive(Debug)]
struct Core {
    lineage: Lineage,
    /// The zero of the store's clock.
    began: Instant,
    /// Numbers all changes of the registry.
    revision: AtomicU64,
    generation: AtomicU64,
    due: Mutex<BinaryHeap<Reverse<Due>>>,
    /// Tells the timer that an earlier deadline was filed.
    earlier: Notify,
}

/// When to look at an entry. It may have moved by then: looking is cheap, and files again.
struct Due {
    at: Nanos,
    space: Weak<Space>,
    entry: Weak<Entry>,
}

/// One namespace.
#[derive(Debug)]
pub(crate) struct Space {
    /// Tells it from every other namespace of every registry.
    pub(crate) id: u64,
    pub(crate) services: DashMap<ServiceName, Arc<Entry>>,
    names: Mutex<NamesFeed>,
    core: Arc<Core>,
    myself: Weak<Space>,
}

impl Store {
    pub(crate) fn new(config: MemoryConfig) -> Arc<Self> {
        let core = Core {
            lineage: Lineage::new(random()),
            began: Instant::now(),
            revision: AtomicU64::new(0),
            generation: AtomicU64::new(0),
            due: Mutex::default(),
            earlier: Notify::new(),
        };
        Arc::new_cyclic(|store| Self {
            config,
            timer: Timer::new(store.clone()),
            spaces: DashMap::new(),
            core: Arc::new(core),
            open_handles: AtomicUsize::new(0),
            handles: AtomicU64::new(0),
        })
    }

    pub(crate) fn space(&self, namespace: &Namespace) -> Arc<Space> {
        let space = self.spaces.entry(namespace.clone()).or_insert_with(|| {
            Arc::new_cyclic(|myself| Space {
                id: random(),
                services: DashMap::new(),
                names: Mutex::new(NamesFeed::embedded(self.core.now_revision())),
                core: Arc::clone(&self.core),
                myself: myself.clone(),
            })
        });
        Arc::clone(&space)
    }

    /// Counts one more handle, and gives it a number.
    pub(crate) fn opened(&self) -> u64 {
        self.open_handles.fetch_add(1, Ordering::AcqRel);
        self.handles.fetch_add(1, Ordering::Relaxed)
    }

    /// Whether that was the last handle.
    pub(crate) fn closed(&self) -> bool {
        self.open_handles.fetch_sub(1, Ordering::AcqRel) == 1
    }

    pub(crate) fn now(&self) -> Nanos {
        self.core.nanos(Instant::now())
    }

    /// Evicts what is due, and tells when to look next.
    pub(crate) fn expire(&self) -> Option<Instant> {
        loop {
            let now = self.now();
            let (space, entry) = {
                let mut due = self.core.due();
                match due.peek() {
                    None => return None,
                    Some(Reverse(next)) if next.at > now => return Some(self.core.instant(next.at)),
                    Some(_) => {}
                }
                let Reverse(next) = due.pop()?;
                (next.space.upgrade(), next.entry.upgrade())
            };
            if let (Some(space), Some(entry)) = (space, entry) {
                drop(entry.lock(&space, now));
            }
        }
    }

    /// The backstop behind the timer: looks at everything, and forgets services that nobody needs.
    pub(crate) fn sweep(&self) {
        // What waits for the deadline of a service that was forgotten.
        self.core.due().retain(|Reverse(due)| due.entry.strong_count() > 0);
        let spaces: Vec<_> = self.spaces.iter().map(|space| Arc::clone(&space)).collect();
        for space in spaces {
            let now = self.now();
            let entries: Vec<_> = space.services.iter().map(|entry| Arc::clone(&entry)).collect();
            for entry in entries {
                if !entry.lock(&space, now).is_idle() {
                    continue;
                }
                let service = entry.service.clone();
                drop(entry);
                // Whoever uses an entry holds it: alone under the map's lock means that nobody does.
                space.services.remove_if(&service, |_, entry| {
                    Arc::strong_count(entry) == 1 && entry.lock(&space, now).is_idle()
                });
            }
        }
    }

    /// How many deadlines are filed.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.core.due().len()
    }

    /// Waits until an earlier deadline is filed.
    pub(crate) fn earlier(&self) -> impl Future<Output = ()> + Send + 'static {
        let core = Arc::clone(&self.core);
        async move { core.earlier.notified().await }
    }
}

impl Space {
    /// The entry of `service`, if there is one; else the present revision, read while none can come.
    pub(crate) fn find(&self, service: &ServiceName) -> Result<Arc<Entry>, Revision> {
        if let Some(entry) = self.services.get(service) {
            return Ok(Arc::clone(&entry));
        }
        match self.services.entry(service.clone()) {
            dashmap::Entry::Occupied(entry) => Ok(Arc::clone(entry.get())),
            dashmap::Entry::Vacant(_) => Err(self.revision()),
        }
    }

    /// The entry of `service`, made if there is none.
    pub(crate) fn entry(&self, service: &ServiceName, queue: usize) -> Arc<Entry> {
        if let Some(entry) = self.services.get(service) {
            return Arc::clone(&entry);
        }
        let new = || Arc::new(Entry::new(service.clone(), queue, self.revision()));
        Arc::clone(&self.services.entry(service.clone()).or_insert_with(new))
    }

    /// The names, locked.
    pub(crate) fn names(&self) -> MutexGuard<'_, NamesFeed> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn revision(&self) -> Revision {
        self.core.now_revision()
    }

    pub(crate) fn next_revision(&self) -> Revision {
        Revision::new(self.core.lineage, self.core.revision.fetch_add(1, Ordering::AcqRel) + 1)
    }

    pub(crate) fn next_generation(&self) -> Generation {
        Generation::new(self.core.generation.fetch_add(1, Ordering::AcqRel) + 1)
    }

    /// Has `entry` looked at when `at` comes.
    pub(crate) fn file(&self, entry: &Arc<Entry>, at: Nanos) {
        if at == Nanos::MAX {
            return;
        }
        let mut due = self.core.due();
        let earliest = due.peek().is_none_or(|Reverse(next)| at < next.at);
        due.push(Reverse(Due { at, space: self.myself.clone(), entry: Arc::downgrade(entry) }));
        drop(due);
        if earliest {
            self.core.earlier.notify_one();
        }
    }
}

impl Core {
    fn due(&self) -> MutexGuard<'_, BinaryHeap<Reverse<Due>>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_revision(&self) -> Revision {
        Revision::new(self.lineage, self.revision.load(Ordering::Acquire))
    }

    fn nanos(&self, at: Instant) -> Nanos {
        u64::try_from(at.saturating_duration_since(self.began).as_nanos()).unwrap_or(Nanos::MAX)
    }

    fn instant(&self, at: Nanos) -> Instant {
        self.began + std::time::Duration::from_nanos(at)
    }
}

/// A number to tell registries and namespaces apart by.
fn random() -> u64 {
    Uuid::new_v4().as_u64_pair().0
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.at == other.at
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.cmp(&other.at)
    }
}

impl fmt::Debug for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Due").field("at", &self.at).finish_non_exhaustive()
    }
}
