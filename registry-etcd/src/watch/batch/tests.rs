use registry_core::{
    InstanceSpec, Lineage, Namespace, Override, OverrideStatus, Rejected, ServiceName, Slot, Version,
};

use super::*;
use crate::client::LeaseId;
use crate::record::{LEFT, encode_override};

fn keys() -> Keys {
    Keys::new("r", &Namespace::default())
}

fn service() -> ServiceName {
    ServiceName::new("s").unwrap()
}

fn id(text: &str) -> InstanceId {
    InstanceId::new(text).unwrap()
}

fn slot(text: &str, version: &str) -> Slot {
    Slot::new(id(text), (version != "-").then(|| Version::new(version).unwrap()))
}

fn put(key: Vec<u8>, value: &[u8], lease: i64) -> Event {
    let lease = LeaseId::from_wire(lease);
    let kv = Kv { key, value: value.to_vec(), create_revision: 1, mod_revision: 9, lease };
    Event { kind: EventKind::Put(kv), prev: None }
}

fn del(key: Vec<u8>) -> Event {
    Event { kind: EventKind::Delete { key, revision: 9 }, prev: None }
}

fn body(id: &InstanceId) -> Vec<u8> {
    registry_core::record::encode(id, &InstanceSpec::new("http://h:1".parse().unwrap())).unwrap()
}

fn batch(events: &[Event]) -> Vec<RawEvent> {
    let revision = Revision::new(Lineage::new(1), 9);
    let batch = service_batch(&keys().service(&service()), revision, events);
    assert_eq!(batch.revision, revision);
    batch.events
}

#[test]
fn the_mark_in_the_same_revision_tells_why_a_record_went() {
    let keys = keys().service(&service());
    let gone = |reason| RawEvent::Gone { slot: slot("a", "2"), reason };
    assert_eq!(batch(&[del(keys.record(&slot("a", "2")))]), [gone(RemoveReason::Expired)]);
    for events in [
        [del(keys.record(&slot("a", "2"))), put(keys.left(&id("a")), LEFT, 1)],
        [put(keys.left(&id("a")), LEFT, 1), del(keys.record(&slot("a", "2")))],
    ] {
        assert_eq!(batch(&events), [gone(RemoveReason::Deregistered)], "in either order");
    }
    let other = [del(keys.record(&slot("a", "2"))), put(keys.left(&id("b")), LEFT, 1)];
    assert_eq!(batch(&other), [gone(RemoveReason::Expired)], "another's mark says nothing");
    assert_eq!(batch(&[put(keys.left(&id("a")), LEFT, 1)]), [], "a mark alone");
    assert_eq!(batch(&[del(keys.left(&id("a")))]), [], "its end");
    let both = [del(keys.left(&id("a"))), del(keys.record(&slot("a", "2")))];
    assert_eq!(batch(&both), [gone(RemoveReason::Expired)], "a lease that ends takes both");
}

#[test]
fn a_record_is_put_under_its_key_and_lease() {
    let keys = keys().service(&service());
    let events =
        batch(&[put(keys.record(&slot("a", "2")), &body(&id("a")), 7), del(keys.record(&slot("a", "-")))]);
    let [RawEvent::Put(record), RawEvent::Gone { slot: old, .. }] = &events[..] else { panic!("{events:?}") };
    assert_eq!((record.slot(), record.generation.number()), (slot("a", "2"), 7));
    assert_eq!(*old, slot("a", "-"));
}

#[test]
fn what_cannot_be_read_is_rejected_under_its_slot() {
    let keys = keys().service(&service());
    for event in
        [put(keys.record(&slot("a", "2")), b"junk", 7), put(keys.record(&slot("a", "2")), &body(&id("a")), 0)]
    {
        let events = batch(&[event]);
        assert!(
            matches!(&events[..], [RawEvent::Rejected(Rejected { slot: Some(at), served: false, .. })] if *at == slot("a", "2")),
            "{events:?}"
        );
    }
    let foreign = [&keys.all().key[..], b"v=2/inst/a/b"].concat();
    let events = batch(&[put(foreign.clone(), b"", 7)]);
    assert!(matches!(&events[..], [RawEvent::Rejected(Rejected { slot: None, .. })]), "{events:?}");
    assert_eq!(batch(&[del(foreign.clone())]), [RawEvent::Cleared { key: shown(&foreign) }]);
}

#[test]
fn an_override_is_set_and_ends_also_by_becoming_unreadable() {
    let keys = keys().service(&service());
    let key = keys.override_of(&id("a"));
    let value = Override::status(OverrideStatus::Draining, "me", "test");
    let events = batch(&[put(key.clone(), &encode_override(&value).unwrap(), 7)]);
    assert!(
        matches!(&events[..], [RawEvent::Override(_, Some(stored)), RawEvent::Cleared { .. }] if *stored.value == value),
        "{events:?}"
    );
    let events = batch(&[put(key.clone(), b"junk", 7)]);
    assert!(matches!(&events[..], [RawEvent::Override(_, None), RawEvent::Rejected(_)]), "{events:?}");
    let events = batch(&[del(key)]);
    assert!(matches!(&events[..], [RawEvent::Override(_, None), RawEvent::Cleared { .. }]), "{events:?}");
}

#[test]
fn a_claim_keeps_a_service_alive_only_under_a_lease() {
    let keys = keys();
    let revision = Revision::new(Lineage::new(1), 9);
    let claim = |text: &str| keys.claim(&service(), &id(text));
    let foreign = [&keys.claims().key[..], b"s/a/b"].concat();
    let events = [put(claim("a"), b"", 7), put(claim("b"), b"", 0), del(claim("c")), put(foreign, b"", 7)];
    let batch = services_batch(&keys, revision, &events);
    let of = |text, lives| (service(), id(text), lives);
    assert_eq!(batch.events, [of("a", true), of("b", false), of("c", false)]);
}
