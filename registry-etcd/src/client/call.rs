//! The one place where a call gets its time limit, its error its meaning, and the next member its turn.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use etcd_client::{Client, Error as VendorError};
use registry_core::{Error, ErrorKind, Result};
use tokio::time::{Instant, sleep, timeout};

use super::connection::{Connector, Purpose};
use super::history::History;
use super::line::{Line, Member, Slot};
use super::tasks::Tasks;
use crate::config::EtcdConfig;
use crate::error::{Fault, classify};

/// Pauses between attempts that failed at once: an election is over in about a second.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LAST_PAUSE: Duration = Duration::from_millis(200);

/// How often every member is asked before none counts as reachable: one that was slow once is not given up.
const ROUNDS: usize = 2;

/// Whether a call may happen twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// Reads, and writes that change nothing the second time.
    Harmless,
    /// A lost answer is left to the caller to settle (R6).
    Never,
}

/// What calls, heartbeats and watches of one session have in common.
pub(super) struct Core {
    pub(super) connector: Connector,
    pub(super) member: Arc<Member>,
    pub(super) history: History,
    pub(super) tasks: Tasks,
    /// The longest that one attempt may take.
    pub(super) attempt: Duration,
    /// The longest that a call may take which brings no deadline: to find a member, and to be answered by it.
    pub(super) call: Duration,
    target: String,
    calls: Line,
}

impl Core {
    pub(super) fn new(config: &EtcdConfig) -> Result<Self> {
        let tasks = Tasks::default();
        let connector = Connector::new(config, tasks.clone())?;
        let member = Arc::new(Member::any_of(connector.members()));
        Ok(Self {
            calls: Line::new(Purpose::Calls, Arc::clone(&member)),
            connector,
            member,
            history: History::new(),
            tasks,
            attempt: config.call_timeout,
            call: config.connect_timeout + config.call_timeout,
            target: config.target(),
        })
    }

    /// Calls `op` until it is answered, within `limit`.
    ///
    /// A member that certainly did not process it is left for the next, also to write; once each did so twice, the
    /// error is `Unavailable`. A lost answer is asked for again if that is harmless, else it is `Ambiguous`.
    /// Cancel safe as far as `op` is: what was sent may take effect.
    pub(super) async fn call<T, F>(
        &self,
        repeat: Repeat,
        limit: Duration,
        op: impl Fn(Client) -> F + Send + Sync,
    ) -> Result<T>
    where
        F: Future<Output = Result<T, VendorError>> + Send,
    {
        // Boxed: a request of the vendor is some 20 KiB of future, and callers hold several in theirs.
        let call = Box::pin(self.call_until(repeat, Instant::now() + limit, op));
        let result = self.tasks.unless_ended(call).await.unwrap_or_else(|| Err(Error::closed()));
        result.map_err(|error| error.with_target(&*self.target))
    }

    async fn call_until<T, F>(&self, repeat: Repeat, until: Instant, op: impl Fn(Client) -> F) -> Result<T>
    where
        F: Future<Output = Result<T, VendorError>>,
    {
        let mut unable = 0;
        let mut logged_in_again = false;
        let mut pause = FIRST_PAUSE;
        loop {
            let slot = self.calls.slot();
            let fault = match self.attempt(&slot, until, &op).await {
                Ok(answer) => return Ok(answer),
                Err(fault) => fault,
            };
            match &fault {
                Fault::Refused(_) => return Err(fault.into_error()),
                Fault::Token(_) => {
                    self.calls.retire(&slot);
                    if logged_in_again {
                        return Err(fault.into_error());
                    }
                    logged_in_again = true;
                    continue;
                }
                Fault::Unprocessed(_) => {
                    self.calls.fail(&slot);
                    unable += 1;
                    if unable >= ROUNDS * self.connector.members() {
                        return Err(fault.into_error());
                    }
                    continue;
                }
                Fault::Lost(_) => {
                    self.calls.fail(&slot);
                    unable = 0;
                    if repeat == Repeat::Never {
                        return Err(fault.into_error().with_kind(ErrorKind::Ambiguous));
                    }
                }
            }
            if Instant::now() + pause >= until {
                return Err(fault.into_error());
            }
            sleep(pause.mul_f64(fastrand::f64())).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    /// One attempt, on one connection.
    async fn attempt<T, F>(
        &self,
        slot: &Arc<Slot>,
        until: Instant,
        op: impl Fn(Client) -> F,
    ) -> Result<T, Fault>
    where
        F: Future<Output = Result<T, VendorError>>,
    {
        let left = || until.saturating_duration_since(Instant::now());
        let connecting = timeout(left(), slot.connection(&self.connector)).await;
        let connection = connecting.unwrap_or_else(|_| Err(Fault::too_late())).inspect_err(|_| {
            // Whatever the reason, a refused login too: the next call tries anew.
            self.calls.retire(slot);
        })?;
        timeout(self.attempt.min(left()), op(connection.client()))
            .await
            .map_err(|_| Fault::timed_out("a call"))?
            .map_err(classify)
    }

    /// An error as callers see it: with the target, and `Closed` if it comes from the connections being torn down.
    pub(super) fn report(&self, error: Error) -> Error {
        let error = if self.tasks.has_ended() { Error::closed() } else { error };
        error.with_target(&*self.target)
    }

    /// Ends every task and connection; calls in flight answer `Closed`.
    pub(super) async fn close(&self) {
        self.tasks.end().await;
        self.calls.clear();
    }
}
