//! The registrar as a pure state machine: what happened and what time it is go in, what to do comes out.
//!
//! ```text
//!             refused                         given up
//! Idle -> Entering <-------------- Held --------------> Gone
//!            |  ^  \---- ok ----->  |                    ^
//!            |  | resumed           | drain              |
//!            |  |                   v                    |
//!            |  Paused <-- Leaving <-- Draining          |
//!            \---------------^  \------------------------/
//! ```
//!
//! `Entering` is `Registering`, or `Lost` once the registry said that a registration is gone. There are two slots for
//! calls: heartbeats go through one, everything that writes through the other, each one at a time. So there are never
//! two registrations in flight, and a slow update delays no heartbeat.

mod body;
mod command;
mod enter;
mod hold;
mod leave;
#[cfg(test)]
mod properties;
mod schedule;
mod wait;
#[cfg(test)]
mod world;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use self::body::Body;
pub(super) use self::command::{Change, Command};
use self::enter::Entering;
use self::hold::{Draining, Held};
use self::leave::{Leaving, Undo};
use self::schedule::Pace;
use self::wait::Waiter;
pub(super) use self::wait::{Ticket, away, ended};
use super::config::{LostPolicy, RegistrarConfig, TakeoverPolicy};
use super::status::RegistrarStatus;
use crate::error::{Error, Result};
use crate::instance::{Instance, InstanceSpec};
use crate::lease::{LeaseRef, OwnerToken};
use crate::name::{InstanceId, ServiceName};
use crate::registration::{Beat, Registered, Registration};
use crate::ttl::Ttl;

/// The longest that one write may take; then its outcome counts as unknown.
const WRITE: Duration = Duration::from_secs(2);
/// The time for a best effort when the handle is dropped or closed (C2).
const PARTING: Duration = Duration::from_secs(1);

/// What stays the same for the registrar's whole life.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) service: ServiceName,
    pub(super) id: InstanceId,
    pub(super) owner: OwnerToken,
    /// What is asked for; none: what the registry was opened with.
    asked: Option<Ttl>,
    /// The TTL to go by until one is granted.
    ttl: Ttl,
    interval: Option<Duration>,
    drain: Option<Duration>,
    deregister: Duration,
    start: Duration,
    lost: LostPolicy,
    takeover: TakeoverPolicy,
    bound: Vec<SocketAddr>,
}

impl Plan {
    /// The plan of a configuration that was checked.
    pub(super) fn new(config: RegistrarConfig, id: InstanceId) -> Self {
        let bound = config.bound().to_vec();
        let RegistrarConfig {
            service, ttl: asked, interval, drain, deregister, start, lost, takeover, ..
        } = config;
        let owner = OwnerToken::random();
        let ttl = asked.unwrap_or_default();
        Self { service, id, owner, asked, ttl, interval, drain, deregister, start, lost, takeover, bound }
    }
}

/// What goes in.
#[derive(Debug)]
pub(super) enum Input {
    /// The time of [`Machine::wake`] has come.
    Wake,
    /// The heartbeat in flight was answered, or its limit passed.
    Beat(Result<Beat>),
    /// The write in flight was answered, or its limit passed.
    Wrote(Answer),
    /// Somebody wants something.
    Command(Command, Ticket),
    /// The handle was dropped where a runtime is current (C2).
    Dropped,
}

/// What comes out.
#[derive(Debug)]
pub(super) enum Action {
    /// Send a heartbeat, and answer `Unavailable` after the limit.
    Beat(LeaseRef, Duration),
    /// Send a write, and answer `Ambiguous` after the limit.
    Write(Call, Duration),
    /// Drop the heartbeat in flight.
    DropBeat,
    /// Drop the write in flight.
    DropWrite,
    /// Tell who waits for it.
    Reply(Ticket, Result<()>),
    /// Tell everybody.
    Tell(RegistrarStatus),
    /// A call failed.
    Trouble(&'static str, Error),
}

/// A call of the write slot.
#[derive(Debug)]
pub(super) enum Call {
    Register(Box<Registration>),
    Update(LeaseRef, Box<InstanceSpec>),
    Deregister(LeaseRef),
    /// Who holds the id?
    Holder,
    /// What does the living instance of the id say of itself?
    Look,
}

/// The answer to it.
#[derive(Debug)]
pub(super) enum Answer {
    Register(Result<Registered>),
    Update(Result<()>),
    Deregister(Result<()>),
    Holder(Result<Option<LeaseRef>>),
    Look(Result<Option<Arc<Instance>>>),
}

/// The write in flight.
#[derive(Debug)]
struct Writing {
    registers: bool,
    sent: Instant,
    /// The body it carries, and its version.
    body: InstanceSpec,
    version: u64,
}

#[derive(Debug)]
enum Phase {
    Idle,
    Entering(Entering),
    Held,
    Draining(Draining),
    Leaving(Leaving),
    /// With what could not be undone in time.
    Paused(Undo),
    Gone(RegistrarStatus),
}

/// See the module.
#[derive(Debug)]
pub(super) struct Machine {
    plan: Plan,
    rng: Rng,
    phase: Phase,
    /// What is owned: in `Held` always, in `Draining` until it is lost, else never.
    held: Option<Held>,
    body: Body,
    /// When the heartbeat in flight was sent.
    beating: Option<Instant>,
    writing: Option<Writing>,
    waiters: Vec<Waiter>,
    /// What failed last, until something works.
    trouble: Option<Error>,
    told: Option<RegistrarStatus>,
    out: Vec<Action>,
}

impl Machine {
    /// A machine that has not begun; `seed` decides all its jitter.
    pub(super) fn new(plan: Plan, spec: InstanceSpec, seed: u64, now: Instant) -> Self {
        let mut rng = Rng::with_seed(seed);
        let backoff = Pace::new(plan.ttl, plan.interval).backoff(&mut rng);
        Self {
            plan,
            phase: Phase::Idle,
            held: None,
            body: Body::new(spec, backoff, now),
            beating: None,
            writing: None,
            waiters: Vec::new(),
            trouble: None,
            told: None,
            out: Vec::new(),
            rng,
        }
    }

    /// Takes in what happened by `now`, and says what to do.
    pub(super) fn step(&mut self, input: Input, now: Instant) -> Vec<Action> {
        match input {
            Input::Wake => {}
            Input::Beat(answer) => self.on_beat(answer, now),
            Input::Wrote(answer) => self.on_answer(answer, now),
            Input::Command(command, ticket) => self.on_command(command, ticket, now),
            Input::Dropped => self.on_dropped(now),
        }
        while self.advance(now) {}
        self.settle(now);
        std::mem::take(&mut self.out)
    }

    /// When to step next if nothing happens before: always later than the last step.
    pub(super) fn wake(&self) -> Option<Instant> {
        let idle = self.writing.is_none();
        let phase = match &self.phase {
            Phase::Entering(entering) => idle.then(|| entering.wake(self.plan.lost)),
            Phase::Held | Phase::Draining(_) => self.wake_held(),
            Phase::Leaving(leaving) => Some(leaving.wake(idle)),
            Phase::Idle | Phase::Paused(_) | Phase::Gone(_) => None,
        };
        let waiters = self.waiters.iter().filter_map(|waiter| waiter.until).min();
        phase.into_iter().chain(waiters).min()
    }

    /// Whether it is over: nothing is in flight, everybody was answered, and no step does anything any more.
    pub(super) fn is_gone(&self) -> bool {
        matches!(self.phase, Phase::Gone(_))
    }

    /// Does what is due; true if that led to another phase, where something may be due too.
    fn advance(&mut self, now: Instant) -> bool {
        match self.phase {
            Phase::Entering(_) => self.advance_entering(now),
            Phase::Held | Phase::Draining(_) => self.advance_held(now),
            Phase::Leaving(_) => self.advance_leaving(now),
            Phase::Idle | Phase::Paused(_) | Phase::Gone(_) => false,
        }
    }

    fn on_answer(&mut self, answer: Answer, now: Instant) {
        // What was dropped has no answer any more.
        let Some(writing) = self.writing.take() else { return };
        if let Some(error) = answer.error() {
            self.trouble(answer.operation(), error);
        } else {
            self.trouble = None;
        }
        match answer {
            Answer::Register(answer) => self.on_register(answer, writing, now),
            Answer::Look(answer) => self.on_look(answer, now),
            Answer::Update(answer) => self.on_update(answer, writing, now),
            Answer::Deregister(answer) => self.on_deregister(&answer, now),
            Answer::Holder(answer) => self.on_holder(answer, now),
        }
    }

    /// Sends through the write slot.
    fn write(&mut self, call: Call, limit: Duration, now: Instant) {
        debug_assert!(self.writing.is_none(), "two writes in flight");
        self.writing = Some(Writing {
            registers: matches!(call, Call::Register(_)),
            sent: now,
            body: self.body.spec().clone(),
            version: self.body.version(),
        });
        self.out.push(Action::Write(call, limit));
    }

    fn drop_beat(&mut self) {
        if self.beating.take().is_some() {
            self.out.push(Action::DropBeat);
        }
    }

    fn drop_write(&mut self) {
        if self.writing.take().is_some() {
            self.out.push(Action::DropWrite);
        }
    }

    /// The end of it, however it came.
    fn gone(&mut self, status: RegistrarStatus) {
        self.drop_beat();
        self.drop_write();
        self.held = None;
        self.tell(status.clone());
        self.phase = Phase::Gone(status);
    }

    /// Tells a status that differs from the one before.
    fn tell(&mut self, status: RegistrarStatus) {
        let same = |told: &RegistrarStatus| {
            std::mem::discriminant(told) == std::mem::discriminant(&status)
                && told.generation() == status.generation()
                && told.is_final() == status.is_final()
        };
        if !self.told.as_ref().is_some_and(same) {
            self.told = Some(status.clone());
            self.out.push(Action::Tell(status));
        }
    }

    fn trouble(&mut self, operation: &'static str, error: &Error) {
        self.trouble = Some(error.clone());
        self.out.push(Action::Trouble(operation, error.clone()));
    }
}

impl Answer {
    fn operation(&self) -> &'static str {
        match self {
            Self::Register(_) => "register",
            Self::Update(_) => "update",
            Self::Deregister(_) => "deregister",
            Self::Holder(_) => "holder",
            Self::Look(_) => "discover",
        }
    }

    fn error(&self) -> Option<&Error> {
        match self {
            Self::Register(answer) => answer.as_ref().err(),
            Self::Update(answer) | Self::Deregister(answer) => answer.as_ref().err(),
            Self::Holder(answer) => answer.as_ref().err(),
            Self::Look(answer) => answer.as_ref().err(),
        }
    }
}

/// `now` and as much later, or as late as can be told.
fn later(now: Instant, by: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_hours(24 * 365 * 100);
    now + by.min(CENTURY)
}
