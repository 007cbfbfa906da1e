//! How watches are kept, as plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How watches are kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WatchConfig {
    /// How many changes a watcher may leave unread before they collapse into one resync (W8); 1,024 by default.
    pub queue: usize,
    /// The shortest wait before a reconnect (W12); 100 ms by default.
    #[serde(with = "humantime_serde")]
    pub backoff_floor: Duration,
    /// The longest wait before a reconnect (W12); 1 s by default.
    #[serde(with = "humantime_serde")]
    pub backoff_cap: Duration,
    /// How long a watch may be silent, no event and no proof of progress, before a warning; 30 s by default.
    #[serde(with = "humantime_serde")]
    pub silence: Duration,
    /// The time between audits, spread by a fifth (W10); 5 min by default.
    #[serde(with = "humantime_serde")]
    pub audit_interval: Duration,
}

impl Default for WatchConfig {
    fn default() -> Self {
        Self {
            queue: 1024,
            backoff_floor: Duration::from_millis(100),
            backoff_cap: Duration::from_secs(1),
            silence: Duration::from_secs(30),
            audit_interval: Duration::from_mins(5),
        }
    }
}
