//! Lists in pages: all of them at the first one's revision, each below the size that a message may have.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use registry_core::{Error, ErrorKind, Result, Revision};
use tokio::time::Instant;

use crate::client::{KeyEnd, KeyRange, Kv, RangeRequest, Session};
use crate::error::is_history_gone;

/// What a page may measure: a message of 4 MiB is refused, and some of it is not keys and values.
const PAGE_BYTES: usize = 3 * 1024 * 1024;

/// What a key costs beside its bytes.
const OVERHEAD: usize = 64;

/// How often a list may find its revision compacted, or the store replaced, before it fails.
const RESTARTS: usize = 3;

/// Reads ranges of keys.
#[derive(Debug)]
pub(crate) struct Lister {
    session: Session,
    page: usize,
    /// The page size that fitted last: values differ between registries, seldom within one.
    fitting: AtomicUsize,
}

/// How a list is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    pub(crate) keys_only: bool,
    pub(crate) stale: bool,
    pub(crate) began: Instant,
    /// How long all pages together may take.
    pub(crate) deadline: Duration,
    /// How long one page may take.
    pub(crate) page: Duration,
}

/// Keys as they stood at one revision.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) revision: Revision,
    pub(crate) kvs: Vec<Kv>,
}

impl How {
    fn left(&self) -> Result<Duration> {
        let left = self.deadline.saturating_sub(self.began.elapsed());
        if left.is_zero() {
            return Err(Error::new(ErrorKind::DeadlineExceeded, "the list took longer than its deadline"));
        }
        Ok(left.min(self.page))
    }
}

impl Lister {
    pub(crate) fn new(session: Session, page: u16) -> Self {
        let page = usize::from(page);
        Self { session, page, fitting: AtomicUsize::new(page) }
    }

    /// All keys of `ranges` at one revision (Q1).
    pub(crate) async fn list(&self, ranges: &[KeyRange], how: How) -> Result<Listing> {
        let mut restarts = 0;
        loop {
            match self.pages(ranges, how).await {
                Err(error) if is_history_gone(&error) && restarts < RESTARTS => restarts += 1,
                result => return result,
            }
        }
    }

    async fn pages(&self, ranges: &[KeyRange], how: How) -> Result<Listing> {
        let mut pinned: Option<Revision> = None;
        let mut kvs: Vec<Kv> = Vec::new();
        let mut limit = if how.keys_only { self.page } else { self.fitting.load(Ordering::Relaxed) };
        for range in ranges {
            let mut start = range.key.clone();
            loop {
                let request = RangeRequest {
                    key: start.clone(),
                    end: range.end.clone(),
                    limit: i64::try_from(limit).unwrap_or(i64::MAX),
                    revision: pinned.map(Revision::number),
                    keys_only: how.keys_only,
                    stale: how.stale,
                };
                let page = match self.session.range(request, how.left()?).await {
                    Err(error) if *error.kind() == ErrorKind::ResourceExhausted && limit > 1 => {
                        // Larger than a message may be: values grew, or strangers wrote large ones.
                        limit = limit.div_ceil(4);
                        continue;
                    }
                    page => page?,
                };
                let revision = *pinned.get_or_insert(page.revision);
                if revision.lineage() != page.revision.lineage() {
                    return Err(Error::unavailable("the store was replaced while it was listed"));
                }
                if !how.keys_only {
                    limit = fitting(&page.kvs, self.page).unwrap_or(limit);
                    self.fitting.store(limit, Ordering::Relaxed);
                }
                if let Some(last) = page.kvs.last() {
                    start.clone_from(&last.key);
                    start.push(0);
                }
                let more = page.more && !page.kvs.is_empty() && range.end != KeyEnd::One;
                kvs.extend(page.kvs);
                if !more {
                    break;
                }
            }
        }
        let revision = pinned.ok_or_else(|| Error::new(ErrorKind::Internal, "a list of no range"))?;
        Ok(Listing { revision, kvs })
    }
}

/// How many keys like these fit into a page; unknown if there are none.
fn fitting(kvs: &[Kv], page: usize) -> Option<usize> {
    let bytes: usize = kvs.iter().map(|kv| kv.key.len() + kv.value.len() + OVERHEAD).sum();
    let each = bytes.checked_div(kvs.len())?;
    Some((PAGE_BYTES / each.max(1)).clamp(1, page))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_shrink_with_the_size_of_values_and_grow_again() {
        let kv = |size| Kv {
            key: vec![b'k'; 36],
            value: vec![b'v'; size],
            create_revision: 1,
            mod_revision: 1,
            lease: None,
        };
        assert_eq!(fitting(&[], 1_000), None);
        assert_eq!(fitting(&[kv(100)], 1_000), Some(1_000));
        assert_eq!(fitting(&[kv(16 * 1024), kv(16 * 1024)], 1_000), Some(190));
        assert_eq!(fitting(&[kv(64 * 1024 * 1024)], 1_000), Some(1));
    }
}
