//! R: registering.

use registry_core::{ErrorKind, OwnerToken};

use crate::case::Case;
use crate::refused;
use crate::words::spec;

/// R4: granted TTL, generation and revision come back, and are what readers see.
pub async fn r4_the_answer_tells_what_was_granted(case: &Case) {
    let asked = case.registration("orders", "a");
    let answer = case.register(&asked).await;
    assert!(answer.ttl >= asked.ttl, "{} was asked, {} granted", asked.ttl, answer.ttl);
    let snapshot = case.discover("orders").await;
    let instance = snapshot.get(&asked.id).expect("R2: what was acknowledged is listed");
    assert_eq!(instance.generation, answer.generation());
    assert_eq!(instance.revision, answer.revision);
    assert_eq!(*instance.own, asked.instance);
}

/// R5: a rival is told whose it is, and nothing changes.
pub async fn r5_live_id_of_another_owner_is_refused(case: &Case) {
    let owner = case.up("orders", "a").await;
    let mut watched = case.watch("orders").await;
    let mut rival = case.registration("orders", "a").with_owner(OwnerToken::random());
    rival.instance = spec(81);
    let error = refused!(case.registry.register(rival).await, ErrorKind::AlreadyExists { .. });
    assert_eq!(error.kind(), &ErrorKind::AlreadyExists { generation: owner.generation() });
    watched.quiet(case.timing.eps).await;
    case.registry.heartbeat(&owner.lease).await.expect("the owner lives on");
}
