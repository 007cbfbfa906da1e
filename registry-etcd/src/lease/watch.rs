//! The watch of a registration on its own two keys, over the session's shared stream.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use registry_core::{Backoff, FollowEnd};
use tokio::time::sleep;
use tracing::{debug, warn};

use super::Own;
use crate::backend::look::look;
use crate::backend::standing::ClaimAt;
use crate::client::{Event, EventKind, Feed, FeedEvent, KeyRange, Session};

/// Why following stopped.
enum Next {
    /// The record stands under another key now.
    Moved,
    /// Follow again from where it was.
    Again,
    /// The history in between is gone: look.
    Look,
    Fenced,
    Closed,
}

/// Up to where each key was followed.
struct Position {
    claim: u64,
    record: u64,
}

/// Watches the keys that `own` put at `after`, until it is fenced or the future is dropped. The fenced one revokes its
/// own lease.
pub(crate) async fn keep_watch(session: Session, own: Arc<Own>, after: u64) {
    let mut position = Position { claim: after, record: after };
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
    loop {
        match follow(&session, &own, &mut position, &mut backoff).await {
            Next::Moved => {}
            Next::Again => sleep(backoff.next()).await,
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
            () = own.moved.notified() => return Next::Moved,
            item = next(&mut claims) => item.map_continue(|(revision, event)| {
                position.claim = position.claim.max(revision);
                let Some(event) = event else { return false };
                match event.kind {
                    EventKind::Put(kv) => own.claim_event(revision, Some(&ClaimAt::new(kv))),
                    EventKind::Delete { .. } => own.claim_event(revision, None),
                }
            }),
            item = next(&mut records) => item.map_continue(|(revision, event)| {
                position.record = position.record.max(revision);
                match event.map(|event| event.kind) {
                    Some(EventKind::Put(kv)) => own.record_event(revision, Some(&kv)),
                    Some(EventKind::Delete { .. }) => own.record_event(revision, None),
                    None => {}
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

/// The next event of a key, or the proof that there is none; or why it is followed no more.
async fn next(feed: &mut Feed) -> ControlFlow<Next, (u64, Option<Event>)> {
    match feed.next().await {
        Some(Ok(FeedEvent::Batch { revision, mut events })) => {
            ControlFlow::Continue((revision.number(), events.pop()))
        }
        Some(Ok(FeedEvent::Progress(_))) => ControlFlow::Continue((0, None)),
        Some(Err(FollowEnd::Compacted | FollowEnd::LineageChanged | FollowEnd::Lagged)) => {
            ControlFlow::Break(Next::Look)
        }
        Some(Err(FollowEnd::Closed)) => ControlFlow::Break(Next::Closed),
        Some(Err(FollowEnd::Denied(error))) => {
            // Heartbeats will say the same where it matters; permission may come back.
            warn!(%error, "the watch on a registration's own keys was refused");
            ControlFlow::Break(Next::Again)
        }
        Some(Err(_)) | None => ControlFlow::Break(Next::Again),
    }
}

/// Reads what a broken history hides. Answers whether it fences the registration.
async fn look_again(session: &Session, own: &Own, position: &mut Position) -> bool {
    let version = own.version();
    match look(session, &own.place, &[&version]).await {
        Ok(standing) => {
            let revision = standing.revision.number();
            *position = Position { claim: revision, record: revision };
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
    let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
    while let Err(error) = session.revoke(own.lease).await {
        if !error.is_retryable() || own.time_left().is_zero() {
            debug!(%error, "the lease of a fenced registration is left to run out");
            return;
        }
        sleep(backoff.next()).await;
    }
}
