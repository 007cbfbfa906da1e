//! A bare machine builds what works without etcd: no protoc is reached, none is asked for.

use anyhow::{Result, bail};

use super::Outcome;
use crate::cargo::{self, Metadata, cargo};
use crate::workspace::output;

/// Whoever has one of these in its tree runs protoc while it builds.
const NEEDS_PROTOC: [&str; 2] = ["etcd-client", "prost-build"];

pub(super) fn run() -> Result<Outcome> {
    let metadata = Metadata::read()?;
    for package in metadata.members().filter(|package| metadata.is_default(package)) {
        let tree =
            ["tree", "--edges", "normal,build,dev", "--prefix", "none", "--format", "{p}", "--package"];
        let tree = output(cargo(&tree).arg(&package.name))?;
        if let Some(culprit) = needs_protoc(&tree) {
            bail!("{} reaches {culprit} without asking for etcd", package.name);
        }
    }
    // A protoc that cannot run: whatever calls it fails.
    cargo::run(cargo(&["check", "--all-targets"]).env("PROTOC", "/nonexistent/protoc"))?;
    Ok(Outcome::Passed)
}

fn needs_protoc(tree: &str) -> Option<&str> {
    let mut names = tree.lines().filter_map(|line| line.split_whitespace().next());
    names.find(|name| NEEDS_PROTOC.contains(name))
}

#[cfg(test)]
mod tests {
    use super::needs_protoc;

    #[test]
    fn a_tree_with_protoc_in_it_is_refused() {
        assert_eq!(
            needs_protoc("registry-cli v0.1.0 (x)\nclap v4.0.0\nprost-build v0.14.1\n"),
            Some("prost-build")
        );
        assert_eq!(needs_protoc("registry-cli v0.1.0 (x)\nprost v0.14.1\n"), None);
    }
}
