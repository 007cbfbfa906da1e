//! What a caller runs: the list of a service, pulled once, then pushed, read without a lock.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::discovery::ServiceDiscovery;
use crate::error::{Error, ErrorKind, Result};
use crate::item::WatchStatus;
use crate::query::Query;
use crate::revision::Revision;
use crate::snapshot::Snapshot;
use crate::stream::{StateCell, StateReader, WatchEnd, WatchState};

mod listeners;
mod task;

use self::listeners::Listeners;
pub use self::listeners::{Listener, Update};

/// What a directory answers while the backend is not heard.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StalePolicy {
    /// The last list, however old; its age can be read.
    #[default]
    ServeStale,
    /// The last list until it is this old, then `Unavailable`.
    FailAfter(#[serde(with = "humantime_serde")] Duration),
}

/// How a directory is kept; plain data.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DirectoryConfig {
    /// What is answered while the backend is not heard.
    pub stale: StalePolicy,
}

/// The living instances of one service, kept current by a watch, for a caller who reads them often.
///
/// Reads take no lock, wait for nobody and allocate nothing; through a [`reader`](Self::reader) they take about a
/// nanosecond. An outage empties nothing: the last list is served, and its age can be read. It works while nobody
/// reads. Dropped, it leaves no task.
///
/// ```
/// # use std::{sync::Arc, time::Duration};
/// # use registry_core::{Directory, Query, ServiceDiscovery};
/// # async fn run(registry: Arc<dyn ServiceDiscovery>) -> registry_core::Result<()> {
/// let orders = Directory::open(&registry, Query::new("orders".parse()?), Default::default())?;
/// orders.ready(Duration::from_secs(2)).await?;
/// for instance in orders.snapshot()?.routable() {
///     println!("{} at {}", instance.id, instance.endpoints()[0]);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Directory {
    query: Query,
    config: DirectoryConfig,
    state: StateCell,
    listeners: Arc<Listeners>,
    /// Raised whenever the state became another.
    news: watch::Receiver<u64>,
    task: AbortOnDropHandle<()>,
}

impl Directory {
    /// Begins to follow a service. Answers at once; [`ready`](Self::ready) waits for the first list.
    ///
    /// Errors: those of [`ServiceDiscovery::watch`]; `Unsupported` where no tokio runtime is current.
    pub fn open(registry: &Arc<dyn ServiceDiscovery>, query: Query, config: DirectoryConfig) -> Result<Self> {
        let runtime = Handle::try_current().map_err(|error| {
            let why = "a directory needs a tokio runtime to run on, and none is current";
            Error::new(ErrorKind::Unsupported, why).with_operation("open").with_source(error)
        })?;
        let stream = registry.watch(&query)?;
        let state = stream.state().clone();
        let listeners = Arc::new(Listeners::new(query.service.clone()));
        let (raise, news) = watch::channel(0);
        let task = runtime.spawn(task::run(stream, Arc::clone(&listeners), raise));
        Ok(Self { query, config, state, listeners, news, task: AbortOnDropHandle::new(task) })
    }

    /// What is followed.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Waits for the first list, at most until `deadline`; afterwards it answers at once.
    ///
    /// Errors: `Unavailable` when none came in time (never an empty list), or the watch's terminal error. Cancel safe.
    pub async fn ready(&self, deadline: Duration) -> Result<Arc<Snapshot>> {
        let mut news = self.news.clone();
        let first = async {
            loop {
                if let Some(snapshot) = &self.state.load().snapshot {
                    return Ok(Arc::clone(snapshot));
                }
                if let Some(end) = &self.state.load().ended {
                    return Err(ended(end));
                }
                if news.changed().await.is_err() {
                    return self.state.load().snapshot.clone().ok_or_else(Error::closed);
                }
            }
        };
        timeout(deadline, first).await.unwrap_or_else(|_| Err(self.no_list_yet(Some(deadline))))
    }

    /// The list now, shared. No lock, no allocation, the same time for any number of instances.
    ///
    /// Errors: `Unavailable` before the first list, and when the policy is to fail and the list is too old.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        let state = self.state.load();
        self.judge(&state).cloned()
    }

    /// A reader of its own for one thread or task: it keeps what it saw last.
    pub fn reader(&self) -> DirectoryReader<'_> {
        DirectoryReader { directory: self, reader: self.state.reader() }
    }

    /// How long ago the list was last proven current; none before the first list.
    pub fn age(&self) -> Option<Duration> {
        let state = self.state.load();
        state.snapshot.as_ref().map(|_| state.age(Instant::now()))
    }

    /// The revision of the list; none before the first.
    pub fn revision(&self) -> Option<Revision> {
        self.state.load().snapshot.as_ref().map(|snapshot| snapshot.revision)
    }

    /// Whether the backend is heard.
    pub fn status(&self) -> WatchStatus {
        self.state.load().status.clone()
    }

    /// Waits until the list or the status becomes another than when this was called. Cancel safe.
    ///
    /// Errors: `Closed`, or the terminal error, once the watch has ended.
    pub async fn changed(&self) -> Result<()> {
        let mut news = self.news.clone();
        news.mark_unchanged();
        if news.changed().await.is_ok() {
            return Ok(());
        }
        Err(self.state.load().ended.as_ref().map_or_else(Error::closed, ended))
    }

    /// Calls `listen` with everything that changes, beginning with an addition of what is there. Dropping the
    /// [`Listener`] ends that; a listener that panics harms itself alone (C4).
    ///
    /// It is called from the directory's task, one update after the other, never twice at a time: it should be quick
    /// and must not block. An update without changes is not delivered (W5).
    pub fn on_change(&self, listen: impl FnMut(&Update) + Send + 'static) -> Listener {
        Listeners::add(&self.listeners, Box::new(listen))
    }

    /// Whether the directory still follows: false once the registry was closed or refused the watch for good.
    pub fn is_live(&self) -> bool {
        !self.task.is_finished()
    }

    fn judge<'a>(&self, state: &'a WatchState) -> Result<&'a Arc<Snapshot>> {
        let Some(snapshot) = &state.snapshot else {
            return Err(state.ended.as_ref().map_or_else(|| self.no_list_yet(None), ended));
        };
        if let StalePolicy::FailAfter(limit) = self.config.stale {
            let age = state.age(Instant::now());
            if age > limit {
                let why = format!("the list of {} is {age:?} old, {limit:?} is the most", self.query.service);
                return Err(Error::unavailable(why).with_operation("snapshot"));
            }
        }
        Ok(snapshot)
    }

    fn no_list_yet(&self, waited: Option<Duration>) -> Error {
        let within = waited.map(|waited| format!(" within {waited:?}")).unwrap_or_default();
        let cause = match self.status() {
            WatchStatus::Disconnected { cause, .. } => format!(": {cause}"),
            WatchStatus::Connecting | WatchStatus::Connected => String::new(),
        };
        let why = format!("no list of {} came{within}{cause}", self.query.service);
        Error::unavailable(why).with_operation("ready")
    }
}

fn ended(end: &WatchEnd) -> Error {
    match end {
        WatchEnd::Closed => Error::closed(),
        WatchEnd::Denied(error) => error.clone(),
    }
}

/// One reader's cached way to a directory's list.
#[derive(Debug, Clone)]
pub struct DirectoryReader<'a> {
    directory: &'a Directory,
    reader: StateReader,
}

impl DirectoryReader<'_> {
    /// The list now, borrowed. Errors as [`Directory::snapshot`].
    pub fn snapshot(&mut self) -> Result<&Arc<Snapshot>> {
        self.directory.judge(self.reader.load())
    }
}

#[cfg(test)]
mod tests;
