//! What a registration notices on its own two keys, without reading them (H3, H8).

use std::time::Duration;

use futures::StreamExt;
use registry_core::{
    Change, ErrorKind, LeaseRef, OwnerToken, Query, RemoveReason, ServiceDiscovery, Version, WatchItem,
};
use registry_etcd::EtcdRegistry;
use tokio::time::timeout;

use crate::support::{Bench, PATIENCE, demo, id, ids, register, service, snapshot, spec, ttl, until};

const CLAIM: &str = "registry/default/claims/demo/a";
const RECORD: &str = "registry/default/services/demo/v=-/inst/a";

/// Heartbeats until one says that something is wrong.
async fn noticed(registry: &EtcdRegistry, lease: &LeaseRef) {
    until("the damage is noticed", || async {
        (!registry.heartbeat(lease).await.unwrap().intact).then_some(())
    })
    .await;
}

async fn refused(registry: &EtcdRegistry, lease: &LeaseRef) -> ErrorKind {
    until("a heartbeat is refused", || async {
        registry.heartbeat(lease).await.err().map(|error| error.kind().clone())
    })
    .await
}

#[tokio::test]
async fn h8_a_record_that_vanishes_is_noticed_and_put_again_under_the_same_generation() {
    let bench = Bench::start().await;
    let registered = register(&bench.registry, "a").await;
    let reader = bench.second();
    let mut watch = reader.watch(&Query::new(service("demo"))).unwrap();
    let mut next = async || loop {
        match timeout(PATIENCE, watch.next()).await.unwrap().unwrap().unwrap() {
            WatchItem::Changes { changes, .. } => return changes,
            WatchItem::Snapshot(_) => return [].into(),
            _ => {}
        }
    };
    assert!(next().await.is_empty());
    assert!(bench.registry.heartbeat(&registered.lease).await.unwrap().intact);
    bench.delete(RECORD).await;
    noticed(&bench.registry, &registered.lease).await;
    bench.registry.update(&registered.lease, spec()).await.unwrap();
    assert!(bench.registry.heartbeat(&registered.lease).await.unwrap().intact);
    assert!(matches!(&next().await[..], [Change::Removed { reason: RemoveReason::Expired, .. }]));
    assert!(matches!(&next().await[..], [Change::Added(back)] if back.generation == registered.generation()));
}

#[tokio::test]
async fn h8_a_claim_that_vanishes_is_put_again() {
    let bench = Bench::start().await;
    let registered = register(&bench.registry, "a").await;
    let claim = bench.value(CLAIM).await;
    bench.delete(CLAIM).await;
    noticed(&bench.registry, &registered.lease).await;
    bench.registry.update(&registered.lease, spec()).await.unwrap();
    assert_eq!(bench.value(CLAIM).await, claim);
    assert!(bench.registry.heartbeat(&registered.lease).await.unwrap().intact);
    assert_eq!(bench.registry.holder(&service("demo"), &id("a")).await.unwrap(), Some(registered.lease));
}

#[tokio::test]
async fn h8_whatever_a_stranger_writes_over_the_two_keys_is_mended() {
    let bench = Bench::start().await;
    let registered = register(&bench.registry, "a").await;
    let (claim, record) = (bench.value(CLAIM).await, bench.value(RECORD).await);
    for (key, junk) in [(RECORD, "junk"), (CLAIM, "junk"), (RECORD, record.as_str()), (CLAIM, claim.as_str())]
    {
        // Without a lease, even where the value is the very same.
        bench.put(key, junk).await;
        noticed(&bench.registry, &registered.lease).await;
        bench.registry.update(&registered.lease, spec()).await.unwrap();
        assert!(bench.registry.heartbeat(&registered.lease).await.unwrap().intact, "{key} {junk}");
        assert_eq!((bench.value(CLAIM).await, bench.value(RECORD).await), (claim.clone(), record.clone()));
    }
    assert!(bench.registry.deregister(&registered.lease).await.unwrap().is_some());
    assert_eq!(bench.keys().await, [""; 0], "all of it stood under the lease again");
}

#[tokio::test]
async fn h8_the_watch_follows_a_record_that_moves_to_another_version() {
    let bench = Bench::start().await;
    let registered = register(&bench.registry, "a").await;
    for version in ["1", "2"] {
        let version = Version::new(version).unwrap();
        let moved = spec().with_version(version.clone());
        bench.registry.update(&registered.lease, moved.clone()).await.unwrap();
        assert!(bench.registry.heartbeat(&registered.lease).await.unwrap().intact);
        bench.delete(&format!("registry/default/services/demo/v={version}/inst/a")).await;
        noticed(&bench.registry, &registered.lease).await;
        bench.registry.update(&registered.lease, moved).await.unwrap();
    }
    assert_eq!(ids(&bench.registry).await, ["a"]);
    assert_eq!(bench.keys().await.len(), 2);
}

#[tokio::test]
async fn h8_heartbeats_read_nothing() {
    let bench = Bench::start().await;
    let registered = register(&bench.registry, "a").await;
    let calls = async || {
        let mut calls = Vec::new();
        for method in ["Range", "Txn", "LeaseTimeToLive"] {
            calls.push(bench.handled(method).await);
        }
        calls
    };
    let before = calls().await;
    for _ in 0..50 {
        assert!(bench.registry.heartbeat(&registered.lease).await.unwrap().intact);
    }
    assert_eq!(calls().await, before);
}

#[tokio::test]
async fn h8_damage_done_while_etcd_was_restarted_is_noticed() {
    let bench = Bench::start().await;
    let registered = register(&bench.registry, "a").await;
    bench.cluster.restart(0).await.unwrap();
    bench.delete(RECORD).await;
    until("the damage is noticed", || async {
        bench.registry.heartbeat(&registered.lease).await.ok().filter(|beat| !beat.intact)
    })
    .await;
}

#[test]
fn h8_damage_is_noticed_though_the_runtime_of_the_registration_is_gone() {
    let runtime =
        || tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let stays = runtime();
    let bench = stays.block_on(Bench::start());
    let goes = runtime();
    let registered = goes.block_on(register(&bench.registry, "a"));
    drop(goes);
    stays.block_on(async {
        bench.delete(RECORD).await;
        noticed(&bench.registry, &registered.lease).await;
        bench.registry.update(&registered.lease, spec()).await.unwrap();
        assert!(bench.registry.heartbeat(&registered.lease).await.unwrap().intact);
        // By the watch that was begun anew.
        bench.put(CLAIM, "junk").await;
        noticed(&bench.registry, &registered.lease).await;
    });
    stays.block_on(async { drop(bench) });
}

#[tokio::test]
async fn h8_a_history_that_was_compacted_meanwhile_is_read_over() {
    let bench = Bench::start().await;
    let registered = bench.registry.register(demo("a").with_ttl(ttl(60))).await.unwrap();
    for n in 0..3 {
        bench.put("elsewhere", &n.to_string()).await;
    }
    // Both keys were followed up to a revision that is not there any more when the link comes back.
    let compacted = (registered.revision.number() + 3).to_string();
    bench.cluster.ctl(&["compact", &compacted]).await.unwrap();
    let ranges = bench.handled("Range").await;
    bench.cluster.restart(0).await.unwrap();
    until("the keys are read", || async { (bench.handled("Range").await >= 3).then_some(()) }).await;
    assert!(ranges < 3, "nothing was read before: {ranges}");
    let beat = until("it beats", || async { bench.registry.heartbeat(&registered.lease).await.ok() }).await;
    assert!(beat.intact);
    bench.delete(CLAIM).await;
    noticed(&bench.registry, &registered.lease).await;
}

#[tokio::test]
async fn h3_a_successor_whose_revoke_was_lost_fences_without_a_read_and_the_lease_goes() {
    let bench = Bench::start().await;
    let registered = bench.registry.register(demo("a").with_ttl(ttl(60))).await.unwrap();
    let record = bench.value(RECORD).await;
    let granted = bench.cluster.ctl(&["lease", "grant", "60"]).await.unwrap();
    let other = granted.split_whitespace().nth(1).unwrap();
    let claim = format!(r#"{{"schema":1,"owner":"{}"}}"#, uuid(OwnerToken::random()));
    let reads = bench.handled("Range").await;
    // As a successor would, but for the revoke.
    bench.cluster.ctl(&["put", CLAIM, &claim, "--lease", other]).await.unwrap();
    bench.cluster.ctl(&["put", RECORD, &record, "--lease", other]).await.unwrap();
    assert_eq!(refused(&bench.registry, &registered.lease).await, ErrorKind::Fenced);
    assert_eq!(bench.handled("Range").await, reads);
    until("the fenced one revokes its lease", || async { (bench.leases().await.len() == 1).then_some(()) })
        .await;
    assert_eq!(ids(&bench.registry).await, ["a"], "the successor lives");
    let error = bench.registry.update(&registered.lease, spec()).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Fenced);
    assert_eq!(bench.registry.deregister(&registered.lease).await.unwrap(), None);
    assert_eq!(ids(&bench.registry).await, ["a"]);
}

#[tokio::test]
async fn an_operators_deregistration_is_told_apart_from_damage_even_if_its_revoke_was_lost() {
    let bench = Bench::start().await;
    let registered = register(&bench.registry, "a").await;
    let lease = format!("{:x}", registered.generation().number());
    // What a deregistration does, but for the revoke.
    bench
        .cluster
        .ctl(&["put", "registry/default/services/demo/left/a", "{}", "--lease", &lease])
        .await
        .unwrap();
    bench.delete(CLAIM).await;
    bench.delete(RECORD).await;
    noticed(&bench.registry, &registered.lease).await;
    let error = bench.registry.update(&registered.lease, spec()).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::NotRegistered);
    assert!(snapshot(&bench.registry).await.is_empty());
}

#[tokio::test]
async fn a_lease_that_an_operator_revokes_is_not_registered() {
    let bench = Bench::start().await;
    let registered = register(&bench.registry, "a").await;
    let lease = format!("{:x}", registered.generation().number());
    bench.cluster.ctl(&["lease", "revoke", &lease]).await.unwrap();
    let error = bench.registry.heartbeat(&registered.lease).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::NotRegistered);
    let error = bench.registry.update(&registered.lease, spec()).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::NotRegistered);
    assert_eq!(bench.registry.deregister(&registered.lease).await.unwrap(), None);
}

#[tokio::test]
async fn a_proof_from_elsewhere_serves_as_well() {
    let bench = Bench::start().await;
    let registered = register(&bench.registry, "a").await;
    let second = bench.second();
    let beat = second.heartbeat(&registered.lease).await.unwrap();
    assert!(beat.time_left(tokio::time::Instant::now()) > Duration::from_secs(4));
    let held = second.holder(&service("demo"), &id("a")).await.unwrap().unwrap();
    assert_eq!(held, registered.lease);
    second.update(&held, spec().with_version(Version::new("2").unwrap())).await.unwrap();
    assert!(second.deregister(&held).await.unwrap().is_some());
    assert_eq!(bench.keys().await, [""; 0]);
    assert_eq!(second.heartbeat(&held).await.unwrap_err().kind(), &ErrorKind::NotRegistered);
    assert_eq!(refused(&bench.registry, &registered.lease).await, ErrorKind::NotRegistered);
}

fn uuid(token: OwnerToken) -> String {
    serde_json::to_value(token).unwrap().as_str().unwrap().to_owned()
}
