use futures::{FutureExt, StreamExt};
use proptest::prelude::*;

use super::*;
use crate::feed::Feed;
use crate::instance::InstanceSpec;
use crate::item::fold;
use crate::lease::Generation;
use crate::name::ServiceName;
use crate::revision::{Lineage, Revision};
use crate::snapshot::Slot;
use crate::source::{Batch, RawEvent, Record};
use tokio::time::Instant;

fn at(number: u64) -> Revision {
    Revision::new(Lineage::new(1), number)
}

fn id(n: u8) -> InstanceId {
    InstanceId::new(format!("i{n}")).unwrap()
}

fn version(n: u8) -> Version {
    Version::new(n.to_string()).unwrap()
}

fn put(n: u8, of: u8, weight: u32, revision: u64) -> RawEvent {
    let mut instance = InstanceSpec::new("http://h:1".parse().unwrap()).with_weight(weight);
    instance.version = Some(version(of));
    let generation = Generation::new(1);
    let (id, instance) = (id(n), Arc::new(instance));
    RawEvent::Put(Record { id, generation, revision: at(revision), instance, corrected: None })
}

fn gone(n: u8, of: u8) -> RawEvent {
    RawEvent::Gone { slot: Slot::new(id(n), Some(version(of))), reason: RemoveReason::Deregistered }
}

fn feed(capacity: usize) -> Feed {
    Feed::embedded(ServiceName::new("s").unwrap(), capacity, at(0))
}

fn apply(feed: &mut Feed, revision: u64, events: Vec<RawEvent>) {
    feed.batch(Batch { revision: at(revision), events }, Instant::now());
}

fn next(stream: &mut WatchStream) -> Option<WatchItem> {
    stream.next().now_or_never().map(|item| item.unwrap().unwrap())
}

#[test]
fn a_full_queue_becomes_one_resync_that_says_what_it_came_to() {
    let mut feed = feed(4);
    let mut slow = feed.subscribe(None, Box::new(()));
    assert!(matches!(next(&mut slow), Some(WatchItem::Snapshot(_))));
    for n in 0..100 {
        apply(
            &mut feed,
            n + 1,
            vec![put(u8::try_from(n % 10).unwrap(), 1, 1 + u32::try_from(n).unwrap(), n + 1)],
        );
    }
    apply(&mut feed, 101, vec![gone(3, 1)]);
    let Some(WatchItem::Resync { reason: ResyncReason::Lagged, changes, snapshot }) = next(&mut slow) else {
        panic!("no resync");
    };
    assert_eq!((changes.len(), snapshot.len()), (9, 9), "who came and went in between is not told");
    assert!(next(&mut slow).is_none());
    apply(&mut feed, 102, vec![put(3, 1, 1, 102)]);
    assert!(matches!(next(&mut slow), Some(WatchItem::Changes { .. })));
}

#[test]
fn an_overflow_before_the_first_snapshot_was_taken_is_a_later_snapshot() {
    let mut feed = feed(2);
    let mut slow = feed.subscribe(None, Box::new(()));
    for n in 1..=10 {
        apply(&mut feed, n, vec![put(u8::try_from(n).unwrap(), 1, 1, n)]);
    }
    assert!(matches!(next(&mut slow), Some(WatchItem::Snapshot(snapshot)) if snapshot.len() == 10));
    assert!(next(&mut slow).is_none());
}

#[test]
fn a_view_of_a_version_sees_who_enters_and_who_leaves() {
    let mut feed = feed(100);
    let one = version(1);
    let mut stream = feed.subscribe(Some(&one), Box::new(()));
    next(&mut stream);
    apply(&mut feed, 1, vec![put(1, 2, 1, 1)]);
    assert!(next(&mut stream).is_none(), "another version is no item");
    apply(&mut feed, 2, vec![gone(1, 2), put(1, 1, 1, 2)]);
    let Some(WatchItem::Changes { changes, .. }) = next(&mut stream) else { panic!() };
    assert!(matches!(&changes[..], [Change::Added(_)]));
    apply(&mut feed, 3, vec![gone(1, 1), put(1, 2, 1, 3)]);
    let Some(WatchItem::Changes { changes, .. }) = next(&mut stream) else { panic!() };
    assert!(matches!(&changes[..], [Change::Removed { reason: RemoveReason::Filtered, .. }]));
}

#[test]
fn a_dropped_watcher_leaves_nothing() {
    let mut feed = feed(100);
    drop(feed.subscribe(None, Box::new(())));
    assert!(!feed.is_watched());
}

#[test]
fn an_ended_feed_ends_its_watchers_and_newcomers() {
    let mut feed = feed(100);
    let mut old = feed.subscribe(None, Box::new(()));
    feed.end(WatchEnd::Closed, Instant::now());
    let mut new = feed.subscribe(None, Box::new(()));
    assert!(matches!(next(&mut new), Some(WatchItem::Status(WatchStatus::Disconnected { .. }))));
    for stream in [&mut old, &mut new] {
        assert!(matches!(stream.next().now_or_never(), Some(Some(Ok(WatchItem::Snapshot(_))))));
        assert!(matches!(stream.next().now_or_never(), Some(None)));
        assert!(matches!(stream.next().now_or_never(), Some(None)));
    }
}

proptest! {
    /// W1, W2, W8 for every view and any capacity: whatever a watcher reads when, folded it is the state, and a view's
    /// cell agrees with the merged state.
    #[test]
    fn folded_is_the_state_however_slow_the_watcher(
        capacity in 1usize..8,
        filtered in any::<bool>(),
        steps in proptest::collection::vec((0u8..6, 1u8..3, 0u32..3, any::<bool>(), 0usize..4), 1..60),
    ) {
        let mut feed = feed(capacity);
        let filter = filtered.then(|| version(1));
        let mut stream = feed.subscribe(filter.as_ref(), Box::new(()));
        let mut folded = None;
        let mut held: [Option<u8>; 6] = [None; 6];
        for (revision, (n, of, weight, keep, reads)) in (1..).zip(steps) {
            let mut events: Vec<_> = held[usize::from(n)].filter(|old| !keep || *old != of).map(|old| gone(n, old)).into_iter().collect();
            held[usize::from(n)] = keep.then_some(of);
            if keep {
                events.push(put(n, of, weight, revision));
            }
            apply(&mut feed, revision, events);
            for _ in 0..reads {
                let Some(item) = next(&mut stream) else { break };
                folded = fold(folded, &item).map_err(|e| TestCaseError::fail(e.to_string()))?;
            }
        }
        while let Some(item) = next(&mut stream) {
            folded = fold(folded, &item).map_err(|e| TestCaseError::fail(e.to_string()))?;
        }
        let merged = feed.merged().unwrap().snapshot(filter.as_ref());
        let folded = folded.unwrap();
        prop_assert_eq!(&folded.instances, &merged.instances);
        let cell = stream.state().load().snapshot.clone().unwrap();
        prop_assert_eq!(&cell.instances, &merged.instances);
    }
}
