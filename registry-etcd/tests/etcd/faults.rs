//! What a registry says while etcd does not answer, and how it goes on.

use std::time::Duration;

use futures::StreamExt;
use registry_core::{
    ErrorKind, Query, ResyncReason, ServiceDiscovery, WatchConfig, WatchItem, WatchStatus, WatchStream,
};
use registry_etcd::{EtcdConfig, EtcdRegistry};
use tokio::time::{Instant, timeout};

use crate::support::{Bench, PATIENCE, demo, ids, register, service, spec, ttl, until};

async fn item(watch: &mut WatchStream) -> WatchItem {
    timeout(PATIENCE, watch.next()).await.expect("an item").expect("no end").unwrap()
}

/// The next item with data.
async fn data(watch: &mut WatchStream) -> WatchItem {
    loop {
        match item(watch).await {
            WatchItem::Status(_) | WatchItem::Progress(_) => {}
            data => return data,
        }
    }
}

/// The next word on whether etcd is heard; no data comes before it.
async fn status(watch: &mut WatchStream) -> WatchStatus {
    loop {
        match item(watch).await {
            WatchItem::Status(status) => return status,
            WatchItem::Progress(_) => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn r6_an_update_and_a_deregistration_without_an_answer_are_ambiguous_and_may_be_repeated() {
    let bench = Bench::start().await;
    let registered = bench.registry.register(demo("a").with_ttl(ttl(60))).await.unwrap();
    bench.registry.heartbeat(&registered.lease).await.unwrap();

    bench.cluster.stop(0).unwrap();
    let error = bench.registry.update(&registered.lease, spec().with_weight(7)).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Ambiguous, "{error}");
    let error = bench.registry.heartbeat(&registered.lease).await.unwrap_err();
    let ErrorKind::Unavailable { time_left: Some(left) } = error.kind() else { panic!("{error}") };
    assert!(*left > Duration::from_secs(50), "{left:?}");
    bench.cluster.cont(0).unwrap();

    let beat = until("it beats again", async || bench.registry.heartbeat(&registered.lease).await.ok()).await;
    assert!(!beat.intact, "nobody knows what the record says");
    bench.registry.update(&registered.lease, spec().with_weight(7)).await.unwrap();
    assert!(bench.registry.heartbeat(&registered.lease).await.unwrap().intact);

    bench.cluster.stop(0).unwrap();
    let error = bench.registry.deregister(&registered.lease).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Ambiguous, "{error}");
    bench.cluster.cont(0).unwrap();
    until("the repeat is answered", async || bench.registry.deregister(&registered.lease).await.ok()).await;
    assert!(ids(&bench.registry).await.is_empty());
    assert_eq!(bench.leases().await, [""; 0]);
    assert_eq!(bench.keys().await, [""; 0]);
}

#[tokio::test]
async fn a_registration_that_nobody_answers_ends_in_time_and_its_repeat_leaves_one_lease() {
    let bench = Bench::start().await;
    register(&bench.registry, "warm").await;
    let registration = demo("a");
    bench.cluster.stop(0).unwrap();
    let began = Instant::now();
    let error = bench.registry.register(registration.clone()).await.unwrap_err();
    assert!(began.elapsed() < Duration::from_millis(2_500), "{:?}", began.elapsed());
    assert!(error.is_retryable(), "{error}");
    bench.cluster.cont(0).unwrap();
    until("the repeat goes through", async || bench.registry.register(registration.clone()).await.ok()).await;
    assert_eq!(ids(&bench.registry).await, ["a", "warm"]);
    let registered = bench.registry.register(registration).await.unwrap();
    // What the unanswered grant may have left runs out; what lives is renewed.
    until("orphan leases have run out", async || {
        bench.registry.heartbeat(&registered.lease).await.unwrap();
        (bench.leases().await.len() <= 2).then_some(())
    })
    .await;
}

#[tokio::test]
async fn w7_data_that_was_lost_is_another_lineage_and_everything_heals() {
    let bench = Bench::start().await;
    for name in ["a", "b"] {
        register(&bench.registry, name).await;
    }
    let registered = register(&bench.registry, "c").await;
    let mut watch = bench.registry.watch(&Query::new(service("demo"))).unwrap();
    let WatchItem::Snapshot(before) = data(&mut watch).await else { panic!("a snapshot comes first") };
    assert_eq!(before.len(), 3);
    until("it follows", async || watch.state().load().status.is_connected().then_some(())).await;

    bench.cluster.wipe(0).unwrap();
    bench.cluster.launch(0).unwrap();
    bench.cluster.ready().await.unwrap();
    let WatchItem::Resync { reason, changes, snapshot } = data(&mut watch).await else { panic!("a resync") };
    assert_eq!(reason, ResyncReason::LineageChanged);
    assert!(snapshot.is_empty() && changes.len() == 3, "{changes:?}");
    assert_ne!(snapshot.revision.lineage(), before.revision.lineage());
    let error = bench.registry.heartbeat(&registered.lease).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::NotRegistered);
    let again = register(&bench.registry, "c").await;
    assert!(bench.registry.heartbeat(&again.lease).await.unwrap().intact);
    assert!(matches!(data(&mut watch).await, WatchItem::Changes { changes, .. } if changes.len() == 1));
}

#[tokio::test]
async fn w4_a_restart_is_a_status_and_no_removal() {
    let bench = Bench::start().await;
    let registered = bench.registry.register(demo("a").with_ttl(ttl(30))).await.unwrap();
    let mut watch = bench.registry.watch(&Query::new(service("demo"))).unwrap();
    assert!(matches!(data(&mut watch).await, WatchItem::Snapshot(_)));
    bench.cluster.kill(0).unwrap();
    assert!(matches!(status(&mut watch).await, WatchStatus::Disconnected { .. }));
    bench.cluster.restart(0).await.unwrap();
    assert!(status(&mut watch).await.is_connected());
    let beat = until("it beats", async || bench.registry.heartbeat(&registered.lease).await.ok()).await;
    assert!(beat.intact);
}

#[tokio::test]
async fn w4_watches_of_an_etcd_that_is_silent_say_so_soon_all_of_them() {
    let bench = Bench::start().await;
    bench.cluster.stop(0).unwrap();
    let began = Instant::now();
    let mut watches: Vec<_> =
        (0..100).map(|n| bench.registry.watch(&Query::new(service(&format!("s{n}")))).unwrap()).collect();
    for watch in &mut watches {
        assert!(matches!(status(watch).await, WatchStatus::Disconnected { .. }));
    }
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    bench.cluster.cont(0).unwrap();
    let healed = Instant::now();
    for watch in &mut watches {
        assert!(matches!(data(watch).await, WatchItem::Snapshot(_)));
    }
    assert!(healed.elapsed() < Duration::from_secs(5), "{:?}", healed.elapsed());
}

#[tokio::test]
async fn w10_the_audit_does_not_take_unreadable_keys_for_lost_events() {
    let bench = Bench::start().await;
    let mut config = EtcdConfig::new(bench.cluster.endpoints());
    config.watch = WatchConfig { audit_interval: Duration::from_millis(200), ..WatchConfig::default() };
    let registry = EtcdRegistry::open(&config).unwrap();
    let base = "registry/default/services/demo";
    let registered = bench.registry.register(demo("a").with_ttl(ttl(60))).await.unwrap();
    let lease = format!("--lease={:x}", registered.generation().number());
    let junk = async |key: &str| {
        bench.cluster.ctl(&["put", &lease, &format!("{base}/{key}"), "junk"]).await.unwrap();
    };
    junk("v=-/inst/listed").await;
    junk("override/listed").await;
    let mut watch = registry.watch(&Query::new(service("demo"))).unwrap();
    assert!(matches!(data(&mut watch).await, WatchItem::Snapshot(_)));
    junk("v=-/inst/followed").await;
    junk("override/followed").await;
    junk("no/key/of/ours").await;
    junk("v=-/inst/mended").await;
    let mended = bench.value(&format!("{base}/v=-/inst/a")).await;
    bench.cluster.ctl(&["put", &lease, &format!("{base}/v=-/inst/mended"), &mended]).await.unwrap();
    let ranges = bench.handled("Range").await;
    // Long enough for a difference to be seen, to settle, and to be seen again.
    let late = Instant::now() + Duration::from_millis(3_500);
    while let Ok(item) = tokio::time::timeout_at(late, watch.next()).await {
        assert!(!matches!(item, Some(Ok(WatchItem::Resync { .. }))), "{item:?}");
    }
    assert!(bench.handled("Range").await > ranges + 5, "it was audited");
}
