//! What the conformance suite cannot see from outside: leases, streams and keys on a real etcd.

#![expect(clippy::unwrap_used, reason = "a failure is a failure of the test")]

#[path = "etcd/support.rs"]
mod support;

#[path = "etcd/access.rs"]
mod access;
#[path = "etcd/faults.rs"]
mod faults;
#[path = "etcd/leases.rs"]
mod leases;
#[path = "etcd/own_keys.rs"]
mod own_keys;
#[path = "etcd/reads.rs"]
mod reads;
#[path = "etcd/smoke.rs"]
mod smoke;
#[path = "etcd/streams.rs"]
mod streams;
