//! What is lost or damaged comes back by itself, with the newest word (H3, H6, H8, R7).

use std::sync::Arc;

use super::double::{Double, Fault, Seen};
use super::*;
use crate::error::ErrorKind;
use crate::instance::{Health, InstanceSpec, InstanceStatus};
use crate::registrar::TakeoverPolicy;

/// An interval, and a round trip.
const H6: Duration = Duration::from_millis(5_100);

fn body(weight: u32) -> InstanceSpec {
    InstanceSpec::new("http://10.0.0.1:80".parse().unwrap()).with_weight(weight)
}

#[tokio::test(start_paused = true)]
async fn h6_s6_s8_a_revoked_lease_is_made_anew_and_told_as_lost_then_registered() {
    let double = Double::new();
    let registrar = started(&double).await;
    let first = double.generation();
    pass(secs(60)).await;
    double.revoke();
    reaches(&registrar, H6, |status| matches!(status, RegistrarStatus::Lost { .. })).await;
    reaches(&registrar, H6, RegistrarStatus::is_registered).await;
    assert!(double.generation().is_some() && double.generation() != first);
    assert_eq!(told(&registrar).await, ["registering", "registered", "lost", "registered"]);
    pass(secs(60)).await;
    assert_eq!(double.calls("register").len(), 2, "one lease is enough");
}

#[tokio::test(start_paused = true)]
async fn h6_an_owner_that_came_meanwhile_ends_the_loop_as_fenced() {
    let double = Double::new();
    // Permission to take over is for the first registration.
    let registrar = started_with(&double, config().with_takeover(TakeoverPolicy::Always)).await;
    double.revoke();
    reaches(&registrar, H6, |status| matches!(status, RegistrarStatus::Lost { .. })).await;
    double.rival(body(1));
    reaches(&registrar, H6, RegistrarStatus::is_final).await;
    assert_eq!(stands(&registrar), "fenced");
    pass(secs(60)).await;
    assert_eq!(double.calls("heartbeat").len(), 1);
    // The rival expires, as nobody beats for it, and nobody takes its place.
    assert_eq!((double.calls("register").len(), double.generation()), (2, None));
}

#[tokio::test(start_paused = true)]
async fn h3_a_takeover_fences_it() {
    let double = Double::new();
    let registrar = started(&double).await;
    double.rival(body(1));
    reaches(&registrar, H6, RegistrarStatus::is_final).await;
    assert_eq!(told(&registrar).await, ["registering", "registered", "fenced"]);
    assert_eq!(registrar.update(body(2)).await.unwrap_err().kind(), &ErrorKind::Fenced);
    assert_eq!(registrar.resume().await.unwrap_err().kind(), &ErrorKind::Fenced);
    registrar.deregister().await.unwrap();
    assert!(double.generation().is_some(), "D3: the other one was removed");
    let error = registrar.run_until(std::future::pending::<()>()).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Fenced);
}

#[tokio::test(start_paused = true)]
async fn h8_s13_damage_is_repaired_within_one_interval_with_the_newest_body() {
    let double = Double::new();
    let registrar = started(&double).await;
    registrar.update(body(7)).await.unwrap();
    let generation = double.generation();
    pass(secs(31)).await;
    double.damage();
    double.next("update", Fault::Fail(ErrorKind::Unavailable { time_left: None }));
    pass(H6 + millis(300)).await;
    assert_eq!((double.body(), double.generation()), (Some(body(7)), generation));
    let updates = double.calls("update").len();
    pass(secs(60)).await;
    assert_eq!(double.calls("update").len(), updates, "what is whole is not repaired");
}

#[tokio::test(start_paused = true)]
async fn r7_g46_update_then_reconnect_uses_the_newest_body() {
    let double = Double::new();
    let registrar = started(&double).await;
    registrar.update(body(7)).await.unwrap();
    double.revoke();
    reaches(&registrar, H6, |status| matches!(status, RegistrarStatus::Lost { .. })).await;
    reaches(&registrar, H6, RegistrarStatus::is_registered).await;
    assert_eq!(double.bodies().last(), Some(&body(7)));
    assert_eq!(double.body(), Some(body(7)));
}

#[tokio::test(start_paused = true)]
async fn r7_an_update_while_it_is_lost_or_being_registered_is_not_forgotten() {
    let double = Double::new();
    let registrar = started(&double).await;
    double.revoke();
    double.next("register", Fault::Slow(millis(800)));
    reaches(&registrar, H6, |status| matches!(status, RegistrarStatus::Lost { .. })).await;
    while double.calls("register").len() < 2 {
        pass(millis(10)).await;
    }
    registrar.update(body(9)).await.unwrap();
    assert_eq!(double.body(), Some(body(9)));
}

#[tokio::test(start_paused = true)]
async fn r7_the_last_of_many_updates_is_what_stands() {
    let double = Double::new();
    let registrar = started(&double).await;
    let updates = (0..50).map(|weight| registrar.update(body(weight)));
    for answer in futures::future::join_all(updates).await {
        answer.unwrap();
    }
    assert_eq!(double.body(), Some(body(49)));
    assert!(double.calls("update").len() < 50, "changes that wait are one update");
    registrar.set_status(InstanceStatus::Starting).await.unwrap();
    registrar.set_health(Health::Degraded).await.unwrap();
    let stands = body(49).with_status(InstanceStatus::Starting).with_health(Health::Degraded);
    assert_eq!(double.body(), Some(stands));
}

#[tokio::test(start_paused = true)]
async fn an_update_that_fails_says_so_and_is_made_all_the_same() {
    let double = Double::new();
    let registrar = started(&double).await;
    double.next("update", Fault::Fail(ErrorKind::Unavailable { time_left: None }));
    let error = registrar.update(body(3)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unavailable { .. }));
    pass(secs(1)).await;
    assert_eq!(double.body(), Some(body(3)));
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_never_taken_does_not_stand_in_the_way() {
    let double = Double::new();
    let registrar = started(&double).await;
    registrar.update(body(3)).await.unwrap();
    let kind = ErrorKind::TooLarge { limit: 1, actual: 2 };
    double.next("update", Fault::Fail(kind.clone()));
    assert_eq!(registrar.update(body(4)).await.unwrap_err().kind(), &kind);
    let none = InstanceSpec { endpoints: Vec::new(), ..body(5) };
    assert!(matches!(registrar.update(none).await.unwrap_err().kind(), ErrorKind::InvalidArgument { .. }));
    pass(secs(30)).await;
    assert_eq!(double.body(), Some(body(3)));
    double.revoke();
    pass(H6 * 2).await;
    assert_eq!(double.body(), Some(body(3)));
}

#[tokio::test(start_paused = true)]
async fn a_slow_update_delays_no_heartbeat() {
    let double = Double::new();
    let registrar = started(&double).await;
    for _ in 0..10 {
        double.next("update", Fault::Hang);
    }
    let _ = registrar.update(body(1)).await;
    pass(secs(60)).await;
    let beats = double.calls("heartbeat");
    assert!(beats.windows(2).all(|pair| pair[1] - pair[0] <= H6 + millis(5)));
    assert!(registrar.status().borrow().is_registered());
}

#[tokio::test(start_paused = true)]
async fn s27_ten_re_registrations_are_still_one_instance() {
    let double = Double::new();
    let registrar = started(&double).await;
    for _ in 0..10 {
        double.revoke();
        reaches(&registrar, H6 * 2, |status| matches!(status, RegistrarStatus::Lost { .. })).await;
        reaches(&registrar, H6 * 2, RegistrarStatus::is_registered).await;
    }
    let mut there = 0_i32;
    for (seen, _) in double.seen() {
        match seen {
            Seen::Added => there += 1,
            Seen::Removed => there -= 1,
            Seen::Updated(_) => {}
        }
        assert!((0..=1).contains(&there));
    }
    assert_eq!(Arc::strong_count(&double), 2, "one task");
}

#[tokio::test(start_paused = true)]
async fn s10_many_that_were_lost_together_come_back_spread() {
    let mut all = Vec::new();
    for _ in 0..200 {
        let double = Double::new();
        all.push((started(&double).await, double));
    }
    pass(secs(30)).await;
    let thaws = Instant::now() + secs(6);
    for (_, double) in &all {
        for _ in 0..10 {
            double.next("heartbeat", Fault::Frozen(thaws));
        }
        double.revoke();
    }
    pass(secs(6) + H6 + millis(500)).await;
    let mut back: Vec<_> = all.iter().map(|(_, double)| double.calls("register")[1]).collect();
    back.sort();
    assert!(all.iter().all(|(_, double)| double.calls("register").len() == 2));
    let at_once = all.iter().filter(|(_, double)| {
        double.calls("heartbeat").iter().any(|beat| *beat < thaws && *beat + secs(2) > thaws)
    });
    assert!(at_once.count() > 50, "too few were answered at once to tell");
    let crowded = back.windows(20).filter(|twenty| twenty[19] - twenty[0] < millis(5)).count();
    assert_eq!(crowded, 0, "a herd");
}
