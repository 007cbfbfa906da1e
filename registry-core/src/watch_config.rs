//! How watches are kept, as plain data.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

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

/// What the clock can tell and nothing spins by.
const SHORTEST: Duration = Duration::from_millis(1);
const LONGEST: Duration = Duration::from_hours(365 * 24);

impl WatchConfig {
    /// The same with every wait brought within what can be run by: nothing spins, nothing overflows.
    pub(crate) fn within_bounds(mut self) -> Self {
        for wait in
            [&mut self.backoff_floor, &mut self.backoff_cap, &mut self.silence, &mut self.audit_interval]
        {
            *wait = (*wait).clamp(SHORTEST, LONGEST);
        }
        self.backoff_cap = self.backoff_cap.max(self.backoff_floor);
        // An audit is a read of every key.
        self.audit_interval = self.audit_interval.max(Duration::from_millis(100));
        self.queue = self.queue.max(1);
        self
    }

    /// Checks it before anything runs by it: waits between 1 ms and a year, a queue that holds something.
    ///
    /// An `InvalidArgument` names the field.
    pub fn check(&self) -> Result<()> {
        for (field, wait) in [
            ("watch.backoff_floor", self.backoff_floor),
            ("watch.backoff_cap", self.backoff_cap),
            ("watch.silence", self.silence),
            ("watch.audit_interval", self.audit_interval),
        ] {
            if !(SHORTEST..=LONGEST).contains(&wait) {
                return Err(Error::invalid(field, format!("{wait:?} is not between 1 ms and a year")));
            }
        }
        if self.backoff_cap < self.backoff_floor {
            return Err(Error::invalid("watch.backoff_cap", "is below `backoff_floor`"));
        }
        if self.queue == 0 {
            return Err(Error::invalid("watch.queue", "a queue of 0 holds nothing"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_that_would_spin_or_overflow_are_refused_and_named() {
        WatchConfig::default().check().unwrap();
        for wait in [Duration::ZERO, Duration::from_micros(1), Duration::MAX] {
            let usual = WatchConfig::default();
            for (field, config) in [
                ("backoff_floor", WatchConfig { backoff_floor: wait, ..usual.clone() }),
                ("backoff_cap", WatchConfig { backoff_cap: wait, ..usual.clone() }),
                ("silence", WatchConfig { silence: wait, ..usual.clone() }),
                ("audit_interval", WatchConfig { audit_interval: wait, ..usual.clone() }),
            ] {
                let error = config.check().unwrap_err();
                assert!(error.to_string().contains(field), "{error}");
            }
        }
        assert!(WatchConfig { queue: 0, ..WatchConfig::default() }.check().is_err());
    }
}
