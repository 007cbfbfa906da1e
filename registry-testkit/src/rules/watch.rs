//! W1 to W7, W11, W14, W15: what a watch says.

use std::collections::HashMap;
use std::time::Duration;

use futures::future::join_all;
use registry_core::{Change, Override, Snapshot, WatchItem, WatchStatus};
use tokio::time::timeout;

use crate::case::{Case, query};
use crate::watched::{Heard, Watched};
use crate::words::{id, service, spec, tagged};

/// W1: the first item with data is a snapshot of all there is; what follows lies after it.
pub async fn w1_the_first_data_is_a_snapshot(case: &Case) {
    case.up("orders", "a").await;
    let b = case.up("orders", "b").await;
    let mut watched = Watched::open(&*case.registry, &query("orders"));
    let snapshot = watched.snapshot().await;
    assert_eq!(snapshot.len(), 2);
    assert!(snapshot.revision >= b.revision, "a snapshot older than what was acknowledged before");
    let (last, before) = watched.items().split_last().expect("items");
    assert!(matches!(last, WatchItem::Snapshot(_)), "{last:?}");
    assert!(
        before.iter().all(|item| matches!(item, WatchItem::Status(_))),
        "only status may precede: {before:?}"
    );
    let c = case.up("orders", "c").await;
    watched.next_change().await;
    assert_eq!(watched.state().revision, c.revision);
}

/// W1: for every prefix of the stream, folded = the state at that revision; for watches opened at any time.
pub async fn w1_every_prefix_folds_to_the_state_at_its_revision(case: &Case) {
    let mut states = HashMap::new();
    let mut watches = Vec::new();
    let mut held = Vec::new();
    for round in 0..30_u16 {
        let revision = match round % 5 {
            0 | 1 => {
                let answer = case.up("orders", &format!("i{round}")).await;
                let revision = answer.revision;
                held.push(answer.lease);
                revision
            }
            2 => case.registry.update(&held[0], spec(1000 + round)).await.expect("an update"),
            3 => {
                let operator = Override::weight(u32::from(round), "test", "W1");
                let value =
                    case.registry.set_override(&service("orders"), held[0].id(), Some(operator)).await;
                value.expect("an override")
            }
            _ => {
                let lease = held.remove(usize::from(round) % held.len());
                case.registry.deregister(&lease).await.expect("a deregistration").expect("it lived")
            }
        };
        states.insert(revision, case.discover("orders").await);
        if round % 7 == 0 {
            watches.push(case.watch("orders").await);
        }
    }
    let last = case.discover("orders").await;
    for watched in &mut watches {
        while watched.state().instances != last.instances {
            watched.next_changes(case.soon()).await;
            let state = watched.state();
            let known = states.get(&state.revision).expect("an item at a revision that was acknowledged");
            assert_eq!(state.instances, known.instances, "at {}", state.revision);
        }
    }
}

/// W1: the folded state that a stream carries beside its items is current without anybody reading them.
pub async fn w1_the_state_beside_the_items_is_current(case: &Case) {
    let watched = Watched::open(&*case.registry, &query("orders"));
    let a = case.up("orders", "a").await;
    let shown = |wanted: usize| {
        let watched = &watched;
        async move || {
            let state = watched.stream().state().load();
            state.snapshot.as_ref().is_some_and(|snapshot| snapshot.len() == wanted).then_some(())
        }
    };
    case.eventually("the state has it", case.soon(), shown(1)).await;
    case.down(&a.lease).await;
    case.eventually("the state follows", case.soon(), shown(0)).await;
    assert!(watched.stream().state().load().status.is_connected());
}

/// W2: every change once and in order, while many write.
pub async fn w2_every_change_once_and_in_order(case: &Case) {
    const WRITERS: usize = 8;
    const WRITES: usize = 40;
    let registrations: Vec<_> = (0..WRITERS).map(|n| case.registration("orders", &format!("i{n}"))).collect();
    let held = join_all(registrations.iter().map(|registration| case.register(registration))).await;
    let mut watched = case.watch("orders").await;
    let writes = join_all(held.iter().map(|held| async {
        for n in 1..=WRITES {
            case.registry.update(&held.lease, tagged("n", n.to_string())).await.expect("an update");
            tokio::task::yield_now().await;
        }
    }));
    let done = |state: &Snapshot| {
        let last = WRITES.to_string();
        state.instances.iter().all(|instance| instance.metadata().get("n") == Some(last.as_str()))
    };
    futures::join!(writes, watched.until("every last write", Duration::from_secs(20), done));
    let mut seen: HashMap<String, Vec<usize>> = HashMap::new();
    for change in watched.changes() {
        let Change::Updated { after, .. } = change else { panic!("only updates were made: {change:?}") };
        let n = after.metadata().get("n").expect("a number").parse().expect("a number");
        seen.entry(after.id.to_string()).or_default().push(n);
    }
    let resynced = watched.items().iter().any(|item| matches!(item, WatchItem::Resync { .. }));
    assert!(!resynced, "a consumer that reads needs no resync");
    for (instance, numbers) in &seen {
        assert_eq!(*numbers, (1..=WRITES).collect::<Vec<_>>(), "{instance}");
    }
}

/// W3: one revision, one item; a change stands in the item of the revision that made it.
pub async fn w3_one_item_per_revision(case: &Case) {
    let mut watched = case.watch("orders").await;
    let registrations: Vec<_> = (0..24).map(|n| case.registration("orders", &format!("i{n}"))).collect();
    let answers = join_all(registrations.iter().map(|registration| case.register(registration))).await;
    watched.until("all are told", case.soon(), |state| state.len() == registrations.len()).await;
    let mut told = Vec::new();
    for item in watched.items() {
        if let WatchItem::Changes { revision, changes } = item {
            for change in changes.iter() {
                let Change::Added(instance) = change else { panic!("only additions were made: {change:?}") };
                assert_eq!(instance.revision, *revision);
            }
            told.push(revision.number());
        }
    }
    let mut made: Vec<_> = answers.iter().map(|answer| answer.revision.number()).collect();
    made.sort_unstable();
    assert_eq!(told, made, "an item for every revision, in order");
}

/// W4: an outage is a status: nothing is removed, no empty list; so is its end.
pub async fn w4_an_outage_is_a_status(case: &Case) {
    case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    let faults = case.faults();
    faults.kill().await;
    status(&mut watched, false, Duration::from_secs(10)).await;
    let mut late = Watched::open(&*case.registry, &query("orders"));
    status(&mut late, false, Duration::from_secs(10)).await;
    assert!(late.folded().is_none(), "an empty snapshot of a backend that is gone");
    faults.heal().await;
    status(&mut watched, true, Duration::from_secs(10)).await;
    late.snapshot().await;
    for watched in [&watched, &late] {
        assert_eq!(watched.state().len(), 1);
        assert_eq!(watched.changes().count(), 0, "an outage changed something: {:?}", watched.items());
    }
}

/// Reads on to a status that says whether the link is up.
async fn status(watched: &mut Watched, connected: bool, within: Duration) {
    let heard = timeout(within, async {
        loop {
            match watched.hear(within).await {
                Heard::Item(WatchItem::Status(status)) if status.is_connected() == connected => {
                    if !connected && !matches!(status, WatchStatus::Disconnected { .. }) {
                        continue;
                    }
                    return;
                }
                Heard::Item(_) => {}
                other => panic!("a status was to come (connected: {connected}): {other:?}"),
            }
        }
    });
    assert!(heard.await.is_ok(), "no status (connected: {connected}) within {within:?}");
}

/// W6: a watch that starts while others write begins where it begins, and never goes back.
pub async fn w6_a_watch_never_goes_back(case: &Case) {
    let a = case.up("orders", "a").await;
    let writes = async {
        for n in 0..60_u16 {
            case.registry.update(&a.lease, spec(100 + n)).await.expect("an update");
            tokio::task::yield_now().await;
        }
    };
    let last = spec(159);
    let read = async {
        // Each start is checked by `Watched`: revisions rise, and the port with them.
        for _ in 0..10 {
            let mut watched = case.watch("orders").await;
            let done = |state: &Snapshot| state.instances.iter().all(|instance| *instance.own == last);
            watched.until("the last write", Duration::from_secs(20), done).await;
        }
    };
    futures::join!(writes, read);
}

/// W11: a stream ends by close, without an error and without a word about instances.
pub async fn w11_a_stream_ends_by_close(case: &Case) {
    case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    let mut of_other = case.watch("never-registered").await;
    case.registry.close().await;
    for watched in [&mut watched, &mut of_other] {
        let error = watched.end(case.soon()).await;
        assert!(error.is_none(), "a close is no error: {error:?}");
        assert_eq!(watched.changes().count(), 0, "a close removes nothing: {:?}", watched.items());
        assert!(matches!(watched.hear(Duration::ZERO).await, Heard::End(None)), "an end is the end");
    }
}

/// W14: a service that nobody registered is an empty snapshot, and additions when they come.
pub async fn w14_an_unknown_service_is_an_empty_snapshot(case: &Case) {
    let mut watched = case.watch("never-registered").await;
    assert!(watched.state().is_empty());
    watched.quiet(case.timing.eps).await;
    case.up("never-registered", "a").await;
    let change = watched.next_change().await;
    assert!(matches!(change, Change::Added(_)), "{change:?}");
}

/// W15: an update that changes nothing is no event.
pub async fn w15_nothing_differs_nothing_is_told(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    for _ in 0..3 {
        case.registry.update(&a.lease, spec(80)).await.expect("an update");
    }
    watched.quiet(case.timing.eps).await;
    case.registry.update(&a.lease, spec(81)).await.expect("an update");
    watched.next_change().await;
    assert_eq!(case.discover("orders").await.get(&id("a")).map(|i| i.endpoints()[0].port()), Some(81));
}

/// Q7, W2: a change reaches every open watch within eps.
pub async fn w2_a_change_is_delivered_within_eps(case: &Case) {
    let other = case.other().await;
    let mut watches = vec![case.watch("orders").await, case.watch("orders").await];
    let mut far = Watched::open(&*other, &query("orders"));
    far.snapshot().await;
    watches.push(far);
    case.up("orders", "a").await;
    for watched in &mut watches {
        watched.next_changes(case.timing.eps).await;
    }
}
