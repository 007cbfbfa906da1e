//! D4, D5, H7, H9: a registrar that leaves, drains or pauses, and what may not happen then.

use std::time::Duration;

use futures::future::join_all;
use registry_core::{Change, ErrorKind, InstanceStatus, RegistrarStatus, RemoveReason, ServiceDiscovery};
use tokio::time::{Instant, timeout};

use crate::case::Case;
use crate::chaos::{Call, Chaos, Fault};
use crate::kept::Kept;
use crate::refused;
use crate::watched::Watched;
use crate::words::{id, service};

/// The time that deregistering may take to answer.
const DEADLINE: Duration = Duration::from_secs(2);

/// Nothing comes back for longer than a TTL.
async fn stays_away(case: &Case, kept: &Kept, watched: &mut Watched) {
    let until = Instant::now() + kept.ttl + case.timing.eps;
    while Instant::now() < until {
        assert!(case.ids(&kept.of).await.is_empty(), "H7: it came back");
        case.elapse(kept.ttl / 6).await;
    }
    watched.quiet(Duration::from_millis(1)).await;
    assert!(watched.state().is_empty());
}

/// D4: heartbeats stop before the removal is sent.
pub async fn d4_heartbeats_stop_first(case: &Case) {
    let kept = Kept::start(case).await;
    case.elapse(kept.ttl / 2).await;
    kept.chaos.script(Call::Deregister, [Fault::Late(Duration::from_secs(1))]);
    kept.registrar.deregister().await.expect("a deregistration");
    let sent = kept.chaos.calls(Call::Deregister)[0].at;
    case.elapse(kept.ttl).await;
    let late = kept.chaos.calls(Call::Heartbeat).into_iter().filter(|beat| beat.at > sent).count();
    assert_eq!(late, 0, "heartbeats after the deregistration was sent");
    assert!(case.ids("orders").await.is_empty());
}

/// D4: it answers within its deadline although nobody answers it; it goes on trying; it can be repeated.
pub async fn d4_it_answers_within_its_deadline_and_goes_on(case: &Case) {
    let kept = Kept::start_with(case, |config| config.with_ttl(crate::case::long())).await;
    kept.chaos.always(Call::Deregister, Fault::Silent);
    let asked = Instant::now();
    let answer = kept.registrar.deregister().await;
    assert!(answer.is_err(), "nobody acknowledged it");
    assert!(asked.elapsed() <= DEADLINE + case.timing.eps, "it took {:?}", asked.elapsed());
    assert_eq!(case.ids("orders").await, ["a"]);
    kept.chaos.calm();
    case.eventually("the removal goes on in the background", Duration::from_secs(10), async || {
        case.ids("orders").await.is_empty().then_some(())
    })
    .await;
    kept.registrar.deregister().await.expect("it can be repeated");
}

/// D4: a call whose outcome is unknown can be repeated.
pub async fn d4_an_ambiguous_call_can_be_repeated(case: &Case) {
    let chaos = Chaos::new(case.registry.clone());
    let a = case.up("orders", "a").await;
    chaos.script(Call::Deregister, [Fault::ReplyLost]);
    refused!(chaos.deregister(&a.lease).await, ErrorKind::Ambiguous);
    assert_eq!(chaos.deregister(&a.lease).await.expect("a repeat"), None);
    assert!(case.ids("orders").await.is_empty());
}

/// D5: a drain is seen for its whole time before the removal.
pub async fn d5_a_drain_is_seen_before_the_removal(case: &Case) {
    let drain = Duration::from_millis(700);
    let kept = Kept::start_with(case, |config| config.with_drain(drain)).await;
    let mut watched = case.watch("orders").await;
    let seen = async {
        let change = watched.next_change().await;
        let Change::Updated { after, .. } = change else { panic!("draining is an update: {change:?}") };
        assert_eq!(after.status(), InstanceStatus::Draining);
        assert!(case.discover("orders").await.routable().next().is_none(), "it drains and is still routable");
        let began = Instant::now();
        let change = watched.next_change().await;
        assert!(matches!(change, Change::Removed { reason: RemoveReason::Deregistered, .. }), "{change:?}");
        let lasted = began.elapsed() + Duration::from_millis(100).min(case.timing.eps);
        assert!(lasted >= drain, "it was seen draining for {lasted:?} only");
    };
    let (drained, ()) = futures::join!(kept.registrar.drain(), seen);
    drained.expect("a drain");
}

/// D5: a drain that cannot be written does not stop the removal.
pub async fn d5_a_drain_that_cannot_be_written_does_not_stop_the_removal(case: &Case) {
    let drain = Duration::from_millis(300);
    let kept = Kept::start_with(case, |config| config.with_drain(drain)).await;
    kept.chaos.always(Call::Update, Fault::Refused);
    kept.registrar.drain().await.expect("a drain");
    assert!(case.ids("orders").await.is_empty());
}

/// What a registration in flight may meet.
const IN_FLIGHT: [Fault; 4] =
    [Fault::Late(Duration::from_millis(400)), Fault::ReplyLost, Fault::ReplySilent, Fault::Silent];

/// H7: nothing comes back after `deregister`, also where a registration was in flight when it was called.
pub async fn h7_nothing_comes_back_after_deregister(case: &Case) {
    join_all(IN_FLIGHT.iter().enumerate().map(|(n, fault)| async move {
        let (kept, mut watched) = registering(case, &format!("orders-{n}"), *fault).await;
        let asked = Instant::now();
        let _answer = kept.registrar.deregister().await;
        assert!(asked.elapsed() <= DEADLINE + case.timing.eps, "{fault:?}: it took {:?}", asked.elapsed());
        gone(case, &kept, &mut watched, *fault).await;
    }))
    .await;
}

/// H7: nor after `close`: a registration in flight is awaited or undone.
pub async fn h7_nothing_comes_back_after_close(case: &Case) {
    join_all(IN_FLIGHT.iter().enumerate().map(|(n, fault)| async move {
        let (kept, mut watched) = registering(case, &format!("orders-{n}"), *fault).await;
        let closed = timeout(Duration::from_secs(2) + case.timing.eps, kept.registrar.close()).await;
        assert!(closed.is_ok(), "{fault:?}: close() did not come to an end");
        gone(case, &kept, &mut watched, *fault).await;
    }))
    .await;
}

/// A registrar that lost its registration and is registering again, which meets `fault`.
async fn registering(case: &Case, of: &str, fault: Fault) -> (Kept, Watched) {
    let kept = Kept::start_under(case, of).await;
    let mut watched = case.watch(of).await;
    kept.chaos.script(Call::Register, [fault]);
    let holder = case.registry.holder(&service(of), &id("a")).await.expect("holder").expect("it is held");
    case.down(&holder).await;
    watched.removed("a", case.soon()).await;
    kept.called(case, Call::Register, 1, kept.ttl + case.soon()).await;
    (kept, watched)
}

/// It is gone within its TTL at the latest, and stays away.
async fn gone(case: &Case, kept: &Kept, watched: &mut Watched, fault: Fault) {
    let bound = kept.ttl + case.timing.sweep + case.timing.eps;
    let empty = async || case.ids(&kept.of).await.is_empty().then_some(());
    case.eventually(&format!("{fault:?}: it is gone"), bound, empty).await;
    // What was in flight came and went: that is told, and then nothing more.
    watched.drain(case.timing.eps).await;
    stays_away(case, kept, watched).await;
}

/// H9: paused it is gone as deregistered and stays away; resumed it is back; both may be said twice.
pub async fn h9_pause_and_resume(case: &Case) {
    let kept = Kept::start(case).await;
    let mut watched = case.watch("orders").await;
    for _ in 0..2 {
        for _ in 0..2 {
            kept.registrar.pause().await.expect("a pause");
        }
        let change = watched.next_change().await;
        assert!(matches!(change, Change::Removed { reason: RemoveReason::Deregistered, .. }), "{change:?}");
        stays_away(case, &kept, &mut watched).await;
        assert!(matches!(*kept.registrar.status().borrow(), RegistrarStatus::Paused));
        for _ in 0..2 {
            kept.registrar.resume().await.expect("a resumption");
        }
        assert!(matches!(watched.next_change().await, Change::Added(_)));
        watched.quiet(kept.ttl).await;
    }
    kept.registrar.deregister().await.expect("a deregistration");
}

/// H9: deregister and close end a pause, also with a registration in flight.
pub async fn h9_deregister_and_close_end_a_pause(case: &Case) {
    let late = Fault::Late(Duration::from_millis(300));
    let ways = [(false, None), (false, Some(late)), (true, None), (true, Some(late))];
    join_all(ways.into_iter().enumerate().map(|(n, (close, in_flight))| async move {
        let of = format!("orders-{n}");
        let kept = Kept::start_under(case, &of).await;
        let mut watched = case.watch(&of).await;
        kept.registrar.pause().await.expect("a pause");
        watched.removed("a", case.soon()).await;
        let resuming = async {
            if let Some(fault) = in_flight {
                kept.chaos.script(Call::Register, [fault]);
                let _ended_by_the_other = kept.registrar.resume().await;
            }
        };
        let ending = async {
            if in_flight.is_some() {
                kept.called(case, Call::Register, 1, case.soon()).await;
            }
            if close {
                kept.registrar.close().await;
            } else {
                kept.registrar.deregister().await.expect("a deregistration");
            }
        };
        let both = async { futures::join!(resuming, ending) };
        let ended = timeout(DEADLINE + case.soon(), both).await;
        assert!(ended.is_ok(), "close: {close}, {in_flight:?}: one of them blocks");
        let status = kept.registrar.status().borrow().clone();
        assert!(status.is_final(), "{status:?}");
        gone(case, &kept, &mut watched, in_flight.unwrap_or(Fault::None)).await;
    }))
    .await;
}

/// H9: neither blocks for ever while nobody answers.
pub async fn h9_neither_blocks_for_ever(case: &Case) {
    let kept = Kept::start(case).await;
    kept.chaos.always(Call::Deregister, Fault::Silent);
    kept.chaos.always(Call::Register, Fault::Silent);
    let bound = Duration::from_secs(10);
    assert!(timeout(bound, kept.registrar.pause()).await.is_ok(), "pause blocks");
    assert!(timeout(bound, kept.registrar.resume()).await.is_ok(), "resume blocks");
    kept.chaos.calm();
    kept.status("registered again", Duration::from_secs(10), RegistrarStatus::is_registered).await;
    kept.registrar.deregister().await.expect("a deregistration");
}
