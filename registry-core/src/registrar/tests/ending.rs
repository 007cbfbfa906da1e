//! Close, drop and detach (C1 to C3).

use super::double::{Double, Fault, Link};
use super::*;
use crate::discovery::ServiceDiscovery as _;
use crate::error::ErrorKind;

#[tokio::test(start_paused = true)]
async fn c2_a_dropped_handle_deregisters_where_a_runtime_is_current() {
    let double = Double::new();
    drop(started(&double).await);
    pass(millis(5)).await;
    assert_eq!(double.generation(), None);
    assert_eq!(Arc::strong_count(&double), 1, "a task is left");
}

#[tokio::test(start_paused = true)]
async fn c2_the_best_effort_takes_at_most_a_second() {
    for link in [Link::Down, Link::Silent] {
        let double = Double::new();
        let registrar = started(&double).await;
        double.link(link);
        drop(registrar);
        pass(millis(1_002)).await;
        assert_eq!(Arc::strong_count(&double), 1, "a task is left");
        double.link(Link::Up);
        pass(TTL * 2).await;
        assert_eq!(double.generation(), None);
        assert_eq!(double.calls("heartbeat").len(), 0);
    }
}

#[test]
fn c2_dropped_outside_a_runtime_it_stops_beating_and_does_not_panic() {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let double = Double::new();
    let registrar = runtime.block_on(started(&double));
    drop(registrar);
    runtime.block_on(pass(TTL * 2));
    assert_eq!((double.calls("heartbeat").len(), double.calls("deregister").len()), (0, 0));
    assert_eq!(runtime.block_on(async { double.generation() }), None, "it expired");
    assert_eq!(Arc::strong_count(&double), 1, "a task is left");
}

#[test]
fn c2_dropped_after_its_runtime_it_does_not_panic() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let registrar = runtime.block_on(started(&Double::new()));
    drop(runtime);
    drop(registrar);
}

#[test]
fn without_a_runtime_it_is_refused() {
    let error = Registrar::start_in_background(Double::new(), config()).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Unsupported);
}

#[tokio::test(start_paused = true)]
async fn c2_a_detached_one_goes_on_until_its_registry_is_closed() {
    let double = Double::new();
    started(&double).await.detach();
    pass(TTL * 20).await;
    let generation = double.generation();
    assert!(generation.is_some());
    double.revoke();
    pass(secs(6)).await;
    assert!(double.generation().is_some() && double.generation() != generation);
    double.close().await;
    pass(secs(6)).await;
    assert_eq!(Arc::strong_count(&double), 1, "a task is left");
}

#[tokio::test(start_paused = true)]
async fn c3_close_ends_everything_and_deregisters_nothing() {
    for link in [Link::Up, Link::Down, Link::Silent] {
        let double = Double::new();
        let registrar = started(&double).await;
        double.link(link);
        let begun = Instant::now();
        registrar.close().await;
        registrar.close().await;
        assert!(begun.elapsed() <= millis(1), "{:?}", begun.elapsed());
        assert_eq!(Arc::strong_count(&double), 1, "a task is left");
        assert_eq!(stands(&registrar), "closed");
        assert!(double.generation().is_some());
        assert_eq!(registrar.deregister().await.unwrap_err().kind(), &ErrorKind::Closed);
        pass(TTL).await;
        assert_eq!(double.generation(), None, "it expired");
        assert_eq!(double.calls("deregister").len(), 0);
    }
}

#[tokio::test(start_paused = true)]
async fn h7_close_undoes_a_registration_in_flight() {
    for (fault, least) in [(Fault::Slow(millis(500)), 500), (Fault::Hang, 999)] {
        let double = Double::new();
        let registrar = started(&double).await;
        double.next("register", fault);
        double.revoke();
        while double.calls("register").len() < 2 {
            pass(millis(5)).await;
        }
        let begun = Instant::now();
        registrar.close().await;
        assert!((millis(least - 10)..=millis(1_005)).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        assert_eq!((double.generation(), stands(&registrar)), (None, "closed".into()));
        pass(TTL).await;
        assert_eq!(double.generation(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn c3_a_closed_registry_ends_it() {
    let double = Double::new();
    let registrar = started(&double).await;
    double.close().await;
    reaches(&registrar, secs(6), RegistrarStatus::is_final).await;
    assert_eq!(stands(&registrar), "closed");
    let over = registrar.run_until(std::future::pending::<()>()).await.unwrap_err();
    assert_eq!(over.kind(), &ErrorKind::Closed);
}

#[tokio::test(start_paused = true)]
async fn d4_close_ends_the_tries_to_deregister() {
    let double = Double::new();
    let registrar = started(&double).await;
    double.link(Link::Down);
    registrar.deregister().await.unwrap_err();
    registrar.close().await;
    assert_eq!(Arc::strong_count(&double), 1, "a task is left");
    assert!(matches!(*registrar.status().borrow(), RegistrarStatus::Deregistered { acknowledged: false }));
}
