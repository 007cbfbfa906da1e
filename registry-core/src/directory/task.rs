//! What a directory does while nobody reads: hears items, tells listeners.

use std::sync::Arc;

use futures::StreamExt;
use tokio::sync::watch;
use tracing::{info, warn};

use super::listeners::Listeners;
use crate::item::{Change, WatchItem, WatchStatus, diff, fold};
use crate::stream::WatchStream;

pub(super) async fn run(mut stream: WatchStream, listeners: Arc<Listeners>, raise: watch::Sender<u64>) {
    while let Some(item) = stream.next().await {
        match item {
            Ok(item) => hear(&listeners, &item),
            Err(error) => warn!(%error, "the directory's watch was refused"),
        }
        raise.send_modify(|news| *news += 1);
    }
}

fn hear(listeners: &Listeners, item: &WatchItem) {
    let told = listeners.told();
    let changes: Arc<[Change]> = match item {
        WatchItem::Snapshot(snapshot) => match &told {
            None => snapshot.instances.iter().cloned().map(Change::Added).collect(),
            Some(told) => diff(told, snapshot).into(),
        },
        WatchItem::Changes { changes, .. } | WatchItem::Resync { changes, .. } => Arc::clone(changes),
        WatchItem::Progress(_) => return,
        WatchItem::Status(status) => {
            match status {
                WatchStatus::Disconnected { cause, .. } => warn!(%cause, "stale: the registry is not heard"),
                WatchStatus::Connected => info!("fresh: the registry is heard again"),
                WatchStatus::Connecting => {}
            }
            return;
        }
    };
    match fold(told, item) {
        Ok(Some(snapshot)) => listeners.tell(changes, snapshot),
        Ok(None) => {}
        // The state beside the items is right all the same; what listeners heard is not.
        Err(error) => tracing::error!(%error, "a watch broke its promise"),
    }
}
