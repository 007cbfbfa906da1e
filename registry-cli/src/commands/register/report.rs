//! What befalls the registration, one line each on stderr: stdout belongs to the command.

use std::time::Duration;

use registry_core::{LostReason, RegistrarEvents, RegistrarStatus};
use tokio::time::timeout;

/// How long a registration may be under way before that is told.
const QUIET: Duration = Duration::from_secs(3);

/// Tells until the registrar is over.
pub(super) async fn tell(what: &str, mut events: RegistrarEvents) {
    let mut under_way = true;
    loop {
        let limit = if under_way { QUIET } else { Duration::MAX };
        match timeout(limit, events.next()).await {
            Ok(None) => return,
            Ok(Some(event)) => {
                under_way = matches!(event.status, RegistrarStatus::Registering);
                if let Some(words) = words(&event.status) {
                    eprintln!("registryctl: {what} {words}");
                }
            }
            Err(_) => {
                under_way = false;
                eprintln!("registryctl: {what} not registered yet: trying on; --log=warn tells what fails");
            }
        }
    }
}

fn words(status: &RegistrarStatus) -> Option<String> {
    Some(match status {
        RegistrarStatus::Registered { ttl, .. } => format!("registered, TTL {ttl}"),
        RegistrarStatus::Lost { reason: LostReason::NotRegistered, .. } => {
            "lost: it expired or was deregistered by somebody; registering again".to_owned()
        }
        RegistrarStatus::Lost { .. } => "lost: the registry is not heard; trying on".to_owned(),
        RegistrarStatus::Draining => "draining".to_owned(),
        RegistrarStatus::Deregistered { acknowledged: true } => "deregistered".to_owned(),
        RegistrarStatus::Deregistered { acknowledged: false } => {
            "not known to be deregistered: it expires within its TTL".to_owned()
        }
        RegistrarStatus::Fenced => "fenced: another owner took the id over".to_owned(),
        // The others lead to one of these, or to an error that is told.
        _ => return None,
    })
}
