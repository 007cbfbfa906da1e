//! Opening by URL: `memory:`, `memory:?namespace=n`.

use std::sync::Arc;

use registry_core::{Error, Result, ServiceDiscovery, Target, TargetOpener};

use crate::backend::MemoryRegistry;

/// The opener of `memory:` targets, for `Targets::with`: every handle it opens is on one and the same registry (C3).
pub fn target() -> MemoryTarget {
    MemoryTarget::over(MemoryRegistry::new())
}

/// See [`target`].
#[derive(Debug)]
pub struct MemoryTarget(MemoryRegistry);

impl MemoryTarget {
    /// The opener that opens handles on this registry, made with a configuration of its own.
    pub fn over(registry: MemoryRegistry) -> Self {
        Self(registry)
    }
}

impl TargetOpener for MemoryTarget {
    fn schemes(&self) -> &[&'static str] {
        &["memory"]
    }

    fn open(&self, target: &Target) -> Result<Arc<dyn ServiceDiscovery>> {
        target.expect_parameters(&[])?;
        if !target.hosts().is_empty() || !target.path().is_empty() {
            let why = "a memory registry lives in this process: write `memory:` and no host or path";
            return Err(Error::invalid("target.hosts", why));
        }
        Ok(Arc::new(self.0.another(&target.namespace()?, target.ttl()?)))
    }
}

#[cfg(test)]
mod tests {
    use registry_core::{ErrorKind, InstanceSpec, Query, ReadOptions, Registration, Targets};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn every_memory_target_is_the_same_registry_and_closes_alone() {
        let targets = Targets::new().with(target());
        let (one, two) = (targets.open("memory:").unwrap(), targets.open("memory:").unwrap());
        let other = targets.open("memory:?namespace=other").unwrap();
        let instance = InstanceSpec::new("http://h:1".parse().unwrap());
        let registration = Registration::new("s".parse().unwrap(), "a".parse().unwrap(), instance);
        one.register(registration).await.unwrap();
        let query = Query::new("s".parse().unwrap());
        let found = async |registry: &Arc<dyn ServiceDiscovery>| {
            registry.discover(&query, ReadOptions::default()).await.map(|snapshot| snapshot.len())
        };
        assert_eq!((found(&two).await.unwrap(), found(&other).await.unwrap()), (1, 0));
        one.close().await;
        assert_eq!(found(&one).await.unwrap_err().kind(), &ErrorKind::Closed);
        assert_eq!(found(&two).await.unwrap(), 1);
    }

    #[test]
    fn a_host_makes_no_sense() {
        let targets = Targets::new().with(target());
        for url in ["memory://host", "memory:x", "memory:?prefix=x", "etcd://h"] {
            assert!(targets.open(url).is_err(), "{url}");
        }
    }
}
