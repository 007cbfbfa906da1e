//! All watches of a session, on one stream.
//!
//! [`mux`] decides, this file reads, writes and asks. The stream has a connection of its own and its reader never
//! waits for a consumer, so a slow one harms itself alone. It is opened for the first watch, kept for some seconds
//! after the last, and given up whole: every watch then ends as disconnected and is followed anew by whoever wants it.

mod inbox;
mod joiner;
mod mux;
mod pace;
mod wire;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use etcd_client::{WatchRequestSender, WatchResponseStream};
use futures::stream::{FuturesUnordered, StreamExt};
use registry_core::{Error, FollowEnd, Revision};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until, timeout};

pub(super) use self::inbox::Inbox;
use self::mux::{Mux, Question, Wanted};
use self::wire::Request;
use super::call::{Core, Repeat};
use super::connection::Purpose;
use super::feed::Feed;
use super::kv;
use super::line::{Line, Slot};
use super::model::{KeyRange, RangeRequest};
use crate::config::EtcdConfig;
use crate::error::{Fault, classify, is_denial};

/// The largest message that is taken. Revisions come in fragments of a server's largest request (1.5 MiB by default).
const LARGEST_MESSAGE: usize = 64 << 20;

/// After how many events the reader lets others run, so that a flood finds its consumers reading.
const TURN: usize = 512;

/// The watches of a session.
pub(super) struct Watches {
    inbox: Arc<Inbox>,
    line: Arc<Line>,
    pace: (Duration, Duration),
    running: Mutex<Option<tokio::task::AbortHandle>>,
}

impl Watches {
    pub(super) fn new(core: &Core, config: &EtcdConfig) -> Self {
        Self {
            inbox: Arc::new(Inbox::new(core.tasks.clone())),
            line: Arc::new(Line::new(Purpose::Streams, Arc::clone(&core.member))),
            pace: (config.watch_silence, config.watch_answer),
            running: Mutex::new(None),
        }
    }

    /// What happens to `range` after the revision `after`.
    pub(super) fn follow(&self, core: &Arc<Core>, range: KeyRange, after: u64) -> Feed {
        let id = self.inbox.number();
        let (feed, sink) = Feed::new(id, Arc::clone(&self.inbox));
        if core.tasks.has_ended() {
            sink.end(FollowEnd::Closed);
        } else if let Err(error) = self.run(core) {
            sink.end(FollowEnd::Disconnected(error));
        } else {
            self.inbox.want(Wanted { id, range, after, lineage: core.history.lineage(), sink });
        }
        feed
    }

    /// Starts the task that has the stream, also if it ended with the runtime that it ran on.
    fn run(&self, core: &Arc<Core>) -> Result<(), Error> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        if running.as_ref().is_none_or(tokio::task::AbortHandle::is_finished) {
            let runtime = Handle::try_current()
                .map_err(|error| Error::unavailable("a watch needs a tokio runtime").with_source(error))?;
            let task = run(Arc::clone(core), Arc::clone(&self.line), Arc::clone(&self.inbox), self.pace);
            *running = Some(core.tasks.spawn_on(task, &runtime));
        }
        Ok(())
    }

    /// Throws the connection away.
    pub(super) fn clear(&self) {
        self.line.clear();
    }
}

/// Opens a stream whenever a watch is wanted and there is none.
async fn run(core: Arc<Core>, line: Arc<Line>, inbox: Arc<Inbox>, (silence, answer): (Duration, Duration)) {
    loop {
        while !inbox.is_wanted() {
            inbox.news().await;
        }
        let mut mux = Mux::new(silence, answer, Instant::now());
        inbox.deliver(&mut mux);
        let slot = line.slot();
        let fault = match open(&core, &slot, &mut mux).await {
            Ok(Some(stream)) => serve(&core, &slot, &inbox, &mut mux, stream).await,
            Ok(None) => continue,
            Err(fault) => Some(fault),
        };
        let Some(fault) = fault else {
            line.retire(&slot);
            continue;
        };
        match fault {
            Fault::Token(_) | Fault::Refused(_) => line.retire(&slot),
            Fault::Unprocessed(_) | Fault::Lost(_) => line.fail(&slot),
        }
        mux.end_all(&match fault.into_end() {
            _ if core.tasks.has_ended() => FollowEnd::Closed,
            FollowEnd::Disconnected(error) => FollowEnd::Disconnected(core.report(error)),
            FollowEnd::Denied(error) => FollowEnd::Denied(core.report(error)),
            end => end,
        });
    }
}

type Stream = (WatchRequestSender, WatchResponseStream);

/// Opens a stream by creating the first watch; none if there is no watch any more.
async fn open(core: &Core, slot: &Slot, mux: &mut Mux) -> Result<Option<Stream>, Fault> {
    let Some(Request::Create { id, range, start }) = mux.next_request(Instant::now()) else {
        return Ok(None);
    };
    let connection = slot.connection(&core.connector).await?;
    let (key, options) = wire::create(id, range, start);
    let mut client = connection.client().watch_client().max_decoding_message_size(LARGEST_MESSAGE);
    let stream = timeout(core.attempt, client.watch(key, Some(options)))
        .await
        .map_err(|_| Fault::timed_out("a watch"))?
        .map_err(classify)?;
    Ok(Some(stream.split()))
}

/// Runs a stream until it dies, or nobody needs it (none).
async fn serve(core: &Core, slot: &Slot, inbox: &Inbox, mux: &mut Mux, stream: Stream) -> Option<Fault> {
    let (WatchRequestSender(requests), mut messages) = stream;
    let mut questions = FuturesUnordered::new();
    let mut lineages = core.history.changes();
    let mut turn = 0;
    loop {
        tokio::select! {
            message = messages.next() => {
                let message = match message {
                    Some(Ok(message)) => wire::Message::from(message),
                    Some(Err(error)) => return Some(classify(error)),
                    None => return Some(ended()),
                };
                turn += message.events.len();
                if let Some(question) = mux.hear(message, &core.history, Instant::now()) {
                    questions.push(ask(core, slot, question));
                }
            }
            () = inbox.news() => inbox.deliver(mux),
            permit = requests.reserve(), if mux.has_request() => {
                let Ok(permit) = permit else { return Some(ended()) };
                if let Some(request) = mux.next_request(Instant::now()) {
                    permit.send(request.into());
                }
            }
            Some((id, verdict)) = questions.next() => {
                if let Some(fault) = settle(core, mux, id, verdict) {
                    return Some(fault);
                }
            }
            lineage = lineages.next() => mux.enter(lineage),
            () = sleep_until(mux.deadline()) => {
                if mux.is_empty() {
                    return None;
                }
                if !mux.tick(Instant::now()) {
                    return Some(Fault::timed_out("a watch"));
                }
            }
        }
        if turn >= TURN {
            turn = 0;
            tokio::task::yield_now().await;
        }
    }
}

fn ended() -> Fault {
    Fault::Lost(Error::unavailable("etcd ended the stream of watches"))
}

/// What a read told about a watch.
enum Verdict {
    /// It ends.
    End(FollowEnd),
    /// The stream is at fault.
    Stream(Fault),
    /// Where the member's store stands, now that it knows all that is committed.
    Stands(Revision),
}

/// Asks what only a read can tell.
async fn ask(core: &Core, slot: &Slot, question: Question) -> (u64, Verdict) {
    match question {
        Question::Refused { id, range } => {
            let request = probe(range);
            let read = |client| kv::range(client, &request);
            let verdict = match core.call(Repeat::Harmless, core.call, read).await {
                // Calls may, on a fresh login: that of the stream is outdated.
                Ok(_) => {
                    Verdict::Stream(Fault::Token(Error::unavailable("the login of the watches is outdated")))
                }
                Err(error) if is_denial(&error) => Verdict::End(FollowEnd::Denied(error)),
                Err(error) => Verdict::End(FollowEnd::Disconnected(error)),
            };
            (id, verdict)
        }
        Question::Behind { id, range } => {
            (id, stands(core, slot, range).await.map_or_else(Verdict::Stream, Verdict::Stands))
        }
    }
}

/// A linearizable read through the member that serves the watches: one that merely lags catches up to answer it.
async fn stands(core: &Core, slot: &Slot, range: KeyRange) -> Result<Revision, Fault> {
    let client = slot.connection(&core.connector).await?.client();
    let floor = core.history.floor();
    let answer = timeout(core.attempt, kv::range(client, &probe(range)))
        .await
        .map_err(|_| Fault::timed_out("a read"))?
        .map_err(classify)?;
    Ok(kv::range_answer(answer, &core.history, Some(floor)).revision)
}

fn probe(range: KeyRange) -> RangeRequest {
    RangeRequest { limit: 1, keys_only: true, ..RangeRequest::of(range) }
}

/// Acts on what a read told; a fault ends the stream.
fn settle(core: &Core, mux: &mut Mux, id: u64, verdict: Verdict) -> Option<Fault> {
    match verdict {
        Verdict::Stream(fault) => return Some(fault),
        Verdict::End(end) => mux.end(id, end),
        Verdict::Stands(store) => match mux.position(id) {
            // Left meanwhile.
            None => {}
            Some(position) if store.lineage() == position.lineage() && !position.is_after(store) => {
                mux.settled(id, &core.history, Instant::now());
            }
            Some(position) => {
                core.history.broken(position.lineage());
                mux.end(id, FollowEnd::LineageChanged);
            }
        },
    }
    None
}
