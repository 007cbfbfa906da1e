//! Registering: the first time, after a pause, and after a loss (R6, H6, takeover).

use std::net::SocketAddr;
use std::sync::Arc;

use tokio::time::Instant;

use super::hold::Held;
use super::leave::Undo;
use super::schedule::Pace;
use super::{Call, Machine, Phase, WRITE, Writing, later};
use crate::backoff::Backoff;
use crate::endpoint::Host;
use crate::error::{Error, ErrorKind, Result};
use crate::instance::Instance;
use crate::registrar::config::{LostPolicy, TakeoverPolicy};
use crate::registrar::status::{LostReason, RegistrarStatus};
use crate::registration::{Registered, Registration, Takeover};

/// How often a rival that vanishes when it is looked at is believed in.
const LOOKS: u8 = 3;

/// Why a registration is being made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    First,
    Resumed,
    Lost(Instant),
}

#[derive(Debug)]
pub(super) struct Entering {
    pub(super) why: Why,
    /// When to try next.
    at: Instant,
    backoff: Backoff,
    /// A try may have taken effect without our knowing (R6).
    pub(super) ambiguous: bool,
    takeover: Takeover,
    /// Who holds the id, to be looked at next.
    rival: Option<Error>,
    looks: u8,
}

impl Entering {
    pub(super) fn wake(&self, policy: LostPolicy) -> Instant {
        self.gives_up(policy).map_or(self.at, |gives_up| gives_up.min(self.at))
    }

    fn gives_up(&self, policy: LostPolicy) -> Option<Instant> {
        match (self.why, policy) {
            (Why::Lost(since), LostPolicy::GiveUpAfter(after)) => Some(later(since, after)),
            _ => None,
        }
    }
}

impl Machine {
    /// Begins to register; `ambiguous` where something of an earlier registration may still stand.
    pub(super) fn enter(&mut self, why: Why, at: Instant, ambiguous: bool) {
        let pace = Pace::new(self.plan.ttl, self.plan.interval);
        let takeover = match (why, self.plan.takeover) {
            (Why::First, TakeoverPolicy::Always) => Takeover::Always,
            _ => Takeover::Never,
        };
        self.tell(match why {
            Why::First | Why::Resumed => RegistrarStatus::Registering,
            Why::Lost(since) => {
                RegistrarStatus::Lost { since, reason: LostReason::NotRegistered, gave_up: false }
            }
        });
        let backoff = pace.backoff(&mut self.rng);
        self.phase =
            Phase::Entering(Entering { why, at, backoff, ambiguous, takeover, rival: None, looks: 0 });
    }

    pub(super) fn advance_entering(&mut self, now: Instant) -> bool {
        let Phase::Entering(entering) = &self.phase else { return false };
        if self.writing.is_some() {
            return false;
        }
        if let Why::Lost(since) = entering.why
            && entering.gives_up(self.plan.lost).is_some_and(|gives_up| gives_up <= now)
        {
            // A try of unknown outcome may have brought it back.
            let doubt = entering.ambiguous;
            let reason = if doubt { LostReason::Unreachable } else { LostReason::NotRegistered };
            self.give_up(since, reason);
            return true;
        }
        if entering.at > now {
            return false;
        }
        let call = if entering.rival.is_some() {
            Call::Look
        } else {
            let (service, id) = (self.plan.service.clone(), self.plan.id.clone());
            let mut registration = Registration::new(service, id, self.body.spec().clone())
                .with_owner(self.plan.owner)
                .with_takeover(entering.takeover);
            registration.ttl = self.plan.asked;
            Call::Register(Box::new(registration))
        };
        self.write(call, WRITE, now);
        false
    }

    /// Ends as lost, because the policy says so.
    pub(super) fn give_up(&mut self, since: Instant, reason: LostReason) {
        self.gone(RegistrarStatus::Lost { since, reason, gave_up: true });
    }

    pub(super) fn on_register(&mut self, answer: Result<Registered>, writing: Writing, now: Instant) {
        if let Ok(registered) = &answer {
            self.body.ack(writing.version, writing.body);
            let held = Held::new(registered, &self.plan, writing.sent, &mut self.rng);
            match &mut self.phase {
                Phase::Entering(_) => self.hold(held),
                Phase::Leaving(leaving) if leaving.resumes() => self.hold(held),
                // It came while it was awaited: it is undone (H7).
                Phase::Leaving(leaving) => leaving.undo(Undo::Lease(held.into_lease()), now),
                _ => {}
            }
            return;
        }
        let Err(error) = answer else { return };
        match &self.phase {
            Phase::Entering(_) => self.on_refused(error, writing.version, now),
            Phase::Leaving(_) => self.on_undone_register(&error, now),
            _ => {}
        }
    }

    fn on_refused(&mut self, error: Error, version: u64, now: Instant) {
        let policy = self.plan.takeover;
        let Phase::Entering(entering) = &mut self.phase else { return };
        let first = entering.why == Why::First;
        entering.at = now + entering.backoff.next();
        match error.kind() {
            ErrorKind::Closed => self.gone(RegistrarStatus::Closed),
            ErrorKind::Fenced => self.gone(RegistrarStatus::Fenced),
            ErrorKind::AlreadyExists { .. } if !first => self.gone(RegistrarStatus::Fenced),
            ErrorKind::AlreadyExists { .. } => {
                entering.ambiguous = false;
                if policy == TakeoverPolicy::OwnPreviousLife && entering.looks < LOOKS {
                    entering.rival = Some(error);
                    entering.at = now;
                } else {
                    self.gone(RegistrarStatus::Refused { error });
                }
            }
            _ if error.is_retryable() => entering.ambiguous |= leaves_doubt(&error),
            _ if first && entering.ambiguous => {
                // R6: what came of the try before is unknown, whatever this one says.
                let why = "it was refused after a try that may have taken effect";
                let error =
                    Error::new(ErrorKind::Ambiguous, why).with_operation("register").with_source(error);
                self.gone(RegistrarStatus::Refused { error });
            }
            _ if first => self.gone(RegistrarStatus::Refused { error }),
            // What ends a first registration does not end a loop that once worked (H4).
            _ => self.body.fail(version, &error, now),
        }
    }

    /// The living instance of our id: its previous life, if this process has bound one of its endpoints.
    pub(super) fn on_look(&mut self, answer: Result<Option<Arc<Instance>>>, now: Instant) {
        let Phase::Entering(entering) = &mut self.phase else { return };
        entering.looks += 1;
        match answer {
            Ok(Some(living)) if has_bound(&self.plan.bound, &living) => {
                entering.takeover = Takeover::If(living.generation);
                entering.rival = None;
                entering.at = now;
            }
            Ok(Some(living)) => {
                let at = living.endpoints().first().map(ToString::to_string).unwrap_or_default();
                let why = format!(
                    "{}/{} is alive at {at}, which this process has not bound: choose another id, deregister the \
                     other, or allow the takeover",
                    living.service, living.id
                );
                let kind = ErrorKind::AlreadyExists { generation: living.generation };
                let error = Error::new(kind, why).with_operation("register");
                self.gone(RegistrarStatus::Refused { error });
            }
            // Gone meanwhile.
            Ok(None) => {
                entering.rival = None;
                entering.at = now + entering.backoff.next();
            }
            Err(error) if *error.kind() == ErrorKind::Closed => self.gone(RegistrarStatus::Closed),
            Err(error) if error.is_retryable() => {
                entering.looks -= 1;
                entering.at = now + entering.backoff.next();
            }
            Err(error) => {
                let rival = entering.rival.take().unwrap_or_else(|| error.clone());
                self.gone(RegistrarStatus::Refused { error: rival.with_source(error) });
            }
        }
    }

    fn hold(&mut self, held: Held) {
        self.tell(held.status());
        self.held = Some(held);
        self.phase = Phase::Held;
    }
}

/// Whether the write may have taken effect all the same.
fn leaves_doubt(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Ambiguous | ErrorKind::DeadlineExceeded)
}

fn has_bound(bound: &[SocketAddr], living: &Instance) -> bool {
    living.endpoints().iter().any(|endpoint| match endpoint.host() {
        Host::Ip(ip) => bound.contains(&SocketAddr::new(ip.to_canonical(), endpoint.port())),
        Host::Name(_) => false,
    })
}
