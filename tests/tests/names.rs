//! SCENARIOS, section E: names, addresses and targets, on both backends.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use registry_core::{
    Endpoint, ErrorKind, InstanceId, InstanceSpec, Namespace, Query, ReadOptions, Registrar, RegistrarConfig,
    Registration, ServiceDiscovery, ServiceName, Targets,
};
use registry_testkit::Harness;
use registry_tests::{Etcd, Memory};
use tokio::net::TcpListener;

/// One test of every function on both backends.
macro_rules! on_both {
    ($($test:ident,)+) => {
        mod memory {
            use super::*;
            $(#[tokio::test(start_paused = true)]
            async fn $test() {
                super::$test::<Memory>().await;
            })+
        }
        mod etcd {
            use super::*;
            $(#[tokio::test]
            async fn $test() {
                super::$test::<Etcd>().await;
            })+
        }
    };
}

on_both! {
    s73_a_service_is_never_listed_with_another_whose_name_it_begins,
    s74_names_come_back_as_they_were_or_are_refused,
    s75_a_wildcard_is_made_real_and_can_be_dialled,
    s75_what_is_advertised_may_differ_from_what_is_listened_on,
    s80_services_are_listed,
    the_same_id_in_two_services_is_two_instances,
}

fn registration(service: &str, id: &str) -> Registration {
    let instance = InstanceSpec::new("http://10.0.0.1:80".parse().expect("an endpoint"));
    Registration::new(service.parse().expect("a name"), id.parse().expect("an id"), instance)
}

async fn ids(registry: &Arc<dyn ServiceDiscovery>, service: &str) -> Vec<String> {
    let query = Query::new(service.parse().expect("a name"));
    let snapshot = registry.discover(&query, ReadOptions::default()).await.expect("a list");
    snapshot.instances.iter().map(|instance| instance.id.to_string()).collect()
}

async fn s73_a_service_is_never_listed_with_another_whose_name_it_begins<H: Harness>() {
    let (registry, _guard) = H::fresh().await;
    let names = ["user", "user-admin", "userx", "user0", "User", "user.a", "use"];
    for name in names {
        registry.register(registration(name, name)).await.expect("registered");
    }
    for name in names {
        assert_eq!(ids(&registry, name).await, [name]);
    }
    let error = ServiceName::new("user/admin").expect_err("refused");
    assert_eq!(error.kind(), &ErrorKind::InvalidArgument { field: "service".into() });
    registry.close().await;
}

async fn s74_names_come_back_as_they_were_or_are_refused<H: Harness>() {
    let (registry, _guard) = H::fresh().await;
    let longest = "x".repeat(253);
    let inputs =
        ["a", "A", "a.b", "a_b", "a-b", "0", &longest, "/a", "a:b", "a%2Fb", "ä", "", &"y".repeat(300), " a"];
    let mut taken = BTreeSet::new();
    for input in inputs {
        // Refused by the type, or registered and found under the very same name.
        if let Ok(service) = ServiceName::new(input) {
            registry.register(registration(input, "id")).await.expect("registered");
            assert_eq!(ids(&registry, input).await, ["id"]);
            taken.insert(service);
        }
    }
    let listed = registry.services(ReadOptions::default()).await.expect("names");
    assert_eq!(listed.names.iter().cloned().collect::<BTreeSet<_>>(), taken);
    assert_eq!(taken.len(), 7);
    for id in ["10.0.0.1:80", "[::1]:80", "host@zone_1"] {
        registry.register(registration("ids", id)).await.expect("registered");
    }
    assert_eq!(ids(&registry, "ids").await, ["10.0.0.1:80", "[::1]:80", "host@zone_1"]);
    registry.close().await;
}

async fn s75_a_wildcard_is_made_real_and_can_be_dialled<H: Harness>() {
    let (registry, _guard) = H::fresh().await;
    for wildcard in
        [SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))]
    {
        let listener = TcpListener::bind(wildcard).await.expect("a listener");
        let service: ServiceName = "orders".parse().expect("a name");
        let config = RegistrarConfig::new(service.clone()).listening(listener.local_addr().expect("bound"));
        let registrar =
            Registrar::start(registry.clone(), config.expect("it is made real")).await.expect("registered");
        let found = registry.discover(&Query::new(service), ReadOptions::default()).await.expect("a list");
        let authority = found.get(registrar.id()).expect("listed").endpoints()[0].authority();
        let dialled: SocketAddr = authority.parse().expect("an address, IPv6 in brackets");
        assert!(!dialled.ip().is_unspecified());
        tokio::net::TcpStream::connect(&authority).await.expect("what is listed accepts connections");
        registrar.deregister().await.expect("deregistered");
    }
    let unbound = RegistrarConfig::new("orders".parse().expect("a name")).listening(([0, 0, 0, 0], 0).into());
    assert!(unbound.expect_err("listen first").to_string().contains("port"));
    registry.close().await;
}

async fn s75_what_is_advertised_may_differ_from_what_is_listened_on<H: Harness>() {
    let (registry, _guard) = H::fresh().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a listener");
    let advertised: Endpoint = "http://[2001:DB8::7]:80".parse().expect("an endpoint");
    let config = RegistrarConfig::new("orders".parse().expect("a name"))
        .with_endpoint(advertised)
        .with_id(InstanceId::new("a").expect("an id"))
        .listening(listener.local_addr().expect("bound"))
        .expect("an address");
    let registrar = Registrar::start(registry.clone(), config).await.expect("registered");
    let query = Query::new("orders".parse().expect("a name"));
    let found = registry.discover(&query, ReadOptions::default()).await.expect("a list");
    let shown: Vec<_> = found.instances[0].endpoints().iter().map(ToString::to_string).collect();
    assert_eq!(shown, ["http://[2001:db8::7]:80"]);
    registrar.deregister().await.expect("deregistered");
    registry.close().await;
}

async fn s80_services_are_listed<H: Harness>() {
    let (registry, _guard) = H::fresh().await;
    for (service, id) in [("b", "1"), ("a", "1"), ("b", "2"), ("c", "1")] {
        registry.register(registration(service, id)).await.expect("registered");
    }
    let names = registry.services(ReadOptions::default()).await.expect("names").names;
    assert_eq!(&names[..], ["a", "b", "c"]);
    registry.close().await;
}

async fn the_same_id_in_two_services_is_two_instances<H: Harness>() {
    let (registry, _guard) = H::fresh().await;
    let one = registry.register(registration("one", "a")).await.expect("registered");
    let two = registry.register(registration("two", "a")).await.expect("registered");
    assert_ne!(one.generation(), two.generation());
    assert!(registry.deregister(&one.lease).await.expect("deregistered").is_some());
    assert_eq!(ids(&registry, "two").await, ["a"]);
    registry.heartbeat(&two.lease).await.expect("untouched");
    registry.close().await;
}

#[test]
fn s74_targets_are_read_or_refused_never_missed() {
    let targets = Targets::new().with(registry_memory::target()).with(registry_etcd::target());
    for good in ["etcd://a:2379,b:2379,[::1]:2379/x/y?namespace=n&ttl=15s", "etcd://a", "memory:?namespace=n"]
    {
        targets.open(good).unwrap_or_else(|error| panic!("{good}: {error}"));
    }
    for bad in [
        "etcd:",
        "etcd://",
        "etcd://a:2379/x?namespace=a/b",
        "etcd://a:99999",
        "etcd://a/%zz",
        "zk://a",
        "a:1",
        "memory:?namespace=%2F",
        "etcd://a?ttl=0s",
        "etcd://a?nmespace=x",
    ] {
        let error = targets.open(bad).map(|_| bad).expect_err("refused");
        assert!(!error.is_retryable(), "{bad}: {error}");
    }
    assert!(Namespace::new("a/b").is_err());
}
