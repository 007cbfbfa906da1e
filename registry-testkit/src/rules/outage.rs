//! D4, H4, R6, X5: what calls answer while the backend is dead.

use registry_core::{ErrorKind, ReadOptions};
use tokio::time::Instant;

use crate::case::{Case, query};
use crate::kept::{Kept, config};
use crate::refused;
use crate::words::spec;

/// H4: a heartbeat that reaches nobody is `Unavailable`, and tells the time left.
pub async fn h4_unreachable_tells_the_time_left(case: &Case) {
    let a = case.up("orders", "a").await;
    let faults = case.faults();
    faults.kill().await;
    let error = refused!(case.registry.heartbeat(&a.lease).await, ErrorKind::Unavailable { .. });
    let ErrorKind::Unavailable { time_left: Some(left) } = *error.kind() else {
        panic!("the time left is not told: {error:?}");
    };
    assert!(left <= a.ttl.get() && left + case.soon() * 2 >= a.ttl.get(), "{left:?} left of {}", a.ttl);
    faults.heal().await;
}

/// R6: a write that reaches nobody failed or is ambiguous; repeated with the same token it ends with one instance.
pub async fn r6_a_write_into_an_outage_is_repeated(case: &Case) {
    let faults = case.faults();
    let registration = case.registration("orders", "a");
    let b = case.up("orders", "b").await;
    faults.kill().await;
    let unknown = |kind: &ErrorKind| matches!(kind, ErrorKind::Unavailable { .. } | ErrorKind::Ambiguous);
    for error in [
        case.registry.register(registration.clone()).await.map(|_| ()),
        case.registry.update(&b.lease, spec(81)).await.map(|_| ()),
        case.registry.deregister(&b.lease).await.map(|_| ()),
    ] {
        let error = error.expect_err("nobody is there");
        assert!(unknown(error.kind()), "{error:?}");
    }
    faults.heal().await;
    let again = case.eventually("the repeat is taken", case.soon() * 3, async || {
        match case.registry.register(registration.clone()).await {
            Ok(answer) => Some(answer),
            Err(error) => {
                assert!(unknown(error.kind()), "{error:?}");
                None
            }
        }
    });
    let again = again.await;
    case.registry.heartbeat(&again.lease).await.expect("it lives");
    let listed = case.discover("orders").await;
    assert_eq!(listed.instances.iter().filter(|instance| instance.id == "a").count(), 1);
}

/// X5: a client that cannot reach the backend invents no expiry: its data is marked stale, and stays.
pub async fn x5_no_expiry_is_invented(case: &Case) {
    let a = case.register(&case.brief("orders", "a")).await;
    let mut watched = case.watch("orders").await;
    let faults = case.faults();
    faults.kill().await;
    let end = Instant::now() + a.ttl.get() * 2;
    while Instant::now() < end {
        watched.quiet(case.timing.ttl / 4).await;
        let state = watched.stream().state().load();
        assert_eq!(state.snapshot.as_ref().map(|snapshot| snapshot.len()), Some(1), "an expiry was invented");
    }
    assert!(!watched.stream().state().load().status.is_connected(), "the data is not marked stale");
    refused!(
        case.registry.discover(&query("orders"), ReadOptions::default()).await,
        ErrorKind::Unavailable { .. } | ErrorKind::DeadlineExceeded
    );
    faults.heal().await;
}

/// D4: a registrar that leaves a dead registry answers within its deadline, and close is bounded too.
pub async fn d4_leaving_a_dead_registry_is_bounded(case: &Case) {
    let kept = Kept::start_with(case, |_| config(case)).await;
    let faults = case.faults();
    faults.freeze().await;
    let asked = Instant::now();
    let answer = kept.registrar.deregister().await;
    assert!(answer.is_err(), "nobody can have acknowledged it");
    let bound = std::time::Duration::from_secs(2) + case.timing.eps;
    assert!(asked.elapsed() <= bound, "it took {:?}", asked.elapsed());
    kept.registrar.close().await;
    faults.heal().await;
}
