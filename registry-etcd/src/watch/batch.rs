//! What the events of one revision mean. Pure.

use std::collections::HashSet;

use registry_core::{Batch, InstanceId, RawEvent, RemoveReason, Revision, ServicesBatch};

use super::living;
use crate::client::{Event, EventKind, Kv};
use crate::keys::{Keys, ServiceKey, ServiceKeys, shown};
use crate::record::{read_override, read_record, rejected};

/// What one revision did to a service.
///
/// A mark put in the same revision tells that a record that went was deregistered (D6); a mark alone, or its end, is
/// no change.
pub(super) fn service_batch(keys: &ServiceKeys, revision: Revision, events: &[Event]) -> Batch {
    let left: HashSet<InstanceId> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Put(kv) => match keys.parse(&kv.key) {
                Ok(ServiceKey::Left(id)) => Some(id),
                _ => None,
            },
            EventKind::Delete { .. } => None,
        })
        .collect();
    let mut batch = Batch { revision, events: Vec::with_capacity(events.len()) };
    for event in events {
        match &event.kind {
            EventKind::Put(kv) => written(keys, revision, kv, &mut batch.events),
            EventKind::Delete { key, .. } => batch.events.extend(deleted(keys, key, &left)),
        }
    }
    batch
}

fn written(keys: &ServiceKeys, revision: Revision, kv: &Kv, out: &mut Vec<RawEvent>) {
    match keys.parse(&kv.key) {
        Ok(ServiceKey::Record(slot)) => {
            out.push(
                read_record(slot, kv, revision.lineage()).map_or_else(RawEvent::Rejected, RawEvent::Put),
            );
        }
        Ok(ServiceKey::Override(id)) => match read_override(kv, revision.lineage()) {
            Ok(stored) => {
                out.push(RawEvent::Override(id, Some(stored)));
                // It may have been unreadable before.
                out.push(RawEvent::Cleared { key: shown(&kv.key) });
            }
            Err(rejected) => {
                out.push(RawEvent::Override(id, None));
                out.push(RawEvent::Rejected(rejected));
            }
        },
        Ok(ServiceKey::Left(_)) => {}
        Err(bad) => out.push(RawEvent::Rejected(rejected(&kv.key, None, bad.to_string()))),
    }
}

fn deleted(keys: &ServiceKeys, key: &[u8], left: &HashSet<InstanceId>) -> Vec<RawEvent> {
    match keys.parse(key) {
        Ok(ServiceKey::Record(slot)) => {
            let reason =
                if left.contains(&slot.id) { RemoveReason::Deregistered } else { RemoveReason::Expired };
            vec![RawEvent::Gone { slot, reason }]
        }
        Ok(ServiceKey::Override(id)) => {
            vec![RawEvent::Override(id, None), RawEvent::Cleared { key: shown(key) }]
        }
        Ok(ServiceKey::Left(_)) => Vec::new(),
        Err(_) => vec![RawEvent::Cleared { key: shown(key) }],
    }
}

/// What one revision did to the claims. One that no longer stands under a lease proves nothing (R3).
pub(super) fn services_batch(keys: &Keys, revision: Revision, events: &[Event]) -> ServicesBatch {
    let events = events.iter().filter_map(|event| {
        let (key, lives) = match &event.kind {
            EventKind::Put(kv) => (&kv.key, living(keys, kv).is_some()),
            EventKind::Delete { key, .. } => (key, false),
        };
        let (service, id) = keys.parse_claim(key).ok()?;
        Some((service, id, lives))
    });
    ServicesBatch { revision, events: events.collect() }
}

#[cfg(test)]
mod tests;
