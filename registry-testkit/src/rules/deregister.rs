//! D1 to D3, D6: deregistering.

use registry_core::{Change, Generation, LeaseRef, OwnerToken, RemoveReason, Takeover};

use crate::case::{Case, discover, query};
use crate::words::{id, service, spec, version};

/// D1: acknowledged, so absent from every list that any client begins to read afterwards.
pub async fn d1_acknowledged_is_absent_for_every_client(case: &Case) {
    let other = case.other().await;
    for round in 0..10 {
        let a = case.up("orders", &format!("i{round}")).await;
        case.down(&a.lease).await;
        assert!(discover(&*case.registry, "orders").await.is_empty());
        assert!(discover(&*other, "orders").await.is_empty());
        assert_eq!(case.registry.holder(a.lease.service(), a.lease.id()).await.expect("holder"), None);
    }
}

/// D2: again, after an expiry, and for what never was: nothing to do, and no event.
pub async fn d2_deregistering_is_idempotent(case: &Case) {
    let gone = case.up("orders", "gone").await;
    case.down(&gone.lease).await;
    let expired = case.register(&case.brief("orders", "expired")).await;
    case.elapse(expired.ttl.get() + case.timing.sweep + case.timing.eps).await;
    let never =
        LeaseRef::new(service("orders"), id("never"), Generation::new(0x7ead_beef), OwnerToken::random());
    let mut watched = case.watch("orders").await;
    for lease in [&gone.lease, &expired.lease, &never] {
        for _ in 0..2 {
            assert_eq!(case.registry.deregister(lease).await.expect("idempotent"), None);
        }
    }
    watched.quiet(case.timing.eps).await;
}

/// D3: a late deregistration does not touch the successor.
pub async fn d3_a_late_deregistration_spares_the_successor(case: &Case) {
    let old = case.up("orders", "a").await;
    let new = case.register(&case.registration("orders", "a").with_takeover(Takeover::Always)).await;
    let mut watched = case.watch("orders").await;
    assert_eq!(case.registry.deregister(&old.lease).await.expect("idempotent"), None);
    watched.quiet(case.timing.eps).await;
    case.registry.heartbeat(&new.lease).await.expect("the successor lives");
    assert_eq!(case.ids("orders").await, ["a"]);
}

/// D3: instances that share id, owner, endpoint or service are not touched.
pub async fn d3_what_shares_something_is_spared(case: &Case) {
    let owner = OwnerToken::random();
    let mut held = Vec::new();
    for (name, instance) in [("orders", "a"), ("orders", "b"), ("bills", "a"), ("orders-a", "a")] {
        held.push(case.register(&case.registration(name, instance).with_owner(owner)).await);
    }
    case.down(&held[0].lease).await;
    assert_eq!(case.ids("orders").await, ["b"]);
    assert_eq!(case.ids("bills").await, ["a"]);
    assert_eq!(case.ids("orders-a").await, ["a"]);
    for spared in &held[1..] {
        case.registry.heartbeat(&spared.lease).await.expect("it was spared");
    }
}

/// D3: an operator deregisters with the holder's proof, and that generation only.
pub async fn d3_an_operator_deregisters_with_the_holders_proof(case: &Case) {
    let a = case.up("orders", "a").await;
    let other = case.other().await;
    let holder = other.holder(&service("orders"), &id("a")).await.expect("holder").expect("it is held");
    assert_eq!(holder, a.lease);
    assert!(other.deregister(&holder).await.expect("a deregistration").is_some());
    assert!(case.ids("orders").await.is_empty());
    let again = case.up("orders", "a").await;
    assert_eq!(other.deregister(&holder).await.expect("idempotent"), None);
    case.registry.heartbeat(&again.lease).await.expect("another generation was spared");
}

/// D6: the removal says why: deregistered, expired, or left the version that was asked for.
pub async fn d6_a_removal_says_why(case: &Case) {
    let mut watched = case.watch("orders").await;
    let leaves = case.up("orders", "leaves").await;
    case.register(&case.brief("orders", "expires")).await;
    case.down(&leaves.lease).await;
    watched.removed("expires", case.timing.ttl + case.soon()).await;
    watched.removed("leaves", case.soon()).await;
    assert_eq!(watched.removals("leaves"), [RemoveReason::Deregistered]);
    assert_eq!(watched.removals("expires"), [RemoveReason::Expired]);

    let mut registration = case.registration("orders", "moves");
    registration.instance = spec(80).with_version(version("1"));
    let (moves, moves_id) = (case.register(&registration).await, registration.id.clone());
    let mut of_one = case.watch_query(&query("orders").with_version(version("1"))).await;
    of_one.until("the instance", case.soon(), |state| state.get(&moves_id).is_some()).await;
    case.registry.update(&moves.lease, spec(80).with_version(version("2"))).await.expect("an update");
    let change = of_one.next_change().await;
    assert!(matches!(change, Change::Removed { reason: RemoveReason::Filtered, .. }), "{change:?}");
}
