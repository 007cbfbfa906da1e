//! The first look: it ends by itself, and with 0 only because all it shows was checked.

use std::collections::BTreeSet;

use crate::running::{ended, registryctl};

/// What a run on any registry shows, in this order.
pub(crate) fn shows_a_life(out: &str) {
    let story = [
        "sees a registered",
        "sees b registered",
        "sees c registered",
        "b         draining",
        "sees b draining",
        "sees b deregistered",
        "c         killed",
        "sees c expired",
        "deregisters a",
        "sees a deregistered",
        "a         lost",
        "sees a registered",
        "STATUS",
        "all were kept",
    ];
    let mut rest = out;
    for word in story {
        let at = rest.find(word).unwrap_or_else(|| panic!("no {word:?} where it is due in:\n{out}"));
        rest = &rest[at + word.len()..];
    }
    assert!(!out.contains("BROKEN") && !out.contains('\u{1b}'), "{out}");
}

#[tokio::test]
async fn the_demo_ends_well_within_its_time() {
    // Whatever the shell is set up for: a first look touches no registry that others use.
    let mut demo = registryctl(&["demo"]);
    let ended = ended(demo.env("REGISTRY_TARGET", "etcd://127.0.0.1:1")).await.with(0);
    shows_a_life(&ended.out);
    assert_eq!(ended.err, "");
}

#[tokio::test]
async fn the_demo_speaks_to_programs() {
    let ended = ended(&mut registryctl(&["demo", "--output", "json"])).await.with(0);
    let lines: Vec<serde_json::Value> =
        ended.out.lines().map(|line| serde_json::from_str(line).expect("one document a line")).collect();
    let (last, events) = lines.split_last().expect("some lines");
    let who: BTreeSet<_> = events.iter().filter_map(|event| event["who"].as_str()).collect();
    assert_eq!(who, BTreeSet::from(["a", "b", "c", "caller", "operator"]));
    assert_eq!(last["broken"], serde_json::json!([]));
    assert!(last["kept"].as_u64() > Some(20), "{last}");
    assert_eq!(last["last"]["instances"][0]["id"], "a");
}
