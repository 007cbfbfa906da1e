//! The conformance suite of the service registry, a model to test against, and an etcd to test on.

#[cfg(feature = "etcd")]
pub mod etcd;
