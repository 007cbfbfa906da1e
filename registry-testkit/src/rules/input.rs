//! The table of bad input, row by row: I1 to I10.

use std::time::Duration;

use registry_core::record::{self, decode, encode};
use registry_core::{
    Endpoint, ErrorKind, Host, InstanceId, InstanceSpec, Metadata, Namespace, ServiceName, Slot, Ttl, Version,
};

use crate::case::Case;
use crate::refused;
use crate::words::{id, invalid_field, spec, tagged, version};

/// Names that no backend may ever see.
const BAD_NAMES: [&str; 19] = [
    "",
    ".",
    "..",
    "a/b",
    "/a",
    "a\\b",
    "a%2Fb",
    "a\0",
    "a\u{7}",
    "a\n",
    "a\u{202e}b",
    "\u{200f}a",
    "h\u{e9}llo",
    "\u{65e5}\u{672c}",
    "a b",
    " a",
    "-a",
    "a.",
    "_a",
];

/// I1: bad services, versions and namespaces are refused by name of the field; good ones are kept as they are.
pub async fn i1_bad_names_are_refused(case: &Case) {
    let long = "a".repeat(254);
    for bad in BAD_NAMES.iter().chain([&long.as_str()]) {
        for (field, refusal) in [
            ("service", ServiceName::new(bad).err()),
            ("version", Version::new(bad).err()),
            ("namespace", Namespace::new(bad).err()),
        ] {
            let error = refusal.unwrap_or_else(|| panic!("{bad:?} was taken as a {field}"));
            assert_eq!(invalid_field(&error), Some(field), "{bad:?}");
        }
    }
    assert!(Version::new("-").is_err(), "the version `-` is reserved");
    let longest = "a".repeat(253);
    for good in ["a", "EchoService", "user-admin", "a.b", "a_b", "0", "v", "inst", "claims", longest.as_str()]
    {
        let registered = case.up(good, "a").await;
        assert_eq!(case.ids(good).await, ["a"], "{good}");
        case.down(&registered.lease).await;
    }
}

/// I2: bad ids are refused, addresses are ids; each is its own instance.
pub async fn i2_bad_ids_are_refused_and_addresses_are_ids(case: &Case) {
    let long = "a".repeat(129);
    let bad = BAD_NAMES.iter().filter(|name| **name != "_a").copied().chain([
        long.as_str(),
        ":a",
        "a-",
        "]a",
        "@a",
    ]);
    for bad in bad {
        let error = InstanceId::new(bad).expect_err(bad);
        assert_eq!(invalid_field(&error), Some("id"), "{bad:?}");
    }
    let longest = "a".repeat(128);
    let mut good = ["10.0.0.1:80", "[::1]:80", "a@b", "a:", "a_", "A", "a", "0", "a]", longest.as_str()];
    for instance in good {
        case.up("orders", instance).await;
    }
    good.sort_unstable();
    assert_eq!(case.ids("orders").await, good);
}

/// I3: what looks like a secret is refused, unless the caller says that everybody may read it.
pub async fn i3_secrets_are_refused_in_metadata(case: &Case) {
    let mut allowed = Metadata::new();
    for (key, value) in [
        ("password", "x"),
        ("db-password", "x"),
        ("db_passwd", "x"),
        ("my.Secret", "x"),
        ("TOKEN", "x"),
        ("apikey", "x"),
        ("cert", "-----BEGIN RSA PRIVATE KEY-----"),
        ("header", "Bearer abc"),
    ] {
        let error = Metadata::new().insert(key, value).expect_err(key);
        assert_eq!(invalid_field(&error), Some(format!("metadata.{key}").as_str()));
        allowed.insert_public(key, value).expect("the caller says so");
    }
    allowed.insert("tokens", "x").expect("only the last word counts, and whole");
    let mut registration = case.registration("orders", "a");
    registration.instance = spec(80).with_metadata(allowed.clone());
    case.register(&registration).await;
    assert_eq!(case.discover("orders").await.instances[0].metadata(), &allowed);
}

/// I4: metadata keys are checked, values are kept byte for byte.
pub async fn i4_metadata_is_kept_byte_for_byte(case: &Case) {
    for key in ["", "a\nb", "\0"] {
        assert!(Metadata::new().insert(key, "x").is_err(), "{key:?}");
    }
    let mut metadata = Metadata::new();
    for (n, value) in
        ["", " ", "\0", "\u{202e}", "\u{fffd}", "\"\\/\u{8}\r\n\t", "\u{1f980}", "null", "<&>", "\u{2028}"]
            .iter()
            .enumerate()
    {
        metadata.insert(format!("k{n}"), *value).expect("a value");
    }
    metadata.insert("key with \u{e9}, \"quotes\" and = signs", "x").expect("a key");
    let mut registration = case.registration("orders", "a");
    registration.instance = spec(80).with_metadata(metadata.clone());
    case.register(&registration).await;
    assert_eq!(case.discover("orders").await.instances[0].metadata(), &metadata);
}

/// I4: a record above the limit is refused with both numbers, by register and by update.
pub async fn i4_a_record_too_large_is_refused(case: &Case) {
    let mut registration = case.registration("orders", "a");
    let good = registration.instance.clone();
    registration.instance = tagged("k", "x".repeat(1024 * 1024));
    let error = refused!(case.registry.register(registration.clone()).await, ErrorKind::TooLarge { .. });
    let ErrorKind::TooLarge { limit, actual } = *error.kind() else { unreachable!("it was just matched") };
    assert!(limit < actual && actual > 1024 * 1024, "limit {limit}, actual {actual}");
    assert!(case.ids("orders").await.is_empty());
    let a = case.register(&case.registration("orders", "a")).await;
    refused!(case.registry.update(&a.lease, registration.instance).await, ErrorKind::TooLarge { .. });
    assert_eq!(*case.discover("orders").await.instances[0].own, good);
}

/// I5: ports and hosts that nobody can dial are refused; IPv6 is kept canonical and printed with brackets.
pub async fn i5_hosts_and_ports_are_checked(case: &Case) {
    for bad in
        ["", "0.0.0.0", "::", "[::]", "user@host", "http://host", "a/b", "010.0.0.1", "0x7f.1", "127.1", "1"]
    {
        assert!(Host::new(bad).is_err(), "{bad:?} was taken as a host");
    }
    for bad in ["host:0", "host:65536", "host:-1", "host:", "host", "host:80x", "::1:80"] {
        assert!(bad.parse::<Endpoint>().is_err(), "{bad:?} was taken as an endpoint");
    }
    let endpoint: Endpoint = "http://[2001:DB8:0:0:0::1]:80".parse().expect("an endpoint");
    let mut registration = case.registration("orders", "a");
    registration.instance = InstanceSpec::new(endpoint);
    case.register(&registration).await;
    let listed = case.discover("orders").await;
    assert_eq!(listed.instances[0].endpoints()[0].to_string(), "http://[2001:db8::1]:80");
    assert_eq!(listed.instances[0].endpoints()[0].host().to_string(), "2001:db8::1");
}

/// I6: a TTL of nothing or of more than a day is refused; any other is granted or raised, and never overflows.
pub async fn i6_ttls_are_checked(case: &Case) {
    for bad in [Duration::ZERO, Duration::from_secs(86_401), Duration::MAX] {
        let error = Ttl::new(bad).expect_err("a bad TTL");
        assert_eq!(invalid_field(&error), Some("ttl"));
    }
    for (n, good) in
        [Duration::from_nanos(1), Duration::from_millis(1), Duration::from_hours(24)].into_iter().enumerate()
    {
        let asked = Ttl::new(good).expect("a TTL");
        let answer = case.register(&case.registration("orders", &format!("i{n}")).with_ttl(asked)).await;
        assert!(answer.ttl >= asked);
    }
}

/// I7: any weight is taken, and sums do not overflow.
pub async fn i7_any_weight_is_taken(case: &Case) {
    for (n, weight) in [0, 1, u32::MAX, u32::MAX, u32::MAX].into_iter().enumerate() {
        let mut registration = case.registration("orders", &format!("i{n}"));
        registration.instance = spec(80).with_weight(weight);
        case.register(&registration).await;
    }
    let snapshot = case.discover("orders").await;
    let sum: u64 = snapshot.routable().map(|instance| u64::from(instance.weight())).sum();
    assert_eq!(sum, 3 * u64::from(u32::MAX) + 1);
}

/// Bodies that no reader may take for an instance, and none may stumble over.
pub(super) fn unreadable_bodies() -> Vec<(&'static str, Vec<u8>)> {
    let good = String::from_utf8(encode(&id("x"), &spec(80)).expect("a record")).expect("JSON is text");
    let with = |from: &str, to: &str| {
        let changed = good.replacen(from, to, 1);
        assert_ne!(changed, good, "{from} is in {good}");
        changed.into_bytes()
    };
    vec![
        ("empty", Vec::new()),
        ("blank", b"   ".to_vec()),
        ("not JSON", b"instance=1".to_vec()),
        ("an array", b"[]".to_vec()),
        ("null", b"null".to_vec()),
        ("an empty object", b"{}".to_vec()),
        ("a required field missing", with("\"endpoints\"", "\"other\"")),
        (
            "no endpoint",
            with(&good[good.find("[{").expect("endpoints")..=good.find("}]").expect("endpoints") + 1], "[]"),
        ),
        ("a port as text", with(":80", ":\"80\"")),
        ("a port with a fraction", with(":80", ":80.0")),
        ("a port too high", with(":80", ":65536")),
        ("a port of 0", with(":80", ":0")),
        ("a duplicate key", with("{\"schema\":1", "{\"schema\":1,\"schema\":1")),
        ("a number out of bounds", with("\"weight\":100", "\"weight\":1e400")),
        ("a weight below 0", with("\"weight\":100", "\"weight\":-1")),
        ("a lone surrogate", with("\"metadata\":{}", "\"metadata\":{\"k\":\"\\ud800\"}")),
        ("a byte order mark", [b"\xef\xbb\xbf", good.as_bytes()].concat()),
        ("trailing bytes", [good.as_bytes(), b"}"].concat()),
        ("cut off", good.as_bytes()[..good.len() / 2].to_vec()),
        ("invalid UTF-8", [&good.as_bytes()[..good.len() - 1], b",\"x\":\"\xff\"}"].concat()),
        ("deep nesting", [b"{\"schema\":1,\"x\":".to_vec(), vec![b'['; 10_000]].concat()),
        ("one MiB", vec![b'x'; 1024 * 1024]),
    ]
}

/// I8: bodies of other writers: what can be read is, with defaults; the rest is an error and never a panic.
pub async fn i8_foreign_json_is_read_or_refused(_: &Case) {
    let slot = Slot::new(id("x"), None);
    for (what, bytes) in unreadable_bodies() {
        assert!(decode(&slot, &bytes).is_err(), "{what} was taken");
    }
    let least = br#"{"schema":1,"endpoints":[{"host":"h","port":1}],"later":{"a":[1]}}"#;
    let read = decode(&slot, least).expect("optional fields may be missing").instance;
    assert_eq!((read.weight, read.endpoints[0].port()), (registry_core::DEFAULT_WEIGHT, 1));
    let rewritten = encode(&slot.id, &read).expect("a record");
    let again = decode(&slot, &rewritten).expect("what we wrote").instance;
    assert_eq!(again.unknown.get("later"), Some(&serde_json::json!({"a": [1]})), "unknown fields are kept");
    assert_eq!(again, read);
}

/// I8: fields that a writer of a later version added survive an update of ours.
pub async fn i8_unknown_fields_are_kept_on_rewrite(case: &Case) {
    let mut registration = case.registration("orders", "a");
    registration.instance.unknown.insert("later".to_owned(), serde_json::json!([1, {"b": null}]));
    let a = case.register(&registration).await;
    let mut read = (*case.discover("orders").await.instances[0].own).clone();
    assert_eq!(read, registration.instance);
    read.weight = 5;
    case.registry.update(&a.lease, read.clone()).await.expect("an update");
    assert_eq!(*case.discover("orders").await.instances[0].own, read);
}

/// I9: where key and body disagree on the id or the version the key wins, and it is told.
pub async fn i9_the_key_wins_over_the_body(_: &Case) {
    let body = encode(&id("body"), &spec(80).with_version(version("1"))).expect("a record");
    for slot in [Slot::new(id("key"), Some(version("1"))), Slot::new(id("body"), Some(version("2")))] {
        let decoded = decode(&slot, &body).expect("it is read all the same");
        assert_eq!(decoded.instance.version, slot.version);
        assert!(decoded.corrected.is_some(), "the disagreement is told");
    }
    let agreed = decode(&Slot::new(id("body"), Some(version("1"))), &body).expect("a record");
    assert_eq!(agreed.corrected, None);
}

/// I10: of a newer schema what is known is read where it allows older readers, else it is refused as such.
pub async fn i10_a_newer_schema_is_read_if_it_says_so(_: &Case) {
    let newer = |min_reader: &str| {
        let schema = record::SCHEMA + 1;
        format!(r#"{{"schema":{schema}{min_reader},"endpoints":[{{"host":"h","port":1}}],"new":1}}"#)
            .into_bytes()
    };
    let slot = Slot::new(id("x"), None);
    let readable =
        decode(&slot, &newer(&format!(r#","min_reader":{}"#, record::SCHEMA))).expect("it allows us");
    assert_eq!(readable.instance.endpoints[0].port(), 1);
    refused!(decode(&slot, &newer("")), ErrorKind::Unsupported);
    refused!(
        decode(&slot, &newer(&format!(r#","min_reader":{}"#, record::SCHEMA + 1))),
        ErrorKind::Unsupported
    );
}
