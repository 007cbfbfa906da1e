//! A decorator that fails, loses or delays chosen calls, by script or by seed, and writes down every call.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use fastrand::Rng;
use registry_core::{
    Beat, Capabilities, Error, ErrorKind, InstanceId, InstanceSpec, LeaseRef, Override, Query, ReadOptions,
    Registered, Registration, Result, Revision, ServiceDiscovery, ServiceName, Services, ServicesStream,
    Snapshot, WatchStream,
};
use tokio::time::Instant;

/// A call of the trait that can be interfered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Call {
    /// `register`.
    Register,
    /// `heartbeat`.
    Heartbeat,
    /// `update`.
    Update,
    /// `deregister`.
    Deregister,
    /// `holder`.
    Holder,
    /// `set_override`.
    SetOverride,
    /// `discover`.
    Discover,
    /// `services`.
    Services,
}

impl Call {
    /// Whether a lost answer leaves the outcome unknown.
    fn writes(self) -> bool {
        matches!(self, Self::Register | Self::Update | Self::Deregister | Self::SetOverride)
    }
}

/// What is done to one call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Forwarded as it is.
    None,
    /// Nothing is sent; it fails at once as `Unavailable`.
    Refused,
    /// Nothing is sent, and no answer ever comes: whoever waits without a deadline waits for ever.
    Silent,
    /// It is done, and its answer lost: a write is `Ambiguous`, anything else `Unavailable`.
    ReplyLost,
    /// It is done, and its answer never comes.
    ReplySilent,
    /// It is sent this much later.
    Late(Duration),
}

/// One call that was made.
#[derive(Debug, Clone)]
pub struct Made {
    /// Which.
    pub call: Call,
    /// When it was made.
    pub at: Instant,
    /// What was done to it.
    pub fault: Fault,
    /// The kind of error it ended with; nothing if it succeeded, was dropped, or goes on.
    pub error: Option<ErrorKind>,
    /// Whether it ended.
    pub ended: bool,
}

/// A registry between which and its caller things go wrong. Without a script or a seed it only counts.
#[derive(Debug)]
pub struct Chaos {
    inner: Arc<dyn ServiceDiscovery>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    made: Vec<Made>,
    scripts: BTreeMap<Call, VecDeque<Fault>>,
    always: BTreeMap<Call, Fault>,
    random: Option<Random>,
}

#[derive(Debug)]
struct Random {
    rng: Rng,
    faults: Vec<Fault>,
    per_cent: u32,
}

impl Chaos {
    /// Forwards to `inner`, and counts.
    pub fn new(inner: Arc<dyn ServiceDiscovery>) -> Self {
        Self { inner, state: Mutex::default() }
    }

    /// Does one of `faults` to `per_cent` of all calls; the same seed and the same calls meet the same faults.
    #[must_use]
    pub fn seeded(self, seed: u64, per_cent: u32, faults: &[Fault]) -> Self {
        let rng = Rng::with_seed(seed);
        self.lock().random = Some(Random { rng, faults: faults.to_vec(), per_cent });
        self
    }

    /// Does these to the next calls of this kind, one each, before anything else.
    pub fn script(&self, call: Call, faults: impl IntoIterator<Item = Fault>) {
        self.lock().scripts.entry(call).or_default().extend(faults);
    }

    /// Does this to every call of this kind from now on.
    pub fn always(&self, call: Call, fault: Fault) {
        self.lock().always.insert(call, fault);
    }

    /// Does nothing any more.
    pub fn calm(&self) {
        let mut state = self.lock();
        state.scripts.clear();
        state.always.clear();
        state.random = None;
    }

    /// The calls made so far, in order.
    pub fn made(&self) -> Vec<Made> {
        self.lock().made.clone()
    }

    /// The calls of this kind made so far.
    pub fn calls(&self, call: Call) -> Vec<Made> {
        self.lock().made.iter().filter(|made| made.call == call).cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the call down and says what is done to it.
    fn begin(&self, call: Call) -> (usize, Fault) {
        let mut state = self.lock();
        let scripted = state.scripts.get_mut(&call).and_then(VecDeque::pop_front);
        let fault =
            scripted.or_else(|| state.always.get(&call).copied()).or_else(|| state.random.as_mut()?.draw());
        let fault = fault.unwrap_or(Fault::None);
        state.made.push(Made { call, at: Instant::now(), fault, error: None, ended: false });
        (state.made.len() - 1, fault)
    }

    async fn through<T>(&self, call: Call, forward: impl Future<Output = Result<T>>) -> Result<T> {
        let (index, fault) = self.begin(call);
        let answer = match fault {
            Fault::None => forward.await,
            Fault::Refused => Err(lost(ErrorKind::Unavailable { time_left: None })),
            Fault::Silent => std::future::pending().await,
            Fault::Late(by) => {
                tokio::time::sleep(by).await;
                forward.await
            }
            Fault::ReplyLost => {
                let done = forward.await;
                let kind = if call.writes() {
                    ErrorKind::Ambiguous
                } else {
                    ErrorKind::Unavailable { time_left: None }
                };
                done.and(Err(lost(kind)))
            }
            Fault::ReplySilent => {
                let _done = forward.await;
                std::future::pending().await
            }
        };
        let made = &mut self.lock().made[index];
        made.error = answer.as_ref().err().map(|error| error.kind().clone());
        made.ended = true;
        answer
    }
}

impl Random {
    fn draw(&mut self) -> Option<Fault> {
        let hit = self.rng.u32(..100) < self.per_cent;
        if hit { self.rng.choice(self.faults.iter().copied()) } else { None }
    }
}

fn lost(kind: ErrorKind) -> Error {
    Error::new(kind, "lost by the chaos wrapper")
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ServiceDiscovery for Chaos {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
    async fn register(&self, registration: Registration) -> Result<Registered> {
        self.through(Call::Register, self.inner.register(registration)).await
    }
    async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat> {
        self.through(Call::Heartbeat, self.inner.heartbeat(lease)).await
    }
    async fn update(&self, lease: &LeaseRef, instance: InstanceSpec) -> Result<Revision> {
        self.through(Call::Update, self.inner.update(lease, instance)).await
    }
    async fn deregister(&self, lease: &LeaseRef) -> Result<Option<Revision>> {
        self.through(Call::Deregister, self.inner.deregister(lease)).await
    }
    async fn holder(&self, service: &ServiceName, id: &InstanceId) -> Result<Option<LeaseRef>> {
        self.through(Call::Holder, self.inner.holder(service, id)).await
    }
    async fn set_override(
        &self,
        service: &ServiceName,
        id: &InstanceId,
        value: Option<Override>,
    ) -> Result<Revision> {
        self.through(Call::SetOverride, self.inner.set_override(service, id, value)).await
    }
    async fn discover(&self, query: &Query, options: ReadOptions) -> Result<Arc<Snapshot>> {
        self.through(Call::Discover, self.inner.discover(query, options)).await
    }
    fn watch(&self, query: &Query) -> Result<WatchStream> {
        self.inner.watch(query)
    }
    async fn services(&self, options: ReadOptions) -> Result<Services> {
        self.through(Call::Services, self.inner.services(options)).await
    }
    fn watch_services(&self) -> Result<ServicesStream> {
        self.inner.watch_services()
    }
    async fn close(&self) {
        self.inner.close().await;
    }
}

#[cfg(test)]
mod tests;
