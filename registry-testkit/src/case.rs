//! One rule's stage: a fresh registry, and what a rule needs to try it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use registry_core::{
    Capability, LeaseRef, Query, ReadOptions, Registered, Registration, ServiceDiscovery, ServiceName,
    Snapshot, Ttl,
};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout};

use crate::harness::{Faults, Harness, Stranger, Timing};
use crate::suite::Rule;
use crate::watched::Watched;
use crate::words::{id, service, spec};

/// A fresh registry of some harness, and the tools beside it.
pub struct Case {
    /// The registry under test.
    pub registry: Arc<dyn ServiceDiscovery>,
    /// The times it keeps to.
    pub timing: Timing,
    harness: String,
    tools: Box<dyn Tools>,
    /// Further handles, closed at the end.
    others: Mutex<Vec<Arc<dyn ServiceDiscovery>>>,
    tasks_before: usize,
}

/// A harness's guard with its tools, whatever its type.
#[async_trait]
trait Tools: Send + Sync {
    async fn second(&self) -> Option<Arc<dyn ServiceDiscovery>>;
    fn stranger(&self) -> Option<Arc<dyn Stranger>>;
    fn faults(&self) -> Option<Arc<dyn Faults>>;
    async fn elapse(&self, time: Duration);
}

struct Guarded<H: Harness>(H::Guard);

#[async_trait]
impl<H: Harness> Tools for Guarded<H> {
    async fn second(&self) -> Option<Arc<dyn ServiceDiscovery>> {
        H::second(&self.0).await
    }
    fn stranger(&self) -> Option<Arc<dyn Stranger>> {
        H::stranger(&self.0)
    }
    fn faults(&self) -> Option<Arc<dyn Faults>> {
        H::faults(&self.0)
    }
    async fn elapse(&self, time: Duration) {
        H::elapse(time).await;
    }
}

impl Case {
    /// Opens a fresh registry for `rule`; one of its own where the rule breaks the backend.
    pub async fn open<H: Harness>(rule: &Rule) -> Self {
        let tasks_before = tasks();
        let alone = rule.needs.contains(&Capability::Outage);
        let (registry, guard) = if alone { H::isolated().await } else { H::fresh().await };
        Self {
            registry,
            timing: H::timing(),
            harness: H::name(),
            tools: Box::new(Guarded::<H>(guard)),
            others: Mutex::default(),
            tasks_before,
        }
    }

    /// Closes every handle, and sees that no task of theirs is left (C1, C3).
    pub async fn end(self) {
        self.close().await;
        self.no_task_left().await;
    }

    /// Closes every handle.
    pub async fn close(&self) {
        let others = std::mem::take(&mut *self.others.lock().unwrap_or_else(PoisonError::into_inner));
        for handle in others.iter().chain([&self.registry]) {
            let closed = timeout(Duration::from_secs(5), handle.close()).await;
            assert!(closed.is_ok(), "C3: close() did not come to an end within 5 s");
        }
    }

    /// Waits until no more tasks run than before the registry was opened.
    pub async fn no_task_left(&self) {
        let before = self.tasks_before;
        self.eventually("no task of a closed registry is left", Duration::from_secs(2), async || {
            (tasks() <= before).then_some(())
        })
        .await;
    }

    /// Lets time pass.
    pub async fn elapse(&self, time: Duration) {
        self.tools.elapse(time).await;
    }

    /// How long what must happen may take, where the contract names no time.
    pub fn soon(&self) -> Duration {
        Duration::from_secs(5)
    }

    /// Asks again and again until there is an answer; panics once `within` has passed without one.
    pub async fn eventually<T>(
        &self,
        what: &str,
        within: Duration,
        mut ask: impl AsyncFnMut() -> Option<T>,
    ) -> T {
        let deadline = Instant::now() + within;
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            assert!(Instant::now() < deadline, "not within {within:?}: {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Another client of the same registry, where the backend has such; else this one.
    pub async fn other(&self) -> Arc<dyn ServiceDiscovery> {
        if self.registry.capabilities().has(Capability::SecondClient) {
            self.second().await
        } else {
            Arc::clone(&self.registry)
        }
    }

    /// A second handle, closed when the case ends.
    pub async fn second(&self) -> Arc<dyn ServiceDiscovery> {
        let second = self.second_unkept().await;
        self.others.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&second));
        second
    }

    /// A second handle that is the caller's to close or drop.
    pub async fn second_unkept(&self) -> Arc<dyn ServiceDiscovery> {
        self.brought(self.tools.second().await, Capability::SecondClient, "second")
    }

    /// Somebody who writes beneath the registry.
    pub fn stranger(&self) -> Arc<dyn Stranger> {
        self.brought(self.tools.stranger(), Capability::Stranger, "stranger")
    }

    /// The way to break the backend.
    pub fn faults(&self) -> Arc<dyn Faults> {
        self.brought(self.tools.faults(), Capability::Outage, "faults")
    }

    fn brought<T>(&self, tool: Option<T>, capability: Capability, name: &str) -> T {
        let harness = &self.harness;
        tool.unwrap_or_else(|| panic!("{harness} claims {capability}, and its `{name}()` gives nothing"))
    }

    /// The shortest TTL that is granted as asked.
    pub fn short(&self) -> Ttl {
        Ttl::new(self.timing.ttl).expect("the harness names a TTL that can be asked for")
    }

    /// A registration that outlives the test.
    pub fn registration(&self, service_name: &str, instance: &str) -> Registration {
        Registration::new(service(service_name), id(instance), spec(80)).with_ttl(long())
    }

    /// The same, one that lives as short as can be.
    pub fn brief(&self, service_name: &str, instance: &str) -> Registration {
        self.registration(service_name, instance).with_ttl(self.short())
    }

    /// Registers, which must succeed.
    pub async fn register(&self, registration: &Registration) -> Registered {
        let answer = self.registry.register(registration.clone()).await;
        answer.unwrap_or_else(|error| panic!("{}/{}: {error:?}", registration.service, registration.id))
    }

    /// Registers an instance that outlives the test.
    pub async fn up(&self, service_name: &str, instance: &str) -> Registered {
        self.register(&self.registration(service_name, instance)).await
    }

    /// Deregisters, which must find the registration alive.
    pub async fn down(&self, lease: &LeaseRef) {
        let answer = self.registry.deregister(lease).await.expect("a deregistration");
        assert!(answer.is_some(), "D1: {lease:?} was already gone");
    }

    /// The living instances of a service, by a linearizable read.
    pub async fn discover(&self, service: &str) -> Arc<Snapshot> {
        discover(&*self.registry, service).await
    }

    /// The ids of the living instances.
    pub async fn ids(&self, service: &str) -> Vec<String> {
        self.discover(service).await.instances.iter().map(|instance| instance.id.to_string()).collect()
    }

    /// Watches a service, and has read its first snapshot.
    pub async fn watch(&self, service: &str) -> Watched {
        self.watch_query(&query(service)).await
    }

    /// Watches, and has read the first snapshot.
    pub async fn watch_query(&self, query: &Query) -> Watched {
        let mut watched = Watched::open(&*self.registry, query);
        watched.snapshot().await;
        watched
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Case")
            .field("harness", &self.harness)
            .field("registry", &self.registry)
            .finish_non_exhaustive()
    }
}

/// The living instances of a service as `registry` reads them, linearizable.
pub async fn discover(registry: &dyn ServiceDiscovery, service: &str) -> Arc<Snapshot> {
    let answer = registry.discover(&query(service), ReadOptions::default()).await;
    answer.unwrap_or_else(|error| panic!("discover({service}): {error:?}"))
}

/// All versions of a service.
pub fn query(name: &str) -> Query {
    Query::new(service(name))
}

/// A TTL that outlives a test.
pub fn long() -> Ttl {
    Ttl::new(Duration::from_mins(1)).expect("a minute is a TTL")
}

/// The tasks of this runtime that have not ended.
pub fn tasks() -> usize {
    Handle::current().metrics().num_alive_tasks()
}

/// The names in a list, for comparing.
pub fn names(services: &[ServiceName]) -> Vec<&str> {
    services.iter().map(ServiceName::as_str).collect()
}
