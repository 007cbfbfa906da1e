//! Placeholder crate doc.

mod client;
mod config;
mod error;
mod keys;
mod record;

pub use crate::config::{Credentials, EtcdConfig, Secret, TlsConfig};
