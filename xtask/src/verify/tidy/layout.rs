//! Files that must be there, names that must not, and manifests that keep to the one table.

use super::File;

const REQUIRED: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "Cargo.lock"];

pub(super) fn missing(paths: &[&str]) -> Vec<String> {
    let lacking = REQUIRED.iter().filter(|required| !paths.contains(required));
    lacking.map(|path| format!("{path}: it is missing")).collect()
}

pub(super) fn faults(file: &File) -> Vec<String> {
    match file.path.rsplit_once('/') {
        Some((_, "mod.rs")) => vec![format!("{}: `foo.rs` beside `foo/` instead", file.path)],
        Some((_, "Cargo.toml")) => manifest(file),
        _ => Vec::new(),
    }
}

/// A member names no version of its own and obeys the workspace's lints.
fn manifest(file: &File) -> Vec<String> {
    let mut section = "";
    let mut faults = Vec::new();
    for (number, line) in file.lines().map(|(number, line)| (number, line.trim())) {
        if line.starts_with('[') {
            section = line;
        } else if section.contains("dependencies") && line.contains('=') && !line.starts_with('#') {
            // An own package by its path is found without a version.
            if !(line.contains("workspace = true") || line.contains("path = ")) {
                faults.push(file.at(number, "versions are in the workspace's table: `workspace = true`"));
            }
        }
    }
    if !file.text.replace(' ', "").contains("[lints]\nworkspace=true") {
        faults.push(format!("{}: `[lints] workspace = true` is missing", file.path));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::{REQUIRED, faults, missing};

    #[test]
    fn each_required_file_is_missed() {
        assert_eq!(missing(&[]).len(), REQUIRED.len());
        assert!(missing(&REQUIRED).is_empty());
    }

    #[test]
    fn a_mod_rs_is_refused() {
        assert_eq!(faults(&file("a/src/b/mod.rs", "")).len(), 1);
        assert!(faults(&file("a/src/b.rs", "")).is_empty());
    }

    #[test]
    fn a_manifest_keeps_to_the_table() {
        let good =
            "[dependencies]\na.workspace = true\nb = { workspace = true }\n[lints]\nworkspace = true\n";
        assert!(faults(&file("a/Cargo.toml", good)).is_empty());
        let version = good.replace("a.workspace = true", "a = \"1\"");
        assert_eq!(faults(&file("a/Cargo.toml", &version)).len(), 1);
        let lints = good.replace("[lints]\nworkspace = true\n", "");
        assert_eq!(faults(&file("a/Cargo.toml", &lints)).len(), 1);
    }
}
