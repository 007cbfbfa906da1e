//! Raw state + batch -> changes: what a backend stores, turned into what a watcher sees. Pure.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::instance::Instance;
use crate::item::{Change, RemoveReason};
use crate::name::{InstanceId, ServiceName, Version};
use crate::revision::Revision;
use crate::snapshot::{Rejected, Slot, Snapshot};
use crate::source::{Batch, Digest, DigestKey, RawEvent, RawState, Record, StoredOverride};

/// The merged state of one service: records and overrides as stored, instances as seen.
///
/// Records are known by (version, id). Of two records of one id the one with the higher revision counts, the other is
/// listed as rejected. Overrides of absent ids are kept until they matter.
#[derive(Debug, Clone)]
pub struct Merged {
    service: ServiceName,
    revision: Revision,
    records: BTreeMap<Slot, Record>,
    overrides: BTreeMap<InstanceId, StoredOverride>,
    living: BTreeMap<InstanceId, Arc<Instance>>,
    /// Unreadable records whose key tells whose they would be, and readable ones that were corrected.
    rejected_slots: BTreeMap<Slot, Rejected>,
    /// Everything else that does not belong here.
    rejected_keys: BTreeMap<String, Rejected>,
}

impl Merged {
    /// The merged state of what a list gave.
    pub fn from_list(service: ServiceName, raw: RawState) -> Self {
        let mut merged = Self {
            service,
            revision: raw.revision,
            records: BTreeMap::new(),
            overrides: raw.overrides,
            living: BTreeMap::new(),
            rejected_slots: BTreeMap::new(),
            rejected_keys: BTreeMap::new(),
        };
        for record in raw.records {
            merged.put(record);
        }
        for rejected in raw.rejected {
            merged.reject(rejected);
        }
        let mut living = BTreeMap::new();
        for slot in merged.records.keys() {
            if let Some(instance) = merged.visible(&slot.id) {
                living.entry(slot.id.clone()).or_insert_with(|| Arc::new(instance));
            }
        }
        merged.living = living;
        merged
    }

    /// The revision of the last list or batch.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// Everything up to `revision` is known: moves the position, never back.
    pub fn advance(&mut self, revision: Revision) {
        if revision.is_after(self.revision) {
            self.revision = revision;
        }
    }

    /// The living instances, by id.
    pub fn living(&self) -> &BTreeMap<InstanceId, Arc<Instance>> {
        &self.living
    }

    /// The override stored for `id`, living or not.
    pub fn stored_override(&self, id: &InstanceId) -> Option<&StoredOverride> {
        self.overrides.get(id)
    }

    /// Whether no override is stored, of anybody.
    pub fn has_no_overrides(&self) -> bool {
        self.overrides.is_empty()
    }

    /// Makes the changes of one revision, and tells what a watcher sees of them: netted by id, sorted by id, only what
    /// differs (W3, W15).
    ///
    /// A batch that is not after the present revision changes nothing (W6).
    pub fn apply(&mut self, batch: Batch) -> Vec<Change> {
        if !batch.revision.is_after(self.revision) {
            return Vec::new();
        }
        self.revision = batch.revision;
        let mut touched: BTreeMap<InstanceId, RemoveReason> = BTreeMap::new();
        for event in batch.events {
            match event {
                RawEvent::Put(record) => {
                    touched.entry(record.id.clone()).or_insert(RemoveReason::Expired);
                    self.put(record);
                }
                RawEvent::Gone { slot, reason } => {
                    touched.insert(slot.id.clone(), reason);
                    self.records.remove(&slot);
                    self.rejected_slots.remove(&slot);
                }
                RawEvent::Override(id, stored) => {
                    touched.entry(id.clone()).or_insert(RemoveReason::Expired);
                    match stored {
                        Some(stored) => self.overrides.insert(id, stored),
                        None => self.overrides.remove(&id),
                    };
                }
                RawEvent::Rejected(rejected) => {
                    if let Some(slot) = &rejected.slot {
                        touched.insert(slot.id.clone(), RemoveReason::Expired);
                    }
                    self.reject(rejected);
                }
                RawEvent::Cleared { key } => {
                    self.rejected_keys.remove(&key);
                }
            }
        }
        touched.into_iter().filter_map(|(id, reason)| self.refresh(&id, reason)).collect()
    }

    /// A snapshot of all instances, or of one version.
    pub fn snapshot(&self, version: Option<&Version>) -> Snapshot {
        let wanted = |instance: &&Arc<Instance>| version.is_none() || instance.version() == version;
        let instances = self.living.values().filter(wanted).cloned().collect();
        Snapshot::new(self.service.clone(), version.cloned(), self.revision, instances, self.rejected())
    }

    /// What is not served, or served with a correction (Q5).
    pub fn rejected(&self) -> Arc<[Rejected]> {
        let several = self.records.len() > self.living.len();
        let shadowed = self.records.iter().filter(|(slot, record)| {
            several && self.living.get(&slot.id).is_some_and(|instance| instance.revision != record.revision)
        });
        let shadowed = shadowed.map(|(slot, _)| Rejected {
            key: slot.to_string(),
            slot: Some(slot.clone()),
            reason: "another record of the same id was written later".to_owned(),
            served: false,
        });
        let known = self.rejected_slots.values().chain(self.rejected_keys.values()).cloned();
        known.chain(shadowed).collect()
    }

    /// The keys it was made of, for the audit.
    pub fn digest(&self) -> Digest {
        let records =
            self.records.iter().map(|(slot, r)| (DigestKey::Record(slot.clone()), r.revision.number()));
        let overrides =
            self.overrides.iter().map(|(id, o)| (DigestKey::Override(id.clone()), o.revision.number()));
        Digest { revision: self.revision, keys: records.chain(overrides).collect() }
    }

    fn put(&mut self, record: Record) {
        let slot = record.slot();
        match &record.corrected {
            Some(rejected) => self.rejected_slots.insert(slot.clone(), rejected.clone()),
            None => self.rejected_slots.remove(&slot),
        };
        self.records.insert(slot, record);
    }

    fn reject(&mut self, rejected: Rejected) {
        match rejected.slot.clone() {
            Some(slot) => {
                self.records.remove(&slot);
                self.rejected_slots.insert(slot, rejected);
            }
            None => {
                self.rejected_keys.insert(rejected.key.clone(), rejected);
            }
        }
    }

    /// The instance that readers see under `id`.
    fn visible(&self, id: &InstanceId) -> Option<Instance> {
        let first = Slot::new(id.clone(), None);
        let record = self
            .records
            .range(&first..)
            .take_while(|(slot, _)| slot.id == *id)
            .map(|(_, record)| record)
            .max_by_key(|record| record.revision.number())?;
        let mut instance = Instance::new(
            self.service.clone(),
            id.clone(),
            record.generation,
            record.revision,
            Arc::clone(&record.instance),
        );
        instance.overridden = self.overrides.get(id).map(|stored| Arc::clone(&stored.value));
        Some(instance)
    }

    /// Brings what is seen under `id` up to date; the difference, if there is one.
    fn refresh(&mut self, id: &InstanceId, reason: RemoveReason) -> Option<Change> {
        let Some(after) = self.visible(id) else {
            let instance = self.living.remove(id)?;
            return Some(Change::Removed { instance, reason });
        };
        let after = Arc::new(after);
        match self.living.insert(id.clone(), Arc::clone(&after)) {
            None => Some(Change::Added(after)),
            Some(before) if before == after => None,
            Some(before) => Some(Change::Updated { before, after }),
        }
    }
}

#[cfg(test)]
mod tests;
