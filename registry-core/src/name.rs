//! Names: checked once, when they are made, and cheap to clone ever after.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The longest namespace, service name or version, in bytes.
pub const MAX_NAME: usize = 253;
/// The longest instance id, in bytes.
pub const MAX_ID: usize = 128;

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $field:literal, $check:path) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            #[doc = concat!("Checks `name` and keeps it. An `InvalidArgument` names the field `", $field, "`.")]
            pub fn new(name: impl AsRef<str>) -> Result<Self> {
                let name = name.as_ref();
                $check($field, name)?;
                Ok(Self(name.into()))
            }

            /// The name as it was given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = Error;
            fn from_str(name: &str) -> Result<Self> {
                Self::new(name)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = Error;
            fn try_from(name: &str) -> Result<Self> {
                Self::new(name)
            }
        }

        impl TryFrom<String> for $name {
            type Error = Error;
            fn try_from(name: String) -> Result<Self> {
                Self::new(name)
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.as_str().to_owned()
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                self.as_str()
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                self.as_str()
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.as_str() == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.as_str() == *other
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(self.as_str(), f)
            }
        }
    };
}

name!(
    /// What keeps the services of one environment apart from those of another; it belongs to the handle.
    Namespace, "namespace", check_name
);
name!(
    /// The name callers ask for. Case-sensitive; `[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?`, at most 253 bytes.
    ServiceName, "service", check_name
);
name!(
    /// The version of an interface contract (a build number is metadata). Written like a service name.
    Version, "version", check_name
);
name!(
    /// The name of an instance within its service: the same id in two services is two instances.
    ///
    /// `[A-Za-z0-9\[][A-Za-z0-9._:@\[\]-]*`, not ending in `.` or `-`, at most 128 bytes; `10.0.0.1:80` and
    /// `[::1]:80` are ids.
    InstanceId, "id", check_id
);

impl Default for Namespace {
    fn default() -> Self {
        Self("default".into())
    }
}

fn check_name(field: &str, name: &str) -> Result<()> {
    check_length(field, name, MAX_NAME)?;
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let edge = |c: char| c.is_ascii_alphanumeric();
    check_chars(field, name, inner)?;
    if !name.starts_with(edge) || !name.ends_with(edge) {
        return Err(Error::invalid(field, format!("{name:?} must begin and end with a letter or a digit")));
    }
    Ok(())
}

fn check_id(field: &str, id: &str) -> Result<()> {
    check_length(field, id, MAX_ID)?;
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '@' | '[' | ']' | '-');
    check_chars(field, id, inner)?;
    if !id.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '[') {
        return Err(Error::invalid(field, format!("{id:?} must begin with a letter, a digit or `[`")));
    }
    if id.ends_with(['.', '-']) {
        return Err(Error::invalid(field, format!("{id:?} must not end in `.` or `-`")));
    }
    Ok(())
}

fn check_length(field: &str, name: &str, limit: usize) -> Result<()> {
    if name.is_empty() {
        return Err(Error::invalid(field, "must not be empty"));
    }
    if name.len() > limit {
        return Err(Error::invalid(field, format!("{} bytes long, {limit} is the most", name.len())));
    }
    Ok(())
}

fn check_chars(field: &str, name: &str, allowed: impl Fn(char) -> bool) -> Result<()> {
    match name.chars().find(|c| !allowed(*c)) {
        None => Ok(()),
        Some(c) => {
            Err(Error::invalid(field, format!("{name:?} holds {c:?}, which is not allowed in a name")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    const BAD: &[&str] = &[
        "",
        ".",
        "..",
        "a/b",
        "a\\b",
        "a%2Fb",
        "a\0",
        "a\n",
        "\u{202e}abc",
        "héllo",
        "日本",
        "-a",
        "a-",
        "_a",
        "a b",
        "a:",
        " a",
        "a\t",
    ];

    #[test]
    fn bad_names_are_refused_and_the_field_is_named() {
        for bad in BAD {
            for (field, result) in [
                ("service", ServiceName::new(bad).err()),
                ("namespace", Namespace::new(bad).err()),
                ("version", Version::new(bad).err()),
            ] {
                let error = result.unwrap_or_else(|| panic!("{field} took {bad:?}"));
                assert_eq!(error.kind(), &ErrorKind::InvalidArgument { field: field.into() });
            }
        }
        assert!(Version::new("-").is_err(), "the version `-` is reserved");
        assert!(ServiceName::new("a".repeat(254)).is_err());
        assert!(ServiceName::new("a".repeat(253)).is_ok());
    }

    #[test]
    fn good_names_are_kept_as_they_are() {
        for good in ["a", "EchoService", "user-admin", "v1.2.3", "a_b", "0", "a--b"] {
            assert_eq!(ServiceName::new(good).unwrap(), good);
        }
    }

    #[test]
    fn ids_may_be_addresses() {
        for good in ["10.0.0.1:80", "[::1]:80", "host-1@a", "a_", "a:", "x"] {
            assert_eq!(InstanceId::new(good).unwrap(), good);
        }
        for bad in ["", ".", "..", "a/b", "a.", "a-", "-a", ":a", "é", "a b", "a%2F", "a\0"] {
            assert!(InstanceId::new(bad).is_err(), "{bad:?}");
        }
        assert!(InstanceId::new("a".repeat(129)).is_err());
    }

    #[test]
    fn serde_checks_too() {
        assert!(serde_json::from_str::<ServiceName>("\"a/b\"").is_err());
        assert_eq!(serde_json::to_string(&ServiceName::new("a").unwrap()).unwrap(), "\"a\"");
    }
}
