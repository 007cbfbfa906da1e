//! Turns a source that may break into a feed that keeps the contract: the one place where watches are recovered.
//!
//! ```text
//!            list ok                      typed end
//!   [list] ----------> [follow at last + 1] -----------> Disconnected: back off, follow again at last + 1
//!     ^  error: back off                   |             Compacted, LineageChanged, Lagged: list, diff, one resync
//!     +------------------------------------+             Denied: the watch ends with the error
//! ```

use std::time::Duration;

use futures::StreamExt;
use futures::future::{BoxFuture, FutureExt};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tracing::{info, warn};

use crate::audit::{Audit, Verdict};
use crate::backoff::Backoff;
use crate::error::{Error, ErrorKind, Result};
use crate::item::ResyncReason;
use crate::revision::Revision;
use crate::source::{Digest, Follow, FollowEnd, Followed};
use crate::stream::WatchEnd;
use crate::watch_config::WatchConfig;

/// What is followed: one service, or the names of all.
pub(crate) trait Upstream: Send + Sync {
    type List: Send;
    type Batch: Send;

    /// For logs.
    fn name(&self) -> String;
    fn list(&self) -> BoxFuture<'_, Result<Self::List>>;
    fn revision(list: &Self::List) -> Revision;
    fn follow(&self, after: Revision) -> Follow<Self::Batch>;
    /// Keys and revisions for the audit; none where there is nothing to audit.
    fn digest(&self) -> Option<BoxFuture<'_, Result<Digest>>>;
}

/// What can be told that it is over; the first word counts.
pub(crate) trait Ends: Send + Sync {
    fn end(&self, end: WatchEnd);
}

/// Where it goes: a feed behind its lock.
pub(crate) trait Sink<U: Upstream>: Ends {
    /// The revision of what was applied last.
    fn position(&self) -> Option<Revision>;
    fn list(&self, list: U::List, reason: ResyncReason);
    fn batch(&self, batch: U::Batch);
    fn progress(&self, revision: Revision);
    fn connected(&self);
    fn disconnected(&self, cause: &str);
    /// The digest of what was folded.
    fn digest(&self) -> Option<Digest>;
}

/// The loop: runs until the watch is denied or the future is dropped.
pub(crate) struct Recover<'a, U, S> {
    upstream: &'a U,
    sink: &'a S,
    config: &'a WatchConfig,
    backoff: Backoff,
    audit: Audit,
}

/// Why following stopped.
enum Next {
    /// Wait, then follow at last + 1.
    Again {
        lived: Duration,
    },
    /// The history is gone: list.
    List(ResyncReason),
    Ended,
}

impl<'a, U: Upstream, S: Sink<U>> Recover<'a, U, S> {
    pub(crate) fn new(upstream: &'a U, sink: &'a S, config: &'a WatchConfig) -> Self {
        let backoff = Backoff::new(config.backoff_floor, config.backoff_cap);
        Self { upstream, sink, config, backoff, audit: Audit::new(config.audit_interval) }
    }

    pub(crate) async fn run(mut self) {
        // Begun anew on another runtime it goes on where it was. Before anything was listed the reason is never told:
        // the first list is a snapshot.
        let mut list = self.sink.position().is_none().then_some(ResyncReason::Recovered);
        loop {
            if let Some(reason) = list {
                match self.upstream.list().await {
                    Ok(answer) if self.is_behind(U::revision(&answer)) => {
                        self.pause("a member that lags answered the list").await;
                        continue;
                    }
                    Ok(answer) => {
                        if self.sink.position().is_some() {
                            info!(watched = self.upstream.name(), %reason, "resync");
                        }
                        self.sink.list(answer, reason);
                        list = None;
                    }
                    Err(error) if *error.kind() == ErrorKind::Closed => {
                        return self.sink.end(WatchEnd::Closed);
                    }
                    Err(error) if is_terminal(&error) => return self.sink.end(WatchEnd::Denied(error)),
                    Err(error) => {
                        self.pause(&error.to_string()).await;
                        continue;
                    }
                }
            }
            match self.follow().await {
                Next::Again { lived } => {
                    // A stream that dies at once is no success: only one that lived begins the backoff anew.
                    if lived > self.config.backoff_cap {
                        self.backoff.reset();
                    }
                    sleep(self.backoff.next()).await;
                }
                Next::List(reason) => {
                    list = Some(reason);
                    sleep(self.backoff.next()).await;
                }
                Next::Ended => return,
            }
        }
    }

    /// Never backwards, whichever member answers (W6).
    fn is_behind(&self, revision: Revision) -> bool {
        self.sink.position().is_some_and(|position| position.is_after(revision))
    }

    async fn pause(&mut self, cause: &str) {
        self.sink.disconnected(cause);
        sleep(self.backoff.next()).await;
    }

    async fn follow(&mut self) -> Next {
        let Some(position) = self.sink.position() else { return Next::List(ResyncReason::Recovered) };
        let began = Instant::now();
        let mut followed = self.upstream.follow(position);
        let mut auditing: BoxFuture<'_, Result<Digest>> = futures::future::pending().boxed();
        let mut next_audit = self.audit.next(Instant::now());
        loop {
            tokio::select! {
                item = timeout(self.config.silence, followed.next()) => match item {
                    Err(_) => warn!(
                        watched = self.upstream.name(),
                        seconds = self.config.silence.as_secs(),
                        "no event and no proof of progress"
                    ),
                    Ok(Some(Ok(Followed::Batch(batch)))) => self.sink.batch(batch),
                    Ok(Some(Ok(Followed::Progress(revision)))) => {
                        self.sink.progress(revision);
                        self.sink.connected();
                    }
                    Ok(Some(Err(end))) => return self.ended(end, began.elapsed()),
                    Ok(None) => {
                        self.sink.disconnected("the server ended the stream");
                        return Next::Again { lived: began.elapsed() };
                    }
                },
                () = sleep_until(next_audit) => {
                    next_audit = self.audit.next(Instant::now());
                    if let Some(digest) = self.upstream.digest() {
                        auditing = digest;
                    }
                }
                digest = &mut auditing => {
                    auditing = futures::future::pending().boxed();
                    let Ok(digest) = digest else { continue };
                    match self.sink.digest().map(|folded| self.audit.compare(&folded, &digest)) {
                        None | Some(Verdict::Equal) => {}
                        Some(Verdict::Unsure) => next_audit = Instant::now() + Audit::SETTLE,
                        Some(Verdict::Drift) => {
                            warn!(watched = self.upstream.name(), "the audit found an event that was lost");
                            return Next::List(ResyncReason::Audit);
                        }
                    }
                }
            }
        }
    }

    fn ended(&self, end: FollowEnd, lived: Duration) -> Next {
        match end {
            FollowEnd::Disconnected(error) => {
                self.sink.disconnected(&error.to_string());
                Next::Again { lived }
            }
            FollowEnd::Compacted => Next::List(ResyncReason::Compacted),
            FollowEnd::LineageChanged => Next::List(ResyncReason::LineageChanged),
            FollowEnd::Lagged => Next::List(ResyncReason::Lagged),
            FollowEnd::Denied(error) => {
                self.sink.end(WatchEnd::Denied(error));
                Next::Ended
            }
            FollowEnd::Closed => {
                self.sink.end(WatchEnd::Closed);
                Next::Ended
            }
        }
    }
}

/// Refusals that no waiting heals (W11).
fn is_terminal(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied | ErrorKind::Unauthenticated | ErrorKind::InvalidArgument { .. }
    )
}

#[cfg(test)]
mod tests;
