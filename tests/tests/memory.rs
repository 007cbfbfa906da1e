//! The suite over the memory backend: every rule, in virtual time.

use registry_testkit::conformance;
use registry_tests::Memory;

conformance!(paused: Memory);
