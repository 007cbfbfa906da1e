//! One watch, as the backend sees it: batches in order, then the reason why there are no more.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::Stream;
use registry_core::{FollowEnd, Revision};

use super::model::Kv;

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

/// The changes of some keys after a revision. Dropping it cancels the watch upstream.
pub(crate) struct Feed {
    _private: (),
}

impl Stream for Feed {
    type Item = Result<FeedEvent, FollowEnd>;

    fn poll_next(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Poll::Ready(None)
    }
}
