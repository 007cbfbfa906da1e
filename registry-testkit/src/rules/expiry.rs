//! X: expiry.

use registry_core::{Change, ErrorKind, RemoveReason, Takeover};
use tokio::time::Instant;

use crate::case::Case;
use crate::refused;
use crate::words::{id, spec};

/// X1: without a heartbeat an instance is there until it was sent + TTL.
pub async fn x1_not_before_the_ttl(case: &Case) {
    let sent = Instant::now();
    let a = case.register(&case.brief("orders", "a")).await;
    let seen = present_until(case, sent + a.ttl.get()).await;
    assert!(seen > 3, "{seen} looks are none");
}

/// X1: with a heartbeat, until that was sent + TTL.
pub async fn x1_not_before_the_ttl_of_the_last_heartbeat(case: &Case) {
    let a = case.register(&case.brief("orders", "a")).await;
    case.elapse(a.ttl.get() * 2 / 3).await;
    let sent = Instant::now();
    case.registry.heartbeat(&a.lease).await.expect("a heartbeat");
    present_until(case, sent + a.ttl.get()).await;
}

/// Sees the instance in every list that is read before `deadline`.
async fn present_until(case: &Case, deadline: Instant) -> usize {
    let mut looks = 0;
    loop {
        let listed = case.ids("orders").await;
        if Instant::now() >= deadline {
            return looks;
        }
        assert_eq!(listed, ["a"], "gone {:?} early", deadline - Instant::now());
        looks += 1;
        case.elapse((deadline - Instant::now()).min(case.timing.ttl / 40)).await;
    }
}

/// X2: gone from every list, and its removal told, by TTL + S + eps; the reason is that it expired.
pub async fn x2_not_after_the_sweep_bound(case: &Case) {
    let a = case.register(&case.brief("orders", "a")).await;
    let answered = Instant::now();
    let mut watched = case.watch("orders").await;
    let bound = answered + a.ttl.get() + case.timing.sweep + case.timing.eps;
    let changes = watched.next_changes(bound.saturating_duration_since(Instant::now())).await;
    let [Change::Removed { instance, reason }] = &changes[..] else { panic!("one removal: {changes:?}") };
    assert_eq!((&instance.id, *reason), (&id("a"), RemoveReason::Expired));
    assert_eq!(instance.generation, a.generation());
    tokio::time::sleep_until(bound).await;
    assert!(case.ids("orders").await.is_empty(), "still listed at TTL + S + eps");
}

/// X2: many that expire together all go in time.
pub async fn x2_many_expire_in_time(case: &Case) {
    let many: Vec<_> = (0..100).map(|n| case.brief("orders", &format!("i{n}"))).collect();
    futures::future::join_all(many.iter().map(|one| case.register(one))).await;
    let answered = Instant::now();
    let mut watched = case.watch("orders").await;
    let bound = case.timing.ttl + case.timing.sweep + case.timing.eps;
    let left = (answered + bound).saturating_duration_since(Instant::now());
    watched.until("all have expired", left, registry_core::Snapshot::is_empty).await;
    assert!(case.ids("orders").await.is_empty());
    assert_eq!(watched.changes().count(), many.len());
}

/// X2: who beats is spared when its neighbours expire.
pub async fn x2_neighbours_are_spared(case: &Case) {
    let lives = case.register(&case.brief("orders", "lives")).await;
    let mut watched = case.watch("orders").await;
    case.register(&case.brief("orders", "dies")).await;
    let bound = Instant::now() + case.timing.ttl + case.timing.sweep + case.timing.eps;
    while Instant::now() < bound {
        case.elapse(case.timing.ttl / 3).await;
        case.registry.heartbeat(&lives.lease).await.expect("a heartbeat");
    }
    assert_eq!(case.ids("orders").await, ["lives"]);
    watched.removed("dies", case.soon()).await;
    assert_eq!(watched.removals("lives"), []);
}

/// X4: one life has one removal, however it ends and whatever is asked of it later.
pub async fn x4_one_removal_per_generation(case: &Case) {
    let mut watched = case.watch("orders").await;
    let expires = case.register(&case.brief("orders", "expires")).await;
    let leaves = case.register(&case.brief("orders", "leaves")).await;
    case.down(&leaves.lease).await;
    case.elapse(case.timing.ttl + case.timing.sweep + case.timing.eps).await;
    for lease in [&expires.lease, &leaves.lease] {
        refused!(case.registry.heartbeat(lease).await, ErrorKind::NotRegistered);
        assert_eq!(case.registry.deregister(lease).await.expect("idempotent"), None);
    }
    watched.removed("expires", case.soon()).await;
    watched.removed("leaves", case.soon()).await;
    watched.quiet(case.timing.ttl).await;
    assert_eq!(watched.removals("expires"), [RemoveReason::Expired]);
    assert_eq!(watched.removals("leaves"), [RemoveReason::Deregistered]);
}

/// X4: a takeover is one update with a new generation, no removal.
pub async fn x4_a_takeover_is_one_update(case: &Case) {
    let old = case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    let mut rival = case.registration("orders", "a").with_takeover(Takeover::Always);
    rival.instance = spec(81);
    let new = case.register(&rival).await;
    let Change::Updated { before, after } = watched.next_change().await else {
        panic!("a takeover comes out as one `Updated`: {:?}", watched.items().last());
    };
    assert_eq!((before.generation, after.generation), (old.generation(), new.generation()));
    assert_eq!(*after.own, spec(81));
    watched.quiet(case.timing.eps).await;
}

/// X4: a taken-over registration that runs out later takes nothing with it.
pub async fn x4_the_end_of_the_old_lease_is_no_event(case: &Case) {
    let old = case.register(&case.brief("orders", "a")).await;
    case.register(&case.registration("orders", "a").with_takeover(Takeover::Always)).await;
    let mut watched = case.watch("orders").await;
    watched.quiet(old.ttl.get() + case.timing.sweep + case.timing.eps).await;
    assert_eq!(case.ids("orders").await, ["a"]);
}
