//! W5, W8, W9, W13, W16: slow consumers, many watches, and what resyncs say.

use std::time::Duration;

use futures::StreamExt;
use futures::future::join_all;
use registry_core::{Change, LeaseRef, ResyncReason, WatchItem};
use tokio::time::{Instant, timeout};

use crate::case::{Case, query, tasks};
use crate::watched::Watched;
use crate::words::{spec, tagged};

/// More changes than any queue may hold.
const FLOOD: u32 = 3_000;

/// Changes one instance over and over; ends with `last`.
async fn flood(case: &Case, lease: &LeaseRef, last: u16) {
    for n in 0..FLOOD {
        let written = case.registry.update(lease, tagged("n", n.to_string())).await;
        written.expect("a slow watcher delays no writer");
    }
    case.registry.update(lease, spec(last)).await.expect("an update");
}

/// W8: who does not read costs bounded memory: what was missed comes as one resync, and the state is right.
pub async fn w8_a_slow_consumer_gets_one_resync(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut slow = case.watch("orders").await;
    flood(case, &a.lease, 81).await;
    let b = case.up("orders", "b").await;
    let read = slow.drain(case.timing.eps).await;
    assert!(read < FLOOD as usize / 2, "{read} items were kept for a consumer that does not read");
    assert_eq!(slow.state().instances, case.discover("orders").await.instances);
    let lagged = slow
        .items()
        .iter()
        .filter(|item| matches!(item, WatchItem::Resync { reason: ResyncReason::Lagged, .. }));
    assert!(lagged.count() >= 1, "what was left out is covered by a resync");
    case.down(&b.lease).await;
    let change = slow.next_change().await;
    assert!(matches!(change, Change::Removed { .. }), "it goes on after the resync: {change:?}");
}

/// W8: also one that never read anything begins with a snapshot.
pub async fn w8_a_consumer_that_never_read_begins_with_a_snapshot(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut slow = Watched::open(&*case.registry, &query("orders"));
    flood(case, &a.lease, 81).await;
    slow.drain(case.timing.eps).await;
    assert_eq!(slow.state().instances, case.discover("orders").await.instances);
}

/// W8: nobody else is delayed: another watcher hears every change in time, heartbeats go on.
pub async fn w8_a_slow_consumer_delays_nobody(case: &Case) {
    let a = case.register(&case.brief("orders", "a")).await;
    let slow = case.watch("orders").await;
    let mut prompt = case.watch("orders").await;
    let mut elsewhere = case.watch("bills").await;
    let end = Instant::now() + case.timing.ttl * 2;
    let mut n = 0;
    while Instant::now() < end {
        let mut written = None;
        for _ in 0..100 {
            n += 1;
            written =
                Some(case.registry.update(&a.lease, tagged("n", n.to_string())).await.expect("an update"));
            case.registry.heartbeat(&a.lease).await.expect("a heartbeat");
        }
        prompt.until("the newest", case.timing.eps, |state| Some(state.revision) >= written).await;
        let bill = case.up("bills", "a").await;
        elsewhere.next_changes(case.timing.eps).await;
        case.down(&bill.lease).await;
        elsewhere.next_changes(case.timing.eps).await;
        case.elapse(case.timing.ttl / 10).await;
    }
    drop(slow);
}

/// W5: a gap whose changes come to nothing ends where it began; a resync that finds nothing different tells nothing.
pub async fn w5_a_gap_that_came_to_nothing_tells_nothing(case: &Case) {
    let a = case.up("orders", "a").await;
    let mut slow = case.watch("orders").await;
    let before = slow.state();
    flood(case, &a.lease, 80).await;
    slow.drain(case.timing.eps).await;
    let resyncs = slow.items().iter().filter(|item| matches!(item, WatchItem::Resync { .. })).count();
    assert!(resyncs >= 1, "what was left out is covered by a resync");
    assert_eq!(slow.state().instances, before.instances);
    assert_eq!(slow.state().instances, case.discover("orders").await.instances);
}

/// W5, D6: what vanished in a gap comes out as removed, what came as added.
pub async fn w5_what_vanished_in_a_gap_is_removed(case: &Case) {
    let a = case.up("orders", "a").await;
    let goes = case.up("orders", "goes").await;
    let mut slow = case.watch("orders").await;
    case.down(&goes.lease).await;
    flood(case, &a.lease, 81).await;
    case.up("orders", "comes").await;
    slow.drain(case.timing.eps).await;
    assert_eq!(slow.removals("goes").len(), 1, "its removal is told once");
    assert!(slow.changes().any(|change| matches!(change, Change::Added(i) if i.id == "comes")));
    assert_eq!(slow.state().instances, case.discover("orders").await.instances);
}

/// W16: gone and back inside a gap shows as a change of generation.
pub async fn w16_back_inside_a_gap_is_another_generation(case: &Case) {
    let a = case.up("orders", "a").await;
    let back = case.up("orders", "back").await;
    let mut slow = case.watch("orders").await;
    flood(case, &a.lease, 81).await;
    case.down(&back.lease).await;
    let again = case.up("orders", "back").await;
    flood(case, &a.lease, 82).await;
    slow.drain(case.timing.eps).await;
    let told = slow.changes().filter(|change| *change.id() == *again.lease.id()).last();
    let Some(Change::Updated { after, .. } | Change::Added(after)) = told else {
        panic!("the other generation is told: {told:?}");
    };
    assert_eq!(after.generation, again.generation());
}

/// W9: with a thousand instances and more coming and going, every open watch equals the list within 2 s.
pub async fn w9_every_watch_equals_the_list_within_two_seconds(case: &Case) {
    let mut watches = vec![case.watch("orders").await];
    let many: Vec<_> = (0..case.timing.many).map(|n| case.registration("orders", &format!("i{n}"))).collect();
    let mut held = Vec::new();
    for chunk in many.chunks(64) {
        held.extend(join_all(chunk.iter().map(|one| case.register(one))).await);
        if held.len() % 512 == 0 {
            watches.push(Watched::open(&*case.registry, &query("orders")));
        }
    }
    for chunk in held.chunks(128) {
        join_all(chunk.iter().step_by(3).map(|one| case.down(&one.lease))).await;
    }
    let listed = case.discover("orders").await;
    let deadline = Instant::now() + Duration::from_secs(2);
    for watched in &mut watches {
        let left = deadline.saturating_duration_since(Instant::now());
        watched.until("the list", left, |state| state.instances == listed.instances).await;
    }
}

/// W13: ten thousand watches, opened and dropped, leave no task.
pub async fn w13_dropped_watches_leave_no_task(case: &Case) {
    case.up("orders", "a").await;
    let bound = Duration::from_secs(1) + case.timing.eps;
    let open = |n: usize| case.registry.watch(&query(&format!("orders-{}", n % 10))).expect("a watch");
    // What all watches share comes up with the first ones, and stays while one is left.
    let _kept = case.watch("orders").await;
    let mut kept_names = case.registry.watch_services().expect("a watch");
    timeout(case.soon(), kept_names.next()).await.expect("names").expect("an item").expect("no error");
    drop((0..20).map(open).collect::<Vec<_>>());
    case.elapse(bound).await;
    let before = tasks();
    for round in 0..100 {
        let streams: Vec<_> = (0..100).map(open).collect();
        if round % 10 == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        drop(streams);
        drop(case.registry.watch_services().expect("a watch"));
    }
    case.eventually("dropped watches are cancelled", bound, async || (tasks() <= before).then_some(())).await;
    drop(kept_names);
    case.watch("orders").await;
}
