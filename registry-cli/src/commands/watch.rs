//! `registryctl watch SERVICE`

use futures::StreamExt;
use registry_core::{Query, WatchItem, WatchStatus};
use tokio::time::Instant;

use super::Registry;
use crate::args::Watch;
use crate::exit::{Failure, Outcome};
use crate::output::Output;
use crate::output::view::ItemView;
use crate::words::{addresses, plain, status, word};

pub(super) async fn run(registry: &Registry, output: Output, asked: Watch) -> Outcome {
    let begun = Instant::now();
    let mut items = registry.watch(&Query::from(asked.which))?;
    while let Some(item) = items.next().await {
        let item = item?;
        if output.is_json() {
            output.json_line(&ItemView::from(&item))?;
        } else {
            for line in lines(&item) {
                output.line(&format!("{:>9.3}  {line}", begun.elapsed().as_secs_f64()))?;
            }
        }
    }
    Err(Failure::error("the watch ended"))
}

/// What people read of an item: one line per change.
fn lines(item: &WatchItem) -> Vec<String> {
    match item {
        WatchItem::Snapshot(snapshot) => {
            let count = format!("{} living, revision {}", snapshot.len(), snapshot.revision);
            let living =
                snapshot.instances.iter().map(|instance| line("is there", instance.id.as_str(), instance));
            std::iter::once(format!("{:<16}  {count}", "snapshot")).chain(living).collect()
        }
        WatchItem::Changes { changes, .. } => changes.iter().map(change_line).collect(),
        WatchItem::Resync { reason, changes, .. } => {
            let what = format!("{:<16}  {reason}, {} changes", "resync", changes.len());
            std::iter::once(what).chain(changes.iter().map(change_line)).collect()
        }
        WatchItem::Status(WatchStatus::Connected) => vec!["connected".to_owned()],
        WatchItem::Status(WatchStatus::Disconnected { cause, .. }) => {
            vec![format!("{:<16}  the list may be stale: {}", "disconnected", plain(cause))]
        }
        // A proof that nothing happened is nothing to read.
        _ => Vec::new(),
    }
}

fn change_line(change: &registry_core::Change) -> String {
    use registry_core::Change::{Added, Removed, Updated};
    let (Added(instance) | Updated { after: instance, .. } | Removed { instance, .. }) = change;
    line(word(change), change.id().as_str(), instance)
}

fn line(word: &str, id: &str, instance: &registry_core::Instance) -> String {
    let version = instance.version().map(|version| format!("  version {version}")).unwrap_or_default();
    let (own, weight) = (status(instance.status()), instance.weight());
    format!("{word:<16}  {id:<24}  {own:<8}  weight {weight}{version}  {}", addresses(instance))
}
