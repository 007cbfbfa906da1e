//! One upstream watch per service however many local watchers: a recovering task that feeds them all.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use futures::FutureExt;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::error::{Error, ErrorKind, Result};
use crate::feed::Feed;
use crate::name::ServiceName;
use crate::names::NamesFeed;
use crate::query::Query;
use crate::recover::{Ends, Recover, Sink, Upstream};
use crate::shared_task::{Needed, SharedTask};
use crate::source::WatchSource;
use crate::stream::{ServicesStream, WatchEnd, WatchStream};
use crate::sync::lock;
use crate::upstream::{NamesUpstream, ServiceUpstream};
use crate::watch_config::WatchConfig;

/// Contract-keeping watches over a [`WatchSource`].
///
/// All watchers of a service share one upstream watch; a newcomer begins with the folded state, the last one to leave
/// ends it (W12, W13).
#[derive(Debug)]
pub struct WatchHub {
    shared: Arc<Shared>,
}

struct Shared {
    source: Arc<dyn WatchSource>,
    config: WatchConfig,
    tasks: TaskTracker,
    closing: CancellationToken,
    open: Mutex<Open>,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("config", &self.config).finish_non_exhaustive()
    }
}

#[derive(Default)]
struct Open {
    services: HashMap<ServiceName, Watched<Feed>>,
    names: Option<Watched<NamesFeed>>,
}

/// A feed, its task, and how many hold it.
struct Watched<F> {
    feed: Arc<Mutex<F>>,
    task: SharedTask,
    holders: Arc<AtomicUsize>,
    cancel: CancellationToken,
}

impl WatchHub {
    /// A hub over `source`. Nothing runs until somebody watches.
    ///
    /// Waits that would spin or overflow are brought within bounds; [`WatchConfig::check`] refuses them.
    pub fn new(source: Arc<dyn WatchSource>, config: WatchConfig) -> Self {
        let shared = Shared {
            source,
            config: config.within_bounds(),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            open: Mutex::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Follows a service; see [`ServiceDiscovery::watch`](crate::ServiceDiscovery::watch).
    ///
    /// Errors: `Closed`; `Unsupported` where no tokio runtime is current.
    pub fn watch(&self, query: &Query) -> Result<WatchStream> {
        let runtime = self.runtime("watch")?;
        let mut open = self.shared.lock();
        let service = &query.service;
        let watched = match open.services.get(service) {
            Some(watched) if !lock(&watched.feed).is_ended() => watched,
            _ => {
                let source = Arc::clone(&self.shared.source);
                let upstream = ServiceUpstream { source, service: service.clone() };
                let feed = Feed::new(service.clone(), self.shared.config.queue);
                let watched = self.start(upstream, feed);
                open.services.entry(service.clone()).insert_entry(watched).into_mut()
            }
        };
        let guard = Leave {
            shared: Arc::clone(&self.shared),
            what: Some(service.clone()),
            of: watched.hold(&runtime),
        };
        Ok(lock(&watched.feed).subscribe(query.version.as_ref(), Box::new(guard)))
    }

    /// Follows the names; see [`ServiceDiscovery::watch_services`](crate::ServiceDiscovery::watch_services).
    ///
    /// Errors as [`watch`](Self::watch).
    pub fn watch_services(&self) -> Result<ServicesStream> {
        let runtime = self.runtime("watch_services")?;
        let mut open = self.shared.lock();
        let watched = match &mut open.names {
            Some(watched) if !lock(&watched.feed).is_ended() => watched,
            names => {
                let upstream = NamesUpstream { source: Arc::clone(&self.shared.source) };
                names.insert(self.start(upstream, NamesFeed::new()))
            }
        };
        let guard = Leave { shared: Arc::clone(&self.shared), what: None, of: watched.hold(&runtime) };
        Ok(lock(&watched.feed).subscribe(Box::new(guard)))
    }

    /// Ends every watch; afterwards no task is left. Idempotent.
    pub async fn close(&self) {
        self.shared.closing.cancel();
        self.shared.tasks.close();
        self.shared.tasks.wait().await;
    }

    fn runtime(&self, operation: &'static str) -> Result<Handle> {
        if self.shared.closing.is_cancelled() {
            return Err(Error::closed().with_operation(operation));
        }
        Handle::try_current().map_err(|error| {
            let why = "watching needs a tokio runtime to run on, and none is current";
            Error::new(ErrorKind::Unsupported, why).with_operation(operation).with_source(error)
        })
    }

    /// Follows `upstream` into `feed` until that is denied, or nobody holds it any more.
    fn start<U, F>(&self, upstream: U, feed: F) -> Watched<F>
    where
        U: Upstream + 'static,
        F: Send + 'static,
        Mutex<F>: Sink<U>,
    {
        let feed = Arc::new(Mutex::new(feed));
        let cancel = self.shared.closing.child_token();
        let (upstream, config) = (Arc::new(upstream), self.shared.config.clone());
        let (followed, ended) = (Arc::clone(&feed), Arc::clone(&feed));
        let work = move || {
            let (upstream, feed, config) = (Arc::clone(&upstream), Arc::clone(&followed), config.clone());
            async move { Recover::new(&*upstream, &*feed, &config).run().await }.boxed()
        };
        let ended = move || ended.end(WatchEnd::Closed);
        let task = SharedTask::new(self.shared.tasks.clone(), cancel.clone(), work, ended);
        Watched { feed, task, holders: Arc::default(), cancel }
    }
}

impl Drop for WatchHub {
    fn drop(&mut self) {
        self.shared.closing.cancel();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Open> {
        lock(&self.open)
    }
}

impl<F> Watched<F> {
    fn hold(&self, runtime: &Handle) -> Holder {
        self.holders.fetch_add(1, Ordering::Relaxed);
        Holder {
            holders: Arc::clone(&self.holders),
            cancel: self.cancel.clone(),
            _needed: self.task.need(runtime),
        }
    }
}

struct Holder {
    _needed: Needed,
    holders: Arc<AtomicUsize>,
    cancel: CancellationToken,
}

/// Dropped with a watcher: the last one ends the upstream watch.
struct Leave {
    shared: Arc<Shared>,
    /// The service, or the names.
    what: Option<ServiceName>,
    of: Holder,
}

impl Drop for Leave {
    fn drop(&mut self) {
        // Newcomers are counted under the same lock, so that none joins a feed that is being ended.
        let mut open = self.shared.lock();
        if self.of.holders.fetch_sub(1, Ordering::Relaxed) > 1 {
            return;
        }
        self.of.cancel.cancel();
        let same = |holders: &Arc<AtomicUsize>| Arc::ptr_eq(holders, &self.of.holders);
        match &self.what {
            Some(service) => {
                if open.services.get(service).is_some_and(|watched| same(&watched.holders)) {
                    open.services.remove(service);
                }
            }
            None => {
                open.names.take_if(|watched| same(&watched.holders));
            }
        }
    }
}
