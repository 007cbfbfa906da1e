//! Running the suite over decorators: what wraps a registry is a registry, and keeps the same contract.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use registry_core::ServiceDiscovery;

use crate::chaos::Chaos;
use crate::harness::{Faults, Harness, Stranger, Timing};

/// A way to wrap a registry.
pub trait Wrap: 'static {
    /// What failures and skips call it.
    const NAME: &'static str;

    /// The registry behind a wrapper.
    fn wrap(inner: Arc<dyn ServiceDiscovery>) -> Arc<dyn ServiceDiscovery>;
}

/// The harness `H` with every handle wrapped by `W`.
///
/// ```no_run
/// # use registry_testkit::{conformance, Boxed, Harness, Wrapped};
/// # use registry_core::ServiceDiscovery;
/// # struct Mine;
/// # impl Harness for Mine {
/// #     type Guard = ();
/// #     async fn fresh() -> (std::sync::Arc<dyn ServiceDiscovery>, ()) { unreachable!("not run") }
/// # }
/// conformance!(paused: Wrapped<Boxed, Mine>, as boxed);
/// ```
pub struct Wrapped<W, H>(PhantomData<fn() -> (W, H)>);

impl<W: Wrap, H: Harness> Harness for Wrapped<W, H> {
    type Guard = H::Guard;

    async fn fresh() -> (Arc<dyn ServiceDiscovery>, H::Guard) {
        let (registry, guard) = H::fresh().await;
        (W::wrap(registry), guard)
    }

    async fn isolated() -> (Arc<dyn ServiceDiscovery>, H::Guard) {
        let (registry, guard) = H::isolated().await;
        (W::wrap(registry), guard)
    }

    fn name() -> String {
        format!("{}-{}", H::name(), W::NAME)
    }

    fn timing() -> Timing {
        H::timing()
    }

    fn elapse(time: Duration) -> impl Future<Output = ()> + Send {
        H::elapse(time)
    }

    async fn second(guard: &H::Guard) -> Option<Arc<dyn ServiceDiscovery>> {
        H::second(guard).await.map(W::wrap)
    }

    fn stranger(guard: &H::Guard) -> Option<Arc<dyn Stranger>> {
        H::stranger(guard)
    }

    fn faults(guard: &H::Guard) -> Option<Arc<dyn Faults>> {
        H::faults(guard)
    }
}

impl<W: Wrap, H: Harness> std::fmt::Debug for Wrapped<W, H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&Self::name())
    }
}

/// An `Arc` around an `Arc`.
#[derive(Debug)]
pub struct Shared;

impl Wrap for Shared {
    const NAME: &'static str = "arc";
    fn wrap(inner: Arc<dyn ServiceDiscovery>) -> Arc<dyn ServiceDiscovery> {
        Arc::new(inner)
    }
}

/// A `Box` of a trait object.
#[derive(Debug)]
pub struct Boxed;

impl Wrap for Boxed {
    const NAME: &'static str = "box";
    fn wrap(inner: Arc<dyn ServiceDiscovery>) -> Arc<dyn ServiceDiscovery> {
        let boxed: Box<dyn ServiceDiscovery> = Box::new(inner);
        Arc::new(boxed)
    }
}

/// A [`Chaos`] that does nothing but count.
#[derive(Debug)]
pub struct Calm;

impl Wrap for Calm {
    const NAME: &'static str = "chaos";
    fn wrap(inner: Arc<dyn ServiceDiscovery>) -> Arc<dyn ServiceDiscovery> {
        Arc::new(Chaos::new(inner))
    }
}
