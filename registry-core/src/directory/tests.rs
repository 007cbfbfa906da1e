use std::sync::Mutex;

use async_trait::async_trait;
use futures::future::FutureExt;

use super::*;
use crate::feed::Feed;
use crate::instance::InstanceSpec;
use crate::item::ResyncReason;
use crate::lease::Generation;
use crate::revision::Lineage;
use crate::source::{Batch, RawEvent, RawState, Record};
use crate::stream::{ServicesStream, WatchStream};
use crate::sync::lock;
use crate::{
    Beat, Capabilities, InstanceId, LeaseRef, Override, ReadOptions, Registered, Registration, ServiceName,
    Services,
};

/// A registry of which only `watch` is asked, fed by hand.
#[derive(Debug)]
struct Fed(Mutex<Feed>);

fn unsupported<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Unsupported, "only watched"))
}

#[async_trait]
impl ServiceDiscovery for Fed {
    fn capabilities(&self) -> Capabilities {
        Capabilities::none()
    }
    async fn register(&self, _: Registration) -> Result<Registered> {
        unsupported()
    }
    async fn heartbeat(&self, _: &LeaseRef) -> Result<Beat> {
        unsupported()
    }
    async fn update(&self, _: &LeaseRef, _: InstanceSpec) -> Result<Revision> {
        unsupported()
    }
    async fn deregister(&self, _: &LeaseRef) -> Result<Option<Revision>> {
        unsupported()
    }
    async fn holder(&self, _: &ServiceName, _: &InstanceId) -> Result<Option<LeaseRef>> {
        unsupported()
    }
    async fn set_override(&self, _: &ServiceName, _: &InstanceId, _: Option<Override>) -> Result<Revision> {
        unsupported()
    }
    async fn discover(&self, _: &Query, _: ReadOptions) -> Result<Arc<Snapshot>> {
        unsupported()
    }
    fn watch(&self, query: &Query) -> Result<WatchStream> {
        Ok(lock(&self.0).subscribe(query.version.as_ref(), Box::new(())))
    }
    async fn services(&self, _: ReadOptions) -> Result<Services> {
        unsupported()
    }
    fn watch_services(&self) -> Result<ServicesStream> {
        unsupported()
    }
    async fn close(&self) {}
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

fn raw(ids: &[&str], revision: u64) -> RawState {
    RawState { records: ids.iter().map(|id| record(id, 1)).collect(), ..RawState::empty(at(revision)) }
}

fn open(stale: StalePolicy) -> (Arc<Fed>, Directory) {
    let fed = Arc::new(Fed(Mutex::new(Feed::new("s".parse().unwrap(), 100))));
    let registry: Arc<dyn ServiceDiscovery> = fed.clone();
    let query = Query::new("s".parse().unwrap());
    let directory = Directory::open(&registry, query, DirectoryConfig { stale }).unwrap();
    (fed, directory)
}

impl Fed {
    fn list(&self, ids: &[&str], revision: u64) {
        lock(&self.0).list(raw(ids, revision), ResyncReason::Compacted, Instant::now());
    }

    fn put(&self, id: &str, revision: u64) {
        let events = vec![RawEvent::Put(record(id, revision))];
        lock(&self.0).batch(Batch { revision: at(revision), events }, Instant::now());
    }
}

#[tokio::test(start_paused = true)]
async fn ready_waits_for_the_first_list_and_a_timeout_is_an_error_never_an_empty_list() {
    let (fed, directory) = open(StalePolicy::ServeStale);
    let error = directory.ready(Duration::from_secs(2)).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unavailable { .. }));
    assert!(matches!(directory.snapshot().unwrap_err().kind(), ErrorKind::Unavailable { .. }));
    let waiting = directory.ready(Duration::from_secs(2));
    fed.list(&[], 5);
    assert!(waiting.await.unwrap().is_empty(), "empty because the backend said so");
    assert_eq!(directory.revision(), Some(at(5)));
}

#[tokio::test(start_paused = true)]
async fn an_outage_leaves_the_list_and_shows_its_age_until_the_policy_says_no() {
    let (serve, fail) = (StalePolicy::ServeStale, StalePolicy::FailAfter(Duration::from_secs(30)));
    for (policy, served) in [(serve, true), (fail, false)] {
        let (fed, directory) = open(policy);
        fed.list(&["a"], 5);
        lock(&fed.0).disconnected(Instant::now(), "gone");
        tokio::time::advance(Duration::from_secs(30)).await;
        assert_eq!(directory.snapshot().unwrap().len(), 1);
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(directory.age(), Some(Duration::from_secs(31)));
        assert_eq!(directory.snapshot().is_ok(), served);
        assert_eq!(directory.reader().snapshot().is_ok(), served);
    }
}

#[tokio::test(start_paused = true)]
async fn listeners_hear_each_change_once_and_nothing_where_nothing_changed() {
    let (fed, directory) = open(StalePolicy::ServeStale);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listen = |heard: &Arc<Mutex<Vec<usize>>>| {
        let heard = Arc::clone(heard);
        move |update: &Update| lock(&heard).push(update.changes.len())
    };
    let _listener = directory.on_change(listen(&heard));
    let bad = directory.on_change(|_: &Update| panic!("a consumer's own fault"));
    fed.list(&["a", "b"], 5);
    directory.ready(Duration::from_secs(1)).await.unwrap();
    tokio::task::yield_now().await;
    fed.list(&["a", "b"], 6);
    tokio::task::yield_now().await;
    fed.put("c", 7);
    directory.changed().await.unwrap();
    assert_eq!(*lock(&heard), [2, 1]);
    let late = Arc::new(Mutex::new(Vec::new()));
    let listener = directory.on_change(listen(&late));
    assert_eq!(*lock(&late), [3], "a newcomer begins with what is there");
    drop((listener, bad));
    fed.put("d", 8);
    directory.changed().await.unwrap();
    assert_eq!((lock(&late).len(), lock(&heard).len()), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn c4_a_listener_may_drop_itself_and_add_another_while_it_is_called() {
    let (fed, directory) = open(StalePolicy::ServeStale);
    let directory = Arc::new(directory);
    let (kept, calls) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Mutex::new(Vec::new())));
    let listener = directory.on_change({
        let (kept, calls, directory) = (Arc::clone(&kept), Arc::clone(&calls), Arc::clone(&directory));
        move |_: &Update| {
            let own = std::mem::take(&mut *lock(&kept));
            drop(own);
            lock(&calls).push(directory.snapshot().unwrap().len());
            let calls = Arc::clone(&calls);
            let another = directory.on_change(move |_: &Update| lock(&calls).push(100));
            lock(&kept).push(another);
        }
    });
    lock(&kept).push(listener);
    fed.list(&["a"], 5);
    directory.ready(Duration::from_secs(1)).await.unwrap();
    tokio::task::yield_now().await;
    assert_eq!(*lock(&calls), [1, 100], "the newcomer begins with what is there");
    fed.put("b", 6);
    directory.changed().await.unwrap();
    assert_eq!(*lock(&calls), [1, 100, 100], "the first is gone, the second goes on");
}

#[tokio::test(start_paused = true)]
async fn a_directory_works_while_nobody_reads_and_ends_with_its_watch() {
    let (fed, directory) = open(StalePolicy::ServeStale);
    fed.list(&["a"], 5);
    for revision in 6..500 {
        fed.put("b", revision);
    }
    assert_eq!(directory.snapshot().unwrap().len(), 2);
    lock(&fed.0).end(WatchEnd::Denied(Error::new(ErrorKind::PermissionDenied, "no")), Instant::now());
    while directory.changed().await.is_ok() {}
    assert_eq!(directory.changed().await.unwrap_err().kind(), &ErrorKind::PermissionDenied);
    assert!(!directory.is_live());
    assert_eq!(directory.snapshot().unwrap().len(), 2, "the last list is still served");
    assert!(directory.ready(Duration::ZERO).now_or_never().unwrap().is_ok());
}
