//! Losing the registry costs as little as can be, for as long as it takes (H4, H5, X5).

use std::sync::atomic::{AtomicUsize, Ordering};

use super::double::{Double, Fault, Link, Seen};
use super::*;
use crate::error::ErrorKind;
use crate::registrar::{LostPolicy, LostReason};

/// Counts what is logged.
#[derive(Default)]
struct Lines(AtomicUsize);

impl tracing::Subscriber for Lines {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        if *event.metadata().level() <= tracing::Level::INFO {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

fn lost(status: &RegistrarStatus) -> bool {
    matches!(status, RegistrarStatus::Lost { .. })
}

async fn survives(outage: Duration, link: Link) {
    let double = Double::new();
    let registrar = started(&double).await;
    pass(secs(20)).await;
    double.link(link);
    let took = reaches(&registrar, TTL * 2, lost).await;
    assert!(took >= TTL / 2, "told as lost before the TTL was over: {took:?}");
    pass(outage).await;
    assert_eq!(stands(&registrar), "lost");
    assert!(double.generation().is_none());
    double.link(Link::Up);
    let took = reaches(&registrar, TTL / 3 + secs(2), RegistrarStatus::is_registered).await;
    pass(TTL).await;
    assert_eq!(double.generation(), registrar.status().borrow().generation());
    assert_eq!(double.calls("register").len(), 2, "S1: exactly one registration, after {took:?}");
    assert_eq!(told(&registrar).await, ["registering", "registered", "lost", "registered"]);
}

#[tokio::test(start_paused = true)]
async fn s1_s2_an_outage_of_ten_ttls_heals() {
    survives(TTL * 10, Link::Down).await;
    survives(TTL * 10, Link::Silent).await;
}

#[tokio::test(start_paused = true)]
async fn s2_an_outage_of_an_hour_heals() {
    survives(Duration::from_hours(1), Link::Down).await;
    survives(Duration::from_hours(1), Link::Silent).await;
}

#[tokio::test(start_paused = true)]
async fn s12_an_hour_without_the_registry_is_not_a_flood_of_logs() {
    for link in [Link::Up, Link::Down, Link::Silent] {
        let lines = Arc::new(Lines::default());
        let _guard = tracing::subscriber::set_default(Arc::clone(&lines));
        let double = Double::new();
        let config = config().with_ttl(secs(3).try_into().unwrap());
        let _registrar = started_with(&double, config).await;
        double.link(link);
        pass(Duration::from_hours(1)).await;
        let (lines, beats) = (lines.0.load(Ordering::Relaxed), double.calls("heartbeat").len());
        assert!(beats > 1_000, "{link:?}: {beats}");
        assert!((2..100).contains(&lines), "{link:?}: {lines} lines");
    }
}

#[tokio::test(start_paused = true)]
async fn h5_two_lost_heartbeats_never_cost_the_instance() {
    for _ in 0..50 {
        let double = Double::new();
        let registrar = started(&double).await;
        pass(secs(20)).await;
        let before = double.calls("heartbeat").len();
        double.next("heartbeat", Fault::Hang);
        double.next("heartbeat", Fault::Hang);
        pass(TTL).await;
        let beats = double.calls("heartbeat");
        let lost = &beats[before..before + 3];
        for pair in lost.windows(2) {
            // A hanging attempt ends after 2 s, and the next one starts within TTL / 12.
            assert!((secs(2)..=secs(2) + TTL / 12).contains(&(pair[1] - pair[0])), "{:?}", pair[1] - pair[0]);
        }
        assert_eq!(double.seen(), double.seen()[..1], "H5: a removal");
        assert_eq!(told(&registrar).await, ["registering", "registered"]);
    }
}

#[tokio::test(start_paused = true)]
async fn h4_h5_retries_go_on_under_a_cap_of_a_third_of_the_ttl() {
    let double = Double::new();
    let _registrar = started(&double).await;
    double.link(Link::Down);
    pass(Duration::from_hours(1)).await;
    let beats = double.calls("heartbeat");
    assert!(beats.windows(2).all(|pair| pair[1] - pair[0] <= TTL / 3 + millis(5)));
    assert!((700..4_000).contains(&beats.len()), "{} tries in an hour", beats.len());
}

#[tokio::test(start_paused = true)]
async fn x5_the_old_lease_is_kept_until_the_registry_says_that_it_is_gone() {
    let double = Double::new();
    let registrar = started(&double).await;
    let generation = double.generation();
    double.merciful();
    double.link(Link::Down);
    reaches(&registrar, TTL * 2, lost).await;
    let RegistrarStatus::Lost { since, reason, gave_up } = registrar.status().borrow().clone() else {
        panic!()
    };
    assert_eq!((reason, gave_up), (LostReason::Unreachable, false));
    assert!(since <= Instant::now() && since + TTL / 2 > Instant::now());
    pass(TTL * 3).await;
    double.link(Link::Up);
    reaches(&registrar, TTL / 3 + secs(1), RegistrarStatus::is_registered).await;
    assert_eq!(double.generation(), generation);
    assert_eq!(double.calls("register").len(), 1, "a second lease beside a living one");
    assert_eq!(double.seen().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a4_a_process_that_was_stopped_says_nothing_before_a_round_trip_and_beats_within_a_second() {
    for in_flight in [false, true] {
        let double = Double::new();
        let registrar = started(&double).await;
        double.merciful();
        if in_flight {
            double.next("heartbeat", Fault::Hang);
            while double.calls("heartbeat").is_empty() {
                pass(millis(10)).await;
            }
        } else {
            pass(secs(1)).await;
        }
        let before = double.calls("heartbeat").len();
        tokio::time::advance(TTL * 3).await;
        pass(secs(1)).await;
        assert!(double.calls("heartbeat").len() > before);
        assert_eq!(told(&registrar).await, ["registering", "registered"]);
    }
}

#[tokio::test(start_paused = true)]
async fn h4_giving_up_is_the_applications_choice() {
    for (link, reason) in [(Link::Down, LostReason::Unreachable), (Link::Up, LostReason::NotRegistered)] {
        let double = Double::new();
        let config = config().with_lost(LostPolicy::GiveUpAfter(secs(30)));
        let registrar = started_with(&double, config).await;
        double.link(link);
        double.revoke();
        for _ in 0..1_000 {
            double.next("register", Fault::Fail(ErrorKind::ResourceExhausted));
        }
        reaches(&registrar, TTL * 2, lost).await;
        let took = reaches(&registrar, secs(31), RegistrarStatus::is_final).await;
        assert!(took >= secs(25), "{took:?}");
        assert!(matches!(
            *registrar.status().borrow(),
            RegistrarStatus::Lost { gave_up: true, reason: given, .. } if given == reason
        ));
        let over = registrar.run_until(std::future::pending::<()>()).await.unwrap_err();
        assert_eq!(over.kind(), &ErrorKind::NotRegistered);
        let calls = double.calls("register").len() + double.calls("heartbeat").len();
        pass(secs(600)).await;
        assert_eq!(double.calls("register").len() + double.calls("heartbeat").len(), calls);
    }
}

#[tokio::test(start_paused = true)]
async fn h4_credentials_that_are_refused_for_a_while_do_not_end_the_loop() {
    let double = Double::new();
    let registrar = started(&double).await;
    for operation in ["heartbeat", "register"] {
        for _ in 0..20 {
            double.next(operation, Fault::Fail(ErrorKind::Unauthenticated));
        }
    }
    reaches(&registrar, Duration::from_mins(10), lost).await;
    reaches(&registrar, Duration::from_mins(10), RegistrarStatus::is_registered).await;
    assert!(double.generation().is_some());
}

#[tokio::test(start_paused = true)]
async fn g23_a_hundred_flaps_cost_nothing() {
    let double = Double::new();
    let registrar = started(&double).await;
    for _ in 0..100 {
        double.link(Link::Down);
        pass(secs(4)).await;
        double.link(Link::Up);
        pass(secs(6)).await;
    }
    assert_eq!(told(&registrar).await, ["registering", "registered"]);
    assert_eq!(double.seen().into_iter().map(|(seen, _)| seen).collect::<Vec<_>>(), [Seen::Added]);
}
