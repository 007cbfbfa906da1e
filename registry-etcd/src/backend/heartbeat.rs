//! Heartbeat: the lease is renewed on the session's one keepalive stream; nothing else is sent.

use std::time::Duration;

use registry_core::{Beat, Error, ErrorKind, LeaseRef, Result};
use tokio::time::Instant;

use super::look::read;
use super::plan::{fenced, not_registered};
use super::{Inner, Place};
use crate::client::LeaseId;
use crate::lease::{Over, Own};
use crate::record;

/// The longest that one attempt may take (H5).
const ATTEMPT: Duration = Duration::from_secs(2);

impl Inner {
    pub(super) async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat> {
        match self.held(lease) {
            Some(held) => {
                self.rewatch(held);
                self.beat(&held.own).await
            }
            None => self.beat_for(lease).await,
        }
    }

    /// A registration of this registry: its watch tells what others did to its keys.
    async fn beat(&self, own: &Own) -> Result<Beat> {
        self.lives(own).await?;
        let sent = Instant::now();
        match self.session.renew(own.lease, ATTEMPT.min(own.ttl / 6)).await {
            Ok(Some(ttl)) => {
                own.prolong(sent + ttl);
                self.lives(own).await?;
                Ok(Beat::new(sent + ttl, own.is_intact()))
            }
            Ok(None) => Err(self.gone(&own.place, own.lease).await),
            Err(error) => Err(unreachable(error, Some(own.time_left()))),
        }
    }

    /// The error of a registration that knows that it is over.
    pub(super) async fn lives(&self, own: &Own) -> Result<()> {
        match own.over() {
            None => Ok(()),
            Some(Over::Fenced) => Err(fenced()),
            // Its keys are not watched any more.
            Some(Over::Left) => Err(self.gone(&own.place, own.lease).await),
        }
    }

    /// A registration made elsewhere: without a watch on its keys the claim is read each time.
    async fn beat_for(&self, lease: &LeaseRef) -> Result<Beat> {
        let place = self.place(lease.service(), lease.id());
        let id = record::lease(lease.generation());
        let (_, claim) =
            read(&self.session, place.claim()).await.map_err(|error| unreachable(error, None))?;
        match claim.map(|claim| claim.lease) {
            Some(Some(holder)) if holder == id => {}
            Some(Some(_)) => return Err(fenced()),
            Some(None) | None => return Err(not_registered()),
        }
        let sent = Instant::now();
        match self.session.renew(id, ATTEMPT).await {
            Ok(Some(ttl)) => Ok(Beat::new(sent + ttl, true)),
            Ok(None) => Err(self.gone(&place, id).await),
            Err(error) => Err(unreachable(error, None)),
        }
    }

    /// Why `lease` is gone: the claim is read once.
    async fn gone(&self, place: &Place, lease: LeaseId) -> Error {
        match read(&self.session, place.claim()).await {
            Ok((_, Some(claim))) if claim.lease.is_some_and(|holder| holder != lease) => fenced(),
            Ok(_) => not_registered(),
            Err(error) => unreachable(error, Some(Duration::ZERO)),
        }
    }
}

/// What a heartbeat that found nobody says (H4).
fn unreachable(error: Error, time_left: Option<Duration>) -> Error {
    match error.kind() {
        ErrorKind::Unavailable { .. } | ErrorKind::DeadlineExceeded | ErrorKind::Ambiguous => {
            error.with_kind(ErrorKind::Unavailable { time_left })
        }
        _ => error,
    }
}
