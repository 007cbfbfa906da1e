//! Lists: at one revision in pages, in time, whatever stands among the keys (Q1, Q3, Q5, Q6).

use std::time::Duration;

use futures::stream::iter;
use futures::{FutureExt, StreamExt};
use registry_core::{ErrorKind, Metadata, Query, ReadMode, ReadOptions, ServiceDiscovery, Snapshot, Version};
use registry_etcd::{EtcdConfig, EtcdRegistry};
use tokio::time::Instant;

use crate::support::{Bench, demo, ids, register, service, snapshot, spec, ttl};

fn paged(bench: &Bench, page: u16) -> EtcdRegistry {
    let mut config = EtcdConfig::new(bench.cluster.endpoints());
    config.page_size = page;
    EtcdRegistry::open(&config).unwrap()
}

fn weights(snapshot: &Snapshot) -> Vec<u32> {
    snapshot.instances.iter().map(|instance| instance.own.weight).collect()
}

#[tokio::test]
async fn q1_pages_are_of_one_revision_while_everything_changes() {
    let bench = Bench::start().await;
    let mut leases = Vec::new();
    for n in 0..10 {
        let registration = demo(&format!("i{n}")).with_ttl(ttl(60));
        leases.push(bench.registry.register(registration).await.unwrap().lease);
    }
    let reader = paged(&bench, 3);
    let query = Query::new(service("demo"));
    let writes = async {
        for weight in 0..40 {
            for lease in &leases {
                bench.registry.update(lease, spec().with_weight(1_000 + weight)).await.unwrap();
            }
        }
    };
    let reads = async {
        let mut mixed = 0;
        loop {
            let snapshot = reader.discover(&query, ReadOptions::default()).await.unwrap();
            let weights = weights(&snapshot);
            assert_eq!(weights.len(), 10);
            // They are written in order: at any one revision the first ones are one step ahead, at most.
            let settled = weights[0] >= 1_000 && weights[9] >= 1_000;
            assert!(
                !settled || (weights.is_sorted_by(|a, b| a >= b) && weights[0] - weights[9] <= 1),
                "{weights:?}"
            );
            mixed += usize::from(weights[0] != weights[9]);
            if weights[9] == 1_039 {
                return mixed;
            }
        }
    };
    let ((), mixed) = futures::join!(writes, reads);
    assert!(mixed > 10, "the reads did not meet the writes");
}

#[tokio::test]
async fn large_records_are_listed_in_pages_that_fit() {
    let bench = Bench::start().await;
    let mut metadata = Metadata::new();
    metadata.insert("filler", "x".repeat(15_000)).unwrap();
    let registry = &bench.registry;
    let registered: Vec<_> = iter(0..600)
        .map(|n| {
            let mut registration = demo(&format!("i{n}")).with_ttl(ttl(60));
            registration.instance.metadata = metadata.clone();
            registry.register(registration)
        })
        .buffer_unordered(32)
        .map(Result::unwrap)
        .collect()
        .await;
    for _ in 0..2 {
        let options = ReadOptions::default().within(Duration::from_secs(10));
        let snapshot = registry.discover(&Query::new(service("demo")), options).await.unwrap();
        assert_eq!(snapshot.len(), registered.len());
    }
}

#[tokio::test]
async fn q5_junk_among_the_keys_is_listed_as_rejected_and_fails_nothing() {
    let bench = Bench::start().await;
    let registered = register(&bench.registry, "a").await;
    let base = "registry/default/services/demo";
    let record = bench.value(&format!("{base}/v=-/inst/a")).await;
    let megabyte = "x".repeat(100_000);
    for (key, value) in [
        ("v=-/inst/junk", "[1]"),
        ("v=-/inst/empty", ""),
        ("v=-/inst/large", megabyte.as_str()),
        ("v=-/inst/leaseless", record.as_str()),
        ("v=-/inst/a/b/c/d/e", "x"),
        ("override/a", "{}"),
        ("what", "x"),
    ] {
        bench.put(&format!("{base}/{key}"), value).await;
    }
    let lease = format!("{:x}", registered.generation().number());
    bench.cluster.ctl(&["put", &format!("{base}/v=-/inst/b"), &record, "--lease", &lease]).await.unwrap();
    let snapshot = snapshot(&bench.registry).await;
    assert_eq!(ids(&bench.registry).await, ["a", "b"]);
    assert_eq!(
        snapshot.rejected.iter().filter(|rejected| !rejected.served).count(),
        7,
        "{:#?}",
        snapshot.rejected
    );
    let served: Vec<_> = snapshot.rejected.iter().filter(|rejected| rejected.served).collect();
    assert!(matches!(served[..], [b] if b.slot.as_ref().is_some_and(|slot| slot.id == "b")), "the key wins");
    for foreign in
        ["registry/default/claims/demo", "registry/default/claims/a/b/c", "registry/default/claims/x/y"]
    {
        bench.put(foreign, "x").await;
    }
    let services = bench.registry.services(ReadOptions::default()).await.unwrap();
    assert_eq!(&*services.names, [service("demo")], "a claim without a lease keeps no service alive");
}

#[tokio::test]
async fn q9_a_version_is_its_prefix_and_the_overrides() {
    let bench = Bench::start().await;
    for version in ["1", "1.1", "2"] {
        let mut registration = demo(&format!("v{version}"));
        registration.instance.version = Some(Version::new(version).unwrap());
        bench.registry.register(registration).await.unwrap();
    }
    register(&bench.registry, "none").await;
    let query = Query::new(service("demo")).with_version(Version::new("1").unwrap());
    let found = bench.registry.discover(&query, ReadOptions::default()).await.unwrap();
    let found: Vec<_> = found.instances.iter().map(|instance| instance.id.as_str()).collect();
    assert_eq!(found, ["v1"]);
    assert_eq!(snapshot(&bench.registry).await.len(), 4);
}

#[tokio::test]
async fn q2_a_stale_read_says_so_and_q3_q6_a_frozen_member_is_an_error_in_time() {
    let bench = Bench::start().await;
    register(&bench.registry, "a").await;
    let query = Query::new(service("demo"));
    let stale = bench.registry.discover(&query, ReadOptions::stale()).await.unwrap();
    assert_eq!((stale.read, stale.len()), (ReadMode::Stale, 1));

    bench.cluster.stop(0).unwrap();
    for mode in [ReadMode::Linearizable, ReadMode::Stale] {
        let began = Instant::now();
        let options = ReadOptions { mode, ..ReadOptions::default() }.within(Duration::from_millis(300));
        let error = bench.registry.discover(&query, options).await.unwrap_err();
        assert!(began.elapsed() < Duration::from_millis(800), "{:?}", began.elapsed());
        assert!(
            matches!(error.kind(), ErrorKind::DeadlineExceeded | ErrorKind::Unavailable { .. }),
            "{error}"
        );
    }
    let error = bench.registry.services(ReadOptions::default().within(Duration::from_millis(300))).await;
    assert!(error.is_err());
    let began = Instant::now();
    bench.registry.close().await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    let error = bench.registry.discover(&query, ReadOptions::default()).now_or_never().unwrap().unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Closed);
    bench.cluster.cont(0).unwrap();
}
