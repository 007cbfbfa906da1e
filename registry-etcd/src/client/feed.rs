//! One watch, as the backend sees it: batches in order, then the reason why there are no more.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures::Stream;
use registry_core::{Error, FollowEnd, Revision};
use tokio::sync::{mpsc, oneshot};

use super::model::Kv;
use super::watch::Inbox;

/// How many batches a feed holds for a consumer that is behind. A server that catches up sends 1,000 revisions in one
/// message, so it must be several times that.
const QUEUE: usize = 4096;

/// One item of a [`Feed`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FeedEvent {
    /// Everything that one revision did to the keys; revisions rise strictly.
    Batch {
        /// The revision.
        revision: Revision,
        /// What it did, in its order; never empty.
        events: Vec<Event>,
    },
    /// The watch is live; everything up to this revision was delivered.
    Progress(Revision),
}

/// What a revision did to one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// What it did.
    pub(crate) kind: EventKind,
    /// How the key stood before; missing if it was not there, or if that was compacted.
    pub(crate) prev: Option<Kv>,
}

/// The two things that happen to keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum EventKind {
    /// It was written.
    Put(Kv),
    /// It was deleted, or its lease ended.
    Delete {
        /// The key.
        key: Vec<u8>,
        /// The revision that deleted it.
        revision: u64,
    },
}

impl Event {
    /// The revision that did it.
    pub(crate) fn revision(&self) -> u64 {
        match &self.kind {
            EventKind::Put(kv) => kv.mod_revision,
            EventKind::Delete { revision, .. } => *revision,
        }
    }
}

/// The changes of some keys after a revision: a stream of [`FeedEvent`]s, ended by the reason why there are no more.
///
/// Dropping it cancels the watch upstream.
pub(crate) struct Feed {
    id: u64,
    queue: mpsc::Receiver<FeedEvent>,
    end: Option<oneshot::Receiver<FollowEnd>>,
    inbox: Arc<Inbox>,
}

/// The other end of a [`Feed`].
#[derive(Debug)]
pub(super) struct Sink {
    queue: mpsc::Sender<FeedEvent>,
    end: oneshot::Sender<FollowEnd>,
}

impl Feed {
    /// A feed and its other end. `inbox` is told when it is dropped.
    pub(super) fn new(id: u64, inbox: Arc<Inbox>) -> (Self, Sink) {
        let (sender, queue) = mpsc::channel(QUEUE);
        let (end, ended) = oneshot::channel();
        (Self { id, queue, end: Some(ended), inbox }, Sink { queue: sender, end })
    }
}

impl Sink {
    /// Hands over a batch; false if the consumer is too far behind. Never waits.
    pub(super) fn batch(&self, revision: Revision, events: Vec<Event>) -> bool {
        let sent = self.queue.try_send(FeedEvent::Batch { revision, events });
        !matches!(sent, Err(mpsc::error::TrySendError::Full(_)))
    }

    /// Tells that the feed is live. One who has a full queue to read knows that.
    pub(super) fn progress(&self, revision: Revision) {
        _ = self.queue.try_send(FeedEvent::Progress(revision));
    }

    /// Ends the feed, after what is queued.
    pub(super) fn end(self, end: FollowEnd) {
        _ = self.end.send(end);
    }
}

impl Stream for Feed {
    type Item = Result<FeedEvent, FollowEnd>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(event) = ready!(self.queue.poll_recv(cx)) {
            return Poll::Ready(Some(Ok(event)));
        }
        let Some(end) = &mut self.end else { return Poll::Ready(None) };
        let reason = ready!(Pin::new(end).poll(cx));
        self.end = None;
        Poll::Ready(Some(Err(reason.unwrap_or_else(|_| {
            // The task that read the stream is gone.
            if self.inbox.is_closed() {
                FollowEnd::Closed
            } else {
                FollowEnd::Disconnected(Error::unavailable("the watches of this session were stopped"))
            }
        }))))
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.inbox.leave(self.id);
    }
}

impl std::fmt::Debug for Feed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Feed").field("id", &self.id).finish_non_exhaustive()
    }
}
