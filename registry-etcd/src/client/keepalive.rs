//! All heartbeats of a session, on one stream.

mod waiters;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use etcd_client::proto::PbLeaseKeepAliveRequest;
use etcd_client::{Error as VendorError, LeaseKeepAliveStream, LeaseKeeper};
use registry_core::{Error, ErrorKind, Result};
use tokio::runtime::Handle;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep_until, timeout_at};

use self::waiters::{Answer, Waiters};
use super::call::Core;
use super::connection::Purpose;
use super::kv::unsigned;
use super::line::{Line, Slot};
use super::model::LeaseId;
use crate::error::{Fault, classify};

/// Renewals that may wait for the stream to take them; more wait in their callers.
const INBOX: usize = 1024;

/// After how long without a heartbeat the stream is closed. The next one opens it again in a round trip.
const IDLE: Duration = Duration::from_mins(1);

/// The heartbeats of a session: one stream for every lease, on a connection of its own.
pub(super) struct KeepAlive {
    line: Arc<Line>,
    inbox: Mutex<Option<mpsc::Sender<Command>>>,
}

enum Command {
    Renew(Renewal),
    /// A request that was made at this time was not answered in its time.
    Overdue(Instant),
}

struct Renewal {
    lease: LeaseId,
    deadline: Instant,
    waiter: oneshot::Sender<Answer>,
}

impl KeepAlive {
    pub(super) fn new(core: &Core) -> Self {
        let line = Arc::new(Line::new(Purpose::Streams, Arc::clone(&core.member)));
        Self { line, inbox: Mutex::new(None) }
    }

    /// Renews a lease: what the server gives it from now, or none if it is not there.
    ///
    /// `Unavailable` after `within`, or at once if the stream dies. Cancel safe: the lease may have been renewed.
    pub(super) async fn renew(&self, core: &Arc<Core>, lease: LeaseId, within: Duration) -> Answer {
        let asked = Instant::now();
        let deadline = asked + within;
        let inbox = self.inbox(core);
        let (waiter, answer) = oneshot::channel();
        let exchange = async {
            let sent = inbox.send(Command::Renew(Renewal { lease, deadline, waiter })).await;
            if sent.is_err() { None } else { answer.await.ok() }
        };
        let answer = match timeout_at(deadline, exchange).await {
            Ok(Some(answer)) => answer,
            Ok(None) => Err(Error::unavailable("the heartbeats of this session were stopped")),
            Err(_) => {
                // A full inbox is no loss: whoever filled it will be overdue as well.
                _ = inbox.try_send(Command::Overdue(asked));
                Err(Error::unavailable(format!("etcd did not answer a heartbeat within {within:?}")))
            }
        };
        answer.map_err(|error| core.report(error))
    }

    /// Where renewals go: to the task that has the stream, started when it is first needed.
    fn inbox(&self, core: &Arc<Core>) -> mpsc::Sender<Command> {
        let mut inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        match &*inbox {
            Some(inbox) if !inbox.is_closed() => inbox.clone(),
            // Also if the task ended with the runtime that it ran on.
            _ => {
                let (sender, commands) = mpsc::channel(INBOX);
                core.tasks
                    .spawn_on(run(Arc::clone(core), Arc::clone(&self.line), commands), &Handle::current());
                inbox.insert(sender).clone()
            }
        }
    }

    /// Throws the connection away.
    pub(super) fn clear(&self) {
        self.line.clear();
    }
}

/// Opens a stream for each renewal that finds none.
async fn run(core: Arc<Core>, line: Arc<Line>, mut commands: mpsc::Receiver<Command>) {
    while let Some(command) = commands.recv().await {
        let Command::Renew(first) = command else { continue };
        if first.waiter.is_closed() {
            continue;
        }
        let slot = line.slot();
        let fault = match open(&core, &slot, &first).await {
            Ok(Some(stream)) => match serve(&core, stream, first, &mut commands).await {
                None => {
                    line.retire(&slot);
                    continue;
                }
                Some(fault) => fault,
            },
            Ok(None) => {
                _ = first.waiter.send(Ok(None));
                continue;
            }
            Err(fault) => {
                _ = first.waiter.send(Err(final_error(&fault)));
                fault
            }
        };
        match fault {
            Fault::Token(_) | Fault::Refused(_) => line.retire(&slot),
            Fault::Unprocessed(_) | Fault::Lost(_) => line.fail(&slot),
        }
        // Whoever asked meanwhile asked of this stream.
        let error = final_error(&fault);
        while let Ok(command) = commands.try_recv() {
            if let Command::Renew(renewal) = command {
                _ = renewal.waiter.send(Err(error.clone()));
            }
        }
    }
}

struct Stream {
    requests: mpsc::Sender<PbLeaseKeepAliveRequest>,
    answers: LeaseKeepAliveStream,
}

/// Opens a stream by renewing `first`; none if there is no such lease.
async fn open(core: &Core, slot: &Slot, first: &Renewal) -> Result<Option<Stream>, Fault> {
    let opening = async {
        let connection = slot.connection(&core.connector).await?;
        match connection.client().lease_keep_alive(first.lease.0).await {
            Ok((LeaseKeeper { sender, .. }, answers)) => Ok(Some(Stream { requests: sender, answers })),
            Err(VendorError::LeaseKeepAliveError(_)) => Ok(None),
            Err(error) => Err(classify(error)),
        }
    };
    timeout_at(first.deadline, opening).await.unwrap_or_else(|_| Err(Fault::timed_out("a heartbeat")))
}

/// Runs a stream until it dies, or nobody needs it (none).
async fn serve(
    core: &Core,
    mut stream: Stream,
    first: Renewal,
    commands: &mut mpsc::Receiver<Command>,
) -> Option<Fault> {
    let mut waiters = Waiters::default();
    let mut unsent = VecDeque::new();
    // The client keeps the first answer to itself, so it is asked for again.
    unsent.push_back(first.lease);
    waiters.add(first.lease, first.waiter);
    let mut heard = Instant::now();
    let mut used = heard;
    let fault = loop {
        tokio::select! {
            answer = stream.answers.message() => match answer {
                Ok(Some(answer)) => {
                    heard = Instant::now();
                    if let Some(header) = answer.header() {
                        core.history.stale(header.cluster_id(), unsigned(header.revision()));
                    }
                    waiters.answer(LeaseId(answer.id()), answer.ttl());
                }
                Ok(None) => break Fault::Lost(Error::unavailable("etcd ended the stream of heartbeats")),
                Err(error) => break classify(error),
            },
            command = commands.recv() => match command? {
                Command::Renew(renewal) => {
                    used = Instant::now();
                    unsent.push_back(renewal.lease);
                    waiters.add(renewal.lease, renewal.waiter);
                }
                // Only answers prove that the server lives. One that answered others since is merely slow.
                Command::Overdue(asked) if heard < asked => break Fault::timed_out("heartbeats"),
                Command::Overdue(_) => {}
            },
            permit = stream.requests.reserve(), if !unsent.is_empty() => match permit {
                Ok(permit) => {
                    if let Some(lease) = unsent.pop_front() {
                        permit.send(PbLeaseKeepAliveRequest { id: lease.0 });
                    }
                }
                Err(_) => break Fault::Lost(Error::unavailable("etcd ended the stream of heartbeats")),
            },
            () = sleep_until(used + IDLE), if waiters.is_empty() => return None,
        }
    };
    waiters.fail(&final_error(&fault));
    Some(fault)
}

/// What a heartbeat that was not answered is told: credentials that were refused are told as such, all else may pass.
fn final_error(fault: &Fault) -> Error {
    let unavailable = ErrorKind::Unavailable { time_left: None };
    match fault.clone() {
        Fault::Refused(error) => error,
        fault => fault.into_error().with_kind(unavailable),
    }
}
