//! What befalls the registration, one line each on stderr: stdout belongs to the command.

use registry_core::{LostReason, RegistrarEvents, RegistrarStatus};

/// Tells until the registrar is over.
pub(super) async fn tell(what: &str, mut events: RegistrarEvents) {
    while let Some(event) = events.next().await {
        if let Some(words) = words(&event.status) {
            eprintln!("registryctl: {what} {words}");
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
