//! The operator's override as it is stored.

use registry_core::{Override, Result};

pub(crate) fn encode_override(value: &Override) -> Result<Vec<u8>> {
    super::encode(value)
}

pub(super) fn decode_override(bytes: &[u8]) -> Result<Override> {
    let value: Override = super::decode("override", bytes)?;
    value.check()?;
    Ok(value)
}
