//! Documentation without a warning.

use anyhow::Result;

use super::Outcome;
use crate::cargo::{self, cargo};
use crate::setup;

pub(super) fn run() -> Result<Outcome> {
    if let Err(why) = setup::ensure(&[])?.protoc {
        return Ok(Outcome::Skipped(format!("the etcd backend cannot be built: {why:#}")));
    }
    let mut doc = cargo(&["doc", "--workspace", "--all-features", "--no-deps"]);
    cargo::run(doc.env("RUSTDOCFLAGS", "-D warnings"))?;
    Ok(Outcome::Passed)
}
