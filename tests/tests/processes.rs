//! Two processes and one etcd: what one does the other sees, also what it does not live to do.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use registry_core::{Change, Generation, Query, ReadOptions, RemoveReason, ServiceDiscovery};
use registry_testkit::Harness;
use registry_testkit::watched::Watched;
use registry_tests::{Etcd, EtcdGuard};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::{Instant, timeout};

const SOON: Duration = Duration::from_secs(5);
const TTL: Duration = Duration::from_secs(3);

/// Another process with one registered instance.
struct Peer {
    child: Child,
    says: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    fn start(guard: &EtcdGuard, id: &str, address: &str) -> Self {
        let namespace = guard.config().namespace;
        let target = format!("{}?namespace={namespace}", guard.cluster().target());
        let mut child = Command::new(env!("CARGO_BIN_EXE_peer"))
            .args([&target, "orders", id, address, "3s"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the peer starts");
        let says = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { child, says }
    }

    async fn registered(&mut self) -> Generation {
        let said = self.said().await;
        let number = said.strip_prefix("registered ").unwrap_or_else(|| panic!("it said {said:?}"));
        Generation::new(u64::from_str_radix(number, 16).expect("a number"))
    }

    async fn said(&mut self) -> String {
        let line = timeout(SOON, self.says.next_line()).await.expect("it says something").expect("readable");
        line.unwrap_or_default()
    }
}

async fn stage() -> (Arc<dyn ServiceDiscovery>, EtcdGuard, Watched) {
    let (registry, guard) = Etcd::fresh().await;
    let mut watched = Watched::open(&*registry, &Query::new("orders".parse().expect("a name")));
    watched.snapshot().await;
    (registry, guard, watched)
}

#[tokio::test]
async fn f1_a_killed_process_is_gone_by_x2_and_the_others_are_untouched() {
    let (_registry, guard, mut watched) = stage().await;
    let mut dies = Peer::start(&guard, "dies", "127.0.0.1:0");
    let mut lives = Peer::start(&guard, "lives", "127.0.0.1:0");
    dies.registered().await;
    lives.registered().await;
    watched.until("both", SOON, |state| state.len() == 2).await;
    dies.child.kill().await.expect("killed");
    let killed = Instant::now();
    watched.removed("dies", TTL + SOON).await;
    let gone = killed.elapsed();
    // Its last heartbeat was sent up to an interval before the kill.
    assert!(gone + Duration::from_millis(500) > TTL * 2 / 3, "not before its TTL: {gone:?}");
    assert!(gone < TTL + Duration::from_secs(1), "TTL + 0.5 s + eps: {gone:?}");
    assert_eq!(watched.removals("dies"), [RemoveReason::Expired]);
    assert_eq!(watched.removals("lives"), []);
}

#[tokio::test]
async fn s20_a_process_that_ends_in_order_is_gone_at_once() {
    let (_registry, guard, mut watched) = stage().await;
    let mut peer = Peer::start(&guard, "a", "127.0.0.1:0");
    peer.registered().await;
    watched.until("it", SOON, |state| state.len() == 1).await;
    drop(peer.child.stdin.take());
    assert_eq!(peer.said().await, "deregistered");
    watched.removed("a", Duration::from_millis(500)).await;
    assert_eq!(watched.removals("a"), [RemoveReason::Deregistered]);
}

#[tokio::test]
async fn f46_a_second_process_with_the_id_of_a_living_one_is_refused() {
    let (_registry, guard, _watched) = stage().await;
    let mut first = Peer::start(&guard, "a", "127.0.0.1:0");
    first.registered().await;
    let mut second = Peer::start(&guard, "a", "127.0.0.1:0");
    assert_eq!(second.said().await, "refused AlreadyExists");
    drop(first.child.stdin.take());
    assert_eq!(first.said().await, "deregistered", "the first was not disturbed");
}

#[tokio::test]
async fn s26_a_restarted_process_takes_its_own_id_over_without_an_absence() {
    let (registry, guard, mut watched) = stage().await;
    let mut first = Peer::start(&guard, "a", "127.0.0.1:0");
    let old = first.registered().await;
    watched.until("it", SOON, |state| state.len() == 1).await;
    let query = Query::new("orders".parse().expect("a name"));
    let snapshot = registry.discover(&query, ReadOptions::default()).await.expect("a list");
    let address = snapshot.instances[0].endpoints()[0].authority();
    first.child.kill().await.expect("killed");
    let mut second = Peer::start(&guard, "a", &address);
    let new = second.registered().await;
    assert_ne!(old, new);
    let change = watched.next_change().await;
    assert!(matches!(&change, Change::Updated { after, .. } if after.generation == new), "{change:?}");
    // The end of the old lease is no event.
    watched.quiet(TTL + Duration::from_secs(1)).await;
}
