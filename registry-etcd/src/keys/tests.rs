use proptest::prelude::*;

use super::*;
use crate::client::KeyEnd;

fn keys() -> Keys {
    Keys::new("registry", &Namespace::default())
}

fn service(text: &str) -> ServiceName {
    ServiceName::new(text).unwrap()
}

fn holds(range: &KeyRange, key: &[u8]) -> bool {
    match &range.end {
        KeyEnd::One => key == range.key,
        KeyEnd::Before(end) => *range.key <= *key && *key < **end,
    }
}

/// Names that are close to each other, so that prefixes have a chance to leak.
fn any_name() -> impl Strategy<Value = String> {
    prop_oneof!["[ab]([ab0._-]{0,3}[ab0])?", "[A-Za-z0-9]([A-Za-z0-9._-]{0,20}[A-Za-z0-9])?"]
}

fn any_id() -> impl Strategy<Value = InstanceId> {
    prop_oneof!["[ab]([ab.:-]{0,3}[ab:_])?", r"[A-Za-z0-9\[]([A-Za-z0-9._:@\[\]-]{0,20}[A-Za-z0-9_:@\[\]])?"]
        .prop_map(|id| InstanceId::new(id).unwrap())
}

fn any_version() -> impl Strategy<Value = Option<Version>> {
    proptest::option::of(any_name().prop_map(|name| Version::new(name).unwrap()))
}

fn any_key() -> impl Strategy<Value = ServiceKey> {
    prop_oneof![
        (any_id(), any_version()).prop_map(|(id, version)| ServiceKey::Record(Slot::new(id, version))),
        any_id().prop_map(ServiceKey::Override),
        any_id().prop_map(ServiceKey::Left),
    ]
}

fn encode(keys: &ServiceKeys, key: &ServiceKey) -> Vec<u8> {
    match key {
        ServiceKey::Record(slot) => keys.record(slot),
        ServiceKey::Override(id) => keys.override_of(id),
        ServiceKey::Left(id) => keys.left(id),
    }
}

#[test]
fn keys_look_as_the_contract_says() {
    let orders = keys().service(&service("orders"));
    let id = InstanceId::new("[::1]:80").unwrap();
    let version = Version::new("2").unwrap();
    let text = |key: Vec<u8>| String::from_utf8(key).unwrap();
    assert_eq!(
        text(orders.record_of(Some(&version), &id)),
        "registry/default/services/orders/v=2/inst/[::1]:80"
    );
    assert_eq!(text(orders.record_of(None, &id)), "registry/default/services/orders/v=-/inst/[::1]:80");
    assert_eq!(text(orders.override_of(&id)), "registry/default/services/orders/override/[::1]:80");
    assert_eq!(text(orders.left(&id)), "registry/default/services/orders/left/[::1]:80");
    assert_eq!(text(keys().claim(&service("orders"), &id)), "registry/default/claims/orders/[::1]:80");
}

#[test]
fn siblings_do_not_leak() {
    let demo = keys().service(&service("demo"));
    for sibling in ["demo-b", "Demo", "demo0", "demo.b", "dem"] {
        let key =
            encode(&keys().service(&service(sibling)), &ServiceKey::Left(InstanceId::new("a").unwrap()));
        assert!(!holds(&demo.all(), &key), "{sibling}");
        assert!(demo.parse(&key).is_err(), "{sibling}");
    }
}

#[test]
fn malformed_keys_are_told_apart_and_never_panic() {
    let demo = keys().service(&service("demo"));
    for bad in [
        &b""[..],
        b"v=1",
        b"v=1/inst",
        b"v=1/inst/",
        b"v=/inst/a",
        b"v=a b/inst/a",
        b"1/inst/a",
        b"v=1/inst/a/b/c/d/e/f",
        b"v=1/other/a",
        b"override/",
        b"override/a/b",
        b"left/.",
        b"\xff\xfe",
        b"v=1/inst/\xff",
        b"unknown/a",
        b"//",
    ] {
        let key = [b"registry/default/services/demo/", bad].concat();
        assert!(demo.parse(&key).is_err(), "{:?}", shown(&key));
    }
    for bad in ["claims/a", "claims/a/b/c", "claims//b", "claims/a/", "services/a/b", ""] {
        assert!(keys().parse_claim(format!("registry/default/{bad}").as_bytes()).is_err(), "{bad:?}");
    }
}

proptest! {
    #[test]
    fn what_was_encoded_is_decoded(name in any_name(), key in any_key()) {
        let keys = keys().service(&service(&name));
        prop_assert_eq!(keys.parse(&encode(&keys, &key)), Ok(key));
    }

    #[test]
    fn a_claim_is_decoded(name in any_name(), id in any_id()) {
        let service = service(&name);
        let key = keys().claim(&service, &id);
        prop_assert!(holds(&keys().claims(), &key));
        prop_assert_eq!(keys().parse_claim(&key), Ok((service, id)));
    }

    #[test]
    fn the_range_of_a_holds_the_keys_of_b_only_if_they_are_one(a in any_name(), b in any_name(), key in any_key()) {
        let (range, same) = (keys().service(&service(&a)).all(), a == b);
        prop_assert_eq!(holds(&range, &encode(&keys().service(&service(&b)), &key)), same);
    }

    #[test]
    fn the_range_of_a_version_holds_its_records_and_nothing_else(version in any_name(), key in any_key()) {
        let version = Version::new(version).unwrap();
        let keys = keys().service(&service("demo"));
        let its = matches!(&key, ServiceKey::Record(slot) if slot.version.as_ref() == Some(&version));
        prop_assert_eq!(holds(&keys.version(&version), &encode(&keys, &key)), its);
        prop_assert_eq!(holds(&keys.overrides(), &encode(&keys, &key)), matches!(key, ServiceKey::Override(_)));
    }

    #[test]
    fn a_range_ends_where_its_last_byte_plus_one_begins(name in any_name()) {
        let range = keys().service(&service(&name)).all();
        let mut end = range.key.clone();
        *end.last_mut().unwrap() += 1;
        prop_assert_eq!(range.end, KeyEnd::Before(end));
    }

    #[test]
    fn any_bytes_are_read_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let keys = keys().service(&service("demo"));
        let _ = keys.parse(&bytes);
        let _ = keys.parse(&[&keys.all().key[..], &bytes].concat());
    }
}
