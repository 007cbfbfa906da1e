//! Which registry is meant, and a handle on it.

use std::sync::Arc;

use registry_core::{ServiceDiscovery, Target, Targets};
use registry_memory::MemoryTarget;

use crate::exit::Failure;

const VARIABLE: &str = "REGISTRY_TARGET";
const EXAMPLE: &str = "etcd://127.0.0.1:2379";

/// Opens the registry that every command but the demo works on: one that other processes share.
pub(crate) fn open(asked: Option<String>) -> Result<Arc<dyn ServiceDiscovery>, Failure> {
    let from_variable = || std::env::var(VARIABLE).ok().filter(|url| !url.is_empty());
    let url = asked.or_else(from_variable).ok_or_else(|| {
        Failure::usage("no registry is named")
            .next(format!("add --target {EXAMPLE}, or set {VARIABLE}; or see `registryctl demo`"))
    })?;
    let target: Target = url.parse()?;
    if target.scheme() == "memory" {
        let why =
            "a memory: registry lives within one process: this one would be empty, and nobody else sees it";
        return Err(Failure::usage(why).next(format!(
            "name a shared registry, as --target {EXAMPLE}; `registryctl demo` shows memory:"
        )));
    }
    open_with(registry_memory::target(), &url)
}

/// Opens any registry, a `memory:` one as this opener does, as another process would: it shares nothing with what was
/// opened before but the registry itself.
pub(crate) fn open_with(memory: MemoryTarget, url: &str) -> Result<Arc<dyn ServiceDiscovery>, Failure> {
    let targets = Targets::new().with(memory);
    #[cfg(feature = "etcd")]
    let targets = targets.with(registry_etcd::target());
    let scheme = url.parse::<Target>()?.scheme().to_owned();
    if !targets.schemes().contains(&scheme.as_str()) {
        let failure = Failure::usage(format!("this registryctl opens no {scheme}: targets"));
        return Err(failure.next(if cfg!(feature = "etcd") || scheme != "etcd" {
            format!("it opens {}", targets.schemes().join(", "))
        } else {
            "build it with etcd: cargo build --package registry-cli --features etcd (needs protoc; \
             `cargo xtask setup` gets it)"
                .to_owned()
        }));
    }
    Ok(targets.open(url)?)
}
