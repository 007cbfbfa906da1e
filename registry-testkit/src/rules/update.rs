//! R7: updates.

use registry_core::{Change, ErrorKind, RemoveReason};

use crate::case::{Case, query};
use crate::refused;
use crate::words::{id, spec, tagged, version};

/// R7: an update is one change, from the old body to the new, of the same generation.
pub async fn r7_an_update_is_one_change_from_old_to_new(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    for port in 81..91 {
        let revision = case.registry.update(&a.lease, spec(port)).await.expect("an update");
        let Change::Updated { before, after } = watched.next_change().await else {
            panic!("an update comes out as `Updated`: {:?}", watched.items().last());
        };
        assert_eq!((&*before.own, &*after.own), (&spec(port - 1), &spec(port)));
        assert_eq!(after.generation, a.generation(), "an update keeps the generation");
        assert_eq!(after.revision, revision);
        let snapshot = case.discover("orders").await;
        assert_eq!(*snapshot.get(&id("a")).expect("it is listed").own, spec(port));
    }
}

/// R7: readers see the old body or the new, never a mixture and never none.
pub async fn r7_readers_see_old_or_new(case: &Case) {
    let body = |n: u16| {
        let mut body = tagged("port", n.to_string());
        body.endpoints = spec(n).endpoints;
        body
    };
    let mut registration = case.registration("orders", "a");
    registration.instance = body(100);
    let a = case.register(&registration).await;
    let writes = async {
        for n in 101..=160 {
            case.registry.update(&a.lease, body(n)).await.expect("an update");
        }
    };
    let reads = async {
        loop {
            let snapshot = case.discover("orders").await;
            let instance = snapshot.get(&id("a")).expect("it is never gone");
            let port = instance.endpoints()[0].port();
            assert_eq!(instance.metadata().get("port"), Some(port.to_string().as_str()), "half an update");
            if port == 160 {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    futures::join!(writes, reads);
}

/// R7: a changed version comes out as one update; the instance stands under the new version alone.
pub async fn r7_a_changed_version_is_one_update(case: &Case) {
    let mut registration = case.registration("orders", "a");
    registration.instance = spec(80).with_version(version("1"));
    let a = case.register(&registration).await;
    let mut watched = case.watch("orders").await;
    let mut of_one = case.watch_query(&query("orders").with_version(version("1"))).await;
    let mut of_two = case.watch_query(&query("orders").with_version(version("2"))).await;
    case.registry.update(&a.lease, spec(80).with_version(version("2"))).await.expect("an update");
    let Change::Updated { before, after } = watched.next_change().await else {
        panic!("a changed version comes out as one `Updated`: {:?}", watched.items().last());
    };
    assert_eq!((before.version(), after.version()), (Some(&version("1")), Some(&version("2"))));
    assert_eq!(after.generation, a.generation());
    let left = of_one.next_change().await;
    assert!(matches!(left, Change::Removed { reason: RemoveReason::Filtered, .. }), "{left:?}");
    assert!(matches!(of_two.next_change().await, Change::Added(_)));
    assert_eq!(case.ids("orders").await, ["a"], "one record of one id");
    case.registry.heartbeat(&a.lease).await.expect("the lease lives on");
}

/// R7: to update is to own: what is gone is not registered, what was taken over is fenced.
pub async fn r7_only_the_owner_updates(case: &Case) {
    let a = case.up("orders", "a").await;
    case.down(&a.lease).await;
    refused!(case.registry.update(&a.lease, spec(81)).await, ErrorKind::NotRegistered);
    assert!(case.ids("orders").await.is_empty(), "an update brought back what was deregistered");
    let b = case.up("orders", "a").await;
    refused!(case.registry.update(&a.lease, spec(82)).await, ErrorKind::Fenced);
    let snapshot = case.discover("orders").await;
    assert_eq!(snapshot.get(&id("a")).map(|i| i.generation), Some(b.generation()));
}
