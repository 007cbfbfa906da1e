//! Where an instance listens.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU16;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A host that callers can dial: a DNS name, or an IP address that is not a wildcard.
///
/// IPv6 is kept canonical and printed without brackets here, with brackets by [`Endpoint`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Host {
    /// An IP address.
    Ip(IpAddr),
    /// A DNS name, as it was written.
    Name(Arc<str>),
}

impl Host {
    /// Checks `host`. An `InvalidArgument` names the field `host`.
    pub fn new(host: &str) -> Result<Self> {
        let invalid = |why: &str| Err(Error::invalid("host", format!("{host:?} {why}")));
        if host.is_empty() {
            return invalid("is empty: give a DNS name or an IP address");
        }
        if host.contains("://") || host.contains('/') {
            return invalid("is a URL: give the host alone");
        }
        if host.contains('@') {
            return invalid("holds user information, which everyone could read");
        }
        let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        if let Ok(ip) = bare.unwrap_or(host).parse::<Ipv6Addr>() {
            return Self::from_ip(ip.into());
        }
        if bare.is_some() {
            return invalid("is not an IPv6 address");
        }
        if let Ok(ip) = host.parse::<Ipv4Addr>() {
            return Self::from_ip(ip.into());
        }
        if !is_dns_name(host) {
            return invalid("is neither an IP address nor a DNS name");
        }
        // `010.0.0.1`, `0x7f.1`, `127.1`: resolvers disagree about what these mean.
        let last = host.strip_suffix('.').unwrap_or(host).rsplit('.').next().unwrap_or(host);
        if last.bytes().all(|b| b.is_ascii_digit()) || is_hex_number(last) {
            return invalid("is an ambiguous number: write an IPv4 address as four decimal parts");
        }
        Ok(Self::Name(host.into()))
    }

    /// The address as a host; a wildcard (`0.0.0.0`, `::`) is refused, as nobody can dial it.
    pub fn from_ip(ip: IpAddr) -> Result<Self> {
        let mapped = match ip {
            IpAddr::V6(v6) => v6.to_ipv4_mapped().is_some_and(|v4| v4.is_unspecified()),
            IpAddr::V4(_) => false,
        };
        if ip.is_unspecified() || mapped {
            return Err(Error::invalid(
                "host",
                format!("{ip} is a wildcard: callers need an address to dial"),
            ));
        }
        Ok(Self::Ip(ip))
    }
}

fn is_dns_name(host: &str) -> bool {
    let host = host.strip_suffix('.').unwrap_or(host);
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
    };
    host.len() <= 253 && host.split('.').all(label)
}

fn is_hex_number(label: &str) -> bool {
    label
        .strip_prefix("0x")
        .or_else(|| label.strip_prefix("0X"))
        .is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

impl FromStr for Host {
    type Err = Error;
    fn from_str(host: &str) -> Result<Self> {
        Self::new(host)
    }
}

impl TryFrom<String> for Host {
    type Error = Error;
    fn try_from(host: String) -> Result<Self> {
        Self::new(&host)
    }
}

impl From<Host> for String {
    fn from(host: Host) -> Self {
        host.to_string()
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ip(ip) => ip.fmt(f),
            Self::Name(name) => name.fmt(f),
        }
    }
}

/// One address of an instance: a scheme, a host, a port, and a name that tells it from its siblings.
///
/// Parsed from `host:port`, `scheme://host:port` or `name=scheme://host:port`; an IPv6 host stands in brackets.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Endpoint {
    /// What tells it from the instance's other endpoints; `default` unless said otherwise.
    #[serde(default = "default_name")]
    name: String,
    /// What is spoken there; `tcp` unless said otherwise.
    #[serde(default = "default_scheme")]
    scheme: String,
    host: Host,
    port: NonZeroU16,
}

fn default_name() -> String {
    "default".to_owned()
}

fn default_scheme() -> String {
    "tcp".to_owned()
}

impl Endpoint {
    /// An endpoint named `default` that speaks `scheme`. An `InvalidArgument` names the field.
    pub fn new(scheme: &str, host: &str, port: u16) -> Result<Self> {
        Self::from_parts(&default_name(), scheme, Host::new(host)?, port)
    }

    /// An endpoint from parts that were checked one by one.
    pub fn from_parts(name: &str, scheme: &str, host: Host, port: u16) -> Result<Self> {
        let port = NonZeroU16::new(port)
            .ok_or_else(|| Error::invalid("port", "port 0 cannot be dialled: listen first, then register"))?;
        let endpoint = Self { name: name.to_owned(), scheme: scheme.to_owned(), host, port };
        endpoint.check()?;
        Ok(endpoint)
    }

    /// The same endpoint under another name.
    pub fn named(mut self, name: &str) -> Result<Self> {
        name.clone_into(&mut self.name);
        self.check()?;
        Ok(self)
    }

    /// What tells it from its siblings.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is spoken there.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The host.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The port, never 0.
    pub fn port(&self) -> u16 {
        self.port.get()
    }

    /// `host:port` as a dialler takes it, IPv6 in brackets.
    pub fn authority(&self) -> String {
        match &self.host {
            Host::Ip(IpAddr::V6(ip)) => format!("[{ip}]:{}", self.port),
            host => format!("{host}:{}", self.port),
        }
    }

    /// Checks what serde could not: used after decoding and by the constructors.
    pub(crate) fn check(&self) -> Result<()> {
        let word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if self.name.is_empty() || self.name.len() > 63 || !self.name.chars().all(word) {
            let why =
                format!("{:?} is no endpoint name: 1 to 63 of letters, digits, `.`, `_`, `-`", self.name);
            return Err(Error::invalid("endpoint.name", why));
        }
        let scheme = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '+' | '.' | '-');
        if self.scheme.len() > 63
            || !self.scheme.starts_with(|c: char| c.is_ascii_lowercase())
            || !self.scheme.chars().all(scheme)
        {
            let why = format!("{:?} is no scheme: lower-case, beginning with a letter", self.scheme);
            return Err(Error::invalid("endpoint.scheme", why));
        }
        Ok(())
    }
}

impl FromStr for Endpoint {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, rest) = text.split_once('=').unwrap_or(("default", text));
        let (scheme, authority) = rest.split_once("://").unwrap_or(("tcp", rest));
        let (host, port) = authority.rsplit_once(':').ok_or_else(|| {
            Error::invalid("port", format!("{text:?} has no port: write host:port or scheme://host:port"))
        })?;
        if host.contains(':') && !host.starts_with('[') {
            return Err(Error::invalid("host", format!("{host:?}: write an IPv6 host in brackets")));
        }
        let port = port
            .parse::<u16>()
            .ok()
            .filter(|_| port.bytes().all(|b| b.is_ascii_digit()))
            .ok_or_else(|| Error::invalid("port", format!("{port:?} is no port: 1 to 65535")))?;
        Self::from_parts(name, scheme, Host::new(host)?, port)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_nobody_can_dial_are_refused() {
        for bad in [
            "",
            "0.0.0.0",
            "::",
            "[::]",
            "::ffff:0.0.0.0",
            "user@host",
            "http://host",
            "host/path",
            "010.0.0.1",
            "0x7f.1",
            "127.1",
            "1",
            "256.1.1.1",
            "a..b",
            "-a",
            "a b",
            "é.example",
            "[1.2.3.4]",
            "fe80::1%eth0",
            "0x7f000001",
            "1.2.3.4.",
            "*",
            "a:b",
        ] {
            assert!(Host::new(bad).is_err(), "{bad:?} was taken");
        }
    }

    #[test]
    fn ipv6_is_canonical_and_printed_with_brackets() {
        let endpoint: Endpoint = "http://[2001:DB8:0:0::1]:80".parse().unwrap();
        assert_eq!(endpoint.to_string(), "http://[2001:db8::1]:80");
        assert_eq!(endpoint.authority(), "[2001:db8::1]:80");
        assert_eq!(endpoint.host().to_string(), "2001:db8::1");
    }

    #[test]
    fn ports_out_of_range_are_refused_and_named() {
        for bad in ["a:0", "a:65536", "a:-1", "a:+80", "a:", "a", "a:8 0"] {
            let error = bad.parse::<Endpoint>().unwrap_err();
            assert!(error.to_string().contains("port"), "{bad}: {error}");
        }
        assert!("::1:80".parse::<Endpoint>().is_err());
    }

    #[test]
    fn a_name_and_a_scheme_may_be_given() {
        let endpoint: Endpoint = "admin=https://db.internal:8443".parse().unwrap();
        assert_eq!((endpoint.name(), endpoint.scheme(), endpoint.port()), ("admin", "https", 8443));
        assert!("=http://a:1".parse::<Endpoint>().is_err());
        assert!("a=HTTP://a:1".parse::<Endpoint>().is_err());
    }
}
