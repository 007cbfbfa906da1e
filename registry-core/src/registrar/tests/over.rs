//! What a registrar that is over answers to who wants it away (D1).

use super::double::{Double, Fault, Link};
use super::*;
use crate::error::ErrorKind;
use crate::registrar::{LostPolicy, LostReason};

async fn says_away(registrar: &Registrar, wanted: Option<ErrorKind>) {
    for answer in [registrar.deregister().await, registrar.pause().await] {
        assert_eq!(answer.err().map(|error| error.kind().clone()), wanted, "{}", stands(registrar));
    }
}

async fn given_up(registrar: &Registrar, wanted: LostReason) {
    reaches(registrar, TTL * 3, RegistrarStatus::is_final).await;
    let status = registrar.status().borrow().clone();
    assert!(matches!(status, RegistrarStatus::Lost { reason, .. } if reason == wanted), "{status:?}");
}

fn giving_up() -> RegistrarConfig {
    config().with_lost(LostPolicy::GiveUpAfter(secs(2)))
}

#[test]
fn d1_a_registrar_whose_runtime_is_gone_does_not_say_that_it_is_away() {
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    for paused in [false, true] {
        let (double, first) = (Double::new(), runtime());
        let registrar = first.block_on(started(&double));
        if paused {
            first.block_on(registrar.pause()).unwrap();
        }
        drop(first);
        runtime().block_on(async {
            assert_eq!(double.generation().is_some(), !paused);
            says_away(&registrar, Some(ErrorKind::Ambiguous)).await;
            let ended = registrar.resume().await.unwrap_err();
            assert_eq!(ended.kind(), &ErrorKind::Closed);
            assert_eq!(registrar.drain().await.unwrap_err().kind(), &ErrorKind::Ambiguous);
        });
    }
}

#[tokio::test(start_paused = true)]
async fn d1_one_given_up_as_unreachable_may_be_listed_again() {
    let double = Double::new();
    double.merciful();
    let registrar = started_with(&double, giving_up()).await;
    double.link(Link::Down);
    given_up(&registrar, LostReason::Unreachable).await;
    double.link(Link::Up);
    assert!(double.generation().is_some());
    says_away(&registrar, Some(ErrorKind::Ambiguous)).await;
}

#[tokio::test(start_paused = true)]
async fn d1_one_given_up_after_a_try_of_unknown_outcome_may_be_listed() {
    let double = Double::new();
    double.merciful();
    let registrar = started_with(&double, giving_up()).await;
    double.next("register", Fault::LoseReply);
    for _ in 0..1_000 {
        double.next("register", Fault::Fail(ErrorKind::ResourceExhausted));
    }
    double.revoke();
    given_up(&registrar, LostReason::Unreachable).await;
    assert!(double.generation().is_some());
    says_away(&registrar, Some(ErrorKind::Ambiguous)).await;
}

#[tokio::test(start_paused = true)]
async fn r6_d1_one_refused_after_a_try_of_unknown_outcome_may_be_listed() {
    let double = Double::new();
    double.next("register", Fault::LoseReply);
    double.next("register", Fault::Fail(ErrorKind::PermissionDenied));
    let registrar = Registrar::start_in_background(Arc::clone(&double) as _, config()).unwrap();
    reaches(&registrar, secs(5), RegistrarStatus::is_final).await;
    assert!(double.generation().is_some());
    assert_eq!(registrar.ready().await.unwrap_err().kind(), &ErrorKind::Ambiguous);
    says_away(&registrar, Some(ErrorKind::Ambiguous)).await;
}

#[tokio::test(start_paused = true)]
async fn d1_it_is_away_where_the_registry_said_so() {
    let double = Double::new();
    let gone = started_with(&double, giving_up()).await;
    for _ in 0..1_000 {
        double.next("register", Fault::Fail(ErrorKind::ResourceExhausted));
    }
    double.revoke();
    given_up(&gone, LostReason::NotRegistered).await;
    says_away(&gone, None).await;

    let double = Double::new();
    let fenced = started(&double).await;
    double.rival(double.body().unwrap());
    reaches(&fenced, TTL, RegistrarStatus::is_final).await;
    says_away(&fenced, None).await;

    let double = Double::new();
    double.next("register", Fault::Fail(ErrorKind::PermissionDenied));
    let refused = Registrar::start_in_background(Arc::clone(&double) as _, config()).unwrap();
    reaches(&refused, secs(5), RegistrarStatus::is_final).await;
    assert_eq!(double.generation(), None);
    says_away(&refused, None).await;

    let double = Double::new();
    let deregistered = started(&double).await;
    deregistered.deregister().await.unwrap();
    says_away(&deregistered, None).await;
}
