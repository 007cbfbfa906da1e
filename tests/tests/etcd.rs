//! The suite over the etcd backend: every rule, on real members.

use registry_testkit::conformance;
use registry_tests::Etcd;

conformance!(wall: Etcd);
