//! Formatting.

use anyhow::Result;

use super::Outcome;
use crate::cargo::{self, cargo};

pub(super) fn run() -> Result<Outcome> {
    cargo::run(&mut cargo(&["fmt", "--all", "--check"]))?;
    Ok(Outcome::Passed)
}
