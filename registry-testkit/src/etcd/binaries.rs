//! Which etcds this machine has; the order is told in the documentation of the module above.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use super::{EtcdVersion, HarnessError, VersionSpec};

/// An etcd that was found and answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// The version it says it has.
    pub version: EtcdVersion,
    /// The etcd binary.
    pub path: PathBuf,
}

impl Installed {
    /// A program that came with this etcd (`etcdctl`, `etcdutl`): beside it, else on `PATH`.
    /// [`HarnessError::ToolMissing`] if there is none.
    pub fn tool(&self, name: &str) -> Result<PathBuf, HarnessError> {
        let beside = self.path.with_file_name(name);
        if beside.is_file() {
            return Ok(beside);
        }
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path)
            .map(|dir| dir.join(name))
            .find(|file| file.is_file())
            .ok_or_else(|| HarnessError::ToolMissing(name.to_owned()))
    }
}

/// Every etcd of this machine, newest first. The machine is searched once per process, blocking the caller for
/// about 30 ms per binary. Files that are no etcd are passed over.
pub fn installed() -> Vec<Installed> {
    machine().installed.clone()
}

/// The etcd that `spec` asks for, or the default one. [`HarnessError::NotInstalled`] if there is none,
/// [`HarnessError::BadBinary`] if `REGISTRY_ETCD_BIN` names something that is no etcd.
pub(super) fn find(spec: Option<&str>) -> Result<Installed, HarnessError> {
    machine().find(spec)
}

fn machine() -> &'static Search {
    static MACHINE: OnceLock<Search> = OnceLock::new();
    MACHINE.get_or_init(|| {
        let explicit = env::var_os("REGISTRY_ETCD_BIN").map(PathBuf::from);
        let default = env::var("REGISTRY_ETCD_VERSION").ok().filter(|version| !version.is_empty());
        Search::run(explicit, default, tools().as_deref(), &env::var_os("PATH").unwrap_or_default())
    })
}

fn tools() -> Option<PathBuf> {
    if let Some(tools) = env::var_os("REGISTRY_TOOLS") {
        return Some(PathBuf::from(tools));
    }
    let starts = [env::current_dir().ok(), env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from)];
    starts
        .iter()
        .flatten()
        .flat_map(|start| start.ancestors())
        .map(|dir| dir.join(".tools"))
        .find(|tools| tools.join("etcd").is_dir())
}

/// The outcome of one search.
#[derive(Debug)]
pub(super) struct Search {
    installed: Vec<Installed>,
    explicit: Option<(PathBuf, Result<Installed, String>)>,
    default: Option<String>,
}

impl Search {
    pub(super) fn run(
        explicit: Option<PathBuf>,
        default: Option<String>,
        tools: Option<&Path>,
        path: &std::ffi::OsStr,
    ) -> Self {
        let explicit = explicit.map(|file| {
            let asked = ask(&file);
            (file, asked)
        });
        let in_tools = tools
            .and_then(|tools| fs::read_dir(tools.join("etcd")).ok())
            .into_iter()
            .flatten()
            .filter_map(|version| Some(version.ok()?.path().join("etcd")));
        let on_path = env::split_paths(path).map(|dir| dir.join("etcd"));
        let found = in_tools.chain(on_path).filter(|file| file.is_file()).filter_map(|file| ask(&file).ok());

        let first = explicit.as_ref().and_then(|(_, asked)| asked.as_ref().ok().cloned());
        let mut installed = Vec::<Installed>::new();
        for etcd in first.into_iter().chain(found) {
            if installed.iter().all(|known| known.version != etcd.version) {
                installed.push(etcd);
            }
        }
        installed.sort_by_key(|etcd| std::cmp::Reverse(etcd.version));
        Self { installed, explicit, default }
    }

    pub(super) fn find(&self, spec: Option<&str>) -> Result<Installed, HarnessError> {
        if let Some((path, Err(reason))) = &self.explicit {
            return Err(HarnessError::BadBinary { path: path.clone(), reason: reason.clone() });
        }
        let found = match spec.or(self.default.as_deref()) {
            Some(text) => {
                let wanted = text.parse::<VersionSpec>()?;
                self.installed.iter().find(|etcd| wanted.matches(etcd.version))
            }
            None => match &self.explicit {
                Some((_, Ok(explicit))) => Some(explicit),
                _ => self.installed.first(),
            },
        };
        found.cloned().ok_or_else(|| HarnessError::NotInstalled {
            wanted: spec.or(self.default.as_deref()).map(str::to_owned),
            found: self.installed.iter().map(|etcd| etcd.version).collect(),
        })
    }
}

/// Asks a binary for its version.
fn ask(path: &Path) -> Result<Installed, String> {
    let output = Command::new(path)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("it cannot be run ({error})"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let version = text.lines().find_map(|line| line.strip_prefix("etcd Version: ")).ok_or_else(|| {
        format!("it says {:?} ({})", text.lines().next().unwrap_or_default(), output.status)
    })?;
    let version = version.parse().map_err(|error: HarnessError| error.to_string())?;
    // Kept absolute: members run in a folder of their own.
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    Ok(Installed { version, path })
}

#[cfg(test)]
mod tests;
