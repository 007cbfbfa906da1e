//! `register` in one process, `watch` and `instances` in another.

use std::time::Duration;

use rustix::process::Signal;
use tokio::time::Instant;

use super::place::Place;
use crate::demo::shows_a_life;

const ADDRESS: [&str; 4] = ["--address", "http://10.0.0.1:80", "--address", "admin=http://10.0.0.1:81"];

#[tokio::test]
async fn the_demo_ends_well_on_etcd() {
    let place = Place::new("demo").await;
    let ended = place.run(&["demo", "--target", &place.target]).await.with(0);
    shows_a_life(&ended.out);
}

#[tokio::test]
async fn a_demo_that_is_interfered_with_shows_what_was_not_as_promised() {
    let place = Place::new("interfered").await;
    let mut demo = place.start(&["demo"]);
    let (_, head) = demo.out("Three instances").await;
    let service = head.split('"').nth(1).expect("its name").to_owned();
    demo.out("sees a registered").await;
    place.run(&["disable", &service, "a"]).await.with(0);
    demo.out("BROKEN").await;
    demo.err("promises were broken").await;
    assert_eq!(demo.code().await, Some(1));
    place.run(&["enable", &service, "a"]).await.with(0);
}

#[tokio::test]
async fn what_one_registers_another_sees_drain_and_go() {
    let place = Place::new("seen").await;
    let mut watch = place.start(&["watch", "web", "--output", "json"]);
    let (_, first) = watch.item().await;
    assert_eq!((&first["item"], &first["instances"]), (&"snapshot".into(), &serde_json::json!([])));

    let begun = Instant::now();
    let mut arguments =
        vec!["register", "--service", "web", "--id", "one", "--version", "2", "--weight", "7"];
    arguments.extend(["--meta", "tier=gold", "--ttl", "20s", "--drain", "700ms"]);
    arguments.extend(ADDRESS);
    let mut owner = place.start(&arguments);
    let (at, added) = watch.item().await;
    assert!(at - begun < Duration::from_secs(3), "{:?}", at - begun);
    let instance = &added["changes"][0]["instance"];
    assert_eq!((&added["changes"][0]["change"], &instance["id"]), (&"added".into(), &"one".into()));
    owner.err("registered").await;
    let listed = place.instances("web").await;
    assert_eq!((listed.len(), &listed[0]), (1, instance));
    assert_eq!((&listed[0]["version"], &listed[0]["weight"]), (&"2".into(), &7.into()));
    assert_eq!((&listed[0]["metadata"]["tier"], &listed[0]["routable"]), (&"gold".into(), &true.into()));
    assert_eq!(listed[0]["endpoints"][1]["url"], "http://10.0.0.1:81");
    let table = place.run(&["instances", "web"]).await.with(0).out;
    assert!(table.contains("one") && table.contains("admin=http://10.0.0.1:81"), "{table}");
    assert!(place.run(&["services"]).await.with(0).out.contains("web"));
    assert!(place.run(&["services", "--stale", "--output", "json"]).await.with(0).out.contains("\"web\""));
    assert!(place.run(&["instances", "web", "--version", "2"]).await.with(0).out.contains("one"));
    place.run(&["instances", "web", "--version", "3"]).await.with(3);

    owner.signal(Signal::TERM);
    let (draining, updated) = watch.item().await;
    assert_eq!(updated["changes"][0]["after"]["status"], "draining");
    let (gone, removed) = watch.item().await;
    assert_eq!(removed["changes"][0]["reason"], "deregistered");
    assert!(gone - draining >= Duration::from_millis(600), "{:?}", gone - draining);
    assert_eq!(owner.code().await, Some(0));
    place.run(&["instances", "web"]).await.with(3);
}

#[tokio::test]
async fn an_owner_killed_without_a_word_is_gone_half_a_second_after_its_ttl() {
    let place = Place::new("killed").await;
    let mut watch = place.start(&["watch", "web"]);
    watch.out("snapshot").await;
    let mut arguments = vec!["register", "--service", "web", "--ttl", "3s"];
    arguments.extend(ADDRESS);
    let owner = place.start(&arguments);
    watch.out("registered").await;
    // Past the first heartbeat, so that it is heartbeats that keep it.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    owner.signal(Signal::KILL);
    let killed = Instant::now();
    let (at, _) = watch.out("expired").await;
    // Its last heartbeat was at most an interval of 1 s before.
    let after = at - killed;
    assert!(after > Duration::from_millis(1900), "{after:?}");
    // The TTL, half a second until etcd looks, and half a second for a busy machine.
    assert!(after < Duration::from_secs(4), "{after:?}");
    assert_eq!(owner.code().await, None);
}

#[tokio::test]
async fn a_living_id_is_refused_and_a_takeover_fences() {
    let place = Place::new("rival").await;
    let mut arguments = vec!["register", "--service", "web", "--id", "one"];
    arguments.extend(ADDRESS);
    let mut first = place.start(&arguments);
    first.err("registered").await;
    place.run(&arguments).await.with(1).says(&["AlreadyExists", "--takeover"]);
    arguments.push("--takeover");
    let mut second = place.start(&arguments);
    second.err("registered").await;
    first.err("fenced").await;
    assert_eq!(first.code().await, Some(1));
    assert_eq!(place.instances("web").await.len(), 1);
    second.signal(Signal::INT);
    second.signal(Signal::INT);
    assert_eq!(second.code().await, Some(0));
}

#[tokio::test]
async fn an_etcd_that_is_not_there_is_an_error_that_says_what_to_look_at() {
    for command in [&["services"][..], &["instances", "web"], &["disable", "web", "one"]] {
        let mut command = crate::running::registryctl(command);
        let ended = crate::running::ended(command.args(["--target", "etcd://127.0.0.1:1"])).await.with(1);
        ended.says(&["127.0.0.1:1", "next: ", "--target"]);
    }
}
