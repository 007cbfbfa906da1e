use super::*;
use registry_core::ErrorKind;

fn urls(endpoints: &[&str], tls: bool) -> Result<Vec<String>> {
    let mut config = EtcdConfig::new(endpoints.iter().copied());
    config.tls = tls.then(|| TlsConfig::new("ca.pem"));
    config.endpoint_urls()
}

fn field(result: Result<()>) -> String {
    match result.unwrap_err().kind() {
        ErrorKind::InvalidArgument { field } => field.clone(),
        kind => panic!("{kind:?}"),
    }
}

#[test]
fn endpoints_get_scheme_and_port_and_count_once() {
    assert_eq!(
        urls(&["a:2379", "http://b", "a", "[::1]", "http://a:2379/", "10.0.0.1:1"], false).unwrap(),
        ["http://a:2379", "http://b:2379", "http://[::1]:2379", "http://10.0.0.1:1"]
    );
    assert_eq!(urls(&["a", "https://b:1"], true).unwrap(), ["https://a:2379", "https://b:1"]);
}

#[test]
fn an_endpoint_list_that_cannot_work_is_a_configuration_error() {
    for (endpoints, tls) in [
        (&[][..], false),
        (&["http://a", "https://b"], false),
        (&["http://a", "https://b"], true),
        (&["https://a"], false),
        (&["http://a"], true),
        (&[""], false),
        (&["a:0"], false),
        (&["a:65536"], false),
        (&["0.0.0.0:2379"], false),
        (&["http://user@a"], false),
        (&["http://a/path"], false),
        (&["ftp://a"], false),
        (&["x=a:1"], false),
        (&["::1"], false),
    ] {
        let error = urls(endpoints, tls).unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::InvalidArgument { field: "endpoints".into() }, "{endpoints:?}");
    }
}

#[test]
fn pings_that_kill_quiet_streams_are_refused_unless_the_server_allows_them() {
    let mut config = EtcdConfig::new(["a"]);
    config.http2_ping = Some(Duration::from_millis(4_999));
    assert_eq!(field(config.check()), "http2_ping");
    config.http2_ping_fast = true;
    config.check().unwrap();
    config.http2_ping_fast = false;
    config.http2_ping = Some(Duration::from_secs(5));
    config.check().unwrap();
    config.http2_ping_fast = true;
    for ping in [Duration::ZERO, Duration::from_micros(999), Duration::from_secs(3_601), Duration::MAX] {
        config.http2_ping = Some(ping);
        assert_eq!(field(config.check()), "http2_ping", "{ping:?}");
    }
}

type Field = fn(&mut EtcdConfig) -> &mut Duration;

#[test]
fn bad_fields_are_named() {
    let bad = |change: fn(&mut EtcdConfig)| {
        let mut config = EtcdConfig::new(["a"]);
        change(&mut config);
        field(config.check())
    };
    for prefix in ["", "/a", "a/", "a//b", "..", "a b", "é"] {
        let mut config = EtcdConfig::new(["a"]);
        config.prefix = prefix.to_owned();
        assert_eq!(field(config.check()), "prefix", "{prefix:?}");
    }
    for wait in [Duration::ZERO, Duration::from_micros(999), Duration::from_secs(3_601), Duration::MAX] {
        let fields: [(&str, Field); 6] = [
            ("connect_timeout", |c| &mut c.connect_timeout),
            ("call_timeout", |c| &mut c.call_timeout),
            ("list_timeout", |c| &mut c.list_timeout),
            ("tcp_keepalive", |c| &mut c.tcp_keepalive),
            ("watch_silence", |c| &mut c.watch_silence),
            ("watch_answer", |c| &mut c.watch_answer),
        ];
        for (name, of) in fields {
            let mut config = EtcdConfig::new(["a"]);
            *of(&mut config) = wait;
            assert_eq!(field(config.check()), name, "{wait:?}");
        }
    }
    assert_eq!(bad(|c| c.watch.backoff_floor = Duration::ZERO), "watch.backoff_floor");
    assert_eq!(bad(|c| c.watch.silence = Duration::MAX), "watch.silence");
    assert_eq!(bad(|c| c.page_size = 0), "page_size");
    assert_eq!(
        bad(|c| c.auth = Some(Credentials { user: String::new(), password: Secret::default() })),
        "auth.user"
    );
    let identity = |c: &mut EtcdConfig, cert, key| {
        c.endpoints = vec!["https://a".into()];
        c.tls = Some(TlsConfig { cert, key, ..TlsConfig::new("ca") });
    };
    let mut config = EtcdConfig::new(["a"]);
    identity(&mut config, Some("c".into()), None);
    assert_eq!(field(config.check()), "tls.key");
    identity(&mut config, None, Some("k".into()));
    assert_eq!(field(config.check()), "tls.cert");
}

#[test]
fn a_password_is_neither_printed_nor_written() {
    let config = EtcdConfig::new(["a"]).with_auth("root", "hunter2");
    let printed = format!("{config:?} {} {}", serde_json::to_string(&config).unwrap(), config.target());
    assert!(!printed.contains("hunter2"), "{printed}");
    assert!(printed.contains("redacted"));
}

#[test]
fn configuration_reads_as_people_write() {
    let text = r#"{"endpoints":["a:1"],"prefix":"x/y","namespace":"prod","call_timeout":"500ms","http2_ping":"30s",
        "auth":{"user":"u","password":"p"},"tls":null,"page_size":10}"#;
    let config: EtcdConfig = serde_json::from_str(text).unwrap();
    assert_eq!(config.call_timeout, Duration::from_millis(500));
    assert_eq!(config.http2_ping, Some(Duration::from_secs(30)));
    assert_eq!(config.auth.as_ref().unwrap().password.expose(), "p");
    assert_eq!(config.watch_silence, Duration::from_secs(5), "the rest has its default");
    config.check().unwrap();
    let plain = EtcdConfig::new(["a"]);
    let again: EtcdConfig = serde_json::from_str(&serde_json::to_string(&plain).unwrap()).unwrap();
    assert_eq!(again, plain);
    assert!(serde_json::from_str::<EtcdConfig>(r#"{"endpoint":["a"]}"#).is_err(), "a misspelt field");
}
