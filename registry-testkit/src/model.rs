//! A simple, obviously right registry, and random operations that it and a backend must answer alike.
//!
//! Sequences come from seeds: the same seed is the same sequence on every backend. A failure is shrunk and printed with
//! its seed. `REGISTRY_CASES` asks for another number of sequences, `REGISTRY_SEED` for the one of that seed.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use futures::FutureExt;
use futures::future::join_all;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::case::Case;
use crate::harness::Harness;
use crate::suite::{Clock, Rule};

mod drive;
mod ops;
mod state;
mod watch;

use drive::Drive;
use ops::Op;

/// How many sequences are tried, and how long they are at most.
fn size(clock: Clock) -> (u64, usize) {
    match clock {
        Clock::Paused => (256, 40),
        Clock::Wall => (12, 24),
    }
}

/// Sequences at a time on the wall clock, where they mostly wait.
const AT_ONCE: usize = 6;

/// Does the same random operations to a registry of `H` and to the model, and compares every answer, every list and
/// what every watch folds to. 256 sequences on paused time, 12 on the wall clock.
pub fn check<H: Harness>(clock: Clock) {
    let (usual, length) = size(clock);
    let (first, cases) = match number("REGISTRY_SEED") {
        Some(seed) => (seed, 1),
        None => (0, number("REGISTRY_CASES").unwrap_or(usual)),
    };
    let at_once = if clock == Clock::Paused { 1 } else { AT_ONCE };
    for chunk in chunks(first, cases, at_once) {
        if let Some((seed, why)) = failures::<H>(clock, &chunk, length).into_iter().next() {
            let (why, least) = shrink::<H>(clock, seed, length, why);
            let name = H::name();
            panic!("{name} differs from the model: {why}\nafter {least:#?}\nonce more: REGISTRY_SEED={seed}");
        }
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

fn chunks(first: u64, cases: u64, at_once: usize) -> Vec<Vec<u64>> {
    let seeds: Vec<u64> = (first..first + cases).collect();
    seeds.chunks(at_once).map(<[u64]>::to_vec).collect()
}

/// Runs the sequences of some seeds side by side.
fn failures<H: Harness>(clock: Clock, seeds: &[u64], length: usize) -> Vec<(u64, String)> {
    clock.run(async {
        let runs = seeds.iter().map(|seed| async move {
            let ops = tree(*seed, length).current();
            let outcome = AssertUnwindSafe(drive::<H>(&ops)).catch_unwind().await;
            outcome.err().map(|panic| (*seed, message(&*panic)))
        });
        join_all(runs).await.into_iter().flatten().collect()
    })
}

async fn drive<H: Harness>(ops: &[Op]) {
    let case = Case::open::<H>(&Rule::WITHOUT_NEEDS).await;
    Drive::new(&case).await.run(ops).await;
    case.close().await;
}

/// The sequence of a seed, with the ways to make it smaller.
fn tree(seed: u64, length: usize) -> impl ValueTree<Value = Vec<Op>> {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    ops::sequences(length).new_tree(&mut runner).expect("nothing is filtered")
}

/// The least sequence found that fails, and how it fails.
fn shrink<H: Harness>(clock: Clock, seed: u64, length: usize, why: String) -> (String, Vec<Op>) {
    let mut tree = tree(seed, length);
    let mut least = (why, tree.current());
    let tries = if clock == Clock::Paused { 300 } else { 30 };
    let mut smaller = tree.simplify();
    for _ in 0..tries {
        if !smaller {
            break;
        }
        let ops = tree.current();
        match quietly(|| clock.run(drive::<H>(&ops))) {
            Ok(()) => smaller = tree.complicate(),
            Err(panic) => {
                least = (message(&*panic), ops);
                smaller = tree.simplify();
            }
        }
    }
    least
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work` and catches its panic without printing it: of hundreds of smaller sequences only the last is of interest.
/// Other threads print theirs.
fn quietly(work: impl FnOnce()) -> Result<(), Box<dyn Any + Send>> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                usual(panic);
            }
        }));
    });
    QUIET.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(work));
    QUIET.set(false);
    outcome
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").to_owned()
}
