//! The first registration, and whom it may replace (R1, R4, R5, R6).

use std::sync::Arc;

use tokio::time::Instant;

use super::double::{Double, Fault, Link, Seen};
use super::*;
use crate::error::ErrorKind;
use crate::instance::InstanceSpec;
use crate::registrar::TakeoverPolicy;
use crate::ttl::Ttl;

fn body_at(endpoint: &str) -> InstanceSpec {
    InstanceSpec::new(endpoint.parse().unwrap())
}

async fn refusal(double: &Arc<Double>, config: RegistrarConfig) -> ErrorKind {
    Registrar::start(Arc::clone(double) as _, config).await.unwrap_err().kind().clone()
}

#[tokio::test(start_paused = true)]
async fn r1_a_bad_configuration_is_refused_before_anything_is_sent() {
    let double = Double::new();
    let bad = config().with_interval(TTL);
    assert_eq!(refusal(&double, bad).await, ErrorKind::InvalidArgument { field: "interval".into() });
    let bad = RegistrarConfig::new("greeter".parse().unwrap());
    assert!(Registrar::start_in_background(Arc::clone(&double) as _, bad).is_err());
    assert_eq!(double.calls("register").len(), 0);
}

#[tokio::test(start_paused = true)]
async fn r4_h5_it_beats_every_third_of_the_granted_ttl() {
    let double = Double::granting(Some(Ttl::new(secs(60)).unwrap()));
    let registrar = started(&double).await;
    let begun = double.calls("register")[0];
    pass(secs(600)).await;
    let beats = double.calls("heartbeat");
    assert!((29..=33).contains(&beats.len()), "{}", beats.len());
    for pair in [vec![begun], beats].concat().windows(2) {
        let gap = pair[1] - pair[0];
        assert!((secs(18)..=millis(20_002)).contains(&gap), "{gap:?}");
    }
    assert!(
        matches!(*registrar.status().borrow(), RegistrarStatus::Registered { ttl, .. } if ttl.get() == secs(60))
    );
    assert_eq!(double.seen().len(), 1, "H1: a heartbeat makes no change");
}

#[tokio::test(start_paused = true)]
async fn r6_an_ambiguous_registration_is_repeated_with_the_same_token() {
    for fault in [Fault::LoseReply, Fault::HangAfter] {
        let double = Double::new();
        double.next("register", fault);
        let registrar = started(&double).await;
        assert_eq!(double.calls("register").len(), 2);
        assert_eq!(double.seen().iter().filter(|(seen, _)| *seen == Seen::Added).count(), 1);
        assert_eq!(double.generation(), registrar.status().borrow().generation());
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_answered_at_once_and_not_repeated() {
    for kind in [ErrorKind::PermissionDenied, ErrorKind::Unauthenticated, ErrorKind::Unsupported] {
        let double = Double::new();
        double.next("register", Fault::Fail(kind.clone()));
        let begun = Instant::now();
        assert_eq!(refusal(&double, config()).await, kind);
        assert!(begun.elapsed() < millis(10));
        pass(secs(60)).await;
        assert_eq!(double.calls("register").len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again_within_the_deadline() {
    let double = Double::new();
    for _ in 0..3 {
        double.next("register", Fault::Fail(ErrorKind::Unavailable { time_left: None }));
    }
    started(&double).await;
}

#[tokio::test(start_paused = true)]
async fn a_start_without_a_registry_ends_in_time_and_leaves_nothing_behind() {
    for link in [Link::Down, Link::Silent] {
        let double = Double::new();
        double.link(link);
        let begun = Instant::now();
        let error = Registrar::start(Arc::clone(&double) as _, config()).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unavailable { .. }), "{error}");
        assert!(begun.elapsed() <= millis(5_010), "{:?}", begun.elapsed());
        pass(secs(2)).await;
        double.link(Link::Up);
        pass(secs(60)).await;
        assert_eq!(double.generation(), None);
        assert_eq!(Arc::strong_count(&double), 1, "a task is left");
    }
}

#[tokio::test(start_paused = true)]
async fn a_start_in_the_background_waits_for_the_registry_as_long_as_it_takes() {
    let double = Double::new();
    double.link(Link::Down);
    let registrar = Registrar::start_in_background(Arc::clone(&double) as _, config()).unwrap();
    pass(secs(7_200)).await;
    assert_eq!(stands(&registrar), "registering");
    double.link(Link::Up);
    let ready = timed(registrar.ready()).await;
    assert!(ready.0.is_ok() && ready.1 <= TTL / 3 + millis(10), "{ready:?}");
    assert!(double.generation().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_refusal_in_the_background_is_told_by_the_status() {
    let double = Double::new();
    double.next("register", Fault::Fail(ErrorKind::PermissionDenied));
    let registrar = Registrar::start_in_background(Arc::clone(&double) as _, config()).unwrap();
    assert_eq!(registrar.ready().await.unwrap_err().kind(), &ErrorKind::PermissionDenied);
    assert_eq!(told(&registrar).await, ["registering", "refused"]);
    let error = registrar.run_until(std::future::pending::<()>()).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::PermissionDenied);
}

#[tokio::test(start_paused = true)]
async fn c1_a_start_that_is_dropped_half_way_registers_nothing() {
    let double = Double::new();
    double.next("register", Fault::Slow(millis(500)));
    let start = Registrar::start(Arc::clone(&double) as _, config());
    assert!(tokio::time::timeout(millis(100), start).await.is_err());
    pass(secs(1)).await;
    assert_eq!(double.generation(), None);
    assert_eq!(Arc::strong_count(&double), 1, "a task is left");
}

#[tokio::test(start_paused = true)]
async fn r5_its_own_previous_life_is_taken_over_without_being_asked() {
    let double = Double::new();
    let dead = double.rival(body_at("http://10.0.0.1:80"));
    let registrar = started(&double).await;
    assert_ne!(registrar.status().borrow().generation(), Some(dead));
    assert_eq!(double.generation(), registrar.status().borrow().generation());
}

#[tokio::test(start_paused = true)]
async fn r5_anybody_else_is_left_alone_and_the_error_says_where_it_lives() {
    let elsewhere = body_at("http://10.0.0.2:80");
    let named = body_at("http://greeter.internal:80");
    let mut advertised = config();
    advertised.endpoints.clone_from(&named.endpoints);
    for (living, config) in [
        (elsewhere.clone(), config()),
        (named.clone(), advertised),
        // Advertised, but not bound by this process.
        (
            elsewhere.clone(),
            RegistrarConfig::new("greeter".parse().unwrap())
                .with_id("a".parse().unwrap())
                .with_endpoint(elsewhere.endpoints[0].clone()),
        ),
        (body_at("http://10.0.0.1:80"), config().with_takeover(TakeoverPolicy::Never)),
    ] {
        let double = Double::new();
        let generation = double.rival(living.clone());
        let error = Registrar::start(Arc::clone(&double) as _, config.clone()).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::AlreadyExists { generation });
        if config.takeover == TakeoverPolicy::OwnPreviousLife {
            assert!(error.to_string().contains(&living.endpoints[0].to_string()), "{error}");
        }
        assert_eq!(double.generation(), Some(generation));
    }
}

#[tokio::test(start_paused = true)]
async fn r5_a_previous_life_that_ends_while_it_is_looked_at_is_no_obstacle() {
    let double = Double::new();
    double.rival(body_at("http://10.0.0.2:80"));
    double.next("discover", Fault::Fail(ErrorKind::Unavailable { time_left: None }));
    let start = Registrar::start(Arc::clone(&double) as _, config());
    let (registrar, ()) = tokio::join!(start, async {
        pass(millis(3)).await;
        double.revoke();
    });
    assert!(registrar.unwrap().status().borrow().is_registered());
}

#[tokio::test(start_paused = true)]
async fn r5_a_rival_that_comes_between_look_and_takeover_is_left_alone() {
    let double = Double::new();
    double.rival(body_at("http://10.0.0.1:80"));
    double.next("discover", Fault::Slow(millis(100)));
    let start = Registrar::start(Arc::clone(&double) as _, config());
    let (registrar, rival) = tokio::join!(start, async {
        pass(millis(50)).await;
        double.rival(body_at("http://10.0.0.3:80"))
    });
    assert_eq!(registrar.unwrap_err().kind(), &ErrorKind::AlreadyExists { generation: rival });
    assert_eq!(double.generation(), Some(rival));
}

#[tokio::test(start_paused = true)]
async fn s26_a_restart_at_a_new_address_replaces_the_old_one_when_allowed() {
    let double = Double::new();
    double.rival(body_at("http://10.0.0.9:80"));
    let _registrar = started_with(&double, config().with_takeover(TakeoverPolicy::Always)).await;
    assert_eq!(double.body().unwrap().endpoints[0].to_string(), "http://10.0.0.1:80");
    let seen: Vec<_> = double.seen().into_iter().map(|(seen, _)| seen).collect();
    assert_eq!(seen, [Seen::Updated(crate::instance::InstanceStatus::Up)], "a takeover is one update");
}
