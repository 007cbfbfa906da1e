//! Users: what rights a registry needs, and what it says without them.

use futures::StreamExt;
use registry_core::{ErrorKind, Override, OverrideStatus, Query, ReadOptions, ServiceDiscovery, WatchItem};
use registry_etcd::{EtcdConfig, EtcdRegistry};
use registry_testkit::etcd::EtcdCluster;
use tokio::time::timeout;

use crate::support::{PATIENCE, demo, id, ids, service, spec};

async fn guarded() -> EtcdCluster {
    let cluster = EtcdCluster::builder().auth("root-password").start().await.unwrap();
    for args in [
        &["user", "add", "app:app-password"][..],
        &["role", "add", "app"],
        &["role", "grant-permission", "app", "--prefix=true", "readwrite", "registry/"],
        &["user", "grant-role", "app", "app"],
        &["user", "add", "nobody:nothing"],
    ] {
        cluster.ctl(args).await.unwrap();
    }
    cluster
}

fn open(cluster: &EtcdCluster, user: &str, password: &str) -> EtcdRegistry {
    EtcdRegistry::open(&EtcdConfig::new(cluster.endpoints()).with_auth(user, password)).unwrap()
}

#[tokio::test]
async fn the_right_to_its_own_prefix_is_enough() {
    let cluster = guarded().await;
    let registry = open(&cluster, "app", "app-password");
    let mut watch = registry.watch(&Query::new(service("demo"))).unwrap();
    let registered = registry.register(demo("a")).await.unwrap();
    registry.heartbeat(&registered.lease).await.unwrap();
    registry.update(&registered.lease, spec().with_weight(7)).await.unwrap();
    let disabled = Override::status(OverrideStatus::Disabled, "me", "test");
    registry.set_override(&service("demo"), &id("a"), Some(disabled)).await.unwrap();
    assert_eq!(ids(&registry).await, ["a"]);
    assert_eq!(&*registry.services(ReadOptions::default()).await.unwrap().names, [service("demo")]);
    let last = loop {
        match timeout(PATIENCE, watch.next()).await.unwrap().unwrap().unwrap() {
            WatchItem::Snapshot(snapshot) if !snapshot.is_empty() => break snapshot.len(),
            WatchItem::Changes { changes, .. } => break changes.len(),
            _ => {}
        }
    };
    assert_eq!(last, 1);
    assert!(registry.deregister(&registered.lease).await.unwrap().is_some());
}

#[tokio::test]
async fn without_rights_every_call_says_so_and_a_watch_ends_by_it() {
    let cluster = guarded().await;
    let query = Query::new(service("demo"));
    for (user, password, expected) in
        [("nobody", "nothing", ErrorKind::PermissionDenied), ("app", "wrong", ErrorKind::Unauthenticated)]
    {
        let registry = open(&cluster, user, password);
        let error = registry.discover(&query, ReadOptions::default()).await.unwrap_err();
        assert_eq!(error.kind(), &expected, "{error}");
        assert!(!error.is_retryable());
        assert!(!format!("{error:?}").contains(password), "{error:?}");
        let error = registry.register(demo("a")).await.unwrap_err();
        assert_eq!(error.kind(), &expected, "{error}");
        let mut watch = registry.watch(&query).unwrap();
        let ended = loop {
            match timeout(PATIENCE, watch.next()).await.unwrap() {
                Some(Ok(_)) => {}
                Some(Err(error)) => break error,
                None => panic!("it ended without a word"),
            }
        };
        assert_eq!(ended.kind(), &expected, "{ended}");
        assert!(timeout(PATIENCE, watch.next()).await.unwrap().is_none());
    }
}
