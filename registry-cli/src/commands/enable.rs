//! `registryctl enable SERVICE ID`

use registry_core::{InstanceStatus, Query, ReadOptions};
use serde_json::json;

use super::Registry;
use crate::args::{Enable, One};
use crate::exit::Outcome;
use crate::output::Output;
use crate::words::status;

pub(super) async fn run(registry: &Registry, output: Output, asked: Enable) -> Outcome {
    let One { service, id } = asked.one;
    let revision = registry.set_override(&service, &id, None).await?;
    if output.is_json() {
        output.json(&json!({ "service": service, "id": id, "revision": revision.number() }))?;
    } else {
        output.line(&format!("enabled {service}/{id}: its own status counts again"))?;
    }
    let snapshot = registry.discover(&Query::new(service.clone()), ReadOptions::default()).await;
    if let Ok(snapshot) = snapshot {
        match snapshot.get(&id).map(|instance| instance.status()) {
            Some(InstanceStatus::Up) => {}
            Some(own) => eprintln!("note: it says of itself that it is {}", status(own)),
            None => eprintln!("note: {service} has no living instance {id} now"),
        }
    }
    Ok(0)
}
