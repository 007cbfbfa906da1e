//! `registryctl disable SERVICE ID`

use registry_core::{Override, OverrideStatus, Query, ReadOptions};
use serde_json::json;

use super::Registry;
use crate::args::{Disable, One};
use crate::exit::Outcome;
use crate::output::Output;

pub(super) async fn run(registry: &Registry, output: Output, asked: Disable) -> Outcome {
    let One { service, id } = asked.one;
    let mut value = Override::status(OverrideStatus::Disabled, user(), asked.reason);
    value.life = asked.life;
    let revision = registry.set_override(&service, &id, Some(value.clone())).await?;
    if output.is_json() {
        output.json(&json!({
            "service": service, "id": id, "revision": revision.number(), "override": value,
        }))?;
    } else {
        let until = match value.life {
            Some(life) => format!("for {}", humantime::format_duration(life)),
            None => format!("until `registryctl enable {service} {id}`"),
        };
        output.line(&format!("disabled {service}/{id} {until}, by {}", value.by))?;
    }
    // It holds for whoever comes under this id, so it is no failure; but it may be a typing error.
    let snapshot = registry.discover(&Query::new(service.clone()), ReadOptions::default()).await;
    if snapshot.is_ok_and(|snapshot| snapshot.get(&id).is_none()) {
        eprintln!("note: {service} has no living instance {id} now; one that comes will be disabled");
    }
    Ok(0)
}

/// Who does this, as far as the shell knows.
fn user() -> String {
    let named = ["USER", "LOGNAME"].into_iter().find_map(|variable| std::env::var(variable).ok());
    // A container has neither as a rule.
    let number = || format!("user {}", rustix::process::getuid().as_raw());
    named.filter(|name| !name.is_empty()).unwrap_or_else(number)
}
