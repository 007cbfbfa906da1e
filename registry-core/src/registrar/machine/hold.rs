//! Holding a registration: heartbeats, updates, the loss of it, and the drain (H4 to H8, R7, D5).

use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use super::enter::Why;
use super::schedule::{LEAST, Pace};
use super::{Action, Call, Change, Machine, Phase, Plan, WRITE, Writing, later};
use crate::backoff::Backoff;
use crate::error::{ErrorKind, Result};
use crate::instance::InstanceStatus;
use crate::lease::LeaseRef;
use crate::registrar::config::LostPolicy;
use crate::registrar::status::{LostReason, RegistrarStatus};
use crate::registration::{Beat, Registered};
use crate::ttl::Ttl;

/// The one registration that is owned.
#[derive(Debug)]
pub(super) struct Held {
    lease: LeaseRef,
    ttl: Ttl,
    pub(super) pace: Pace,
    /// Until when it lives without a heartbeat.
    deadline: Instant,
    beat_at: Instant,
    /// Heartbeats that failed since the last one that did not.
    failures: u32,
    backoff: Backoff,
    /// A heartbeat that was sent after the deadline failed too: nobody knows whether it lives.
    silent: bool,
}

impl Held {
    pub(super) fn new(registered: &Registered, plan: &Plan, sent: Instant, rng: &mut Rng) -> Self {
        let pace = Pace::new(registered.ttl, plan.interval);
        Self {
            lease: registered.lease.clone(),
            ttl: registered.ttl,
            pace,
            deadline: registered.deadline,
            beat_at: pace.next_beat(sent, rng),
            failures: 0,
            backoff: pace.backoff(rng),
            silent: false,
        }
    }

    pub(super) fn into_lease(self) -> LeaseRef {
        self.lease
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(super) fn status(&self) -> RegistrarStatus {
        RegistrarStatus::Registered { generation: self.lease.generation(), ttl: self.ttl }
    }

    fn gives_up(&self, policy: LostPolicy) -> Option<Instant> {
        match policy {
            LostPolicy::GiveUpAfter(after) if self.silent => Some(later(self.deadline, after)),
            _ => None,
        }
    }
}

/// The time in which callers see that it drains.
#[derive(Debug)]
pub(super) struct Draining {
    until: Instant,
    time: Duration,
    /// The version of the body that says so, until it was acknowledged: the time counts from then.
    unseen: Option<u64>,
}

impl Machine {
    pub(super) fn wake_held(&self) -> Option<Instant> {
        let held = self.held.as_ref();
        let beat = held.filter(|_| self.beating.is_none()).map(|held| held.beat_at);
        let update = held.filter(|_| self.writing.is_none()).and_then(|_| self.body.due());
        let end = match &self.phase {
            Phase::Draining(draining) => Some(draining.until),
            _ => held.and_then(|held| held.gives_up(self.plan.lost)),
        };
        [beat, update, end].into_iter().flatten().min()
    }

    pub(super) fn advance_held(&mut self, now: Instant) -> bool {
        if let Phase::Draining(draining) = &self.phase {
            if draining.until <= now {
                self.leave_for_good(now);
                return true;
            }
        } else if let Some(held) = &self.held
            && held.gives_up(self.plan.lost).is_some_and(|at| at <= now)
        {
            self.give_up(held.deadline, LostReason::Unreachable);
            return true;
        }
        let Some(held) = &self.held else { return false };
        if self.beating.is_none() && held.beat_at <= now {
            self.beating = Some(now);
            self.out.push(Action::Beat(held.lease.clone(), held.pace.attempt()));
        }
        if self.writing.is_none() && self.body.due().is_some_and(|due| due <= now) {
            let call = Call::Update(held.lease.clone(), Box::new(self.body.spec().clone()));
            self.body.sent();
            self.write(call, WRITE, now);
        }
        false
    }

    pub(super) fn on_beat(&mut self, answer: Result<Beat>, now: Instant) {
        // What was dropped has no answer any more.
        let (Some(sent), Some(held)) = (self.beating.take(), self.held.as_mut()) else { return };
        match answer {
            Ok(beat) => {
                held.deadline = held.deadline.max(beat.deadline);
                // Never at once, however slow the answer: what is asked of it meanwhile needs its turn.
                held.beat_at = held.pace.next_beat(sent, &mut self.rng).max(now + LEAST);
                held.failures = 0;
                held.silent = false;
                held.backoff.reset();
                let status = held.status();
                if !beat.intact {
                    self.body.damage(now);
                }
                self.trouble = None;
                if matches!(self.phase, Phase::Held) {
                    self.tell(status);
                }
            }
            Err(error) => {
                held.failures += 1;
                let delay = match held.failures {
                    1 | 2 => held.pace.quick_retry(&mut self.rng),
                    _ => held.backoff.next(),
                };
                held.beat_at = now + delay;
                // Announced after a try that began when the time was up, so never by a clock alone (X5, A4).
                held.silent |= sent >= held.deadline;
                let silent = held.silent.then_some(held.deadline);
                self.trouble("heartbeat", &error);
                match error.kind() {
                    ErrorKind::NotRegistered => self.lost(now),
                    ErrorKind::Fenced => self.gone(RegistrarStatus::Fenced),
                    ErrorKind::Closed => self.gone(RegistrarStatus::Closed),
                    _ => self.silent(silent),
                }
            }
        }
    }

    fn silent(&mut self, since: Option<Instant>) {
        if let (Phase::Held, Some(since)) = (&self.phase, since) {
            self.tell(RegistrarStatus::Lost { since, reason: LostReason::Unreachable, gave_up: false });
        }
    }

    /// The registry says that it is gone (H6). While draining that is as good as an end.
    fn lost(&mut self, now: Instant) {
        let Some(held) = self.held.take() else { return };
        self.drop_beat();
        self.drop_write();
        self.body.lost();
        if matches!(self.phase, Phase::Held) {
            let since = if held.silent { held.deadline } else { now };
            let at = now + held.pace.relapse(&mut self.rng);
            self.enter(Why::Lost(since), at, false);
        }
    }

    pub(super) fn on_update(&mut self, answer: Result<()>, writing: Writing, now: Instant) {
        match answer {
            Ok(()) => {
                self.body.ack(writing.version, writing.body);
                if let Phase::Draining(draining) = &mut self.phase
                    && draining.unseen.is_some_and(|version| version <= writing.version)
                {
                    draining.unseen = None;
                    draining.until = later(now, draining.time);
                }
            }
            Err(error) => match error.kind() {
                ErrorKind::NotRegistered => self.lost(now),
                ErrorKind::Fenced => self.gone(RegistrarStatus::Fenced),
                ErrorKind::Closed => self.gone(RegistrarStatus::Closed),
                _ => self.body.fail(writing.version, &error, now),
            },
        }
    }

    /// Begins the drain of what is held, or leaves at once where no time is to be spent.
    pub(super) fn drain(&mut self, now: Instant) {
        let Some(held) = &self.held else { return };
        let time = self.plan.drain.unwrap_or(held.pace.interval() * 2);
        if time.is_zero() {
            self.leave_for_good(now);
            return;
        }
        // Until callers can see it there is no use in waiting, and less hope where heartbeats fail too.
        let patience = if held.failures == 0 { self.plan.deregister } else { self.plan.deregister / 2 };
        let version = self.body.change(Change::Status(InstanceStatus::Draining), now);
        self.tell(RegistrarStatus::Draining);
        let until = later(now, time.min(patience));
        self.phase = Phase::Draining(Draining { until, time, unseen: Some(version) });
    }
}
