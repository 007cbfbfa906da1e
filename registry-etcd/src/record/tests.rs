use std::time::Duration;

use proptest::prelude::*;
use registry_core::{
    InstanceId, InstanceSpec, Lineage, Namespace, Override, OverrideStatus, OwnerToken, Revision,
    ServiceName, Slot, Version,
};

use super::*;
use crate::client::Kv;
use crate::keys::{Keys, ServiceKeys};

fn keys() -> ServiceKeys {
    Keys::new("registry", &Namespace::default()).service(&ServiceName::new("demo").unwrap())
}

fn id(text: &str) -> InstanceId {
    InstanceId::new(text).unwrap()
}

fn lineage() -> Lineage {
    Lineage::new(7)
}

fn kv(key: Vec<u8>, value: &[u8], lease: i64) -> Kv {
    Kv { key, value: value.to_vec(), create_revision: 3, mod_revision: 5, lease: LeaseId::from_wire(lease) }
}

fn body(id: &InstanceId) -> Vec<u8> {
    let instance = InstanceSpec::new("http://h:1".parse().unwrap());
    registry_core::record::encode(id, &instance).unwrap()
}

#[test]
fn a_service_is_read_from_its_keys_and_what_is_bad_fails_nothing() {
    let keys = keys();
    let (a, b) = (Slot::new(id("a"), None), Slot::new(id("b"), Some(Version::new("2").unwrap())));
    let setting = Override::status(OverrideStatus::Disabled, "me", "test").lasting(Duration::from_mins(10));
    let base = keys.all().key;
    let kvs = [
        kv(keys.record(&a), &body(&a.id), -9),
        kv(keys.record(&b), &body(&a.id), 2),
        kv(keys.record(&Slot::new(id("no-lease"), None)), &body(&id("no-lease")), 0),
        kv(keys.record(&Slot::new(id("junk"), None)), b"\xff", 2),
        kv(keys.override_of(&id("x")), &encode_override(&setting).unwrap(), 4),
        kv(keys.override_of(&id("y")), b"[]", 4),
        kv(keys.left(&id("gone")), LEFT, 2),
        kv([&base[..], b"v=1/inst/a/b"].concat(), b"", 2),
    ];
    let raw = raw_state(&keys, Revision::new(lineage(), 11), &kvs);
    assert_eq!(raw.revision.number(), 11);
    let read: Vec<_> =
        raw.records.iter().map(|r| (r.slot(), lease(r.generation), r.revision.number())).collect();
    assert_eq!(read, [(a, LeaseId(-9), 5), (b.clone(), LeaseId(2), 5)]);
    assert!(raw.records[1].corrected.as_ref().is_some_and(|r| r.served && r.slot == Some(b)), "the key wins");
    assert_eq!(*raw.overrides[&id("x")].value, setting);
    assert_eq!(raw.overrides.len(), 1);
    let whose: Vec<_> =
        raw.rejected.iter().map(|r| r.slot.as_ref().map(|slot| slot.id.to_string())).collect();
    assert_eq!(whose, [Some("no-lease".into()), Some("junk".into()), None, None]);
    assert!(raw.rejected.iter().all(|r| !r.served));
}

#[test]
fn claims_tell_owner_and_version_and_keep_to_the_schema_rule() {
    let owner = OwnerToken::random();
    for version in [None, Some(Version::new("2").unwrap())] {
        let claim = Claim { owner, version };
        assert_eq!(Claim::decode(&claim.encode().unwrap()).unwrap(), claim);
    }
    let uuid = "6f0b5b7e-0000-4000-8000-000000000001";
    let text = format!(r#"{{"schema":1,"owner":"{uuid}","more":[1]}}"#);
    assert!(Claim::decode(text.as_bytes()).is_ok(), "unknown fields are passed over");
    let newer = |rest: &str| Claim::decode(format!(r#"{{"schema":2,"owner":"{uuid}"{rest}}}"#).as_bytes());
    assert_eq!(newer("").unwrap_err().kind(), &ErrorKind::Unsupported);
    assert!(newer(r#","min_reader":1"#).is_ok());
    let foreign = Claim::decode(br#"{"schema":3,"holder":1}"#);
    assert_eq!(foreign.unwrap_err().kind(), &ErrorKind::Unsupported, "not called malformed");
    for bad in [
        &b""[..],
        b"[]",
        b"{}",
        br#"{"schema":0,"owner":"x"}"#,
        br#"{"schema":1}"#,
        br#"{"schema":1,"owner":"x"}"#,
        b"\xff",
        &vec![b'['; 2 << 20],
    ] {
        assert!(Claim::decode(bad).is_err());
    }
}

#[test]
fn an_override_without_effect_is_refused_as_malformed() {
    let kv = kv(keys().override_of(&id("a")), br#"{"schema":1,"by":"me"}"#, 0);
    assert!(read_override(&kv, lineage()).unwrap_err().reason.contains("override"));
}

#[test]
fn generations_are_leases_whatever_their_sign() {
    for number in [1, -1, i64::MIN, i64::MAX] {
        assert_eq!(lease(generation(LeaseId(number))), LeaseId(number));
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Claim::decode(&bytes);
        let _ = setting::decode_override(&bytes);
    }

    #[test]
    fn an_override_is_decoded(weight in any::<u32>(), by in "[ -~]{0,20}", reason in "[ -~]{0,20}", life in proptest::option::of(1u64..1_000_000)) {
        let mut value = Override::weight(weight, by, reason);
        value.life = life.map(Duration::from_millis);
        prop_assert_eq!(setting::decode_override(&encode_override(&value).unwrap()).unwrap(), value);
    }
}
