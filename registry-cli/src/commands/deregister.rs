//! `registryctl deregister SERVICE ID`

use registry_core::{InstanceId, ServiceName};
use serde_json::json;

use super::Registry;
use crate::args::{Deregister, One};
use crate::exit::{Failure, Outcome};
use crate::output::Output;

pub(super) async fn run(registry: &Registry, output: Output, asked: Deregister) -> Outcome {
    let One { service, id } = asked.one;
    let lease = registry.holder(&service, &id).await?.ok_or_else(|| missing(&service, &id))?;
    let revision = registry.deregister(&lease).await?.ok_or_else(|| missing(&service, &id))?;
    if output.is_json() {
        output.json(&json!({ "service": service, "id": id, "revision": revision.number() }))?;
    } else {
        output.line(&format!("deregistered {service}/{id} at revision {revision}"))?;
    }
    eprintln!(
        "note: if its owner lives, it notices and registers again within a heartbeat; to keep callers away from \
         it: registryctl disable {service} {id}"
    );
    Ok(0)
}

/// Nobody holds this id.
fn missing(service: &ServiceName, id: &InstanceId) -> Failure {
    Failure::not_found(format!("{service} has no living instance {id}"))
        .next(format!("`registryctl instances {service}` lists those it has"))
}
