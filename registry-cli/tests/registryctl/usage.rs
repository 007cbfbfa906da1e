//! What is asked for wrongly ends with 2 and says what to do.

use crate::running::{ended, registryctl, run};

#[tokio::test]
async fn help_and_version_are_no_errors() {
    for ask in ["--help", "--version", "help"] {
        run(&[ask]).await.with(0);
    }
    assert!(run(&["--help"]).await.with(0).out.contains("Exit codes"));
}

#[tokio::test]
async fn what_cannot_be_read_is_a_usage_error_that_names_it() {
    let register = ["register", "--service", "s", "--address"];
    let wrong: [(&[&str], &str); 11] = [
        (&[], "Usage"),
        (&["instance", "s"], "instance"),
        (&["instances", "a/b"], "a/b"),
        (&["instances", "s", "--output", "xml"], "xml"),
        (&["deregister", "s"], "ID"),
        (&["disable", "s", "a", "--for", "soon"], "soon"),
        (&["register", "--service", "s"], "--address"),
        (&[register[0], register[1], register[2], register[3], "10.0.0.1"], "port"),
        (&[register[0], register[1], register[2], register[3], "10.0.0.1:80", "--ttl", "0s"], "TTL"),
        (&[register[0], register[1], register[2], register[3], "10.0.0.1:80", "--meta", "x"], "KEY=VALUE"),
        (&[register[0], register[1], register[2], register[3], "10.0.0.1:80", "--no-wait"], "COMMAND"),
    ];
    for (arguments, named) in wrong {
        run(arguments).await.with(2).says(&[named]);
    }
}

#[tokio::test]
async fn without_a_target_it_says_how_to_name_one() {
    run(&["services"]).await.with(2).says(&["--target", "REGISTRY_TARGET", "registryctl demo"]);
}

#[tokio::test]
async fn a_memory_registry_is_refused_wherever_it_would_be_empty() {
    let commands: [&[&str]; 7] = [
        &["services"],
        &["instances", "s"],
        &["watch", "s"],
        &["deregister", "s", "a"],
        &["disable", "s", "a"],
        &["enable", "s", "a"],
        &["register", "--service", "s", "--address", "10.0.0.1:80"],
    ];
    for command in commands {
        let named = registryctl(command).args(["--target", "memory:"]).output().await.unwrap();
        let set = registryctl(command).env("REGISTRY_TARGET", "memory:?namespace=n").output().await.unwrap();
        for output in [named, set] {
            crate::running::Ended::from(output).with(2).says(&["memory:", "registryctl demo", "etcd://"]);
        }
    }
}

#[tokio::test]
async fn a_target_nobody_opens_is_refused_with_those_that_are_opened() {
    run(&["services", "--target", "zookeeper://a"]).await.with(2).says(&["zookeeper", "memory"]);
    run(&["services", "--target", "nonsense"]).await.with(2).says(&["scheme"]);
    run(&["demo", "--target", "memory://host"]).await.with(2).says(&["memory:"]);
}

#[cfg(not(feature = "etcd"))]
#[tokio::test]
async fn without_etcd_it_says_how_to_build_with_it() {
    run(&["services", "--target", "etcd://a:2379"]).await.with(2).says(&["--features etcd"]);
}

#[tokio::test]
async fn a_password_is_never_shown() {
    for url in ["zookeeper://u:hunter2@a", "etcd://u:hunter2@127.0.0.1:1", "memory://u:hunter2@a"] {
        let seen = ended(registryctl(&["demo", "--target", url]).env("REGISTRY_LOG", "trace")).await;
        assert_ne!(seen.code, Some(0));
        assert!(!seen.err.contains("hunter2") && !seen.out.contains("hunter2"), "{seen:#?}");
    }
}

#[tokio::test]
async fn logs_are_off_unless_asked_for() {
    let target = ["services", "--target", "memory:"];
    assert!(!run(&target).await.err.contains("INFO"));
    ended(registryctl(&target).args(["--log", "registry_core=loud"])).await.with(2).says(&["filter"]);
    ended(registryctl(&target).env("REGISTRY_LOG", "a=b=c")).await.with(2).says(&["filter"]);
}
