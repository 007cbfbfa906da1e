//! What an etcd registry is opened with, as plain data.

mod endpoints;
mod secret;

use std::path::PathBuf;
use std::time::Duration;

use registry_core::{Error, Limits, Namespace, Result, Ttl, WatchConfig};
use serde::{Deserialize, Serialize};

pub use self::secret::Secret;

/// The shortest HTTP/2 ping interval that an etcd of usual settings puts up with.
const SHORTEST_PING: Duration = Duration::from_secs(5);

/// What an etcd registry is opened with. Every field but `endpoints` has a default.
///
/// ```
/// # use registry_etcd::EtcdConfig;
/// let config = EtcdConfig::new(["10.0.0.1:2379", "10.0.0.2:2379"]);
/// assert_eq!(config.prefix, "registry");
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct EtcdConfig {
    /// The members' client addresses: `host:port`, `http://host:port` or `https://host:port`; without a port 2379.
    /// All plain or all TLS; duplicates count once; at least one.
    pub endpoints: Vec<String>,
    /// What all keys begin with: words separated by `/`; `registry` by default. Two registries on one etcd must not
    /// have prefixes of which one stands below the other.
    pub prefix: String,
    /// What keeps the services of one environment apart from another's; `default` by default.
    pub namespace: Namespace,
    /// The etcd user; none by default.
    pub auth: Option<Credentials>,
    /// TLS; needed for `https` endpoints, refused with `http`. Endpoints without a scheme follow it.
    pub tls: Option<TlsConfig>,
    /// The longest that a connection may take to come up; 1 s by default.
    #[serde(with = "humantime_serde")]
    pub connect_timeout: Duration,
    /// The longest that one attempt of a call may take; 1 s by default. A write that overruns it is `Ambiguous`.
    #[serde(with = "humantime_serde")]
    pub call_timeout: Duration,
    /// The longest that the list of a watched service may take, all pages together; 10 s by default.
    #[serde(with = "humantime_serde")]
    pub list_timeout: Duration,
    /// After how long a silent connection is tried by TCP; 10 s by default.
    #[serde(with = "humantime_serde")]
    pub tcp_keepalive: Duration,
    /// The interval of HTTP/2 pings; none by default, as progress finds a dead link without them. Under 5 s it is
    /// refused, because etcd ends quiet streams that ping faster, unless `http2_ping_fast` is set.
    #[serde(with = "humantime_serde", skip_serializing_if = "Option::is_none")]
    pub http2_ping: Option<Duration>,
    /// Says that the server allows pings under 5 s (`--grpc-keepalive-min-time`); false by default.
    pub http2_ping_fast: bool,
    /// After how long a silent watch is asked for progress; 5 s by default.
    #[serde(with = "humantime_serde")]
    pub watch_silence: Duration,
    /// How long the answer to that may take before the link counts as dead; 2 s by default.
    #[serde(with = "humantime_serde")]
    pub watch_answer: Duration,
    /// How many keys one page of a list holds at most; 1,000 by default, fewer where they would exceed 4 MiB.
    pub page_size: u16,
    /// What is checked before anything is sent.
    pub limits: Limits,
    /// The TTL of a registration that names none; 15 s by default.
    pub ttl: Ttl,
    /// How watches recover, queue and audit.
    pub watch: WatchConfig,
}

impl Default for EtcdConfig {
    fn default() -> Self {
        Self {
            endpoints: Vec::new(),
            prefix: "registry".to_owned(),
            namespace: Namespace::default(),
            auth: None,
            tls: None,
            connect_timeout: Duration::from_secs(1),
            call_timeout: Duration::from_secs(1),
            list_timeout: Duration::from_secs(10),
            tcp_keepalive: Duration::from_secs(10),
            http2_ping: None,
            http2_ping_fast: false,
            watch_silence: Duration::from_secs(5),
            watch_answer: Duration::from_secs(2),
            page_size: 1_000,
            limits: Limits::default(),
            ttl: Ttl::default(),
            watch: WatchConfig::default(),
        }
    }
}

impl EtcdConfig {
    /// The defaults with these endpoints.
    pub fn new<E: Into<String>>(endpoints: impl IntoIterator<Item = E>) -> Self {
        Self { endpoints: endpoints.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// With this prefix.
    #[must_use]
    pub fn with_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// With this namespace.
    #[must_use]
    pub fn with_namespace(mut self, namespace: Namespace) -> Self {
        self.namespace = namespace;
        self
    }

    /// With this etcd user.
    #[must_use]
    pub fn with_auth(mut self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.auth = Some(Credentials { user: user.into(), password: Secret::new(password) });
        self
    }

    /// With TLS.
    #[must_use]
    pub fn with_tls(mut self, tls: TlsConfig) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Checks every field without touching a file or the network. An `InvalidArgument` names the field.
    pub fn check(&self) -> Result<()> {
        self.endpoint_urls()?;
        check_prefix(&self.prefix)?;
        for (field, value) in [
            ("connect_timeout", self.connect_timeout),
            ("call_timeout", self.call_timeout),
            ("list_timeout", self.list_timeout),
            ("tcp_keepalive", self.tcp_keepalive),
            ("watch_silence", self.watch_silence),
            ("watch_answer", self.watch_answer),
        ] {
            check_wait(field, value)?;
        }
        self.watch.check()?;
        if let Some(ping) = self.http2_ping {
            check_wait("http2_ping", ping)?;
            if ping < SHORTEST_PING && !self.http2_ping_fast {
                let why = format!("etcd ends quiet streams that are pinged each {ping:?}: 5 s is the least");
                return Err(Error::invalid("http2_ping", why));
            }
        }
        if self.page_size == 0 {
            return Err(Error::invalid("page_size", "a page holds at least one key"));
        }
        if self.auth.as_ref().is_some_and(|auth| auth.user.is_empty()) {
            return Err(Error::invalid("auth.user", "must not be empty; leave `auth` out to be anonymous"));
        }
        match &self.tls {
            Some(TlsConfig { cert: Some(_), key: None, .. }) => {
                Err(Error::invalid("tls.key", "a client certificate needs its key"))
            }
            Some(TlsConfig { cert: None, key: Some(_), .. }) => {
                Err(Error::invalid("tls.cert", "a client key needs its certificate"))
            }
            _ => Ok(()),
        }
    }

    /// The endpoints as URLs, each once, in the order given. An `InvalidArgument` names `endpoints`.
    pub(crate) fn endpoint_urls(&self) -> Result<Vec<String>> {
        endpoints::urls(&self.endpoints, self.tls.is_some())
    }

    /// What errors and logs call this registry: no credentials in it.
    pub(crate) fn target(&self) -> String {
        let bare = |endpoint: &String| {
            endpoint.split_once("://").map_or(endpoint.as_str(), |(_, host)| host).to_owned()
        };
        let hosts: Vec<_> = self.endpoints.iter().map(bare).collect();
        format!("etcd://{}/{}?namespace={}", hosts.join(","), self.prefix, self.namespace)
    }
}

/// An etcd user.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    /// Its name.
    pub user: String,
    /// Its password. Never printed, and left out when the configuration is written.
    #[serde(default, skip_serializing)]
    pub password: Secret,
}

/// The files of TLS, all PEM. They are read and checked when the registry is opened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct TlsConfig {
    /// The authority that the members' certificates are checked against.
    pub ca: Option<PathBuf>,
    /// The client's certificate, for mutual TLS.
    pub cert: Option<PathBuf>,
    /// The client's key, for mutual TLS.
    pub key: Option<PathBuf>,
    /// The name that the members' certificates must bear, if it is not the endpoint's host.
    pub domain: Option<String>,
}

impl TlsConfig {
    /// Members checked against this authority.
    pub fn new(ca: impl Into<PathBuf>) -> Self {
        Self { ca: Some(ca.into()), ..Self::default() }
    }

    /// With a client certificate and its key.
    #[must_use]
    pub fn with_identity(mut self, cert: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Self {
        self.cert = Some(cert.into());
        self.key = Some(key.into());
        self
    }

    /// With the name that the members' certificates must bear.
    #[must_use]
    pub fn with_domain(mut self, domain: impl Into<String>) -> Self {
        self.domain = Some(domain.into());
        self
    }
}

/// A wait of zero would spin, and one beyond all measure overflows the clock.
fn check_wait(field: &str, wait: Duration) -> Result<()> {
    if wait < Duration::from_millis(1) || wait > Duration::from_hours(1) {
        return Err(Error::invalid(field, format!("{wait:?} is not between 1 ms and 1 h")));
    }
    Ok(())
}

fn check_prefix(prefix: &str) -> Result<()> {
    let word = |word: &str| {
        !word.is_empty()
            && word != "."
            && word != ".."
            && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
    };
    if prefix.len() > registry_core::MAX_NAME || !prefix.split('/').all(word) {
        let why =
            format!("{prefix:?} is no prefix: words of letters, digits, `.`, `_`, `-`, between single `/`");
        return Err(Error::invalid("prefix", why));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
