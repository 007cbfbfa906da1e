//! What a watcher holds: the items, and the folded state beside them.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use arc_swap::{ArcSwap, Cache, Guard};
use futures::Stream;
use futures::stream::BoxStream;
use tokio::time::Instant;

use crate::error::{Error, Result};
use crate::item::{WatchItem, WatchStatus};
use crate::snapshot::{Services, Snapshot};

/// A stream of [`WatchItem`]s that ends by close or drop, or after one terminal error (W11).
///
/// # Cancel safety
///
/// `next()` may be dropped at any time: no item is lost.
pub struct WatchStream {
    items: BoxStream<'static, Result<WatchItem>>,
    state: StateCell,
}

impl WatchStream {
    /// For backends and wrappers: items, and the state they fold to.
    pub fn new(items: impl Stream<Item = Result<WatchItem>> + Send + 'static, state: StateCell) -> Self {
        Self { items: Box::pin(items), state }
    }

    /// The folded state, shared: current whether or not the items are read.
    pub fn state(&self) -> &StateCell {
        &self.state
    }
}

impl Stream for WatchStream {
    type Item = Result<WatchItem>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.items.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for WatchStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WatchStream").field("state", &self.state).finish_non_exhaustive()
    }
}

/// What is known of a watched service now.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct WatchState {
    /// The folded state; nothing before the first list.
    pub snapshot: Option<Arc<Snapshot>>,
    /// Whether the backend is heard.
    pub status: WatchStatus,
    /// When the snapshot was last proven current; none where it always is (an embedded backend).
    pub proven: Option<Instant>,
    /// How the watch ended, once it has.
    pub ended: Option<WatchEnd>,
}

/// How a watch ended (W11).
#[derive(Debug, Clone)]
pub enum WatchEnd {
    /// The registry was closed: the stream just ends.
    Closed,
    /// Refused for good: the stream's last item is this error.
    Denied(Error),
}

impl WatchEnd {
    /// What the stream gives last, if anything.
    pub(crate) fn into_item<T>(self) -> Option<Result<T>> {
        match self {
            Self::Closed => None,
            Self::Denied(error) => Some(Err(error)),
        }
    }
}

impl WatchState {
    /// Nothing known yet.
    pub fn connecting() -> Self {
        Self { snapshot: None, status: WatchStatus::Connecting, proven: None, ended: None }
    }

    /// Known from an embedded backend, always current.
    pub fn current(snapshot: Arc<Snapshot>) -> Self {
        Self { snapshot: Some(snapshot), status: WatchStatus::Connected, proven: None, ended: None }
    }

    /// How long ago the snapshot was last proven current.
    pub fn age(&self, now: Instant) -> Duration {
        let current = match (self.proven, &self.status) {
            (Some(proven), _) => proven,
            // Always current, until nothing was heard any more.
            (None, WatchStatus::Disconnected { since, .. }) => *since,
            (None, WatchStatus::Connecting | WatchStatus::Connected) => now,
        };
        now.saturating_duration_since(current)
    }
}

/// The folded state of a watch, read without a lock and without waiting for anybody.
#[derive(Clone)]
pub struct StateCell(Arc<ArcSwap<WatchState>>);

impl StateCell {
    /// A cell that holds `state`.
    pub fn new(state: WatchState) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(state)))
    }

    /// The state now. About twelve nanoseconds; no allocation.
    pub fn load(&self) -> Guard<Arc<WatchState>> {
        self.0.load()
    }

    /// A reader that keeps what it saw last: about a nanosecond while nothing changes.
    pub fn reader(&self) -> StateReader {
        StateReader(Cache::new(Arc::clone(&self.0)))
    }

    /// For backends and wrappers: replaces the state.
    pub fn store(&self, state: WatchState) {
        self.0.store(Arc::new(state));
    }
}

impl fmt::Debug for StateCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.load().fmt(f)
    }
}

/// One reader's cached way to a [`StateCell`].
#[derive(Clone)]
pub struct StateReader(Cache<Arc<ArcSwap<WatchState>>, Arc<WatchState>>);

impl StateReader {
    /// The state now.
    pub fn load(&mut self) -> &Arc<WatchState> {
        self.0.load()
    }
}

impl fmt::Debug for StateReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StateReader").finish_non_exhaustive()
    }
}

/// One item of a watch on the names of services.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ServicesItem {
    /// The names now; the first item with data, then one whenever they differ. A slow consumer hears the newest.
    Names(Arc<Services>),
    /// The link to the backend was lost, or is back and has caught up.
    Status(WatchStatus),
}

/// A stream of [`ServicesItem`]s that ends by close or drop, or after one terminal error.
///
/// # Cancel safety
///
/// `next()` may be dropped at any time: no item is lost.
pub struct ServicesStream(BoxStream<'static, Result<ServicesItem>>);

impl ServicesStream {
    /// For backends and wrappers.
    pub fn new(items: impl Stream<Item = Result<ServicesItem>> + Send + 'static) -> Self {
        Self(Box::pin(items))
    }
}

impl Stream for ServicesStream {
    type Item = Result<ServicesItem>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for ServicesStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServicesStream").finish_non_exhaustive()
    }
}
