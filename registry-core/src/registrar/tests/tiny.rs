//! A TTL too short to be kept must not cost more than the instance.

use std::sync::mpsc;

use tokio::runtime::Builder;

use super::double::Double;
use super::*;
use crate::ttl::Ttl;

/// Whether a task beside a registrar of this TTL gets its turn, with a registry that never waits.
fn lives(ttl: Duration, busy: Duration, paused: bool) -> bool {
    let (done, finished) = mpsc::channel();
    // A frozen runtime cannot be left: it is watched from outside.
    std::thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_time().start_paused(paused).build().unwrap();
        runtime.block_on(async {
            let double = Double::new();
            double.busy(busy);
            // It keeps what beats too late, so that there is always a heartbeat to send.
            double.merciful();
            let config = config().with_ttl(Ttl::new(ttl).unwrap());
            let registrar = Registrar::start_in_background(Arc::clone(&double) as _, config).unwrap();
            pass(millis(50)).await;
            assert!(!double.calls("heartbeat").is_empty());
            registrar.close().await;
        });
        let _ = done.send(());
    });
    finished.recv_timeout(secs(20)).is_ok()
}

#[test]
fn a_tiny_ttl_leaves_its_runtime_alive() {
    for nanos in [1, 1_000, 100_000, 1_000_000] {
        assert!(lives(Duration::from_nanos(nanos), Duration::ZERO, true), "{nanos} ns: frozen");
    }
}

/// The next heartbeat is due whenever one was answered: in real time, for that takes real work.
#[test]
fn a_registry_that_is_slower_than_the_heartbeats_and_never_waits_leaves_its_runtime_alive() {
    assert!(lives(millis(1), millis(2), false), "frozen");
}
