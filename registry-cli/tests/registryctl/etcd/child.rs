//! `register -- COMMAND`: registered while it runs.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::net::TcpListener;
use tokio::time::Instant;

use super::beside::Beside;
use super::place::{Place, listener};
use crate::running::registryctl;

fn arguments<'a>(address: &'a str, script: &'a str) -> Vec<&'a str> {
    let own = ["register", "--service", "web", "--id", "one", "--ttl", "20s", "--drain", "500ms"];
    [&own[..], &["--address", address, "--", "sh", "-c", script]].concat()
}

#[tokio::test]
async fn its_code_is_passed_on_and_the_instance_is_gone() {
    let place = Place::new("code").await;
    let (_listener, address) = listener().await;
    let mut watch = place.start(&["watch", "web"]);
    watch.out("snapshot").await;
    let script = "sleep 1; exit 7";
    let owner = place.start(&arguments(&address, script));
    watch.out("registered").await;
    assert_eq!(owner.code().await, Some(7));
    watch.out("deregistered").await;
    place.run(&["instances", "web"]).await.with(3);
}

#[tokio::test]
async fn one_that_ends_before_it_listens_is_never_registered() {
    let place = Place::new("early").await;
    let (free, address) = listener().await;
    drop(free);
    let ended = place.run(&arguments(&address, "exit 7")).await.with(7);
    assert!(ended.err.contains("never registered"), "{}", ended.err);
    place.run(&arguments(&address, "kill -9 $$")).await.with(137);
    let missing = ["register", "--service", "web", "--address", &address, "--", "no-such-program"];
    place.run(&missing).await.with(1).says(&["no-such-program", "PATH"]);
}

#[tokio::test]
async fn it_drains_first_then_gets_the_signal_then_the_instance_goes() {
    let place = Place::new("drains").await;
    let (_listener, address) = listener().await;
    let mut watch = place.start(&["watch", "web"]);
    watch.out("snapshot").await;
    let script = "trap 'echo told; sleep 0.3; exit 5' TERM; while :; do sleep 0.05; done";
    let mut owner = place.start(&arguments(&address, script));
    watch.out("registered").await;
    owner.signal(Signal::TERM);
    let (draining, _) = watch.out("draining").await;
    let (told, _) = owner.out("told").await;
    assert!(told - draining >= Duration::from_millis(400), "{:?}", told - draining);
    let (gone, _) = watch.out("deregistered").await;
    assert!(gone >= told, "it was deregistered while the command ran");
    assert_eq!(owner.code().await, Some(5));
}

#[tokio::test]
async fn it_is_registered_once_it_listens_and_a_restart_takes_its_previous_life_over() {
    let place = Place::new("restart").await;
    let (free, address) = listener().await;
    drop(free);
    let script = "echo $$; exec sleep 60";
    let mut first = place.start(&arguments(&address, script));
    let (_, pid) = first.out("").await;
    assert_eq!(place.instances("web").await.len(), 0, "it was registered before anything listened");
    let listener = TcpListener::bind(&address).await.unwrap();
    first.err("registered").await;
    let before = place.instances("web").await[0]["generation"].clone();

    first.signal(Signal::KILL);
    assert_eq!(first.code().await, None);
    drop(listener);
    kill_process(Pid::from_raw(pid.parse().unwrap()).unwrap(), Signal::KILL).unwrap();

    let begun = Instant::now();
    let mut second = place.start(&arguments(&address, script));
    second.out("").await;
    let _listener = TcpListener::bind(&address).await.unwrap();
    second.err("registered").await;
    assert!(begun.elapsed() < Duration::from_secs(10), "it waited for the old lease: {:?}", begun.elapsed());
    assert_ne!(place.instances("web").await[0]["generation"], before);
    second.signal(Signal::TERM);
    assert_eq!(second.code().await, Some(143));
    place.run(&["instances", "web"]).await.with(3);
}

#[tokio::test]
async fn a_refused_registration_ends_the_command() {
    let place = Place::new("refused").await;
    let (_listener, address) = listener().await;
    let mut first = place.start(&arguments(&address, "exec sleep 60"));
    first.err("registered").await;
    place.run(&arguments(&address, "exec sleep 60")).await.with(1).says(&["AlreadyExists", "--takeover"]);
    first.signal(Signal::TERM);
    assert_eq!(first.code().await, Some(143));
}

#[tokio::test]
async fn without_its_registry_it_runs_all_the_same() {
    let (_listener, address) = listener().await;
    let mut command = registryctl(&["--target", "etcd://127.0.0.1:1"]);
    let mut owner = Beside::start(command.args(arguments(&address, "sleep 5; exit 7")));
    owner.err("not registered yet").await;
    assert_eq!(owner.code().await, Some(7));
}
