//! What an instance says about itself to everybody.

use std::collections::BTreeMap;
use std::collections::btree_map::Iter;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Sorted pairs of text that every reader sees; values are kept byte for byte.
///
/// [`insert`](Self::insert) refuses what looks like a secret. Who knows better says so with
/// [`insert_public`](Self::insert_public).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "BTreeMap<String, String>", into = "BTreeMap<String, String>")]
pub struct Metadata(BTreeMap<String, String>);

impl Metadata {
    /// No metadata.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds or replaces a pair. An `InvalidArgument` names `metadata.{key}` if the key is empty or holds control
    /// characters, or if key or value look like a secret.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<String>) -> Result<()> {
        let (key, value) = (key.into(), value.into());
        check_secret(&key, &value)?;
        self.insert_public(key, value)
    }

    /// The same without the look for secrets: the caller says that everybody may read it.
    pub fn insert_public(&mut self, key: impl Into<String>, value: impl Into<String>) -> Result<()> {
        let key = key.into();
        if key.is_empty() || key.chars().any(char::is_control) {
            let why = "a metadata key must not be empty and must hold no control characters";
            return Err(Error::invalid(format!("metadata.{}", key.escape_debug()), why));
        }
        self.0.insert(key, value.into());
        Ok(())
    }

    /// Removes a pair and gives its value.
    pub fn remove(&mut self, key: &str) -> Option<String> {
        self.0.remove(key)
    }

    /// The value under `key`.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The pairs, sorted by key.
    pub fn iter(&self) -> Iter<'_, String, String> {
        self.0.iter()
    }

    /// How many pairs.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Pairs that another writer stored: keys are checked, secrets are not looked for (they are out already).
    pub(crate) fn from_stored(pairs: BTreeMap<String, String>) -> Result<Self> {
        let mut metadata = Self::new();
        for (key, value) in pairs {
            metadata.insert_public(key, value)?;
        }
        Ok(metadata)
    }
}

impl<'a> IntoIterator for &'a Metadata {
    type Item = (&'a String, &'a String);
    type IntoIter = Iter<'a, String, String>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl TryFrom<BTreeMap<String, String>> for Metadata {
    type Error = Error;
    fn try_from(pairs: BTreeMap<String, String>) -> Result<Self> {
        let mut metadata = Self::new();
        for (key, value) in pairs {
            metadata.insert(key, value)?;
        }
        Ok(metadata)
    }
}

impl From<Metadata> for BTreeMap<String, String> {
    fn from(metadata: Metadata) -> Self {
        metadata.0
    }
}

fn check_secret(key: &str, value: &str) -> Result<()> {
    const SECRET: &[&str] = &["secret", "password", "passwd", "token", "apikey"];
    let last = key.rsplit(['-', '_', '.']).next().unwrap_or(key);
    let secret_key = SECRET.iter().any(|word| last.eq_ignore_ascii_case(word));
    if secret_key || value.contains("PRIVATE KEY-----") || value.starts_with("Bearer ") {
        let why = "looks like a secret, and metadata is public to every reader (`insert_public` takes it)";
        return Err(Error::invalid(format!("metadata.{}", key.escape_debug()), why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_refused_unless_the_caller_insists() {
        for (key, value) in [
            ("db_password", "x"),
            ("token", "x"),
            ("my.ApiKey", "x"),
            ("a-secret", "x"),
            ("PASSWD", "x"),
            ("cert", "-----BEGIN PRIVATE KEY-----"),
            ("auth", "Bearer abc"),
        ] {
            let mut metadata = Metadata::new();
            let error = metadata.insert(key, value).unwrap_err();
            assert!(error.to_string().contains(key), "{error}");
            metadata.insert_public(key, value).unwrap();
            assert_eq!(metadata.get(key), Some(value));
        }
        let mut metadata = Metadata::new();
        for key in ["tokens", "secretary", "password.hint", "token-bucket"] {
            metadata.insert(key, "x").unwrap();
        }
    }

    #[test]
    fn keys_are_checked_and_values_are_kept() {
        let mut metadata = Metadata::new();
        assert!(metadata.insert("", "x").is_err());
        assert!(metadata.insert("a\nb", "x").is_err());
        metadata.insert("k", "  \u{0}\u{202e} ü ").unwrap();
        assert_eq!(metadata.get("k"), Some("  \u{0}\u{202e} ü "));
    }
}
