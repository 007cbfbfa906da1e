//! C2: what becomes of a registration whose handle goes.

use std::time::Duration;

use crate::case::Case;
use crate::chaos::Call;
use crate::kept::Kept;

/// C2: dropped where a runtime is current, heartbeats stop and it deregisters within a second.
pub async fn c2_a_dropped_registrar_deregisters(case: &Case) {
    let Kept { registrar, chaos, ttl, .. } =
        Kept::start_with(case, |config| config.with_ttl(crate::case::long())).await;
    drop(registrar);
    case.eventually("it is deregistered", Duration::from_secs(1) + case.timing.eps, async || {
        case.ids("orders").await.is_empty().then_some(())
    })
    .await;
    let beats = chaos.calls(Call::Heartbeat).len();
    case.elapse((ttl / 2).min(case.timing.ttl * 2)).await;
    assert_eq!(chaos.calls(Call::Heartbeat).len(), beats, "a dropped registrar beats on");
}

/// C2: dropped outside of any runtime it does not panic; heartbeats stop and it expires.
pub async fn c2_dropped_outside_a_runtime_it_expires(case: &Case) {
    let Kept { registrar, chaos, ttl, .. } = Kept::start(case).await;
    let dropped = std::thread::spawn(move || drop(registrar)).join();
    assert!(dropped.is_ok(), "it panicked outside of a runtime");
    let bound = ttl + case.timing.sweep + case.timing.eps;
    case.eventually("it expires", bound, async || case.ids("orders").await.is_empty().then_some(())).await;
    let beats = chaos.calls(Call::Heartbeat).len();
    case.elapse(ttl).await;
    assert_eq!(chaos.calls(Call::Heartbeat).len(), beats, "a dropped registrar beats on");
}

/// C2: detached it beats on, until its registry is closed.
pub async fn c2_detached_it_beats_on(case: &Case) {
    let Kept { registrar, chaos, ttl, .. } = Kept::start(case).await;
    registrar.detach();
    let mut watched = case.watch("orders").await;
    watched.quiet(ttl * 2).await;
    assert_eq!(case.ids("orders").await, ["a"]);
    assert!(chaos.calls(Call::Heartbeat).len() >= 5);
}
