//! Every crate builds alone: with no feature, with its defaults, with each feature and with all.

use anyhow::Result;

use super::Outcome;
use crate::cargo::{self, Metadata, Package, cargo};
use crate::setup;

pub(super) fn run() -> Result<Outcome> {
    let protoc = setup::ensure(&[])?.protoc;
    let metadata = Metadata::read()?;
    let mut left_out = Vec::new();
    // What is not published is never built with other features than the workspace's.
    for package in metadata.members().filter(|package| package.is_published()) {
        for features in combinations(package) {
            if protoc.is_err()
                && (!metadata.is_default(package) || features.iter().any(|arg| arg.contains("etcd")))
            {
                left_out.push(package.name.clone());
                continue;
            }
            // Clippy, so that code left dead without a feature is a fault, and dependencies are built as for the lints.
            let mut check = cargo(&["clippy", "--package", &package.name]);
            cargo::run(check.args(&features).args(["--", "-D", "warnings"]))?;
        }
    }
    left_out.dedup();
    match left_out.as_slice() {
        [] => Ok(Outcome::Passed),
        names => Ok(Outcome::Skipped(format!("no protoc for {}", names.join(", ")))),
    }
}

fn combinations(package: &Package) -> Vec<Vec<String>> {
    let args = |args: &[&str]| args.iter().map(ToString::to_string).collect::<Vec<_>>();
    let own: Vec<&String> = package.features.keys().filter(|name| *name != "default").collect();
    if own.is_empty() {
        return vec![Vec::new()];
    }
    let single = own.iter().map(|name| args(&["--no-default-features", "--features", name]));
    let mut all = vec![args(&["--no-default-features"])];
    all.extend(single);
    // With one feature these are the same as above.
    if own.len() > 1 {
        all.push(args(&["--all-features"]));
    }
    all
}
