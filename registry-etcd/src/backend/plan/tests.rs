use registry_core::{Generation, InstanceId, InstanceSpec, Lineage, Namespace, OwnerToken, Revision};
use registry_core::{Result, ServiceName, Takeover, Version};

use super::super::place::Place;
use super::super::standing::{ClaimAt, RecordAt, Standing};
use super::*;
use crate::client::{Kv, Txn};
use crate::keys::Keys;
use crate::record::Claim;

const ME: LeaseId = LeaseId(1);
const OTHER: LeaseId = LeaseId(2);
const STRANGER: LeaseId = LeaseId(3);

struct World {
    place: Place,
    me: OwnerToken,
    other: OwnerToken,
}

fn world() -> World {
    let keys = Keys::new("r", &Namespace::default());
    let place = Place::new(&keys, &ServiceName::new("s").unwrap(), &InstanceId::new("a").unwrap());
    World { place, me: OwnerToken::random(), other: OwnerToken::random() }
}

fn version(text: &str) -> Option<Version> {
    (text != "-").then(|| Version::new(text).unwrap())
}

fn body() -> Vec<u8> {
    let instance = InstanceSpec::new("http://h:1".parse().unwrap());
    registry_core::record::encode(&InstanceId::new("a").unwrap(), &instance).unwrap()
}

fn empty() -> Standing {
    Standing { revision: Revision::new(Lineage::new(1), 100), claim: None, records: Vec::new(), left: None }
}

impl World {
    fn claim(owner: OwnerToken, under: &str) -> Vec<u8> {
        Claim { owner, version: version(under) }.encode().unwrap()
    }

    fn claim_at(&self, value: Vec<u8>, lease: Option<LeaseId>) -> ClaimAt {
        let key = self.place.claim();
        ClaimAt::new(Kv { key, value, create_revision: 5, mod_revision: 7, lease })
    }

    fn record_at(&self, under: &str, value: &[u8], lease: Option<LeaseId>) -> RecordAt {
        let (version, value) = (version(under), value.to_vec());
        let key = self.place.record(version.as_ref());
        RecordAt { version, kv: Kv { key, value, create_revision: 5, mod_revision: 8, lease } }
    }

    /// Held by `owner` under `lease`, all in order.
    fn held(&self, owner: OwnerToken, lease: LeaseId, under: &str) -> Standing {
        let claim = Some(self.claim_at(Self::claim(owner, under), Some(lease)));
        Standing { claim, records: vec![self.record_at(under, &body(), Some(lease))], ..empty() }
    }

    fn register(&self, takeover: Takeover, standing: &Standing) -> Result<(Vec<String>, Option<LeaseId>)> {
        let claim = Self::claim(self.me, "-");
        let register = Register {
            place: &self.place,
            lease: ME,
            owner: self.me,
            takeover,
            version: None,
            claim: &claim,
            record: &body(),
        };
        let takes = register.next(standing)?;
        Ok((told(&takes.txn), takes.replaced))
    }

    fn update(&self, under: &str, standing: &Standing, last: Option<&str>) -> Result<Vec<String>> {
        let target = version(under);
        let last = last.map(version);
        let (place, record) = (&self.place, body());
        let update = Update { place, lease: ME, owner: self.me, version: target.as_ref(), record: &record };
        let writes = update.found(standing, last.as_ref())?;
        Ok(told(&writes.txn))
    }

    fn leave(&self, standing: &Standing, last: Option<&str>) -> Option<Vec<String>> {
        let last = last.map(version);
        let leave = Leave { place: &self.place, lease: ME, mark: true };
        leave.found(standing, last.as_ref()).map(|txn| told(&txn))
    }
}

/// A transaction in one line each: `claim@7` compared, `+claim` put, `-v=2` deleted.
fn told(txn: &Txn) -> Vec<String> {
    let short = |key: &[u8]| {
        let key = String::from_utf8(key.to_vec()).unwrap();
        let parts: Vec<_> = key.split('/').collect();
        match parts[2] {
            "claims" => "claim".to_owned(),
            _ => parts[4].to_owned(),
        }
    };
    let compared = txn.compare.iter().map(|compare| match compare {
        Compare::Absent(key) => format!("{}@none", short(key)),
        Compare::ModRevision(key, revision) => format!("{}@{revision}", short(key)),
        Compare::Lease(key, lease) => format!("{} under {lease}", short(key)),
    });
    let done = txn.success.iter().map(|op| match op {
        Op::Put { key, lease, .. } => {
            assert_eq!(*lease, Some(ME), "everything stands under the own lease");
            format!("+{}", short(key))
        }
        Op::Delete { key } => format!("-{}", short(key)),
        Op::Get { .. } => panic!("{op:?}"),
    });
    compared.chain(done).collect()
}

fn kind<T: std::fmt::Debug>(result: Result<T>) -> ErrorKind {
    result.unwrap_err().kind().clone()
}

#[test]
fn a_living_id_of_another_owner_is_refused_and_replaced_only_as_the_takeover_says() {
    let world = world();
    let held = world.held(world.other, OTHER, "-");
    let exists = ErrorKind::AlreadyExists { generation: Generation::new(2) };
    assert_eq!(kind(world.register(Takeover::Never, &held)), exists);
    assert_eq!(kind(world.register(Takeover::If(Generation::new(9)), &held)), exists);
    for takeover in [Takeover::If(Generation::new(2)), Takeover::Always] {
        let (txn, replaced) = world.register(takeover, &held).unwrap();
        assert_eq!(txn, ["claim@7", "v=-@8", "+claim", "+v=-"]);
        assert_eq!(replaced, Some(OTHER));
    }
}

#[test]
fn a_repeat_of_the_same_owner_moves_everything_to_the_new_lease_in_one_step() {
    let world = world();
    let (txn, replaced) = world.register(Takeover::Never, &world.held(world.me, OTHER, "-")).unwrap();
    assert_eq!(
        (txn, replaced),
        (["claim@7", "v=-@8", "+claim", "+v=-"].map(String::from).into(), Some(OTHER))
    );
    let mut moved = world.held(world.me, OTHER, "2");
    let (txn, _) = world.register(Takeover::Never, &moved).unwrap();
    assert_eq!(txn, ["claim@7", "v=-@none", "+claim", "+v=-", "-v=2"]);
    // The lease that was granted for this very call is never revoked.
    moved.claim = Some(world.claim_at(World::claim(world.me, "-"), Some(ME)));
    assert_eq!(world.register(Takeover::Never, &moved).unwrap().1, None);
}

#[test]
fn what_proves_no_ownership_is_written_over() {
    let world = world();
    let foreign = Standing { records: vec![world.record_at("-", b"junk", Some(STRANGER))], ..empty() };
    let (txn, replaced) = world.register(Takeover::Never, &foreign).unwrap();
    assert_eq!((txn, replaced), (["claim@none", "v=-@8", "+claim", "+v=-"].map(String::from).into(), None));
    let leaseless = Standing { claim: Some(world.claim_at(World::claim(world.other, "-"), None)), ..empty() };
    assert!(world.register(Takeover::Never, &leaseless).is_ok());
    let unreadable = Standing { claim: Some(world.claim_at(b"junk".to_vec(), Some(STRANGER))), ..empty() };
    assert!(matches!(kind(world.register(Takeover::Never, &unreadable)), ErrorKind::AlreadyExists { .. }));
    assert_eq!(world.register(Takeover::Always, &unreadable).unwrap().1, Some(STRANGER));
}

#[test]
fn what_is_of_a_newer_schema_is_never_written_over() {
    let world = world();
    let newer = br#"{"schema":99,"new":true}"#;
    let record = Standing { records: vec![world.record_at("-", newer, Some(STRANGER))], ..empty() };
    assert_eq!(kind(world.register(Takeover::Always, &record)), ErrorKind::Unsupported);
    let elsewhere = Standing {
        records: vec![world.record_at("2", newer, Some(OTHER))],
        ..world.held(world.other, OTHER, "2")
    };
    assert_eq!(kind(world.register(Takeover::Always, &elsewhere)), ErrorKind::Unsupported);
    let claim = Standing { claim: Some(world.claim_at(newer.to_vec(), Some(OTHER))), ..empty() };
    assert_eq!(kind(world.register(Takeover::Always, &claim)), ErrorKind::Unsupported);
    let mut mine = world.held(world.me, ME, "-");
    mine.records = vec![world.record_at("-", newer, Some(STRANGER))];
    assert_eq!(kind(world.update("-", &mine, Some("-"))), ErrorKind::Unsupported);
}

#[test]
fn an_update_writes_what_differs_and_nothing_else() {
    let world = world();
    let mine = world.held(world.me, ME, "-");
    assert_eq!(world.update("-", &mine, Some("-")).unwrap(), ["claim@7"], "all is as it should be");
    assert_eq!(world.update("2", &mine, Some("-")).unwrap(), ["claim@7", "+claim", "+v=2", "-v=-"]);
    let gone = Standing { records: Vec::new(), ..mine.clone() };
    assert_eq!(world.update("-", &gone, None).unwrap(), ["claim@7", "+v=-"]);
    let moved = Standing { records: vec![world.record_at("-", &body(), Some(STRANGER))], ..mine.clone() };
    assert_eq!(
        world.update("-", &moved, None).unwrap(),
        ["claim@7", "+v=-"],
        "the same body under another lease"
    );
}

#[test]
fn the_claim_decides_what_an_update_may_do() {
    let world = world();
    for successor in [world.other, world.me] {
        let held = world.held(successor, OTHER, "-");
        assert_eq!(kind(world.update("-", &held, Some("-"))), ErrorKind::Fenced);
    }
    let record = || vec![world.record_at("-", &body(), Some(ME))];
    let vanished = Standing { records: record(), ..empty() };
    assert_eq!(world.update("-", &vanished, Some("-")).unwrap(), ["claim@none", "left@none", "+claim"]);
    assert_eq!(
        world.update("2", &vanished, Some("-")).unwrap(),
        ["claim@none", "left@none", "+claim", "+v=2", "-v=-"],
        "the record that was written last is known without the claim"
    );
    for claim in [
        world.claim_at(b"junk".to_vec(), Some(STRANGER)),
        world.claim_at(World::claim(world.other, "-"), None),
        world.claim_at(b"junk".to_vec(), Some(ME)),
    ] {
        let damaged = Standing { claim: Some(claim), records: record(), ..empty() };
        assert_eq!(world.update("-", &damaged, Some("-")).unwrap(), ["claim@7", "+claim"]);
    }
}

#[test]
fn an_update_brings_back_nothing_that_was_deregistered() {
    let world = world();
    let left = Standing { left: Some(ME), ..empty() };
    assert_eq!(kind(world.update("-", &left, Some("-"))), ErrorKind::NotRegistered);
    // An older generation's mark, whose revoke was lost, says nothing about this one.
    let older = Standing { left: Some(OTHER), ..empty() };
    assert_eq!(
        world.update("-", &older, Some("-")).unwrap(),
        ["claim@none", "left under 2", "+claim", "+v=-"]
    );
}

#[test]
fn a_deregistration_removes_its_own_generation_and_nothing_else() {
    let world = world();
    let step = ["claim@7", "v=2@8", "-v=2", "-claim", "+left"];
    assert_eq!(world.leave(&world.held(world.me, ME, "2"), None).unwrap(), step);
    assert_eq!(world.leave(&world.held(world.other, OTHER, "2"), Some("2")), None);
    assert_eq!(world.leave(&world.held(world.me, OTHER, "2"), Some("2")), None, "its own successor");
    assert_eq!(world.leave(&empty(), Some("2")), None);

    let record = |lease| Standing { records: vec![world.record_at("2", &body(), Some(lease))], ..empty() };
    assert_eq!(world.leave(&record(ME), Some("2")).unwrap(), ["claim@none", "v=2@8", "-v=2", "+left"]);
    assert_eq!(world.leave(&record(OTHER), Some("2")), None, "a record under another lease, without a claim");
    let junk = Standing { claim: Some(world.claim_at(b"junk".to_vec(), None)), ..record(ME) };
    assert_eq!(world.leave(&junk, Some("2")).unwrap(), ["claim@7", "v=2@8", "-v=2", "+left"]);
}

#[test]
fn from_what_was_written_last_one_step_is_enough() {
    let world = world();
    let written = Written { claim_revision: 7, record_revision: 8, version: version("2") };
    let (place, record, same, other) = (&world.place, body(), version("2"), version("3"));
    let update = |version| Update { place, lease: ME, owner: world.me, version, record: &record };
    let step = |update: Update<'_>, equal| told(&update.known(&written, equal).unwrap().txn);
    assert_eq!(step(update(same.as_ref()), true), ["claim under 1", "claim@7", "v=2@8"], "nothing is put");
    assert_eq!(step(update(same.as_ref()), false), ["claim under 1", "claim@7", "+v=2"]);
    assert_eq!(
        step(update(other.as_ref()), false),
        ["claim under 1", "claim@7", "v=3@none", "-v=2", "+claim", "+v=3"]
    );
    let leave = |mark| told(&Leave { place, lease: ME, mark }.known(&written));
    assert_eq!(leave(true), ["claim under 1", "claim@7", "-v=2", "-claim", "+left"]);
    assert_eq!(leave(false), ["claim under 1", "claim@7", "-v=2", "-claim"]);
}
