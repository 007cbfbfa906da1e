//! One service: its instances, its overrides, its watchers, its shared snapshot.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwapOption;
use registry_core::{
    Batch, Error, ErrorKind, Feed, Generation, InstanceId, InstanceSpec, LeaseRef, Merged, Needed, Override,
    OwnerToken, RawEvent, Record, Registration, RemoveReason, Result, Revision, ServiceName, ServicesBatch,
    Slot, Snapshot, StoredOverride, Ttl, Version, WatchEnd, WatchStream,
};
use tokio::time::Instant;

use crate::lease::{Lease, Nanos, after};
use crate::store::Space;

/// One service of one namespace. A change takes its number and is published while the entry is locked.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) service: ServiceName,
    state: Mutex<State>,
    /// What `discover` hands out; nothing after a change, until somebody asks.
    shared: ArcSwapOption<Snapshot>,
    /// No deadline lies before this one; later ones may have moved since.
    earliest: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct State {
    feed: Feed,
    leases: HashMap<InstanceId, Arc<Lease>>,
    /// When overrides with a life of their own end.
    lives: BTreeMap<InstanceId, Nanos>,
    versions: HashMap<Version, Arc<Snapshot>>,
}

impl Entry {
    pub(crate) fn new(service: ServiceName, queue: usize, revision: Revision) -> Self {
        let state = State {
            feed: Feed::embedded(service.clone(), queue, revision),
            leases: HashMap::new(),
            lives: BTreeMap::new(),
            versions: HashMap::new(),
        };
        Self {
            service,
            state: Mutex::new(state),
            shared: ArcSwapOption::empty(),
            earliest: AtomicU64::new(Nanos::MAX),
        }
    }

    pub(crate) fn earliest(&self) -> Nanos {
        self.earliest.load(Ordering::Acquire)
    }

    /// The entry locked, everything past its deadline evicted first: nobody meets the dead.
    pub(crate) fn lock<'a>(self: &'a Arc<Self>, space: &'a Space, now: Nanos) -> Locked<'a> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut locked = Locked { entry: self, space, state, now };
        if self.earliest() <= now {
            locked.evict();
        }
        locked
    }

    /// The shared snapshot, if it is current and everybody in it lives.
    pub(crate) fn shared(&self, now: Nanos) -> Option<Arc<Snapshot>> {
        if self.earliest() <= now { None } else { self.shared.load_full() }
    }
}

/// An entry under its lock.
pub(crate) struct Locked<'a> {
    entry: &'a Arc<Entry>,
    space: &'a Space,
    state: MutexGuard<'a, State>,
    now: Nanos,
}

impl Locked<'_> {
    pub(crate) fn register(
        &mut self,
        registration: Registration,
        ttl: Ttl,
    ) -> Result<(Arc<Lease>, Revision)> {
        let held = self.state.leases.get(&registration.id);
        if let Some(held) = held
            && held.owner != registration.owner
            && !registration.takeover.allows(held.generation)
        {
            let generation = held.generation;
            let why =
                format!("{}/{} is alive and held by another owner", self.entry.service, registration.id);
            return Err(Error::new(ErrorKind::AlreadyExists { generation }, why));
        }
        let generation = self.space.next_generation();
        let lease = Arc::new(Lease::new(generation, registration.owner, ttl.get(), self.space.id, self.now));
        if let Some(fenced) = self.state.leases.insert(registration.id.clone(), Arc::clone(&lease)) {
            fenced.end();
        }
        self.file(lease.deadline());
        let revision = self.write(registration.id, generation, registration.instance);
        Ok((lease, revision))
    }

    /// Replaces the body of the lease's instance; what is equal changes nothing.
    pub(crate) fn update(&mut self, lease: &LeaseRef, instance: InstanceSpec) -> Result<Revision> {
        self.held_by(lease)?;
        let same = self.merged_instance(lease.id()).is_some_and(|own| **own == instance);
        if same {
            return Ok(self.revision());
        }
        Ok(self.write(lease.id().clone(), lease.generation(), instance))
    }

    pub(crate) fn deregister(&mut self, lease: &LeaseRef) -> Option<Revision> {
        self.held_by(lease).ok()?;
        let lease_held = self.state.leases.remove(lease.id())?;
        lease_held.end();
        Some(self.remove(vec![(lease.id().clone(), RemoveReason::Deregistered)]))
    }

    /// The lease in force, or why `lease` is not it: `Fenced` by another, or `NotRegistered`.
    pub(crate) fn held_by(&self, lease: &LeaseRef) -> Result<&Arc<Lease>> {
        match self.state.leases.get(lease.id()) {
            Some(held) if held.generation == lease.generation() => Ok(held),
            Some(held) => {
                let why = format!(
                    "{}/{} is held by generation {}",
                    self.entry.service,
                    lease.id(),
                    held.generation
                );
                Err(Error::new(ErrorKind::Fenced, why))
            }
            None => Err(not_registered(&self.entry.service, lease.id())),
        }
    }

    pub(crate) fn holder(&self, id: &InstanceId) -> Option<Arc<Lease>> {
        self.state.leases.get(id).cloned()
    }

    pub(crate) fn set_override(&mut self, id: &InstanceId, value: Option<Override>) -> Revision {
        let stored = self.state.feed.merged().and_then(|merged| merged.stored_override(id));
        if value.is_none() && stored.is_none() {
            return self.revision();
        }
        self.state.lives.remove(id);
        if let Some(life) = value.as_ref().and_then(|value| value.life) {
            let ends = after(self.now, life);
            self.state.lives.insert(id.clone(), ends);
            self.file(ends);
        }
        let revision = self.space.next_revision();
        let stored = value.map(|value| StoredOverride { value: Arc::new(value), revision });
        self.publish(Batch { revision, events: vec![RawEvent::Override(id.clone(), stored)] });
        revision
    }

    /// The shared snapshot of all versions or of one, made if it is not there.
    pub(crate) fn snapshot(&mut self, version: Option<&Version>) -> Option<Arc<Snapshot>> {
        let known = match version {
            None => self.entry.shared.load_full(),
            Some(version) => self.state.versions.get(version).cloned(),
        };
        if known.is_some() {
            return known;
        }
        let made = Arc::new(self.state.feed.merged()?.snapshot(version));
        match version {
            None => self.entry.shared.store(Some(Arc::clone(&made))),
            Some(version) => {
                self.state.versions.insert(version.clone(), Arc::clone(&made));
            }
        }
        Some(made)
    }

    /// A watch of the handle with this number, which needs the timer as long as it is there.
    pub(crate) fn watch(&mut self, handle: u64, version: Option<&Version>, timer: Needed) -> WatchStream {
        self.state.feed.subscribe_of(handle, version, Box::new(timer))
    }

    /// Ends the watches of the handle with this number.
    pub(crate) fn end_watches(&mut self, handle: u64) {
        self.state.feed.end_of(handle, &WatchEnd::Closed, Instant::now());
    }

    /// Whether nothing would be lost with the entry.
    pub(crate) fn is_idle(&mut self) -> bool {
        let no_overrides = self.state.feed.merged().is_none_or(Merged::has_no_overrides);
        self.state.leases.is_empty() && no_overrides && !self.state.feed.is_watched()
    }

    fn revision(&self) -> Revision {
        self.state.feed.merged().map_or_else(|| self.space.revision(), Merged::revision)
    }

    fn merged_instance(&self, id: &InstanceId) -> Option<&Arc<InstanceSpec>> {
        self.state.feed.merged()?.living().get(id).map(|instance| &instance.own)
    }

    /// Puts a record; a body of another version moves it, in the same revision.
    fn write(&mut self, id: InstanceId, generation: Generation, instance: InstanceSpec) -> Revision {
        let old = self.merged_instance(&id).map(|own| own.version.clone());
        let mut events = Vec::new();
        let fresh = old.is_none();
        if let Some(version) = old
            && version != instance.version
        {
            events
                .push(RawEvent::Gone { slot: Slot::new(id.clone(), version), reason: RemoveReason::Expired });
        }
        let names = fresh.then(|| self.space.names());
        let revision = self.space.next_revision();
        let instance = Arc::new(instance);
        let put = Record { id: id.clone(), generation, revision, instance, corrected: None };
        events.push(RawEvent::Put(put));
        self.publish(Batch { revision, events });
        if let Some(mut names) = names {
            names.batch(ServicesBatch { revision, events: vec![(self.entry.service.clone(), id, true)] });
        }
        revision
    }

    /// Removes instances whose leases are gone already.
    fn remove(&mut self, gone: Vec<(InstanceId, RemoveReason)>) -> Revision {
        let mut events = Vec::with_capacity(gone.len());
        let mut left = Vec::with_capacity(gone.len());
        for (id, reason) in gone {
            let version = self.merged_instance(&id).and_then(|own| own.version.clone());
            left.push((self.entry.service.clone(), id.clone(), false));
            events.push(RawEvent::Gone { slot: Slot::new(id, version), reason });
        }
        // The number is taken under the lock of the names, so that they hear numbers that rise.
        let mut names = self.space.names();
        let revision = self.space.next_revision();
        self.publish(Batch { revision, events });
        names.batch(ServicesBatch { revision, events: left });
        revision
    }

    /// Removes whatever is past its deadline, and finds the next deadline.
    fn evict(&mut self) {
        let now = self.now;
        let mut expired: Vec<InstanceId> = Vec::new();
        let mut earliest = Nanos::MAX;
        self.state.leases.retain(|id, lease| {
            let due = lease.end_if_due(now);
            if due {
                expired.push(id.clone());
            } else {
                earliest = earliest.min(lease.deadline());
            }
            !due
        });
        let ended: Vec<_> =
            self.state.lives.iter().filter(|(_, ends)| **ends <= now).map(|(id, _)| id.clone()).collect();
        for id in &ended {
            self.state.lives.remove(id);
        }
        earliest = self.state.lives.values().copied().fold(earliest, Nanos::min);
        self.entry.earliest.store(earliest, Ordering::Release);
        self.space.file(self.entry, earliest);
        if !expired.is_empty() {
            for id in &expired {
                tracing::info!(service = %self.entry.service, %id, "expired");
            }
            expired.sort();
            self.remove(expired.into_iter().map(|id| (id, RemoveReason::Expired)).collect());
        }
        if !ended.is_empty() {
            let revision = self.space.next_revision();
            let events = ended.into_iter().map(|id| RawEvent::Override(id, None)).collect();
            self.publish(Batch { revision, events });
        }
    }

    fn publish(&mut self, batch: Batch) {
        // Before the watchers hear of it: who reads after an event must not meet the list before it (Q7).
        self.entry.shared.store(None);
        self.state.versions.clear();
        self.state.feed.batch(batch, Instant::now());
    }

    /// Makes sure that somebody looks at `deadline`.
    fn file(&self, deadline: Nanos) {
        if self.entry.earliest.fetch_min(deadline, Ordering::AcqRel) > deadline {
            self.space.file(self.entry, deadline);
        }
    }
}

pub(crate) fn not_registered(service: &ServiceName, id: &InstanceId) -> Error {
    Error::not_registered(format!("{service}/{id} is not registered"))
}

pub(crate) fn lease_ref(entry: &Entry, id: &InstanceId, lease: &Arc<Lease>) -> LeaseRef {
    let owner: OwnerToken = lease.owner;
    LeaseRef::with_handle(entry.service.clone(), id.clone(), lease.generation, owner, lease.clone())
}
