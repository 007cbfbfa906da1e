//! Runs cargo, and asks it what the workspace holds.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::workspace::{output, program, root};

/// The cargo that runs this very command, in the workspace's folder.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let mut command = program(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), args);
    command.current_dir(root());
    command
}

/// Shows the command, runs it with its output passed through, and fails when it fails.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    eprintln!("+ {}", shown(command));
    let status = command.status().with_context(|| format!("{} could not be started", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", shown(command));
    }
    Ok(())
}

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let name = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = [name].into_iter().chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// What `cargo metadata` says, as far as it is used.
#[derive(Debug, Deserialize)]
pub(crate) struct Metadata {
    pub(crate) packages: Vec<Package>,
    workspace_members: Vec<String>,
    workspace_default_members: Vec<String>,
}

/// A package of the workspace or one that it depends on.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Package {
    id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    pub(crate) source: Option<String>,
    pub(crate) manifest_path: PathBuf,
    /// `Some([])`: never published.
    publish: Option<Vec<String>>,
    pub(crate) features: BTreeMap<String, Vec<String>>,
}

impl Metadata {
    pub(crate) fn read() -> Result<Self> {
        let text = output(&mut cargo(&["metadata", "--format-version", "1", "--all-features", "--quiet"]))?;
        serde_json::from_str(&text).context("cargo metadata speaks another language")
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Package> {
        self.packages.iter().filter(|package| self.workspace_members.contains(&package.id))
    }

    pub(crate) fn is_default(&self, package: &Package) -> bool {
        self.workspace_default_members.contains(&package.id)
    }
}

impl Package {
    pub(crate) fn is_published(&self) -> bool {
        self.publish.as_ref().is_none_or(|registries| !registries.is_empty())
    }
}
