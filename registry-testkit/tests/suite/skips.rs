//! Nothing is skipped in silence, and nothing but what a backend has not.

use std::panic::catch_unwind;
use std::process::Command;
use std::sync::Arc;

use registry_core::{Capability, ServiceDiscovery};
use registry_testkit::suite::{self, Clock, Outcome, Rule};
use registry_testkit::{Harness, Timing};

use crate::common::Memory;

/// Claims what memory claims, a second client, and brings none.
struct Boaster;

impl Harness for Boaster {
    type Guard = ();
    async fn fresh() -> (Arc<dyn ServiceDiscovery>, ()) {
        (Memory::fresh().await.0, ())
    }
    fn timing() -> Timing {
        Memory::timing()
    }
}

#[test]
fn a_capability_that_is_claimed_and_not_brought_fails() {
    let rule = "c3_close_ends_one_handle_and_deregisters_nothing";
    let panic =
        catch_unwind(|| suite::run::<Boaster>(Clock::Paused, rule)).expect_err("it is skipped in silence");
    let words = panic.downcast_ref::<String>().expect("words");
    assert!(words.contains("Boaster claims SecondClient"), "{words}");
}

#[test]
fn a_rule_is_skipped_exactly_where_its_capability_is_absent() {
    let (registry, _guard) = Clock::Paused.run(Memory::fresh());
    for rule in suite::rules() {
        let absent = rule.needs.iter().find(|needed| !registry.capabilities().has(**needed));
        if let Some(absent) = absent {
            let outcome = Clock::Paused.run(suite::check::<Memory>(rule));
            assert_eq!(outcome, Outcome::Skipped(*absent), "{}", rule.name);
        }
    }
    let asked: Vec<_> = suite::rules().iter().flat_map(|rule| rule.needs).collect();
    for capability in
        [Capability::Outage, Capability::SecondClient, Capability::StaleReads, Capability::Stranger]
    {
        assert!(asked.contains(&&capability), "no rule asks for {capability}");
    }
}

#[test]
fn a_skip_is_printed_and_written_down() {
    let rule = Rule::named("q2_a_stale_read_says_so").expect("it is a rule");
    let file = std::env::temp_dir().join(format!("skips-{}.txt", std::process::id()));
    // The very test that `conformance!` made, in a process of its own, for whose environment nobody else cares.
    let run = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", &format!("memory::conformance::{}", rule.name)])
        .env("REGISTRY_SKIPS", &file)
        .output()
        .unwrap();
    let written = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let line = format!("Memory {} the backend has no StaleReads\n", rule.name);
    assert_eq!(written, line);
    let printed = String::from_utf8_lossy(&run.stderr);
    assert!(printed.contains(&format!("skipped: {line}")), "{printed}");
    assert!(run.status.success());
}
