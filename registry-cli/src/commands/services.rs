//! `registryctl services`

use serde_json::json;

use super::Registry;
use crate::args::Services;
use crate::exit::Outcome;
use crate::output::Output;

pub(super) async fn run(registry: &Registry, output: Output, asked: Services) -> Outcome {
    let services = registry.services(asked.read.into()).await?;
    if output.is_json() {
        output.json(&json!({ "revision": services.revision.number(), "services": services.names }))?;
    } else if services.names.is_empty() {
        eprintln!("no service has a living instance");
    } else {
        output.table(&["SERVICE"], services.names.iter().map(|name| vec![name.to_string()]))?;
    }
    Ok(0)
}
