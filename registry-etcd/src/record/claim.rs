//! The claim: what makes one id have one owner and one record.

use registry_core::{OwnerToken, Result, Version};
use serde::{Deserialize, Serialize};

/// Who owns an id, and the version its record stands under. The generation is the lease that the claim stands under,
/// never a field of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Claim {
    pub(crate) owner: OwnerToken,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<Version>,
}

impl Claim {
    pub(crate) fn encode(&self) -> Result<Vec<u8>> {
        super::encode(self)
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self> {
        super::decode("claim", bytes)
    }
}
