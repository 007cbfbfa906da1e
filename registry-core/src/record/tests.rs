use proptest::prelude::*;

use super::*;

fn slot() -> Slot {
    Slot::new(InstanceId::new("a").unwrap(), Some(Version::new("2").unwrap()))
}

#[test]
fn golden_records_of_every_schema_are_read_and_the_newest_is_written() {
    let golden = include_bytes!("../../golden/record-v1.json");
    let decoded = decode(&slot(), golden).unwrap();
    assert_eq!(decoded.corrected, None);
    assert_eq!(decoded.instance.unknown.get("x-later"), Some(&serde_json::json!({"kept": true})));
    let written: Value = serde_json::from_slice(&encode(&slot().id, &decoded.instance).unwrap()).unwrap();
    assert_eq!(written, serde_json::from_slice::<Value>(golden).unwrap());
}

#[test]
fn optional_fields_have_defaults_and_required_ones_have_none() {
    let least = br#"{"schema":1,"endpoints":[{"host":"h","port":1}]}"#;
    let decoded = decode(&slot(), least).unwrap();
    assert_eq!(decoded.instance.weight, DEFAULT_WEIGHT);
    assert_eq!(decoded.instance.version, slot().version);
    for missing in [
        &br#"{"endpoints":[{"host":"h","port":1}]}"#[..],
        br#"{"schema":1}"#,
        br#"{"schema":1,"endpoints":[]}"#,
    ] {
        assert!(decode(&slot(), missing).is_err());
    }
}

#[test]
fn the_key_wins_over_the_body_and_it_is_counted() {
    let other = br#"{"schema":1,"id":"b","endpoints":[{"host":"h","port":1}]}"#;
    assert!(decode(&slot(), other).unwrap().corrected.unwrap().contains("\"b\""));
    let other = br#"{"schema":1,"version":"3","endpoints":[{"host":"h","port":1}]}"#;
    let decoded = decode(&slot(), other).unwrap();
    assert!(decoded.corrected.is_some());
    assert_eq!(decoded.instance.version, slot().version);
}

#[test]
fn a_newer_schema_is_read_only_where_it_says_so() {
    let newer = br#"{"schema":2,"endpoints":[{"host":"h","port":1}]}"#;
    assert_eq!(decode(&slot(), newer).unwrap_err().kind(), &ErrorKind::Unsupported);
    let foreign = br#"{"schema":9,"listens":"elsewhere"}"#;
    assert_eq!(decode(&slot(), foreign).unwrap_err().kind(), &ErrorKind::Unsupported);
    let kind = br#"{"schema":2,"min_reader":1,"endpoints":[{"host":"h","port":1}],"new":1}"#;
    assert_eq!(decode(&slot(), kind).unwrap().instance.unknown["new"], 1);
}

#[test]
fn the_bad_input_table_is_rejected_without_a_panic() {
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    let nested = format!(r#"{{"schema":1,"endpoints":[{{"host":"h","port":1}}],"x":{deep}}}"#);
    let huge = vec![b' '; MAX_ENCODED + 1];
    let bad: &[&[u8]] = &[
        b"",
        b"[]",
        b"null",
        b"\xff\xfe",
        nested.as_bytes(),
        &huge,
        deep.as_bytes(),
        br#"{"schema":1,"endpoints":[{"host":"h","port":"8080"}]}"#,
        br#"{"schema":1,"endpoints":[{"host":"h","port":80.0}]}"#,
        br#"{"schema":1,"endpoints":[{"host":"h","port":0}]}"#,
        br#"{"schema":1,"endpoints":[{"host":"0.0.0.0","port":1}]}"#,
        br#"{"schema":1,"endpoints":[{"host":"h","port":1}],"metadata":{"a":"1","a":"2"}}"#,
        br#"{"schema":1,"endpoints":[{"host":"h","port":1}],"x":{"deep":[{"a":1,"a":2}]}}"#,
        br#"{"schema":1,"endpoints":[{"host":"h","port":1}],"x":1,"x":2}"#,
        br#"{"schema":1,"schema":1,"endpoints":[{"host":"h","port":1}]}"#,
        br#"{"schema":1,"endpoints":[{"host":"h","port":1}],"weight":1e400}"#,
        br#"{"schema":1,"endpoints":[{"host":"h","port":1}],"metadata":{"a":"\ud800"}}"#,
        b"\xef\xbb\xbf{\"schema\":1,\"endpoints\":[{\"host\":\"h\",\"port\":1}]}",
        br#"{"schema":1,"endpoints":[{"host":"h","port":1}]} x"#,
        br#"{"schema":1,"endpoints":[{"host":"h","port":1}],"status":"sideways"}"#,
        br#"{"schema":1,"endpoints":[{"host":"h","port":1},{"host":"i","port":1}]}"#,
    ];
    for bytes in bad {
        assert!(
            decode(&slot(), bytes).is_err(),
            "{:?}",
            String::from_utf8_lossy(&bytes[..bytes.len().min(80)])
        );
    }
}

#[test]
fn what_no_reader_would_take_is_refused_before_it_is_sent() {
    let limits = crate::registration::Limits::default();
    let deep = (0..200).fold(serde_json::json!(1), |inner, _| serde_json::json!([inner]));
    for (key, value) in [
        ("weight", serde_json::json!(7)),
        ("schema", serde_json::json!(1)),
        ("min_reader", serde_json::json!(1)),
        ("id", serde_json::json!("other")),
        ("x", deep),
    ] {
        let mut instance = InstanceSpec::new("http://h:1".parse().unwrap());
        instance.unknown.insert(key.to_owned(), value);
        let error = limits.check(&slot().id, &instance).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::InvalidArgument { field: "unknown".into() }, "{key}");
    }
    let mut instance = InstanceSpec::new("http://h:1".parse().unwrap());
    instance.unknown.insert("x-load".to_owned(), serde_json::json!({"a": [0.1, -1e-300, null, true, "ü"]}));
    limits.check(&slot().id, &instance).unwrap();
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_rejected(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&slot(), &bytes);
    }

    #[test]
    fn what_was_encoded_is_decoded(weight: u32, pairs in proptest::collection::btree_map("[a-z]{1,8}", ".*", 0..5)) {
        let mut instance = InstanceSpec::new("http://h:1".parse().unwrap()).with_weight(weight);
        instance.version = slot().version;
        for (key, value) in pairs {
            instance.metadata.insert_public(key, value).unwrap();
        }
        let decoded = decode(&slot(), &encode(&slot().id, &instance).unwrap()).unwrap();
        prop_assert_eq!(decoded, Decoded { instance, corrected: None });
    }
}
