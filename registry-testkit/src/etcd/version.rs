//! Versions of etcd, and what a test may ask for.

use std::{fmt, str::FromStr};

use super::HarnessError;

/// The version an etcd says it has, ordered as numbers are (3.4.23 comes before 3.5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EtcdVersion {
    /// 3 in 3.5.16.
    pub major: u16,
    /// 5 in 3.5.16.
    pub minor: u16,
    /// 16 in 3.5.16.
    pub patch: u16,
}

impl EtcdVersion {
    /// Whether this version is of the line `major.minor` or a newer one.
    pub fn at_least(self, major: u16, minor: u16) -> bool {
        (self.major, self.minor) >= (major, minor)
    }
}

impl fmt::Display for EtcdVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl FromStr for EtcdVersion {
    type Err = HarnessError;

    /// Reads `3.5.16`; what follows a `-` or `+` (`3.6.0-rc.1`) is dropped.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.trim().split(['-', '+']).next().unwrap_or_default();
        match VersionSpec::from_str(numbers)? {
            VersionSpec { major, minor: Some(minor), patch: Some(patch) } => Ok(Self { major, minor, patch }),
            _ => Err(HarnessError::BadVersion(text.to_owned())),
        }
    }
}

/// What is asked for: `3`, `3.5` (the newest installed of that line) or `3.5.16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionSpec {
    major: u16,
    minor: Option<u16>,
    patch: Option<u16>,
}

impl VersionSpec {
    /// Whether `version` is what is asked for. Numbers are compared, so `3.5` does not match 3.50.1.
    pub fn matches(self, version: EtcdVersion) -> bool {
        self.major == version.major
            && self.minor.is_none_or(|minor| minor == version.minor)
            && self.patch.is_none_or(|patch| patch == version.patch)
    }
}

impl FromStr for VersionSpec {
    type Err = HarnessError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || HarnessError::BadVersion(text.to_owned());
        let numbers = text
            .trim()
            .split('.')
            .map(|part| part.parse::<u16>().map_err(|_| bad()))
            .collect::<Result<Vec<_>, _>>()?;
        match numbers[..] {
            [major] => Ok(Self { major, minor: None, patch: None }),
            [major, minor] => Ok(Self { major, minor: Some(minor), patch: None }),
            [major, minor, patch] => Ok(Self { major, minor: Some(minor), patch: Some(patch) }),
            _ => Err(bad()),
        }
    }
}

impl fmt::Display for VersionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.major)?;
        for part in [self.minor, self.patch].into_iter().flatten() {
            write!(f, ".{part}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> EtcdVersion {
        text.parse().unwrap()
    }

    fn spec(text: &str) -> VersionSpec {
        text.parse().unwrap()
    }

    #[test]
    fn versions_order_as_numbers() {
        assert!(version("3.4.23") < version("3.5.2"));
        assert!(version("3.5.2") < version("3.5.16"));
        assert_eq!(version("3.6.0-rc.1"), version("3.6.0"));
        assert!(version("3.5.0").at_least(3, 5));
        assert!(!version("3.4.23").at_least(3, 5));
    }

    #[test]
    fn a_spec_matches_its_line_only() {
        assert!(spec("3.5").matches(version("3.5.16")));
        assert!(spec("3").matches(version("3.4.23")));
        assert!(!spec("3.5").matches(version("3.50.1")));
        assert!(!spec("3.5.1").matches(version("3.5.16")));
        assert_eq!(spec("3.5").to_string(), "3.5");
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "three", "3.", "3.5.16.1", "v3.5", "3.x"] {
            assert!(matches!(text.parse::<VersionSpec>(), Err(HarnessError::BadVersion(_))), "{text:?}");
        }
        assert!("3.5".parse::<EtcdVersion>().is_err(), "half a version is none");
    }
}
