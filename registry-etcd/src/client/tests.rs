//! The client on real etcd.

mod calls;
mod heartbeats;
mod security;
mod watches;

use std::future::Future;
use std::time::Duration;

use futures::StreamExt;
use registry_core::{FollowEnd, Result};
use registry_testkit::etcd::EtcdCluster;
use tokio::time::{Instant, sleep, timeout};

use super::model::RangeAnswer;
use super::*;
use crate::config::EtcdConfig;

/// For what takes no time of its own. Two loaded cores are slow.
const SOON: Duration = Duration::from_secs(10);

async fn one() -> EtcdCluster {
    EtcdCluster::builder().start().await.unwrap()
}

async fn three() -> EtcdCluster {
    EtcdCluster::builder().members(3).start().await.unwrap()
}

/// The defaults, with time for a loaded machine.
fn config(cluster: &EtcdCluster) -> EtcdConfig {
    let mut config = EtcdConfig::new(cluster.endpoints());
    (config.connect_timeout, config.call_timeout) = (SOON, SOON);
    config
}

fn open(cluster: &EtcdCluster) -> Session {
    Session::open(&config(cluster)).unwrap()
}

/// With the defaults themselves, where they are what is tested.
fn open_by_default(cluster: &EtcdCluster) -> Session {
    Session::open(&EtcdConfig::new(cluster.endpoints())).unwrap()
}

fn put(key: impl Into<Vec<u8>>, value: impl Into<Vec<u8>>) -> Op {
    Op::Put { key: key.into(), value: value.into(), lease: None }
}

/// A transaction that only does.
fn all(operations: impl IntoIterator<Item = Op>) -> Txn {
    Txn { success: operations.into_iter().collect(), ..Txn::default() }
}

async fn write(session: &Session, key: &str, value: &str) -> u64 {
    session.txn(all([put(key, value)])).await.unwrap().revision.number()
}

async fn read(session: &Session, key: &str) -> Result<RangeAnswer> {
    session.range(RangeRequest::of(KeyRange::one(key)), SOON).await
}

async fn revision(session: &Session) -> u64 {
    read(session, "none").await.unwrap().revision.number()
}

/// The next item of a feed, which must come soon.
async fn next(feed: &mut Feed) -> Result<FeedEvent, FollowEnd> {
    timeout(SOON, feed.next()).await.expect("the feed is silent").expect("the feed said its end twice")
}

/// The next batch: its revision and how many events it has.
async fn batch(feed: &mut Feed) -> (u64, usize) {
    let found = async {
        loop {
            match next(feed).await {
                Ok(FeedEvent::Batch { revision, events }) => return (revision.number(), events.len()),
                Ok(FeedEvent::Progress(_)) => {}
                Err(end) => panic!("the feed ended: {end:?}"),
            }
        }
    };
    timeout(SOON, found).await.expect("no batch comes")
}

async fn live(feed: &mut Feed) {
    match next(feed).await {
        Ok(FeedEvent::Progress(_)) => {}
        other => panic!("not progress: {other:?}"),
    }
}

/// How a feed ends, whatever comes before.
async fn end(feed: &mut Feed) -> FollowEnd {
    let ended = async {
        loop {
            if let Err(end) = next(feed).await {
                return end;
            }
        }
    };
    timeout(SOON, ended).await.expect("the feed does not end")
}

/// Waits until something holds.
async fn until<F: Future<Output = bool>>(what: &str, mut holds: impl FnMut() -> F) {
    let begun = Instant::now();
    while !holds().await {
        assert!(begun.elapsed() < SOON, "not within {SOON:?}: {what}");
        sleep(Duration::from_millis(20)).await;
    }
}

/// The member that the session's watches are on; there must be one.
async fn watched_member(cluster: &EtcdCluster) -> usize {
    for member in 0..cluster.len() {
        if cluster.metrics(member).await.unwrap().watch_streams() > 0 {
            return member;
        }
    }
    panic!("no member has a watch stream");
}

fn tasks() -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks()
}
