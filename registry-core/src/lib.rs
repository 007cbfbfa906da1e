//! A service registry's contract, and what every user needs around it.
//!
//! - [`ServiceDiscovery`] is the trait that every backend keeps, with the contract written above it.
//! - [`Registrar`] is what a service runs: it registers, beats, heals itself, drains and leaves.
//! - [`Directory`] is what a caller runs: the list of a service, pulled once, then pushed, read without a lock.
//! - [`Targets`] opens a backend by its URL; core depends on none.
//!
//! Backends live in crates of their own: `registry-memory` (embedded) and `registry-etcd` (production). What they are
//! made of is here: checked names ([`ServiceName`], [`InstanceId`], …), the record's JSON form ([`record`]), watches that
//! recover ([`WatchSource`], [`WatchHub`], [`Feed`]) and the one [`fold`] of what they deliver.
//!
//! Time is tokio's: under a paused clock everything here runs in virtual time.

mod audit;
mod backoff;
mod capability;
mod directory;
mod discovery;
mod endpoint;
mod error;
mod ext;
mod feed;
mod hub;
mod instance;
mod item;
mod lease;
mod merge;
mod metadata;
mod name;
mod names;
mod overrides;
mod query;
pub mod record;
mod recover;
mod registrar;
mod registration;
mod revision;
mod shared_task;
mod snapshot;
mod source;
mod stream;
mod sync;
mod target;
mod targets;
mod ttl;
mod upstream;
mod view;
mod watch_config;

pub use crate::backoff::Backoff;
pub use crate::capability::{Capabilities, Capability};
pub use crate::directory::{Directory, DirectoryConfig, DirectoryReader, Listener, StalePolicy, Update};
pub use crate::discovery::ServiceDiscovery;
pub use crate::endpoint::{Endpoint, Host};
pub use crate::error::{Error, ErrorKind, Result};
pub use crate::ext::{InstanceFilter, ServiceDiscoveryExt, no_instances};
pub use crate::feed::Feed;
pub use crate::hub::WatchHub;
pub use crate::instance::{
    DEFAULT_WEIGHT, Health, HealthCheck, Instance, InstanceSpec, InstanceStatus, Locality,
};
pub use crate::item::{Change, FoldError, RemoveReason, ResyncReason, WatchItem, WatchStatus, diff, fold};
pub use crate::lease::{Generation, LeaseRef, OwnerToken};
pub use crate::merge::Merged;
pub use crate::metadata::Metadata;
pub use crate::name::{InstanceId, MAX_ID, MAX_NAME, Namespace, ServiceName, Version};
pub use crate::names::NamesFeed;
pub use crate::overrides::{Override, OverrideStatus};
pub use crate::query::{Query, ReadMode, ReadOptions};
pub use crate::registrar::{
    Drained, LostPolicy, LostReason, Registrar, RegistrarConfig, RegistrarEvent, RegistrarEvents,
    RegistrarStatus, TakeoverPolicy,
};
pub use crate::registration::{Beat, Limits, Registered, Registration, Takeover};
pub use crate::revision::{Lineage, Revision};
pub use crate::shared_task::{Needed, SharedTask};
pub use crate::snapshot::{LeftOut, Rejected, Services, Slot, Snapshot};
pub use crate::source::{
    Batch, Digest, DigestKey, Follow, FollowEnd, Followed, RawEvent, RawServices, RawState, Record,
    ServicesBatch, StoredOverride, WatchSource,
};
pub use crate::stream::{
    ServicesItem, ServicesStream, StateCell, StateReader, WatchEnd, WatchState, WatchStream,
};
pub use crate::target::Target;
pub use crate::targets::{TargetOpener, Targets};
pub use crate::ttl::Ttl;
pub use crate::watch_config::WatchConfig;
