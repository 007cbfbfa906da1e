//! Pointers to registries are registries: every call goes through, and costs no box of its own.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use super::ServiceDiscovery;
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

type Boxed<'f, T> = Pin<Box<dyn Future<Output = T> + Send + 'f>>;

/// Written out as `async_trait` would, but handing on the inner box instead of boxing it again.
macro_rules! forward {
    ($pointer:ident) => {
        #[deny(clippy::missing_trait_methods)]
        impl<T: ServiceDiscovery + ?Sized> ServiceDiscovery for $pointer<T> {
            fn capabilities(&self) -> Capabilities {
                (**self).capabilities()
            }

            fn watch(&self, query: &Query) -> Result<WatchStream> {
                (**self).watch(query)
            }

            fn watch_services(&self) -> Result<ServicesStream> {
                (**self).watch_services()
            }

            fn register<'a, 'f>(&'a self, registration: Registration) -> Boxed<'f, Result<Registered>>
            where
                Self: 'f,
                'a: 'f,
            {
                (**self).register(registration)
            }

            fn heartbeat<'a, 'b, 'f>(&'a self, lease: &'b LeaseRef) -> Boxed<'f, Result<Beat>>
            where
                Self: 'f,
                'a: 'f,
                'b: 'f,
            {
                (**self).heartbeat(lease)
            }

            fn update<'a, 'b, 'f>(
                &'a self,
                lease: &'b LeaseRef,
                instance: InstanceSpec,
            ) -> Boxed<'f, Result<Revision>>
            where
                Self: 'f,
                'a: 'f,
                'b: 'f,
            {
                (**self).update(lease, instance)
            }

            fn deregister<'a, 'b, 'f>(&'a self, lease: &'b LeaseRef) -> Boxed<'f, Result<Option<Revision>>>
            where
                Self: 'f,
                'a: 'f,
                'b: 'f,
            {
                (**self).deregister(lease)
            }

            fn holder<'a, 'b, 'c, 'f>(
                &'a self,
                service: &'b ServiceName,
                id: &'c InstanceId,
            ) -> Boxed<'f, Result<Option<LeaseRef>>>
            where
                Self: 'f,
                'a: 'f,
                'b: 'f,
                'c: 'f,
            {
                (**self).holder(service, id)
            }

            fn set_override<'a, 'b, 'c, 'f>(
                &'a self,
                service: &'b ServiceName,
                id: &'c InstanceId,
                value: Option<Override>,
            ) -> Boxed<'f, Result<Revision>>
            where
                Self: 'f,
                'a: 'f,
                'b: 'f,
                'c: 'f,
            {
                (**self).set_override(service, id, value)
            }

            fn discover<'a, 'b, 'f>(
                &'a self,
                query: &'b Query,
                options: ReadOptions,
            ) -> Boxed<'f, Result<Arc<Snapshot>>>
            where
                Self: 'f,
                'a: 'f,
                'b: 'f,
            {
                (**self).discover(query, options)
            }

            fn services<'a, 'f>(&'a self, options: ReadOptions) -> Boxed<'f, Result<Services>>
            where
                Self: 'f,
                'a: 'f,
            {
                (**self).services(options)
            }

            fn close<'a, 'f>(&'a self) -> Boxed<'f, ()>
            where
                Self: 'f,
                'a: 'f,
            {
                (**self).close()
            }
        }
    };
}

forward!(Arc);
forward!(Box);
