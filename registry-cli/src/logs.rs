//! Logs on stderr, off unless asked for.

use std::io;

use tracing_subscriber::EnvFilter;

use crate::exit::Failure;

const VARIABLE: &str = "REGISTRY_LOG";

pub(crate) fn start(asked: Option<String>) -> Result<(), Failure> {
    let Some(filter) = asked.or_else(|| std::env::var(VARIABLE).ok()).filter(|filter| !filter.is_empty())
    else {
        return Ok(());
    };
    let filter = EnvFilter::try_new(&filter).map_err(|error| {
        Failure::usage(format!("{filter:?} is no filter of logs: {error}"))
            .next("write a level, or levels by part: info, warn,registry_core=debug")
    })?;
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).init();
    Ok(())
}
