use std::time::Duration;

use proptest::prelude::*;

use super::*;

fn parse(text: &str) -> Target {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn the_parts_are_found() {
    let target = parse("etcd://me:s%40crt@a:2379,[::1]:2379,a:2379/reg/x/?namespace=n&ttl=15s");
    assert_eq!((target.scheme(), target.user(), target.password()), ("etcd", Some("me"), Some("s@crt")));
    assert_eq!(target.hosts(), ["a:2379", "[::1]:2379"]);
    assert_eq!(target.path(), "reg/x");
    assert_eq!(target.namespace().unwrap(), "n");
    assert_eq!(target.ttl().unwrap().unwrap().get(), Duration::from_secs(15));
}

#[test]
fn the_embedded_one_is_a_scheme_alone() {
    let target = parse("memory:");
    assert_eq!((target.scheme(), target.hosts().len(), target.path()), ("memory", 0, ""));
    assert_eq!(target.namespace().unwrap(), Namespace::default());
    assert_eq!(parse("memory:?namespace=a").namespace().unwrap(), "a");
}

#[test]
fn what_cannot_be_read_is_an_error_that_names_the_part() {
    for (text, part) in [
        ("", "scheme"),
        ("localhost", "scheme"),
        ("1a://h", "scheme"),
        ("etcd://h#x", "fragment"),
        ("etcd://@h", "user"),
        ("etcd://h,,i", "hosts"),
        ("etcd://h i", "hosts"),
        ("etcd://h/%zz", "path"),
        ("etcd://h/%", "path"),
        ("etcd://h/%ff", "path"),
        ("etcd://h?a=1&a=2", "a"),
        ("etcd://h?flag", "flag"),
    ] {
        let error = text.parse::<Target>().unwrap_err();
        assert!(error.to_string().contains(&format!("`target.{part}`")), "{text}: {error}");
    }
    for bad in ["etcd://h?namespace=a/b", "etcd://h?namespace=", "etcd://h?namespace=%2F"] {
        assert!(parse(bad).namespace().is_err(), "{bad}");
    }
    for bad in ["etcd://h?ttl=", "etcd://h?ttl=0s", "etcd://h?ttl=15", "etcd://h?ttl=48h"] {
        assert!(parse(bad).ttl().is_err(), "{bad}");
    }
}

#[test]
fn a_password_is_never_shown() {
    let target = parse("etcd://me:hunter2@a:2379/x");
    assert_eq!(target.to_string(), "etcd://me:***@a:2379/x");
    assert!(!format!("{target:?}").contains("hunter2"));
}

#[test]
fn a_misspelt_parameter_is_refused() {
    let error = parse("etcd://h?tll=15s").expect_parameters(&["user"]).unwrap_err();
    assert!(error.to_string().contains("tll") && error.to_string().contains("ttl"), "{error}");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,60}") {
        let _ = text.parse::<Target>();
    }

    #[test]
    fn what_is_shown_is_read_again(path in "[a-z/%@? ü]{0,12}", value in ".{0,12}", user in "[a-z:@/%]{1,5}") {
        let path = path.trim_matches('/').to_owned();
        let target = Target {
            scheme: "etcd".into(),
            user: Some(user),
            password: None,
            hosts: vec!["a:1".into(), "b:2".into()],
            path,
            parameters: BTreeMap::from([("k".to_owned(), value)]),
        };
        prop_assert_eq!(target.to_string().parse::<Target>().unwrap(), target);
    }
}
