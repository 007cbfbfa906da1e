//! The registry, as many processes see it.

use std::sync::Arc;

use registry_core::{OwnerToken, ServiceDiscovery, ServiceName, Target};
use registry_memory::{MemoryRegistry, MemoryTarget};

use crate::exit::Failure;
use crate::target::open_with;

pub(super) struct World {
    url: String,
    memory: MemoryRegistry,
    /// The target without its password.
    pub(super) shown: String,
    pub(super) service: ServiceName,
    /// Whether the registry is embedded: it then evicts on time.
    pub(super) embedded: bool,
}

impl World {
    pub(super) fn new(url: &str) -> Result<Self, Failure> {
        let target: Target = url.parse()?;
        let embedded = target.scheme() == "memory";
        // Others may use a shared registry, also for a demo.
        let service = if embedded { "demo".to_owned() } else { format!("demo-{:.6}", token()) };
        Ok(Self {
            url: url.to_owned(),
            memory: MemoryRegistry::new(),
            shown: target.to_string(),
            service: service.parse()?,
            embedded,
        })
    }

    /// A handle on the registry such as another process has: with connections of its own.
    pub(super) fn open(&self) -> Result<Arc<dyn ServiceDiscovery>, Failure> {
        open_with(MemoryTarget::over(self.memory.clone()), &self.url)
    }
}

fn token() -> String {
    OwnerToken::random().to_string()
}
