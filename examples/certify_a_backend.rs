//! A backend of one's own, certified: ten lines give one named test for every rule of the contract.
//!
//! `cargo test -p registry-tests --example certify_a_backend`

use std::sync::Arc;

use registry_core::ServiceDiscovery;
// Stands for a backend of your own.
use registry_memory::MemoryRegistry as MyBackend;
use registry_testkit::{Harness, conformance};

/// How the suite opens it.
struct Mine;

impl Harness for Mine {
    type Guard = ();
    async fn fresh() -> (Arc<dyn ServiceDiscovery>, ()) {
        (Arc::new(MyBackend::new()), ())
    }
}

conformance!(paused: Mine);

fn main() {
    registry_testkit::suite::run::<Mine>(
        registry_testkit::suite::Clock::Paused,
        "r5_live_id_of_another_owner_is_refused",
    );
    println!("R5 holds; `cargo test` tries all rules");
}
