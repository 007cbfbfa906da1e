//! The suite over the memory backend, on paused time, on the wall clock, and over what wraps it.

use std::sync::Arc;
use std::time::Duration;

use crate::common::{Loaded, Memory};
use registry_core::ServiceDiscovery;
use registry_testkit::chaos::Fault;
use registry_testkit::{Boxed, Calm, Chaos, Shared, Wrap, Wrapped, conformance};

conformance!(paused: Memory);
conformance!(wall: Loaded, as wall);
conformance!(paused: Wrapped<Shared, Memory>, as arc);
conformance!(paused: Wrapped<Boxed, Memory>, as boxed);
conformance!(paused: Wrapped<Calm, Memory>, as chaos);

/// A registry whose calls are now and then late, by a seed: it still keeps the contract.
struct Late;

impl Wrap for Late {
    const NAME: &'static str = "late";
    fn wrap(inner: Arc<dyn ServiceDiscovery>) -> Arc<dyn ServiceDiscovery> {
        let late = [Fault::Late(Duration::from_millis(1)), Fault::Late(Duration::from_millis(2))];
        Arc::new(Chaos::new(inner).seeded(7, 30, &late))
    }
}

conformance!(paused: Wrapped<Late, Memory>, as late);
