//! Where the workspace lies, and how its commands are run.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The folder of the workspace's `Cargo.toml`.
pub(crate) fn root() -> PathBuf {
    // Set by `cargo run`, so that a moved checkout still finds itself; the built-in path is for a bare call.
    let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let manifest = PathBuf::from(manifest);
    manifest.parent().map_or_else(|| manifest.clone(), Path::to_path_buf)
}

/// The private folder of fetched tools.
pub(crate) fn tools() -> PathBuf {
    root().join(".tools")
}

/// A path as it is shown to people: relative to the workspace where it lies inside.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The first executable file of this name on PATH.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|file| is_executable(file))
}

/// Whether this is a file that can be run.
pub(crate) fn is_executable(file: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        file.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    {
        file.is_file()
    }
}

/// Runs a program quietly and hands out what it wrote to stdout; its last words are in the error.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_owned();
    let name = name.display();
    let output = command.output().with_context(|| format!("{name} could not be started"))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = words.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(3)..].join("; ");
        bail!("{name}: {}: {last}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// `program args...`, to be extended.
pub(crate) fn program(program: impl AsRef<OsStr>, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args);
    command
}

/// For the few things that wait for two things at once.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("no runtime")
}
