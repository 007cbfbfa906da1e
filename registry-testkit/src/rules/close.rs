//! C1, C3, C4: dropped calls, closing, and consumers that panic.

use std::time::Duration;

use futures::StreamExt;
use registry_core::{ErrorKind, ReadOptions, Snapshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::case::{Case, discover, query, tasks};
use crate::cut::cut_after;
use crate::refused;
use crate::watched::Watched;
use crate::words::{id, service, spec};

/// C1: an update cut off at any await was done or was not; the record is whole and the owner goes on.
pub async fn c1_a_dropped_update_was_done_or_not(case: &Case) {
    let a = case.up("orders", "a").await;
    for polls in 1..=40 {
        let port = u16::try_from(1000 + polls).expect("a port");
        let done = cut_after(polls, case.registry.update(&a.lease, spec(port))).await.is_some();
        let snapshot = case.discover("orders").await;
        let instance = snapshot.get(&id("a")).expect("it is never gone");
        assert_eq!(instance.generation, a.generation());
        if done {
            assert_eq!(*instance.own, spec(port));
            break;
        }
    }
    case.registry.update(&a.lease, spec(99)).await.expect("the owner goes on");
    case.registry.heartbeat(&a.lease).await.expect("the owner goes on");
    case.eventually("the last word counts", case.soon(), async || {
        case.discover("orders").await.get(&id("a")).is_some_and(|i| *i.own == spec(99)).then_some(())
    })
    .await;
}

/// C1: a deregistration cut off at any await was done or was not, and can be repeated.
pub async fn c1_a_dropped_deregistration_can_be_repeated(case: &Case) {
    for polls in 1..=40 {
        let a = case.up("orders", &format!("i{polls}")).await;
        let done = cut_after(polls, case.registry.deregister(&a.lease)).await.is_some();
        case.registry.deregister(&a.lease).await.expect("it can be repeated");
        assert!(case.ids("orders").await.is_empty(), "still there after {polls} polls and a repeat");
        if done {
            break;
        }
    }
}

/// C1: reads and heartbeats cut off at any await have no effect.
pub async fn c1_dropped_reads_and_heartbeats_have_no_effect(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    for polls in 1..=10 {
        cut_after(polls, case.registry.heartbeat(&a.lease)).await;
        cut_after(polls, case.registry.discover(&query("orders"), ReadOptions::default())).await;
        cut_after(polls, case.registry.services(ReadOptions::default())).await;
        cut_after(polls, case.registry.holder(&service("orders"), &id("a"))).await;
    }
    watched.quiet(case.timing.eps).await;
    case.registry.heartbeat(&a.lease).await.expect("it lives on");
}

/// C1: a read of a watch that is cut off loses no item.
pub async fn c1_a_dropped_next_loses_no_item(case: &Case) {
    let mut watched = case.watch("orders").await;
    for n in 0..20 {
        assert!(cut_after(1, watched.hear(Duration::from_secs(1))).await.is_none(), "nothing happened yet");
        let registration = case.registration("orders", &format!("i{n}"));
        case.register(&registration).await;
        watched.until("the addition", case.soon(), |state| state.get(&registration.id).is_some()).await;
    }
}

/// C3: closing is idempotent; afterwards every call answers `Closed`, streams have ended and no task is left.
pub async fn c3_after_close_calls_answer_closed(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    let mut named = case.registry.watch_services().expect("a watch");
    for _ in 0..3 {
        case.registry.close().await;
    }
    let registry = &case.registry;
    refused!(registry.register(case.registration("orders", "b")).await, ErrorKind::Closed);
    refused!(registry.heartbeat(&a.lease).await, ErrorKind::Closed);
    refused!(registry.update(&a.lease, spec(81)).await, ErrorKind::Closed);
    refused!(registry.deregister(&a.lease).await, ErrorKind::Closed);
    refused!(registry.holder(&service("orders"), &id("a")).await, ErrorKind::Closed);
    refused!(registry.set_override(&service("orders"), &id("a"), None).await, ErrorKind::Closed);
    refused!(registry.discover(&query("orders"), ReadOptions::default()).await, ErrorKind::Closed);
    refused!(registry.services(ReadOptions::default()).await, ErrorKind::Closed);
    refused!(registry.watch(&query("orders")), ErrorKind::Closed);
    refused!(registry.watch_services(), ErrorKind::Closed);
    assert!(watched.end(case.soon()).await.is_none());
    let names_end = async {
        while let Some(item) = named.next().await {
            item.expect("a close is no error");
        }
    };
    timeout(case.soon(), names_end).await.expect("the stream of names ends");
    case.no_task_left().await;
}

/// C3: several may close at once, and while calls are under way.
pub async fn c3_close_is_safe_from_anywhere(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut callers = JoinSet::new();
    for _ in 0..4 {
        let (registry, lease) = (case.registry.clone(), a.lease.clone());
        callers.spawn(async move {
            while registry.heartbeat(&lease).await.is_ok() {
                tokio::task::yield_now().await;
            }
        });
        let registry = case.registry.clone();
        callers.spawn(async move { registry.close().await });
    }
    let all = timeout(case.soon(), async {
        while callers.join_next().await.transpose().expect("no panic").is_some() {}
    });
    assert!(all.await.is_ok(), "close or a call under it did not come to an end");
}

/// C3: closing deregisters nothing, and ends this handle alone.
pub async fn c3_close_ends_one_handle_and_deregisters_nothing(case: &Case) {
    let second = case.second().await;
    let a = second.register(case.registration("orders", "a")).await.expect("a registration");
    let mut watched = Watched::open(&*case.registry, &query("orders"));
    watched.snapshot().await;
    second.close().await;
    refused!(second.heartbeat(&a.lease).await, ErrorKind::Closed);
    watched.quiet(case.timing.eps).await;
    assert_eq!(case.ids("orders").await, ["a"], "close deregistered");
    case.registry.heartbeat(&a.lease).await.expect("the lease can be kept through another handle");
    case.up("orders", "b").await;
    watched.next_change().await;
}

/// C3: closing is bounded in time while the backend is dead, and while it is silent.
pub async fn c3_close_is_bounded_with_the_backend_dead(case: &Case) {
    for freeze in [true, false] {
        let second = case.second().await;
        let a = second
            .register(case.registration("orders", &format!("frozen-{freeze}")))
            .await
            .expect("registered");
        let mut watched = Watched::open(&*second, &query("orders"));
        watched.snapshot().await;
        let faults = case.faults();
        if freeze {
            faults.freeze().await;
        } else {
            faults.kill().await;
        }
        let mut under_way = JoinSet::new();
        let (registry, lease) = (second.clone(), a.lease.clone());
        under_way.spawn(async move { registry.heartbeat(&lease).await });
        tokio::task::yield_now().await;
        let asked = Instant::now();
        let closed = timeout(case.soon(), second.close()).await;
        assert!(closed.is_ok(), "close() of a dead backend took more than {:?}", asked.elapsed());
        watched.end(case.soon()).await;
        refused!(second.discover(&query("orders"), ReadOptions::default()).await, ErrorKind::Closed);
        let beat = timeout(case.soon(), under_way.join_next()).await;
        assert!(beat.is_ok(), "a call under way was left hanging");
        faults.heal().await;
        case.eventually("the backend answers again", Duration::from_secs(15), async || {
            case.registry.discover(&query("orders"), ReadOptions::default()).await.ok()
        })
        .await;
    }
}

/// C4: a consumer that panics harms itself alone.
pub async fn c4_a_consumer_that_panics_harms_itself_alone(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut spared = case.watch("orders").await;
    let mut consumers = JoinSet::new();
    let registry = case.registry.clone();
    let (listens, listening) = tokio::sync::oneshot::channel();
    consumers.spawn(async move {
        let mut watched = Watched::open(&*registry, &query("orders"));
        watched.snapshot().await;
        listens.send(()).expect("the test waits");
        watched.next_changes(Duration::from_secs(10)).await;
        let _kept = watched.stream().state().load();
        // Without the hook's message: this panic is the test, not its failure.
        std::panic::resume_unwind(Box::new("a consumer that panics"));
    });
    listening.await.expect("the consumer listens");
    case.registry.update(&a.lease, spec(81)).await.expect("an update");
    spared.next_change().await;
    let ended = consumers.join_next().await.expect("one consumer");
    assert!(ended.is_err_and(|error| error.is_panic()));
    case.registry.update(&a.lease, spec(82)).await.expect("an update after the panic");
    spared.next_change().await;
    let mut late = case.watch("orders").await;
    assert_eq!(late.until("the state", case.soon(), |state: &Snapshot| state.len() == 1).await.len(), 1);
    assert_eq!(discover(&*case.registry, "orders").await.len(), 1);
}

/// C3: a handle that is only dropped, and not closed, leaves no task either.
pub async fn c3_a_dropped_handle_leaves_no_task(case: &Case) {
    // Both handles' streams are at work before one is closed and the tasks are counted.
    let mut kept = case.watch("orders").await;
    let mut use_another = async |id: &str| {
        let another = case.second_unkept().await;
        let mut watched = Watched::open(&*another, &query("orders"));
        watched.snapshot().await;
        let added = case.up("orders", id).await;
        let seen = |state: &Snapshot| state.get(added.lease.id()).is_some();
        watched.until("the addition", case.soon(), seen).await;
        kept.until("the addition", case.soon(), seen).await;
        another
    };
    use_another("a").await.close().await;
    let before = tasks();
    drop(use_another("b").await);
    case.eventually("a dropped handle's tasks end", case.soon(), async || (tasks() <= before).then_some(()))
        .await;
}

/// C3: the list of a closed handle is not called fresh, and its watch says that it is over.
pub async fn c3_a_closed_watch_is_not_called_fresh(case: &Case) {
    case.up("orders", "a").await;
    let watched = case.watch("orders").await;
    case.registry.close().await;
    case.eventually("the state says that it is over", case.soon(), async || {
        let state = watched.stream().state().load();
        (state.ended.is_some() && !state.status.is_connected()).then_some(())
    })
    .await;
    case.elapse(case.timing.eps).await;
    let state = watched.stream().state().load();
    assert!(state.age(Instant::now()) >= case.timing.eps, "its age does not grow");
    assert_eq!(state.snapshot.as_ref().map(|last| last.len()), Some(1), "the last list is lost");
}
