//! R1 to R6: registering.

use futures::future::join_all;
use registry_core::{Change, ErrorKind, HealthCheck, OwnerToken, Takeover, Ttl};
use std::time::Duration;

use crate::case::{Case, discover};
use crate::cut::cut_after;
use crate::refused;
use crate::words::{id, invalid_field, service, spec, tagged};

/// R1: what is refused names its field, and nothing happened.
pub async fn r1_bad_fields_are_named_and_without_effect(case: &Case) {
    let mut watched = case.watch("orders").await;
    let good = case.registration("orders", "a");
    let mut no_endpoint = good.clone();
    no_endpoint.instance.endpoints.clear();
    let mut twins = good.clone();
    twins.instance = twins.instance.with_endpoint(spec(81).endpoints.remove(0));
    let mut no_path = good.clone();
    no_path.instance = no_path.instance.with_health_check(HealthCheck::Http { path: "health".to_owned() });
    for (bad, field) in
        [(&no_endpoint, "endpoints"), (&twins, "endpoints[1].name"), (&no_path, "health_check.path")]
    {
        let error = refused!(case.registry.register(bad.clone()).await, ErrorKind::InvalidArgument { .. });
        assert_eq!(invalid_field(&error), Some(field));
    }
    assert!(case.ids("orders").await.is_empty());
    let holder = case.registry.holder(&service("orders"), &id("a")).await.expect("holder");
    assert_eq!(holder, None, "a refused registration left a claim");

    let a = case.register(&good).await;
    watched.next_change().await;
    for (bad, field) in
        [(no_endpoint, "endpoints"), (twins, "endpoints[1].name"), (no_path, "health_check.path")]
    {
        let error =
            refused!(case.registry.update(&a.lease, bad.instance).await, ErrorKind::InvalidArgument { .. });
        assert_eq!(invalid_field(&error), Some(field));
    }
    watched.quiet(case.timing.eps).await;
}

/// R1: input is checked without asking the backend, which is dead.
pub async fn r1_checks_come_before_io(case: &Case) {
    let a = case.up("orders", "a").await;
    case.faults().kill().await;
    let mut bad = case.registration("orders", "b");
    bad.instance.endpoints.clear();
    refused!(case.registry.register(bad.clone()).await, ErrorKind::InvalidArgument { .. });
    refused!(case.registry.update(&a.lease, bad.instance).await, ErrorKind::InvalidArgument { .. });
}

/// R2: what was acknowledged is in every list that any client begins to read afterwards.
pub async fn r2_acknowledged_is_listed_for_every_client(case: &Case) {
    let other = case.other().await;
    for round in 0..20 {
        let instance = format!("i{round}");
        case.up("orders", &instance).await;
        let reads = join_all([discover(&*case.registry, "orders"), discover(&*other, "orders")]).await;
        for snapshot in reads {
            assert_eq!(snapshot.len(), round + 1, "{instance} was acknowledged and is not listed");
            assert!(snapshot.get(&id(&instance)).is_some());
        }
    }
}

/// R3: a registration that nobody keeps alive goes by itself.
pub async fn r3_no_instance_is_without_a_ttl(case: &Case) {
    let a = case.register(&case.brief("orders", "a")).await;
    let bound = a.ttl.get() + case.timing.sweep + case.timing.eps;
    case.eventually("what does not beat is gone", bound, async || {
        case.ids("orders").await.is_empty().then_some(())
    })
    .await;
}

/// R3: a call cut off at any of its awaits leaves nothing that outlives its TTL.
pub async fn r3_a_dropped_registration_is_gone_within_its_ttl(case: &Case) {
    for polls in 1..=40 {
        let registration = case.brief("orders", &format!("i{polls}"));
        if cut_after(polls, case.registry.register(registration)).await.is_some() {
            break;
        }
    }
    let bound = case.timing.ttl + case.timing.sweep + case.timing.eps + case.timing.eps;
    case.eventually("nothing is left", bound, async || case.ids("orders").await.is_empty().then_some(()))
        .await;
}

/// R4: granted TTL, generation and revision come back, and are what readers see.
pub async fn r4_the_answer_tells_what_was_granted(case: &Case) {
    let asked = case.registration("orders", "a");
    let answer = case.register(&asked).await;
    let ttl = asked.ttl.expect("the suite names one");
    assert!(answer.ttl >= ttl, "{ttl} was asked, {} granted", answer.ttl);
    assert_eq!((answer.lease.service(), answer.lease.id()), (&asked.service, &asked.id));
    assert_eq!(answer.lease.owner(), asked.owner);
    let snapshot = case.discover("orders").await;
    let instance = snapshot.get(&asked.id).expect("R2: what was acknowledged is listed");
    assert_eq!(instance.generation, answer.generation());
    assert_eq!(instance.revision, answer.revision);
    assert_eq!(*instance.own, asked.instance);
    let holder = case.registry.holder(&asked.service, &asked.id).await.expect("holder");
    assert_eq!(holder.as_ref(), Some(&answer.lease));
}

/// R4: whatever TTL is asked for, that or more is granted.
pub async fn r4_a_ttl_is_never_lowered(case: &Case) {
    let asked =
        [case.timing.ttl, case.timing.ttl * 2, Duration::from_millis(7_300), Duration::from_hours(24)];
    for (n, ttl) in asked.into_iter().enumerate() {
        let ttl = Ttl::new(ttl).expect("a TTL");
        let answer = case.register(&case.registration("orders", &format!("i{n}")).with_ttl(ttl)).await;
        assert!(answer.ttl >= ttl, "{ttl} was asked, {} granted", answer.ttl);
    }
    let short = case.register(&case.brief("orders", "short")).await;
    assert_eq!(short.ttl.get(), case.timing.ttl, "the harness names a TTL that is granted as asked");
}

/// R5: a rival is told whose it is, and nothing changes.
pub async fn r5_live_id_of_another_owner_is_refused(case: &Case) {
    let owner = case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    let mut rival = case.registration("orders", "a");
    rival.instance = spec(81);
    let error = refused!(case.registry.register(rival).await, ErrorKind::AlreadyExists { .. });
    assert_eq!(error.kind(), &ErrorKind::AlreadyExists { generation: owner.generation() });
    watched.quiet(case.timing.eps).await;
    case.registry.heartbeat(&owner.lease).await.expect("the owner lives on");
}

/// R5: a takeover begins a generation, and the one before has no say any more.
pub async fn r5_takeover_makes_a_new_generation_and_fences_the_old(case: &Case) {
    let old = case.up("orders", "a").await;
    let mut rival = case.registration("orders", "a").with_takeover(Takeover::Always);
    rival.instance = spec(81);
    let new = case.register(&rival).await;
    assert_ne!(new.generation(), old.generation());
    refused!(case.registry.heartbeat(&old.lease).await, ErrorKind::Fenced);
    refused!(case.registry.update(&old.lease, spec(82)).await, ErrorKind::Fenced);
    case.registry.heartbeat(&new.lease).await.expect("the new owner lives");
    let snapshot = case.discover("orders").await;
    let instance = snapshot.get(&id("a")).expect("it is listed");
    assert_eq!((instance.generation, &*instance.own), (new.generation(), &rival.instance));
}

/// R5: a takeover of a named generation takes over that one and no other.
pub async fn r5_takeover_of_a_named_generation_spares_others(case: &Case) {
    let first = case.up("orders", "a").await;
    let take = |generation| case.registration("orders", "a").with_takeover(Takeover::If(generation));
    let second = case.register(&take(first.generation())).await;
    let error =
        refused!(case.registry.register(take(first.generation())).await, ErrorKind::AlreadyExists { .. });
    assert_eq!(error.kind(), &ErrorKind::AlreadyExists { generation: second.generation() });
    case.registry.heartbeat(&second.lease).await.expect("it was spared");
}

/// R5: the same owner repeats itself: one instance, never a removal and an addition; another body is an update.
pub async fn r5_the_same_owner_repeats_itself(case: &Case) {
    let mut watched = case.watch("orders").await;
    let mut mine = case.registration("orders", "a");
    let first = case.register(&mine).await;
    let second = case.register(&mine).await;
    mine.instance = spec(81);
    let third = case.register(&mine).await;
    watched.until("the newest body", case.soon(), |state| carries(state, third.generation(), 81)).await;
    watched.quiet(case.timing.eps).await;
    let (added, removed) = additions_and_removals(watched.changes());
    assert_eq!((added, removed), (1, 0), "{:?} {:?} {:?}", first.lease, second.lease, watched.items());
    case.registry.heartbeat(&third.lease).await.expect("the newest answer's lease lives");
}

fn carries(state: &registry_core::Snapshot, generation: registry_core::Generation, port: u16) -> bool {
    state.get(&id("a")).is_some_and(|i| i.generation == generation && i.endpoints()[0].port() == port)
}

fn additions_and_removals<'a>(changes: impl Iterator<Item = &'a Change>) -> (usize, usize) {
    changes.fold((0, 0), |(added, removed), change| match change {
        Change::Added(_) => (added + 1, removed),
        Change::Removed { .. } => (added, removed + 1),
        Change::Updated { .. } => (added, removed),
    })
}

/// R5: of many who want one id at one time, one has it.
pub async fn r5_of_rivals_one_wins(case: &Case) {
    let rivals: Vec<_> = (0..16).map(|n| (n, case.registration("orders", "a"))).collect();
    let calls = rivals.iter().map(|(n, rival)| {
        let mut rival = rival.clone();
        rival.instance = tagged("rival", n.to_string());
        case.registry.register(rival)
    });
    let mut winners = Vec::new();
    for (answer, (n, _)) in join_all(calls).await.into_iter().zip(&rivals) {
        match answer {
            Ok(answer) => winners.push((answer, n.to_string())),
            Err(error) => assert!(matches!(error.kind(), ErrorKind::AlreadyExists { .. }), "{error:?}"),
        }
    }
    assert_eq!(winners.len(), 1, "one id has one owner");
    let snapshot = case.discover("orders").await;
    let instance = snapshot.get(&id("a")).expect("the winner is listed");
    assert_eq!(instance.generation, winners[0].0.generation());
    assert_eq!(instance.metadata().get("rival"), Some(winners[0].1.as_str()), "the winner's body");
}

/// R5: the same token does not reach another instance, and another token is another owner.
pub async fn r5_an_owner_may_hold_many_instances(case: &Case) {
    let token = OwnerToken::random();
    let pairs = [("orders", "a"), ("orders", "b"), ("bills", "a")];
    let mut held = Vec::new();
    for (name, instance) in pairs {
        held.push(case.register(&case.registration(name, instance).with_owner(token)).await);
    }
    case.down(&held[0].lease).await;
    assert_eq!(case.ids("orders").await, ["b"]);
    assert_eq!(case.ids("bills").await, ["a"]);
}

/// R6: a call cut off at any await, so that its outcome is unknown, is repeated with the same token: one instance,
/// at most one addition.
pub async fn r6_a_dropped_call_is_repeated_with_the_same_token(case: &Case) {
    let mut watched = case.watch("orders").await;
    for polls in 1..=40 {
        let registration = case.registration("orders", &format!("i{polls}"));
        let done = cut_after(polls, case.registry.register(registration.clone())).await.is_some();
        let answer = case.register(&registration).await;
        case.registry.heartbeat(&answer.lease).await.expect("the repeat's lease lives");
        if done {
            break;
        }
    }
    let listed = case.discover("orders").await;
    watched.until("all that is listed", case.soon(), |state| state.instances == listed.instances).await;
    watched.quiet(case.timing.eps).await;
    let (added, removed) = additions_and_removals(watched.changes());
    assert_eq!((added, removed), (listed.len(), 0), "{:?}", watched.items());
}
