//! W18: watches for one version.

use registry_core::{Change, Override, RemoveReason};

use crate::case::{Case, query};
use crate::words::{id, service, spec, version};

async fn up(case: &Case, instance: &str, of: &str) -> registry_core::Registered {
    let mut registration = case.registration("orders", instance);
    registration.instance = spec(80).with_version(version(of));
    case.register(&registration).await
}

/// W18: what enters the version is added, what leaves it is filtered, and it lives on.
pub async fn w18_entering_is_added_leaving_is_filtered(case: &Case) {
    let mut of_one = case.watch_query(&query("orders").with_version(version("1"))).await;
    let a = up(case, "a", "2").await;
    case.registry.update(&a.lease, spec(80).with_version(version("1"))).await.expect("an update");
    let change = of_one.next_change().await;
    assert!(matches!(&change, Change::Added(instance) if instance.id == "a"), "{change:?}");
    for next in [spec(80).with_version(version("2")), spec(80)] {
        case.registry.update(&a.lease, spec(80).with_version(version("1"))).await.expect("an update");
        of_one.until("it is back", case.soon(), |state| state.len() == 1).await;
        case.registry.update(&a.lease, next).await.expect("an update");
        let change = of_one.next_change().await;
        assert!(matches!(change, Change::Removed { reason: RemoveReason::Filtered, .. }), "{change:?}");
    }
    case.registry.heartbeat(&a.lease).await.expect("it lives on");
}

/// W18: a revision that changes nothing in the view gives no item.
pub async fn w18_what_concerns_other_versions_is_not_told(case: &Case) {
    up(case, "mine", "1").await;
    let mut of_one = case.watch_query(&query("orders").with_version(version("1"))).await;
    let a = up(case, "a", "2").await;
    up(case, "b", "1.0").await;
    case.up("orders", "c").await;
    let operator = Override::weight(1, "test", "W18");
    case.registry
        .set_override(&service("orders"), &id("a"), Some(operator.clone()))
        .await
        .expect("an override");
    case.registry.update(&a.lease, spec(81).with_version(version("3"))).await.expect("an update");
    case.down(&a.lease).await;
    of_one.quiet(case.timing.eps).await;
    case.registry.set_override(&service("orders"), &id("mine"), Some(operator)).await.expect("an override");
    let change = of_one.next_change().await;
    assert!(matches!(&change, Change::Updated { after, .. } if after.id == "mine"), "{change:?}");
    assert_eq!(of_one.state().len(), 1);
}

/// W18: the same id in a view and out of it: a deregistration is told as such, to those who saw it.
pub async fn w18_a_view_hears_the_end_of_what_it_saw(case: &Case) {
    let a = up(case, "a", "1").await;
    let mut of_one = case.watch_query(&query("orders").with_version(version("1"))).await;
    let mut of_two = case.watch_query(&query("orders").with_version(version("2"))).await;
    case.down(&a.lease).await;
    let change = of_one.next_change().await;
    assert!(matches!(change, Change::Removed { reason: RemoveReason::Deregistered, .. }), "{change:?}");
    of_two.quiet(case.timing.eps).await;
}
