//! The suite over the memory backend, on paused time on the wall clock, and over what wraps it.

use crate::common::{Loaded, Memory};
use registry_testkit::{Boxed, Calm, Shared, Wrapped, conformance};

conformance!(paused: Memory);
conformance!(wall: Loaded, as wall);
conformance!(paused: Wrapped<Shared, Memory>, as arc);
conformance!(paused: Wrapped<Boxed, Memory>, as boxed);
conformance!(paused: Wrapped<Calm, Memory>, as chaos);
