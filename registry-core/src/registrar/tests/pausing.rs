//! Pause and resume (H9).

use super::double::{Double, Fault, Link, Seen};
use super::*;
use crate::error::ErrorKind;
use crate::instance::InstanceSpec;

#[tokio::test(start_paused = true)]
async fn h9_a_paused_instance_is_gone_until_it_is_resumed_and_both_are_idempotent() {
    let double = Double::new();
    let registrar = started(&double).await;
    registrar.resume().await.unwrap();
    for _ in 0..2 {
        registrar.pause().await.unwrap();
        assert_eq!((double.generation(), stands(&registrar)), (None, "paused".into()));
        pass(TTL * 4).await;
        assert_eq!(double.generation(), None, "something brought it back");
    }
    let body = InstanceSpec::new("http://10.0.0.1:80".parse().unwrap()).with_weight(3);
    registrar.update(body.clone()).await.unwrap();
    for _ in 0..2 {
        registrar.resume().await.unwrap();
        assert_eq!(double.body(), Some(body.clone()), "the newest body");
    }
    assert_eq!((double.calls("deregister").len(), double.calls("register").len()), (1, 2));
    let seen: Vec<_> = double.seen().into_iter().map(|(seen, _)| seen).collect();
    assert_eq!(seen, [Seen::Added, Seen::Removed, Seen::Added]);
}

#[tokio::test(start_paused = true)]
async fn h9_a_pause_undoes_a_registration_in_flight() {
    for fault in [Fault::Slow(millis(500)), Fault::LoseReply, Fault::HangAfter, Fault::Hang] {
        let double = Double::new();
        double.next("register", fault.clone());
        let registrar = Registrar::start_in_background(Arc::clone(&double) as _, config()).unwrap();
        pass(millis(2)).await;
        let (answer, took) = timed(registrar.pause()).await;
        assert!(took <= millis(2_001), "{fault:?}: {took:?}");
        if answer.is_err() {
            registrar.pause().await.unwrap();
        }
        assert_eq!((double.generation(), stands(&registrar)), (None, "paused".into()), "{fault:?}");
        pass(TTL * 2).await;
        assert_eq!(double.generation(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn h9_neither_blocks_for_ever_without_the_registry() {
    for link in [Link::Down, Link::Silent] {
        let double = Double::new();
        double.merciful();
        let registrar = started(&double).await;
        double.link(link);
        let (answer, took) = timed(registrar.pause()).await;
        assert!(answer.is_err() && took <= millis(2_001), "{took:?}");
        let (answer, took) = timed(registrar.resume()).await;
        assert!(matches!(answer.unwrap_err().kind(), ErrorKind::Unavailable { .. }));
        assert!(took <= millis(5_001), "{took:?}");
        registrar.pause().await.unwrap_err();
        double.link(Link::Up);
        // It is paused, and says so once what it left behind is undone.
        registrar.pause().await.unwrap();
        assert_eq!((double.generation(), stands(&registrar)), (None, "paused".into()));
        registrar.resume().await.unwrap();
        assert!(double.generation().is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn h9_a_deregistration_ends_a_pause_also_one_that_was_not_acknowledged() {
    for link in [Link::Up, Link::Down] {
        let double = Double::new();
        double.merciful();
        let registrar = started(&double).await;
        double.link(link);
        let paused = registrar.pause().await;
        assert_eq!(paused.is_ok(), link == Link::Up);
        pass(TTL * 2).await;
        double.link(Link::Up);
        registrar.deregister().await.unwrap();
        assert_eq!((double.generation(), stands(&registrar)), (None, "deregistered".into()));
        assert!(registrar.resume().await.is_err());
        registrar.pause().await.unwrap();
        pass(TTL * 2).await;
        assert_eq!(double.generation(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn h9_close_ends_a_pause() {
    let double = Double::new();
    let registrar = started(&double).await;
    registrar.pause().await.unwrap();
    registrar.close().await;
    assert_eq!(registrar.resume().await.unwrap_err().kind(), &ErrorKind::Closed);
    assert_eq!(double.generation(), None);
}

#[tokio::test(start_paused = true)]
async fn h9_resumed_in_the_middle_of_the_pause_it_is_there_once() {
    let double = Double::new();
    let registrar = started(&double).await;
    double.next("deregister", Fault::Slow(millis(500)));
    let (paused, resumed) = tokio::join!(registrar.pause(), async {
        pass(millis(100)).await;
        registrar.resume().await
    });
    assert_eq!(paused.unwrap_err().kind(), &ErrorKind::Ambiguous);
    resumed.unwrap();
    assert!(double.generation().is_some());
    pass(TTL * 2).await;
    assert_eq!(double.generation(), registrar.status().borrow().generation());
}

#[tokio::test(start_paused = true)]
async fn h9_an_owner_that_came_during_the_pause_is_left_alone() {
    let double = Double::new();
    let registrar = started(&double).await;
    registrar.pause().await.unwrap();
    let rival = double.rival(InstanceSpec::new("http://10.0.0.1:80".parse().unwrap()));
    assert_eq!(registrar.resume().await.unwrap_err().kind(), &ErrorKind::Fenced);
    assert_eq!(double.generation(), Some(rival));
}
