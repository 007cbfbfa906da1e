//! What an operator does to somebody else's instance.

use std::time::Duration;

use serde_json::Value;

use super::beside::Beside;
use super::place::Place;

async fn living(place: &Place, id: &str) -> Beside {
    let address = ["--address", "http://10.0.0.1:80", "--ttl", "3s"];
    let mut owner = place.start(&[&["register", "--service", "web", "--id", id][..], &address].concat());
    owner.err("registered").await;
    owner
}

#[tokio::test]
async fn a_living_owner_comes_back_after_deregister_and_one_is_told_so() {
    let place = Place::new("returns").await;
    let mut owner = living(&place, "one").await;
    let before = place.instances("web").await[0]["generation"].clone();
    let ended = place.run(&["deregister", "web", "one"]).await.with(0);
    ended.says(&["registers again", "registryctl disable web one"]);
    owner.err("lost").await;
    owner.err("registered").await;
    let after = place.instances("web").await;
    assert_eq!(after.len(), 1);
    assert_ne!(after[0]["generation"], before);
}

#[tokio::test]
async fn disabled_it_stays_whatever_its_owner_does_until_enabled() {
    let place = Place::new("disabled").await;
    let mut owner = living(&place, "one").await;
    let mut disable = crate::running::registryctl(&["disable", "web", "one", "--reason", "leaks"]);
    let disable = disable.args(["--target", &place.target]).env("USER", "ada");
    assert!(crate::running::ended(disable).await.with(0).out.contains("by ada"));
    let status = |list: &[Value]| (list[0]["status"].clone(), list[0]["routable"].clone());
    let listed = place.instances("web").await;
    assert_eq!(status(&listed), ("disabled".into(), false.into()));
    assert_eq!(listed[0]["override"]["by"], "ada");
    assert!(place.run(&["instances", "web"]).await.out.contains("by ada: leaks"));

    place.run(&["deregister", "web", "one"]).await.with(0);
    owner.err("lost").await;
    owner.err("registered").await;
    assert_eq!(status(&place.instances("web").await), ("disabled".into(), false.into()));

    place.run(&["enable", "web", "one"]).await.with(0);
    assert_eq!(status(&place.instances("web").await), ("up".into(), true.into()));
}

#[tokio::test]
async fn disabled_for_a_time_it_comes_back_by_itself() {
    let place = Place::new("for").await;
    let _owner = living(&place, "one").await;
    let ended = place.run(&["disable", "web", "one", "--for", "2s", "--output", "json"]).await.with(0);
    let answer: Value = serde_json::from_str(&ended.out).unwrap();
    assert_eq!(answer["override"]["life"], "2s");
    assert_eq!(place.instances("web").await[0]["status"], "disabled");
    place.until("web", "enabled again", |list| list[0]["status"] == "up").await;
}

#[tokio::test]
async fn what_is_not_there_is_not_found() {
    let place = Place::new("missing").await;
    place.run(&["deregister", "web", "nobody"]).await.with(3).says(&["registryctl instances web"]);
    place.run(&["instances", "web"]).await.with(3).says(&["registryctl services"]);
    let services = place.run(&["services"]).await.with(0);
    assert_eq!(services.out, "");
    // An override may stand before its instance.
    place.run(&["disable", "web", "later"]).await.with(0).says(&["no living instance later"]);
    let _owner = living(&place, "later").await;
    assert_eq!(place.instances("web").await[0]["status"], "disabled");
    place.run(&["enable", "web", "later"]).await.with(0);
}

#[tokio::test]
async fn a_watch_is_told_in_the_words_of_the_contract() {
    let place = Place::new("words").await;
    let mut watch = place.start(&["watch", "web"]);
    watch.out("snapshot").await;
    let _owner = living(&place, "one").await;
    watch.out("registered").await;
    place.run(&["disable", "web", "one"]).await.with(0);
    watch.out("disabled").await;
    place.run(&["enable", "web", "one"]).await.with(0);
    watch.out("up").await;
    place.run(&["deregister", "web", "one"]).await.with(0);
    let (gone, _) = watch.out("deregistered").await;
    let (back, _) = watch.out("registered").await;
    assert!(back - gone < Duration::from_secs(4), "{:?}", back - gone);
}
