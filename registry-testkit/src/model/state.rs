//! The model: a registry so simple that it is seen to be right. It does no I/O and is told the time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use registry_core::{
    Generation, InstanceId, InstanceSpec, LeaseRef, Override, OwnerToken, RemoveReason, ServiceName,
    Takeover, Version,
};
use tokio::time::Instant;

/// A registry of one namespace.
#[derive(Debug)]
pub(super) struct Model {
    services: BTreeMap<ServiceName, Service>,
    /// Of two ends that lie closer together than this, either may come first.
    close: Duration,
}

#[derive(Debug, Default)]
struct Service {
    held: BTreeMap<InstanceId, Held>,
    overrides: BTreeMap<InstanceId, Imposed>,
    /// Generations that were ever in force, to see that none comes back.
    spent: BTreeSet<(InstanceId, u64)>,
    /// Those among them that ended because another replaced them.
    replaced: BTreeSet<(InstanceId, u64)>,
    happened: Vec<Happened>,
    /// Whether the order of what happened is not certain.
    uncertain: bool,
}

/// A living registration.
#[derive(Debug, Clone)]
struct Held {
    owner: OwnerToken,
    generation: Generation,
    body: InstanceSpec,
    ttl: Duration,
    deadline: Instant,
}

#[derive(Debug)]
struct Imposed {
    value: Arc<Override>,
    ends: Option<Instant>,
}

/// An instance as a reader sees it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    /// Its id.
    pub(super) id: InstanceId,
    /// The ownership in force.
    pub(super) generation: Generation,
    /// What it says.
    pub(super) body: InstanceSpec,
    /// What an operator imposes.
    pub(super) imposed: Option<Arc<Override>>,
}

/// One change of one instance, as a watcher of all versions is told.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Happened {
    /// As it was; nothing if it was not there.
    pub(super) before: Option<Seen>,
    /// As it is; nothing if it is gone.
    pub(super) after: Option<Seen>,
    /// Why it went, if it did.
    pub(super) reason: RemoveReason,
}

/// What a lease is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is in force.
    InForce,
    /// Another owner holds the id.
    Fenced,
    /// The same owner holds the id by a later registration.
    Superseded,
    /// Nobody holds the id.
    Gone,
    /// Nobody holds the id, and it was taken from this lease before: the contract leaves open whether it is still told
    /// that it was fenced.
    GoneAfterAnother,
}

/// What is over at some time.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    at: Instant,
    id: InstanceId,
    /// The override, else the instance.
    imposed: bool,
}

impl Model {
    /// An empty one.
    pub(super) fn new(close: Duration) -> Self {
        Self { services: BTreeMap::new(), close }
    }

    /// Lets everything end whose time is over at `now`, in order.
    pub(super) fn advance(&mut self, now: Instant) {
        for service in self.services.values_mut() {
            let mut ends = service.ends();
            ends.retain(|end| end.at <= now);
            ends.sort();
            for end in &ends {
                let near = |other: &&End| other.id == end.id && other.imposed != end.imposed;
                let mut others = ends.iter().filter(near);
                service.uncertain |=
                    others.any(|other| other.at.max(end.at) - other.at.min(end.at) < self.close);
                let reason = if end.imposed { RemoveReason::Unknown } else { RemoveReason::Expired };
                service.change(&end.id, reason, |service, id| {
                    if end.imposed {
                        service.overrides.remove(id);
                    } else {
                        service.held.remove(id);
                    }
                });
            }
        }
    }

    /// The times at which something ends.
    pub(super) fn deadlines(&self) -> impl Iterator<Item = Instant> {
        self.services.values().flat_map(|service| service.ends().into_iter().map(|end| end.at))
    }

    /// Who is in the way of a registration by `owner`.
    pub(super) fn in_the_way(
        &self,
        of: &ServiceName,
        id: &InstanceId,
        owner: OwnerToken,
        takeover: Takeover,
    ) -> Option<Generation> {
        let held = self.services.get(of)?.held.get(id)?;
        (held.owner != owner && !takeover.allows(held.generation)).then_some(held.generation)
    }

    /// Registers under the generation that the backend chose; an error if it may not choose that one.
    pub(super) fn register(
        &mut self,
        lease: &LeaseRef,
        body: InstanceSpec,
        ttl: Duration,
        now: Instant,
    ) -> Result<(), String> {
        let service = self.services.entry(lease.service().clone()).or_default();
        let kept = service
            .held
            .get(lease.id())
            .is_some_and(|held| held.owner == lease.owner() && held.generation == lease.generation());
        let fresh = service.spent.insert((lease.id().clone(), lease.generation().number()));
        if !fresh && !kept {
            return Err(format!("{:?} comes back", lease.generation()));
        }
        let (owner, generation) = (lease.owner(), lease.generation());
        let held = Held { owner, generation, body, ttl, deadline: now + ttl };
        service.change(lease.id(), RemoveReason::Unknown, |service, id| {
            let before = service.held.insert(id.clone(), held);
            if let Some(before) = before.filter(|before| before.generation != generation) {
                service.replaced.insert((id.clone(), before.generation.number()));
            }
        });
        Ok(())
    }

    /// What `lease` is worth.
    pub(super) fn standing(&self, lease: &LeaseRef) -> Standing {
        let held = self.services.get(lease.service()).and_then(|service| service.held.get(lease.id()));
        let ended = (lease.id().clone(), lease.generation().number());
        match held {
            None if self.services.get(lease.service()).is_some_and(|s| s.replaced.contains(&ended)) => {
                Standing::GoneAfterAnother
            }
            None => Standing::Gone,
            Some(held) if held.generation == lease.generation() => Standing::InForce,
            Some(held) if held.owner == lease.owner() => Standing::Superseded,
            Some(_) => Standing::Fenced,
        }
    }

    /// Who holds the id.
    pub(super) fn holder(&self, of: &ServiceName, id: &InstanceId) -> Option<(Generation, OwnerToken)> {
        let held = self.services.get(of)?.held.get(id)?;
        Some((held.generation, held.owner))
    }

    /// A heartbeat of a lease in force, sent at `now`.
    pub(super) fn heartbeat(&mut self, lease: &LeaseRef, now: Instant) {
        if let Some(held) = self.held(lease) {
            held.deadline = now + held.ttl;
        }
    }

    /// An update by a lease in force.
    pub(super) fn update(&mut self, lease: &LeaseRef, body: InstanceSpec) {
        let service = self.services.entry(lease.service().clone()).or_default();
        service.change(lease.id(), RemoveReason::Unknown, |service, id| {
            if let Some(held) = service.held.get_mut(id) {
                held.body = body;
            }
        });
    }

    /// A deregistration by a lease in force.
    pub(super) fn deregister(&mut self, lease: &LeaseRef) {
        let service = self.services.entry(lease.service().clone()).or_default();
        service.change(lease.id(), RemoveReason::Deregistered, |service, id| {
            service.held.remove(id);
        });
    }

    /// Sets or removes an override.
    pub(super) fn impose(
        &mut self,
        of: &ServiceName,
        id: &InstanceId,
        value: Option<Override>,
        now: Instant,
    ) {
        let service = self.services.entry(of.clone()).or_default();
        service.change(id, RemoveReason::Unknown, |service, id| match value {
            Some(value) => {
                let ends = value.life.map(|life| now + life);
                service.overrides.insert(id.clone(), Imposed { value: Arc::new(value), ends });
            }
            None => {
                service.overrides.remove(id);
            }
        });
    }

    /// What a list of the service, or of one version of it, holds.
    pub(super) fn list(&self, of: &ServiceName, version: Option<&Version>) -> Vec<Seen> {
        let Some(service) = self.services.get(of) else { return Vec::new() };
        let all = service.held.keys().filter_map(|id| service.seen(id));
        all.filter(|seen| version.is_none() || seen.body.version.as_ref() == version).collect()
    }

    /// The services that have a living instance.
    pub(super) fn names(&self) -> Vec<ServiceName> {
        self.services
            .iter()
            .filter(|(_, service)| !service.held.is_empty())
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// Everything that happened to a service, in order.
    pub(super) fn happened(&self, to: &ServiceName) -> &[Happened] {
        self.services.get(to).map_or(&[], |service| &service.happened)
    }

    /// Whether it is certain in which order things happened to a service.
    pub(super) fn is_certain(&self, of: &ServiceName) -> bool {
        !self.services.get(of).is_some_and(|service| service.uncertain)
    }

    fn held(&mut self, lease: &LeaseRef) -> Option<&mut Held> {
        self.services.get_mut(lease.service())?.held.get_mut(lease.id())
    }
}

impl Service {
    /// Everything that has an end.
    fn ends(&self) -> Vec<End> {
        let held =
            self.held.iter().map(|(id, held)| End { at: held.deadline, id: id.clone(), imposed: false });
        let imposed = self
            .overrides
            .iter()
            .filter_map(|(id, imposed)| Some(End { at: imposed.ends?, id: id.clone(), imposed: true }));
        held.chain(imposed).collect()
    }

    fn seen(&self, id: &InstanceId) -> Option<Seen> {
        let held = self.held.get(id)?;
        let imposed = self.overrides.get(id).map(|imposed| Arc::clone(&imposed.value));
        Some(Seen { id: id.clone(), generation: held.generation, body: held.body.clone(), imposed })
    }

    /// Makes a change, and writes down what a watcher is told of it.
    fn change(&mut self, id: &InstanceId, reason: RemoveReason, make: impl FnOnce(&mut Self, &InstanceId)) {
        let before = self.seen(id);
        make(self, id);
        let after = self.seen(id);
        if before != after {
            self.happened.push(Happened { before, after, reason });
        }
    }
}
