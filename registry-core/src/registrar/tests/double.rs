//! A registry for one id that does as it is told, and writes down what was asked of it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, sleep, sleep_until};

use crate::capability::Capabilities;
use crate::discovery::ServiceDiscovery;
use crate::error::{Error, ErrorKind, Result};
use crate::instance::{Instance, InstanceSpec, InstanceStatus};
use crate::lease::{Generation, LeaseRef, OwnerToken};
use crate::name::{InstanceId, ServiceName};
use crate::overrides::Override;
use crate::query::{Query, ReadOptions};
use crate::registration::{Beat, Registered, Registration};
use crate::revision::{Lineage, Revision};
use crate::snapshot::{Services, Snapshot};
use crate::stream::{ServicesStream, WatchStream};
use crate::ttl::Ttl;

/// What becomes of the next call of a kind.
#[derive(Debug, Clone)]
pub(super) enum Fault {
    /// Not done, and this answer.
    Fail(ErrorKind),
    /// Done, and the answer is lost.
    LoseReply,
    /// Not done and never answered.
    Hang,
    /// Done and never answered.
    HangAfter,
    /// Done and answered this much later.
    Slow(Duration),
    /// Held up until then, as by a registry that was frozen.
    Frozen(Instant),
}

/// How the registry is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    Up,
    /// Refused at once.
    Down,
    /// Never answered.
    Silent,
}

/// What happened to the instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Seen {
    Added,
    Updated(InstanceStatus),
    Removed,
}

#[derive(Debug)]
struct Living {
    lease: LeaseRef,
    body: InstanceSpec,
    ttl: Duration,
    until: Instant,
    intact: bool,
}

#[derive(Debug)]
struct State {
    living: Option<Living>,
    generations: u64,
    link: Link,
    closed: bool,
    /// Living ones stay although their TTL is over: a leader that was elected anew prolongs.
    merciful: bool,
    /// Calls never wait: each keeps its thread busy this long.
    busy: Option<Duration>,
    faults: HashMap<&'static str, VecDeque<Fault>>,
    calls: Vec<(&'static str, Instant)>,
    bodies: Vec<InstanceSpec>,
    seen: Vec<(Seen, Instant)>,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Double {
    granted: Option<Ttl>,
    state: Mutex<State>,
}

impl Double {
    pub(super) fn new() -> Arc<Self> {
        Self::granting(None)
    }

    /// A registry with a floor for the TTL.
    pub(super) fn granting(granted: Option<Ttl>) -> Arc<Self> {
        let state = State {
            living: None,
            generations: 0,
            link: Link::Up,
            closed: false,
            merciful: false,
            busy: None,
            faults: HashMap::new(),
            calls: Vec::new(),
            bodies: Vec::new(),
            seen: Vec::new(),
        };
        Arc::new(Self { granted, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap();
        state.expire();
        state
    }

    pub(super) fn link(&self, link: Link) {
        self.state().link = link;
    }

    pub(super) fn merciful(&self) {
        self.state().merciful = true;
    }

    /// From now on calls are answered without ever waiting, after keeping their thread busy for `time`.
    pub(super) fn busy(&self, time: Duration) {
        self.state().busy = Some(time);
    }

    /// What becomes of the next call of `operation` that has no fate yet.
    pub(super) fn next(&self, operation: &'static str, fault: Fault) {
        self.state().faults.entry(operation).or_default().push_back(fault);
    }

    pub(super) fn body(&self) -> Option<InstanceSpec> {
        self.state().living.as_ref().map(|living| living.body.clone())
    }

    pub(super) fn generation(&self) -> Option<Generation> {
        self.state().living.as_ref().map(|living| living.lease.generation())
    }

    /// When each call of `operation` came.
    pub(super) fn calls(&self, operation: &str) -> Vec<Instant> {
        let state = self.state();
        state.calls.iter().filter(|(name, _)| *name == operation).map(|(_, at)| *at).collect()
    }

    /// The bodies that were sent to be registered.
    pub(super) fn bodies(&self) -> Vec<InstanceSpec> {
        self.state().bodies.clone()
    }

    pub(super) fn seen(&self) -> Vec<(Seen, Instant)> {
        self.state().seen.clone()
    }

    /// An operator revokes the lease.
    pub(super) fn revoke(&self) {
        self.state().remove();
    }

    /// A stranger overwrites the record.
    pub(super) fn damage(&self) {
        if let Some(living) = &mut self.state().living {
            living.body.weight += 1;
            living.intact = false;
        }
    }

    /// Another owner takes the id, whoever had it.
    pub(super) fn rival(&self, body: InstanceSpec) -> Generation {
        let mut state = self.state();
        state.living = None;
        let (service, id) = ("greeter".parse().unwrap(), "a".parse().unwrap());
        let lease = state.lease(service, id, OwnerToken::random());
        let generation = lease.generation();
        let until = Instant::now() + Duration::from_secs(15);
        state.living = Some(Living { lease, body, ttl: Duration::from_secs(15), until, intact: true });
        generation
    }

    /// What every call goes through: written down, delayed, and perhaps ended here.
    async fn arrive(&self, operation: &'static str) -> Result<Option<Fault>> {
        let (fault, link, busy) = {
            let mut state = self.state();
            state.calls.push((operation, Instant::now()));
            if state.closed {
                return Err(Error::closed());
            }
            (state.faults.get_mut(operation).and_then(VecDeque::pop_front), state.link, state.busy)
        };
        if let Some(busy) = busy {
            let until = Instant::now() + busy;
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        } else {
            sleep(Duration::from_millis(1)).await;
        }
        match (link, &fault) {
            (Link::Down, _) => Err(Error::unavailable("refused")),
            (Link::Silent, _) | (_, Some(Fault::Hang)) => std::future::pending().await,
            (Link::Up, Some(Fault::Fail(kind))) => Err(Error::new(kind.clone(), "scripted")),
            (Link::Up, Some(Fault::Frozen(until))) => {
                sleep_until(*until).await;
                Ok(fault)
            }
            (Link::Up, _) => Ok(fault),
        }
    }

    async fn answer<T>(&self, fault: Option<Fault>, answer: Result<T>) -> Result<T> {
        match fault {
            Some(Fault::LoseReply) => Err(Error::new(ErrorKind::Ambiguous, "the reply was lost")),
            Some(Fault::HangAfter) => std::future::pending().await,
            Some(Fault::Slow(time)) => {
                sleep(time).await;
                answer
            }
            _ => answer,
        }
    }
}

impl State {
    fn expire(&mut self) {
        let over = |living: &Living| living.until <= Instant::now();
        if !self.merciful && self.living.as_ref().is_some_and(over) {
            self.remove();
        }
    }

    fn remove(&mut self) {
        if self.living.take().is_some() {
            self.seen.push((Seen::Removed, Instant::now()));
        }
    }

    fn lease(&mut self, service: ServiceName, id: InstanceId, owner: OwnerToken) -> LeaseRef {
        self.generations += 1;
        LeaseRef::new(service, id, Generation::new(self.generations), owner)
    }

    fn owned(&mut self, lease: &LeaseRef) -> Result<&mut Living> {
        match &mut self.living {
            Some(living) if living.lease == *lease => Ok(living),
            Some(_) => Err(Error::new(ErrorKind::Fenced, "another owner")),
            None => Err(Error::not_registered("gone")),
        }
    }

    fn register(&mut self, registration: Registration, ttl: Ttl) -> Result<Registered> {
        let until = Instant::now() + ttl.get();
        let Registration { service, id, owner, takeover, instance, .. } = registration;
        let (lease, seen) = match &self.living {
            Some(living) if living.lease.owner() == owner => {
                (living.lease.clone(), Seen::Updated(instance.status))
            }
            Some(living) if !takeover.allows(living.lease.generation()) => {
                let kind = ErrorKind::AlreadyExists { generation: living.lease.generation() };
                return Err(Error::new(kind, "alive"));
            }
            Some(_) => (self.lease(service, id, owner), Seen::Updated(instance.status)),
            None => (self.lease(service, id, owner), Seen::Added),
        };
        self.seen.push((seen, Instant::now()));
        let body = instance;
        self.living = Some(Living { lease: lease.clone(), body, ttl: ttl.get(), until, intact: true });
        Ok(Registered::new(lease, ttl, revision(), until))
    }
}

fn revision() -> Revision {
    Revision::new(Lineage::new(0), 0)
}

fn unused<T>() -> Result<T> {
    Err(Error::new(ErrorKind::Unsupported, "a registrar has no use for it"))
}

#[async_trait]
impl ServiceDiscovery for Double {
    fn capabilities(&self) -> Capabilities {
        Capabilities::none()
    }

    async fn register(&self, registration: Registration) -> Result<Registered> {
        self.state().bodies.push(registration.instance.clone());
        let fault = self.arrive("register").await?;
        let asked = registration.ttl.unwrap_or_default();
        let ttl = self.granted.map_or(asked, |granted| granted.max(asked));
        let answer = self.state().register(registration, ttl);
        self.answer(fault, answer).await
    }

    async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat> {
        let sent = Instant::now();
        let fault = self.arrive("heartbeat").await?;
        let answer = self.state().owned(lease).map(|living| {
            living.until = sent + living.ttl;
            Beat::new(living.until, living.intact)
        });
        self.answer(fault, answer).await
    }

    async fn update(&self, lease: &LeaseRef, instance: InstanceSpec) -> Result<Revision> {
        let fault = self.arrive("update").await?;
        let answer = {
            let mut state = self.state();
            let changed = state.owned(lease).map(|living| {
                let changed = living.body != instance;
                (living.body, living.intact) = (instance.clone(), true);
                changed
            });
            if let Ok(true) = changed {
                state.seen.push((Seen::Updated(instance.status), Instant::now()));
            }
            changed.map(|_| revision())
        };
        self.answer(fault, answer).await
    }

    async fn deregister(&self, lease: &LeaseRef) -> Result<Option<Revision>> {
        let fault = self.arrive("deregister").await?;
        let answer = {
            let mut state = self.state();
            let ours = state.owned(lease).is_ok();
            if ours {
                state.remove();
            }
            Ok(ours.then(revision))
        };
        self.answer(fault, answer).await
    }

    async fn holder(&self, _: &ServiceName, _: &InstanceId) -> Result<Option<LeaseRef>> {
        let fault = self.arrive("holder").await?;
        let answer = Ok(self.state().living.as_ref().map(|living| living.lease.clone()));
        self.answer(fault, answer).await
    }

    async fn set_override(&self, _: &ServiceName, _: &InstanceId, _: Option<Override>) -> Result<Revision> {
        unused()
    }

    async fn discover(&self, query: &Query, _: ReadOptions) -> Result<Arc<Snapshot>> {
        let fault = self.arrive("discover").await?;
        let instances: Vec<_> = self
            .state()
            .living
            .iter()
            .map(|living| {
                let (lease, body) = (&living.lease, Arc::new(living.body.clone()));
                let (service, id) = (lease.service().clone(), lease.id().clone());
                Arc::new(Instance::new(service, id, lease.generation(), revision(), body))
            })
            .collect();
        let snapshot =
            Snapshot::new(query.service.clone(), None, revision(), instances.into(), Arc::default());
        self.answer(fault, Ok(Arc::new(snapshot))).await
    }

    fn watch(&self, _: &Query) -> Result<WatchStream> {
        unused()
    }

    async fn services(&self, _: ReadOptions) -> Result<Services> {
        unused()
    }

    fn watch_services(&self) -> Result<ServicesStream> {
        unused()
    }

    async fn close(&self) {
        self.state().closed = true;
    }
}
