//! The memory backend as the suite sees it.

use std::sync::Arc;
use std::time::Duration;

use registry_core::{Namespace, ServiceDiscovery};
use registry_memory::MemoryRegistry;
use registry_testkit::{Harness, Timing};

/// The memory backend on paused time: exact to the millisecond.
pub(crate) struct Memory;

impl Harness for Memory {
    type Guard = MemoryRegistry;

    async fn fresh() -> (Arc<dyn ServiceDiscovery>, MemoryRegistry) {
        let registry = MemoryRegistry::new();
        (Arc::new(registry.clone()), registry)
    }

    async fn second(first: &MemoryRegistry) -> Option<Arc<dyn ServiceDiscovery>> {
        Some(Arc::new(first.in_namespace(&Namespace::default())))
    }

    fn timing() -> Timing {
        let eps = Duration::from_millis(5);
        Timing { ttl: Duration::from_millis(600), sweep: Duration::ZERO, eps, ..Timing::default() }
    }
}

/// The memory backend on the wall clock, where other tests take the processor.
pub(crate) struct Loaded;

impl Harness for Loaded {
    type Guard = MemoryRegistry;

    async fn fresh() -> (Arc<dyn ServiceDiscovery>, MemoryRegistry) {
        Memory::fresh().await
    }

    async fn second(first: &MemoryRegistry) -> Option<Arc<dyn ServiceDiscovery>> {
        Memory::second(first).await
    }

    fn timing() -> Timing {
        Timing { eps: Duration::from_millis(200), ..Memory::timing() }
    }
}
