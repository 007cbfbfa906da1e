//! Where a registry is, as one line of text: `memory:`, `etcd://a:2379,b:2379/prefix?namespace=n&ttl=15s`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::error::{Error, Result};
use crate::name::Namespace;
use crate::ttl::Ttl;

/// A parsed target URL: `scheme://user:password@host:port,host:port/path?key=value&…`.
///
/// The one place that parses them. `Display` and `Debug` never show the password. Every part may be percent-encoded;
/// what cannot be read is an `InvalidArgument` that names the part, never a silent miss.
#[derive(Clone, PartialEq, Eq)]
pub struct Target {
    scheme: String,
    user: Option<String>,
    password: Option<String>,
    hosts: Vec<String>,
    path: String,
    parameters: BTreeMap<String, String>,
}

impl Target {
    /// The scheme, in lower case: which backend opens it.
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The user, if one is given.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The password, if one is given.
    pub fn password(&self) -> Option<&str> {
        self.password.as_deref()
    }

    /// The hosts with their ports as they were written, in their order, each once.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// The path without slashes at its ends; empty if there is none.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The parameter `key`.
    pub fn parameter(&self, key: &str) -> Option<&str> {
        self.parameters.get(key).map(String::as_str)
    }

    /// The parameter `namespace`, checked; `default` if none.
    pub fn namespace(&self) -> Result<Namespace> {
        self.parameter("namespace").map_or_else(|| Ok(Namespace::default()), Namespace::new)
    }

    /// The parameter `ttl`, checked: what registrations through this target ask for unless they say otherwise.
    pub fn ttl(&self) -> Result<Option<Ttl>> {
        let Some(text) = self.parameter("ttl") else { return Ok(None) };
        let ttl = humantime::parse_duration(text).map_err(|error| {
            Error::invalid("ttl", format!("{text:?} is no duration: write 15s, 500ms, 2m")).with_source(error)
        })?;
        Ttl::new(ttl).map(Some)
    }

    /// For openers: refuses parameters other than these, `namespace` and `ttl`, so that no typing error passes.
    pub fn expect_parameters(&self, known: &[&str]) -> Result<()> {
        let known: Vec<_> = ["namespace", "ttl"].iter().chain(known).copied().collect();
        match self.parameters.keys().find(|key| !known.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                let why = format!("{}: has no parameter {key:?}; it has {}", self.scheme, known.join(", "));
                Err(Error::invalid(format!("target.{key}"), why))
            }
        }
    }
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = |part: &str, why: String| Error::invalid(format!("target.{part}"), why);
        let (scheme, rest) = text.split_once(':').ok_or_else(|| {
            invalid(
                "scheme",
                "a target begins with its scheme, as in `memory:` or `etcd://host:2379`".to_owned(),
            )
        })?;
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '-';
        if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(letters) {
            let why = format!("{scheme:?} is no scheme: write `etcd://host:2379`, not `host:2379`");
            return Err(invalid("scheme", why));
        }
        if rest.contains('#') {
            return Err(invalid("fragment", "a target has no fragment (`#`)".to_owned()));
        }
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_once('/').unwrap_or((rest, "")),
            None => ("", rest),
        };
        let (user_info, hosts) = match authority.rsplit_once('@') {
            Some((user_info, hosts)) => (Some(user_info), hosts),
            None => (None, authority),
        };
        let (user, password) = match user_info.map(|info| info.split_once(':').unwrap_or((info, ""))) {
            Some(("", _)) => return Err(invalid("user", "the user before `@` is empty".to_owned())),
            Some((user, "")) => (Some(decode("user", user)?), None),
            Some((user, password)) => (Some(decode("user", user)?), Some(decode("password", password)?)),
            None => (None, None),
        };
        Ok(Self {
            scheme: scheme.to_ascii_lowercase(),
            user,
            password,
            hosts: parse_hosts(hosts)?,
            path: decode("path", path.trim_matches('/'))?,
            parameters: parse_parameters(query)?,
        })
    }
}

fn parse_hosts(hosts: &str) -> Result<Vec<String>> {
    let mut parsed = Vec::new();
    for host in hosts.split(',').filter(|_| !hosts.is_empty()) {
        if host.is_empty() || host.chars().any(|c| c.is_whitespace() || c.is_control() || c == '\\') {
            return Err(Error::invalid("target.hosts", format!("{host:?} is no host:port")));
        }
        if !parsed.iter().any(|known| known == host) {
            parsed.push(host.to_owned());
        }
    }
    Ok(parsed)
}

fn parse_parameters(query: &str) -> Result<BTreeMap<String, String>> {
    let mut parameters = BTreeMap::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            Error::invalid(format!("target.{pair}"), "a parameter is written key=value".to_owned())
        })?;
        let key = decode("parameter", key)?;
        if parameters.insert(key.clone(), decode(&key, value)?).is_some() {
            return Err(Error::invalid(format!("target.{key}"), "the parameter is given twice"));
        }
    }
    Ok(parameters)
}

fn decode(part: &str, text: &str) -> Result<String> {
    let bytes = text.as_bytes();
    let broken = bytes.iter().enumerate().any(|(i, b)| {
        *b == b'%' && !bytes.get(i + 1..i + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
    });
    let field = || format!("target.{part}");
    if broken {
        return Err(Error::invalid(field(), "a `%` is followed by two hexadecimal digits"));
    }
    let decoded = percent_decode_str(text).decode_utf8();
    Ok(decoded.map_err(|e| Error::invalid(field(), "is not UTF-8").with_source(e))?.into_owned())
}

/// What would end a part of a URL.
const RESERVED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'%')
    .add(b'?')
    .add(b'#')
    .add(b'&')
    .add(b'=')
    .add(b'@')
    .add(b':')
    .add(b'/')
    .add(b',');
const IN_PATH: &AsciiSet = &CONTROLS.add(b' ').add(b'%').add(b'?').add(b'#');

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.scheme)?;
        if !self.hosts.is_empty() {
            f.write_str("//")?;
            if let Some(user) = &self.user {
                let hidden = if self.password.is_some() { ":***" } else { "" };
                write!(f, "{}{hidden}@", utf8_percent_encode(user, RESERVED))?;
            }
            f.write_str(&self.hosts.join(","))?;
            if !self.path.is_empty() {
                f.write_str("/")?;
            }
        }
        write!(f, "{}", utf8_percent_encode(&self.path, IN_PATH))?;
        for (i, (key, value)) in self.parameters.iter().enumerate() {
            let separator = if i == 0 { '?' } else { '&' };
            let (key, value) = (utf8_percent_encode(key, RESERVED), utf8_percent_encode(value, RESERVED));
            write!(f, "{separator}{key}={value}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

#[cfg(test)]
mod tests;
