//! A: the order of changes, and time.

use registry_core::{Lineage, Override, Revision};
use tokio::time::Instant;

use crate::case::Case;
use crate::watched::Watched;
use crate::words::{id, service, spec};

/// A1: every acknowledged change has a revision, and each lies after the one before.
pub async fn a1_revisions_rise_with_every_change(case: &Case) {
    let a = case.up("orders", "a").await;
    let b = case.up("orders", "b").await;
    let updated = case.registry.update(&a.lease, spec(81)).await.expect("an update");
    let operator = Override::weight(1, "test", "A1");
    let imposed =
        case.registry.set_override(&service("orders"), &id("a"), Some(operator)).await.expect("an override");
    let lifted = case.registry.set_override(&service("orders"), &id("a"), None).await.expect("its removal");
    let gone = case.registry.deregister(&b.lease).await.expect("a deregistration").expect("it was there");
    let order = [a.revision, b.revision, updated, imposed, lifted, gone];
    for pair in order.windows(2) {
        assert!(pair[1].is_after(pair[0]), "{:?} came after {:?}", pair[1], pair[0]);
    }
    let again = case.up("orders", "b").await;
    assert!(again.revision.is_after(gone), "a revision comes back");
    let snapshot = case.discover("orders").await;
    assert!(snapshot.revision >= again.revision, "a snapshot older than what was acknowledged");
}

/// A1: the revision that a call answers is the one that watchers see its change at.
pub async fn a1_watchers_see_a_change_at_its_acknowledged_revision(case: &Case) {
    let mut watched = case.watch("orders").await;
    let a = case.up("orders", "a").await;
    assert_eq!(revision_of_next(&mut watched).await, a.revision);
    let updated = case.registry.update(&a.lease, spec(81)).await.expect("an update");
    assert_eq!(revision_of_next(&mut watched).await, updated);
    let gone = case.registry.deregister(&a.lease).await.expect("a deregistration").expect("it was there");
    assert_eq!(revision_of_next(&mut watched).await, gone);
}

async fn revision_of_next(watched: &mut Watched) -> Revision {
    watched.next_change().await;
    watched.state().revision
}

/// A1: revisions that concurrent writers are answered are all different.
pub async fn a1_concurrent_changes_have_revisions_of_their_own(case: &Case) {
    let registrations: Vec<_> = (0..32).map(|n| case.registration("orders", &format!("i{n}"))).collect();
    let calls = registrations.iter().map(|registration| case.register(registration));
    let mut numbers: Vec<_> =
        futures::future::join_all(calls).await.iter().map(|answer| answer.revision.number()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    assert_eq!(numbers.len(), registrations.len(), "two changes share a revision");
}

/// A2: revisions of two lineages have no order, and a backend's own changes are of one.
pub async fn a2_lineages_do_not_compare(case: &Case) {
    let a = case.up("orders", "a").await;
    let b = case.up("bills", "b").await;
    assert_eq!(a.revision.lineage(), b.revision.lineage(), "one history, two lineages");
    let lineage = a.revision.lineage();
    for elsewhere in [lineage.broken(), Lineage::new(lineage.origin().wrapping_add(1))] {
        let other = Revision::new(elsewhere, a.revision.number() + 1);
        assert_eq!(other.partial_cmp(&a.revision), None);
        assert!(!other.is_after(a.revision) && !a.revision.is_after(other));
    }
}

/// A3: deadlines are told on the clock that tests control, from when the request was sent.
pub async fn a3_deadlines_are_told_on_the_clock_of_the_runtime(case: &Case) {
    let sent = Instant::now();
    let a = case.up("orders", "a").await;
    let answered = Instant::now();
    assert!(a.deadline >= sent + a.ttl.get(), "the deadline is earlier than sent + TTL");
    assert!(a.deadline <= answered + a.ttl.get(), "the deadline is later than answered + TTL");
}
