//! Packages out of the machine's own archive, unpacked into a folder: lists, cache and sources are private, so
//! this works as an ordinary user and changes nothing of the system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::apt_sources::{self, Source};
use super::os_release::OsRelease;
use crate::workspace::{on_path, output, program};

/// The archive, one suite opened at a time and kept for the rest of the run.
#[derive(Debug)]
pub(super) struct Archive {
    work: PathBuf,
    os: OsRelease,
    opened: Vec<Suite>,
    /// A suite that could not be read is not asked again.
    failed: Vec<(String, String)>,
}

/// One suite whose package lists are here.
#[derive(Debug, Clone)]
pub(super) struct Suite {
    name: String,
    conf: PathBuf,
}

impl Archive {
    pub(super) fn new(work: PathBuf) -> Self {
        Self { work, os: OsRelease::read(), opened: Vec::new(), failed: Vec::new() }
    }

    /// `debian`, `ubuntu`, ...
    pub(super) fn system(&self) -> &str {
        &self.os.id
    }

    /// A new empty folder; it goes away at the end of the run unless it is renamed.
    pub(super) fn scratch(&self, name: &str) -> Result<PathBuf> {
        let folder = self.work.join(name);
        super::remove(&folder)?;
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// The release that this machine runs.
    pub(super) fn own_suite(&mut self) -> Result<Suite> {
        self.suite(None)
    }

    /// Another release of the same archive.
    pub(super) fn other_suite(&mut self, name: &str) -> Result<Suite> {
        self.suite(Some(name))
    }

    fn suite(&mut self, wanted: Option<&str>) -> Result<Suite> {
        if let Some(tool) = ["apt-get", "apt-cache", "dpkg"].into_iter().find(|tool| on_path(tool).is_none())
        {
            bail!("no private download here ({tool} is not on PATH)");
        }
        let sources = apt_sources::read();
        let candidates: Vec<(&Source, &str)> = sources
            .iter()
            .filter_map(|source| Some((source, source.own_suite(&self.os.codename)?)))
            .collect();
        let Some((_, own)) = candidates.first() else {
            bail!("the apt sources name no archive of this release")
        };
        let name = wanted.unwrap_or(own);
        if let Some(suite) = self.opened.iter().find(|suite| suite.name == name) {
            return Ok(suite.clone());
        }
        if let Some((_, why)) = self.failed.iter().find(|(failed, _)| failed == name) {
            bail!("{why}");
        }
        let mut why = String::new();
        for (source, _) in candidates {
            match self.open(source, name) {
                Ok(suite) => {
                    self.opened.push(suite.clone());
                    return Ok(suite);
                }
                Err(error) => why = format!("the suite {name} cannot be read: {error:#}"),
            }
        }
        self.failed.push((name.to_owned(), why.clone()));
        bail!("{why}")
    }

    fn open(&self, source: &Source, name: &str) -> Result<Suite> {
        let folder = self.scratch(&format!("suite-{name}"))?;
        for part in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(folder.join(part))?;
        }
        let components = if self.os.id == "ubuntu" { "main universe" } else { "main" };
        let list = folder.join(format!("own.{}", source.ending()));
        fs::write(&list, source.with_suite(name, components))?;
        // No package counts as installed: the archive's version is the one wanted.
        fs::write(folder.join("status"), "")?;
        let conf = folder.join("apt.conf");
        fs::write(&conf, configuration(&folder, &list))?;
        let suite = Suite { name: name.to_owned(), conf };
        output(suite.apt("apt-get").args(["-qq", "update"]))?;
        Ok(suite)
    }
}

/// Read after the system's own configuration, so that proxies and credentials stay and places are ours.
fn configuration(folder: &Path, list: &Path) -> String {
    let (folder, list) = (folder.display(), list.display());
    format!(
        r#"Dir::Etc::sourcelist "{list}";
Dir::Etc::sourceparts "-";
Dir::State::lists "{folder}/lists";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Cache::pkgcache "pkgcache.bin";
Dir::Cache::srcpkgcache "srcpkgcache.bin";
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire::Languages "none";
Acquire::Retries "1";
Acquire::http::Timeout "20";
Acquire::https::Timeout "20";
// What the machine does after its own updates is not for a private one.
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
// Only packages, no descriptions, icons or file lists.
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::Contents-deb;
"#
    )
}

impl Suite {
    fn apt(&self, name: &str) -> Command {
        let mut command = program(name, &["-c"]);
        command.arg(&self.conf).env("LC_ALL", "C").env_remove("APT_CONFIG");
        command
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The version of the package in this suite.
    pub(super) fn version(&self, package: &str) -> Result<String> {
        let text = output(self.apt("apt-cache").args(["show", "--no-all-versions", package]))
            .with_context(|| format!("{} has no {package}", self.name))?;
        let version = text.lines().find_map(|line| line.strip_prefix("Version:"));
        Ok(version.with_context(|| format!("{} has no {package}", self.name))?.trim().to_owned())
    }

    /// What the package needs, as far as this machine does not have it, itself first.
    pub(super) fn with_missing_dependencies(&self, package: &str) -> Result<Vec<String>> {
        let mut closure = self.apt("apt-cache");
        closure.args(["depends", "--recurse", "--no-recommends", "--no-suggests", "--no-conflicts"]);
        closure.args(["--no-breaks", "--no-replaces", "--no-enhances", package]);
        let closure = output(&mut closure)?;
        let installed =
            output(&mut program("dpkg-query", &["-W", "-f", "${Package} ${db:Status-Status}\n"]))?;
        let installed: Vec<&str> =
            installed.lines().filter_map(|line| line.strip_suffix(" installed")).collect();
        Ok(missing(package, &closure, &installed))
    }

    /// Downloads the packages and unpacks all of them into `folder`.
    pub(super) fn unpack(&self, packages: &[String], folder: &Path) -> Result<()> {
        let debs = folder.join("debs");
        fs::create_dir_all(&debs)?;
        output(self.apt("apt-get").args(["-qq", "download"]).args(packages).current_dir(&debs))?;
        for deb in fs::read_dir(&debs)? {
            output(program("dpkg", &["-x"]).arg(deb?.path()).arg(folder))?;
        }
        super::remove(&debs)
    }
}

/// Of `apt-cache depends --recurse`: names begin a line, what they need is indented, `<x>` is virtual.
fn missing(package: &str, closure: &str, installed: &[&str]) -> Vec<String> {
    let names = closure.lines().filter(|line| !line.starts_with([' ', '<', '|']));
    let names = names.filter(|name| *name == package || !installed.contains(name));
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::missing;

    #[test]
    fn only_what_the_machine_lacks_is_fetched() {
        let closure = "protobuf-compiler\n  Depends: libc6\n  Depends: libprotoc32\nlibc6\nlibprotoc32\n \
                       Depends: libc6\n<libfoo>\n";
        assert_eq!(missing("protobuf-compiler", closure, &["libc6"]), ["protobuf-compiler", "libprotoc32"]);
        assert_eq!(missing("a", "a\n", &["a"]), ["a"]);
    }
}
