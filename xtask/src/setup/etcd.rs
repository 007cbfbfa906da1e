//! etcd for the tests, one of each release series.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use super::apt::{Archive, Suite};
use super::{Origin, Tool};
use crate::workspace::{is_executable, on_path, output, program, shown, tools};

/// Names an etcd program.
const VARIABLE: &str = "REGISTRY_ETCD_BIN";

/// A release series of etcd that the project is tested on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Series {
    V3_4,
    V3_5,
}

impl Series {
    pub(crate) const ALL: [Self; 2] = [Self::V3_5, Self::V3_4];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V3_4 => "3.4",
            Self::V3_5 => "3.5",
        }
    }

    /// Releases that carry this series, beside the machine's own.
    fn suites(self, system: &str) -> &'static [&'static str] {
        match (self, system) {
            (Self::V3_4, "debian") => &["bookworm"],
            (Self::V3_5, "debian") => &["trixie"],
            (Self::V3_4, "ubuntu") => &["noble"],
            (Self::V3_5, "ubuntu") => &["plucky", "questing", "resolute"],
            _ => &[],
        }
    }

    /// Whether `3.5.16`, or a package's `3.5.16-4`, belongs to this series.
    fn holds(self, version: &str) -> bool {
        version.strip_prefix(self.name()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

pub(super) fn ensure(series: Series, archive: &mut Archive) -> Result<Tool> {
    // One variable for all series, the one that the test harness reads: it counts for the series it turns out to be.
    if let Some(named) = env::var_os(VARIABLE).map(PathBuf::from) {
        if !is_executable(&named) {
            bail!("{VARIABLE} names no program: {}", named.display());
        }
        if let Ok(tool) = found(series, named, Origin::Variable) {
            return Ok(tool);
        }
    }
    if let Some(tool) = on_path("etcd").and_then(|path| found(series, path, Origin::Path).ok()) {
        return Ok(tool);
    }
    if let Some(tool) = private(series) {
        return Ok(tool);
    }
    fetch(series, archive).map_err(|why| {
        let place = shown(&tools().join("etcd").join(series.name()).join("etcd"));
        why.context(format!("put an etcd {series} on PATH or at {place}, or name one with {VARIABLE}"))
    })
}

fn found(series: Series, path: PathBuf, origin: Origin) -> Result<Tool> {
    let words = output(&mut program(&path, &["--version"]))?;
    let version = version_of(&words).context("it tells no version")?.to_owned();
    if !series.holds(&version) {
        return Err(anyhow!("{} is {version}", path.display()));
    }
    Ok(Tool { path, version, origin })
}

/// Of `etcd --version`.
fn version_of(words: &str) -> Option<&str> {
    words.lines().find_map(|line| line.strip_prefix("etcd Version:")).map(str::trim)
}

/// `.tools/etcd/<version>/etcd`
fn private(series: Series) -> Option<Tool> {
    let folders = fs::read_dir(tools().join("etcd")).ok()?;
    folders
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|folder| {
            folder.file_name().and_then(|name| name.to_str()).is_some_and(|name| series.holds(name))
        })
        .find_map(|folder| found(series, folder.join("etcd"), Origin::Private).ok())
}

fn fetch(series: Series, archive: &mut Archive) -> Result<Tool> {
    eprintln!("setup: fetching etcd {series}");
    let own = archive.own_suite()?;
    let mut why = anyhow!("no release of this archive carries it");
    match carried(series, &own) {
        Ok(()) => return unpack(series, &own, archive),
        Err(error) => why = why.context(error),
    }
    for name in series.suites(archive.system()) {
        let attempt = archive.other_suite(name).and_then(|suite| {
            carried(series, &suite)?;
            unpack(series, &suite, archive)
        });
        match attempt {
            Ok(tool) => return Ok(tool),
            Err(error) => why = error,
        }
    }
    Err(why)
}

fn carried(series: Series, suite: &Suite) -> Result<()> {
    let version = suite.version("etcd-server")?;
    if series.holds(&version) { Ok(()) } else { Err(anyhow!("{} has etcd {version}", suite.name())) }
}

fn unpack(series: Series, suite: &Suite, archive: &Archive) -> Result<Tool> {
    let folder = archive.scratch(&format!("etcd-{series}"))?;
    suite.unpack(&["etcd-server".to_owned(), "etcd-client".to_owned()], &folder)?;
    let ready = archive.scratch(&format!("etcd-{series}-ready"))?;
    for name in ["etcd", "etcdctl", "etcdutl"] {
        let from = folder.join("usr/bin").join(name);
        if is_executable(&from) {
            fs::rename(&from, ready.join(name))?;
        }
    }
    let tool =
        found(series, ready.join("etcd"), Origin::Private).context("the fetched etcd does not run here")?;
    Ok(Tool { path: put(&ready, &tool.version)?.join("etcd"), ..tool })
}

/// Renames a finished folder into its place: it is there whole or not at all.
fn put(ready: &Path, version: &str) -> Result<PathBuf> {
    let place = tools().join("etcd").join(version);
    super::remove(&place)?;
    fs::create_dir_all(tools().join("etcd"))?;
    fs::rename(ready, &place)?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::{Series, version_of};

    #[test]
    fn a_series_holds_its_patches_and_no_neighbour() {
        for version in ["3.5", "3.5.16", "3.5.16-4+b2"] {
            assert!(Series::V3_5.holds(version), "{version}");
        }
        for version in ["3.50.1", "3.4.23", "13.5.1", ""] {
            assert!(!Series::V3_5.holds(version), "{version}");
        }
    }

    #[test]
    fn the_version_is_read_from_the_programs_own_words() {
        assert_eq!(version_of("etcd Version: 3.4.23\nGit SHA: x\n"), Some("3.4.23"));
        assert_eq!(version_of("{\"level\":\"info\"}\n"), None);
    }
}
