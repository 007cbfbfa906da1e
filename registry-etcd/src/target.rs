//! Opening by URL: `etcd://a:2379,b:2379/prefix?namespace=n&ttl=15s`.

use std::fs;
use std::sync::Arc;

use registry_core::{Error, Result, ServiceDiscovery, Target, TargetOpener};

use crate::backend::Shares;
use crate::config::{EtcdConfig, TlsConfig};

/// The parameters of an `etcd:` target beside those that every target has.
const PARAMETERS: &[&str] =
    &["ca", "call_timeout", "cert", "connect_timeout", "domain", "key", "password_file", "user"];

/// The opener of `etcd:` targets, for `Targets::with`. Handles with the same endpoints and credentials share one
/// session: one connection each for calls, heartbeats and watches.
///
/// ```text
/// etcd://user:password@a:2379,b:2379/prefix?namespace=n&ttl=15s
/// etcd://a,b?ca=ca.pem&cert=client.pem&key=client.key&domain=etcd.internal&call_timeout=500ms
/// etcd://a?user=app&password_file=/run/secrets/etcd
/// ```
pub fn target() -> EtcdTarget {
    EtcdTarget { shares: Shares::default() }
}

/// See [`target`].
#[derive(Debug)]
pub struct EtcdTarget {
    shares: Shares,
}

impl TargetOpener for EtcdTarget {
    fn schemes(&self) -> &[&'static str] {
        &["etcd"]
    }

    fn open(&self, target: &Target) -> Result<Arc<dyn ServiceDiscovery>> {
        Ok(Arc::new(self.shares.open(&config(target)?)?))
    }
}

/// The configuration that `target` writes in one line; what it leaves out has its default.
fn config(target: &Target) -> Result<EtcdConfig> {
    target.expect_parameters(PARAMETERS)?;
    let mut config = EtcdConfig::new(target.hosts()).with_namespace(target.namespace()?);
    if let Some(ttl) = target.ttl()? {
        config.ttl = ttl;
    }
    if !target.path().is_empty() {
        target.path().clone_into(&mut config.prefix);
    }
    for (key, field) in
        [("call_timeout", &mut config.call_timeout), ("connect_timeout", &mut config.connect_timeout)]
    {
        if let Some(text) = target.parameter(key) {
            *field = text.parse::<humantime::Duration>().map(Into::into).map_err(|error| {
                Error::invalid(format!("target.{key}"), format!("{text:?} is no duration: write 500ms, 2s"))
                    .with_source(error)
            })?;
        }
    }
    if let Some((user, password)) = credentials(target)? {
        config = config.with_auth(user, password);
    }
    let path = |key| target.parameter(key).map(Into::into);
    let tls = TlsConfig {
        ca: path("ca"),
        cert: path("cert"),
        key: path("key"),
        domain: target.parameter("domain").map(ToOwned::to_owned),
    };
    config.tls = (tls != TlsConfig::default()).then_some(tls);
    Ok(config)
}

fn credentials(target: &Target) -> Result<Option<(String, String)>> {
    let field = |name: &str, why: &str| Err(Error::invalid(format!("target.{name}"), why.to_owned()));
    let user = match (target.user(), target.parameter("user")) {
        (Some(_), Some(_)) => return field("user", "is given before `@` and as a parameter"),
        (user, parameter) => user.or(parameter),
    };
    let password = match (target.password(), target.parameter("password_file")) {
        (Some(_), Some(_)) => return field("password_file", "a password is given before `@` as well"),
        (Some(password), None) => Some(password.to_owned()),
        (None, Some(file)) => {
            let text = fs::read_to_string(file).map_err(|error| {
                Error::invalid("target.password_file", format!("{file:?} cannot be read")).with_source(error)
            })?;
            Some(text.trim_end_matches(['\r', '\n']).to_owned())
        }
        (None, None) => None,
    };
    match (user, password) {
        (Some(user), Some(password)) => Ok(Some((user.to_owned(), password))),
        (None, None) => Ok(None),
        (Some(_), None) => field("password_file", "a user needs a password: before `@`, or in a file"),
        (None, Some(_)) => field("user", "a password needs a user"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use registry_core::Targets;

    use super::*;

    fn config_of(url: &str) -> Result<EtcdConfig> {
        config(&url.parse()?)
    }

    #[test]
    fn a_url_says_what_a_configuration_says() {
        let config =
            config_of("etcd://u:p%40ss@a:1,[::1]:2/x/y?namespace=n&ttl=15s&call_timeout=500ms").unwrap();
        assert_eq!(config.endpoints, ["a:1", "[::1]:2"]);
        assert_eq!((config.prefix.as_str(), config.namespace.as_str()), ("x/y", "n"));
        assert_eq!(config.call_timeout, Duration::from_millis(500));
        let auth = config.auth.as_ref().unwrap();
        assert_eq!((auth.user.as_str(), auth.password.expose()), ("u", "p@ss"));
        config.check().unwrap();
        assert_eq!(config_of("etcd://a").unwrap(), EtcdConfig::new(["a"]));
        let tls = config_of("etcd://a?ca=ca.pem&cert=c.pem&key=k.pem&domain=d").unwrap().tls.unwrap();
        assert_eq!(tls, TlsConfig::new("ca.pem").with_identity("c.pem", "k.pem").with_domain("d"));
    }

    #[test]
    fn a_password_may_stand_in_a_file() {
        let file = std::env::temp_dir().join(format!("registry-etcd-password-{}", std::process::id()));
        fs::write(&file, "hunter2\n").unwrap();
        let config = config_of(&format!("etcd://a?user=app&password_file={}", file.display()));
        fs::remove_file(&file).unwrap();
        assert_eq!(config.unwrap().auth.unwrap().password.expose(), "hunter2");
    }

    #[test]
    fn what_is_wrong_in_a_url_is_refused_when_it_is_opened() {
        let targets = Targets::new().with(target());
        for (url, part) in [
            ("etcd:", "endpoints"),
            ("etcd://", "endpoints"),
            ("etcd://a:0", "endpoints"),
            ("etcd://a?timeout=1s", "target.timeout"),
            ("etcd://a?call_timeout=1", "target.call_timeout"),
            ("etcd://a?call_timeout=0s", "call_timeout"),
            ("etcd://u@a", "target.password_file"),
            ("etcd://u:p@a?user=v", "target.user"),
            ("etcd://a?password_file=/nowhere/at/all", "target.password_file"),
            ("etcd://a/x//y", "prefix"),
            ("etcd://a?cert=c.pem", "tls.key"),
        ] {
            let error = targets.open(url).unwrap_err();
            assert!(error.to_string().contains(&format!("invalid `{part}`")), "{url}: {error}");
        }
        targets.open("etcd://127.0.0.1:1").unwrap();
    }
}
