//! A registry in a few lines and a driver without a task, for tests of the machine: it checks on every step what must
//! always hold.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::schedule::LEAST;
use super::{Action, Answer, Call, Command, Input, Machine, Plan, Ticket};
use crate::error::{Error, ErrorKind, Result};
use crate::instance::{Instance, InstanceSpec};
use crate::lease::{Generation, LeaseRef, OwnerToken};
use crate::registrar::config::RegistrarConfig;
use crate::registrar::status::RegistrarStatus;
use crate::registration::{Beat, Registered};
use crate::revision::{Lineage, Revision};

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is done and answered.
    Done,
    /// It is done, and the answer says that nobody knows.
    Doubt,
    /// It is not done, and the answer says that nobody knows.
    Lost,
    /// It is not done, as the registry cannot be reached.
    Unreachable,
    /// It is not done, as the caller may not.
    Denied,
}

/// The living instance.
#[derive(Debug, Clone)]
struct Living {
    lease: LeaseRef,
    body: InstanceSpec,
    until: Instant,
    damaged: bool,
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) machine: Machine,
    pub(super) now: Instant,
    living: Option<Living>,
    generations: u64,
    beat: Option<(LeaseRef, Instant)>,
    write: Option<(Call, Instant)>,
    /// The body as the last command left it.
    newest: InstanceSpec,
    /// What the machine was told that it owns.
    owns: Option<Generation>,
    /// Whether nothing automatic may bring it back: 0 it may, 1 until it is resumed, 2 never.
    pub(super) away: u8,
    tickets: u64,
    asked: BTreeMap<u64, (Command, Instant)>,
    pub(super) answers: Vec<(Command, Duration, Result<()>)>,
    pub(super) told: Vec<RegistrarStatus>,
    /// Failed heartbeats in a row, and when the last one failed.
    failed: (u32, Instant),
    /// When the last heartbeat or registration that worked was sent, and when it was answered.
    sent: Instant,
    answered: Instant,
}

impl World {
    pub(super) fn new(config: &RegistrarConfig, seed: u64) -> Self {
        let now = Instant::now();
        let plan = Plan::new(config.clone(), config.instance_id().unwrap());
        let machine = Machine::new(plan, config.spec(), seed, now);
        Self {
            machine,
            now,
            living: None,
            generations: 0,
            beat: None,
            write: None,
            newest: config.spec(),
            owns: None,
            away: 0,
            tickets: 0,
            asked: BTreeMap::new(),
            answers: Vec::new(),
            told: Vec::new(),
            failed: (0, now),
            sent: now,
            answered: now,
        }
    }

    fn ours(&self) -> OwnerToken {
        self.machine.plan.owner
    }

    /// The generation of ours that lives in the registry.
    pub(super) fn alive(&self) -> Option<Generation> {
        let living = self.living.as_ref().filter(|living| living.until > self.now)?;
        (living.lease.owner() == self.ours()).then(|| living.lease.generation())
    }

    pub(super) fn body(&self) -> Option<&InstanceSpec> {
        self.living.as_ref().map(|living| &living.body)
    }

    pub(super) fn newest(&self) -> &InstanceSpec {
        &self.newest
    }

    pub(super) fn unanswered(&self) -> usize {
        self.asked.len()
    }

    pub(super) fn last_told(&self) -> &RegistrarStatus {
        self.told.last().expect("a status was told")
    }

    fn step(&mut self, input: Input) {
        for action in self.machine.step(input, self.now) {
            match action {
                Action::Beat(lease, limit) => self.check_beat(lease, limit),
                Action::Write(call, limit) => self.check_write(call, limit),
                Action::DropBeat => self.beat = None,
                Action::DropWrite => self.write = None,
                Action::Reply(Ticket(ticket), answer) => {
                    let (command, asked) =
                        self.asked.remove(&ticket).expect("every command is answered once");
                    self.answers.push((command, self.now - asked, answer));
                }
                Action::Tell(status) => {
                    if matches!(status, RegistrarStatus::Deregistered { acknowledged: true }) {
                        assert_eq!(self.alive(), None, "D1 H7: said to be deregistered and alive");
                    }
                    if status.is_final() || matches!(status, RegistrarStatus::Leaving) {
                        self.owns = None;
                    }
                    self.told.push(status);
                }
                Action::Trouble(..) => {}
            }
        }
        assert!(self.machine.wake().is_none_or(|wake| wake > self.now), "a loop without a pause");
        if self.machine.is_gone() {
            assert!(self.beat.is_none() && self.write.is_none(), "something in flight after the end");
            assert_eq!(self.unanswered(), 0, "somebody waits for one who is gone");
        }
    }

    fn check_beat(&mut self, lease: LeaseRef, limit: Duration) {
        let pace = self.machine.held.as_ref().expect("beats what it owns").pace;
        assert!(self.beat.is_none(), "two heartbeats in flight");
        assert_eq!(self.away, 0, "D4: a heartbeat after it was told to leave");
        assert_eq!(Some(lease.generation()), self.owns, "a heartbeat for what is not owned");
        let ttl = self.machine.plan.ttl.get();
        assert!(limit <= ttl / 6 && limit <= Duration::from_secs(2), "H5: an attempt of {limit:?}");
        let most = match self.failed.0 {
            0 => (self.sent + pace.interval()).max(self.answered + LEAST),
            1 | 2 => self.failed.1 + ttl / 12,
            _ => self.failed.1 + ttl / 3,
        };
        assert!(self.now <= most, "H5: late by {:?} after {} failures", self.now - most, self.failed.0);
        self.beat = Some((lease, self.now + limit));
    }

    fn check_write(&mut self, call: Call, limit: Duration) {
        assert!(self.write.is_none(), "two writes in flight");
        match &call {
            Call::Register(registration) => {
                assert_eq!(self.away, 0, "H7 H9: a registration after it was told to leave");
                assert_eq!(self.owns, None, "a second lease while one is held");
                assert_eq!(registration.owner, self.ours(), "R6: another token");
                assert_eq!(registration.instance, self.newest, "R7: an old body");
            }
            Call::Update(lease, spec) => {
                assert_eq!(self.away, 0, "an update after it was told to leave");
                assert_eq!(Some(lease.generation()), self.owns, "an update of what is not owned");
                assert_eq!(**spec, self.newest, "R7: an old body");
            }
            Call::Deregister(_) | Call::Holder => assert!(self.beat.is_none(), "D4: heartbeats stop first"),
            Call::Look => {}
        }
        self.write = Some((call, self.now + limit));
    }

    pub(super) fn command(&mut self, command: Command) {
        let over = self.machine.is_gone();
        match &command {
            Command::Change(change) => {
                let draining = matches!(self.told.last(), Some(RegistrarStatus::Draining));
                match change.clone() {
                    super::Change::Body(spec) => self.newest = *spec,
                    super::Change::Status(status) => self.newest.status = status,
                    super::Change::Health(health) => self.newest.health = health,
                }
                if draining {
                    self.newest.status = crate::instance::InstanceStatus::Draining;
                }
            }
            // Refused while it drains.
            Command::Pause if matches!(self.told.last(), Some(RegistrarStatus::Draining)) => {}
            Command::Pause => self.away = self.away.max(1),
            Command::Resume if self.away == 1 => self.away = 0,
            Command::Deregister | Command::Close => self.away = 2,
            Command::Drain => {
                if self.away == 0 && self.owns.is_some() {
                    self.newest.status = crate::instance::InstanceStatus::Draining;
                } else if !matches!(self.told.last(), Some(RegistrarStatus::Draining)) {
                    self.away = 2;
                }
            }
            Command::Start | Command::Resume => {}
        }
        self.tickets += 1;
        self.asked.insert(self.tickets, (command.clone(), self.now));
        if over {
            self.away = 2;
        }
        self.step(Input::Command(command, Ticket(self.tickets)));
        self.follow_drain();
    }

    /// When the drain time is over it leaves by itself.
    fn follow_drain(&mut self) {
        let drained = self.told.iter().any(|status| matches!(status, RegistrarStatus::Draining));
        if drained && !matches!(self.told.last(), Some(RegistrarStatus::Draining)) {
            self.away = 2;
        }
    }

    pub(super) fn dropped(&mut self) {
        self.away = 2;
        self.step(Input::Dropped);
    }

    /// Somebody removes the instance, or it expires early: the machine hears it later.
    pub(super) fn vanish(&mut self) {
        self.living = None;
    }

    /// A stranger overwrites the record under a living lease.
    pub(super) fn damage(&mut self) {
        if let Some(living) = &mut self.living {
            living.body.weight += 1;
            living.damaged = true;
        }
    }

    /// Another owner takes the id where it is free.
    pub(super) fn rival(&mut self) {
        if self.living.as_ref().is_none_or(|living| living.until <= self.now) {
            let lease = self.lease(OwnerToken::random());
            let until = self.now + Duration::from_hours(24);
            self.living = Some(Living { lease, body: self.newest.clone(), until, damaged: false });
        }
    }

    fn lease(&mut self, owner: OwnerToken) -> LeaseRef {
        self.generations += 1;
        let Plan { service, id, .. } = &self.machine.plan;
        LeaseRef::new(service.clone(), id.clone(), Generation::new(self.generations), owner)
    }

    /// Lets time pass; what is in flight is answered as `fate` says once it has been under way for `delay`, or when its
    /// limit passes. A registry whose answers take longer than the limits hangs.
    pub(super) fn pass(&mut self, time: Duration, delay: Duration, fate: Fate) {
        let end = self.now + time;
        loop {
            let beat = self.beat.as_ref().map(|(_, limit)| *limit);
            let write = self.write.as_ref().map(|(_, limit)| *limit);
            // Answers come `delay` after now at the earliest: good enough, as the machine never asks faster.
            let soon = (beat.is_some() || write.is_some()).then_some(self.now + delay);
            let next = [beat, write, soon, self.machine.wake()].into_iter().flatten().min();
            let Some(next) = next.filter(|next| *next <= end) else { break };
            self.now = next;
            if beat.is_some() && soon == Some(next) {
                self.answer_beat(fate);
            } else if beat.is_some_and(|limit| limit <= self.now) {
                self.answer_beat(Fate::Unreachable);
            }
            if self.write.is_some() && soon == Some(next) {
                self.answer_write(fate);
            } else if write.is_some_and(|limit| limit <= self.now) && self.write.is_some() {
                self.answer_write(Fate::Lost);
            }
            self.step(Input::Wake);
            self.follow_drain();
        }
        self.now = end;
        self.step(Input::Wake);
        self.follow_drain();
    }

    pub(super) fn answer_beat(&mut self, fate: Fate) {
        let Some((lease, _)) = self.beat.take() else { return };
        let truth = match &mut self.living {
            Some(living) if living.until <= self.now => Err(ErrorKind::NotRegistered),
            Some(living) if living.lease == lease => {
                living.until = self.now + self.machine.plan.ttl.get();
                Ok(Beat::new(living.until, !living.damaged))
            }
            Some(_) => Err(ErrorKind::Fenced),
            None => Err(ErrorKind::NotRegistered),
        };
        let answer = match fate {
            Fate::Done => truth.map_err(|kind| Error::new(kind, "beat")),
            Fate::Denied => Err(Error::new(ErrorKind::PermissionDenied, "beat")),
            Fate::Doubt | Fate::Lost | Fate::Unreachable => Err(Error::unavailable("beat")),
        };
        match &answer {
            Ok(_) => self.worked(self.machine.beating.expect("it is in flight")),
            Err(error) => {
                self.failed = (self.failed.0 + 1, self.now);
                if matches!(error.kind(), ErrorKind::NotRegistered | ErrorKind::Fenced) {
                    self.owns = None;
                }
            }
        }
        self.step(Input::Beat(answer));
        self.follow_drain();
    }

    pub(super) fn answer_write(&mut self, fate: Fate) {
        let Some((call, _)) = self.write.take() else { return };
        let refusal = match fate {
            Fate::Done => None,
            Fate::Doubt | Fate::Lost => Some(ErrorKind::Ambiguous),
            Fate::Unreachable => Some(ErrorKind::Unavailable { time_left: None }),
            Fate::Denied => Some(ErrorKind::PermissionDenied),
        };
        let refusal = refusal.map(|kind| Error::new(kind, "write"));
        let done = matches!(fate, Fate::Done | Fate::Doubt);
        if self.living.as_ref().is_some_and(|living| living.until <= self.now) {
            self.living = None;
        }
        let answer = match call {
            Call::Register(registration) => {
                let truth = if done { self.register(*registration) } else { Err(Error::closed()) };
                let answer = refusal.map_or(truth, Err);
                if let (Ok(registered), 0) = (&answer, self.away) {
                    self.owns = Some(registered.generation());
                    self.worked(self.machine.writing.as_ref().expect("it is in flight").sent);
                }
                Answer::Register(answer)
            }
            Call::Update(lease, spec) => {
                let truth = match &mut self.living {
                    Some(living) if living.lease == lease => {
                        if done {
                            (living.body, living.damaged) = (*spec, false);
                        }
                        Ok(())
                    }
                    Some(_) => Err(Error::new(ErrorKind::Fenced, "update")),
                    None => Err(Error::not_registered("update")),
                };
                let answer = refusal.map_or(truth, Err);
                if let Err(error) = &answer
                    && matches!(error.kind(), ErrorKind::NotRegistered | ErrorKind::Fenced)
                {
                    self.owns = None;
                }
                Answer::Update(answer)
            }
            Call::Deregister(lease) => {
                if done && self.living.as_ref().is_some_and(|living| living.lease == lease) {
                    self.living = None;
                }
                Answer::Deregister(refusal.map_or(Ok(()), Err))
            }
            Call::Holder => {
                let holder = self.living.as_ref().map(|living| living.lease.clone());
                Answer::Holder(refusal.map_or(Ok(holder), Err))
            }
            Call::Look => {
                let seen = self.living.as_ref().map(|living| {
                    let (lease, body) = (&living.lease, Arc::new(living.body.clone()));
                    let (service, id) = (lease.service().clone(), lease.id().clone());
                    Arc::new(Instance::new(service, id, lease.generation(), revision(), body))
                });
                Answer::Look(refusal.map_or(Ok(seen), Err))
            }
        };
        self.step(Input::Wrote(answer));
        self.follow_drain();
    }

    fn worked(&mut self, sent: Instant) {
        (self.failed, self.sent, self.answered) = ((0, self.now), sent, self.now);
    }

    fn register(&mut self, registration: crate::registration::Registration) -> Result<Registered> {
        let ttl = registration.ttl.unwrap_or_default();
        let until = self.now + ttl.get();
        let lease = match &self.living {
            Some(living) if living.lease.owner() == registration.owner => living.lease.clone(),
            Some(living) if !registration.takeover.allows(living.lease.generation()) => {
                let kind = ErrorKind::AlreadyExists { generation: living.lease.generation() };
                return Err(Error::new(kind, "register"));
            }
            _ => self.lease(registration.owner),
        };
        self.living =
            Some(Living { lease: lease.clone(), body: registration.instance, until, damaged: false });
        Ok(Registered::new(lease, ttl, revision(), until))
    }
}

fn revision() -> Revision {
    Revision::new(Lineage::new(0), 0)
}
