//! Runs what the machine decides against a registry.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout};

use super::machine::{Action, Answer, Call, Command, Input, Machine, Plan, Ticket};
use super::status::{Publisher, RegistrarStatus};
use super::throttle::Throttle;
use crate::discovery::ServiceDiscovery;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::LeaseRef;
use crate::query::{Query, ReadOptions};
use crate::registration::Takeover;

/// A command, and where its answer goes.
pub(super) type Request = (Command, oneshot::Sender<Result<()>>);

/// Everything one registration's task owns.
#[derive(Debug)]
pub(super) struct Driver {
    pub(super) registry: Arc<dyn ServiceDiscovery>,
    pub(super) plan: Plan,
    pub(super) machine: Machine,
    pub(super) publisher: Publisher,
    /// Whether it goes on when the handle is gone.
    pub(super) detached: Arc<AtomicBool>,
}

/// What is in flight of one slot; a new call replaces, and so drops, the one before.
type Slot = Option<BoxFuture<'static, Input>>;

impl Driver {
    /// Runs until the registration is over. Everything in flight is dropped with this future.
    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        let (mut beat, mut write): (Slot, Slot) = (None, None);
        let mut replies = HashMap::new();
        let (mut tickets, mut open) = (0, true);
        let mut throttle = Throttle::default();
        while !self.machine.is_gone() {
            // Calls that are answered at once never wait, and others have their turn too.
            tokio::task::consume_budget().await;
            let wake = self.machine.wake();
            // Answers and timers first: no stream of commands may starve a heartbeat.
            let input = tokio::select! {
                biased;
                input = in_flight(&mut beat) => input,
                input = in_flight(&mut write) => input,
                () = due(wake) => Input::Wake,
                request = requests.recv(), if open => if let Some((command, reply)) = request {
                    tickets += 1;
                    replies.insert(Ticket(tickets), reply);
                    Input::Command(command, Ticket(tickets))
                } else {
                    open = false;
                    if self.detached.load(Ordering::Acquire) {
                        continue;
                    }
                    Input::Dropped
                },
            };
            let now = Instant::now();
            for action in self.machine.step(input, now) {
                match action {
                    Action::Beat(lease, limit) => beat = Some(self.beat(lease, limit)),
                    Action::Write(call, limit) => write = Some(self.call(call, limit)),
                    Action::DropBeat => beat = None,
                    Action::DropWrite => write = None,
                    Action::Reply(ticket, answer) => {
                        // Whoever stopped waiting needs no answer.
                        let _ = replies.remove(&ticket).map(|reply| reply.send(answer));
                    }
                    Action::Tell(status) => {
                        if status.is_registered() {
                            throttle.recovered(now);
                        }
                        self.log(&status);
                        self.publisher.tell(status);
                    }
                    Action::Trouble(operation, error) => {
                        if let Some(held_back) = throttle.pass(operation, error.kind().name(), now) {
                            let Plan { service, id, .. } = &self.plan;
                            tracing::warn!(%service, %id, operation, held_back, error = %chain(&error), "a call to the registry failed");
                        }
                    }
                }
            }
        }
    }

    fn beat(&self, lease: LeaseRef, limit: Duration) -> BoxFuture<'static, Input> {
        let registry = Arc::clone(&self.registry);
        async move {
            let late = || Error::unavailable(format!("no answer within {limit:?}"));
            Input::Beat(within(limit, registry.heartbeat(&lease), late).await)
        }
        .boxed()
    }

    fn call(&self, call: Call, limit: Duration) -> BoxFuture<'static, Input> {
        let registry = Arc::clone(&self.registry);
        let (service, id) = (self.plan.service.clone(), self.plan.id.clone());
        async move {
            let late = || Error::new(ErrorKind::Ambiguous, format!("no answer within {limit:?}"));
            Input::Wrote(match call {
                Call::Register(registration) => {
                    if let Takeover::If(generation) = registration.takeover {
                        tracing::info!(%service, %id, %generation, "taking over its own previous life");
                    }
                    Answer::Register(within(limit, registry.register(*registration), late).await)
                }
                Call::Update(lease, spec) => {
                    Answer::Update(within(limit, registry.update(&lease, *spec), late).await.map(drop))
                }
                Call::Deregister(lease) => {
                    Answer::Deregister(within(limit, registry.deregister(&lease), late).await.map(drop))
                }
                Call::Holder => Answer::Holder(within(limit, registry.holder(&service, &id), late).await),
                Call::Look => {
                    let query = Query::new(service);
                    let options = ReadOptions::default().within(limit);
                    let found = within(limit, registry.discover(&query, options), late).await;
                    Answer::Look(found.map(|snapshot| snapshot.get(&id).cloned()))
                }
            })
        }
        .boxed()
    }

    fn log(&self, status: &RegistrarStatus) {
        let Plan { service, id, .. } = &self.plan;
        match status {
            RegistrarStatus::Lost { reason, gave_up, .. } => {
                tracing::warn!(%service, %id, ?reason, gave_up, "lost");
            }
            RegistrarStatus::Refused { error } => {
                tracing::error!(%service, %id, error = %chain(error), "refused");
            }
            RegistrarStatus::Registered { generation, ttl } => {
                tracing::info!(%service, %id, %generation, %ttl, "registered");
            }
            RegistrarStatus::Fenced => {
                tracing::warn!(%service, %id, "fenced: another owner holds the id");
            }
            RegistrarStatus::Deregistered { acknowledged } => {
                tracing::info!(%service, %id, acknowledged, "deregistered");
            }
            status => tracing::info!(%service, %id, "{status}"),
        }
    }
}

/// The answer, or `late` after `limit`.
async fn within<T>(
    limit: Duration,
    call: impl Future<Output = Result<T>>,
    late: impl FnOnce() -> Error,
) -> Result<T> {
    timeout(limit, call).await.unwrap_or_else(|_| Err(late()))
}

/// The answer of what is in flight; waits for ever where nothing is.
async fn in_flight(slot: &mut Slot) -> Input {
    match slot {
        Some(call) => {
            let input = call.await;
            *slot = None;
            input
        }
        None => std::future::pending().await,
    }
}

async fn due(wake: Option<Instant>) {
    match wake {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

/// An error with its causes.
fn chain(error: &Error) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
