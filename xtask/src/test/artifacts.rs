//! What the workspace's tests and examples were built to, so that they can be run on their own.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::cargo::{Metadata, cargo};
use crate::workspace::{output, program};

/// One program.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) package: String,
    pub(super) target: String,
    /// A program of tests; an example that consists of tests is none of these, it runs with the workspace.
    pub(super) is_test: bool,
    /// An example with a `main`.
    pub(super) is_example: bool,
    pub(super) folder: PathBuf,
    pub(super) program: PathBuf,
}

impl Built {
    /// As cargo would run it: in the package's own folder.
    pub(super) fn command(&self) -> Command {
        let mut command = program(&self.program, &[]);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command
    }
}

#[derive(Deserialize)]
struct Message {
    target: Option<Target>,
    manifest_path: Option<PathBuf>,
    executable: Option<PathBuf>,
    profile: Option<Profile>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

/// Builds what is not built yet: the same features as `cargo test`, so nothing is built twice.
pub(super) fn build() -> Result<Vec<Built>> {
    let mut build = cargo(&["test", "--quiet", "--no-run", "--message-format", "json-render-diagnostics"]);
    let messages = output(build.args(super::ALL)).context("the tests do not build")?;
    let metadata = Metadata::read()?;
    messages.lines().filter_map(|line| built(line, &metadata).transpose()).collect()
}

fn built(line: &str, metadata: &Metadata) -> Result<Option<Built>> {
    let message: Message = serde_json::from_str(line).context("cargo's messages are in another language")?;
    let Message { target: Some(target), manifest_path: Some(manifest), executable: Some(program), profile } =
        message
    else {
        return Ok(None);
    };
    let package = metadata.members().find(|package| package.manifest_path == manifest);
    let (Some(package), Some(folder)) = (package, manifest.parent()) else { return Ok(None) };
    let in_test_form = profile.is_some_and(|profile| profile.test);
    let is_example = target.kind.iter().any(|kind| kind == "example");
    Ok(Some(Built {
        package: package.name.clone(),
        is_test: in_test_form && !is_example,
        is_example: is_example && !in_test_form,
        target: target.name,
        folder: folder.to_path_buf(),
        program,
    }))
}
