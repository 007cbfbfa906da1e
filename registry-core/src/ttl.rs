//! The time a registration lives without a heartbeat.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How long a registration lives without a heartbeat: above zero, at most 24 hours; 15 s unless said otherwise.
///
/// Written `"15s"` in configuration. A backend may grant more than was asked, never less (R4): etcd rounds up to
/// whole seconds and to its own floor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "DurationText", into = "DurationText")]
pub struct Ttl(Duration);

#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct DurationText(#[serde(with = "humantime_serde")] Duration);

impl Ttl {
    /// The longest that may be asked for.
    pub const MAX: Self = Self(Duration::from_hours(24));

    /// Checks `ttl`. An `InvalidArgument` names the field `ttl`.
    pub fn new(ttl: Duration) -> Result<Self> {
        if ttl.is_zero() {
            return Err(Error::invalid("ttl", "a TTL of 0 would never live; ask for 1 ms to 24 h"));
        }
        if ttl > Self::MAX.0 {
            return Err(Error::invalid("ttl", format!("{ttl:?} is above the limit of 24 h")));
        }
        Ok(Self(ttl))
    }

    /// The duration.
    pub fn get(self) -> Duration {
        self.0
    }

    /// The usual time between heartbeats: a third, so that two may be lost (H5).
    pub fn interval(self) -> Duration {
        self.0 / 3
    }
}

impl Default for Ttl {
    fn default() -> Self {
        Self(Duration::from_secs(15))
    }
}

impl TryFrom<Duration> for Ttl {
    type Error = Error;
    fn try_from(ttl: Duration) -> Result<Self> {
        Self::new(ttl)
    }
}

impl TryFrom<DurationText> for Ttl {
    type Error = Error;
    fn try_from(text: DurationText) -> Result<Self> {
        Self::new(text.0)
    }
}

impl From<Ttl> for DurationText {
    fn from(ttl: Ttl) -> Self {
        Self(ttl.0)
    }
}

impl fmt::Display for Ttl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_and_more_than_a_day_are_refused() {
        assert!(Ttl::new(Duration::ZERO).is_err());
        assert!(Ttl::new(Duration::from_secs(86_401)).is_err());
        assert!(Ttl::new(Duration::MAX).is_err());
        assert!(Ttl::new(Duration::from_hours(24)).is_ok());
        assert!(Ttl::new(Duration::from_nanos(1)).is_ok());
    }

    #[test]
    fn configuration_reads_as_people_write() {
        assert_eq!(serde_json::from_str::<Ttl>("\"15s\"").unwrap(), Ttl::default());
        assert!(serde_json::from_str::<Ttl>("\"0s\"").is_err());
        assert!(serde_json::from_str::<Ttl>("15").is_err());
        assert_eq!(serde_json::to_string(&Ttl::default()).unwrap(), "\"15s\"");
    }
}
