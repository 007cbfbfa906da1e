//! H6, H8, R7: a registration that was lost, or damaged, heals.

use std::time::Duration;

use registry_core::{Change, ErrorKind, RegistrarStatus, RemoveReason, Slot};

use crate::case::Case;
use crate::chaos::{Call, Fault};
use crate::kept::Kept;
use crate::words::{id, service, spec, version};

/// Takes the registration away as an operator does.
async fn take_away(case: &Case) {
    let holder =
        case.registry.holder(&service("orders"), &id("a")).await.expect("holder").expect("it is held");
    case.down(&holder).await;
}

/// H6: the loop that hears `NotRegistered` registers again within max(1 s, interval), as a new generation, and its
/// status tells `Lost` and `Registered`.
pub async fn h6_a_lost_registration_comes_back(case: &Case) {
    let kept = Kept::start(case).await;
    let first = kept.registrar.status().borrow().generation().expect("registered");
    take_away(case).await;
    kept.called(case, Call::Register, 1, kept.interval() + Duration::from_secs(1) + case.soon()).await;
    kept.status("registered again", case.soon(), |status| {
        status.generation().is_some_and(|now| now != first)
    })
    .await;
    let beats = kept.chaos.calls(Call::Heartbeat);
    let heard =
        beats.iter().find(|beat| beat.error == Some(ErrorKind::NotRegistered)).expect("it heard so").at;
    let again = kept.chaos.calls(Call::Register)[1].at;
    let bound = kept.interval().max(Duration::from_secs(1)) + case.timing.eps;
    assert!(again - heard <= bound, "{:?} until it registered again; {bound:?} is the most", again - heard);
    assert_eq!(case.ids("orders").await, ["a"]);
    assert_eq!(kept.told().await, ["registering", "registered", "lost", "registered"]);
    kept.registrar.deregister().await.expect("a deregistration");
}

/// H6, R7: it comes back with the newest body, its version included.
pub async fn h6_it_comes_back_with_the_newest_body(case: &Case) {
    let kept = Kept::start(case).await;
    let newest = spec(81).with_version(version("2")).with_weight(7);
    kept.registrar.update(newest.clone()).await.expect("an update");
    take_away(case).await;
    kept.called(case, Call::Register, 1, kept.ttl + case.soon()).await;
    let listed = case
        .eventually("it is back", case.soon(), async || case.discover("orders").await.get(&id("a")).cloned());
    assert_eq!(*listed.await.own, newest);
    kept.registrar.deregister().await.expect("a deregistration");
}

/// H6: whatever befalls the tries, it comes back.
pub async fn h6_it_comes_back_through_trouble(case: &Case) {
    let kept = Kept::start(case).await;
    kept.chaos.script(Call::Register, [Fault::Refused, Fault::ReplyLost, Fault::Silent, Fault::ReplySilent]);
    let mut watched = case.watch("orders").await;
    take_away(case).await;
    watched.removed("a", case.soon()).await;
    // A write that nobody answers may take 2 s, and between two tries TTL/3 may pass.
    let bound = Duration::from_secs(10) + kept.ttl * 2 + case.soon();
    kept.called(case, Call::Register, 4, bound).await;
    kept.status("registered again", case.soon(), RegistrarStatus::is_registered).await;
    assert_eq!(case.ids("orders").await, ["a"]);
    let additions = watched.changes().filter(|change| matches!(change, Change::Added(_))).count();
    assert!(additions <= 1, "R6: {additions} additions of one registration that was tried again");
    kept.registrar.deregister().await.expect("a deregistration");
}

/// H6: another owner that came meanwhile ends the loop as fenced, and is left alone.
pub async fn h6_a_rival_ends_the_loop_as_fenced(case: &Case) {
    let kept = Kept::start(case).await;
    take_away(case).await;
    let rival = case.up("orders", "a").await;
    kept.status("fenced", kept.interval() + case.soon(), |status| matches!(status, RegistrarStatus::Fenced))
        .await;
    let calls = kept.chaos.made().len();
    case.elapse(kept.ttl).await;
    assert_eq!(kept.chaos.made().len(), calls, "a fenced loop goes on calling");
    let snapshot = case.discover("orders").await;
    assert_eq!(snapshot.get(&id("a")).map(|i| i.generation), Some(rival.generation()));
    case.registry.heartbeat(&rival.lease).await.expect("the rival lives");
}

/// H6: so it is where the loop only hears of the rival when it registers again.
pub async fn h6_a_rival_found_by_registering_ends_the_loop(case: &Case) {
    let kept = Kept::start(case).await;
    kept.chaos.script(Call::Register, [Fault::Refused, Fault::Refused]);
    take_away(case).await;
    kept.called(case, Call::Register, 1, kept.interval() + case.soon()).await;
    let rival = case.up("orders", "a").await;
    kept.status("fenced", kept.ttl + case.soon(), |status| matches!(status, RegistrarStatus::Fenced)).await;
    case.registry.heartbeat(&rival.lease).await.expect("the rival lives");
}

/// H8: the loop puts a deleted record again within one interval, under the same generation, and reads nothing for it.
pub async fn h8_the_loop_mends_a_deleted_record(case: &Case) {
    let kept = Kept::start(case).await;
    let generation = kept.registrar.status().borrow().generation().expect("registered");
    let mut watched = case.watch("orders").await;
    let reads = |kept: &Kept| kept.chaos.calls(Call::Discover).len() + kept.chaos.calls(Call::Holder).len();
    let before = reads(&kept);
    for _ in 0..2 {
        case.stranger().delete_record(&service("orders"), &Slot::new(id("a"), None)).await;
        let change = watched.next_change().await;
        assert!(matches!(change, Change::Removed { reason: RemoveReason::Expired, .. }), "{change:?}");
        let changes = watched.next_changes(kept.interval() + case.timing.eps).await;
        assert!(
            matches!(&changes[..], [Change::Added(back)] if back.generation == generation),
            "{changes:?}"
        );
    }
    assert_eq!(reads(&kept), before, "it reads to notice");
    assert_eq!(kept.told().await.last().map(String::as_str), Some("registered"));
    kept.registrar.deregister().await.expect("a deregistration");
}
