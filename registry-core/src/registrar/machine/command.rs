//! What may be asked of the registrar, in every phase.

use tokio::time::Instant;

use super::enter::Why;
use super::leave::{Then, Undo, deregistered};
use super::wait::{Goal, Ticket};
use super::{Action, Machine, Phase, later};
use crate::error::{Error, ErrorKind};
use crate::instance::{Health, InstanceSpec, InstanceStatus};
use crate::registrar::status::RegistrarStatus;

/// What somebody wants. Each is answered once, within a bound.
#[derive(Debug, Clone)]
pub(in crate::registrar) enum Command {
    /// Begin.
    Start,
    /// Say something else of the instance from now on.
    Change(Change),
    Pause,
    Resume,
    /// Be seen draining for the drain time, then leave; answered when the time is over.
    Drain,
    Deregister,
    Close,
}

/// Another body, or a part of it.
#[derive(Debug, Clone)]
pub(in crate::registrar) enum Change {
    Body(Box<InstanceSpec>),
    Status(InstanceStatus),
    Health(Health),
}

impl Machine {
    pub(super) fn on_command(&mut self, command: Command, ticket: Ticket, now: Instant) {
        let (answers, leaves) = (later(now, self.plan.start), later(now, self.plan.deregister));
        match command {
            Command::Start => {
                if matches!(self.phase, Phase::Idle) {
                    self.enter(Why::First, now, false);
                }
                self.wait(ticket, Goal::Registered, Some(answers));
            }
            Command::Change(change) => {
                let version = self.body.change(change, now);
                if matches!(self.phase, Phase::Draining(_)) {
                    self.body.stay_draining();
                }
                self.wait(ticket, Goal::Written(version), Some(answers));
            }
            Command::Pause => self.pause(ticket, leaves, now),
            Command::Resume => self.resume(ticket, answers, now),
            Command::Drain => {
                if matches!(self.phase, Phase::Held) {
                    self.drain(now);
                } else if !matches!(self.phase, Phase::Draining(_)) {
                    self.deregister(now);
                }
                self.wait(ticket, Goal::Drained, None);
            }
            Command::Deregister => {
                self.deregister(now);
                self.wait(ticket, Goal::Away, Some(leaves));
            }
            Command::Close => {
                self.close(now);
                self.wait(ticket, Goal::Over, None);
            }
        }
    }

    fn pause(&mut self, ticket: Ticket, until: Instant, now: Instant) {
        match &self.phase {
            Phase::Draining(_) => {
                let kind = ErrorKind::Closed;
                let error = Error::new(kind, "it is draining and will be deregistered: it cannot be paused");
                self.out.push(Action::Reply(ticket, Err(error.with_operation("pause"))));
                return;
            }
            Phase::Entering(_) | Phase::Held | Phase::Paused(Undo::Lease(_) | Undo::Ask) => {
                self.leave(Then::Pause, now);
            }
            Phase::Leaving(leaving) if !matches!(leaving.then(), Then::End(_)) => {
                self.leave_again(Then::Pause, now);
            }
            Phase::Idle | Phase::Leaving(_) | Phase::Paused(_) | Phase::Gone(_) => {}
        }
        self.wait(ticket, Goal::Away, Some(until));
    }

    fn resume(&mut self, ticket: Ticket, until: Instant, now: Instant) {
        match &self.phase {
            Phase::Paused(undo) => self.enter(Why::Resumed, now, !matches!(undo, Undo::Nothing)),
            Phase::Leaving(leaving) if matches!(leaving.then(), Then::Pause) => {
                self.leave_again(Then::Resume, now);
            }
            _ => {}
        }
        self.wait(ticket, Goal::Registered, Some(until));
    }

    fn deregister(&mut self, now: Instant) {
        match &self.phase {
            Phase::Entering(_) | Phase::Held | Phase::Draining(_) | Phase::Paused(_) => {
                self.leave_for_good(now);
            }
            // What was closed takes no longer because somebody asks for more.
            Phase::Leaving(leaving) if matches!(leaving.then(), Then::End(RegistrarStatus::Closed)) => {}
            Phase::Leaving(_) => self.leave_again(Then::End(deregistered(true)), now),
            Phase::Idle => self.gone(deregistered(true)),
            Phase::Gone(_) => {}
        }
    }

    /// Deregisters nothing (C3), but what is just being registered is undone (H7).
    fn close(&mut self, now: Instant) {
        if self.registers() {
            self.part(RegistrarStatus::Closed, now);
            return;
        }
        let status = match &self.phase {
            Phase::Gone(_) => return,
            Phase::Leaving(leaving) if matches!(leaving.then(), Then::End(_)) => deregistered(false),
            _ => RegistrarStatus::Closed,
        };
        self.gone(status);
    }

    pub(super) fn on_dropped(&mut self, now: Instant) {
        match self.phase {
            Phase::Idle => self.gone(deregistered(true)),
            Phase::Gone(_) => {}
            _ => self.part(deregistered(true), now),
        }
    }
}
