use registry_core::{InstanceId, Lineage, Namespace, OwnerToken, Revision, ServiceName};

use super::*;
use crate::backend::standing::RecordAt;
use crate::client::Kv;
use crate::keys::Keys;
use crate::record::Claim;

const MINE: LeaseId = LeaseId(1);
const OTHER: LeaseId = LeaseId(2);

fn claim(owner: OwnerToken) -> Vec<u8> {
    Claim { owner, version: None }.encode().unwrap()
}

fn at(number: u64) -> Revision {
    Revision::new(Lineage::new(1), number)
}

fn put(claim: (Vec<u8>, u64), record: (Vec<u8>, u64), now: u64) -> Put {
    Put { revision: at(now), version: None, claim, record }
}

fn own(owner: OwnerToken) -> Own {
    let keys = Keys::new("r", &Namespace::default());
    let place = Place::new(&keys, &ServiceName::new("s").unwrap(), &InstanceId::new("a").unwrap());
    let deadline = Instant::now() + Duration::from_secs(5);
    Own::new(
        place,
        MINE,
        put((claim(owner), 10), (b"body".to_vec(), 10), 10),
        Duration::from_secs(5),
        deadline,
    )
}

fn kv(value: &[u8], lease: LeaseId, revision: u64) -> Kv {
    Kv {
        key: Vec::new(),
        value: value.to_vec(),
        create_revision: 1,
        mod_revision: revision,
        lease: Some(lease),
    }
}

#[tokio::test]
async fn a_claim_of_another_fences_and_one_from_before_its_own_write_does_not() {
    let own = own(OwnerToken::random());
    let rival = |revision| ClaimAt::new(kv(&claim(OwnerToken::random()), OTHER, revision));
    assert!(!own.claim_event(at(9), Some(&rival(9))));
    assert!(own.over().is_none() && own.is_intact());
    assert!(own.claim_event(at(11), Some(&rival(11))));
    assert_eq!(own.over(), Some(Over::Fenced));
}

#[tokio::test]
async fn what_is_no_claim_of_another_is_damage() {
    let token = OwnerToken::random();
    let own = own(token);
    assert!(!own.claim_event(at(11), Some(&ClaimAt::new(kv(b"junk", OTHER, 11)))));
    assert!(own.over().is_none() && !own.is_intact());
    own.write().done(put((claim(token), 12), (b"body".to_vec(), 10), 12));
    assert!(own.is_intact());
    own.record_event(at(13), None);
    assert!(!own.is_intact() && own.written(b"body").is_none());
}

#[tokio::test]
async fn a_write_under_way_is_no_damage_and_one_of_unknown_outcome_is() {
    let token = OwnerToken::random();
    let own = own(token);
    let writing = own.write();
    own.record_event(at(11), Some(&kv(b"new", MINE, 11)));
    assert!(own.is_intact(), "it may be its own");
    writing.done(put((claim(token), 10), (b"new".to_vec(), 11), 11));
    assert!(own.is_intact());
    assert!(own.written(b"new").is_some_and(|(written, equal)| equal && written.record_revision == 11));

    own.write().refused();
    assert!(own.is_intact());
    drop(own.write());
    assert!(!own.is_intact(), "dropped in flight");
    own.write().done(put((claim(token), 10), (b"new".to_vec(), 11), 12));
    assert!(own.is_intact(), "a later write that went through settles it");
}

#[tokio::test]
async fn a_strangers_write_after_its_own_in_flight_stays_damage() {
    let token = OwnerToken::random();
    let own = own(token);
    let writing = own.write();
    own.record_event(at(11), Some(&kv(b"new", MINE, 11)));
    own.record_event(at(12), None);
    writing.done(put((claim(token), 10), (b"new".to_vec(), 11), 11));
    assert!(!own.is_intact());
}

#[tokio::test]
async fn what_is_found_after_a_gap_counts_as_if_it_had_been_heard() {
    let token = OwnerToken::random();
    let standing = |owner, lease, record: Option<&[u8]>| Standing {
        revision: Revision::new(Lineage::new(2), 5),
        claim: Some(ClaimAt::new(kv(&claim(owner), lease, 4))),
        records: record
            .map(|value| RecordAt { version: None, kv: kv(value, lease, 4) })
            .into_iter()
            .collect(),
        left: None,
    };
    let own = own(token);
    assert!(!own.found(&standing(token, MINE, Some(b"body"))));
    assert!(own.is_intact());
    assert!(!own.found(&standing(token, MINE, None)));
    assert!(!own.is_intact());
    assert!(own.found(&standing(token, OTHER, Some(b"body"))), "its own successor");
    assert_eq!(own.over(), Some(Over::Fenced));
}

#[tokio::test]
async fn a_write_in_another_history_begins_anew() {
    let token = OwnerToken::random();
    let own = own(token);
    let revision = Revision::new(Lineage::new(1).broken(), 3);
    let newer = Put { revision, ..put((claim(token), 3), (b"new".to_vec(), 3), 3) };
    own.record_event(at(99), None);
    own.write().done(newer);
    assert!(own.is_intact());
    assert!(own.written(b"new").is_some_and(|(written, equal)| equal && written.record_revision == 3));
    own.record_event(at(100), None);
    assert!(own.is_intact(), "a late event of the history that is gone");
}

#[tokio::test]
async fn once_deregistered_it_stays_so_whatever_comes() {
    let own = own(OwnerToken::random());
    own.leave();
    own.claim_event(at(20), Some(&ClaimAt::new(kv(&claim(OwnerToken::random()), OTHER, 20))));
    assert_eq!(own.over(), Some(Over::Left));
}

#[tokio::test(start_paused = true)]
async fn the_time_left_is_that_of_the_latest_heartbeat() {
    let own = own(OwnerToken::random());
    own.prolong(Instant::now() + Duration::from_secs(9));
    own.prolong(Instant::now() + Duration::from_secs(2));
    tokio::time::advance(Duration::from_secs(4)).await;
    assert_eq!(own.time_left(), Duration::from_secs(5));
}
