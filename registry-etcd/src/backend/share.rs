//! One session for all registries with the same endpoints and credentials.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use registry_core::Result;

use super::EtcdRegistry;
use crate::client::Session;
use crate::config::EtcdConfig;

/// A session, held by each registry that uses it. It ends with the last of them (C3).
#[derive(Debug)]
pub(super) struct Share {
    session: Session,
}

impl Share {
    pub(super) fn session(&self) -> &Session {
        &self.session
    }
}

impl Drop for Share {
    /// The last registry lets go of it, whoever still holds one of its watches. One that is closed waits for the end as
    /// well.
    fn drop(&mut self) {
        self.session.abandon();
    }
}

/// The sessions that are open, by what they were opened with.
#[derive(Debug, Default)]
pub(crate) struct Shares {
    open: Mutex<Vec<(EtcdConfig, Weak<Share>)>>,
}

impl Shares {
    /// A registry as `config` says; the session is shared with those opened here with the same endpoints, credentials
    /// and timeouts.
    pub(crate) fn open(&self, config: &EtcdConfig) -> Result<EtcdRegistry> {
        config.check()?;
        let key = session_part(config)?;
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|(_, share)| share.strong_count() > 0);
        let known = open.iter().find(|(known, _)| *known == key).and_then(|(_, share)| share.upgrade());
        let share = if let Some(share) = known {
            share
        } else {
            let share = Arc::new(Share { session: Session::open(config)? });
            open.push((key, Arc::downgrade(&share)));
            share
        };
        drop(open);
        Ok(EtcdRegistry::new(config, share))
    }
}

/// `config` with everything alike that a session does not depend on.
fn session_part(config: &EtcdConfig) -> Result<EtcdConfig> {
    let any = EtcdConfig::default();
    let mut endpoints = config.endpoint_urls()?;
    endpoints.sort_unstable();
    Ok(EtcdConfig {
        endpoints,
        prefix: any.prefix,
        namespace: any.namespace,
        list_timeout: any.list_timeout,
        page_size: any.page_size,
        limits: any.limits,
        ttl: any.ttl,
        watch: any.watch,
        ..config.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_a_session_is_endpoints_credentials_and_timeouts() {
        let part = |config: EtcdConfig| session_part(&config).unwrap();
        let one = part(EtcdConfig::new(["a:1", "b:1"]));
        assert_eq!(one, part(EtcdConfig::new(["http://b:1", "a:1", "a:1"]).with_prefix("other")));
        assert_ne!(one, part(EtcdConfig::new(["a:1"])));
        assert_ne!(one, part(EtcdConfig::new(["a:1", "b:1"]).with_auth("u", "p")));
        let with = |password| part(EtcdConfig::new(["a:1"]).with_auth("u", password));
        assert_ne!(with("p"), with("q"));
    }
}
