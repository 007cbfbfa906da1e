//! Who calls the service: a directory, and everything it learns in order.

use std::sync::Arc;
use std::time::Duration;

use registry_core::{Change, Directory, DirectoryConfig, Listener, Query, ServiceDiscovery, Snapshot};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::timeline::told;
use super::world::World;
use crate::exit::Failure;
use crate::words::word;

/// A demo makes a dozen changes.
const QUEUE: usize = 256;
const READY: Duration = Duration::from_secs(5);
/// How long something late is waited for, so that it can be told how late it was.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) struct Caller {
    registry: Arc<dyn ServiceDiscovery>,
    directory: Directory,
    seen: mpsc::Receiver<Seen>,
    _listener: Listener,
}

/// One change, as it reached the caller.
pub(super) struct Seen {
    pub(super) at: Instant,
    pub(super) change: Change,
    /// The list with it.
    pub(super) list: Arc<Snapshot>,
}

impl Seen {
    /// Whether it is that of this instance, in the contract's word.
    pub(super) fn is(&self, id: &str, what: &str) -> bool {
        self.change.id().as_str() == id && word(&self.change) == what
    }
}

impl Caller {
    pub(super) async fn open(world: &World) -> Result<Self, Failure> {
        let registry = world.open()?;
        let directory =
            Directory::open(&registry, Query::new(world.service.clone()), DirectoryConfig::default())?;
        directory.ready(READY).await?;
        let (tell, seen) = mpsc::channel(QUEUE);
        let listener = directory.on_change(move |update| {
            let at = Instant::now();
            for change in update.changes.iter().cloned() {
                // Full or nobody there any more: then it is missed, and that is a broken promise.
                let _ = tell.try_send(Seen { at, change, list: Arc::clone(&update.snapshot) });
            }
        });
        Ok(Self { registry, directory, seen, _listener: listener })
    }

    /// The next change, which is due within `limit`.
    pub(super) async fn next(&mut self, limit: Duration) -> Result<Seen, Failure> {
        let waited = limit + PATIENCE;
        timeout(waited, self.seen.recv()).await.ok().flatten().ok_or_else(|| {
            Failure::error(format!("the caller saw nothing for {}, and a change was due", told(waited)))
                .next("see that the registry runs; --log=info tells what was tried")
        })
    }

    pub(super) fn list(&self) -> Result<Arc<Snapshot>, Failure> {
        Ok(self.directory.snapshot()?)
    }

    pub(super) async fn close(self) {
        self.registry.close().await;
    }
}
