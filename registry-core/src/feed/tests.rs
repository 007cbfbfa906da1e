use std::time::Duration;

use futures::{FutureExt, StreamExt};

use super::*;
use crate::instance::InstanceSpec;
use crate::item::RemoveReason;
use crate::lease::Generation;
use crate::name::InstanceId;
use crate::revision::Lineage;
use crate::source::Record;

fn at(number: u64) -> Revision {
    Revision::new(Lineage::new(1), number)
}

fn raw(ids: &[&str], revision: u64) -> RawState {
    let record = |id: &&str| Record {
        id: InstanceId::new(id).unwrap(),
        generation: Generation::new(1),
        revision: at(1),
        instance: Arc::new(InstanceSpec::new("http://h:1".parse().unwrap())),
        corrected: None,
    };
    RawState { records: ids.iter().map(record).collect(), ..RawState::empty(at(revision)) }
}

fn feed() -> Feed {
    Feed::new(ServiceName::new("s").unwrap(), 16)
}

fn next(stream: &mut WatchStream) -> Option<WatchItem> {
    stream.next().now_or_never().map(|item| item.unwrap().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_resync_is_the_difference_and_empty_where_nothing_differs() {
    let mut feed = feed();
    let mut stream = feed.subscribe(None, Box::new(()));
    assert!(next(&mut stream).is_none());
    feed.list(raw(&["a", "b"], 5), ResyncReason::Recovered, Instant::now());
    assert!(matches!(next(&mut stream), Some(WatchItem::Snapshot(s)) if s.len() == 2));
    feed.list(raw(&["a", "b"], 9), ResyncReason::Compacted, Instant::now());
    assert!(matches!(next(&mut stream),
        Some(WatchItem::Resync { reason: ResyncReason::Compacted, changes, .. }) if changes.is_empty()));
    feed.list(raw(&["b", "c"], 10), ResyncReason::Audit, Instant::now());
    let Some(WatchItem::Resync { changes, .. }) = next(&mut stream) else { panic!() };
    assert!(matches!(
        &changes[..],
        [Change::Removed { reason: RemoveReason::Unknown, .. }, Change::Added(_)]
    ));
}

#[tokio::test(start_paused = true)]
async fn losing_the_link_is_a_status_that_says_since_when_and_removes_nothing() {
    let mut feed = feed();
    let mut stream = feed.subscribe(None, Box::new(()));
    feed.list(raw(&["a"], 5), ResyncReason::Recovered, Instant::now());
    feed.connected(Instant::now());
    next(&mut stream);
    assert!(next(&mut stream).is_none(), "the first connection is no news");
    let lost = Instant::now();
    feed.disconnected(lost, "cut");
    tokio::time::advance(Duration::from_secs(3)).await;
    feed.disconnected(Instant::now(), "still cut");
    let Some(WatchItem::Status(WatchStatus::Disconnected { since, .. })) = next(&mut stream) else {
        panic!()
    };
    assert_eq!(since, lost);
    assert!(next(&mut stream).is_none(), "said once");
    let state = stream.state().load();
    assert_eq!(state.snapshot.as_ref().unwrap().len(), 1);
    assert_eq!(state.age(Instant::now()), Duration::from_secs(3));
    feed.connected(Instant::now());
    assert!(matches!(next(&mut stream), Some(WatchItem::Status(WatchStatus::Connected))));
}

#[tokio::test(start_paused = true)]
async fn a_watcher_of_an_unreachable_backend_hears_so_before_any_data() {
    let mut feed = feed();
    let mut early = feed.subscribe(None, Box::new(()));
    feed.disconnected(Instant::now(), "refused");
    let mut late = feed.subscribe(None, Box::new(()));
    for stream in [&mut early, &mut late] {
        assert!(matches!(next(stream), Some(WatchItem::Status(WatchStatus::Disconnected { .. }))));
        assert!(next(stream).is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn progress_raises_the_revision_and_proves_the_age() {
    let mut feed = feed();
    let mut stream = feed.subscribe(None, Box::new(()));
    feed.list(raw(&["a"], 5), ResyncReason::Recovered, Instant::now());
    next(&mut stream);
    tokio::time::advance(Duration::from_secs(3)).await;
    feed.progress(at(8), Instant::now());
    assert!(matches!(next(&mut stream), Some(WatchItem::Progress(r)) if r == at(8)));
    assert_eq!(stream.state().load().age(Instant::now()), Duration::ZERO);
    feed.progress(at(7), Instant::now());
    assert!(next(&mut stream).is_none(), "never backwards");
    let late = Batch { revision: at(7), events: Vec::new() };
    assert!(feed.batch(late, Instant::now()).is_empty());
    assert_eq!(feed.merged().unwrap().revision(), at(8), "what was proven is the position");
}
