//! H4 and H5: the loop that keeps a registration.

use std::time::Duration;

use registry_core::{LostPolicy, RegistrarStatus};
use tokio::time::Instant;

use crate::case::Case;
use crate::chaos::{Call, Fault};
use crate::kept::Kept;

/// H4: the loop goes on through an outage of many TTLs, its tries no further apart than TTL/3, and comes back.
pub async fn h4_the_loop_outlives_any_outage(case: &Case) {
    let kept = Kept::start(case).await;
    for call in [Call::Heartbeat, Call::Register, Call::Update, Call::Holder, Call::Discover] {
        kept.chaos.always(call, Fault::Refused);
    }
    let began = Instant::now();
    case.elapse(kept.ttl * 4).await;
    let lost = kept.registrar.status().borrow().clone();
    assert!(matches!(lost, RegistrarStatus::Lost { gave_up: false, .. }), "{lost:?}");
    let tries: Vec<_> = kept.chaos.made().iter().map(|made| made.at).filter(|at| *at >= began).collect();
    for pair in tries.windows(2) {
        let gap = pair[1] - pair[0];
        assert!(gap <= kept.ttl / 3 + case.timing.eps, "{gap:?} without a try, at a TTL of {:?}", kept.ttl);
    }
    kept.chaos.calm();
    kept.status("registered again", kept.ttl / 3 + case.soon(), RegistrarStatus::is_registered).await;
    assert_eq!(case.ids("orders").await, ["a"]);
    kept.registrar.deregister().await.expect("a deregistration");
}

/// H4: giving up is for the application to choose; then it is the end, and the status says so.
pub async fn h4_giving_up_is_for_the_application_to_choose(case: &Case) {
    let patience = case.timing.ttl;
    let kept = Kept::start_with(case, |config| config.with_lost(LostPolicy::GiveUpAfter(patience))).await;
    kept.chaos.always(Call::Heartbeat, Fault::Refused);
    kept.chaos.always(Call::Register, Fault::Refused);
    let bound = kept.ttl * 2 + patience + case.timing.eps;
    kept.status("given up", bound, |status| matches!(status, RegistrarStatus::Lost { gave_up: true, .. }))
        .await;
    let calls = kept.chaos.made().len();
    case.elapse(kept.ttl).await;
    assert_eq!(kept.chaos.made().len(), calls, "it gave up and goes on calling");
}

/// H5: a heartbeat every TTL/3, up to a tenth earlier.
pub async fn h5_a_heartbeat_every_third_of_the_ttl(case: &Case) {
    let kept = Kept::start(case).await;
    case.elapse(kept.ttl * 3).await;
    let beats = kept.chaos.calls(Call::Heartbeat);
    assert!(beats.len() >= 6, "{} heartbeats in three TTLs", beats.len());
    let gaps: Vec<_> = beats.windows(2).map(|pair| pair[1].at - pair[0].at).collect();
    let least = kept.interval().mul_f64(0.9).saturating_sub(Duration::from_millis(2));
    for gap in &gaps {
        assert!(*gap >= least, "{gap:?} is more often than TTL/3 less a tenth");
        assert!(*gap <= kept.interval() + case.timing.eps, "{gap:?} is less often than TTL/3");
    }
    assert!(gaps.windows(2).any(|pair| pair[0] != pair[1]), "no jitter: {gaps:?}");
    kept.registrar.deregister().await.expect("a deregistration");
}

/// H5: two heartbeats in a row, refused or lost in silence, never cost the instance.
pub async fn h5_two_lost_heartbeats_never_cost_an_instance(case: &Case) {
    let kept = Kept::start(case).await;
    let mut watched = case.watch("orders").await;
    let lost = [Fault::Refused, Fault::Silent, Fault::ReplyLost, Fault::ReplySilent];
    let pairs = [(0, 0), (1, 1), (0, 1), (1, 0), (2, 2), (3, 3)];
    kept.chaos.script(Call::Heartbeat, pairs.iter().flat_map(|(a, b)| [lost[*a], lost[*b], Fault::None]));
    let bound = kept.ttl * 2 * u32::try_from(pairs.len()).expect("few");
    kept.called(case, Call::Heartbeat, pairs.len() * 3, bound).await;
    assert_eq!(case.ids("orders").await, ["a"]);
    watched.quiet(case.timing.eps).await;
    assert_eq!(kept.told().await.last().map(String::as_str), Some("registered"));
    assert_eq!(kept.chaos.calls(Call::Register).len(), 1, "it never had to register again");
    kept.registrar.deregister().await.expect("a deregistration");
}

/// H5: the first two retries each begin within TTL/12 of the failure.
pub async fn h5_the_first_two_retries_are_quick(case: &Case) {
    let kept = Kept::start(case).await;
    kept.chaos.script(Call::Heartbeat, [Fault::None, Fault::Refused, Fault::Refused]);
    kept.called(case, Call::Heartbeat, 3, kept.ttl * 3).await;
    let beats = kept.chaos.calls(Call::Heartbeat);
    for pair in beats[1..4].windows(2) {
        let gap = pair[1].at - pair[0].at;
        assert!(gap <= kept.ttl / 12 + case.timing.eps, "{gap:?} to a retry, at a TTL of {:?}", kept.ttl);
    }
    kept.registrar.deregister().await.expect("a deregistration");
}

/// H5: an attempt that nobody answers is over after min(2 s, TTL/6).
pub async fn h5_an_attempt_is_bounded(case: &Case) {
    let kept = Kept::start(case).await;
    kept.chaos.script(Call::Heartbeat, [Fault::Silent, Fault::Silent]);
    kept.called(case, Call::Heartbeat, 2, kept.ttl * 3).await;
    let beats = kept.chaos.calls(Call::Heartbeat);
    let attempt = (kept.ttl / 6).min(Duration::from_secs(2));
    for pair in beats[..3].windows(2) {
        let gap = pair[1].at - pair[0].at;
        let bound = attempt + kept.ttl / 12 + case.timing.eps;
        assert!(gap <= bound, "{gap:?} until the next attempt; {bound:?} is the most");
    }
    kept.registrar.deregister().await.expect("a deregistration");
}
