//! Known vulnerabilities: needs cargo-deny and its database.

use anyhow::Result;

use super::Outcome;
use crate::cargo::{self, cargo};
use crate::workspace::{on_path, output};

pub(super) fn run() -> Result<Outcome> {
    if on_path("cargo-deny").is_none() {
        return Ok(Outcome::Skipped("cargo-deny is not on PATH".to_owned()));
    }
    if let Err(why) = output(&mut cargo(&["deny", "fetch", "db"])) {
        return Ok(Outcome::Skipped(format!("the advisory database is not reachable: {why:#}")));
    }
    cargo::run(&mut cargo(&["deny", "check", "advisories"]))?;
    Ok(Outcome::Passed)
}
