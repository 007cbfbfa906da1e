//! Lints, and the command that mends what can be mended.

use anyhow::Result;

use super::Outcome;
use crate::cargo::{self, cargo};
use crate::setup;

const ALL: [&str; 3] = ["--workspace", "--all-targets", "--all-features"];

pub(super) fn run() -> Result<Outcome> {
    if let Err(why) = setup::ensure(&[])?.protoc {
        return Ok(Outcome::Skipped(format!("the etcd backend cannot be built: {why:#}")));
    }
    cargo::run(cargo(&["clippy"]).args(ALL).args(["--", "-D", "warnings"]))?;
    Ok(Outcome::Passed)
}

/// `cargo xtask fix`
pub(crate) fn fix() -> Result<()> {
    setup::ensure(&[])?.protoc?;
    cargo::run(cargo(&["clippy", "--fix", "--allow-dirty", "--allow-staged"]).args(ALL))?;
    cargo::run(&mut cargo(&["fmt", "--all"]))
}
