//! `cargo xtask test`: everything there is to test, and one honest count of it.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;

use crate::cargo::cargo;
use crate::setup::{self, Series, Tools};
use crate::verify::Outcome;

mod artifacts;
mod examples;
mod run;
mod skips;
mod tally;

use skips::{Skip, Skips};
use tally::Tally;

/// How much of it.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only what needs neither protoc nor etcd
    #[arg(long)]
    quick: bool,
}

/// A part of the whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Every test of the workspace, doc tests too, on the newer etcd.
    Workspace,
    /// The etcd-backed tests again, on the older etcd.
    OlderEtcd,
    /// Every example, run to its end.
    Examples,
}

/// Chooses the etcd that the test harness starts.
const ETCD_VERSION: &str = "REGISTRY_ETCD_VERSION";
const ALL: [&str; 2] = ["--workspace", "--all-features"];

/// Packages with tests on etcd, and which of their tests those are. Test programs and modules named `memory` are
/// about the other backend.
const ETCD_BACKED: [(&str, &[&str]); 4] = [
    ("registry-etcd", &[]),
    ("registry-tests", &["--skip", "memory"]),
    ("registry-testkit", &["etcd"]),
    ("registry-cli", &["etcd"]),
];

/// `cargo xtask test`
pub(crate) fn command(options: &Options) -> Result<ExitCode> {
    let steps = [Step::Workspace, Step::OlderEtcd, Step::Examples];
    let report = if options.quick { quick()? } else { all(&steps)? };
    report.print();
    Ok(if report.tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Some of it, as parts of `cargo xtask verify`.
pub(crate) fn part(steps: &[Step]) -> Result<Outcome> {
    let report = all(steps)?;
    report.print();
    match report.tally {
        Tally { failed: 0, passed: 0, .. } => Ok(Outcome::Skipped(report.skipped.join("; "))),
        Tally { failed: 0, .. } => Ok(Outcome::Passed),
        tally => bail!("{tally}"),
    }
}

fn quick() -> Result<Report> {
    let mut report = Report::default();
    report.run("quick", &mut cargo(&["test", "--no-fail-fast"]), None)?;
    report.skip("skipped: whatever needs protoc or etcd: only the quick tests were asked for");
    Ok(report)
}

fn all(steps: &[Step]) -> Result<Report> {
    let tools = setup::ensure(&Series::ALL)?;
    let mut report = Report::default();
    report.missing(&tools);
    let has = |series: Series| tools.etcd.iter().any(|(own, tool)| *own == series && tool.is_ok());
    let newest = Series::ALL.into_iter().find(|series| has(*series));
    let Some(newest) = newest.filter(|_| tools.protoc.is_ok()) else {
        // The members that build and pass on a bare machine are still worth a verdict.
        if steps.contains(&Step::Workspace) {
            report.run("bare", &mut cargo(&["test", "--no-fail-fast"]), None)?;
        }
        report.skip("skipped: the etcd backend, the cross-backend tests and the examples: see above");
        return Ok(report);
    };
    if steps.contains(&Step::Workspace) {
        report.run("workspace", cargo(&["test", "--no-fail-fast"]).args(ALL), Some(newest))?;
    }
    let built = artifacts::build()?;
    if steps.contains(&Step::OlderEtcd) && has(Series::V3_4) && newest != Series::V3_4 {
        for (package, filter) in ETCD_BACKED {
            let tests = built.iter().filter(|built| built.is_test && built.package == package);
            for test in tests.filter(|test| test.target != "memory") {
                let name = format!("{package} {}", test.target);
                report.run(&name, test.command().args(filter), Some(Series::V3_4))?;
            }
        }
    }
    if steps.contains(&Step::Examples) {
        for example in built.iter().filter(|built| built.is_example) {
            report.example(example, newest);
        }
    }
    Ok(report)
}

/// What came of it all.
#[derive(Debug, Default)]
struct Report {
    tally: Tally,
    closing: Vec<String>,
    /// What could not run at all, a line each.
    skipped: Vec<String>,
    /// Rules that a backend has not what it takes for.
    rules: Vec<Skip>,
}

impl Report {
    fn run(&mut self, name: &str, command: &mut std::process::Command, etcd: Option<Series>) -> Result<()> {
        let skips = Skips::new(&name.replace(' ', "-"))?;
        command.env(skips::VARIABLE, &skips.file);
        if let Some(series) = etcd {
            command.env(ETCD_VERSION, series.name());
        }
        let outcome = run::run(command)?;
        self.tally += outcome.tally;
        if !outcome.closing.is_empty() {
            self.closing.push(match etcd {
                Some(series) => format!("{name}, on etcd {series}:"),
                None => format!("{name}:"),
            });
        }
        self.closing.extend(outcome.closing);
        for skip in skips.read()? {
            // The test runner counted it as passed.
            self.tally.passed = self.tally.passed.saturating_sub(1);
            self.tally += Tally::SKIPPED;
            self.rules.push(skip);
        }
        Ok(())
    }

    fn example(&mut self, example: &artifacts::Built, etcd: Series) {
        let line = match examples::run(example, etcd) {
            Ok(()) => {
                self.tally += Tally::PASSED;
                format!("example {} of {}: ok", example.target, example.package)
            }
            Err(why) => {
                self.tally += Tally::FAILED;
                format!("example {} of {}: FAILED: {why:#}", example.target, example.package)
            }
        };
        println!("{line}");
        self.closing.push(line);
    }

    fn missing(&mut self, tools: &Tools) {
        if let Err(why) = &tools.protoc {
            self.skip(&format!("skipped: what needs protoc: {why:#}"));
        }
        for (series, tool) in &tools.etcd {
            if let Err(why) = tool {
                self.skip(&format!("skipped: all tests on etcd {series}: {why:#}"));
            }
        }
    }

    fn skip(&mut self, line: &str) {
        self.tally += Tally::SKIPPED;
        self.skipped.push(line.to_owned());
    }

    fn print(&self) {
        println!();
        for line in skips::told(&self.rules).iter().chain(&self.skipped).chain(&self.closing) {
            println!("{line}");
        }
        println!("{}", self.tally);
    }
}
