//! Deregistering and draining (H7, D1 to D6).

use std::sync::atomic::{AtomicUsize, Ordering};

use super::double::{Double, Fault, Link, Seen};
use super::*;
use crate::error::ErrorKind;
use crate::instance::{InstanceSpec, InstanceStatus};

async fn stays_away(double: &Double) {
    assert_eq!(double.generation(), None);
    let calls = double.calls("register").len();
    pass(TTL * 4).await;
    assert_eq!(double.generation(), None, "H7: it came back");
    assert_eq!(double.calls("register").len(), calls);
}

#[tokio::test(start_paused = true)]
async fn d1_d2_it_is_gone_when_acknowledged_and_twice_is_once() {
    let double = Double::new();
    let registrar = started(&double).await;
    registrar.deregister().await.unwrap();
    registrar.deregister().await.unwrap();
    assert_eq!(double.calls("deregister").len(), 1);
    assert_eq!(told(&registrar).await, ["registering", "registered", "leaving", "deregistered"]);
    assert_eq!(registrar.set_status(InstanceStatus::Up).await.unwrap_err().kind(), &ErrorKind::NotRegistered);
    stays_away(&double).await;
    assert_eq!(Arc::strong_count(&double), 1, "a task is left");
}

#[tokio::test(start_paused = true)]
async fn s21_what_was_registered_without_a_change_is_deregistered_too() {
    let double = Double::new();
    let registrar = started(&double).await;
    registrar.update(double.body().unwrap()).await.unwrap();
    registrar.deregister().await.unwrap();
    stays_away(&double).await;
}

#[tokio::test(start_paused = true)]
async fn g44_a_heartbeat_in_flight_does_not_revive_it() {
    let double = Double::new();
    let registrar = started(&double).await;
    double.next("heartbeat", Fault::Slow(secs(1)));
    while double.calls("heartbeat").is_empty() {
        pass(millis(10)).await;
    }
    registrar.deregister().await.unwrap();
    stays_away(&double).await;
    assert_eq!(double.calls("heartbeat").len(), 1, "D4: heartbeats stop first");
}

/// Lost, and in the middle of being registered again.
async fn re_registering(double: &Arc<Double>, fault: Fault) -> Registrar {
    re_registering_with(double, fault, config()).await
}

async fn re_registering_with(double: &Arc<Double>, fault: Fault, config: RegistrarConfig) -> Registrar {
    let registrar = started_with(double, config).await;
    double.next("register", fault);
    double.revoke();
    while double.calls("register").len() < 2 {
        pass(millis(10)).await;
    }
    registrar
}

#[tokio::test(start_paused = true)]
async fn h7_g46_a_deregistration_overtakes_a_re_registration() {
    for fault in [Fault::Slow(millis(800)), Fault::LoseReply, Fault::HangAfter, Fault::Hang] {
        let double = Double::new();
        let registrar = re_registering(&double, fault.clone()).await;
        let (answer, took) = timed(registrar.deregister()).await;
        assert!(took <= millis(2_001), "{fault:?}: {took:?}");
        if answer.is_err() {
            registrar.deregister().await.unwrap();
        }
        stays_away(&double).await;
    }
}

#[tokio::test(start_paused = true)]
async fn s20_without_a_drain_time_it_is_gone_at_once_even_while_it_registers() {
    let double = Double::new();
    let config = config().with_drain(Duration::ZERO);
    let registrar = re_registering_with(&double, Fault::Slow(millis(50)), config).await;
    let begun = Instant::now();
    registrar.run_until(std::future::ready(())).await.unwrap();
    assert!(begun.elapsed() <= millis(150), "{:?}", begun.elapsed());
    stays_away(&double).await;
}

#[tokio::test(start_paused = true)]
async fn d4_s22_a_try_that_times_out_is_repeated_within_the_deadline() {
    let double = Double::new();
    let registrar = started(&double).await;
    double.next("deregister", Fault::Hang);
    let (answer, took) = timed(registrar.deregister()).await;
    answer.unwrap();
    assert!(took <= secs(2), "{took:?}");
    stays_away(&double).await;
}

#[tokio::test(start_paused = true)]
async fn d4_it_answers_in_time_and_goes_on_trying_behind_the_callers_back() {
    for link in [Link::Down, Link::Silent] {
        let double = Double::new();
        double.merciful();
        let registrar = started(&double).await;
        double.link(link);
        let (answer, took) = timed(registrar.deregister()).await;
        assert!(matches!(answer.unwrap_err().kind(), ErrorKind::Unavailable { .. } | ErrorKind::Ambiguous));
        assert!(took <= millis(2_001), "{took:?}");
        assert_eq!(stands(&registrar), "leaving");
        double.link(Link::Up);
        reaches(&registrar, TTL / 3 + secs(2), RegistrarStatus::is_final).await;
        assert!(matches!(*registrar.status().borrow(), RegistrarStatus::Deregistered { acknowledged: true }));
        stays_away(&double).await;
    }
}

#[tokio::test(start_paused = true)]
async fn d4_the_tries_end_with_the_ttl_and_it_says_that_nobody_answered() {
    let double = Double::new();
    let registrar = started(&double).await;
    double.link(Link::Down);
    registrar.deregister().await.unwrap_err();
    reaches(&registrar, TTL, RegistrarStatus::is_final).await;
    assert!(matches!(*registrar.status().borrow(), RegistrarStatus::Deregistered { acknowledged: false }));
    registrar.deregister().await.unwrap_err();
    double.link(Link::Up);
    stays_away(&double).await;
    assert_eq!(Arc::strong_count(&double), 1, "a task is left");
}

#[tokio::test(start_paused = true)]
async fn d4_g46_one_that_failed_can_be_repeated() {
    let double = Double::new();
    let registrar = started(&double).await;
    double.link(Link::Down);
    registrar.deregister().await.unwrap_err();
    double.link(Link::Up);
    let (answer, took) = timed(registrar.deregister()).await;
    answer.unwrap();
    assert!(took <= millis(10), "{took:?}");
    stays_away(&double).await;
}

#[tokio::test(start_paused = true)]
async fn d5_callers_see_it_drain_for_the_whole_drain_time() {
    let double = Double::new();
    let calls = Arc::new(AtomicUsize::new(3));
    let counted = Arc::clone(&calls);
    let registrar = started(&double).await.counting_calls(move || counted.load(Ordering::Relaxed));
    pass(secs(12)).await;
    let (drained, ()) = tokio::join!(registrar.drain(), async {
        pass(secs(4)).await;
        assert_eq!(stands(&registrar), "draining");
        // An update does not end it.
        let body = InstanceSpec::new("http://10.0.0.1:80".parse().unwrap()).with_weight(5);
        registrar.update(body.clone()).await.unwrap();
        assert_eq!(double.body(), Some(body.with_status(InstanceStatus::Draining)));
        calls.store(1, Ordering::Relaxed);
    });
    let drained = drained.unwrap();
    assert_eq!((drained.calls_before, drained.calls_after), (Some(3), Some(1)));
    let seen = double.seen();
    let (Seen::Updated(InstanceStatus::Draining), from) = &seen[1] else { panic!("{seen:?}") };
    let (Seen::Removed, to) = seen.last().unwrap() else { panic!("{seen:?}") };
    let time = *to - *from;
    assert!((secs(10)..=millis(10_010)).contains(&time), "two heartbeats, not {time:?}");
    assert_eq!(stands(&registrar), "deregistered");
    stays_away(&double).await;
}

#[tokio::test(start_paused = true)]
async fn d5_a_drain_that_takes_long_to_be_seen_still_lasts() {
    let double = Double::new();
    let registrar = started(&double).await;
    double.next("update", Fault::LoseReply);
    double.next("update", Fault::Slow(secs(1)));
    registrar.drain().await.unwrap();
    let seen = double.seen();
    let time = seen.last().unwrap().1 - seen[1].1;
    assert!(time >= secs(10), "{time:?}");
}

#[tokio::test(start_paused = true)]
async fn d5_a_drain_that_cannot_be_written_does_not_stop_the_removal() {
    let double = Double::new();
    let registrar = started(&double).await;
    for _ in 0..100 {
        double.next("update", Fault::Fail(ErrorKind::ResourceExhausted));
    }
    let begun = Instant::now();
    registrar.drain().await.unwrap();
    assert!(begun.elapsed() <= secs(3), "{:?}", begun.elapsed());
    stays_away(&double).await;
}

#[tokio::test(start_paused = true)]
async fn d5_one_that_is_lost_while_it_drains_is_not_brought_back() {
    let double = Double::new();
    let registrar = started(&double).await;
    let begun = Instant::now();
    let (drained, ()) = tokio::join!(registrar.drain(), async {
        pass(secs(1)).await;
        double.revoke();
    });
    drained.unwrap();
    assert!(begun.elapsed() >= secs(10), "callers had no time to notice: {:?}", begun.elapsed());
    assert_eq!(stands(&registrar), "deregistered");
    stays_away(&double).await;
    assert_eq!(double.calls("register").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_drain_that_is_no_longer_waited_for_ends_all_the_same() {
    let double = Double::new();
    let registrar = started(&double).await;
    assert!(tokio::time::timeout(secs(1), registrar.drain()).await.is_err());
    reaches(&registrar, secs(11), RegistrarStatus::is_final).await;
    stays_away(&double).await;
}

#[tokio::test(start_paused = true)]
async fn run_until_drains_and_deregisters_when_the_signal_comes() {
    let double = Double::new();
    let registrar = started(&double).await;
    let begun = Instant::now();
    registrar.run_until(pass(secs(100))).await.unwrap();
    assert!((secs(110)..=millis(110_010)).contains(&begun.elapsed()), "{:?}", begun.elapsed());
    stays_away(&double).await;
}

#[tokio::test(start_paused = true)]
async fn s18_it_ends_while_the_registry_is_down() {
    for link in [Link::Down, Link::Silent] {
        let double = Double::new();
        let registrar = started(&double).await;
        double.link(link);
        pass(secs(10)).await;
        let begun = Instant::now();
        registrar.run_until(std::future::ready(())).await.unwrap_err();
        assert!(begun.elapsed() <= millis(3_010), "{:?}", begun.elapsed());
        pass(millis(1_001)).await;
        assert_eq!(Arc::strong_count(&double), 1, "a task is left");
    }
}
