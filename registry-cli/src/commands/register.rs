//! `registryctl register`

mod child;
mod command;
mod listening;
mod report;
mod signals;

use std::ffi::OsString;

use registry_core::{Metadata, Registrar, RegistrarConfig, RegistrarStatus, TakeoverPolicy};

use self::signals::Signals;
use super::Registry;
use crate::args::{Address, Register};
use crate::exit::{Failure, Outcome};

pub(super) async fn run(registry: &Registry, asked: Register) -> Outcome {
    let mut signals = Signals::new()?;
    let config = config(&asked)?;
    match asked.command.split_first() {
        None => alone(registry, config, &mut signals).await,
        Some((program, arguments)) => {
            let command = Command { program, arguments, addresses: &asked.addresses, wait: !asked.no_wait };
            command::run(registry, config, &command, &mut signals).await
        }
    }
}

/// What is to be run.
struct Command<'a> {
    program: &'a OsString,
    arguments: &'a [OsString],
    addresses: &'a [Address],
    /// Whether it is registered only when it listens.
    wait: bool,
}

fn config(asked: &Register) -> Result<RegistrarConfig, Failure> {
    let mut metadata = Metadata::new();
    for (key, value) in &asked.metadata {
        metadata.insert(key, value).map_err(|error| {
            Failure::from(error).next("if everybody may read it, give it as --public-meta KEY=VALUE")
        })?;
    }
    for (key, value) in &asked.public_metadata {
        metadata.insert_public(key, value)?;
    }
    let mut config = RegistrarConfig::new(asked.service.clone())
        .with_metadata(metadata)
        .with_weight(asked.weight)
        // Nothing says that it is ours, unless a command of ours comes to listen there.
        .with_takeover(if asked.takeover { TakeoverPolicy::Always } else { TakeoverPolicy::Never });
    config.ttl = asked.ttl;
    config.id.clone_from(&asked.id);
    config.version.clone_from(&asked.version);
    config.drain = asked.drain;
    for address in &asked.addresses {
        config = match address {
            Address::Dialled(endpoint) => config.with_endpoint(endpoint.clone()),
            Address::Wildcard { name, scheme, listener } => config.listening_as(name, scheme, *listener)?,
        };
    }
    config.check()?;
    Ok(config)
}

/// Keeps it registered until a signal comes; whoever listens there is not our business.
async fn alone(registry: &Registry, config: RegistrarConfig, signals: &mut Signals) -> Outcome {
    let registrar = tokio::select! {
        started = Registrar::start(registry.clone(), config) => started?,
        _ = signals.next() => return Ok(0),
    };
    let events = registrar.events();
    let what = format!("{}/{}", registrar.service(), registrar.id());
    let (left, ()) = tokio::join!(until_told(registrar, signals), report::tell(&what, events));
    left?;
    Ok(0)
}

/// Drains and deregisters when a signal comes, without the drain when a second one does.
async fn until_told(registrar: Registrar, signals: &mut Signals) -> registry_core::Result<()> {
    let mut status = registrar.status();
    tokio::select! {
        _ = signals.next() => {}
        // It is over by itself, as when another owner came: then this is why.
        _ = status.wait_for(RegistrarStatus::is_final) => return registrar.ready().await,
    }
    tokio::select! {
        drained = registrar.drain() => drained.map(drop),
        _ = signals.next() => registrar.deregister().await,
    }
}
