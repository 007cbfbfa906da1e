//! What a memory registry is made with.

use std::time::Duration;

use registry_core::{Limits, Ttl, WatchConfig};
use serde::{Deserialize, Serialize};

/// What a memory registry is made with; plain data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryConfig {
    /// The TTL of a registration that names none; 15 s by default.
    pub ttl: Ttl,
    /// How often everything is swept, behind the timer that evicts on time (X2); 5 s by default.
    #[serde(with = "humantime_serde")]
    pub sweep: Duration,
    /// What is checked before a record is taken.
    pub limits: Limits,
    /// How many changes a watcher may leave unread before they collapse into one resync (W8).
    pub queue: usize,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            ttl: Ttl::default(),
            sweep: Duration::from_secs(5),
            limits: Limits::default(),
            queue: WatchConfig::default().queue,
        }
    }
}
