#![doc = include_str!("../README.md")]

mod backend;
mod client;
mod config;
mod error;
mod keys;
mod lease;
mod record;
mod target;
mod watch;

pub use crate::backend::EtcdRegistry;
pub use crate::config::{Credentials, EtcdConfig, Secret, TlsConfig};
pub use crate::target::{EtcdTarget, target};
