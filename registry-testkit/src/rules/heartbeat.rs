//! H1 to H3: heartbeats.

use registry_core::{ErrorKind, Generation, LeaseRef, OwnerToken, Takeover};
use tokio::time::Instant;

use crate::case::Case;
use crate::refused;
use crate::words::{id, service};

/// H1: an acknowledged heartbeat prolongs to the time it was sent + TTL, or more.
pub async fn h1_a_heartbeat_prolongs_from_when_it_was_sent(case: &Case) {
    let a = case.register(&case.brief("orders", "a")).await;
    for _ in 0..3 {
        case.elapse(a.ttl.get() / 3).await;
        let sent = Instant::now();
        let beat = case.registry.heartbeat(&a.lease).await.expect("a heartbeat");
        assert!(beat.deadline >= sent + a.ttl.get(), "the deadline is earlier than sent + TTL");
        assert!(beat.intact, "nobody touched the record");
    }
}

/// H1: what beats lives, through many TTLs.
pub async fn h1_what_beats_lives(case: &Case) {
    let a = case.register(&case.brief("orders", "a")).await;
    let mut watched = case.watch("orders").await;
    for _ in 0..7 {
        case.elapse(a.ttl.interval()).await;
        case.registry.heartbeat(&a.lease).await.expect("a heartbeat");
        assert_eq!(case.ids("orders").await, ["a"]);
    }
    watched.quiet(case.timing.eps).await;
}

/// H1: a heartbeat makes no event and writes no record.
pub async fn h1_a_heartbeat_changes_nothing(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    for _ in 0..10 {
        case.registry.heartbeat(&a.lease).await.expect("a heartbeat");
    }
    watched.quiet(case.timing.eps).await;
    let snapshot = case.discover("orders").await;
    assert_eq!(snapshot.get(&id("a")).map(|instance| instance.revision), Some(a.revision));
}

/// H2: nobody's lease is not registered, and a heartbeat registers nothing.
pub async fn h2_an_unknown_lease_is_not_registered(case: &Case) {
    let stray = LeaseRef::new(service("orders"), id("a"), Generation::new(0x7ead_beef), OwnerToken::random());
    refused!(case.registry.heartbeat(&stray).await, ErrorKind::NotRegistered);
    assert!(case.ids("orders").await.is_empty());
}

/// H2: after a deregistration heartbeats are refused and bring nothing back.
pub async fn h2_a_deregistered_lease_is_not_registered(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    case.down(&a.lease).await;
    watched.next_change().await;
    refused!(case.registry.heartbeat(&a.lease).await, ErrorKind::NotRegistered);
    watched.quiet(case.timing.eps).await;
    assert!(case.ids("orders").await.is_empty());
}

/// H2: after its expiry heartbeats are refused and bring nothing back.
pub async fn h2_an_expired_lease_is_not_registered(case: &Case) {
    let a = case.register(&case.brief("orders", "a")).await;
    let mut watched = case.watch("orders").await;
    case.elapse(a.ttl.get() + case.timing.sweep + case.timing.eps).await;
    refused!(case.registry.heartbeat(&a.lease).await, ErrorKind::NotRegistered);
    watched.next_change().await;
    watched.quiet(case.timing.eps).await;
    assert!(case.ids("orders").await.is_empty());
}

/// H3: who was taken over is fenced, every time it asks.
pub async fn h3_who_was_taken_over_is_fenced(case: &Case) {
    let old = case.up("orders", "a").await;
    let new = case.register(&case.registration("orders", "a").with_takeover(Takeover::Always)).await;
    for _ in 0..3 {
        refused!(case.registry.heartbeat(&old.lease).await, ErrorKind::Fenced);
    }
    case.registry.heartbeat(&new.lease).await.expect("the new owner beats");
}

/// H3: the fenced one also hears so when its id came to another by expiry and not by takeover.
pub async fn h3_who_came_back_too_late_is_fenced(case: &Case) {
    let old = case.register(&case.brief("orders", "a")).await;
    case.elapse(old.ttl.get() + case.timing.sweep + case.timing.eps).await;
    let new = case.up("orders", "a").await;
    refused!(case.registry.heartbeat(&old.lease).await, ErrorKind::Fenced);
    case.registry.heartbeat(&new.lease).await.expect("the new owner beats");
}

/// H3: heartbeats of the old owner do not keep the new one alive.
pub async fn h3_a_fenced_heartbeat_prolongs_nobody(case: &Case) {
    let old = case.up("orders", "a").await;
    let new = case.register(&case.brief("orders", "a").with_takeover(Takeover::Always)).await;
    let bound = new.ttl.get() + case.timing.sweep + case.timing.eps;
    case.eventually("the new one expires although the old one beats", bound, async || {
        let beat = case.registry.heartbeat(&old.lease).await;
        refused!(beat, ErrorKind::Fenced | ErrorKind::NotRegistered);
        case.ids("orders").await.is_empty().then_some(())
    })
    .await;
}
