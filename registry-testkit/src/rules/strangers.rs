//! D6, H8, Q5, R3, X4, I8 to I10 where somebody writes beneath the registry.

use registry_core::record::{SCHEMA, encode};
use registry_core::{Change, ErrorKind, Registered, RemoveReason, Slot, Takeover, WatchItem};

use super::input::unreadable_bodies;
use crate::case::Case;
use crate::harness::Under;
use crate::refused;
use crate::words::{id, service, spec, version};

fn slot(instance: &str) -> Slot {
    Slot::new(id(instance), None)
}

/// The owner's next heartbeats say that something is wrong, and its update mends it under the same generation.
async fn noticed_and_mended(case: &Case, owner: &Registered) {
    case.eventually("a heartbeat tells of the damage", case.timing.ttl / 3 + case.timing.eps, async || {
        let beat = case.registry.heartbeat(&owner.lease).await.expect("the lease lives");
        (!beat.intact).then_some(())
    })
    .await;
    case.registry.update(&owner.lease, spec(80)).await.expect("the owner mends it");
    let snapshot = case.discover("orders").await;
    let instance = snapshot.get(owner.lease.id()).expect("it is back");
    assert_eq!((instance.generation, &*instance.own), (owner.generation(), &spec(80)));
    case.eventually("it is whole again", case.soon(), async || {
        case.registry.heartbeat(&owner.lease).await.expect("the lease lives").intact.then_some(())
    })
    .await;
}

/// H8, D6, X4: a stranger's delete is told as expired, noticed within one interval, and mended: added again, of the
/// same generation.
pub async fn h8_a_deleted_record_is_noticed_and_mended(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    case.stranger().delete_record(&service("orders"), &slot("a")).await;
    let change = watched.next_change().await;
    assert!(matches!(change, Change::Removed { reason: RemoveReason::Expired, .. }), "{change:?}");
    assert!(case.ids("orders").await.is_empty());
    noticed_and_mended(case, &a).await;
    let change = watched.next_change().await;
    assert!(matches!(&change, Change::Added(back) if back.generation == a.generation()), "{change:?}");
    watched.quiet(case.timing.eps).await;
}

/// H8: so is a record that a stranger overwrote, under another lease or under none.
pub async fn h8_an_overwritten_record_is_noticed_and_mended(case: &Case) {
    let a = case.up("orders", "a").await;
    let foreign = encode(&id("a"), &spec(99)).expect("a record");
    for under in [Under::OwnLease, Under::NoLease, Under::Lease(a.lease.clone())] {
        case.stranger().put_record(&service("orders"), &slot("a"), &foreign, under).await;
        noticed_and_mended(case, &a).await;
    }
}

/// H8: a claim that vanished is noticed and put again; the claim decides ownership.
pub async fn h8_a_deleted_claim_is_noticed_and_mended(case: &Case) {
    let a = case.up("orders", "a").await;
    case.stranger().delete_claim(&a.lease).await;
    noticed_and_mended(case, &a).await;
    refused!(case.registry.register(case.registration("orders", "a")).await, ErrorKind::AlreadyExists { .. });
}

/// H8: who lost its claim to another owner is fenced, and mends nothing.
pub async fn h8_a_lost_claim_belongs_to_its_new_owner(case: &Case) {
    let a = case.up("orders", "a").await;
    case.stranger().delete_claim(&a.lease).await;
    let rival = case.registration("orders", "a").with_takeover(Takeover::Always);
    let b = case.register(&rival).await;
    refused!(case.registry.update(&a.lease, spec(81)).await, ErrorKind::Fenced);
    case.eventually("the old owner is fenced", case.timing.ttl / 3 + case.timing.eps, async || {
        matches!(case.registry.heartbeat(&a.lease).await, Err(error) if *error.kind() == ErrorKind::Fenced)
            .then_some(())
    })
    .await;
    let snapshot = case.discover("orders").await;
    assert_eq!(snapshot.get(&id("a")).map(|i| i.generation), Some(b.generation()));
}

/// H2, D6: a lease that an operator revoked is an expiry, and heartbeats of it are refused.
pub async fn h2_a_revoked_lease_is_not_registered(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    case.stranger().revoke(&a.lease).await;
    let change = watched.next_change().await;
    assert!(matches!(change, Change::Removed { reason: RemoveReason::Expired, .. }), "{change:?}");
    refused!(case.registry.heartbeat(&a.lease).await, ErrorKind::NotRegistered);
    watched.quiet(case.timing.eps).await;
}

/// D6: a record made unreadable is told as expired; made readable again, as added.
pub async fn d6_a_record_made_unreadable_is_expired(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    case.stranger().put_record(&service("orders"), &slot("a"), b"junk", Under::Lease(a.lease.clone())).await;
    let change = watched.next_change().await;
    assert!(matches!(change, Change::Removed { reason: RemoveReason::Expired, .. }), "{change:?}");
    let listed = case.discover("orders").await;
    assert!(listed.is_empty());
    assert_eq!(listed.rejected.len(), 1, "{:?}", listed.rejected);
    noticed_and_mended(case, &a).await;
    assert!(matches!(watched.next_change().await, Change::Added(_)));
    assert!(case.discover("orders").await.rejected.is_empty());
}

/// Q5, I8: junk of every kind is skipped, counted and named; the good ones are served, by list and by watch.
pub async fn q5_junk_is_rejected_and_the_good_are_served(case: &Case) {
    case.up("orders", "good").await;
    let mut watched = case.watch("orders").await;
    let stranger = case.stranger();
    let bodies = unreadable_bodies();
    for (n, (_, bytes)) in bodies.iter().enumerate() {
        stranger.put_record(&service("orders"), &slot(&format!("junk{n}")), bytes, Under::OwnLease).await;
    }
    stranger.put_junk(&service("orders"), "one/two/three/four/five", b"{}").await;
    stranger.put_junk(&service("orders"), "\u{fffd}", b"\xff").await;
    let listed = case.discover("orders").await;
    assert_eq!(case.ids("orders").await, ["good"]);
    assert_eq!(listed.rejected.len(), bodies.len() + 2, "{:?}", listed.rejected);
    for rejected in listed.rejected.iter() {
        assert!(!rejected.served && !rejected.reason.is_empty() && !rejected.key.is_empty(), "{rejected:?}");
    }
    case.up("orders", "later").await;
    let change = watched.next_change().await;
    assert!(matches!(&change, Change::Added(instance) if instance.id == "later"), "{change:?}");
    let mut late = case.watch("orders").await;
    assert_eq!(late.snapshot().await.len(), 2);
}

/// R3, Q5: a record without a lease is no instance.
pub async fn r3_a_record_without_a_lease_is_rejected(case: &Case) {
    let mut watched = case.watch("orders").await;
    let bytes = encode(&id("eternal"), &spec(80)).expect("a record");
    case.stranger().put_record(&service("orders"), &slot("eternal"), &bytes, Under::NoLease).await;
    let listed = case.discover("orders").await;
    assert!(listed.is_empty());
    assert_eq!(listed.rejected.len(), 1);
    watched.quiet(case.timing.eps).await;
}

/// Q5: a record that another program put under a lease of its own is served; its generation is that lease.
pub async fn q5_a_foreign_record_under_a_lease_is_served(case: &Case) {
    let mut watched = case.watch("orders").await;
    let bytes = encode(&id("foreign"), &spec(80)).expect("a record");
    case.stranger().put_record(&service("orders"), &slot("foreign"), &bytes, Under::OwnLease).await;
    let change = watched.next_change().await;
    assert!(matches!(&change, Change::Added(instance) if instance.id == "foreign"), "{change:?}");
    assert_eq!(case.ids("orders").await, ["foreign"]);
}

/// I9: where key and body disagree the key wins; it is served, and counted.
pub async fn i9_a_record_whose_body_names_another_is_served_and_counted(case: &Case) {
    let bytes = encode(&id("body"), &spec(80).with_version(version("1"))).expect("a record");
    case.stranger().put_record(&service("orders"), &slot("key"), &bytes, Under::OwnLease).await;
    let listed = case.discover("orders").await;
    assert_eq!(case.ids("orders").await, ["key"]);
    assert_eq!(listed.instances[0].version(), None);
    let [rejected] = &listed.rejected[..] else { panic!("it is counted: {:?}", listed.rejected) };
    assert!(rejected.served);
}

/// I10: a record of a newer schema that shuts us out is rejected, and never overwritten.
pub async fn i10_a_record_of_a_newer_schema_is_never_overwritten(case: &Case) {
    let newer = format!(r#"{{"schema":{},"endpoints":"new"}}"#, SCHEMA + 1).into_bytes();
    case.stranger().put_record(&service("orders"), &slot("newer"), &newer, Under::OwnLease).await;
    assert_eq!(case.discover("orders").await.rejected.len(), 1);
    for takeover in [Takeover::Never, Takeover::Always] {
        let registration = case.registration("orders", "newer").with_takeover(takeover);
        refused!(
            case.registry.register(registration).await,
            ErrorKind::Unsupported | ErrorKind::AlreadyExists { .. }
        );
    }
    let listed = case.discover("orders").await;
    assert!(listed.is_empty());
    assert_eq!(listed.rejected.len(), 1, "it was overwritten");
}

/// W2, Q5: what is rejected is told by no item, and by the next list.
pub async fn q5_junk_that_goes_is_forgotten(case: &Case) {
    let mut watched = case.watch("orders").await;
    let stranger = case.stranger();
    stranger.put_record(&service("orders"), &slot("junk"), b"junk", Under::OwnLease).await;
    assert_eq!(case.discover("orders").await.rejected.len(), 1);
    stranger.delete_record(&service("orders"), &slot("junk")).await;
    assert!(case.discover("orders").await.rejected.is_empty());
    watched.quiet(case.timing.eps).await;
    assert!(
        !watched.items().iter().any(|item| matches!(item, WatchItem::Resync { .. })),
        "junk made a resync"
    );
}
