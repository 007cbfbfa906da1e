//! The suite over the memory backend, and the suite itself under test.

mod common;
mod memory;
mod mutants;
