//! Mistakes about lists.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use registry_core::{Lineage, Query, ReadOptions, Result, Revision, ServiceDiscovery, Snapshot};

use super::Mistake;

type Registry = Arc<dyn ServiceDiscovery>;

/// A mistake that changes what `discover` answers.
macro_rules! misreads {
    ($name:ident, |$self:ident, $query:ident, $options:ident| $answer:expr) => {
        #[derive(Debug)]
        pub(super) struct $name(Registry);

        #[async_trait]
        impl Mistake for $name {
            fn plant(inner: Registry) -> Self {
                Self(inner)
            }
            fn inner(&self) -> &Registry {
                &self.0
            }
            async fn discover(&$self, $query: &Query, $options: ReadOptions) -> Result<Arc<Snapshot>> {
                $answer
            }
        }
    };
}

misreads!(EmptyOnError, |self, query, options| {
    let never = Revision::new(Lineage::new(0), 0);
    let empty = || Arc::new(Snapshot::empty(query.service.clone(), query.version.clone(), never));
    Ok(self.0.discover(query, options).await.unwrap_or_else(|_| empty()))
});

misreads!(LeaksSiblings, |self, query, options| {
    let mut snapshot = (*self.0.discover(query, options).await?).clone();
    let mut instances = snapshot.instances.to_vec();
    for name in self.0.services(options).await?.names.iter() {
        if *name != query.service && name.as_str().starts_with(query.service.as_str()) {
            instances
                .extend_from_slice(&self.0.discover(&Query::new(name.clone()), options).await?.instances);
        }
    }
    instances.sort_by(|a, b| a.id.cmp(&b.id));
    snapshot.instances = instances.into();
    Ok(Arc::new(snapshot))
});

misreads!(Unsorted, |self, query, options| {
    let mut snapshot = (*self.0.discover(query, options).await?).clone();
    snapshot.instances = snapshot.instances.iter().rev().cloned().collect();
    Ok(Arc::new(snapshot))
});

misreads!(IgnoresTheVersion, |self, query, options| {
    let mut snapshot = (*self.0.discover(&Query::new(query.service.clone()), options).await?).clone();
    snapshot.version.clone_from(&query.version);
    Ok(Arc::new(snapshot))
});

misreads!(HidesTheUnroutable, |self, query, options| {
    let mut snapshot = (*self.0.discover(query, options).await?).clone();
    snapshot.instances = snapshot.routable().cloned().collect();
    Ok(Arc::new(snapshot))
});

misreads!(TakesItsTime, |self, query, options| {
    tokio::time::sleep(Duration::from_secs(1)).await;
    self.0.discover(query, options).await
});

/// Answers from a list that it read at most a second ago, and calls it linearizable.
#[derive(Debug)]
pub(super) struct Remembers(Registry, Mutex<HashMap<Query, (tokio::time::Instant, Arc<Snapshot>)>>);

#[async_trait]
impl Mistake for Remembers {
    fn plant(inner: Registry) -> Self {
        Self(inner, Mutex::default())
    }
    fn inner(&self) -> &Registry {
        &self.0
    }
    async fn discover(&self, query: &Query, options: ReadOptions) -> Result<Arc<Snapshot>> {
        let known = self.1.lock().unwrap().get(query).cloned();
        if let Some((_, snapshot)) = known.filter(|(read, _)| read.elapsed() < Duration::from_secs(1)) {
            return Ok(snapshot);
        }
        let snapshot = self.0.discover(query, options).await?;
        self.1.lock().unwrap().insert(query.clone(), (tokio::time::Instant::now(), snapshot.clone()));
        Ok(snapshot)
    }
}
