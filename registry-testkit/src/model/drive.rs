//! Doing the same to model and backend, and comparing every answer.

use std::sync::Arc;

use proptest::sample::Index;
use registry_core::{
    ErrorKind, Instance, InstanceId, LeaseRef, OwnerToken, Query, ReadOptions, Registration, Result,
    ServiceDiscovery, ServiceName, Takeover, Ttl, Version,
};
use tokio::time::{Instant, sleep_until};

use super::ops::{Op, Take, WATCHES, body, imposed};
use super::state::{Model, Seen, Standing};
use super::watch::Compared;
use crate::case::{Case, long, names};
use crate::words::{id, service, tagged, version};

/// Names by their number.
const SERVICES: [&str; 2] = ["orders", "orders-b"];
const IDS: [&str; 3] = ["a", "b", "c"];
/// More updates than the queue of a watcher that does not read should hold.
const FLOOD: u32 = 1_100;

/// A backend and the model beside it.
pub(super) struct Drive<'a> {
    case: &'a Case,
    model: Model,
    handles: [Arc<dyn ServiceDiscovery>; 2],
    /// Which handle is used.
    by: usize,
    owners: [OwnerToken; 3],
    /// Every lease that was ever granted.
    leases: Vec<LeaseRef>,
    watches: Vec<Compared>,
}

impl<'a> Drive<'a> {
    pub(super) async fn new(case: &'a Case) -> Self {
        let (early, late) = case.timing.doubt();
        let close = early + late;
        let handles = [Arc::clone(&case.registry), case.other().await];
        let owners = [OwnerToken::random(), OwnerToken::random(), OwnerToken::random()];
        Self {
            case,
            model: Model::new(close),
            handles,
            by: 0,
            owners,
            leases: Vec::new(),
            watches: Vec::new(),
        }
    }

    /// Does all of it, and in the end reads every watch.
    pub(super) async fn run(mut self, ops: &[Op]) {
        for op in ops {
            let now = self.settle().await;
            self.step(op, now).await;
        }
        self.settle().await;
        for watch in &mut self.watches {
            watch.read(&self.model, self.case.soon()).await;
        }
        for of in SERVICES {
            self.list(&service(of), None).await;
        }
        self.names().await;
    }

    /// Waits until no deadline is so near that nobody can say whether it has passed, and lets end what has.
    async fn settle(&mut self) -> Instant {
        let (early, late) = self.case.timing.doubt();
        loop {
            let now = Instant::now();
            let doubtful =
                self.model.deadlines().find(|deadline| now + early >= *deadline && now < *deadline + late);
            let Some(deadline) = doubtful else {
                self.model.advance(now);
                return now;
            };
            sleep_until(deadline + late).await;
        }
    }

    fn registry(&self) -> &dyn ServiceDiscovery {
        &*self.handles[self.by]
    }

    fn lease(&self, index: Index) -> Option<LeaseRef> {
        (!self.leases.is_empty()).then(|| index.get(&self.leases).clone())
    }

    async fn step(&mut self, op: &Op, now: Instant) {
        match op {
            Op::Register { of, id: name, owner, takeover, brief, body: number } => {
                let takeover = match takeover {
                    Take::Never => Takeover::Never,
                    Take::Always => Takeover::Always,
                    Take::If(index) => {
                        self.lease(*index).map_or(Takeover::Never, |l| Takeover::If(l.generation()))
                    }
                };
                let ttl = if *brief { self.brief() } else { long() };
                let registration = Registration::new(of_number(*of), id_number(*name), body(*number))
                    .with_owner(self.owners[usize::from(*owner)])
                    .with_takeover(takeover)
                    .with_ttl(ttl);
                self.register(registration, now).await;
            }
            Op::Heartbeat(index) => {
                if let Some(lease) = self.lease(*index) {
                    self.heartbeat(&lease, now).await;
                }
            }
            Op::HeartbeatAll => {
                for lease in self.leases.clone() {
                    if self.model.standing(&lease) == Standing::InForce {
                        self.heartbeat(&lease, now).await;
                    }
                }
            }
            Op::Update(index, number) => {
                if let Some(lease) = self.lease(*index) {
                    self.update(&lease, *number).await;
                }
            }
            Op::Flood(index, number) => {
                if let Some(lease) = self.lease(*index)
                    && self.model.standing(&lease) == Standing::InForce
                {
                    self.flood(&lease, *number).await;
                }
            }
            Op::Deregister(index) => {
                if let Some(lease) = self.lease(*index) {
                    self.deregister(&lease).await;
                }
            }
            Op::Holder { of, id } => self.holder(&of_number(*of), &id_number(*id)).await,
            Op::Override { of, id, value } => {
                let (of, id, value) = (of_number(*of), id_number(*id), imposed(*value, self.brief().get()));
                self.registry().set_override(&of, &id, value.clone()).await.expect("an override");
                self.model.impose(&of, &id, value, now);
                self.list(&of, None).await;
            }
            Op::Elapse(eighths) => self.case.elapse(self.brief().get() * u32::from(*eighths) / 8).await,
            Op::Discover { of, version } => {
                self.list(&of_number(*of), version_number(*version).as_ref()).await;
            }
            Op::Services => self.names().await,
            Op::Open { of, version } => self.open(&of_number(*of), version_number(*version)).await,
            Op::Read(index) => {
                if !self.watches.is_empty() {
                    let watch = index.index(self.watches.len());
                    self.watches[watch].read(&self.model, self.case.soon()).await;
                }
            }
            Op::Drop(index) => {
                if !self.watches.is_empty() {
                    self.watches.swap_remove(index.index(self.watches.len()));
                }
            }
            Op::Switch => self.by = 1 - self.by,
        }
    }

    /// The short TTL of a sequence: long enough that most steps are free of doubt.
    fn brief(&self) -> Ttl {
        let (early, _) = self.case.timing.doubt();
        Ttl::new(self.case.timing.ttl.max(early * 3)).expect("a TTL")
    }

    async fn register(&mut self, registration: Registration, now: Instant) {
        let Registration { service, id, owner, takeover, .. } = registration.clone();
        let in_the_way = self.model.in_the_way(&service, &id, owner, takeover);
        match (self.registry().register(registration.clone()).await, in_the_way) {
            (Ok(answer), None) => {
                assert_eq!(Some(answer.ttl), registration.ttl, "R4: granted as asked");
                assert_eq!((answer.lease.service(), answer.lease.id()), (&service, &id));
                let registered =
                    self.model.register(&answer.lease, registration.instance, answer.ttl.get(), now);
                registered.unwrap_or_else(|why| panic!("R5: {why}"));
                self.leases.push(answer.lease);
            }
            (Err(error), Some(generation)) => {
                assert_eq!(error.kind(), &ErrorKind::AlreadyExists { generation });
            }
            (answer, in_the_way) => panic!("R5: {answer:?}, and in the way is {in_the_way:?}"),
        }
        self.list(&service, None).await;
    }

    /// The answer of a call that only the holder may make.
    fn judge<T: std::fmt::Debug>(&self, lease: &LeaseRef, answer: &Result<T>) -> bool {
        let kind = answer.as_ref().err().map(registry_core::Error::kind);
        let standing = self.model.standing(lease);
        let right = match standing {
            Standing::InForce => kind.is_none(),
            Standing::Fenced => kind == Some(&ErrorKind::Fenced),
            Standing::Superseded | Standing::GoneAfterAnother => {
                matches!(kind, Some(ErrorKind::Fenced | ErrorKind::NotRegistered))
            }
            Standing::Gone => kind == Some(&ErrorKind::NotRegistered),
        };
        assert!(right, "H2, H3: {answer:?} for {lease:?}, which is {standing:?}");
        standing == Standing::InForce
    }

    async fn heartbeat(&mut self, lease: &LeaseRef, now: Instant) {
        let answer = self.registry().heartbeat(lease).await;
        if self.judge(lease, &answer) {
            self.model.heartbeat(lease, now);
        }
    }

    async fn update(&mut self, lease: &LeaseRef, number: u8) {
        let answer = self.registry().update(lease, body(number)).await;
        if self.judge(lease, &answer) {
            self.model.update(lease, body(number));
        }
        self.list(lease.service(), None).await;
    }

    async fn flood(&mut self, lease: &LeaseRef, number: u8) {
        for n in 0..FLOOD {
            // It may take longer than a TTL.
            if n % 20 == 0 {
                self.settle().await;
                if self.model.standing(lease) != Standing::InForce {
                    return;
                }
            }
            let flooded = tagged("flood", n.to_string());
            self.registry().update(lease, flooded.clone()).await.expect("an update");
            self.model.update(lease, flooded);
        }
        self.settle().await;
        self.update(lease, number).await;
    }

    async fn deregister(&mut self, lease: &LeaseRef) {
        let answer = self.registry().deregister(lease).await.expect("D2: it is idempotent");
        let standing = self.model.standing(lease);
        assert_eq!(
            answer.is_some(),
            standing == Standing::InForce,
            "D2, D3: {answer:?} for {lease:?}, {standing:?}"
        );
        if answer.is_some() {
            self.model.deregister(lease);
        }
        self.list(lease.service(), None).await;
    }

    async fn holder(&self, of: &ServiceName, id: &InstanceId) {
        let holder = self.registry().holder(of, id).await.expect("holder");
        let told = holder.map(|lease| (lease.generation(), lease.owner()));
        assert_eq!(told, self.model.holder(of, id), "holder({of}, {id})");
    }

    async fn list(&self, of: &ServiceName, version: Option<&Version>) {
        let mut query = Query::new(of.clone());
        query.version = version.cloned();
        let snapshot = self.registry().discover(&query, ReadOptions::default()).await.expect("a list");
        let listed: Vec<_> = snapshot.instances.iter().map(|instance| seen(instance)).collect();
        assert_eq!(listed, self.model.list(of, version), "the list of {of}, version {version:?}");
    }

    async fn names(&self) {
        let services = self.registry().services(ReadOptions::default()).await.expect("services");
        let wanted = self.model.names();
        assert_eq!(names(&services.names), names(&wanted), "Q10");
    }

    async fn open(&mut self, of: &ServiceName, version: Option<Version>) {
        if self.watches.len() == WATCHES {
            return;
        }
        let watch = Compared::open(self.registry(), of, version, &self.model, self.case.soon()).await;
        self.watches.push(watch);
    }
}

/// An instance, as far as the model knows it.
pub(super) fn seen(instance: &Instance) -> Seen {
    Seen {
        id: instance.id.clone(),
        generation: instance.generation,
        body: (*instance.own).clone(),
        imposed: instance.overridden.clone(),
    }
}

fn of_number(number: u8) -> ServiceName {
    service(SERVICES[usize::from(number)])
}

fn id_number(number: u8) -> InstanceId {
    id(IDS[usize::from(number)])
}

fn version_number(number: u8) -> Option<Version> {
    (number > 0).then(|| version(&number.to_string()))
}
