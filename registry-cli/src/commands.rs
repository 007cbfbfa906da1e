//! One file per command.

use std::sync::Arc;

use registry_core::ServiceDiscovery;
use tokio::runtime;

use crate::args::{Args, Command};
use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::{demo, logs, target};

mod deregister;
mod disable;
mod enable;
mod instances;
mod register;
mod services;
mod watch;

type Registry = Arc<dyn ServiceDiscovery>;

pub(crate) fn run(args: Args) -> Outcome {
    let Args { global, command } = args;
    logs::start(global.log)?;
    let output = Output::new(global.output);
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::error(format!("no runtime could be started: {error}")))?;
    runtime.block_on(async {
        if matches!(command, Command::Demo) {
            return demo::run(global.target.as_deref(), output).await;
        }
        let registry = target::open(global.target)?;
        let outcome = dispatch(&registry, output, command).await;
        registry.close().await;
        outcome
    })
}

async fn dispatch(registry: &Registry, output: Output, command: Command) -> Outcome {
    match command {
        // Dealt with before: it opens its own registry.
        Command::Demo => Ok(0),
        Command::Register(asked) => register::run(registry, asked).await,
        Command::Services(asked) => services::run(registry, output, asked).await,
        Command::Instances(asked) => instances::run(registry, output, asked).await,
        Command::Watch(asked) => watch::run(registry, output, asked).await,
        Command::Deregister(asked) => deregister::run(registry, output, asked).await,
        Command::Disable(asked) => disable::run(registry, output, asked).await,
        Command::Enable(asked) => enable::run(registry, output, asked).await,
    }
}
