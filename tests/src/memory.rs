//! The memory backend as the suite sees it.

use std::sync::Arc;
use std::time::Duration;

use registry_core::{Namespace, ServiceDiscovery};
use registry_memory::MemoryRegistry;
use registry_testkit::{Harness, Timing};

/// The memory backend: a registry of its own for every test, and further handles on it.
#[derive(Debug)]
pub struct Memory;

impl Harness for Memory {
    type Guard = MemoryRegistry;

    async fn fresh() -> (Arc<dyn ServiceDiscovery>, MemoryRegistry) {
        let registry = MemoryRegistry::new();
        (Arc::new(registry.clone()), registry)
    }

    fn timing() -> Timing {
        Timing { ttl: Duration::from_millis(600), sweep: Duration::ZERO, ..Timing::default() }
    }

    async fn second(guard: &MemoryRegistry) -> Option<Arc<dyn ServiceDiscovery>> {
        Some(Arc::new(guard.in_namespace(&Namespace::default())))
    }
}
