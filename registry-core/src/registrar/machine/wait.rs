//! Who waits for an answer, and what it is: everybody gets one.

use tokio::time::Instant;

use super::leave::{Then, Undo};
use super::{Action, Machine, Phase};
use crate::error::{Error, ErrorKind, Result};
use crate::registrar::status::{LostReason, RegistrarStatus};

/// Who waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::registrar) struct Ticket(pub(in crate::registrar) u64);

#[derive(Debug)]
pub(super) struct Waiter {
    ticket: Ticket,
    goal: Goal,
    /// When it is told that it did not come to pass. None for what ends by itself.
    pub(super) until: Option<Instant>,
}

/// What is waited for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Goal {
    Registered,
    /// The registry has this version of the body, or a newer one.
    Written(u64),
    /// The drain time is over.
    Drained,
    /// The instance is away.
    Away,
    Over,
}

impl Machine {
    pub(super) fn wait(&mut self, ticket: Ticket, goal: Goal, until: Option<Instant>) {
        self.waiters.push(Waiter { ticket, goal, until });
    }

    /// Answers those whose wait is over.
    pub(super) fn settle(&mut self, now: Instant) {
        for waiter in std::mem::take(&mut self.waiters) {
            let verdict = self.verdict(waiter.goal).or_else(|| {
                let late = waiter.until.is_some_and(|until| until <= now);
                late.then(|| Err(self.late(waiter.goal)))
            });
            match verdict {
                Some(verdict) => self.out.push(Action::Reply(waiter.ticket, verdict)),
                None => self.waiters.push(waiter),
            }
        }
        self.body.forget_failure();
    }

    /// What became of it; none while that is open.
    fn verdict(&self, goal: Goal) -> Option<Result<()>> {
        match goal {
            Goal::Registered => self.registered(),
            Goal::Written(version) => self.written(version),
            Goal::Drained => (!matches!(self.phase, Phase::Draining(_))).then_some(Ok(())),
            Goal::Away => self.away(),
            Goal::Over => matches!(self.phase, Phase::Gone(_)).then_some(Ok(())),
        }
    }

    fn registered(&self) -> Option<Result<()>> {
        match &self.phase {
            Phase::Held => Some(Ok(())),
            Phase::Idle | Phase::Entering(_) => None,
            Phase::Leaving(leaving) if leaving.resumes() => None,
            Phase::Paused(_) | Phase::Draining(_) | Phase::Leaving(_) => {
                Some(Err(Error::not_registered("it was asked to leave meanwhile")))
            }
            Phase::Gone(status) => Some(Err(ended(status))),
        }
    }

    fn written(&self, version: u64) -> Option<Result<()>> {
        if self.body.acked() >= version {
            return Some(Ok(()));
        }
        match &self.phase {
            // Kept for when it is resumed.
            Phase::Paused(_) => Some(Ok(())),
            Phase::Leaving(leaving) if matches!(leaving.then(), Then::End(_)) => {
                Some(Err(Error::not_registered("it is being deregistered")))
            }
            Phase::Gone(status) => Some(Err(ended(status))),
            Phase::Idle | Phase::Entering(_) | Phase::Held | Phase::Draining(_) | Phase::Leaving(_) => {
                self.body.failure(version).cloned().map(Err)
            }
        }
    }

    fn away(&self) -> Option<Result<()>> {
        match &self.phase {
            Phase::Paused(Undo::Nothing) => Some(Ok(())),
            Phase::Paused(Undo::Await | Undo::Ask | Undo::Lease(_)) => Some(Err(self.late(Goal::Away))),
            Phase::Leaving(leaving) if !leaving.resumes() => None,
            Phase::Gone(status) => Some(away(status)),
            Phase::Idle | Phase::Entering(_) | Phase::Held | Phase::Draining(_) | Phase::Leaving(_) => {
                let why = "it was resumed before its removal was acknowledged";
                Some(Err(Error::new(ErrorKind::Ambiguous, why)))
            }
        }
    }

    /// What is told when the time is up: the last failure, or that nobody answered.
    fn late(&self, goal: Goal) -> Error {
        match (goal, &self.trouble) {
            (Goal::Registered, Some(error)) if error.is_retryable() => {
                let why = "it could not be registered in time";
                Error::unavailable(why).with_operation("register").with_source(error.clone())
            }
            (Goal::Registered, None) => Error::unavailable("no answer in time").with_operation("register"),
            (Goal::Registered | Goal::Written(_) | Goal::Drained | Goal::Away | Goal::Over, Some(error)) => {
                error.clone()
            }
            (Goal::Written(_) | Goal::Drained | Goal::Away | Goal::Over, None) => {
                Error::new(ErrorKind::Ambiguous, "no answer in time")
            }
        }
    }
}

/// Why nothing can be had of a registrar that is over. One that stands otherwise ended with its runtime.
pub(in crate::registrar) fn ended(status: &RegistrarStatus) -> Error {
    match status {
        RegistrarStatus::Refused { error } => error.clone(),
        RegistrarStatus::Fenced => Error::new(ErrorKind::Fenced, "another owner holds the id"),
        RegistrarStatus::Lost { gave_up: true, .. } => {
            Error::not_registered("the registration was lost and given up")
        }
        RegistrarStatus::Deregistered { .. } => Error::not_registered("it was deregistered"),
        RegistrarStatus::Closed => Error::new(ErrorKind::Closed, "the registrar was closed"),
        RegistrarStatus::Registering
        | RegistrarStatus::Registered { .. }
        | RegistrarStatus::Lost { gave_up: false, .. }
        | RegistrarStatus::Paused
        | RegistrarStatus::Draining
        | RegistrarStatus::Leaving => Error::new(ErrorKind::Closed, "the registrar ended with its runtime"),
    }
}

/// Whether the instance of a registrar that is over is known to be away (D1): only what the registry said counts.
pub(in crate::registrar) fn away(status: &RegistrarStatus) -> Result<()> {
    let why = match status {
        // Refused after a try of unknown outcome, which may stand.
        RegistrarStatus::Refused { error } if *error.kind() == ErrorKind::Ambiguous => {
            "it was refused after a try that may have registered it: it may live until its TTL"
        }
        RegistrarStatus::Deregistered { acknowledged: true }
        | RegistrarStatus::Fenced
        | RegistrarStatus::Refused { .. }
        | RegistrarStatus::Lost { gave_up: true, reason: LostReason::NotRegistered, .. } => return Ok(()),
        RegistrarStatus::Closed => return Err(ended(status).with_operation("deregister")),
        RegistrarStatus::Deregistered { acknowledged: false } => {
            "no try to remove it was acknowledged: it expires by its TTL"
        }
        RegistrarStatus::Lost { gave_up: true, reason: LostReason::Unreachable, .. } => {
            "it was given up while the registry could not be reached: it may live until its TTL"
        }
        RegistrarStatus::Registering
        | RegistrarStatus::Registered { .. }
        | RegistrarStatus::Lost { gave_up: false, .. }
        // It may have been paused without an acknowledgement.
        | RegistrarStatus::Paused
        | RegistrarStatus::Draining
        | RegistrarStatus::Leaving => "the registrar ended with its runtime: it may live until its TTL",
    };
    Err(Error::new(ErrorKind::Ambiguous, why).with_operation("deregister"))
}
