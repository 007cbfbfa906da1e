//! Discover, and the names of services.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use registry_core::{
    Error, ErrorKind, Merged, Query, ReadMode, ReadOptions, Result, ServiceName, Services, Snapshot,
};
use tokio::time::{Instant, timeout};

use super::Inner;
use super::list::How;
use crate::record::raw_state;
use crate::watch::living;

/// No read takes longer; "for ever" does not overflow the clock.
const LONGEST: Duration = Duration::from_hours(1);

impl Inner {
    pub(super) async fn discover(&self, query: &Query, options: ReadOptions) -> Result<Arc<Snapshot>> {
        let keys = self.keys.service(&query.service);
        let ranges = match &query.version {
            None => vec![keys.all()],
            Some(version) => vec![keys.version(version), keys.overrides()],
        };
        let listing = within(options.deadline, self.lister.list(&ranges, how(options, false))).await?;
        let raw = raw_state(&keys, listing.revision, &listing.kvs);
        let merged = Merged::from_list(query.service.clone(), raw);
        let mut snapshot = merged.snapshot(query.version.as_ref());
        snapshot.read = options.mode;
        Ok(Arc::new(snapshot))
    }

    pub(super) async fn services(&self, options: ReadOptions) -> Result<Services> {
        let ranges = [self.keys.claims()];
        let listing = within(options.deadline, self.lister.list(&ranges, how(options, true))).await?;
        let mut names: Vec<ServiceName> =
            listing.kvs.iter().filter_map(|kv| living(&self.keys, kv)).map(|(service, _)| service).collect();
        names.sort_unstable();
        names.dedup();
        Ok(Services::new(listing.revision, names.into()))
    }
}

fn how(options: ReadOptions, keys_only: bool) -> How {
    let stale = options.mode == ReadMode::Stale;
    let deadline = options.deadline.min(LONGEST);
    How { keys_only, stale, began: Instant::now(), deadline, page: deadline }
}

/// The deadline holds whatever the calls below do (Q6).
async fn within<T>(deadline: Duration, call: impl Future<Output = Result<T>>) -> Result<T> {
    let late = || Error::new(ErrorKind::DeadlineExceeded, format!("etcd did not answer within {deadline:?}"));
    timeout(deadline, call).await.unwrap_or_else(|_| Err(late()))
}
