//! What a service registers and how it keeps it up, as plain data.

use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{address, identity};
use crate::endpoint::Endpoint;
use crate::error::{Error, Result};
use crate::instance::{DEFAULT_WEIGHT, HealthCheck, InstanceSpec, InstanceStatus, Locality};
use crate::metadata::Metadata;
use crate::name::{InstanceId, ServiceName, Version};
use crate::ttl::Ttl;

/// What a service registers and how it keeps it up.
///
/// Plain data: every field but `service` may be left out of a configuration file, and [`new`](Self::new) gives the
/// same defaults. Endpoints are written as `scheme://host:port` or `name=scheme://host:port`, durations as `15s`.
///
/// ```
/// # use registry_core::RegistrarConfig;
/// let config: RegistrarConfig = serde_json::from_str(
///     r#"{"service": "greeter", "endpoints": ["http://greeter.internal:8080"], "ttl": "15s"}"#,
/// )?;
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct RegistrarConfig {
    /// The service.
    pub service: ServiceName,
    /// The instance's id. By default the host's name and a short hash of service and first endpoint: the same after a
    /// restart, so that it is the same instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<InstanceId>,
    /// Where callers reach it. Those named here stand as they are; [`listening`](Self::listening) adds what a listener
    /// is bound to. None by default, at least one is needed.
    #[serde(default, with = "endpoint_texts")]
    pub endpoints: Vec<Endpoint>,
    /// The version of the interface contract; none by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
    /// What it tells everybody; nothing by default.
    #[serde(default)]
    pub metadata: Metadata,
    /// Its share of traffic; 100 by default.
    #[serde(default = "default_weight")]
    pub weight: u32,
    /// What it says about its readiness at first; up by default.
    #[serde(default)]
    pub status: InstanceStatus,
    /// Where it runs; unknown by default.
    #[serde(default)]
    pub locality: Locality,
    /// What a prober may ask it; nothing by default.
    #[serde(default)]
    pub health_check: HealthCheck,
    /// How long it lives without a heartbeat; by default what the registry was opened with, 15 s as a rule. A backend
    /// may grant more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<Ttl>,
    /// The time between heartbeats, above 0 and below the TTL; by default a third of the granted TTL, so that two may
    /// be lost (H5).
    #[serde(default, with = "humantime_serde", skip_serializing_if = "Option::is_none")]
    pub interval: Option<Duration>,
    /// How long it is seen draining before it is removed (D5); by default two heartbeats, 10 s with the usual TTL.
    #[serde(default, with = "humantime_serde", skip_serializing_if = "Option::is_none")]
    pub drain: Option<Duration>,
    /// How long [`deregister`](super::Registrar::deregister) and [`pause`](super::Registrar::pause) may take to answer
    /// (D4); 2 s by default.
    #[serde(default = "default_deregister", with = "humantime_serde")]
    pub deregister: Duration,
    /// How long [`start`](super::Registrar::start) and [`resume`](super::Registrar::resume) may take to answer; 5 s by
    /// default.
    #[serde(default = "default_start", with = "humantime_serde")]
    pub start: Duration,
    /// What happens when the registration is lost; by default it is tried again for ever.
    #[serde(default)]
    pub lost: LostPolicy,
    /// What it may do to a living instance of its id at the first registration; by default replace its own previous
    /// life.
    #[serde(default)]
    pub takeover: TakeoverPolicy,
    /// What this process listens on.
    #[serde(skip)]
    bound: Vec<SocketAddr>,
}

/// What an application wants done when its registration is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LostPolicy {
    /// Register again until it works.
    #[default]
    RetryForever,
    /// Give up when it has been lost for this long, with the status `Lost`; the application decides what then.
    GiveUpAfter(#[serde(with = "humantime_serde")] Duration),
}

/// Whom a first registration may replace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TakeoverPolicy {
    /// The living instance of this id, if this process has bound an endpoint of its record: what had it bound before
    /// is dead. Anybody else is left alone.
    #[default]
    OwnPreviousLife,
    /// Nobody.
    Never,
    /// Whoever is there.
    Always,
}

fn default_weight() -> u32 {
    DEFAULT_WEIGHT
}

fn default_deregister() -> Duration {
    Duration::from_secs(2)
}

fn default_start() -> Duration {
    Duration::from_secs(5)
}

impl RegistrarConfig {
    /// The defaults for an instance of `service`, still without an endpoint.
    pub fn new(service: ServiceName) -> Self {
        Self {
            service,
            id: None,
            endpoints: Vec::new(),
            version: None,
            metadata: Metadata::new(),
            weight: default_weight(),
            status: InstanceStatus::default(),
            locality: Locality::default(),
            health_check: HealthCheck::default(),
            ttl: None,
            interval: None,
            drain: None,
            deregister: default_deregister(),
            start: default_start(),
            lost: LostPolicy::default(),
            takeover: TakeoverPolicy::default(),
            bound: Vec::new(),
        }
    }

    /// With the address a listener is bound to: listen first, then register. See [`listening_as`](Self::listening_as).
    pub fn listening(self, listener: SocketAddr) -> Result<Self> {
        self.listening_as("default", "tcp", listener)
    }

    /// With the address a listener is bound to, as the endpoint `name` that speaks `scheme`.
    ///
    /// A wildcard (`0.0.0.0`, `::`) is made real: a usable address of this machine is chosen, the same one every time,
    /// and the choice is logged. An endpoint of that name that is in [`endpoints`](Self::endpoints) already is what is
    /// advertised instead. An `InvalidArgument` names `port` for port 0, and `host` for an address nobody can dial.
    pub fn listening_as(mut self, name: &str, scheme: &str, listener: SocketAddr) -> Result<Self> {
        let real = address::resolve(listener)?;
        if !self.endpoints.iter().any(|endpoint| endpoint.name() == name) {
            self.endpoints.push(Endpoint::from_parts(name, scheme, real.host()?, listener.port())?);
        }
        self.bound.extend(real.bound);
        Ok(self)
    }

    /// With one more endpoint, advertised as it stands.
    #[must_use]
    pub fn with_endpoint(mut self, endpoint: Endpoint) -> Self {
        self.endpoints.push(endpoint);
        self
    }

    /// With this id.
    #[must_use]
    pub fn with_id(mut self, id: InstanceId) -> Self {
        self.id = Some(id);
        self
    }

    /// With this interface version.
    #[must_use]
    pub fn with_version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// With this metadata.
    #[must_use]
    pub fn with_metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// With this weight.
    #[must_use]
    pub fn with_weight(mut self, weight: u32) -> Self {
        self.weight = weight;
        self
    }

    /// With this TTL.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Ttl) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// With this time between heartbeats.
    #[must_use]
    pub fn with_interval(mut self, interval: Duration) -> Self {
        self.interval = Some(interval);
        self
    }

    /// With this drain time.
    #[must_use]
    pub fn with_drain(mut self, drain: Duration) -> Self {
        self.drain = Some(drain);
        self
    }

    /// With this policy for a lost registration.
    #[must_use]
    pub fn with_lost(mut self, lost: LostPolicy) -> Self {
        self.lost = lost;
        self
    }

    /// With this permission to take over.
    #[must_use]
    pub fn with_takeover(mut self, takeover: TakeoverPolicy) -> Self {
        self.takeover = takeover;
        self
    }

    /// Checks all of it. An `InvalidArgument` names the field.
    pub fn check(&self) -> Result<()> {
        if let Some(interval) = self.interval {
            if interval.is_zero() {
                return Err(Error::invalid("interval", "heartbeats need an interval above 0"));
            }
            let ttl = self.ttl.unwrap_or_default();
            if interval >= ttl.get() {
                let why = format!("{interval:?} is not below the TTL of {ttl}: it would expire in between");
                return Err(Error::invalid("interval", why));
            }
        }
        for (field, limit) in [("deregister", self.deregister), ("start", self.start)] {
            if limit.is_zero() {
                return Err(Error::invalid(field, "no call answers within 0"));
            }
        }
        self.spec().check()
    }

    /// The id it registers under: the one given, or the one made of host name, service and first endpoint.
    pub fn instance_id(&self) -> Result<InstanceId> {
        match (&self.id, self.endpoints.first()) {
            (Some(id), _) => Ok(id.clone()),
            (None, Some(endpoint)) => identity::default_id(&self.service, endpoint),
            (None, None) => Err(Error::invalid("endpoints", "an instance has at least one endpoint")),
        }
    }

    /// What the instance says of itself at first.
    pub fn spec(&self) -> InstanceSpec {
        InstanceSpec {
            version: self.version.clone(),
            endpoints: self.endpoints.clone(),
            metadata: self.metadata.clone(),
            weight: self.weight,
            status: self.status,
            health: crate::instance::Health::default(),
            locality: self.locality.clone(),
            health_check: self.health_check.clone(),
            unknown: serde_json::Map::new(),
        }
    }

    /// What this process listens on, as far as it was told.
    pub(super) fn bound(&self) -> &[SocketAddr] {
        &self.bound
    }
}

/// Endpoints as the texts that people write.
mod endpoint_texts {
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::endpoint::Endpoint;

    pub(super) fn serialize<S: Serializer>(endpoints: &[Endpoint], out: S) -> Result<S::Ok, S::Error> {
        out.collect_seq(endpoints.iter().map(|endpoint| match endpoint.name() {
            "default" => endpoint.to_string(),
            name => format!("{name}={endpoint}"),
        }))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Endpoint>, D::Error> {
        let texts = Vec::<String>::deserialize(input)?;
        texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    fn config() -> RegistrarConfig {
        let endpoint = "http://10.0.0.1:80".parse().unwrap();
        RegistrarConfig::new("greeter".parse().unwrap()).with_endpoint(endpoint)
    }

    fn field(error: &Error) -> &str {
        let ErrorKind::InvalidArgument { field } = error.kind() else { panic!("{error}") };
        field
    }

    #[test]
    fn a_file_that_names_the_service_alone_has_the_documented_defaults() {
        let read: RegistrarConfig = serde_json::from_str(r#"{"service": "greeter"}"#).unwrap();
        assert_eq!(read, RegistrarConfig::new("greeter".parse().unwrap()));
        assert_eq!((read.ttl, read.deregister.as_secs(), read.start.as_secs()), (None, 2, 5));
        assert_eq!(
            (read.weight, read.lost, read.takeover),
            (100, LostPolicy::RetryForever, TakeoverPolicy::OwnPreviousLife)
        );
    }

    #[test]
    fn all_of_it_survives_being_written_and_read() {
        let mut written =
            config().with_id("a".parse().unwrap()).with_weight(7).with_drain(Duration::from_secs(3));
        written.endpoints.push("admin=https://[::1]:8443".parse().unwrap());
        written.interval = Some(Duration::from_millis(1_500));
        written.lost = LostPolicy::GiveUpAfter(Duration::from_mins(1));
        written.takeover = TakeoverPolicy::Always;
        let text = serde_json::to_string(&written).unwrap();
        assert!(text.contains(r#"["http://10.0.0.1:80","admin=https://[::1]:8443"]"#), "{text}");
        assert!(text.contains(r#""lost":{"give_up_after":"1m"}"#), "{text}");
        assert_eq!(serde_json::from_str::<RegistrarConfig>(&text).unwrap(), written);
        assert!(serde_json::from_str::<RegistrarConfig>(r#"{"service": "a", "tll": "1s"}"#).is_err());
        assert!(
            serde_json::from_str::<RegistrarConfig>(r#"{"service": "a", "endpoints": ["a:0"]}"#).is_err()
        );
    }

    #[test]
    fn an_interval_that_is_not_below_the_ttl_is_refused_and_named() {
        for bad in [Duration::ZERO, Duration::from_secs(15), Duration::MAX] {
            let config = config().with_interval(bad);
            assert_eq!(field(&config.check().unwrap_err()), "interval");
        }
        config().with_interval(Duration::from_secs(14)).check().unwrap();
    }

    #[test]
    fn an_instance_needs_an_endpoint_and_calls_need_time() {
        let bare = RegistrarConfig::new("greeter".parse().unwrap());
        assert_eq!(field(&bare.check().unwrap_err()), "endpoints");
        assert_eq!(field(&bare.instance_id().unwrap_err()), "endpoints");
        let hurried = RegistrarConfig { deregister: Duration::ZERO, ..config() };
        assert_eq!(field(&hurried.check().unwrap_err()), "deregister");
    }

    #[test]
    fn s75_port_0_is_refused_and_a_wildcard_becomes_an_address_that_can_be_dialled() {
        let new = || RegistrarConfig::new("greeter".parse().unwrap());
        for bad in ["0.0.0.0:0", "[::]:0", "10.0.0.1:0"] {
            assert_eq!(field(&new().listening(bad.parse().unwrap()).unwrap_err()), "port", "{bad}");
        }
        for wildcard in ["0.0.0.0:80", "[::]:80", "[::ffff:0.0.0.0]:80"] {
            let config = new().listening(wildcard.parse().unwrap()).unwrap();
            config.check().unwrap();
            assert!(config.bound().iter().all(|address| !address.ip().is_unspecified()), "{wildcard}");
        }
        let config = new().listening_as("web", "http", "[2001:db8::1]:80".parse().unwrap()).unwrap();
        assert_eq!(config.endpoints[0].to_string(), "http://[2001:db8::1]:80");
    }

    #[test]
    fn s75_an_advertised_endpoint_stands_beside_what_is_bound() {
        let config = config().listening("10.9.9.9:81".parse().unwrap()).unwrap();
        assert_eq!(config.endpoints.len(), 1);
        assert_eq!(config.endpoints[0].to_string(), "http://10.0.0.1:80");
        assert_eq!(config.bound(), ["10.9.9.9:81".parse::<SocketAddr>().unwrap()]);
    }
}
