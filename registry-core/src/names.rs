//! The names of the services that have a living instance, and their watchers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::stream;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::error::Result;
use crate::item::WatchStatus;
use crate::name::{InstanceId, ServiceName};
use crate::revision::Revision;
use crate::snapshot::Services;
use crate::source::{RawServices, ServicesBatch};
use crate::stream::{ServicesItem, ServicesStream, WatchEnd};

/// Which instances live, of all services, and the watchers of the names (Q10).
///
/// A watcher hears the newest names and the newest status, however slow it is: its memory is bounded by one of each.
#[derive(Debug)]
pub struct NamesFeed {
    living: BTreeMap<ServiceName, BTreeSet<InstanceId>>,
    state: watch::Sender<NamesState>,
}

#[derive(Debug, Clone)]
struct NamesState {
    services: Option<Arc<Services>>,
    status: WatchStatus,
    end: Option<WatchEnd>,
}

impl NamesFeed {
    /// A feed that knows nothing yet.
    pub fn new() -> Self {
        let state = NamesState { services: None, status: WatchStatus::Connecting, end: None };
        Self { living: BTreeMap::new(), state: watch::Sender::new(state) }
    }

    /// A feed of an embedded backend: no names at `revision`, always current.
    pub fn embedded(revision: Revision) -> Self {
        let mut feed = Self::new();
        feed.list(RawServices { revision, living: Vec::new() });
        feed.connected();
        feed
    }

    /// The names now, once they are known.
    pub fn services(&self) -> Option<Arc<Services>> {
        self.state.borrow().services.clone()
    }

    /// The revision of the last list or batch.
    pub fn revision(&self) -> Option<Revision> {
        self.state.borrow().services.as_ref().map(|services| services.revision)
    }

    /// Whether its watches have ended: a newcomer needs another feed.
    pub fn is_ended(&self) -> bool {
        self.state.borrow().end.is_some()
    }

    /// Begins, or begins anew, from a list.
    pub fn list(&mut self, raw: RawServices) {
        self.living.clear();
        for (service, id) in raw.living {
            self.living.entry(service).or_default().insert(id);
        }
        self.state.send_if_modified(|state| {
            if state.status == WatchStatus::Connecting {
                state.status = WatchStatus::Connected;
            }
            false
        });
        self.publish(raw.revision);
    }

    /// Makes the changes of one revision; what is not after the present one changes nothing.
    pub fn batch(&mut self, batch: ServicesBatch) {
        if !self.revision().is_some_and(|present| batch.revision.is_after(present)) {
            return;
        }
        let mut differs = false;
        for (service, id, lives) in batch.events {
            let known = self.living.contains_key(&service);
            if lives {
                self.living.entry(service).or_default().insert(id);
                differs |= !known;
            } else if let Some(ids) = self.living.get_mut(&service) {
                ids.remove(&id);
                if ids.is_empty() {
                    self.living.remove(&service);
                    differs = true;
                }
            }
        }
        if differs {
            self.publish(batch.revision);
        } else {
            self.advance(batch.revision);
        }
    }

    /// The link to the backend is lost.
    pub fn disconnected(&mut self, now: Instant, cause: &str) {
        self.state.send_if_modified(|state| {
            let fresh = !matches!(state.status, WatchStatus::Disconnected { .. });
            if fresh {
                state.status = WatchStatus::Disconnected { since: now, cause: cause.into() };
            }
            fresh
        });
    }

    /// The link is there and has caught up.
    pub fn connected(&mut self) {
        self.state.send_if_modified(|state| {
            let told = matches!(state.status, WatchStatus::Disconnected { .. });
            state.status = WatchStatus::Connected;
            told
        });
    }

    /// Ends every watch; the first end counts.
    pub fn end(&mut self, end: WatchEnd) {
        self.state.send_modify(|state| {
            state.end.get_or_insert(end);
        });
    }

    /// A watcher, which begins with what is known now. `guard` is dropped with it.
    pub fn subscribe(&self, guard: Box<dyn Send>) -> ServicesStream {
        let mut states = self.state.subscribe();
        states.mark_changed();
        let seen =
            Seen { states, status: WatchStatus::Connected, services: None, ended: false, _guard: guard };
        ServicesStream::new(stream::unfold(seen, |mut seen| async {
            let item = seen.next().await?;
            Some((item, seen))
        }))
    }

    fn publish(&mut self, revision: Revision) {
        let names: Arc<[ServiceName]> = self.living.keys().cloned().collect();
        self.state.send_modify(|state| state.services = Some(Arc::new(Services::new(revision, names))));
    }

    fn advance(&mut self, revision: Revision) {
        self.state.send_if_modified(|state| {
            if let Some(services) = &mut state.services {
                Arc::make_mut(services).revision = revision;
            }
            false
        });
    }
}

impl Default for NamesFeed {
    fn default() -> Self {
        Self::new()
    }
}

/// One watcher: what it was told last.
struct Seen {
    states: watch::Receiver<NamesState>,
    status: WatchStatus,
    services: Option<Arc<Services>>,
    ended: bool,
    _guard: Box<dyn Send>,
}

impl Seen {
    async fn next(&mut self) -> Option<Result<ServicesItem>> {
        loop {
            if self.ended {
                return None;
            }
            let state = self.states.borrow_and_update().clone();
            if state.status != self.status && state.status != WatchStatus::Connecting {
                self.status = state.status.clone();
                return Some(Ok(ServicesItem::Status(state.status)));
            }
            if let Some(services) = state.services
                && self.services.as_ref().is_none_or(|told| told.names != services.names)
            {
                self.services = Some(Arc::clone(&services));
                return Some(Ok(ServicesItem::Names(services)));
            }
            if let Some(end) = state.end {
                self.ended = true;
                return end.into_item();
            }
            if self.states.changed().await.is_err() {
                return None;
            }
        }
    }
}
