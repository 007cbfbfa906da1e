//! What the cross-backend tests share: the harnesses of both backends.

mod etcd;
mod memory;

pub use crate::etcd::{Etcd, EtcdGuard};
pub use crate::memory::Memory;

/// The README's code, compiled and run as it stands there.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
struct Readme;
