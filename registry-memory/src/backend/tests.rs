use futures::StreamExt;
use registry_core::{Change, Directory, DirectoryConfig, RemoveReason, StalePolicy, WatchItem};
use tokio::time::{advance, sleep};

use super::*;

fn registration(service: &str, id: &str, ttl: u64) -> Registration {
    let instance = InstanceSpec::new("http://10.0.0.1:80".parse().unwrap());
    let ttl = Duration::from_secs(ttl).try_into().unwrap();
    Registration::new(service.parse().unwrap(), id.parse().unwrap(), instance).with_ttl(ttl)
}

fn query(service: &str) -> Query {
    Query::new(service.parse().unwrap())
}

#[tokio::test(start_paused = true)]
async fn the_timer_evicts_at_the_deadline_and_not_at_the_sweep() {
    let registry = MemoryRegistry::new();
    let mut watch = registry.watch(&query("s")).unwrap();
    watch.next().await;
    let started = Instant::now();
    registry.register(registration("s", "a", 7)).await.unwrap();
    watch.next().await;
    let Some(Ok(WatchItem::Changes { changes, .. })) = watch.next().await else { panic!() };
    assert!(matches!(&changes[..], [Change::Removed { reason: RemoveReason::Expired, .. }]));
    assert!(started.elapsed() < Duration::from_millis(7_005));
}

#[tokio::test(start_paused = true)]
async fn a_read_evicts_for_itself_where_no_timer_runs() {
    let registry = MemoryRegistry::new();
    registry.register(registration("s", "a", 7)).await.unwrap();
    registry.handle.store.timer.stop().await;
    advance(Duration::from_secs(7)).await;
    assert!(registry.discover(&query("s"), ReadOptions::default()).await.unwrap().is_empty());
    assert!(registry.services(ReadOptions::default()).await.unwrap().names.is_empty());
}

#[tokio::test(start_paused = true)]
async fn discover_hands_out_the_same_snapshot_until_something_changes() {
    let registry = MemoryRegistry::new();
    let lease = registry.register(registration("s", "a", 15)).await.unwrap().lease;
    let first = registry.discover(&query("s"), ReadOptions::default()).await.unwrap();
    registry.heartbeat(&lease).await.unwrap();
    let second = registry.discover(&query("s"), ReadOptions::default()).await.unwrap();
    assert!(Arc::ptr_eq(&first, &second));
}

#[tokio::test(start_paused = true)]
async fn services_that_nobody_needs_are_forgotten() {
    let registry = MemoryRegistry::new();
    for n in 0..100 {
        drop(registry.watch(&query(&format!("s{n}"))).unwrap());
        let registered = registry.register(registration(&format!("t{n}"), "a", 1)).await.unwrap();
        registry.deregister(&registered.lease).await.unwrap();
    }
    let held = registration("u", "a", 60 * 60);
    let held = registry.register(held).await.unwrap();
    registry.deregister(&held.lease).await.unwrap();
    sleep(Duration::from_secs(16)).await;
    assert_eq!(registry.space().services.len(), 0);
    assert_eq!(registry.handle.store.waiting(), 0, "nothing waits for their deadlines either");
}

#[tokio::test(start_paused = true)]
async fn a_sweep_put_off_for_ever_does_not_stop_the_timer() {
    for sweep in [Duration::MAX, Duration::ZERO] {
        let registry = MemoryRegistry::with_config(MemoryConfig { sweep, ..MemoryConfig::default() });
        let mut watch = registry.watch(&query("s")).unwrap();
        watch.next().await;
        registry.register(registration("s", "a", 1)).await.unwrap();
        watch.next().await;
        let removal = tokio::time::timeout(Duration::from_secs(2), watch.next()).await;
        assert!(matches!(removal, Ok(Some(Ok(WatchItem::Changes { .. })))));
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_of_another_registry_or_namespace_proves_nothing() {
    let one = MemoryRegistry::new();
    let lease = one.register(registration("s", "a", 15)).await.unwrap().lease;
    let other = MemoryRegistry::new();
    let elsewhere = one.in_namespace(&"other".parse().unwrap());
    for registry in [&other, &elsewhere] {
        registry.register(registration("s", "b", 15)).await.unwrap();
        assert_eq!(registry.heartbeat(&lease).await.unwrap_err().kind(), &ErrorKind::NotRegistered);
        assert_eq!(registry.deregister(&lease).await.unwrap(), None);
    }
    assert!(one.heartbeat(&lease).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn the_last_handle_takes_the_task_with_it() {
    let one = MemoryRegistry::new();
    let two = one.in_namespace(&Namespace::default());
    one.register(registration("s", "a", 15)).await.unwrap();
    one.close().await;
    assert_eq!(
        one.heartbeat(&two.holder(&"s".parse().unwrap(), &"a".parse().unwrap()).await.unwrap().unwrap())
            .await
            .unwrap_err()
            .kind(),
        &ErrorKind::Closed
    );
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 1);
    two.close().await;
    two.close().await;
    assert_eq!(tokio::runtime::Handle::current().metrics().num_alive_tasks(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_closed_handle_delivers_what_is_queued_and_calls_no_list_fresh_any_more() {
    let registry = MemoryRegistry::new();
    let other = registry.in_namespace(&Namespace::default());
    let object: Arc<dyn ServiceDiscovery> = Arc::new(registry.clone());
    let stale = StalePolicy::FailAfter(Duration::from_secs(1));
    let mut untouched = other.watch(&query("s")).unwrap();
    let mut queued = registry.watch(&query("s")).unwrap();
    let directory = Directory::open(&object, query("s"), DirectoryConfig { stale }).unwrap();
    registry.register(registration("s", "a", 15)).await.unwrap();
    directory.ready(Duration::from_secs(1)).await.unwrap();
    registry.close().await;
    assert!(matches!(queued.next().await, Some(Ok(WatchItem::Snapshot(_)))));
    assert!(matches!(queued.next().await, Some(Ok(WatchItem::Changes { .. }))));
    assert!(queued.next().await.is_none());
    advance(Duration::from_secs(2)).await;
    assert_eq!(directory.age(), Some(Duration::from_secs(2)));
    assert!(!directory.status().is_connected());
    assert!(directory.snapshot().is_err(), "the policy is to fail");
    assert!(matches!(untouched.next().await, Some(Ok(WatchItem::Snapshot(_)))), "another handle's goes on");
    drop(registry);
    assert!(untouched.next().await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_registration_that_names_no_ttl_has_the_handles() {
    let targets = registry_core::Targets::new().with(crate::target());
    let registry = targets.open("memory:?ttl=4s").unwrap();
    let mut registration = registration("s", "a", 15);
    registration.ttl = None;
    assert_eq!(registry.register(registration).await.unwrap().ttl.get(), Duration::from_secs(4));
}

#[test]
fn x2_expiry_is_told_after_the_runtime_of_the_timer_is_gone() {
    let registry = MemoryRegistry::new();
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (one, two) = (runtime(), runtime());
    let mut leaves = one.block_on(async { registry.watch(&query("s")).unwrap() });
    one.block_on(leaves.next());
    let mut stays = two.block_on(async { registry.watch(&query("s")).unwrap() });
    one.block_on(registry.register(registration("s", "a", 1))).unwrap();
    drop(one);
    two.block_on(async {
        stays.next().await;
        stays.next().await;
        let removal = tokio::time::timeout(Duration::from_secs(2), stays.next()).await;
        assert!(matches!(removal, Ok(Some(Ok(WatchItem::Changes { .. })))), "{removal:?}");
    });
}

#[test]
fn it_lives_through_several_runtimes() {
    let registry = MemoryRegistry::new();
    for id in ["a", "b"] {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let registered = registry.register(registration("s", id, 15)).await.unwrap();
            assert!(registry.heartbeat(&registered.lease).await.is_ok());
        });
    }
    assert!(registry.watch(&query("s")).is_err(), "no runtime is an error and no panic");
}
