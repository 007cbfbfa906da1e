//! The harness on the etcds of this machine. Without one these fail: they cannot be skipped unseen.

mod ends;

use std::{path::Path, time::Duration};

use tokio::time::{Instant, interval, timeout};

use super::*;

/// Whether a process runs; one that was killed and waits for its parent to look does not.
fn alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| {
        // The name before the state is in parentheses and may hold anything.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    })
}

/// Polls until `done`, at most 10 s.
async fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let mut ticks = interval(Duration::from_millis(5));
    let poll = async {
        while !done() {
            ticks.tick().await;
        }
    };
    timeout(Duration::from_secs(10), poll).await.unwrap_or_else(|_| panic!("not within 10 s: {what}"));
}

async fn get(cluster: &EtcdCluster, key: &str) -> String {
    cluster.ctl(&["get", "--print-value-only", key]).await.unwrap().trim().to_owned()
}

#[tokio::test]
async fn every_installed_version_starts_with_one_and_three_members() {
    let installed = installed();
    assert!(!installed.is_empty(), "{}", binaries::find(None).unwrap_err());
    for etcd in installed {
        for members in [1, 3] {
            let begun = Instant::now();
            let cluster = EtcdCluster::builder()
                .members(members)
                .version(etcd.version.to_string())
                .start()
                .await
                .unwrap();
            println!("etcd {}: {members} ready after {:?}", etcd.version, begun.elapsed());
            assert_eq!(cluster.version(), etcd.version);
            assert_eq!(cluster.len(), members);
            assert_eq!(cluster.endpoints().len(), members);
            assert!(cluster.target().starts_with("etcd://127.0.0.1:"), "{}", cluster.target());
            assert!(cluster.leader().await.unwrap() < members);
            cluster.ctl(&["put", "k", "v"]).await.unwrap();
            assert_eq!(get(&cluster, "k").await, "v");
        }
    }
}

#[tokio::test]
async fn a_killed_member_restarts_on_the_same_data_and_address() {
    let cluster = EtcdCluster::builder().start().await.unwrap();
    let (endpoints, pid) = (cluster.endpoints(), cluster.pid(0).unwrap());
    cluster.ctl(&["put", "k", "kept"]).await.unwrap();
    cluster.kill(0).unwrap();
    assert!(!alive(pid));
    assert_eq!(cluster.pid(0), None);
    assert!(cluster.metrics(0).await.is_err());
    cluster.kill(0).expect("killing it twice is fine");

    let begun = Instant::now();
    cluster.restart(0).await.unwrap();
    println!("restarted after {:?}", begun.elapsed());
    assert_eq!(cluster.endpoints(), endpoints);
    assert_ne!(cluster.pid(0), Some(pid));
    assert_eq!(get(&cluster, "k").await, "kept");

    cluster.wipe(0).unwrap();
    cluster.restart(0).await.unwrap();
    assert_eq!(get(&cluster, "k").await, "", "wiped");
}

#[tokio::test]
async fn another_leader_follows_a_killed_one_and_all_restart() {
    let cluster = EtcdCluster::builder().members(3).start().await.unwrap();
    let old = cluster.leader().await.unwrap();
    cluster.kill(old).unwrap();
    assert_ne!(cluster.leader().await.unwrap(), old);
    cluster.ctl(&["put", "k", "v"]).await.unwrap();
    cluster.restart(old).await.unwrap();

    cluster.restart_all().await.unwrap();
    assert_eq!(get(&cluster, "k").await, "v");
}

#[tokio::test]
async fn a_stopped_member_is_silent_until_it_goes_on() {
    let cluster = EtcdCluster::builder().start().await.unwrap();
    for _ in 0..3 {
        cluster.stop(0).unwrap();
        let pid = cluster.pid(0).expect("frozen, not dead");
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
        assert!(stat.contains(") T "), "{stat}");
        let silent = timeout(Duration::from_millis(100), cluster.metrics(0)).await;
        assert!(silent.is_err(), "it answered: {silent:?}");
        cluster.cont(0).unwrap();
        cluster.metrics(0).await.unwrap();
    }
    cluster.kill(0).unwrap();
    assert!(matches!(cluster.stop(0), Err(HarnessError::NotRunning(0))));
    assert!(matches!(cluster.kill(1), Err(HarnessError::NotRunning(1))));
}

#[tokio::test]
async fn metrics_count_what_clients_hold_open() {
    let cluster = EtcdCluster::builder().start().await.unwrap();
    let before = cluster.metrics(0).await.unwrap();
    assert_eq!((before.watchers(), before.watch_streams(), before.keepalive_streams()), (0, 0, 0));

    let lease = cluster.ctl(&["lease", "grant", "60"]).await.unwrap();
    let id = lease.split(' ').nth(1).unwrap();
    let (watch, keepalive) = (["watch", "k"], ["lease", "keep-alive", id]);
    let held = async { tokio::join!(cluster.ctl(&watch), cluster.ctl(&keepalive)) };
    let seen = async {
        loop {
            let now = cluster.metrics(0).await.unwrap();
            if (now.watchers(), now.watch_streams(), now.keepalive_streams()) == (1, 1, 1) {
                break;
            }
        }
    };
    tokio::select! {
        ended = held => panic!("{ended:?}"),
        seen = timeout(Duration::from_secs(10), seen) => seen.expect("one watch and one keepalive"),
    }
    assert!(before.value("etcd_server_has_leader").is_some_and(|leads| leads > 0.0));
}

#[tokio::test]
async fn two_clusters_side_by_side_share_nothing() {
    let (a, b) = tokio::join!(EtcdCluster::builder().start(), EtcdCluster::builder().members(3).start());
    let (a, b) = (a.unwrap(), b.unwrap());
    assert!(a.endpoints().iter().all(|mine| !b.endpoints().contains(mine)));
    a.ctl(&["put", "k", "a"]).await.unwrap();
    assert_eq!(get(&b, "k").await, "");
    drop(b);
    assert_eq!(get(&a, "k").await, "a");
}

#[tokio::test]
async fn a_member_that_cannot_run_says_why_and_leaves_nothing() {
    let begun = Instant::now();
    let error = EtcdCluster::builder().extra_arg("--no-such-flag").start().await.unwrap_err();
    assert!(matches!(error, HarnessError::MemberExited { member: 0, .. }), "{error:?}");
    assert!(error.to_string().contains("no-such-flag"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(10), "found by its end, not by the deadline");

    let four = EtcdCluster::builder().members(4).start().await.unwrap_err();
    assert!(matches!(four, HarnessError::BadRequest(_)), "{four:?}");
    let old = EtcdCluster::builder().version("2.3").start().await.unwrap_err();
    assert!(matches!(old, HarnessError::NotInstalled { .. }), "{old:?}");
}

#[tokio::test]
async fn a_member_that_is_not_ready_in_time_is_given_up() {
    let mut cluster = EtcdCluster::builder().members(3).start().await.unwrap();
    cluster.ready_within = Duration::from_millis(300);
    cluster.kill(0).unwrap();
    cluster.kill(1).unwrap();
    let error = cluster.ready().await.unwrap_err();
    assert!(matches!(error, HarnessError::NotReady { member: 2, .. }), "no majority: {error:?}");
}

#[tokio::test]
async fn under_authentication_only_a_user_gets_in() {
    let cluster = EtcdCluster::builder().auth("secret").start().await.unwrap();
    cluster.ctl(&["put", "k", "v"]).await.unwrap();
    let stranger = cluster.ctl(&["--user", "root:wrong", "get", "k"]).await.unwrap_err();
    assert!(stranger.to_string().contains("authentication failed"), "{stranger}");
    cluster.restart(0).await.unwrap();
    assert_eq!(get(&cluster, "k").await, "v");
}

#[tokio::test]
async fn a_restored_backup_is_taken_up() {
    let cluster = EtcdCluster::builder().start().await.unwrap();
    cluster.ctl(&["put", "k", "saved"]).await.unwrap();
    cluster.ctl(&["snapshot", "save", "backup.db"]).await.unwrap();
    cluster.ctl(&["put", "k", "later"]).await.unwrap();
    cluster.wipe(0).unwrap();
    let tool = if cluster.version().at_least(3, 5) { "etcdutl" } else { "etcdctl" };
    let data = format!("--data-dir={}", cluster.data_dir(0).unwrap().display());
    cluster.run(tool, &["snapshot", "restore", "backup.db", &data]).await.unwrap();
    cluster.restart(0).await.unwrap();
    assert_eq!(get(&cluster, "k").await, "saved");
}

#[tokio::test]
async fn five_members_hold_two_losses_and_not_three() {
    let cluster = EtcdCluster::builder().members(5).start().await.unwrap();
    cluster.kill(0).unwrap();
    cluster.stop(1).unwrap();
    assert!(cluster.leader().await.unwrap() > 1);
    cluster.kill(2).unwrap();
    let without_majority = cluster.ctl(&["--command-timeout=300ms", "put", "k", "v"]).await;
    assert!(without_majority.is_err());
    cluster.cont(1).unwrap();
    cluster.leader().await.unwrap();
    cluster.ctl(&["put", "k", "v"]).await.unwrap();
}

#[tokio::test]
async fn a_taken_port_leads_to_other_ports() {
    let dir = tempfile::tempdir().unwrap();
    let etcd = binaries::find(None).unwrap();
    // Fails as an etcd does that finds its port taken, but for the second time.
    let script = format!(
        "#!/bin/sh\nif mkdir {0}/once; then echo 'bind: address already in use' >&2; exit 1; fi\nexec {1} \"$@\"\n",
        dir.path().display(),
        etcd.path.display()
    );
    let path = dir.path().join("etcd");
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let unlucky = Installed { path, ..etcd.clone() };
    let cluster = EtcdCluster::builder().start_on(&unlucky).await.unwrap();
    assert!(dir.path().join("once").is_dir());
    cluster.metrics(0).await.unwrap();

    for port in 0..3 {
        let cluster = EtcdCluster::new(&EtcdCluster::builder(), &etcd).unwrap();
        let ports = &cluster.members[0].ports;
        let number = [&ports.client, &ports.peer, &ports.metrics][port].number();
        let taken = std::net::TcpListener::bind(("127.0.0.1", number)).unwrap();
        let error = cluster.launch_all().await.unwrap_err();
        assert!(cluster.lost_a_port(&error), "{error}");
        drop(taken);
        cluster.launch_all().await.unwrap();
    }
}

#[cfg(feature = "tls")]
#[tokio::test]
async fn tls_lets_in_who_has_the_authority_or_under_client_authentication_its_certificate() {
    let (own, other) = (Certificates::new("someone").unwrap(), Certificates::new("someone").unwrap());
    let path = |file: std::path::PathBuf| file.to_str().unwrap().to_owned();
    for client_cert_auth in [false, true] {
        let cluster = EtcdCluster::builder().tls(own.server(client_cert_auth)).start().await.unwrap();
        assert!(cluster.endpoints()[0].starts_with("https://127.0.0.1:"));
        cluster
            .ctl(&["put", "k", "v"])
            .await
            .expect("with the server's certificate, or where none is asked, none");

        let get = ["--command-timeout=1s", "--dial-timeout=1s", "get", "k"];
        let with = async |ca: &Certificates, client: &Certificates| {
            let [ca, cert, key] = [ca.ca(), client.client_cert(), client.client_key()].map(path);
            let flags = ["--cacert", &ca, "--cert", &cert, "--key", &key];
            cluster.ctl(&[&flags[..], &get].concat()).await
        };
        with(&own, &own).await.unwrap();
        let unknown = with(&other, &own).await.unwrap_err();
        assert!(unknown.to_string().contains("deadline exceeded"), "an unknown authority: {unknown}");
        let foreign = with(&own, &other).await;
        assert_eq!(foreign.is_ok(), !client_cert_auth, "a certificate that is checked or not: {foreign:?}");
    }
}
