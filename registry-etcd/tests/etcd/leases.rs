//! One lease per registration, however it goes, and none left behind (R3, R8).

use std::time::Duration;

use futures::future::{FutureExt, join_all};
use registry_core::{ErrorKind, Override, OverrideStatus, OwnerToken, ServiceDiscovery, Takeover};
use registry_testkit::etcd::EtcdCluster;
use tokio::time::{sleep, timeout};

use crate::support::{Bench, demo, id, ids, register, service, spec, ttl, until};

#[tokio::test]
async fn r8_updates_repeats_refusals_and_takeovers_leave_one_lease() {
    let bench = Bench::start().await;
    let registration = demo("a");
    let registered = bench.registry.register(registration.clone()).await.unwrap();
    for weight in 0..20 {
        bench.registry.update(&registered.lease, spec().with_weight(weight)).await.unwrap();
    }
    assert_eq!(bench.leases().await.len(), 1, "after updates");
    for _ in 0..3 {
        bench.registry.register(registration.clone()).await.unwrap();
    }
    assert_eq!(bench.leases().await.len(), 1, "after repeats");
    for _ in 0..3 {
        bench.registry.register(demo("a")).await.unwrap_err();
    }
    assert_eq!(bench.leases().await.len(), 1, "after refusals");
    let takes = demo("a").with_takeover(Takeover::Always).with_owner(OwnerToken::random());
    let registered = bench.registry.register(takes).await.unwrap();
    assert_eq!(bench.leases().await.len(), 1, "after a takeover");
    bench.registry.deregister(&registered.lease).await.unwrap();
    assert_eq!(bench.leases().await.len(), 0, "after the deregistration");
}

#[tokio::test]
async fn r3_a_registration_dropped_at_any_await_leaves_at_most_a_lease_that_dies() {
    let bench = Bench::start().await;
    register(&bench.registry, "warm").await;
    let mut dropped = 0;
    for step in 0..40_u32 {
        let registration = demo(&format!("x{step}")).with_ttl(ttl(1));
        let call = bench.registry.register(registration);
        if timeout(Duration::from_micros(u64::from(step) * 40), call).await.is_err() {
            dropped += 1;
        }
    }
    assert!(dropped > 0, "nothing was dropped");
    // Whatever was put stands under a lease; nothing is renewed here.
    until("all of it has died", || async {
        (bench.leases().await.len() == 1 && ids(&bench.registry).await == ["warm"]).then_some(())
    })
    .await;
    assert_eq!(bench.keys().await.len(), 2);
}

#[tokio::test]
async fn c1_a_call_that_is_never_polled_again_does_nothing_by_itself() {
    let bench = Bench::start().await;
    register(&bench.registry, "warm").await;
    let polled_once = bench.registry.register(demo("b")).now_or_never();
    assert!(polled_once.is_none());
    sleep(Duration::from_millis(50)).await;
    assert_eq!(ids(&bench.registry).await, ["warm"]);
}

#[tokio::test]
async fn c1_overrides_dropped_at_any_await_leave_no_lease() {
    let bench = Bench::start().await;
    let set = async |value| bench.registry.set_override(&service("demo"), &id("a"), value).await;
    let lasting = || {
        let year = Duration::from_hours(365 * 24);
        Some(Override::status(OverrideStatus::Disabled, "me", "test").lasting(year))
    };
    set(lasting()).await.unwrap();
    let mut dropped = 0;
    for step in 0..60 {
        if timeout(Duration::from_micros(step * 40), set(lasting())).await.is_err() {
            dropped += 1;
        }
    }
    assert!(dropped > 0, "nothing was dropped");
    until("one lease is left, with its key", || async {
        let leases = bench.leases().await;
        (leases.len() == 1 && bench.keys().await.len() == 1).then_some(())
    })
    .await;
    set(None).await.unwrap();
    assert_eq!((bench.leases().await.len(), bench.keys().await.len()), (0, 0));
}

#[tokio::test]
async fn c1_takeovers_dropped_at_any_await_leave_leases_that_die() {
    let bench = Bench::start().await;
    register(&bench.registry, "a").await;
    let mut dropped = 0;
    for step in 0..40 {
        let takes =
            demo("a").with_ttl(ttl(1)).with_takeover(Takeover::Always).with_owner(OwnerToken::random());
        if timeout(Duration::from_micros(step * 60), bench.registry.register(takes)).await.is_err() {
            dropped += 1;
        }
    }
    assert!(dropped > 0, "nothing was dropped");
    until("all of it has died", || async { bench.leases().await.is_empty().then_some(()) }).await;
    assert_eq!(bench.keys().await, [""; 0]);
}

#[tokio::test]
async fn a_ttl_is_rounded_up_and_the_servers_floor_is_reported() {
    let builder =
        EtcdCluster::builder().heartbeat(Duration::from_millis(200)).election(Duration::from_secs(2));
    let bench = Bench::on(builder).await;
    let asked = |millis| demo("a").with_ttl(registry_core::Ttl::new(Duration::from_millis(millis)).unwrap());
    let granted = bench.registry.register(asked(4_200)).await.unwrap().ttl;
    assert_eq!(granted, ttl(5));
    let floor = bench.registry.register(demo("b").with_ttl(ttl(1))).await.unwrap().ttl;
    assert_eq!(floor, ttl(3), "1.5 times the election timeout");
}

#[tokio::test]
async fn a_full_store_refuses_newcomers_and_still_lets_instances_leave() {
    let builder = EtcdCluster::builder().extra_arg("--quota-backend-bytes=1048576");
    let bench = Bench::on(builder).await;
    let registered = register(&bench.registry, "a").await;
    let stays = register(&bench.registry, "b").await;
    let filler = "x".repeat(100_000);
    for n in 0..40 {
        if bench.cluster.ctl(&["put", &format!("fill/{n}"), &filler]).await.is_err() {
            break;
        }
    }
    let refused = bench.registry.register(demo("c")).await.unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::ResourceExhausted);
    assert!(bench.registry.heartbeat(&stays.lease).await.unwrap().intact, "the living are kept");
    assert!(bench.registry.deregister(&registered.lease).await.unwrap().is_some());
    assert_eq!(ids(&bench.registry).await, ["b"]);
    assert_eq!(bench.leases().await.len(), 1);
}

#[tokio::test]
async fn d3_two_registrations_at_once_and_only_one_owns_the_id() {
    let bench = Bench::start().await;
    let second = bench.second();
    for round in 0..20 {
        let name = format!("r{round}");
        let rivals = [&bench.registry, &second, &bench.registry, &second];
        let outcomes = join_all(rivals.map(|registry| registry.register(demo(&name)))).await;
        let won: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.as_ref().ok()).collect();
        assert_eq!(won.len(), 1, "{outcomes:?}");
        for lost in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
            let held = ErrorKind::AlreadyExists { generation: won[0].generation() };
            assert_eq!(lost.kind(), &held);
        }
    }
    assert_eq!(bench.leases().await.len(), 20);
}
