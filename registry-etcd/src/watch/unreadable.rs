//! Which keys of a service could not be read: the audit, which reads no values, leaves them out.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use registry_core::{Batch, RawEvent, RawState, ServiceName};

use crate::client::Kv;
use crate::keys::{ServiceKeys, shown};

/// Unreadable keys with the revision that wrote them, by service; only services that have some.
#[derive(Debug, Default)]
pub(super) struct Unreadable {
    services: Mutex<HashMap<ServiceName, HashMap<String, u64>>>,
}

impl Unreadable {
    /// What a list could not read.
    pub(super) fn listed(&self, service: &ServiceName, raw: &RawState, kvs: &[Kv]) {
        let bad: HashMap<String, u64> = if raw.rejected.is_empty() {
            HashMap::new()
        } else {
            let revisions: HashMap<_, _> = kvs.iter().map(|kv| (shown(&kv.key), kv.mod_revision)).collect();
            let of = |key: &String| Some((key.clone(), *revisions.get(key)?));
            raw.rejected.iter().filter_map(|rejected| of(&rejected.key)).collect()
        };
        let mut services = self.lock();
        if bad.is_empty() {
            services.remove(service);
        } else {
            services.insert(service.clone(), bad);
        }
    }

    /// The part of one service, for as long as it is followed.
    pub(super) fn of(self: &Arc<Self>, service: &ServiceName, keys: ServiceKeys) -> Followed {
        Followed { all: Arc::clone(self), service: service.clone(), keys }
    }

    /// Whether `kv` is what could not be read.
    pub(super) fn has(&self, service: &ServiceName, kv: &Kv) -> bool {
        self.lock().get(service).is_some_and(|keys| keys.get(&shown(&kv.key)) == Some(&kv.mod_revision))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ServiceName, HashMap<String, u64>>> {
        self.services.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One followed service.
pub(super) struct Followed {
    all: Arc<Unreadable>,
    service: ServiceName,
    keys: ServiceKeys,
}

impl Followed {
    /// What a batch could not read, and what can be read again or is gone.
    pub(super) fn followed(&self, batch: &Batch) {
        for event in &batch.events {
            match event {
                RawEvent::Rejected(rejected) => {
                    let mut services = self.all.lock();
                    let keys = services.entry(self.service.clone()).or_default();
                    keys.insert(rejected.key.clone(), batch.revision.number());
                }
                RawEvent::Cleared { key } => self.forget(|| key.clone()),
                RawEvent::Put(record) => self.forget(|| shown(&self.keys.record(&record.slot()))),
                RawEvent::Gone { slot, .. } => self.forget(|| shown(&self.keys.record(slot))),
                RawEvent::Override(..) => {}
            }
        }
    }

    fn forget(&self, key: impl FnOnce() -> String) {
        let mut services = self.all.lock();
        if let Some(keys) = services.get_mut(&self.service) {
            keys.remove(&key());
            if keys.is_empty() {
                services.remove(&self.service);
            }
        }
    }
}
