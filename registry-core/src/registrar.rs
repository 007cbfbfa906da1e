//! What a service runs to be found.

mod address;
mod config;
mod driver;
mod identity;
mod machine;
mod status;
#[cfg(test)]
mod tests;
mod throttle;

use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::task::TaskTracker;

pub use self::config::{LostPolicy, RegistrarConfig, TakeoverPolicy};
use self::driver::{Driver, Request};
use self::machine::{Change, Command, Machine, Plan};
pub use self::status::{LostReason, RegistrarEvent, RegistrarEvents, RegistrarStatus};
use self::status::{Published, Publisher};
use crate::discovery::ServiceDiscovery;
use crate::error::{Error, ErrorKind, Result};
use crate::instance::{Health, InstanceSpec, InstanceStatus};
use crate::name::{InstanceId, ServiceName};

/// How many commands may wait for the task.
const QUEUE: usize = 16;

/// Keeps one instance registered: what a service runs.
///
/// Listen first, then start it: what is listed accepts connections. From then on it sends heartbeats, registers again
/// whenever the registration is lost, for ever unless the [`LostPolicy`] says otherwise, and tells how things stand by
/// its [`status`](Self::status). It ends by [`deregister`](Self::deregister), by [`close`](Self::close), or when
/// another owner has taken the id (`Fenced`). From the moment either is called nothing brings the instance back (H7).
///
/// ```no_run
/// # use std::sync::Arc;
/// # use registry_core::{Registrar, RegistrarConfig, ServiceDiscovery};
/// # async fn serve(registry: Arc<dyn ServiceDiscovery>, stop: impl Future<Output = ()>) -> Result<(), Box<dyn std::error::Error>> {
/// let listener = std::net::TcpListener::bind("0.0.0.0:0")?;
/// let config = RegistrarConfig::new("greeter".parse()?).listening(listener.local_addr()?)?;
/// let registrar = Registrar::start(registry, config).await?;
/// // Serve; then:
/// registrar.run_until(stop).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Dropping it
///
/// Heartbeats stop. Where a tokio runtime is current, one best-effort deregistration of at most a second runs on;
/// elsewhere the instance expires by its TTL. It never panics (C2). [`detach`](Self::detach) keeps it beating.
///
/// # Cancel safety
///
/// A command that was sent takes effect whether or not its answer is waited for; one that was dropped before had none.
pub struct Registrar {
    service: ServiceName,
    id: InstanceId,
    requests: mpsc::Sender<Request>,
    published: Published,
    detached: Arc<AtomicBool>,
    tasks: TaskTracker,
    task: AbortHandle,
    in_flight: Option<Arc<dyn Fn() -> usize + Send + Sync>>,
}

/// What a drain came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Drained {
    /// Calls in flight when it began, where the registrar can ask.
    pub calls_before: Option<usize>,
    /// Calls in flight when the drain time was over: above 0, callers still called or calls took longer.
    pub calls_after: Option<usize>,
}

impl Registrar {
    /// Registers the instance and keeps it registered. Answers when it is registered, or with why it is not.
    ///
    /// What may pass (an unreachable registry) is tried again within [`RegistrarConfig::start`]; then the answer is
    /// `Unavailable`, and nothing goes on. A service that should also come up without its registry uses
    /// [`start_in_background`](Self::start_in_background).
    ///
    /// Errors: `InvalidArgument` before anything is sent; `AlreadyExists` when the id is alive elsewhere and the
    /// [`TakeoverPolicy`] does not cover it; `Unavailable`; whatever else the registry refuses with, or
    /// `Ambiguous` with that as its source when a try before may have taken effect (R6).
    ///
    /// Cancel safe: dropped half way it is as if the registrar had been dropped.
    pub async fn start(registry: Arc<dyn ServiceDiscovery>, config: RegistrarConfig) -> Result<Self> {
        let registrar = Self::spawn(registry, config)?;
        registrar.ask(Command::Start).await?;
        Ok(registrar)
    }

    /// Begins to register and answers at once, with the status `Registering`: it is tried for ever. A refusal is told
    /// by the status `Refused`.
    ///
    /// Errors: `InvalidArgument`; `Unsupported` where no tokio runtime is current.
    pub fn start_in_background(registry: Arc<dyn ServiceDiscovery>, config: RegistrarConfig) -> Result<Self> {
        let registrar = Self::spawn(registry, config)?;
        let (reply, _) = oneshot::channel();
        // The queue is empty: there is room.
        registrar.requests.try_send((Command::Start, reply)).map_err(|_| Error::closed())?;
        Ok(registrar)
    }

    fn spawn(registry: Arc<dyn ServiceDiscovery>, config: RegistrarConfig) -> Result<Self> {
        config.check()?;
        let id = config.instance_id()?;
        let runtime = Handle::try_current().map_err(|error| {
            Error::new(ErrorKind::Unsupported, "a registrar needs a current tokio runtime").with_source(error)
        })?;
        let (service, spec) = (config.service.clone(), config.spec());
        let plan = Plan::new(config, id.clone());
        let machine = Machine::new(plan.clone(), spec, fastrand::u64(..), Instant::now());
        let (publisher, published) = Publisher::new();
        let detached = Arc::new(AtomicBool::new(false));
        let (requests, queue) = mpsc::channel(QUEUE);
        let driver = Driver { registry, plan, machine, publisher, detached: Arc::clone(&detached) };
        let tasks = TaskTracker::new();
        let task = tasks.spawn_on(driver.run(queue), &runtime).abort_handle();
        tasks.close();
        Ok(Self { service, id, requests, published, detached, tasks, task, in_flight: None })
    }

    /// Lets the registrar ask how many calls are in flight, so that a drain can say how it went.
    #[must_use]
    pub fn counting_calls(mut self, in_flight: impl Fn() -> usize + Send + Sync + 'static) -> Self {
        self.in_flight = Some(Arc::new(in_flight));
        self
    }

    /// The service.
    pub fn service(&self) -> &ServiceName {
        &self.service
    }

    /// The instance's id.
    pub fn id(&self) -> &InstanceId {
        &self.id
    }

    /// How it stands, now and whenever it changes. Values that nobody looked at in time are skipped:
    /// [`events`](Self::events) skips none.
    pub fn status(&self) -> watch::Receiver<RegistrarStatus> {
        self.published.latest.clone()
    }

    /// Every change of status in order, from the first.
    pub fn events(&self) -> RegistrarEvents {
        self.published.events()
    }

    /// Waits until it is registered, or until it is over: then why.
    ///
    /// Cancel safe; without a bound of its own.
    pub async fn ready(&self) -> Result<()> {
        let mut status = self.status();
        let reached = status.wait_for(|status| status.is_registered() || status.is_final()).await;
        match reached.as_deref() {
            Ok(status) if status.is_registered() => Ok(()),
            Ok(status) => Err(machine::ended(status)),
            Err(_) => Err(Error::closed()),
        }
    }

    /// Replaces what the instance says of itself, whole (R7). It is kept: a later registration uses it.
    ///
    /// Answers once the registry has it (while paused: at once), or with the first failure, or within
    /// [`RegistrarConfig::start`]. After `Unavailable`, `Ambiguous` and the like it is being tried again; what the
    /// registry will never take (`InvalidArgument`, `TooLarge`) is given up for the last body that it took.
    pub async fn update(&self, instance: InstanceSpec) -> Result<()> {
        instance.check().map_err(|error| error.with_operation("update"))?;
        self.ask(Command::Change(Change::Body(Box::new(instance)))).await
    }

    /// Says something else about the instance's readiness, as [`update`](Self::update) does.
    pub async fn set_status(&self, status: InstanceStatus) -> Result<()> {
        self.ask(Command::Change(Change::Status(status))).await
    }

    /// Says something else about the instance's health, as [`update`](Self::update) does.
    pub async fn set_health(&self, health: Health) -> Result<()> {
        self.ask(Command::Change(Change::Health(health))).await
    }

    /// Takes the instance out until it is resumed; its removal says `Deregistered` (H9). Idempotent.
    ///
    /// Answers within [`RegistrarConfig::deregister`]. Also after an error it is paused, and the removal is tried until
    /// the TTL is over. One that drains refuses with `Closed`; one that is over answers as
    /// [`deregister`](Self::deregister) does. After an `Ambiguous` the instance may live until its TTL is over.
    pub async fn pause(&self) -> Result<()> {
        self.ask(Command::Pause).await
    }

    /// Ends a pause: registers again, with the newest body (H9). Idempotent.
    ///
    /// Answers within [`RegistrarConfig::start`]. Also after an error it is being tried, unless the registrar is over:
    /// another owner that came meanwhile is `Fenced`.
    pub async fn resume(&self) -> Result<()> {
        self.ask(Command::Resume).await
    }

    /// Takes the instance out in two phases (D5): callers see it draining for the drain time, and then it is
    /// deregistered. Calls that are still in flight then are reported here and in the log.
    ///
    /// A drain that cannot be written does not stop the removal. Errors: those of [`deregister`](Self::deregister).
    pub async fn drain(&self) -> Result<Drained> {
        let calls_before = self.calls();
        self.ask(Command::Drain).await?;
        let calls_after = self.calls();
        if let Some(calls @ 1..) = calls_after {
            let Self { service, id, .. } = self;
            tracing::warn!(%service, %id, calls, "the drain time is over and calls are in flight");
        }
        self.deregister().await?;
        Ok(Drained { calls_before, calls_after })
    }

    fn calls(&self) -> Option<usize> {
        self.in_flight.as_ref().map(|in_flight| in_flight())
    }

    /// Takes the instance out at once. Idempotent.
    ///
    /// Heartbeats stop first. Answers within [`RegistrarConfig::deregister`], whatever happened to other deadlines
    /// (D4). After an error it may be repeated; while the handle lives it is tried until the TTL is over anyway.
    ///
    /// `Ok` says that the registry knows no such instance of this owner any more (D1), also where it never had one or
    /// another owner holds the id. Errors: the last failure, such as `Unavailable`, when the time is up; `Closed` after
    /// [`close`](Self::close) or that of the registry; `Ambiguous` where nobody can say, and then the instance may live
    /// until its TTL is over: nothing answered in time, the tries ended without an acknowledgement, the registration was
    /// given up as [`Unreachable`](LostReason::Unreachable), or the registrar ended with its runtime. Of the last three
    /// nothing is tried any more, and the answer stays.
    pub async fn deregister(&self) -> Result<()> {
        self.ask(Command::Deregister).await
    }

    /// Waits for `signal`, whatever it gives, then drains and deregisters.
    ///
    /// Ends before the signal if the registrar is over by itself: `Fenced`, `NotRegistered` where a lost registration
    /// was given up, `Closed`, or the refusal of one that was started in the background. The application decides what
    /// then.
    pub async fn run_until(self, signal: impl Future) -> Result<Drained> {
        let mut status = self.status();
        tokio::select! {
            _ = signal => self.drain().await,
            over = status.wait_for(RegistrarStatus::is_final) => {
                Err(over.map_or_else(|_| Error::closed(), |status| machine::ended(&status)))
            }
        }
    }

    /// Gives the handle away and keeps the instance registered, until its registry is closed or another owner comes.
    pub fn detach(self) {
        self.detached.store(true, Ordering::Release);
    }

    /// Ends the registrar and deregisters nothing: the instance expires by its TTL, unless it is registered anew.
    ///
    /// A registration in flight is awaited and undone, for at most a second (H7). Idempotent; afterwards there is no
    /// task left.
    pub async fn close(&self) {
        // The answer says nothing: it is over either way.
        let _ = self.ask(Command::Close).await;
        self.tasks.wait().await;
    }

    async fn ask(&self, command: Command) -> Result<()> {
        let over = answer_when_over(&command);
        let (reply, answer) = oneshot::channel();
        if self.requests.send((command, reply)).await.is_ok()
            && let Ok(answer) = answer.await
        {
            return answer;
        }
        over(&self.published.latest.borrow())
    }
}

/// What a registrar that is over answers.
fn answer_when_over(command: &Command) -> fn(&RegistrarStatus) -> Result<()> {
    match command {
        Command::Drain | Command::Close => |_| Ok(()),
        Command::Pause | Command::Deregister => machine::away,
        Command::Start | Command::Resume | Command::Change(_) => |status| Err(machine::ended(status)),
    }
}

impl Drop for Registrar {
    fn drop(&mut self) {
        // The task notices that nobody can command it any more. It may work on only where somebody runs it (C2).
        if !self.detached.load(Ordering::Acquire) && Handle::try_current().is_err() {
            self.task.abort();
        }
    }
}

impl fmt::Debug for Registrar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registrar")
            .field("service", &self.service)
            .field("id", &self.id)
            .field("status", &*self.published.latest.borrow())
            .finish_non_exhaustive()
    }
}
