//! Reads what stands for an instance, where that is not known.

use std::time::Duration;

use registry_core::{Result, Version};

use super::place::Place;
use super::standing::{ClaimAt, RecordAt, Standing};
use crate::client::{KeyRange, Kv, RangeRequest, Session};

/// The longest that one of its reads may take, all attempts together.
const DEADLINE: Duration = Duration::from_secs(2);

/// Reads claim, mark, and the records under the claim's version and under `versions`. Linearizable.
///
/// The reads are not at one revision: whatever is written from the answer compares what it holds.
pub(crate) async fn look(
    session: &Session,
    place: &Place,
    versions: &[&Option<Version>],
) -> Result<Standing> {
    let (revision, claim) = read(session, place.claim()).await?;
    let claim = claim.map(ClaimAt::new);
    let (_, left) = read(session, place.left()).await?;
    let mut standing = Standing { revision, claim, records: Vec::new(), left: left.and_then(|kv| kv.lease) };

    let claimed = standing.claim.as_ref().and_then(|claim| claim.said.as_ref().ok());
    let mut wanted: Vec<Option<Version>> = claimed.map(|claim| claim.version.clone()).into_iter().collect();
    for version in versions {
        if !wanted.contains(version) {
            wanted.push((*version).clone());
        }
    }
    for version in wanted {
        if let (_, Some(kv)) = read(session, place.record(version.as_ref())).await? {
            standing.records.push(RecordAt { version, kv });
        }
    }
    Ok(standing)
}

/// One key, newest, linearizable.
pub(crate) async fn read(session: &Session, key: Vec<u8>) -> Result<(registry_core::Revision, Option<Kv>)> {
    let answer = session.range(RangeRequest::of(KeyRange::one(key)), DEADLINE).await?;
    Ok((answer.revision, answer.kvs.into_iter().next()))
}
