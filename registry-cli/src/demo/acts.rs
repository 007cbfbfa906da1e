//! What happens in the demo, one act after the other.

use std::sync::Arc;
use std::time::Duration;

use registry_core::{Change, InstanceStatus, Query, ReadOptions, RegistrarStatus, Snapshot, Ttl};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::caller::Caller;
use super::process::{Process, Starting, event};
use super::promises::{Promises, SEEN, SLACK};
use super::timeline::{Timeline, told};
use super::world::World;
use crate::exit::Failure;

/// Short, so that a death is seen soon; long enough for the usual floor of etcd.
pub(super) const TTL: Duration = Duration::from_secs(3);
/// How long callers see that an instance drains.
const DRAIN: Duration = Duration::from_secs(1);
/// Between two acts, for whoever reads along.
const PAUSE: Duration = Duration::from_millis(400);

type Result<T> = std::result::Result<T, Failure>;

/// Everything an act needs.
struct Stage<'a> {
    world: &'a World,
    timeline: &'a Timeline,
    promises: &'a mut Promises,
    caller: Caller,
}

/// Plays all of it, and gives the last list.
pub(super) async fn play(
    world: &World,
    timeline: &Timeline,
    promises: &mut Promises,
) -> Result<Arc<Snapshot>> {
    let caller = Caller::open(world).await?;
    timeline.now("caller", "follows", "nobody is there yet; from now on it hears every change")?;
    let mut stage = Stage { world, timeline, promises, caller };
    let a = stage.comes("a").await?;
    let b = stage.comes("b").await?;
    let c = stage.comes("c").await?;
    stage.leaves(b).await?;
    stage.dies(c).await?;
    stage.heals(&a).await?;
    let last = stage.last(&a).await?;
    a.stop().await?;
    stage.caller.close().await;
    Ok(last)
}

impl Stage<'_> {
    fn check(&mut self, promise: &str, kept: bool) -> Result<()> {
        Ok(self.promises.check(self.timeline, promise, kept)?)
    }

    /// An instance comes up, and the caller sees it.
    async fn comes(&mut self, id: &str) -> Result<Process> {
        let starting = Starting::listen(self.world, id)?;
        let address = starting.address;
        let (asked, ttl) = (Instant::now(), Ttl::new(TTL)?);
        self.timeline.at(asked, id, "registers", &format!("listens on {address} first, then registers"))?;
        let process = starting.register(self.world, ttl, DRAIN).await?;
        let seen = self.caller.next(SEEN).await?;
        let after = seen.at.saturating_duration_since(asked);
        let (living, beat) = (seen.list.len(), told(TTL / 3));
        let detail = format!("after {}; {living} living; a heartbeat every {beat} keeps it", told(after));
        self.timeline.at(seen.at, "caller", &format!("sees {id} registered"), &detail)?;
        self.check(&format!("the caller sees {id} registered"), seen.is(id, "registered"))?;
        self.check(&format!("it sees {id} within 1 s"), after <= SEEN)?;
        self.check(&format!("{id} is listed, so it accepts connections"), reached(&seen.list, id).await)?;
        let granted = process.ttl();
        self.check("the granted TTL is what was asked or more", granted.is_some_and(|ttl| ttl.get() >= TTL))?;
        if let Some(granted) = granted.filter(|granted| granted.get() > TTL) {
            self.timeline.now(
                id,
                "granted",
                &format!("a TTL of {granted}: the registry's floor is higher"),
            )?;
        }
        sleep(PAUSE).await;
        Ok(process)
    }

    /// One drains and leaves.
    async fn leaves(&mut self, process: Process) -> Result<()> {
        let id = process.id.to_string();
        let begun = Instant::now();
        let detail = format!("its process was told to end: for {} it says so and still answers", told(DRAIN));
        self.timeline.at(begun, &id, "draining", &detail)?;
        let (left, seen) = tokio::join!(process.drain(), self.sees_it_leave(&id, begun));
        left?;
        seen?;
        sleep(PAUSE).await;
        Ok(())
    }

    async fn sees_it_leave(&mut self, id: &str, begun: Instant) -> Result<()> {
        let draining = self.caller.next(SEEN).await?;
        let after = draining.at.saturating_duration_since(begun);
        let (living, routable) = (draining.list.len(), draining.list.routable().count());
        let detail = format!("after {}; {living} living, {routable} of them to be picked", told(after));
        self.timeline.at(draining.at, "caller", &format!("sees {id} draining"), &detail)?;
        self.check(&format!("the caller sees {id} draining first"), draining.is(id, "draining"))?;
        self.check("it sees that within 1 s", after <= SEEN)?;
        let picked = draining.list.routable().any(|instance| instance.id.as_str() == id);
        self.check(
            &format!("{id} is still listed, and not picked"),
            living == 3 && routable == 2 && !picked,
        )?;

        let gone = self.caller.next(DRAIN + SEEN).await?;
        let between = gone.at.saturating_duration_since(draining.at);
        let detail = format!("{} later; nobody was calling it any more", told(between));
        self.timeline.at(gone.at, "caller", &format!("sees {id} deregistered"), &detail)?;
        self.check(&format!("then the caller sees {id} deregistered"), gone.is(id, "deregistered"))?;
        self.check("callers had the drain time to turn away", between + SLACK >= DRAIN)?;
        self.check("it does not outstay the drain time by more than 1 s", between <= DRAIN + SEEN)?;
        Ok(())
    }

    /// One is killed, and its lease decides.
    async fn dies(&mut self, process: Process) -> Result<()> {
        let id = process.id.to_string();
        let ttl = process.ttl().map_or(TTL, Ttl::get);
        let beats = process.kill();
        let killed = Instant::now();
        let since = beats.last().acknowledged.map_or(Duration::ZERO, |last| killed.duration_since(last));
        let left = told(ttl.saturating_sub(since));
        let detail =
            format!("without a word: nobody deregisters it, its lease of {} has {left} left", told(ttl));
        self.timeline.at(killed, &id, "killed", &detail)?;
        self.check(&format!("{id} is listed as long as its lease lives"), self.lists(&id)?)?;

        // Etcd looks for expired leases every half second; an embedded registry has a timer.
        let sweep = if self.world.embedded { Duration::ZERO } else { Duration::from_millis(500) };
        let seen = self.caller.next(ttl + sweep).await?;
        let last = beats.last();
        let acknowledged = last.acknowledged.map(|last| seen.at.saturating_duration_since(last));
        let sent = last.sent.map(|last| seen.at.saturating_duration_since(last));
        let latest = told(ttl + sweep);
        let promised = if self.world.embedded {
            format!("promised: {latest}")
        } else {
            format!("promised: {} to {latest}", told(ttl))
        };
        let detail =
            format!("{} after its last heartbeat ({promised})", told(acknowledged.unwrap_or_default()));
        self.timeline.at(seen.at, "caller", &format!("sees {id} expired"), &detail)?;
        self.check(&format!("the caller sees {id} expired"), seen.is(&id, "expired"))?;
        self.check(
            "not before the TTL after its last heartbeat",
            acknowledged.is_some_and(|time| time >= ttl),
        )?;
        let bound = ttl + sweep + SLACK;
        self.check(
            &format!("not later than {} after it", told(bound)),
            sent.is_some_and(|time| time <= bound),
        )?;
        sleep(PAUSE).await;
        Ok(())
    }

    fn lists(&self, id: &str) -> Result<bool> {
        Ok(self.caller.list()?.get(&id.parse()?).is_some())
    }

    /// One loses its lease and heals itself.
    async fn heals(&mut self, process: &Process) -> Result<()> {
        let id = process.id.to_string();
        let interval = process.ttl().map_or(TTL, Ttl::get) / 3;
        let mut events = process.events();
        event(&mut events, SLACK, RegistrarStatus::is_registered).await?;
        let before = self.caller.list()?.get(&process.id).map(|instance| instance.generation);

        let operator = self.world.open()?;
        let lease = operator.holder(&self.world.service, &process.id).await?;
        let lease = lease.ok_or_else(|| Failure::error(format!("{id} has no holder")))?;
        let asked = Instant::now();
        self.timeline.at(asked, "operator", &format!("deregisters {id}"), "by force: its lease is gone")?;
        operator.deregister(&lease).await?;
        operator.close().await;
        let gone = self.caller.next(SEEN).await?;
        let after = gone.at.saturating_duration_since(asked);
        self.timeline.at(
            gone.at,
            "caller",
            &format!("sees {id} deregistered"),
            &format!("after {}", told(after)),
        )?;
        self.check(&format!("the caller sees {id} deregistered"), gone.is(&id, "deregistered"))?;
        self.check("it sees that within 1 s", after <= SEEN)?;

        let patience = interval * 3 + SEEN + SLACK;
        event(&mut events, patience, |status| matches!(status, RegistrarStatus::Lost { .. })).await?;
        let lost = Instant::now();
        let detail = "its heartbeat hears that it is not registered: it registers again by itself";
        self.timeline.at(lost, &id, "lost", detail)?;
        self.check("the owner hears of it by its next heartbeat", lost - asked <= interval + SLACK)?;
        event(&mut events, patience, RegistrarStatus::is_registered).await?;
        let healed = lost.elapsed();
        let seen = self.caller.next(SEEN).await?;
        let back = told(seen.at.saturating_duration_since(asked));
        let detail = format!("{back} after the operator's blow, under a new generation");
        self.timeline.at(seen.at, "caller", &format!("sees {id} registered"), &detail)?;
        self.check(&format!("the caller sees {id} registered again"), seen.is(&id, "registered"))?;
        self.check("it heals within a heartbeat", healed <= interval.max(Duration::from_secs(1)) + SLACK)?;
        let after = match &seen.change {
            Change::Added(instance) => Some(instance.generation),
            _ => None,
        };
        self.check("a new life is a new generation", before.is_some() && after.is_some() && before != after)?;
        Ok(())
    }

    /// The list at the end: what was pushed to the caller is what a fresh read answers.
    async fn last(&mut self, process: &Process) -> Result<Arc<Snapshot>> {
        let registry = self.world.open()?;
        let read = registry.discover(&Query::new(self.world.service.clone()), ReadOptions::default()).await?;
        registry.close().await;
        let one = read.get(&process.id).filter(|_| read.len() == 1 && read.rejected.is_empty());
        let as_it_is = one.is_some_and(|instance| {
            let listens = instance.endpoints().iter().any(|e| e.authority() == process.address.to_string());
            instance.status() == InstanceStatus::Up && instance.is_routable() && listens
        });
        self.check(&format!("{} alone is left, up, where it listens", process.id), as_it_is)?;
        let pushed = self.caller.list()?;
        self.check(
            "what was pushed to the caller is what a fresh read answers",
            pushed.instances == read.instances,
        )?;
        Ok(read)
    }
}

/// Whether the instance can be called where the list says.
async fn reached(list: &Snapshot, id: &str) -> bool {
    let Some(instance) = list.instances.iter().find(|instance| instance.id.as_str() == id) else {
        return false;
    };
    let authority = instance.endpoints().first().map(registry_core::Endpoint::authority).unwrap_or_default();
    matches!(timeout(SEEN, TcpStream::connect(authority)).await, Ok(Ok(_)))
}
