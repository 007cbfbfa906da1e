//! `cargo xtask verify [part...]`: the gates, each in a file of its own. They write nothing but what cargo builds.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::test;

mod advisories;
mod bare;
mod clippy;
mod deny;
mod docs;
mod features;
mod fmt;
mod publish;
mod tidy;

pub(crate) use clippy::fix;

/// Which parts.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The parts to run, in their own order (default: all)
    parts: Vec<Part>,
    /// Leave a part out (repeatable)
    #[arg(long, value_name = "PART")]
    except: Vec<Part>,
    /// Only list the parts
    #[arg(long)]
    list: bool,
}

/// One gate. Quick ones first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Formatting
    Fmt,
    /// File sizes, names, banned words, addresses, licence files
    Tidy,
    /// Licences, bans and sources of every dependency
    Deny,
    /// Known vulnerabilities, where the database is reachable
    Advisories,
    /// The build that needs neither protoc nor etcd
    Bare,
    /// Every crate with each of its features, and with none
    Features,
    /// Lints over all targets and features
    Clippy,
    /// Documentation
    Docs,
    /// `cargo publish --dry-run` of every published crate
    Publish,
    /// All tests, on etcd 3.5, and the examples
    Test,
    /// The etcd-backed tests again, on etcd 3.4
    Etcd,
}

/// How a part that did not fail ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Passed,
    /// It could not run here: why.
    Skipped(String),
}

impl Part {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn about(self) -> String {
        let value = self.to_possible_value();
        value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    }

    fn run(self) -> Result<Outcome> {
        match self {
            Self::Fmt => fmt::run(),
            Self::Tidy => tidy::run(),
            Self::Deny => deny::run(),
            Self::Advisories => advisories::run(),
            Self::Bare => bare::run(),
            Self::Features => features::run(),
            Self::Clippy => clippy::run(),
            Self::Docs => docs::run(),
            Self::Publish => publish::run(),
            Self::Test => test::part(&[test::Step::Workspace, test::Step::Examples]),
            Self::Etcd => test::part(&[test::Step::OlderEtcd]),
        }
    }
}

/// Runs the parts, all of them even when one fails, and ends with a line for each.
pub(crate) fn command(options: &Options) -> ExitCode {
    if options.list {
        for part in Part::value_variants() {
            println!("{:<11} {}", part.name(), part.about());
        }
        return ExitCode::SUCCESS;
    }
    let wanted = |part: &Part| {
        (options.parts.is_empty() || options.parts.contains(part)) && !options.except.contains(part)
    };
    let mut lines = Vec::new();
    let mut failed = false;
    for part in Part::value_variants().iter().copied().filter(wanted) {
        println!("== {}: {}", part.name(), part.about());
        let watch = Stopwatch::start();
        let outcome = part.run();
        failed |= outcome.is_err();
        let word = match outcome {
            Ok(Outcome::Passed) => "ok".to_owned(),
            Ok(Outcome::Skipped(why)) => format!("skipped: {why}"),
            Err(why) => format!("FAILED: {why:#}"),
        };
        lines.push(format!("verify {:<11} {:>5} s  {word}", part.name(), watch.seconds()));
    }
    println!();
    for line in lines {
        println!("{line}");
    }
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// How long a part took, for people.
struct Stopwatch(std::time::Instant);

#[allow(clippy::disallowed_methods, reason = "a build's duration is real time")]
impl Stopwatch {
    fn start() -> Self {
        Self(std::time::Instant::now())
    }

    fn seconds(&self) -> u64 {
        self.0.elapsed().as_secs()
    }
}
