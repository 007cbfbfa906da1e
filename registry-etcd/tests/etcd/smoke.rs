//! One registration's way through etcd, key by key.

use registry_core::{ErrorKind, OverrideStatus, ServiceDiscovery, Takeover, Version};
use registry_core::{Override, OwnerToken, ReadOptions};

use crate::support::{Bench, demo, id, ids, register, service, snapshot, spec};

#[tokio::test]
async fn keys_stand_where_the_contract_says_and_go_with_the_registration() {
    let bench = Bench::start().await;
    let registered = register(&bench.registry, "a").await;
    assert_eq!(
        bench.keys().await,
        ["registry/default/claims/demo/a", "registry/default/services/demo/v=-/inst/a"]
    );
    let claim = bench.value("registry/default/claims/demo/a").await;
    assert!(claim.contains(r#""schema":1"#) && claim.contains(r#""owner":""#), "{claim}");

    let moved = spec().with_version(Version::new("2").unwrap());
    bench.registry.update(&registered.lease, moved).await.unwrap();
    assert_eq!(
        bench.keys().await,
        ["registry/default/claims/demo/a", "registry/default/services/demo/v=2/inst/a"]
    );
    assert!(bench.value("registry/default/claims/demo/a").await.contains(r#""version":"2""#));

    assert!(bench.registry.deregister(&registered.lease).await.unwrap().is_some());
    assert_eq!(bench.keys().await, [""; 0], "not even the mark");
    assert_eq!(bench.leases().await, [""; 0]);
    assert_eq!(bench.registry.deregister(&registered.lease).await.unwrap(), None);
    let error = bench.registry.heartbeat(&registered.lease).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::NotRegistered);
}

#[tokio::test]
async fn a_living_id_is_refused_and_taken_over_only_by_name() {
    let bench = Bench::start().await;
    let first = register(&bench.registry, "a").await;
    let second = bench.second();
    let rival = demo("a").with_owner(OwnerToken::random());
    let refused = second.register(rival.clone()).await.unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::AlreadyExists { generation: first.generation() });
    assert!(
        refused.to_string().contains("register")
            && refused.target().is_some_and(|t| t.starts_with("etcd://"))
    );
    assert_eq!(bench.leases().await.len(), 1, "the refused one's lease is revoked");

    let taken = second.register(rival.with_takeover(Takeover::If(first.generation()))).await.unwrap();
    assert_ne!(taken.generation(), first.generation());
    assert_eq!(snapshot(&bench.registry).await.instances[0].generation, taken.generation());
    let error = bench.registry.heartbeat(&first.lease).await.unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Fenced);
    assert_eq!(bench.registry.deregister(&first.lease).await.unwrap(), None);
    assert_eq!(ids(&second).await, ["a"]);
    assert_eq!(bench.leases().await.len(), 1, "the fenced one's lease is revoked");
}

#[tokio::test]
async fn the_same_owner_repeats_itself_and_may_bring_another_version() {
    let bench = Bench::start().await;
    let mut registration = demo("a");
    let first = bench.registry.register(registration.clone()).await.unwrap();
    registration.instance.version = Some(Version::new("2").unwrap());
    let again = bench.registry.register(registration).await.unwrap();
    assert!(again.revision.is_after(first.revision));
    assert_eq!(
        bench.keys().await,
        ["registry/default/claims/demo/a", "registry/default/services/demo/v=2/inst/a"]
    );
    assert_eq!(bench.leases().await.len(), 1);
    assert!(bench.registry.heartbeat(&again.lease).await.unwrap().intact);
}

#[tokio::test]
async fn an_override_survives_its_instance_and_ends_with_its_life() {
    let bench = Bench::start().await;
    let (service, id) = (service("demo"), id("a"));
    let set = |life: Option<u64>| {
        let value = Override::status(OverrideStatus::Disabled, "me", "test");
        life.map_or(value.clone(), |life| value.lasting(std::time::Duration::from_secs(life)))
    };
    bench.registry.set_override(&service, &id, Some(set(Some(600)))).await.unwrap();
    assert_eq!(bench.leases().await.len(), 1);
    assert!(bench.registry.services(ReadOptions::default()).await.unwrap().names.is_empty());
    bench.registry.set_override(&service, &id, Some(set(Some(500)))).await.unwrap();
    assert_eq!(bench.leases().await.len(), 1, "the replaced one's lease is revoked");
    bench.registry.set_override(&service, &id, Some(set(None))).await.unwrap();
    assert_eq!(bench.leases().await.len(), 0);

    let registered = register(&bench.registry, "a").await;
    assert!(snapshot(&bench.registry).await.routable().next().is_none());
    bench.registry.deregister(&registered.lease).await.unwrap();
    register(&bench.registry, "a").await;
    assert!(snapshot(&bench.registry).await.routable().next().is_none());
    bench.registry.set_override(&service, &id, None).await.unwrap();
    assert_eq!(snapshot(&bench.registry).await.routable().count(), 1);
}
