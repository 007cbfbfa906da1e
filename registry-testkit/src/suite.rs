//! Running rules: one list, one named test each, and skips that are told.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;

use futures::future::LocalBoxFuture;
use registry_core::Capability;

use crate::case::Case;
use crate::harness::Harness;

mod list;

/// One rule's test: an ordinary async function that panics where the rule is broken.
pub type Body = for<'a> fn(&'a Case) -> LocalBoxFuture<'a, ()>;

/// A named test of one thing that a rule of the contract says.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The function's name: the rule's number in lower case, then what it says.
    pub name: &'static str,
    /// The file under `rules/` that holds it.
    pub file: &'static str,
    /// What the backend must be able to; where it is not, the rule is skipped.
    pub needs: &'static [Capability],
    /// The test.
    pub body: Body,
}

impl Rule {
    /// Of what needs nothing but a registry.
    pub(crate) const WITHOUT_NEEDS: Self =
        Self { name: "model", file: "model", needs: &[], body: |_| Box::pin(async {}) };

    /// The number of the contract's rule: `R5`.
    pub fn number(&self) -> String {
        self.name.split('_').next().unwrap_or(self.name).to_uppercase()
    }

    /// The rule of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        list::RULES.iter().find(|rule| rule.name == name)
    }
}

/// Every rule that is tested, in the order of the contract.
pub fn rules() -> &'static [Rule] {
    list::RULES
}

/// Whose time a run is measured by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// Tokio's, paused: waiting takes no time. For backends that do no I/O.
    Paused,
    /// Tokio's, running, on several threads.
    Wall,
}

impl Clock {
    /// Runs `future` to its end on a runtime of its own.
    pub fn run<T>(self, future: impl Future<Output = T>) -> T {
        let runtime = match self {
            Self::Paused => {
                tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()
            }
            Self::Wall => tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build(),
        };
        runtime.expect("a runtime").block_on(future)
    }
}

/// How a rule ended that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It holds.
    Holds,
    /// The backend has not what the rule is about.
    Skipped(Capability),
}

/// Runs the rule called `name` on a fresh registry of `H`; panics where it is broken. What [`conformance!`] forwards to.
///
/// [`conformance!`]: crate::conformance
pub fn run<H: Harness>(clock: Clock, name: &str) {
    let rule = Rule::named(name).unwrap_or_else(|| panic!("no rule is called {name}"));
    if let Outcome::Skipped(capability) = clock.run(check::<H>(rule)) {
        skipped(&H::name(), name, &format!("the backend has no {capability}"));
    }
}

/// The same on the current runtime, for those who look at the outcome.
pub async fn check<H: Harness>(rule: &Rule) -> Outcome {
    let case = Case::open::<H>(rule).await;
    let lacks = rule.needs.iter().find(|needed| !case.registry.capabilities().has(**needed));
    if let Some(capability) = lacks {
        return Outcome::Skipped(*capability);
    }
    (rule.body)(&case).await;
    case.end().await;
    Outcome::Holds
}

/// Tells that something was not run: on stderr, and in the file named by `REGISTRY_SKIPS`.
fn skipped(harness: &str, rule: &str, why: &str) {
    let line = format!("{harness} {rule} {why}\n");
    eprint!("skipped: {line}");
    if let Some(path) = std::env::var_os("REGISTRY_SKIPS") {
        let written = append(Path::new(&path), &line);
        written.unwrap_or_else(|error| panic!("{} cannot be written: {error}", path.display()));
    }
}

/// One write of a whole line: other test processes append to the same file.
fn append(path: &Path, line: &str) -> std::io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(line.as_bytes())
}

/// Makes one `#[test]` of every rule, each on a fresh registry of a [`Harness`](crate::Harness), and one that compares
/// it with the [`model`](crate::model).
///
/// `conformance!(paused: H)` runs on paused time, `conformance!(wall: H)` on the wall clock. The tests stand in a module
/// `conformance`; for a second harness in one place give it another name: `conformance!(paused: H, as boxed)`.
#[macro_export]
macro_rules! conformance {
    ($clock:ident: $harness:ty) => {
        $crate::conformance!($clock: $harness, as conformance);
    };
    ($clock:ident: $harness:ty, as $module:ident) => {
        #[cfg(test)]
        mod $module {
            #[allow(unused_imports, reason = "the harness may be named by a path of its own")]
            use super::*;
            $crate::for_each_rule!(__rule_tests $clock ($harness));
        }
    };
}

/// One test per rule of the list, and one for the model.
#[doc(hidden)]
#[macro_export]
macro_rules! __rule_tests {
    ($clock:ident ($harness:ty) $($file:ident { $($rule:ident $([$($needs:ident),+])?,)+ })+) => {
        $($(
            #[test]
            fn $rule() {
                $crate::suite::run::<$harness>($crate::__clock!($clock), stringify!($rule));
            }
        )+)+

        #[test]
        fn model_answers_alike() {
            $crate::model::check::<$harness>($crate::__clock!($clock));
        }
    };
}

/// The clock by its word.
#[doc(hidden)]
#[macro_export]
macro_rules! __clock {
    (paused) => {
        $crate::suite::Clock::Paused
    };
    (wall) => {
        $crate::suite::Clock::Wall
    };
}
