//! Every published crate can be packed, and builds from what was packed.

use anyhow::Result;

use super::Outcome;
use crate::cargo::{self, Metadata, cargo};
use crate::setup;

pub(super) fn run() -> Result<Outcome> {
    if let Err(why) = setup::ensure(&[])?.protoc {
        return Ok(Outcome::Skipped(format!("the etcd backend cannot be built: {why:#}")));
    }
    let metadata = Metadata::read()?;
    let mut publish = cargo(&["publish", "--dry-run", "--allow-dirty", "--all-features"]);
    // In one call: a crate then finds the others that are not published yet.
    for package in metadata.members().filter(|package| package.is_published()) {
        publish.args(["--package", &package.name]);
    }
    cargo::run(&mut publish)?;
    Ok(Outcome::Passed)
}
