//! Real etcd members for tests: started on free ports in a temporary folder, ended with the handle.
//!
//! ```no_run
//! # async fn f() -> Result<(), registry_testkit::etcd::HarnessError> {
//! use registry_testkit::etcd::EtcdCluster;
//!
//! let cluster = EtcdCluster::builder().members(3).version("3.5").start().await?;
//! let leader = cluster.leader().await?;
//! cluster.kill(leader)?;
//! cluster.restart(leader).await?;
//! # Ok(())
//! # }
//! ```
//!
//! - Nothing outlives the tests: dropping the cluster kills its members and removes its folder, also while a
//!   test panics; when the test process itself is killed, a guard process does the same (see `guard`).
//! - [`EtcdCluster::shared`] is one member for all tests of a process, each in a namespace of its own.
//! - A cluster is bound to no runtime: the members are plain child processes.
//! - Everything listens on 127.0.0.1. Deadlines are tokio's: a paused clock would let them pass at once.
//!
//! Unix only: it needs signals and `sh`. It needs neither protoc nor a client crate.
//!
//! # Which etcd
//! Looked at in this order, each version counted where it is found first:
//! 1. `REGISTRY_ETCD_BIN`, a file; it is then also the default;
//! 2. `<tools>/etcd/<version>/etcd`, where `<tools>` is `REGISTRY_TOOLS`, or the first `.tools` above the current
//!    directory or the package under test (`cargo xtask setup` fills it);
//! 3. every `etcd` on `PATH`.
//!
//! `REGISTRY_ETCD_VERSION` (`3.4`, `3.5.16`) chooses the default version; without it and without
//! `REGISTRY_ETCD_BIN` the newest is taken. `etcdctl` and `etcdutl` are those beside it, else on `PATH`.

mod binaries;
mod builder;
#[cfg(feature = "tls")]
mod certs;
mod cluster;
mod ctl;
mod error;
mod flags;
mod guard;
mod http;
mod member;
mod metrics;
mod ports;
mod readiness;
mod shared;
mod version;

#[cfg(test)]
mod tests;

pub use binaries::{Installed, installed};
pub use builder::{EtcdClusterBuilder, TlsFiles};
#[cfg(feature = "tls")]
pub use certs::Certificates;
pub use cluster::EtcdCluster;
pub use error::HarnessError;
pub use metrics::Metrics;
pub use version::{EtcdVersion, VersionSpec};
