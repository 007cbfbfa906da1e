//! A backend of one's own, certified: ten lines give one named test for every rule of the contract.
//!
//! `cargo test -p registry-tests --example certify_a_backend`

mod backend;

use std::sync::Arc;

use backend::Counted;
use registry_core::ServiceDiscovery;
use registry_testkit::suite::{Clock, run};
use registry_testkit::{Harness, conformance};

struct Mine;

impl Harness for Mine {
    type Guard = ();
    async fn fresh() -> (Arc<dyn ServiceDiscovery>, ()) {
        (Arc::new(Counted::new()), ())
    }
}

conformance!(paused: Mine);

fn main() {
    run::<Mine>(Clock::Paused, "r5_live_id_of_another_owner_is_refused");
    println!("R5 holds; `cargo test` tries every rule");
}
