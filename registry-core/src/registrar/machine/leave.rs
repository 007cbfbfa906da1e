//! Leaving: heartbeats stop first, then the instance goes, and nothing brings it back (H7, H9, D4, C2).

use std::time::Duration;

use tokio::time::Instant;

use super::enter::Why;
use super::schedule::Pace;
use super::{Call, Machine, PARTING, Phase, WRITE, later};
use crate::backoff::Backoff;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::LeaseRef;
use crate::registrar::status::RegistrarStatus;

/// What comes after it.
#[derive(Debug, Clone)]
pub(super) enum Then {
    Pause,
    /// It was resumed while a call was in flight: that is awaited, then it is registered again.
    Resume,
    End(RegistrarStatus),
}

/// What must be undone.
#[derive(Debug, Clone)]
pub(super) enum Undo {
    Nothing,
    /// A registration is in flight: its answer is awaited.
    Await,
    /// A registration may have taken effect: the registry knows.
    Ask,
    Lease(LeaseRef),
}

#[derive(Debug)]
pub(super) struct Leaving {
    then: Then,
    undo: Undo,
    /// When the tries end.
    until: Instant,
    /// When to try next.
    at: Instant,
    backoff: Backoff,
    tries: u32,
}

impl Leaving {
    pub(super) fn then(&self) -> &Then {
        &self.then
    }

    pub(super) fn resumes(&self) -> bool {
        matches!(self.then, Then::Resume)
    }

    pub(super) fn wake(&self, idle: bool) -> Instant {
        if idle { self.at.min(self.until) } else { self.until }
    }

    pub(super) fn undo(&mut self, undo: Undo, now: Instant) {
        self.undo = undo;
        self.at = now;
    }

    fn retry(&mut self, now: Instant) {
        self.at = now + self.backoff.next();
        self.tries += 1;
    }
}

/// The status of an end that was asked for.
pub(super) fn deregistered(acknowledged: bool) -> RegistrarStatus {
    RegistrarStatus::Deregistered { acknowledged }
}

impl Machine {
    /// Leaves, with tries until the TTL is over (D4).
    pub(super) fn leave(&mut self, then: Then, now: Instant) {
        self.drop_beat();
        let awaits = self.writing.as_ref().is_some_and(|writing| writing.registers);
        if !awaits {
            self.drop_write();
        }
        let lease_ends = self.held.as_ref().map_or(later(now, self.plan.ttl.get()), super::Held::deadline);
        let undo = match (self.held.take(), &self.phase) {
            _ if awaits => Undo::Await,
            (Some(held), _) => Undo::Lease(held.into_lease()),
            (None, Phase::Entering(entering)) if entering.ambiguous => Undo::Ask,
            (None, Phase::Paused(undo)) => undo.clone(),
            _ => Undo::Nothing,
        };
        let until = lease_ends.max(later(now, self.plan.deregister));
        let backoff = Pace::new(self.plan.ttl, self.plan.interval).backoff(&mut self.rng);
        self.tell(RegistrarStatus::Leaving);
        self.phase = Phase::Leaving(Leaving { then, undo, until, at: now, backoff, tries: 0 });
    }

    pub(super) fn leave_for_good(&mut self, now: Instant) {
        self.leave(Then::End(deregistered(true)), now);
    }

    /// Leaves as far as can be done in the time for a parting (C2), whatever was going on.
    pub(super) fn part(&mut self, status: RegistrarStatus, now: Instant) {
        if !matches!(self.phase, Phase::Leaving(_)) {
            self.leave_for_good(now);
        }
        if let Phase::Leaving(leaving) = &mut self.phase {
            leaving.then = Then::End(status);
            leaving.until = leaving.until.min(later(now, PARTING));
        }
    }

    /// Asked for again while it goes on: tries at once, and long enough to answer.
    pub(super) fn leave_again(&mut self, then: Then, now: Instant) {
        let until = later(now, self.plan.deregister);
        if let Phase::Leaving(leaving) = &mut self.phase {
            leaving.then = then;
            leaving.at = now;
            leaving.until = leaving.until.max(until);
        }
    }

    pub(super) fn advance_leaving(&mut self, now: Instant) -> bool {
        let Phase::Leaving(leaving) = &self.phase else { return false };
        if leaving.until <= now {
            self.drop_write();
            self.left(false, now);
            return true;
        }
        if self.writing.is_some() {
            return false;
        }
        if leaving.resumes() {
            self.left(false, now);
            return true;
        }
        if leaving.at > now {
            return false;
        }
        // A first try that hangs leaves time for a second one within the caller's deadline.
        let patience = if leaving.tries == 0 { self.plan.deregister / 2 } else { self.plan.deregister };
        let limit = patience.min(WRITE).min(leaving.until - now).max(Duration::from_millis(1));
        let call = match &leaving.undo {
            Undo::Lease(lease) => Call::Deregister(lease.clone()),
            Undo::Ask => Call::Holder,
            Undo::Nothing | Undo::Await => {
                self.left(true, now);
                return true;
            }
        };
        self.write(call, limit, now);
        false
    }

    pub(super) fn on_deregister(&mut self, answer: &Result<()>, now: Instant) {
        let Phase::Leaving(leaving) = &mut self.phase else { return };
        match answer.as_ref().map_err(Error::kind) {
            Ok(()) | Err(ErrorKind::NotRegistered | ErrorKind::Fenced) => leaving.undo(Undo::Nothing, now),
            Err(ErrorKind::Closed) => self.gone(RegistrarStatus::Closed),
            Err(_) => leaving.retry(now),
        }
    }

    pub(super) fn on_holder(&mut self, answer: Result<Option<LeaseRef>>, now: Instant) {
        let Phase::Leaving(leaving) = &mut self.phase else { return };
        match answer {
            Ok(Some(lease)) if lease.owner() == self.plan.owner => leaving.undo(Undo::Lease(lease), now),
            Ok(_) => leaving.undo(Undo::Nothing, now),
            Err(error) if *error.kind() == ErrorKind::Closed => self.gone(RegistrarStatus::Closed),
            Err(_) => leaving.retry(now),
        }
    }

    /// The registration that was awaited failed: perhaps.
    pub(super) fn on_undone_register(&mut self, error: &Error, now: Instant) {
        let Phase::Leaving(leaving) = &mut self.phase else { return };
        match error.kind() {
            ErrorKind::Closed => self.gone(RegistrarStatus::Closed),
            // Somebody else has it, so none of ours stands.
            ErrorKind::AlreadyExists { .. } | ErrorKind::Fenced => leaving.undo(Undo::Nothing, now),
            _ => leaving.undo(Undo::Ask, now),
        }
    }

    fn left(&mut self, acknowledged: bool, now: Instant) {
        let Phase::Leaving(leaving) = &self.phase else { return };
        match leaving.then.clone() {
            Then::Pause => {
                let undo = match leaving.undo.clone() {
                    Undo::Await => Undo::Ask,
                    undo => undo,
                };
                self.tell(RegistrarStatus::Paused);
                self.phase = Phase::Paused(undo);
            }
            // What was not undone stands perhaps.
            Then::Resume => self.enter(Why::Resumed, now, !acknowledged),
            Then::End(RegistrarStatus::Deregistered { .. }) => self.gone(deregistered(acknowledged)),
            Then::End(status) => self.gone(status),
        }
    }

    /// Whether a registration is in flight.
    pub(super) fn registers(&self) -> bool {
        self.writing.as_ref().is_some_and(|writing| writing.registers)
    }
}
