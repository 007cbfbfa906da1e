use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::stream;
use tokio::time::advance;

use super::*;
use crate::hub::WatchHub;
use crate::instance::InstanceSpec;
use crate::item::{WatchItem, WatchStatus};
use crate::lease::Generation;
use crate::name::{InstanceId, ServiceName};
use crate::query::Query;
use crate::revision::Lineage;
use crate::source::{Batch, RawEvent, RawServices, RawState, Record, ServicesBatch, WatchSource};
use crate::stream::WatchStream;
use crate::sync::lock;

/// A source that plays scripts and writes down what it was asked.
#[derive(Debug, Default)]
struct Scripted {
    lists: Mutex<VecDeque<Result<RawState>>>,
    follows: Mutex<VecDeque<Vec<Step>>>,
    asked: Mutex<Vec<(Instant, Asked)>>,
}

#[derive(Debug)]
enum Step {
    Wait(Duration),
    Give(Result<Followed<Batch>, FollowEnd>),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Asked {
    List,
    Follow(u64),
}

impl Scripted {
    fn note(&self, asked: Asked) {
        lock(&self.asked).push((Instant::now(), asked));
    }

    fn asked(&self) -> Vec<Asked> {
        lock(&self.asked).iter().map(|(_, asked)| *asked).collect()
    }
}

#[async_trait]
impl WatchSource for Scripted {
    async fn list(&self, _: &ServiceName) -> Result<RawState> {
        self.note(Asked::List);
        let scripted = lock(&self.lists).pop_front();
        scripted.unwrap_or_else(|| Err(Error::unavailable("no more lists")))
    }

    fn follow(&self, _: &ServiceName, after: Revision) -> Follow<Batch> {
        self.note(Asked::Follow(after.number()));
        let steps = lock(&self.follows).pop_front().unwrap_or_else(|| vec![Step::Wait(Duration::MAX)]);
        stream::iter(steps)
            .filter_map(|step| async {
                match step {
                    Step::Wait(wait) if wait == Duration::MAX => std::future::pending().await,
                    Step::Wait(wait) => {
                        sleep(wait).await;
                        None
                    }
                    Step::Give(item) => Some(item),
                }
            })
            .boxed()
    }

    async fn digest(&self, _: &ServiceName) -> Result<Digest> {
        Ok(state(&["a", "b"], 5).digest())
    }

    async fn list_services(&self) -> Result<RawServices> {
        Ok(RawServices { revision: at(1), living: Vec::new() })
    }

    fn follow_services(&self, _: Revision) -> Follow<ServicesBatch> {
        stream::pending().boxed()
    }
}

fn at(number: u64) -> Revision {
    Revision::new(Lineage::new(1), number)
}

fn record(id: &str, revision: u64) -> Record {
    Record {
        id: InstanceId::new(id).unwrap(),
        generation: Generation::new(1),
        revision: at(revision),
        instance: Arc::new(InstanceSpec::new("http://h:1".parse().unwrap())),
        corrected: None,
    }
}

fn state(ids: &[&str], revision: u64) -> RawState {
    let records = ids.iter().map(|id| record(id, revision)).collect();
    RawState { records, ..RawState::empty(at(revision)) }
}

fn put(id: &str, revision: u64) -> Step {
    let events = vec![RawEvent::Put(record(id, revision))];
    Step::Give(Ok(Followed::Batch(Batch { revision: at(revision), events })))
}

fn end(end: FollowEnd) -> Step {
    Step::Give(Err(end))
}

fn cut() -> Step {
    end(FollowEnd::Disconnected(Error::unavailable("cut")))
}

fn progress(revision: u64) -> Step {
    Step::Give(Ok(Followed::Progress(at(revision))))
}

fn watch(lists: Vec<Result<RawState>>, follows: Vec<Vec<Step>>) -> (Arc<Scripted>, WatchHub, WatchStream) {
    let source = Arc::new(Scripted {
        lists: Mutex::new(lists.into()),
        follows: Mutex::new(follows.into()),
        ..Scripted::default()
    });
    let hub = WatchHub::new(source.clone(), WatchConfig::default());
    let stream = hub.watch(&Query::new(ServiceName::new("s").unwrap())).unwrap();
    (source, hub, stream)
}

async fn item(stream: &mut WatchStream) -> WatchItem {
    timeout(Duration::from_hours(1), stream.next())
        .await
        .expect("an item")
        .expect("no end")
        .expect("no error")
}

#[tokio::test(start_paused = true)]
async fn w2_after_a_cut_it_follows_at_the_last_applied_revision_without_a_list() {
    let (source, _hub, mut stream) = watch(
        vec![Ok(state(&["a"], 5))],
        vec![
            vec![progress(5), put("b", 6), cut()],
            vec![put("c", 7), progress(7), Step::Wait(Duration::MAX)],
        ],
    );
    assert!(matches!(item(&mut stream).await, WatchItem::Snapshot(_)));
    assert!(matches!(item(&mut stream).await, WatchItem::Changes { revision, .. } if revision == at(6)));
    assert!(matches!(item(&mut stream).await, WatchItem::Status(WatchStatus::Disconnected { .. })));
    assert!(matches!(item(&mut stream).await, WatchItem::Changes { revision, .. } if revision == at(7)));
    assert!(matches!(item(&mut stream).await, WatchItem::Status(WatchStatus::Connected)));
    assert_eq!(source.asked(), [Asked::List, Asked::Follow(5), Asked::Follow(6)]);
}

#[tokio::test(start_paused = true)]
async fn w11_a_clean_end_from_the_server_is_a_disconnection() {
    let (source, _hub, mut stream) =
        watch(vec![Ok(state(&[], 5))], vec![vec![progress(5)], vec![put("a", 6)]]);
    item(&mut stream).await;
    assert!(matches!(item(&mut stream).await, WatchItem::Status(WatchStatus::Disconnected { .. })));
    assert!(matches!(item(&mut stream).await, WatchItem::Changes { .. }));
    assert_eq!(source.asked(), [Asked::List, Asked::Follow(5), Asked::Follow(5)]);
}

#[tokio::test(start_paused = true)]
async fn w5_gone_history_is_one_list_and_one_resync_with_the_difference() {
    for (why, reason) in [
        (FollowEnd::Compacted, ResyncReason::Compacted),
        (FollowEnd::LineageChanged, ResyncReason::LineageChanged),
        (FollowEnd::Lagged, ResyncReason::Lagged),
    ] {
        let (source, _hub, mut stream) =
            watch(vec![Ok(state(&["a", "b"], 5)), Ok(state(&["b"], 5))], vec![vec![end(why)]]);
        item(&mut stream).await;
        let WatchItem::Resync { reason: told, changes, .. } = item(&mut stream).await else { panic!() };
        assert_eq!((told, changes.len()), (reason, 1));
        assert_eq!(source.asked()[..2], [Asked::List, Asked::Follow(5)]);
    }
}

#[tokio::test(start_paused = true)]
async fn w6_a_list_of_a_member_that_lags_is_not_believed() {
    let (source, _hub, mut stream) = watch(
        vec![Ok(state(&["a"], 9)), Ok(state(&[], 5)), Ok(state(&["a"], 12))],
        vec![vec![end(FollowEnd::Compacted)]],
    );
    item(&mut stream).await;
    assert!(matches!(item(&mut stream).await, WatchItem::Status(WatchStatus::Disconnected { .. })));
    assert!(matches!(item(&mut stream).await, WatchItem::Resync { snapshot, .. } if snapshot.len() == 1));
    assert_eq!(source.asked()[..3], [Asked::List, Asked::Follow(9), Asked::List]);
}

#[tokio::test(start_paused = true)]
async fn w11_a_refusal_ends_the_watch_with_its_error() {
    let denied = || Error::new(ErrorKind::PermissionDenied, "no");
    let (_, _hub, mut stream) = watch(vec![Ok(state(&[], 5))], vec![vec![end(FollowEnd::Denied(denied()))]]);
    item(&mut stream).await;
    assert_eq!(stream.next().await.unwrap().unwrap_err().kind(), &ErrorKind::PermissionDenied);
    assert!(stream.next().await.is_none());
    let (_, _hub, mut stream) = watch(vec![Err(denied())], vec![]);
    assert!(stream.next().await.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn w12_a_failing_loop_waits_between_floor_and_cap_and_never_gives_up() {
    let (source, hub, _stream) = watch(vec![], vec![]);
    sleep(Duration::from_hours(1)).await;
    hub.close().await;
    let asked = lock(&source.asked).clone();
    assert!(asked.len() > 3000, "{} tries in an hour", asked.len());
    for pair in asked.windows(2) {
        let wait = pair[1].0 - pair[0].0;
        assert!(wait >= Duration::from_millis(100) && wait <= Duration::from_millis(1001), "{wait:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn w12_a_stream_that_dies_at_once_does_not_reset_the_backoff() {
    let (source, hub, _stream) =
        watch(vec![Ok(state(&[], 5))], (0..1000).map(|_| vec![progress(5), cut()]).collect());
    sleep(Duration::from_mins(1)).await;
    hub.close().await;
    let tries = source.asked().len();
    assert!((60..180).contains(&tries), "at most three a second: {tries}");
}

#[tokio::test(start_paused = true)]
async fn w10_a_lost_event_is_found_by_the_audit() {
    // The source's digest holds a and b; b's event never came.
    let (source, _hub, mut stream) = watch(
        vec![Ok(state(&["a"], 5)), Ok(state(&["a", "b"], 5))],
        vec![vec![progress(5), Step::Wait(Duration::MAX)]],
    );
    item(&mut stream).await;
    let WatchItem::Resync { reason, changes, .. } = item(&mut stream).await else { panic!() };
    assert_eq!((reason, changes.len()), (ResyncReason::Audit, 1));
    assert_eq!(source.asked()[..3], [Asked::List, Asked::Follow(5), Asked::List]);
}

#[tokio::test(start_paused = true)]
async fn w12_waits_of_nothing_or_for_ever_neither_spin_nor_end_a_watch() {
    for wait in [Duration::ZERO, Duration::MAX] {
        let lists = Mutex::new((0..100).map(|_| Ok(state(&["a", "b"], 5))).collect());
        let source = Arc::new(Scripted { lists, ..Scripted::default() });
        let config = WatchConfig {
            backoff_floor: wait,
            backoff_cap: wait,
            silence: wait,
            audit_interval: wait,
            ..WatchConfig::default()
        };
        let hub = WatchHub::new(source.clone(), config);
        let mut stream = hub.watch(&Query::new(ServiceName::new("s").unwrap())).unwrap();
        item(&mut stream).await;
        assert!(
            timeout(Duration::from_secs(30), stream.next()).await.is_err(),
            "nothing happens, nothing ends"
        );
        assert_eq!(source.asked(), [Asked::List, Asked::Follow(5)]);
    }
}

#[tokio::test(start_paused = true)]
async fn w13_the_last_watcher_ends_the_upstream_watch_and_the_next_begins_anew() {
    let (source, hub, stream) = watch(vec![Ok(state(&[], 5)), Ok(state(&[], 6))], vec![]);
    let query = Query::new(ServiceName::new("s").unwrap());
    let mut second = hub.watch(&query).unwrap();
    item(&mut second).await;
    assert_eq!(source.asked(), [Asked::List, Asked::Follow(5)], "one upstream watch for both");
    drop((stream, second));
    advance(Duration::from_millis(10)).await;
    let mut third = hub.watch(&query).unwrap();
    assert!(matches!(item(&mut third).await, WatchItem::Snapshot(s) if s.revision == at(6)));
}

#[tokio::test(start_paused = true)]
async fn c3_close_ends_streams_and_refuses_new_ones() {
    let (_, hub, mut stream) = watch(vec![Ok(state(&[], 5))], vec![]);
    item(&mut stream).await;
    hub.close().await;
    hub.close().await;
    assert!(stream.next().await.is_none());
    let error = hub.watch(&Query::new(ServiceName::new("s").unwrap())).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Closed);
}

#[test]
fn a_runtime_that_ends_takes_its_watches_along_and_no_others() {
    let source = Arc::new(Scripted::default());
    let hub = WatchHub::new(source, WatchConfig::default());
    let query = Query::new(ServiceName::new("s").unwrap());
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let first = runtime();
    let mut orphan = first.block_on(async { hub.watch(&query).unwrap() });
    drop(first);
    runtime().block_on(async {
        assert!(orphan.next().await.is_none(), "it has ended, and does not wait for ever");
        let mut fresh = hub.watch(&query).unwrap();
        assert!(matches!(item(&mut fresh).await, WatchItem::Status(WatchStatus::Disconnected { .. })));
    });
}

#[test]
fn w11_another_runtimes_end_is_not_the_end_of_a_watch() {
    let follows =
        vec![vec![progress(5), Step::Wait(Duration::MAX)], vec![put("b", 6), Step::Wait(Duration::MAX)]];
    let lists = Mutex::new(vec![Ok(state(&["a"], 5))].into());
    let source = Arc::new(Scripted { lists, follows: Mutex::new(follows.into()), ..Scripted::default() });
    let hub = WatchHub::new(source.clone(), WatchConfig::default());
    let query = Query::new(ServiceName::new("s").unwrap());
    let runtime =
        || tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let (first, second) = (runtime(), runtime());
    let mut leaves = first.block_on(async { hub.watch(&query).unwrap() });
    let mut stays = second.block_on(async { hub.watch(&query).unwrap() });
    first.block_on(item(&mut leaves));
    drop(first);
    second.block_on(async {
        assert!(matches!(item(&mut stays).await, WatchItem::Snapshot(_)));
        assert!(matches!(item(&mut stays).await, WatchItem::Changes { revision, .. } if revision == at(6)));
    });
    assert_eq!(source.asked(), [Asked::List, Asked::Follow(5), Asked::Follow(5)], "it went on where it was");
}

#[test]
fn a_watch_outside_a_runtime_is_an_error_and_no_panic() {
    let hub = WatchHub::new(Arc::new(Scripted::default()), WatchConfig::default());
    let error = hub.watch(&Query::new(ServiceName::new("s").unwrap())).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Unsupported);
}
