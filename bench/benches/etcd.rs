//! The etcd backend beside the raw client on the same server in the same run.
//!
//! Three figures, printed with what was asked:
//! - register to the watch event in another process, over raw grant + create to a raw watch event in another process:
//!   at most 1.2 times;
//! - 1,000 watched services: one watch stream, under 10 MB of this process's memory;
//! - 1,000 registrations: one keepalive stream.
//!
//! The two ways alternate call by call, so that both see the machine as it is. The watching process is this program,
//! started again.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use etcd_client::{Client, Compare, CompareOp, PutOptions, Txn, TxnOp, WatchOptions};
use futures::StreamExt;
use registry_core::{Change, InstanceSpec, Query, Registration, ServiceDiscovery, Ttl, WatchItem};
use registry_etcd::{EtcdConfig, EtcdRegistry};
use registry_testkit::etcd::EtcdCluster;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::Instant;

type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

const ROUNDS: usize = 400;
const MANY: usize = 1_000;
const TTL: Duration = Duration::from_mins(10);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, role, endpoint] = &arguments[..] {
        return match role.as_str() {
            "watch-raw" => watch_raw(endpoint).await,
            _ => watch_registry(endpoint).await,
        };
    }
    let cluster = EtcdCluster::builder().start().await?;
    println!("etcd {}", cluster.version());
    latency(&cluster).await?;
    watches(&cluster).await?;
    registrations(&cluster).await
}

fn open(endpoint: &str) -> Result<Arc<dyn ServiceDiscovery>> {
    Ok(Arc::new(EtcdRegistry::open(&EtcdConfig::new([endpoint]))?))
}

fn registration(service: &str, id: &str) -> Result<Registration> {
    let instance = InstanceSpec::new("http://10.0.0.1:80".parse()?);
    Ok(Registration::new(service.parse()?, id.parse()?, instance).with_ttl(Ttl::new(TTL)?))
}

/// Says the end of each key that comes.
async fn watch_raw(endpoint: &str) -> Result<()> {
    let mut client = Client::connect([endpoint], None).await?;
    let mut stream = client.watch("raw/", Some(WatchOptions::new().with_prefix())).await?;
    println!("ready");
    while let Some(message) = stream.message().await? {
        for event in message.events() {
            if let Some(kv) = event.kv() {
                println!("{}", kv.key_str()?.trim_start_matches("raw/"));
            }
        }
    }
    Ok(())
}

/// Says the id of each instance that comes.
async fn watch_registry(endpoint: &str) -> Result<()> {
    let registry = open(endpoint)?;
    let mut stream = registry.watch(&Query::new("orders".parse()?))?;
    while let Some(item) = stream.next().await {
        match item? {
            WatchItem::Snapshot(_) => println!("ready"),
            WatchItem::Changes { changes, .. } => {
                for change in changes.iter().filter(|change| matches!(change, Change::Added(_))) {
                    println!("{}", change.id());
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Another process that watches.
struct Other {
    _child: Child,
    says: Lines<BufReader<ChildStdout>>,
}

impl Other {
    async fn start(role: &str, endpoint: &str) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args([role, endpoint])
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let says = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
        let mut other = Self { _child: child, says };
        other.says_next("ready").await?;
        Ok(other)
    }

    async fn says_next(&mut self, expected: &str) -> Result<()> {
        let line = tokio::time::timeout(Duration::from_secs(5), self.says.next_line()).await??;
        if line.as_deref() == Some(expected) {
            Ok(())
        } else {
            Err(format!("{line:?}, not {expected}").into())
        }
    }
}

async fn latency(cluster: &EtcdCluster) -> Result<()> {
    let endpoint = cluster.endpoints().remove(0);
    let mut client = Client::connect([endpoint.as_str()], None).await?;
    let registry = open(&endpoint)?;
    let mut raw_watch = Other::start("watch-raw", &endpoint).await?;
    let mut our_watch = Other::start("watch-registry", &endpoint).await?;
    let body = vec![b'x'; 250];
    let (mut raw, mut ours) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS + 20 {
        let id = format!("i{round}");
        let began = Instant::now();
        let lease = client.lease_grant(i64::try_from(TTL.as_secs())?, None).await?.id();
        let key = format!("raw/{id}");
        let options = Some(PutOptions::new().with_lease(lease));
        let create = Txn::new()
            .when([Compare::create_revision(key.as_str(), CompareOp::Equal, 0)])
            .and_then([TxnOp::put(key.as_str(), body.as_slice(), options)]);
        client.txn(create).await?;
        raw_watch.says_next(&id).await?;
        let raw_took = began.elapsed();

        let registration = registration("orders", &id)?;
        let began = Instant::now();
        registry.register(registration).await?;
        our_watch.says_next(&id).await?;
        let ours_took = began.elapsed();
        if round >= 20 {
            raw.push(raw_took);
            ours.push(ours_took);
        }
    }
    registry.close().await;
    let (raw, ours) = (median(raw), median(ours));
    println!(
        "register to another process's watch event: {ours:?}; raw grant + create to a raw watch event: {raw:?}; \
         ratio of medians over {ROUNDS} alternating rounds: {:.2} (asked: at most 1.2)",
        ours.as_secs_f64() / raw.as_secs_f64()
    );
    Ok(())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Resident memory of this process, in bytes.
fn resident() -> Result<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 = statm.split_whitespace().nth(1).ok_or("no resident pages")?.parse()?;
    Ok(pages * 4096)
}

/// Shown with one decimal.
struct Megabytes(u64);

impl std::fmt::Display for Megabytes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{} MB", self.0 / 1_000_000, self.0 % 1_000_000 / 100_000)
    }
}

async fn watches(cluster: &EtcdCluster) -> Result<()> {
    let registry = open(&cluster.endpoints()[0])?;
    let mut kept = Vec::new();
    kept.push(watched(&registry, "warm").await?);
    let before = resident()?;
    let began = Instant::now();
    for n in 0..MANY {
        kept.push(watched(&registry, &format!("s{n}")).await?);
    }
    let took = began.elapsed();
    let grown = resident()?.saturating_sub(before);
    println!(
        "{MANY} watched services, opened one after the other in {took:?}: {} watch stream(s) (asked: 1), {} of \
         memory (asked: under 10)",
        cluster.metrics(0).await?.watch_streams(),
        Megabytes(grown)
    );
    registry.close().await;
    Ok(())
}

async fn watched(registry: &Arc<dyn ServiceDiscovery>, service: &str) -> Result<registry_core::WatchStream> {
    let mut stream = registry.watch(&Query::new(service.parse()?))?;
    while let Some(item) = stream.next().await {
        if matches!(item?, WatchItem::Snapshot(_)) {
            return Ok(stream);
        }
    }
    Err("the watch ended".into())
}

async fn registrations(cluster: &EtcdCluster) -> Result<()> {
    let registry = open(&cluster.endpoints()[0])?;
    let mut leases = Vec::new();
    let began = Instant::now();
    for n in 0..MANY {
        leases.push(registry.register(registration("many", &format!("i{n}"))?).await?.lease);
    }
    let registered = began.elapsed();
    let began = Instant::now();
    let beats = leases.iter().map(|lease| registry.heartbeat(lease));
    for beat in futures::future::join_all(beats).await {
        beat?;
    }
    println!(
        "{MANY} registrations one after the other in {registered:?}, then a heartbeat of each at once in {:?}: {} \
         keepalive stream(s) (asked: 1), {} watch stream(s)",
        began.elapsed(),
        cluster.metrics(0).await?.keepalive_streams(),
        cluster.metrics(0).await?.watch_streams(),
    );
    registry.close().await;
    Ok(())
}
