//! Placeholder crate doc.

mod client;
mod config;
mod error;

pub use crate::config::{Credentials, EtcdConfig, Secret, TlsConfig};
