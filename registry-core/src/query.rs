//! What is asked for, and how fresh the answer must be.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::name::{ServiceName, Version};

/// A service, and one of its versions or any. The namespace belongs to the handle.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Query {
    /// The service, exactly (Q4).
    pub service: ServiceName,
    /// Only this version (Q9, W18); any if none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

impl Query {
    /// All versions of `service`.
    pub fn new(service: ServiceName) -> Self {
        Self { service, version: None }
    }

    /// Only `version`.
    #[must_use]
    pub fn with_version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }
}

impl From<ServiceName> for Query {
    fn from(service: ServiceName) -> Self {
        Self::new(service)
    }
}

impl From<&ServiceName> for Query {
    fn from(service: &ServiceName) -> Self {
        Self::new(service.clone())
    }
}

/// How fresh an answer must be (Q2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadMode {
    /// Every change acknowledged before the call is in the answer.
    #[default]
    Linearizable,
    /// What the member that is asked has: may lag, answers without a quorum, and says so.
    Stale,
}

/// How a read is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReadOptions {
    /// How fresh the answer must be.
    pub mode: ReadMode,
    /// How long the call may take (Q6); 2 s by default.
    #[serde(with = "humantime_serde")]
    pub deadline: Duration,
}

impl ReadOptions {
    /// A stale read within the usual deadline.
    pub fn stale() -> Self {
        Self { mode: ReadMode::Stale, ..Self::default() }
    }

    /// The same within another deadline.
    #[must_use]
    pub fn within(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }
}

impl Default for ReadOptions {
    fn default() -> Self {
        Self { mode: ReadMode::default(), deadline: Duration::from_secs(2) }
    }
}
