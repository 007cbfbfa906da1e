//! Licences, bans and sources, by the lists of `deny.toml`: with cargo-deny where it is installed, else here, so
//! that the gate bites on a bare machine too.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use spdx::{Expression, Licensee, ParseMode};

use super::Outcome;
use crate::cargo::{self, Metadata, Package, cargo};
use crate::workspace::{on_path, root};

/// What is read of `deny.toml`.
#[derive(Debug, Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Debug, Deserialize)]
struct Licenses {
    allow: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Debug, Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

pub(super) fn run() -> Result<Outcome> {
    if on_path("cargo-deny").is_some() {
        cargo::run(&mut cargo(&["deny", "check", "licenses", "bans", "sources"]))?;
        return Ok(Outcome::Passed);
    }
    let rules: Rules = toml::from_str(&fs::read_to_string(root().join("deny.toml"))?)?;
    let metadata = Metadata::read()?;
    let faults = rules.faults(&metadata.packages)?;
    for fault in &faults {
        println!("deny: {fault}");
    }
    for (name, versions) in doubles(&metadata.packages) {
        println!("note: {name} is there as {}", versions.join(" and "));
    }
    println!("{} packages looked at", metadata.packages.len());
    if !faults.is_empty() {
        bail!("{} dependencies break deny.toml", faults.len());
    }
    Ok(Outcome::Passed)
}

impl Rules {
    fn faults(&self, packages: &[Package]) -> Result<Vec<String>> {
        let allowed: Vec<Licensee> = self
            .licenses
            .allow
            .iter()
            .map(|name| Licensee::parse(name).with_context(|| format!("deny.toml: {name} is no licence")))
            .collect::<Result<_>>()?;
        let mut faults = Vec::new();
        for package in packages {
            let name = format!("{} {}", package.name, package.version);
            if let Some(ban) = self.bans.deny.iter().find(|ban| ban.name == package.name) {
                faults.push(format!("{name} is banned: {}", ban.reason));
            }
            if package.source.as_ref().is_some_and(|source| !source.starts_with("registry+")) {
                faults.push(format!("{name} does not come from a registry"));
            }
            let license = package.license.as_deref().unwrap_or("none");
            // Lax: `MIT/Apache-2.0` is how older crates wrote it.
            let ok = Expression::parse_mode(license, ParseMode::LAX)
                .is_ok_and(|terms| terms.evaluate(|term| allowed.iter().any(|own| own.satisfies(term))));
            if !ok {
                faults.push(format!("{name} is under {license}"));
            }
        }
        Ok(faults)
    }
}

fn doubles(packages: &[Package]) -> BTreeMap<&str, Vec<&str>> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for package in packages {
        versions.entry(&package.name).or_default().push(&package.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    versions
}

#[cfg(test)]
mod tests {
    use super::{Package, Rules};

    fn package(name: &str, license: &str, source: &str) -> Package {
        serde_json::from_value(serde_json::json!({
            "id": name, "name": name, "version": "1.0.0", "license": license, "source": source,
            "manifest_path": "Cargo.toml", "features": {},
        }))
        .unwrap()
    }

    #[test]
    fn bad_dependencies_are_each_named() {
        let rules: Rules = toml::from_str(
            "[licenses]\nallow = ['MIT', 'Apache-2.0']\n[bans]\ndeny = [{ crate = 'evil', reason = 'it is' }]\n",
        )
        .unwrap();
        let packages = [
            package("fine", "MIT/Apache-2.0", "registry+x"),
            package("both", "MIT AND GPL-3.0-only", "registry+x"),
            package("evil", "MIT", "registry+x"),
            package("forked", "GPL-3.0-only OR MIT", "git+x"),
        ];
        assert_eq!(
            rules.faults(&packages).unwrap(),
            [
                "both 1.0.0 is under MIT AND GPL-3.0-only",
                "evil 1.0.0 is banned: it is",
                "forked 1.0.0 does not come from a registry",
            ]
        );
    }
}
