//! How many streams etcd sees: one of each kind, however much they carry.

use std::time::Duration;

use futures::StreamExt;
use futures::future::join_all;
use futures::stream::{iter, select_all};
use registry_core::{InstanceSpec, Query, Registration, ServiceDiscovery, Takeover, Targets, WatchItem};
use registry_etcd::{EtcdConfig, EtcdRegistry};
use registry_testkit::etcd::EtcdCluster;
use tokio::time::{Instant, timeout};

use crate::support::{Bench, PATIENCE, demo, id, ids, service, spec, ttl, until};

#[tokio::test]
async fn one_thousand_registrations_beat_over_one_keepalive_stream() {
    let bench = Bench::start().await;
    let registry = &bench.registry;
    let registered: Vec<_> = iter(0..1_000)
        .map(|n| registry.register(demo(&format!("i{n}")).with_ttl(ttl(60))))
        .buffer_unordered(64)
        .map(Result::unwrap)
        .collect()
        .await;
    for _ in 0..2 {
        let beats = join_all(registered.iter().map(|one| registry.heartbeat(&one.lease))).await;
        assert!(beats.iter().all(|beat| beat.as_ref().is_ok_and(|beat| beat.intact)));
    }
    assert_eq!(bench.leases().await.len(), 1_000);
    let metrics = until("every registration watches its two keys", || async {
        let metrics = bench.cluster.metrics(0).await.unwrap();
        (metrics.watchers() == 2_000).then_some(metrics)
    })
    .await;
    assert_eq!((metrics.keepalive_streams(), metrics.watch_streams()), (1, 1));
    drop(registered);
    until("watches on own keys end with their registrations", || async {
        (bench.cluster.metrics(0).await.unwrap().watchers() == 0).then_some(())
    })
    .await;
}

#[tokio::test]
async fn one_thousand_watched_services_share_one_watch_stream_and_leave_nothing() {
    let bench = Bench::start().await;
    let names: Vec<_> = (0..1_000).map(|n| service(&format!("s{n}"))).collect();
    let streams: Vec<_> =
        names.iter().map(|name| bench.registry.watch(&Query::new(name.clone())).unwrap()).collect();
    let twice: Vec<_> =
        names.iter().map(|name| bench.registry.watch(&Query::new(name.clone())).unwrap()).collect();
    let mut items = select_all(streams);
    let mut snapshots = 0;
    while snapshots < 1_000 {
        let item = timeout(PATIENCE, items.next()).await.expect("every service is listed").unwrap();
        snapshots += usize::from(matches!(item.unwrap(), WatchItem::Snapshot(_)));
    }
    let metrics = until("every service is watched, once", || async {
        let metrics = bench.cluster.metrics(0).await.unwrap();
        (metrics.watchers() == 1_000).then_some(metrics)
    })
    .await;
    assert_eq!(metrics.watch_streams(), 1);

    let other = bench.second();
    other.register(Registration::new(service("s777"), id("a"), spec())).await.unwrap();
    let item = loop {
        let item = timeout(PATIENCE, items.next()).await.unwrap().unwrap().unwrap();
        if let WatchItem::Changes { changes, .. } = item {
            break changes;
        }
    };
    assert_eq!(item.len(), 1);

    drop((items, twice));
    other.close().await;
    let dropped = Instant::now();
    until("they are cancelled upstream", || async {
        (bench.cluster.metrics(0).await.unwrap().watchers() == 0).then_some(())
    })
    .await;
    assert!(dropped.elapsed() < Duration::from_secs(2), "{:?}", dropped.elapsed());
}

#[tokio::test]
async fn handles_opened_with_the_same_url_share_a_session_that_ends_with_the_last() {
    let bench = Bench::start().await;
    let targets = Targets::new().with(registry_etcd::target());
    let url = |namespace| format!("{}/registry?namespace={namespace}", bench.cluster.target());
    let (one, two) = (targets.open(&url("default")).unwrap(), targets.open(&url("other")).unwrap());
    let registration = |name: &str| Registration::new(service("demo"), id(name), spec()).with_ttl(ttl(60));
    let first = one.register(registration("a")).await.unwrap();
    let second = two.register(registration("a")).await.unwrap();
    one.heartbeat(&first.lease).await.unwrap();
    two.heartbeat(&second.lease).await.unwrap();
    let streams = async || {
        let metrics = bench.cluster.metrics(0).await.unwrap();
        (metrics.keepalive_streams(), metrics.watch_streams())
    };
    assert_eq!(streams().await, (1, 1));
    one.close().await;
    one.close().await;
    two.heartbeat(&second.lease).await.unwrap();
    two.close().await;
    until("its streams have ended", || async { (streams().await == (0, 0)).then_some(()) }).await;
    assert_eq!(ids(&bench.registry).await, ["a"], "closing deregisters nothing");
    let three = targets.open(&url("default")).unwrap();
    three.register(Registration::new(service("demo"), id("b"), InstanceSpec::clone(&spec()))).await.unwrap();
    assert_eq!(ids(&bench.registry).await, ["a", "b"]);
    three.close().await;
}

#[tokio::test]
async fn a_registry_that_is_dropped_leaves_no_stream_behind() {
    let bench = Bench::start().await;
    let other = bench.second();
    let registered = other.register(demo("a").with_ttl(ttl(60))).await.unwrap();
    other.heartbeat(&registered.lease).await.unwrap();
    let mut watch = other.watch(&Query::new(service("demo"))).unwrap();
    let first = timeout(PATIENCE, watch.next()).await.unwrap();
    assert!(matches!(first, Some(Ok(WatchItem::Snapshot(_)))), "{first:?}");
    drop(other);
    while timeout(PATIENCE, watch.next()).await.expect("the watch ends").is_some() {}
    until("its streams have ended", || async {
        let metrics = bench.cluster.metrics(0).await.unwrap();
        (metrics.keepalive_streams() == 0 && metrics.watch_streams() == 0).then_some(())
    })
    .await;
    assert_eq!(ids(&bench.registry).await, ["a"], "dropping a handle deregisters nothing");
    drop(registered);
}

/// C3: all of the runtime's tasks are gone when any of them returns, not only the first.
#[tokio::test]
async fn c3_whoever_closes_waits_for_the_end() {
    let cluster = EtcdCluster::builder().start().await.unwrap();
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for _ in 0..10 {
        let registry = EtcdRegistry::open(&EtcdConfig::new(cluster.endpoints())).unwrap();
        let registered = registry.register(demo("a").with_takeover(Takeover::Always)).await.unwrap();
        registry.heartbeat(&registered.lease).await.unwrap();
        let mut watch = registry.watch(&Query::new(service("demo"))).unwrap();
        watch.next().await.unwrap().unwrap();
        let close = async || {
            registry.close().await;
            tasks()
        };
        assert_eq!(join_all([close(), close(), close()]).await, [before; 3]);
    }
}
