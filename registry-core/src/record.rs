//! The JSON form of an instance's record, with a schema number.
//!
//! Schema 1, as backends store it (golden files under `golden/` hold every schema that was ever written):
//!
//! ```json
//! {"schema":1,"id":"a","version":"2","endpoints":[{"name":"default","scheme":"http","host":"10.0.0.1","port":80}],
//!  "metadata":{},"weight":100,"status":"up","health":"unknown","locality":{},"health_check":{"type":"none"}}
//! ```
//!
//! A newer schema may say `"min_reader": n`, the oldest reader that may read what it knows of it. Unknown fields are
//! kept and written again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::endpoint::Endpoint;
use crate::error::{Error, ErrorKind, Result};
use crate::instance::{DEFAULT_WEIGHT, Health, HealthCheck, InstanceSpec, InstanceStatus, Locality};
use crate::metadata::Metadata;
use crate::name::{InstanceId, Version};
use crate::snapshot::Slot;

mod unique;

use self::unique::UniqueKeys;

/// The schema this version writes, and the newest that it reads without being told that it may.
pub const SCHEMA: u32 = 1;

/// The largest record that is looked at; what is larger is rejected unread.
pub const MAX_ENCODED: usize = 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct Stored {
    schema: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    min_reader: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<Version>,
    endpoints: Vec<Endpoint>,
    #[serde(default)]
    metadata: BTreeMap<String, String>,
    #[serde(default = "default_weight")]
    weight: u32,
    #[serde(default)]
    status: InstanceStatus,
    #[serde(default)]
    health: Health,
    #[serde(default)]
    locality: Locality,
    #[serde(default)]
    health_check: HealthCheck,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

fn default_weight() -> u32 {
    DEFAULT_WEIGHT
}

/// A record as it was read.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Decoded {
    /// What the instance says of itself; the version is the key's.
    pub instance: InstanceSpec,
    /// What was corrected because key and body disagree; to be counted.
    pub corrected: Option<String>,
}

/// The record of `id` as bytes. Checks nothing: [`Limits::check`](crate::Limits::check) does, and calls this.
pub fn encode(id: &InstanceId, instance: &InstanceSpec) -> Result<Vec<u8>> {
    let stored = Stored {
        schema: SCHEMA,
        min_reader: None,
        id: Some(id.as_str().to_owned()),
        version: instance.version.clone(),
        endpoints: instance.endpoints.clone(),
        metadata: instance.metadata.clone().into(),
        weight: instance.weight,
        status: instance.status,
        health: instance.health,
        locality: instance.locality.clone(),
        health_check: instance.health_check.clone(),
        unknown: instance.unknown.clone(),
    };
    serde_json::to_vec(&stored)
        .map_err(|e| Error::new(ErrorKind::Internal, "a record could not be encoded").with_source(e))
}

/// Reads the record that stands at `slot`. The key wins where the body disagrees.
///
/// An `Unsupported` is a newer schema that old readers may not read; every other fault is an `InvalidArgument` that
/// names the field where one is known. Never panics, whatever the bytes.
pub fn decode(slot: &Slot, bytes: &[u8]) -> Result<Decoded> {
    if bytes.len() > MAX_ENCODED {
        return Err(Error::invalid("record", format!("{} bytes are too many to look at", bytes.len())));
    }
    if let Err(error) = serde_json::from_slice::<UniqueKeys>(bytes) {
        return Err(unreadable(bytes, &error));
    }
    let stored: Stored = match serde_json::from_slice(bytes) {
        Ok(stored) => stored,
        Err(error) => return Err(unreadable(bytes, &error)),
    };
    readable(stored.schema, stored.min_reader)?;
    let mut corrected = None;
    if let Some(id) = stored.id.filter(|id| *id != slot.id.as_str()) {
        corrected = Some(format!("the body names the id {id:?}; the key wins"));
    } else if stored.version != slot.version && stored.version.is_some() {
        corrected = Some("the body names another version; the key wins".to_owned());
    }
    let instance = InstanceSpec {
        version: slot.version.clone(),
        endpoints: stored.endpoints,
        metadata: Metadata::from_stored(stored.metadata)?,
        weight: stored.weight,
        status: stored.status,
        health: stored.health,
        locality: stored.locality,
        health_check: stored.health_check,
        unknown: stored.unknown,
    };
    instance.check()?;
    Ok(Decoded { instance, corrected })
}

fn readable(schema: u32, min_reader: Option<u32>) -> Result<()> {
    if schema == 0 {
        return Err(Error::invalid("schema", "schemas are numbered from 1"));
    }
    if schema > SCHEMA && min_reader.is_none_or(|oldest| oldest > SCHEMA) {
        let why = format!("the record is of schema {schema}, {SCHEMA} is the newest that is known here");
        return Err(Error::new(ErrorKind::Unsupported, why));
    }
    Ok(())
}

/// A record of a newer schema may be of a form that nobody here knows: say so rather than "malformed".
fn unreadable(bytes: &[u8], error: &serde_json::Error) -> Error {
    #[derive(Deserialize)]
    struct Header {
        schema: u32,
        #[serde(default)]
        min_reader: Option<u32>,
    }
    if let Ok(Header { schema, min_reader }) = serde_json::from_slice(bytes)
        && let Err(newer) = readable(schema, min_reader)
    {
        return newer;
    }
    Error::invalid("record", format!("no readable record: {error}"))
}

#[cfg(test)]
mod tests;
