//! Opening a registry by its URL: a scheme brings its opener; core depends on none.

use std::fmt;
use std::sync::Arc;

use crate::discovery::ServiceDiscovery;
use crate::error::{Error, ErrorKind, Result};
use crate::target::Target;

/// What a backend gives so that it can be opened by URL.
pub trait TargetOpener: Send + Sync + 'static {
    /// The schemes it opens, in lower case.
    fn schemes(&self) -> &[&'static str];

    /// Opens a handle on `target`, without waiting for the backend: a wrong target is an `InvalidArgument` now, an
    /// unreachable one is told by the first call.
    fn open(&self, target: &Target) -> Result<Arc<dyn ServiceDiscovery>>;
}

/// The one place that opens targets: keep one per process.
///
/// What it opens twice is shared as the backends promise: the same etcd endpoints and credentials share one session,
/// and every `memory:` that one opener opens is the same registry.
///
/// ```no_run
/// # use registry_core::Targets;
/// # fn run(memory: impl registry_core::TargetOpener) -> registry_core::Result<()> {
/// let targets = Targets::new().with(memory);
/// let registry = targets.open("memory:?namespace=staging")?;
/// # Ok(())
/// # }
/// ```
#[derive(Default)]
pub struct Targets {
    openers: Vec<Box<dyn TargetOpener>>,
}

impl Targets {
    /// Opens nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens also what `opener` opens; of two that open one scheme the later counts.
    #[must_use]
    pub fn with(mut self, opener: impl TargetOpener) -> Self {
        self.openers.push(Box::new(opener));
        self
    }

    /// The schemes that can be opened, sorted.
    pub fn schemes(&self) -> Vec<&'static str> {
        let mut schemes: Vec<_> =
            self.openers.iter().flat_map(|opener| opener.schemes().iter().copied()).collect();
        schemes.sort_unstable();
        schemes.dedup();
        schemes
    }

    /// Opens a handle on the registry at `url`.
    ///
    /// Errors: `InvalidArgument` names the part of the URL; `Unsupported` when nobody opens its scheme, with those
    /// that somebody does.
    pub fn open(&self, url: &str) -> Result<Arc<dyn ServiceDiscovery>> {
        let target: Target = url.parse()?;
        let opener = self.openers.iter().rev().find(|opener| opener.schemes().contains(&target.scheme()));
        let Some(opener) = opener else {
            let known = self.schemes().join(", ");
            let why = format!(
                "nobody here opens {:?} targets, only: {known}; give `Targets` the backend's opener",
                target.scheme()
            );
            return Err(Error::new(ErrorKind::Unsupported, why).with_operation("open"));
        };
        target.namespace()?;
        target.ttl()?;
        opener.open(&target).map_err(|error| error.with_operation("open").with_target(target.to_string()))
    }
}

impl fmt::Debug for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Targets").field("schemes", &self.schemes()).finish()
    }
}
