//! The embedded backend of the service registry: for unit tests, demos, and programs that hold all their services in
//! one process.
//!
//! ```
//! # use registry_core::{InstanceSpec, Query, ReadOptions, Registration, ServiceDiscovery};
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let registry = registry_memory::MemoryRegistry::new();
//!
//! let orders = "orders".parse()?;
//! let instance = InstanceSpec::new("http://10.0.0.1:8080".parse()?);
//! registry.register(Registration::new(orders, "a".parse()?, instance)).await?;
//!
//! let found = registry.discover(&Query::new("orders".parse()?), ReadOptions::default()).await?;
//! assert_eq!(found.len(), 1);
//! # Ok(())
//! # }
//! ```
//!
//! Everything runs on tokio's clock: under `#[tokio::test(start_paused = true)]` leases expire in virtual time.
//!
//! What differs from etcd: no outage, no compaction, no stale reads; no floor below a TTL; nothing outlives the process.

mod backend;
mod config;
mod entry;
mod lease;
mod store;
mod target;
mod timer;

pub use crate::backend::MemoryRegistry;
pub use crate::config::MemoryConfig;
pub use crate::target::{MemoryTarget, target};
