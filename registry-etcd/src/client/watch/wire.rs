//! The messages of a watch stream, in etcd's protocol and back.

use etcd_client::proto::{PbEvent, PbWatchRequest, PbWatchRequestUnion};
use etcd_client::{WatchOptions, WatchResponse};

use crate::client::feed::{Event, EventKind};
use crate::client::kv::{kv, signed, unsigned};
use crate::client::model::{KeyEnd, KeyRange};

/// What the client asks of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    /// A watch under this id, from this revision on.
    Create { id: u64, range: KeyRange, start: u64 },
    /// The end of a watch.
    Cancel(u64),
    /// A sign of life.
    Progress,
}

/// What the server says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Message {
    /// The watch it is about; none is the stream as a whole, or a watch that was refused.
    pub(super) watch: Option<u64>,
    /// The cluster that speaks; 0 is unsaid.
    pub(super) cluster: u64,
    /// The revision of the store; 0 is unsaid.
    pub(super) revision: u64,
    /// Answers a create.
    pub(super) created: bool,
    /// The watch is no more.
    pub(super) canceled: bool,
    /// The first revision that is left of the history, where that ended the watch.
    pub(super) compacted: Option<u64>,
    /// Why it was cancelled.
    pub(super) reason: String,
    /// More of the same follows in the next message.
    pub(super) fragment: bool,
    /// What happened.
    pub(super) events: Vec<Event>,
}

/// The options that make a watch, and its key.
pub(super) fn create(id: u64, range: KeyRange, start: u64) -> (Vec<u8>, WatchOptions) {
    let options = WatchOptions::new()
        .with_watch_id(signed(id))
        .with_start_revision(signed(start))
        .with_prev_key()
        .with_fragment();
    match range.end {
        KeyEnd::One => (range.key, options),
        KeyEnd::Before(end) => (range.key, options.with_range(end)),
    }
}

impl From<Request> for PbWatchRequest {
    fn from(request: Request) -> Self {
        match request {
            Request::Create { id, range, start } => {
                let (key, options) = create(id, range, start);
                options.with_key(key).into()
            }
            Request::Cancel(id) => {
                let mut cancel = PbWatchRequestUnion::CancelRequest(nameless());
                if let PbWatchRequestUnion::CancelRequest(cancel) = &mut cancel {
                    cancel.watch_id = signed(id);
                }
                Self { request_union: Some(cancel) }
            }
            Request::Progress => {
                Self { request_union: Some(PbWatchRequestUnion::ProgressRequest(nameless())) }
            }
        }
    }
}

/// An empty message of a type that the client crate uses in public but does not name.
fn nameless<T: Default>() -> T {
    T::default()
}

impl From<WatchResponse> for Message {
    fn from(WatchResponse(response): WatchResponse) -> Self {
        let (cluster, revision) =
            response.header.map_or((0, 0), |header| (header.cluster_id, unsigned(header.revision)));
        Self {
            watch: u64::try_from(response.watch_id).ok().filter(|id| *id > 0),
            cluster,
            revision,
            created: response.created,
            canceled: response.canceled,
            compacted: Some(unsigned(response.compact_revision)).filter(|revision| *revision > 0),
            reason: response.cancel_reason,
            fragment: response.fragment,
            events: response.events.into_iter().filter_map(event).collect(),
        }
    }
}

/// An event of a kind that is known.
fn event(event: PbEvent) -> Option<Event> {
    let current = event.kv?;
    let kind = match event.r#type {
        0 => EventKind::Put(kv(current)),
        1 => EventKind::Delete { key: current.key, revision: unsigned(current.mod_revision) },
        _ => return None,
    };
    Some(Event { kind, prev: event.prev_kv.map(kv) })
}
