//! The suite over the memory backend, and the suite itself under test.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod common;
mod drift;
mod memory;
mod mutants;
mod skips;
