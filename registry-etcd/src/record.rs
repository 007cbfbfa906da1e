//! What stands under the keys. Pure: values to bytes, and back.
//!
//! The record itself is [`registry_core::record`]'s. Beside it stand the claim, `{"schema":1,"owner":"…","version":"2"}`,
//! the operator's override, and the mark of a deregistration, whose presence says all.

mod claim;
mod raw;
mod setting;

use registry_core::{Error, ErrorKind, Generation, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

pub(crate) use self::claim::Claim;
pub(crate) use self::raw::{raw_state, read_override, read_record, rejected};
pub(crate) use self::setting::encode_override;

use crate::client::LeaseId;

/// The schema of claims and overrides that is written here, and the newest that is read without being told that it
/// may.
const SCHEMA: u32 = 1;

/// The value of the mark that a deregistration leaves.
pub(crate) const LEFT: &[u8] = br#"{"schema":1}"#;

/// The ownership that stands under `lease`.
pub(crate) fn generation(lease: LeaseId) -> Generation {
    Generation::new(lease.0.cast_unsigned())
}

/// The lease that `generation` stands under.
pub(crate) fn lease(generation: Generation) -> LeaseId {
    LeaseId(generation.number().cast_signed())
}

/// A value with its schema's number.
#[derive(Serialize, Deserialize)]
struct Stored<T> {
    schema: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_reader: Option<u32>,
    #[serde(flatten)]
    value: T,
}

fn encode<T: Serialize>(value: T) -> Result<Vec<u8>> {
    serde_json::to_vec(&Stored { schema: SCHEMA, min_reader: None, value })
        .map_err(|error| Error::new(ErrorKind::Internal, "a value could not be encoded").with_source(error))
}

/// An `Unsupported` is a newer schema that old readers may not read; every other fault is an `InvalidArgument`.
fn decode<T: DeserializeOwned>(what: &'static str, bytes: &[u8]) -> Result<T> {
    #[derive(Deserialize)]
    struct Header {
        schema: u32,
        #[serde(default)]
        min_reader: Option<u32>,
    }
    let malformed = |error: serde_json::Error| Error::invalid(what, format!("no readable {what}: {error}"));
    if bytes.len() > registry_core::record::MAX_ENCODED {
        return Err(Error::invalid(what, format!("{} bytes are too many to look at", bytes.len())));
    }
    let header: Header = serde_json::from_slice(bytes).map_err(malformed)?;
    if header.schema == 0 {
        return Err(Error::invalid(what, "schemas are numbered from 1"));
    }
    if header.schema > SCHEMA && header.min_reader.is_none_or(|oldest| oldest > SCHEMA) {
        let why = format!("the {what} is of schema {}, {SCHEMA} is the newest known here", header.schema);
        return Err(Error::new(ErrorKind::Unsupported, why));
    }
    serde_json::from_slice(bytes).map(|stored: Stored<T>| stored.value).map_err(malformed)
}

#[cfg(test)]
mod tests;
