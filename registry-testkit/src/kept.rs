//! A registrar under test, behind a registry that can be made to fail.

use std::sync::Arc;
use std::time::Duration;

use registry_core::{Endpoint, Registrar, RegistrarConfig, RegistrarStatus, TakeoverPolicy, Ttl};
use tokio::time::timeout;

use crate::case::Case;
use crate::chaos::{Call, Chaos};
use crate::words::{id, service};

/// A registrar that keeps the instance `a` of a service, and what stands between it and the registry.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) registrar: Registrar,
    pub(crate) chaos: Arc<Chaos>,
    pub(crate) ttl: Duration,
    /// The service.
    pub(crate) of: String,
}

impl Kept {
    /// A registrar that is registered.
    pub(crate) async fn start(case: &Case) -> Self {
        Self::start_with(case, |config| config).await
    }

    /// The same under another service.
    pub(crate) async fn start_under(case: &Case, of: &str) -> Self {
        Self::start_with(case, |mut config| {
            config.service = service(of);
            config
        })
        .await
    }

    /// The same, configured further.
    pub(crate) async fn start_with(
        case: &Case,
        configure: impl FnOnce(RegistrarConfig) -> RegistrarConfig,
    ) -> Self {
        let chaos = Arc::new(Chaos::new(Arc::clone(&case.registry)));
        let config = configure(config(case));
        let (ttl, of) = (config.ttl.unwrap_or_default().get(), config.service.to_string());
        let registrar = Registrar::start(Arc::clone(&chaos) as _, config).await.expect("a registrar starts");
        assert_eq!(case.ids(&of).await, ["a"], "a registrar that has started is registered");
        Self { registrar, chaos, ttl, of }
    }

    /// The usual time between two heartbeats, at most.
    pub(crate) fn interval(&self) -> Duration {
        self.ttl / 3
    }

    /// Waits for a call of this kind beyond the first `seen`.
    pub(crate) async fn called(&self, case: &Case, call: Call, seen: usize, within: Duration) {
        let more = async || (self.chaos.calls(call).len() > seen).then_some(());
        case.eventually(&format!("another {call:?}"), within, more).await;
    }

    /// Waits for a status.
    pub(crate) async fn status(
        &self,
        what: &str,
        within: Duration,
        wanted: impl Fn(&RegistrarStatus) -> bool,
    ) {
        let mut status = self.registrar.status();
        let reached = timeout(within, status.wait_for(|status| wanted(status))).await;
        let reached = reached.map(|reached| reached.is_ok());
        assert_eq!(
            reached,
            Ok(true),
            "not within {within:?}: {what}; it is {:?}",
            *self.registrar.status().borrow()
        );
    }

    /// Every status so far, by its word.
    pub(crate) async fn told(&self) -> Vec<String> {
        let mut events = self.registrar.events();
        let mut told = Vec::new();
        while let Ok(Some(event)) = timeout(Duration::from_millis(1), events.next()).await {
            told.push(event.status.to_string());
        }
        told
    }
}

/// What keeps the instance `a` of `orders`, with a TTL that leaves room for the backend's delays.
pub(crate) fn config(case: &Case) -> RegistrarConfig {
    let endpoint = Endpoint::new("http", "10.0.0.1", 80).expect("an endpoint");
    RegistrarConfig::new(service("orders"))
        .with_endpoint(endpoint)
        .with_id(id("a"))
        .with_ttl(Ttl::new(case.timing.ttl.max(case.timing.eps * 6)).expect("a TTL"))
        .with_takeover(TakeoverPolicy::Never)
}
