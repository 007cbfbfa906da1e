//! Brings protoc and etcd to the project: an explicit variable, then PATH, then a private download into
//! `.tools`, then one line that says what to install.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};

use crate::workspace::{shown, tools};

mod apt;
mod apt_sources;
mod cargo_env;
mod etcd;
mod os_release;
mod protoc;

pub(crate) use etcd::Series;

/// A tool that is there.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    pub(crate) path: PathBuf,
    pub(crate) version: String,
    pub(crate) origin: Origin,
}

/// Where a tool came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Variable,
    Path,
    Private,
}

/// What setup found or fetched; the error of a missing tool is one line that says what to do.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) protoc: Result<Tool>,
    pub(crate) etcd: Vec<(Series, Result<Tool>)>,
}

impl Tools {
    fn is_complete(&self) -> bool {
        self.protoc.is_ok() && self.etcd.iter().all(|(_, tool)| tool.is_ok())
    }
}

/// `cargo xtask setup`.
pub(crate) fn command() -> Result<ExitCode> {
    let tools = ensure(&Series::ALL)?;
    print("protoc", &tools.protoc);
    for (series, tool) in &tools.etcd {
        print(&format!("etcd {series}"), tool);
    }
    Ok(if tools.is_complete() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(name: &str, tool: &Result<Tool>) {
    match tool {
        Ok(tool) => {
            let origin = match tool.origin {
                Origin::Variable => "named by a variable",
                Origin::Path => "from PATH",
                Origin::Private => "private",
            };
            println!("{name}: {} at {} ({origin})", tool.version, shown(&tool.path));
        }
        Err(why) => println!("{name}: MISSING: {why:#}"),
    }
}

/// Makes sure of protoc and the wanted etcd series, fetching what is not there. Quick and without network when
/// nothing is missing.
pub(crate) fn ensure(series: &[Series]) -> Result<Tools> {
    let folder = tools();
    fs::create_dir_all(&folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    // One setup at a time: two terminals, or a build and a test run.
    let lock = File::create(folder.join("lock"))?;
    lock.lock().context("the lock of .tools cannot be taken")?;
    let work = folder.join("tmp");
    // Left by an interrupted run; nothing in it counts until it is renamed into its place.
    remove(&work)?;
    let mut archive = apt::Archive::new(work.clone());
    let tools = Tools {
        protoc: protoc::ensure(&mut archive),
        etcd: series.iter().map(|&series| (series, etcd::ensure(series, &mut archive))).collect(),
    };
    drop(archive);
    remove(&work)?;
    cargo_env::write(&tools)?;
    Ok(tools)
}

fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed", folder.display()))
        }
        _ => Ok(()),
    }
}
