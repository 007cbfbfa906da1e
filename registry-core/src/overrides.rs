//! What an operator sets for an instance, apart from the instance's own word.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::instance::InstanceStatus;

/// The status an operator may impose.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverrideStatus {
    /// No new calls.
    Draining,
    /// Out of service.
    Disabled,
}

impl From<OverrideStatus> for InstanceStatus {
    fn from(status: OverrideStatus) -> Self {
        match status {
            OverrideStatus::Draining => Self::Draining,
            OverrideStatus::Disabled => Self::Disabled,
        }
    }
}

/// What an operator set for an instance, living or not (Q11).
///
/// Stored apart from the record, merged by readers, never written by owners: it survives updates, repairs and
/// re-registrations, and ends by removal or by its life.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// The status imposed; the more restrictive of it and the instance's own counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<OverrideStatus>,
    /// The weight imposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// Who set it.
    #[serde(default)]
    pub by: String,
    /// Why.
    #[serde(default)]
    pub reason: String,
    /// How long it holds from when it was set; until removed if none. etcd rounds up to whole seconds.
    #[serde(default, with = "humantime_serde", skip_serializing_if = "Option::is_none")]
    pub life: Option<Duration>,
}

impl Override {
    /// The longest life: ten years. What is meant to outlast that has none.
    pub const MAX_LIFE: Duration = Duration::from_hours(10 * 365 * 24);

    /// An override that imposes `status`, set by `by` because of `reason`.
    pub fn status(status: OverrideStatus, by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { status: Some(status), by: by.into(), reason: reason.into(), ..Self::default() }
    }

    /// An override that imposes `weight`.
    pub fn weight(weight: u32, by: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { weight: Some(weight), by: by.into(), reason: reason.into(), ..Self::default() }
    }

    /// The same with a life of its own.
    #[must_use]
    pub fn lasting(mut self, life: Duration) -> Self {
        self.life = Some(life);
        self
    }

    /// Checks it before it is sent. An `InvalidArgument` names the field.
    pub fn check(&self) -> Result<()> {
        if self.status.is_none() && self.weight.is_none() {
            return Err(Error::invalid("override", "sets neither status nor weight; remove it with `None`"));
        }
        for (field, text) in [("override.by", &self.by), ("override.reason", &self.reason)] {
            if text.len() > 1024 || text.chars().any(char::is_control) {
                return Err(Error::invalid(field, "at most 1024 bytes, no control characters"));
            }
        }
        match self.life {
            Some(life) if life.is_zero() || life > Self::MAX_LIFE => {
                Err(Error::invalid("override.life", format!("{life:?} is not between 1 ms and ten years")))
            }
            _ => Ok(()),
        }
    }
}
