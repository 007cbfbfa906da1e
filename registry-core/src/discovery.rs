//! The trait, with its contract above it.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::capability::Capabilities;
use crate::error::Result;
use crate::instance::InstanceSpec;
use crate::lease::LeaseRef;
use crate::name::{InstanceId, ServiceName};
use crate::overrides::Override;
use crate::query::{Query, ReadOptions};
use crate::registration::{Beat, Registered, Registration};
use crate::revision::Revision;
use crate::snapshot::{Services, Snapshot};
use crate::stream::{ServicesStream, WatchStream};

/// A service registry: instances come, live as long as they beat, are found, and go.
///
/// The contract is between whoever implements this trait and whoever calls it, through a box, an `Arc` or a wrapper
/// alike. `docs/contract.md` numbers its rules (R1, W5, …), and the conformance suite of `registry-testkit` tests each
/// one by that number. In short:
///
/// - **Checks come before I/O** and name the bad field; a refused call had no effect (R1).
/// - **Acknowledged is visible**: what `register` or `update` acknowledged is in every linearizable `discover` that
///   starts afterwards, from any client, until it is removed (R2, Q7).
/// - **Never visible without a TTL** (R3). An instance lives until its last acknowledged heartbeat was *sent* plus the
///   granted TTL, not less (X1), and is gone the sweep bound later (X2).
/// - **One id, one owner** (R5). The same owner token repeats itself freely; another is refused, or takes over when it
///   says so and fences the one before it (H3).
/// - **Empty means empty**: `Ok` with no instance only when the backend answered so; unreachable is an error (Q3).
/// - **A watch never lies**: a snapshot, then every change once and in order, or an explicit resync (W1 to W5); losing
///   the backend is a status, never a removal.
/// - **Unknown outcomes say so**: a write that may have taken effect is `Ambiguous`, and may be repeated with the same
///   token (R6). Nothing underneath the caller repeats a call that is not idempotent.
///
/// A handle belongs to one namespace. Cloning an `Arc` of it, or boxing it, is the same handle.
///
/// # Errors
///
/// By kind, on every call: `Closed` after [`close`](Self::close); `Unavailable` when the backend cannot be reached;
/// `PermissionDenied` and `Unauthenticated` when it refuses; `ResourceExhausted` when it is full. Reads that overrun
/// their deadline are `DeadlineExceeded`, writes `Ambiguous`. The methods name what comes beside those.
///
/// # Cancel safety
///
/// Every future may be dropped at any await: the call then had no effect or all of it, and leaves no task behind;
/// anything half made dies within its TTL (C1).
///
/// # Implementing it
///
/// Owe the methods, nothing more: convenience lives in [`ServiceDiscoveryExt`](crate::ServiceDiscoveryExt), watches
/// come from [`WatchHub`](crate::WatchHub) over a small [`WatchSource`](crate::WatchSource), checks from
/// [`Limits::check`](crate::Limits::check). A wrapper forwards every method, `close` and `capabilities` included, and
/// denies `clippy::missing_trait_methods`. Then run the suite.
#[async_trait]
pub trait ServiceDiscovery: fmt::Debug + Send + Sync + 'static {
    /// What this backend can and cannot, from a closed list.
    fn capabilities(&self) -> Capabilities;

    /// Makes an instance visible under a TTL, in one atomic step (R2, R3).
    ///
    /// The answer carries the granted TTL (never less than asked), the generation and the revision (R4). Repeated with
    /// the same owner token it ends with one instance, at most one addition, and the newest body (R5, R6); it may
    /// begin a new generation, so use the newest answer's lease.
    ///
    /// Errors: `InvalidArgument`, `TooLarge` before anything is sent; `AlreadyExists` when a living owner holds the id
    /// and `takeover` does not allow it; `Ambiguous`; `Unsupported` when it would replace a record of a newer schema.
    async fn register(&self, registration: Registration) -> Result<Registered>;

    /// Prolongs the registration to the time this request was sent + TTL, or more (H1). No watch event, no revision.
    ///
    /// Errors: `NotRegistered` when unknown, expired or deregistered (it never brings an instance back, H2); `Fenced`
    /// when another generation holds the id (H3); `Unavailable` with the time left (H4).
    async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat>;

    /// Replaces what the instance says of itself, whole and atomically (R7), under the same generation; puts record and
    /// claim again where they were damaged (H8). What is equal makes no event (W15).
    ///
    /// Errors: as `register` before anything is sent; `NotRegistered`, `Fenced`, `Ambiguous`.
    async fn update(&self, lease: &LeaseRef, instance: InstanceSpec) -> Result<Revision>;

    /// Removes this generation and nothing else (D1, D3). Watchers hear `Deregistered` (D6).
    ///
    /// Idempotent: `None` when it was already gone or belongs to another generation now (D2). Errors: `Ambiguous`,
    /// which may be repeated.
    async fn deregister(&self, lease: &LeaseRef) -> Result<Option<Revision>>;

    /// The present owner's proof, for operators: with it an instance can be deregistered by somebody else. Its owner,
    /// if it lives, notices and registers again (H6). `None` when nobody holds the id.
    async fn holder(&self, service: &ServiceName, id: &InstanceId) -> Result<Option<LeaseRef>>;

    /// Sets or removes what an operator imposes on an instance, living or not (Q11).
    ///
    /// One `Updated` where it changes a living instance, else no event. Errors: `InvalidArgument`; `Ambiguous`, which
    /// may be repeated.
    async fn set_override(
        &self,
        service: &ServiceName,
        id: &InstanceId,
        value: Option<Override>,
    ) -> Result<Revision>;

    /// All living instances of exactly this service, at one revision (Q1, Q4, Q8). Shared, never copied.
    async fn discover(&self, query: &Query, options: ReadOptions) -> Result<Arc<Snapshot>>;

    /// Follows a service: a snapshot, then its changes. Answers at once; an unreachable backend is told by the
    /// stream's first status (W4). Needs a current tokio runtime.
    ///
    /// Dropping the stream cancels it upstream within a second (W13). A slow consumer costs bounded memory and delays
    /// nobody: what it missed becomes one resync (W8).
    fn watch(&self, query: &Query) -> Result<WatchStream>;

    /// The sorted names that have a living instance (Q10).
    async fn services(&self, options: ReadOptions) -> Result<Services>;

    /// Follows the names. Answers at once; needs a current tokio runtime.
    fn watch_services(&self) -> Result<ServicesStream>;

    /// Ends this handle: afterwards no task and no socket of it is left, its streams have ended, its calls answer
    /// `Closed`. Deregisters nothing. Idempotent, safe to call from anywhere, bounded in time with the backend dead
    /// (C3).
    async fn close(&self);
}

mod forward;

/// Compiles only while the trait is object safe and its objects may cross threads.
const _: fn(Arc<dyn ServiceDiscovery>) -> Box<dyn ServiceDiscovery> = |registry| Box::new(registry);
