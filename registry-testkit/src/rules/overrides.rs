//! Q11: what an operator imposes.

use std::time::Duration;

use registry_core::{Change, ErrorKind, InstanceStatus, Override, OverrideStatus, ReadOptions, Takeover};

use crate::case::{Case, names};
use crate::refused;
use crate::watched::Watched;
use crate::words::{id, service, spec};

fn drain() -> Override {
    Override::status(OverrideStatus::Draining, "test", "Q11")
}

async fn impose(case: &Case, instance: &str, value: Option<Override>) -> registry_core::Revision {
    case.registry.set_override(&service("orders"), &id(instance), value).await.expect("an override")
}

/// The status and weight that a list shows.
async fn shown(case: &Case, instance: &str) -> (InstanceStatus, u32) {
    let snapshot = case.discover("orders").await;
    let instance = snapshot.get(&id(instance)).expect("it lives");
    (instance.status(), instance.weight())
}

/// Reads one change, which must be an update.
async fn updated(watched: &mut Watched) {
    let change = watched.next_change().await;
    assert!(matches!(change, Change::Updated { .. }), "{change:?}");
}

/// Q11: set and removed, each one update of the living instance at the acknowledged revision.
pub async fn q11_an_override_is_one_update(case: &Case) {
    case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    let set = impose(case, "a", Some(drain())).await;
    updated(&mut watched).await;
    assert_eq!(watched.state().revision, set);
    assert_eq!(shown(case, "a").await, (InstanceStatus::Draining, 100));
    let lifted = impose(case, "a", None).await;
    updated(&mut watched).await;
    assert_eq!(watched.state().revision, lifted);
    assert_eq!(shown(case, "a").await, (InstanceStatus::Up, 100));
    watched.quiet(case.timing.eps).await;
}

/// Q11: what changes nothing makes no event.
pub async fn q11_an_override_that_changes_nothing_is_no_event(case: &Case) {
    case.up("orders", "a").await;
    impose(case, "a", Some(drain())).await;
    let mut watched = case.watch("orders").await;
    impose(case, "a", Some(drain())).await;
    impose(case, "absent", Some(drain())).await;
    impose(case, "absent", None).await;
    impose(case, "never-set", None).await;
    watched.quiet(case.timing.eps).await;
}

/// Q11: the more restrictive status counts, whoever said it, and the operator's weight.
pub async fn q11_the_more_restrictive_status_counts(case: &Case) {
    use InstanceStatus::{Disabled, Draining, Starting, Up};
    let a = case.up("orders", "a").await;
    let imposable = [None, Some(OverrideStatus::Draining), Some(OverrideStatus::Disabled)];
    for (own, effective) in [
        (Up, [Up, Draining, Disabled]),
        (Starting, [Starting, Draining, Disabled]),
        (Draining, [Draining, Draining, Disabled]),
        (Disabled, [Disabled, Disabled, Disabled]),
    ] {
        case.registry.update(&a.lease, spec(80).with_status(own)).await.expect("an update");
        for (status, wanted) in imposable.into_iter().zip(effective) {
            let mut operator = Override::weight(3, "test", "Q11");
            operator.status = status;
            impose(case, "a", Some(operator)).await;
            assert_eq!(shown(case, "a").await, (wanted, 3), "own {own:?}, imposed {status:?}");
        }
    }
    impose(case, "a", Some(drain())).await;
    assert_eq!(shown(case, "a").await.1, 100, "a whole override replaces the one before");
}

/// Q11: it outlasts updates, takeovers, re-registrations, deregistration and expiry.
pub async fn q11_an_override_outlasts_its_instance(case: &Case) {
    let a = case.up("orders", "a").await;
    impose(case, "a", Some(drain())).await;
    let draining = async |after: &str| {
        assert_eq!(shown(case, "a").await.0, InstanceStatus::Draining, "lost by {after}");
    };
    case.registry.update(&a.lease, spec(81)).await.expect("an update");
    draining("an update").await;
    let b = case.register(&case.registration("orders", "a").with_takeover(Takeover::Always)).await;
    draining("a takeover").await;
    case.down(&b.lease).await;
    case.register(&case.brief("orders", "a")).await;
    draining("a deregistration").await;
    case.elapse(case.timing.ttl + case.timing.sweep + case.timing.eps).await;
    assert!(case.ids("orders").await.is_empty());
    case.up("orders", "a").await;
    draining("an expiry").await;
    impose(case, "a", None).await;
    assert_eq!(shown(case, "a").await.0, InstanceStatus::Up);
}

/// Q11: it may be set before its instance lives; then the instance comes with it, and no name appears before.
pub async fn q11_an_override_makes_nothing_appear(case: &Case) {
    let mut watched = case.watch("orders").await;
    impose(case, "a", Some(drain())).await;
    assert!(case.ids("orders").await.is_empty(), "an override made an instance appear");
    let services = case.registry.services(ReadOptions::default()).await.expect("services");
    assert!(names(&services.names).is_empty(), "an override made a service appear");
    case.up("orders", "a").await;
    let change = watched.next_change().await;
    let Change::Added(instance) = change else { panic!("an addition: {change:?}") };
    assert_eq!(instance.status(), InstanceStatus::Draining, "the addition comes with its override");
    watched.quiet(case.timing.eps).await;
}

/// Q11: an override with a life ends by it, in one update.
pub async fn q11_an_override_ends_by_its_life(case: &Case) {
    case.up("orders", "a").await;
    let life = case.timing.ttl;
    let mut watched = case.watch("orders").await;
    impose(case, "a", Some(drain().lasting(life))).await;
    updated(&mut watched).await;
    let before = tokio::time::Instant::now();
    let changes = watched.next_changes(life + case.timing.sweep + case.timing.eps).await;
    assert!(
        matches!(&changes[..], [Change::Updated { after, .. }] if after.overridden.is_none()),
        "{changes:?}"
    );
    assert!(before.elapsed() + case.timing.eps >= life, "it ended early, after {:?}", before.elapsed());
    assert_eq!(shown(case, "a").await.0, InstanceStatus::Up);
    watched.quiet(case.timing.eps).await;
}

/// Q11: setting it anew sets its life anew; without a life it stays.
pub async fn q11_a_new_override_has_a_life_of_its_own(case: &Case) {
    case.up("orders", "a").await;
    let life = case.timing.ttl;
    impose(case, "a", Some(drain().lasting(life))).await;
    impose(case, "a", Some(drain())).await;
    case.elapse(life + case.timing.sweep + case.timing.eps).await;
    assert_eq!(shown(case, "a").await.0, InstanceStatus::Draining, "it ended by a life that was replaced");
}

/// Q11: what cannot be imposed is refused and named.
pub async fn q11_a_bad_override_is_refused(case: &Case) {
    case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    for bad in [
        Override::default(),
        drain().lasting(Duration::ZERO),
        drain().lasting(Duration::MAX),
        Override::weight(1, "line\nbreak", ""),
    ] {
        let answer = case.registry.set_override(&service("orders"), &id("a"), Some(bad)).await;
        refused!(answer, ErrorKind::InvalidArgument { .. });
    }
    watched.quiet(case.timing.eps).await;
}
