//! The contract, the list of rules and the functions that test them say the same.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use registry_testkit::deferred::DEFERRED;
use registry_testkit::suite;

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The numbers of all rules that the contract states: `- **R1** …` and `| **I1** | …`.
fn stated() -> BTreeSet<String> {
    let text = fs::read_to_string(here().join("../docs/contract.md")).unwrap();
    let number = |line: &str| {
        let rest = line.strip_prefix("- **").or_else(|| line.strip_prefix("| **"))?;
        let (number, _) = rest.split_once("**")?;
        let (letter, digits) = number.split_at_checked(1)?;
        let is_number = letter.chars().all(|c| c.is_ascii_uppercase()) && digits.parse::<u8>().is_ok();
        is_number.then(|| number.to_owned())
    };
    text.lines().filter_map(number).collect()
}

/// The numbers that have a test.
fn tested() -> BTreeSet<String> {
    suite::rules().iter().map(suite::Rule::number).collect()
}

#[test]
fn the_contract_states_every_rule_once() {
    // Its sections with how many rules each has: a rule that is dropped from the text is missed here.
    let counted: Vec<_> =
        "ARHXDQWCI".chars().map(|c| stated().iter().filter(|n| n.starts_with(c)).count()).collect();
    assert_eq!(counted, [4, 8, 9, 5, 6, 11, 18, 4, 12]);
}

#[test]
fn every_rule_is_tested_or_deferred_with_a_reason() {
    let deferred: BTreeSet<String> = DEFERRED.iter().map(|deferred| deferred.rule.to_owned()).collect();
    let missing: Vec<_> =
        stated().into_iter().filter(|n| !tested().contains(n) && !deferred.contains(n)).collect();
    assert!(missing.is_empty(), "neither tested nor deferred: {missing:?}");
}

#[test]
fn every_test_and_every_deferral_is_of_a_rule_that_is_stated() {
    let stated = stated();
    let strays: Vec<_> = tested().into_iter().filter(|number| !stated.contains(number)).collect();
    assert!(strays.is_empty(), "tests of rules that nobody stated: {strays:?}");
    let strays: Vec<_> = DEFERRED.iter().filter(|deferred| !stated.contains(deferred.rule)).collect();
    assert!(strays.is_empty(), "deferred and not stated: {strays:?}");
}

#[test]
fn every_function_is_in_the_list_and_every_name_once() {
    let mut written = BTreeSet::new();
    for entry in fs::read_dir(here().join("src/rules")).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_stem().unwrap().to_str().unwrap().to_owned();
        for line in fs::read_to_string(&path).unwrap().lines() {
            if let Some(rest) = line.strip_prefix("pub async fn ") {
                written.insert((file.clone(), rest.split(['(', '<']).next().unwrap().to_owned()));
            }
        }
    }
    let listed: Vec<_> =
        suite::rules().iter().map(|rule| (rule.file.to_owned(), rule.name.to_owned())).collect();
    let once: BTreeSet<_> = listed.iter().cloned().collect();
    assert_eq!(once.len(), listed.len(), "a rule is listed twice");
    assert_eq!(once, written, "functions under src/rules and the list differ");
    let names: BTreeSet<_> = listed.iter().map(|(_, name)| name).collect();
    assert_eq!(names.len(), listed.len(), "two rules have one name");
}
