//! A memory backend that strangers can put junk beneath, well read or badly.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use registry_core::{
    Beat, Capabilities, Capability, Error, InstanceId, InstanceSpec, LeaseRef, Override, Query, ReadOptions,
    Registered, Registration, Rejected, Result, Revision, ServiceDiscovery, ServiceName, Services,
    ServicesStream, Slot, Snapshot, WatchStream, record,
};
use registry_testkit::{Harness, Stranger, Timing, Under};

use crate::common::Memory;

/// Memory with a layer of foreign bytes; `FAILS` is the mistake.
#[derive(Debug)]
pub(super) struct Overlaid<const FAILS: bool>;

type Foreign = Arc<Mutex<BTreeMap<(ServiceName, String), (Option<Slot>, Vec<u8>)>>>;

impl<const FAILS: bool> Harness for Overlaid<FAILS> {
    type Guard = (<Memory as Harness>::Guard, Foreign);

    async fn fresh() -> (Arc<dyn ServiceDiscovery>, Self::Guard) {
        let (inner, guard) = Memory::fresh().await;
        let foreign = Foreign::default();
        (Arc::new(Overlay { inner, foreign: foreign.clone(), fails: FAILS }), (guard, foreign))
    }
    fn timing() -> Timing {
        Memory::timing()
    }
    fn stranger(guard: &Self::Guard) -> Option<Arc<dyn Stranger>> {
        Some(Arc::new(Junk(guard.1.clone())))
    }
}

struct Junk(Foreign);

#[async_trait]
impl Stranger for Junk {
    async fn put_record(&self, service: &ServiceName, slot: &Slot, bytes: &[u8], _: Under) {
        let key = (service.clone(), slot.id.to_string());
        self.0.lock().unwrap().insert(key, (Some(slot.clone()), bytes.to_vec()));
    }
    async fn put_junk(&self, service: &ServiceName, tail: &str, bytes: &[u8]) {
        self.0.lock().unwrap().insert((service.clone(), tail.to_owned()), (None, bytes.to_vec()));
    }
    async fn delete_record(&self, service: &ServiceName, slot: &Slot) {
        self.0.lock().unwrap().remove(&(service.clone(), slot.id.to_string()));
    }
    async fn delete_claim(&self, _: &LeaseRef) {
        unreachable!("this layer holds no claims")
    }
    async fn revoke(&self, _: &LeaseRef) {
        unreachable!("this layer holds no leases")
    }
}

#[derive(Debug)]
struct Overlay {
    inner: Arc<dyn ServiceDiscovery>,
    foreign: Foreign,
    fails: bool,
}

impl Overlay {
    fn rejected(&self, service: &ServiceName) -> Vec<Rejected> {
        let foreign = self.foreign.lock().unwrap();
        let of_service = foreign.iter().filter(|((of, _), _)| of == service);
        let reject = |key: &str, slot: &Option<Slot>, bytes: &[u8]| {
            let reason = match slot {
                Some(slot) => record::decode(slot, bytes).err()?.to_string(),
                None => "no key of a record".to_owned(),
            };
            Some(Rejected { key: key.to_owned(), slot: slot.clone(), reason, served: false })
        };
        of_service.filter_map(|((_, key), (slot, bytes))| reject(key, slot, bytes)).collect()
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ServiceDiscovery for Overlay {
    fn capabilities(&self) -> Capabilities {
        Capabilities::none().with(Capability::Stranger)
    }
    async fn register(&self, registration: Registration) -> Result<Registered> {
        self.inner.register(registration).await
    }
    async fn heartbeat(&self, lease: &LeaseRef) -> Result<Beat> {
        self.inner.heartbeat(lease).await
    }
    async fn update(&self, lease: &LeaseRef, instance: InstanceSpec) -> Result<Revision> {
        self.inner.update(lease, instance).await
    }
    async fn deregister(&self, lease: &LeaseRef) -> Result<Option<Revision>> {
        self.inner.deregister(lease).await
    }
    async fn holder(&self, service: &ServiceName, id: &InstanceId) -> Result<Option<LeaseRef>> {
        self.inner.holder(service, id).await
    }
    async fn set_override(
        &self,
        service: &ServiceName,
        id: &InstanceId,
        value: Option<Override>,
    ) -> Result<Revision> {
        self.inner.set_override(service, id, value).await
    }
    async fn discover(&self, query: &Query, options: ReadOptions) -> Result<Arc<Snapshot>> {
        let mut snapshot = (*self.inner.discover(query, options).await?).clone();
        let rejected = self.rejected(&query.service);
        if let Some(first) = rejected.first().filter(|_| self.fails) {
            return Err(Error::invalid("record", first.reason.clone()));
        }
        snapshot.rejected = rejected.into();
        Ok(Arc::new(snapshot))
    }
    fn watch(&self, query: &Query) -> Result<WatchStream> {
        self.inner.watch(query)
    }
    async fn services(&self, options: ReadOptions) -> Result<Services> {
        self.inner.services(options).await
    }
    fn watch_services(&self) -> Result<ServicesStream> {
        self.inner.watch_services()
    }
    async fn close(&self) {
        self.inner.close().await;
    }
}
