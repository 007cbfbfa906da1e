//! Keys as they stand in etcd, turned into what core merges.

use std::collections::BTreeMap;
use std::sync::Arc;

use registry_core::{Lineage, RawState, Record, Rejected, Result, Revision, Slot, StoredOverride};

use super::{generation, setting};
use crate::client::Kv;
use crate::keys::{ServiceKey, ServiceKeys, shown};

/// Everything of a service from its keys. What cannot be read is listed as rejected and fails nothing (Q5).
pub(crate) fn raw_state(keys: &ServiceKeys, revision: Revision, kvs: &[Kv]) -> RawState {
    let mut raw = RawState {
        revision,
        records: Vec::with_capacity(kvs.len()),
        overrides: BTreeMap::new(),
        rejected: Vec::new(),
    };
    for kv in kvs {
        match keys.parse(&kv.key) {
            Ok(ServiceKey::Record(slot)) => match read_record(slot, kv, revision.lineage()) {
                Ok(record) => raw.records.push(record),
                Err(rejected) => raw.rejected.push(rejected),
            },
            Ok(ServiceKey::Override(id)) => match read_override(kv, revision.lineage()) {
                Ok(stored) => {
                    raw.overrides.insert(id, stored);
                }
                Err(rejected) => raw.rejected.push(rejected),
            },
            Ok(ServiceKey::Left(_)) => {}
            Err(bad) => raw.rejected.push(rejected(&kv.key, None, bad.to_string())),
        }
    }
    raw
}

/// The record that stands at `slot`. One without a lease would never die: it is rejected (R3).
pub(crate) fn read_record(slot: Slot, kv: &Kv, lineage: Lineage) -> Result<Record, Rejected> {
    let Some(lease) = kv.lease else {
        return Err(rejected(&kv.key, Some(slot), "it stands under no lease and would never expire"));
    };
    match registry_core::record::decode(&slot, &kv.value) {
        Ok(decoded) => Ok(Record {
            id: slot.id.clone(),
            generation: generation(lease),
            revision: Revision::new(lineage, kv.mod_revision),
            instance: Arc::new(decoded.instance),
            corrected: decoded
                .corrected
                .map(|reason| Rejected { served: true, ..rejected(&kv.key, Some(slot), reason) }),
        }),
        Err(error) => Err(rejected(&kv.key, Some(slot), error.to_string())),
    }
}

/// The override that stands under its key.
pub(crate) fn read_override(kv: &Kv, lineage: Lineage) -> Result<StoredOverride, Rejected> {
    match setting::decode_override(&kv.value) {
        Ok(value) => {
            Ok(StoredOverride { value: Arc::new(value), revision: Revision::new(lineage, kv.mod_revision) })
        }
        Err(error) => Err(rejected(&kv.key, None, error.to_string())),
    }
}

/// Something that is not served.
pub(crate) fn rejected(key: &[u8], slot: Option<Slot>, reason: impl Into<String>) -> Rejected {
    Rejected { key: shown(key), slot, reason: reason.into(), served: false }
}
