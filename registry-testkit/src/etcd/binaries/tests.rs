use std::{ffi::OsString, os::unix::fs::PermissionsExt};

use tempfile::TempDir;

use super::*;

/// A script that answers `--version` as etcd does.
fn fake(dir: &Path, version: &str) -> PathBuf {
    script(dir, &format!("echo 'etcd Version: {version}'; echo 'Git SHA: none'"))
}

fn script(dir: &Path, body: &str) -> PathBuf {
    fs::create_dir_all(dir).unwrap();
    let file = dir.join("etcd");
    fs::write(&file, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

struct Machine {
    root: TempDir,
}

impl Machine {
    /// 3.4.23 and 3.5.16 in the tools, 3.5.1 and another 3.5.16 on the path, and a file that is no etcd.
    fn new() -> Self {
        let root = TempDir::new().unwrap();
        for version in ["3.4.23", "3.5.16"] {
            fake(&root.path().join("tools/etcd").join(version), version);
        }
        fake(&root.path().join("a"), "3.5.1");
        fake(&root.path().join("b"), "3.5.16");
        script(&root.path().join("c"), "echo hello");
        Self { root }
    }

    fn search(&self, explicit: Option<PathBuf>, default: Option<&str>) -> Search {
        let path: OsString = env::join_paths(["a", "b", "c"].map(|dir| self.root.path().join(dir))).unwrap();
        let tools = self.root.path().join("tools");
        Search::run(explicit, default.map(str::to_owned), Some(&tools), &path)
    }
}

#[test]
fn the_newest_of_a_line_is_taken_and_the_tools_come_before_the_path() {
    let machine = Machine::new();
    let search = machine.search(None, None);
    let versions: Vec<_> = search.installed.iter().map(|etcd| etcd.version.to_string()).collect();
    assert_eq!(versions, ["3.5.16", "3.5.1", "3.4.23"]);

    let newest = search.find(None).unwrap();
    assert_eq!(newest.path, machine.root.path().join("tools/etcd/3.5.16/etcd"));
    assert_eq!(search.find(Some("3.4")).unwrap().version.to_string(), "3.4.23");
    assert_eq!(search.find(Some("3.5")).unwrap(), newest);
    assert_eq!(search.find(Some("3.5.1")).unwrap().version.to_string(), "3.5.1");
}

#[test]
fn the_default_comes_from_the_version_then_from_the_explicit_file() {
    let machine = Machine::new();
    let explicit = fake(&machine.root.path().join("mine"), "3.3.9");
    let default = machine.search(None, Some("3.4")).find(None).unwrap();
    assert_eq!(default.version.to_string(), "3.4.23");
    let mine = machine.search(Some(explicit.clone()), None).find(None).unwrap();
    assert_eq!(mine.path, explicit);
    let asked = machine.search(Some(explicit), Some("3.4")).find(None).unwrap();
    assert_eq!(asked.version.to_string(), "3.4.23");
}

#[test]
fn what_is_missing_says_how_to_install_it() {
    let machine = Machine::new();
    let error = machine.search(None, None).find(Some("3.6")).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, HarnessError::NotInstalled { .. }), "{error:?}");
    assert!(text.contains("cargo xtask setup") && text.contains("3.5.16, 3.5.1, 3.4.23"), "{text}");

    let none = Search::run(None, None, None, &OsString::new()).find(None).unwrap_err();
    assert!(none.to_string().contains("cargo xtask setup"), "{none}");
}

#[test]
fn an_explicit_file_that_is_no_etcd_is_an_error_never_a_fallback() {
    let machine = Machine::new();
    for file in [machine.root.path().join("c/etcd"), machine.root.path().join("nowhere")] {
        let error = machine.search(Some(file.clone()), None).find(Some("3.5")).unwrap_err();
        assert!(matches!(&error, HarnessError::BadBinary { path, .. } if *path == file), "{error:?}");
    }
}
