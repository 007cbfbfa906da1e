//! The conformance suite of the service registry, a model to test against, and an etcd to test on.
//!
//! A backend certifies by naming a [`Harness`] and taking every rule:
//!
//! ```
//! # #[cfg(feature = "suite")] mod certified {
//! # use std::sync::Arc;
//! # use registry_core::ServiceDiscovery;
//! # fn open() -> Arc<dyn ServiceDiscovery> { unreachable!("compiled, not run") }
//! use registry_testkit::{Harness, conformance};
//!
//! struct Mine;
//!
//! impl Harness for Mine {
//!     type Guard = ();
//!     async fn fresh() -> (Arc<dyn ServiceDiscovery>, ()) {
//!         (open(), ())
//!     }
//! }
//!
//! conformance!(paused: Mine);
//! # }
//! ```
//!
//! - The rules are those of `docs/contract.md`; each function under [`rules`] begins with the number of the rule it
//!   tests. There is one list of them ([`for_each_rule!`]), and no way to leave one out.
//! - What a backend has not is told by its own `capabilities()`; a rule that needs what is absent is skipped, printed
//!   on stderr and written as a line into the file that the variable `REGISTRY_SKIPS` names.
//! - [`model`] drives a backend and a simple, obviously right registry with the same random operations.
//! - [`chaos`] is a decorator that fails, loses or delays chosen calls; [`Wrapped`] runs the suite over decorators.
//!
//! Features: `suite` (default) is all of the above; `etcd` runs real members for tests, with or without it.

#[cfg(feature = "etcd")]
pub mod etcd;

#[cfg(feature = "suite")]
pub mod case;
#[cfg(feature = "suite")]
pub mod chaos;
#[cfg(feature = "suite")]
mod cut;
#[cfg(feature = "suite")]
pub mod deferred;
#[cfg(feature = "suite")]
pub mod harness;
#[cfg(feature = "suite")]
mod kept;
#[cfg(feature = "suite")]
pub mod model;
#[cfg(feature = "suite")]
pub mod rules;
#[cfg(feature = "suite")]
pub mod suite;
#[cfg(feature = "suite")]
pub mod watched;
#[cfg(feature = "suite")]
pub mod words;
#[cfg(feature = "suite")]
mod wrap;

#[cfg(feature = "suite")]
pub use crate::{
    case::Case,
    chaos::Chaos,
    harness::{Faults, Harness, Stranger, Timing, Under},
    wrap::{Boxed, Calm, Shared, Wrap, Wrapped},
};
