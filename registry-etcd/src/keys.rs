//! Where everything stands in etcd. Pure: keys to bytes, and back.
//!
//! ```text
//! {prefix}/{namespace}/services/{service}/v={version}/inst/{id}   a record; without a version `v=-`
//!                      services/{service}/override/{id}           what an operator set
//!                      services/{service}/left/{id}               the mark of a deregistration
//!                      claims/{service}/{id}                      the claim: who owns the id
//! ```
//!
//! Names hold no `/` and no `=`, so every key is read in one way, and the range of one service holds no other's keys.

use std::fmt;
use std::sync::Arc;

use registry_core::{InstanceId, Namespace, ServiceName, Slot, Version};

use crate::client::KeyRange;

/// What stands for "no version"; no version is called so.
const NO_VERSION: &str = "-";

/// The keys of one namespace.
#[derive(Debug, Clone)]
pub(crate) struct Keys {
    /// `{prefix}/{namespace}/`
    root: Arc<str>,
}

impl Keys {
    pub(crate) fn new(prefix: &str, namespace: &Namespace) -> Self {
        Self { root: format!("{prefix}/{namespace}/").into() }
    }

    /// The keys of one service.
    pub(crate) fn service(&self, service: &ServiceName) -> ServiceKeys {
        ServiceKeys { base: format!("{}services/{service}/", self.root).into() }
    }

    pub(crate) fn claim(&self, service: &ServiceName, id: &InstanceId) -> Vec<u8> {
        format!("{}claims/{service}/{id}", self.root).into_bytes()
    }

    /// Every claim of the namespace.
    pub(crate) fn claims(&self) -> KeyRange {
        KeyRange::prefix(format!("{}claims/", self.root))
    }

    /// Whose claim `key` is.
    pub(crate) fn parse_claim(&self, key: &[u8]) -> Result<(ServiceName, InstanceId), BadKey> {
        let rest = below(key, &self.root)?;
        match rest.split('/').collect::<Vec<_>>()[..] {
            ["claims", service, id] => Ok((name(service)?, name(id)?)),
            _ => Err(BadKey("it is no claim's key")),
        }
    }
}

/// The keys of one service.
#[derive(Debug, Clone)]
pub(crate) struct ServiceKeys {
    /// `{prefix}/{namespace}/services/{service}/`
    base: Arc<str>,
}

/// What stands under a key of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ServiceKey {
    Record(Slot),
    Override(InstanceId),
    Left(InstanceId),
}

impl ServiceKeys {
    pub(crate) fn record(&self, slot: &Slot) -> Vec<u8> {
        self.record_of(slot.version.as_ref(), &slot.id)
    }

    pub(crate) fn record_of(&self, version: Option<&Version>, id: &InstanceId) -> Vec<u8> {
        format!("{}{}{id}", self.base, version_part(version)).into_bytes()
    }

    pub(crate) fn override_of(&self, id: &InstanceId) -> Vec<u8> {
        format!("{}override/{id}", self.base).into_bytes()
    }

    pub(crate) fn left(&self, id: &InstanceId) -> Vec<u8> {
        format!("{}left/{id}", self.base).into_bytes()
    }

    /// Every key of the service.
    pub(crate) fn all(&self) -> KeyRange {
        KeyRange::prefix(&*self.base)
    }

    /// The records of one version.
    pub(crate) fn version(&self, version: &Version) -> KeyRange {
        KeyRange::prefix(format!("{}{}", self.base, version_part(Some(version))))
    }

    /// The overrides.
    pub(crate) fn overrides(&self) -> KeyRange {
        KeyRange::prefix(format!("{}override/", self.base))
    }

    /// What stands under `key`, which lies in [`all`](Self::all).
    pub(crate) fn parse(&self, key: &[u8]) -> Result<ServiceKey, BadKey> {
        let rest = below(key, &self.base)?;
        match rest.split('/').collect::<Vec<_>>()[..] {
            ["override", id] => Ok(ServiceKey::Override(name(id)?)),
            ["left", id] => Ok(ServiceKey::Left(name(id)?)),
            [version, "inst", id] => {
                let version = version.strip_prefix("v=").ok_or(BadKey("its version part is malformed"))?;
                let version = if version == NO_VERSION { None } else { Some(name(version)?) };
                Ok(ServiceKey::Record(Slot::new(name(id)?, version)))
            }
            _ => Err(BadKey("it belongs to no known kind of key")),
        }
    }
}

/// Why something stands where nothing of ours would.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BadKey(&'static str);

impl fmt::Display for BadKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed key: {}", self.0)
    }
}

/// The key as people read it.
pub(crate) fn shown(key: &[u8]) -> String {
    String::from_utf8_lossy(key).into_owned()
}

fn version_part(version: Option<&Version>) -> String {
    format!("v={}/inst/", version.map_or(NO_VERSION, Version::as_str))
}

fn below<'a>(key: &'a [u8], base: &str) -> Result<&'a str, BadKey> {
    let rest = key.strip_prefix(base.as_bytes()).ok_or(BadKey("it lies elsewhere"))?;
    std::str::from_utf8(rest).map_err(|_| BadKey("it is no UTF-8"))
}

fn name<T: for<'a> TryFrom<&'a str>>(part: &str) -> Result<T, BadKey> {
    T::try_from(part).map_err(|_| BadKey("one of its parts is no name"))
}

#[cfg(test)]
mod tests;
