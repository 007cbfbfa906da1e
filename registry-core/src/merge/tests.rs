use super::*;
use crate::instance::{InstanceSpec, InstanceStatus};
use crate::lease::Generation;
use crate::overrides::{Override, OverrideStatus};
use crate::revision::Lineage;

fn at(number: u64) -> Revision {
    Revision::new(Lineage::new(1), number)
}

fn id(id: &str) -> InstanceId {
    InstanceId::new(id).unwrap()
}

fn record(name: &str, version: Option<&str>, generation: u64, revision: u64) -> Record {
    let mut instance = InstanceSpec::new("http://h:1".parse().unwrap());
    instance.version = version.map(|v| Version::new(v).unwrap());
    Record {
        id: id(name),
        generation: Generation::new(generation),
        revision: at(revision),
        instance: Arc::new(instance),
        corrected: None,
    }
}

fn gone(name: &str, version: Option<&str>, reason: RemoveReason) -> RawEvent {
    let version = version.map(|v| Version::new(v).unwrap());
    RawEvent::Gone { slot: Slot::new(id(name), version), reason }
}

fn disabled(revision: u64) -> StoredOverride {
    StoredOverride {
        value: Arc::new(Override::status(OverrideStatus::Disabled, "me", "test")),
        revision: at(revision),
    }
}

fn merged(records: Vec<Record>) -> Merged {
    let raw = RawState { records, ..RawState::empty(at(10)) };
    Merged::from_list(ServiceName::new("s").unwrap(), raw)
}

fn apply(merged: &mut Merged, revision: u64, events: Vec<RawEvent>) -> Vec<Change> {
    merged.apply(Batch { revision: at(revision), events })
}

#[test]
fn a_moved_version_is_one_update() {
    let mut merged = merged(vec![record("a", Some("1"), 1, 5)]);
    let events =
        vec![gone("a", Some("1"), RemoveReason::Expired), RawEvent::Put(record("a", Some("2"), 1, 11))];
    let changes = apply(&mut merged, 11, events);
    assert!(matches!(&changes[..], [Change::Updated { before, after }]
        if before.version().unwrap() == "1" && after.version().unwrap() == "2"));
}

#[test]
fn of_two_records_the_later_counts_and_the_other_is_rejected() {
    let mut merged = merged(vec![record("a", Some("1"), 1, 5), record("a", None, 2, 7)]);
    assert_eq!(merged.living()[&id("a")].generation, Generation::new(2));
    assert_eq!(merged.rejected().len(), 1);
    let changes = apply(&mut merged, 11, vec![gone("a", None, RemoveReason::Expired)]);
    assert!(
        matches!(&changes[..], [Change::Updated { after, .. }] if after.generation == Generation::new(1))
    );
    assert!(merged.rejected().is_empty());
}

#[test]
fn an_override_of_an_absent_id_waits_and_makes_no_instance() {
    let mut merged = merged(vec![]);
    assert!(apply(&mut merged, 11, vec![RawEvent::Override(id("a"), Some(disabled(11)))]).is_empty());
    assert!(merged.snapshot(None).is_empty());
    let changes = apply(&mut merged, 12, vec![RawEvent::Put(record("a", None, 1, 12))]);
    assert!(matches!(&changes[..], [Change::Added(a)] if a.status() == InstanceStatus::Disabled));
    let changes = apply(&mut merged, 13, vec![RawEvent::Override(id("a"), None)]);
    assert!(matches!(&changes[..], [Change::Updated { after, .. }] if after.is_routable()));
}

#[test]
fn what_does_not_differ_makes_no_change_but_its_revision_counts() {
    let mut merged = merged(vec![record("a", None, 1, 5)]);
    assert!(apply(&mut merged, 11, vec![RawEvent::Put(record("a", None, 1, 11))]).is_empty());
    assert_eq!(merged.living()[&id("a")].revision, at(11));
    assert!(merged.rejected().is_empty());
}

#[test]
fn an_unreadable_record_is_a_removal_until_it_is_readable_again() {
    let mut merged = merged(vec![record("a", None, 1, 5)]);
    let bad =
        Rejected { key: "k".into(), slot: Some(Slot::new(id("a"), None)), reason: "x".into(), served: false };
    let changes = apply(&mut merged, 11, vec![RawEvent::Rejected(bad)]);
    assert!(matches!(&changes[..], [Change::Removed { reason: RemoveReason::Expired, .. }]));
    assert_eq!(merged.rejected().len(), 1);
    let changes = apply(&mut merged, 12, vec![RawEvent::Put(record("a", None, 1, 12))]);
    assert!(matches!(&changes[..], [Change::Added(_)]));
    assert!(merged.rejected().is_empty());
}

#[test]
fn what_is_not_after_the_present_revision_is_dropped() {
    let mut merged = merged(vec![record("a", None, 1, 5)]);
    assert!(apply(&mut merged, 10, vec![gone("a", None, RemoveReason::Expired)]).is_empty());
    assert_eq!(merged.living().len(), 1);
}

#[test]
fn gone_and_put_again_in_one_revision_is_one_update_of_another_generation() {
    let mut merged = merged(vec![record("a", None, 1, 5)]);
    let events = vec![gone("a", None, RemoveReason::Deregistered), RawEvent::Put(record("a", None, 2, 11))];
    assert!(matches!(&apply(&mut merged, 11, events)[..], [Change::Updated { .. }]));
}
