//! What a backend brings to be tested.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use registry_core::{LeaseRef, ServiceDiscovery, ServiceName, Slot};

/// A way to open registries for tests. Only [`Guard`](Self::Guard) and [`fresh`](Self::fresh) must be written.
///
/// What the registry's `capabilities()` claim must be brought: a rule that needs a [`stranger`](Self::stranger) or
/// [`faults`](Self::faults) fails, and is not skipped, where the capability is claimed and the tool is missing.
pub trait Harness: Sized + 'static {
    /// What must outlive the registry: a server, a folder, the way to open a second handle. It owns no task of the
    /// test's runtime, where after every rule no task may be left.
    type Guard: Send + Sync + 'static;

    /// A registry that is empty and that nobody else uses: a namespace of its own is enough.
    fn fresh() -> impl Future<Output = (Arc<dyn ServiceDiscovery>, Self::Guard)> + Send;

    /// A fresh registry whose backend nobody else uses either, so that it may be stopped.
    fn isolated() -> impl Future<Output = (Arc<dyn ServiceDiscovery>, Self::Guard)> + Send {
        Self::fresh()
    }

    /// What failures and skips call it.
    fn name() -> String {
        let path = std::any::type_name::<Self>();
        path.rsplit("::").next().unwrap_or(path).to_owned()
    }

    /// The times this backend keeps to.
    fn timing() -> Timing {
        Timing::default()
    }

    /// Lets time pass. Tokio's own sleep does on a paused clock, where it takes no time, and on the wall clock, where
    /// it does.
    fn elapse(time: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(time)
    }

    /// Another handle on the registry behind `guard`, as another process would open it (`SecondClient`).
    fn second(guard: &Self::Guard) -> impl Future<Output = Option<Arc<dyn ServiceDiscovery>>> + Send {
        let _ = guard;
        std::future::ready(None)
    }

    /// Somebody who writes beneath the registry behind `guard` (`Stranger`).
    fn stranger(guard: &Self::Guard) -> Option<Arc<dyn Stranger>> {
        let _ = guard;
        None
    }

    /// The way to break the backend behind `guard` (`Outage`); asked only of an [`isolated`](Self::isolated) one.
    fn faults(guard: &Self::Guard) -> Option<Arc<dyn Faults>> {
        let _ = guard;
        None
    }
}

/// The times that a backend keeps to, and that the rules are measured by.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// The shortest TTL that is granted as it was asked.
    pub ttl: Duration,
    /// S of the contract: how long after its deadline an instance may still be listed.
    pub sweep: Duration,
    /// eps of the contract: scheduling and one-way delay.
    pub eps: Duration,
    /// How many instances make a large service.
    pub many: usize,
}

impl Timing {
    /// How long before and after its deadline nobody can say whether something has ended.
    pub(crate) fn doubt(&self) -> (Duration, Duration) {
        // The calls of one step must be over by then: on a backend that takes its time within two eps.
        (self.eps * 2, self.sweep + self.eps * 2)
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self {
            ttl: Duration::from_secs(2),
            sweep: Duration::from_millis(500),
            eps: Duration::from_millis(500),
            many: 1_200,
        }
    }
}

/// Whose lease a stranger's record stands under.
#[derive(Debug, Clone)]
pub enum Under {
    /// The lease of this registration.
    Lease(LeaseRef),
    /// A lease that belongs to nobody the registry knows.
    OwnLease,
    /// None: it would stand for ever.
    NoLease,
}

/// Somebody who writes beneath the registry: an operator with the wrong tool, another program, an old version.
///
/// Every write is done when it returns. A failure to write is a failure of the test: panic.
#[async_trait]
pub trait Stranger: Send + Sync {
    /// Puts `bytes` where the record of `slot` stands.
    async fn put_record(&self, service: &ServiceName, slot: &Slot, bytes: &[u8], under: Under);

    /// Puts `bytes` at a key among the service's records that can be no record's: its tail is `tail`.
    async fn put_junk(&self, service: &ServiceName, tail: &str, bytes: &[u8]);

    /// Deletes the record of `slot`.
    async fn delete_record(&self, service: &ServiceName, slot: &Slot);

    /// Deletes the claim behind `lease`, and leaves its record.
    async fn delete_claim(&self, lease: &LeaseRef);

    /// Ends the life of `lease` at once, as an operator who revokes it.
    async fn revoke(&self, lease: &LeaseRef);
}

/// The way to break the backend beneath a registry. Done when it returns; a failure is a failure of the test: panic.
#[async_trait]
pub trait Faults: Send + Sync {
    /// Ends the backend: connections to it are refused. What it stored is kept.
    async fn kill(&self);

    /// Stops the backend without a word: connections are accepted, nothing is answered.
    async fn freeze(&self);

    /// Brings back what was killed or frozen.
    async fn heal(&self);
}
