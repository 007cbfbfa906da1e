//! The watch of a registration on its own two keys, over the session's shared stream.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use registry_core::{Backoff, FollowEnd, Revision};
use tokio::time::sleep;
use tracing::{debug, info, warn};

use super::Own;
use crate::backend::look::look;
use crate::backend::standing::ClaimAt;
use crate::client::{EventKind, Feed, FeedEvent, KeyRange, Session};

/// The shortest wait before the keys are followed again, and before a refusal is tried again.
const SOON: Duration = Duration::from_millis(100);
const REFUSED: Duration = Duration::from_secs(10);

/// Why following stopped.
enum Next {
    /// The record stands under another key now, or the registration is over.
    Changed,
    /// Follow again from where it was.
    Again,
    /// The history in between is gone: look.
    Look,
    /// Permission is missing; it may come back.
    Refused,
    Fenced,
    Closed,
}

/// Up to where each key was followed.
struct Position {
    claim: u64,
    record: u64,
}

impl Position {
    fn at(revision: u64) -> Self {
        Self { claim: revision, record: revision }
    }
}

/// Watches the keys that `own` put at `after`, until it is fenced or the future is dropped; without `after` it begins with
/// a look at them. The fenced one revokes its own lease.
pub(crate) async fn keep_watch(session: Session, own: Arc<Own>, after: Option<u64>) {
    let mut position = after.map(Position::at);
    // About a heartbeat's interval (H8): a thousand registrations must not besiege an etcd that is away.
    let cap = (own.ttl / 3).clamp(Duration::from_secs(1), Duration::from_secs(5));
    let mut backoff = Backoff::new(SOON, cap);
    loop {
        let next = match &mut position {
            Some(position) => follow(&session, &own, position, &mut backoff).await,
            None => Next::Look,
        };
        match next {
            Next::Changed => {
                if own.over().is_some() {
                    return;
                }
            }
            Next::Again => sleep(backoff.next()).await,
            Next::Refused => sleep(REFUSED).await,
            Next::Look => {
                sleep(backoff.next()).await;
                if look_again(&session, &own, &mut position).await {
                    return give_up(&session, &own).await;
                }
            }
            Next::Fenced => return give_up(&session, &own).await,
            Next::Closed => return,
        }
    }
}

async fn follow(session: &Session, own: &Own, position: &mut Position, backoff: &mut Backoff) -> Next {
    let record = own.place.record(own.version().as_ref());
    let mut claims = session.follow(KeyRange::one(own.place.claim()), position.claim);
    let mut records = session.follow(KeyRange::one(record), position.record);
    loop {
        let step = tokio::select! {
            () = own.changed.notified() => return Next::Changed,
            item = next(&mut claims) => item.map_continue(|heard| {
                let Some((revision, event)) = heard else { return false };
                position.claim = revision.number();
                match event {
                    EventKind::Put(kv) => own.claim_event(revision, Some(&ClaimAt::new(kv))),
                    EventKind::Delete { .. } => own.claim_event(revision, None),
                }
            }),
            item = next(&mut records) => item.map_continue(|heard| {
                let Some((revision, event)) = heard else { return false };
                position.record = revision.number();
                match event {
                    EventKind::Put(kv) => own.record_event(revision, Some(&kv)),
                    EventKind::Delete { .. } => own.record_event(revision, None),
                }
                false
            }),
        };
        match step {
            ControlFlow::Continue(true) => return Next::Fenced,
            ControlFlow::Continue(false) => backoff.reset(),
            ControlFlow::Break(next) => return next,
        }
    }
}

/// The next event of a key, or nothing but the proof that there is none; or why it is followed no more.
async fn next(feed: &mut Feed) -> ControlFlow<Next, Option<(Revision, EventKind)>> {
    match feed.next().await {
        Some(Ok(FeedEvent::Batch { revision, mut events })) => {
            ControlFlow::Continue(events.pop().map(|event| (revision, event.kind)))
        }
        Some(Ok(FeedEvent::Progress(_))) => ControlFlow::Continue(None),
        Some(Err(FollowEnd::Compacted | FollowEnd::LineageChanged | FollowEnd::Lagged)) => {
            ControlFlow::Break(Next::Look)
        }
        Some(Err(FollowEnd::Closed)) => ControlFlow::Break(Next::Closed),
        Some(Err(FollowEnd::Denied(error))) => {
            warn!(%error, "the watch on a registration's own keys was refused");
            ControlFlow::Break(Next::Refused)
        }
        Some(Err(_)) | None => ControlFlow::Break(Next::Again),
    }
}

/// Reads what a broken history hides. Answers whether it fences the registration.
async fn look_again(session: &Session, own: &Own, position: &mut Option<Position>) -> bool {
    let version = own.version();
    match look(session, &own.place, &[&version]).await {
        Ok(standing) => {
            *position = Some(Position::at(standing.revision.number()));
            own.found(&standing)
        }
        Err(error) => {
            debug!(%error, "a registration could not look at its own keys");
            false
        }
    }
}

/// Revokes the lease that nobody renews any more; it would run out by itself.
async fn give_up(session: &Session, own: &Own) {
    info!(id = %own.place.id(), lease = %own.lease, "fenced: another registration holds the id");
    let mut backoff = Backoff::new(SOON, Duration::from_secs(1));
    while let Err(error) = session.revoke(own.lease).await {
        if !error.is_retryable() || own.time_left().is_zero() {
            debug!(%error, "the lease of a fenced registration is left to run out");
            return;
        }
        sleep(backoff.next()).await;
    }
}
