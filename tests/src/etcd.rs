//! The etcd backend as the suite sees it: real members, a namespace of its own for every test.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::{LeaseRef, Namespace, ServiceDiscovery, ServiceName, Slot, Version};
use registry_etcd::{EtcdConfig, EtcdRegistry};
use registry_testkit::etcd::EtcdCluster;
use registry_testkit::harness::Under;
use registry_testkit::{Faults, Harness, Stranger, Timing};
use uuid::Uuid;

/// The etcd backend, on the version that `REGISTRY_ETCD_VERSION` names or the newest that is there.
#[derive(Debug)]
pub struct Etcd;

/// A namespace on a member that is shared by the test process, or on one of the test's own.
#[derive(Debug)]
pub struct EtcdGuard(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    cluster: Member,
    namespace: Namespace,
}

#[derive(Debug)]
enum Member {
    Shared(&'static EtcdCluster),
    Own(EtcdCluster),
}

impl EtcdGuard {
    /// The member.
    pub fn cluster(&self) -> &EtcdCluster {
        self.0.cluster()
    }

    /// What a registry is opened with here.
    pub fn config(&self) -> EtcdConfig {
        EtcdConfig::new(self.cluster().endpoints()).with_namespace(self.0.namespace.clone())
    }

    fn open(&self) -> Arc<dyn ServiceDiscovery> {
        Arc::new(EtcdRegistry::open(&self.config()).expect("the configuration is right"))
    }

    fn on(cluster: Member) -> Self {
        let namespace = Namespace::new(Uuid::new_v4().simple().to_string()).expect("a name");
        Self(Arc::new(Inner { cluster, namespace }))
    }
}

impl Inner {
    fn cluster(&self) -> &EtcdCluster {
        match &self.cluster {
            Member::Shared(cluster) => cluster,
            Member::Own(cluster) => cluster,
        }
    }

    fn service(&self, service: &ServiceName) -> String {
        format!("registry/{}/services/{service}", self.namespace)
    }

    fn record(&self, service: &ServiceName, slot: &Slot) -> String {
        let version = slot.version.as_ref().map_or("-", Version::as_str);
        format!("{}/v={version}/inst/{}", self.service(service), slot.id)
    }

    async fn ctl(&self, args: &[&str]) -> String {
        self.cluster().ctl(args).await.unwrap_or_else(|error| panic!("{args:?}: {error}"))
    }

    async fn put(&self, key: &str, bytes: &[u8], lease: Option<&str>) {
        let lease = lease.map(|lease| format!("--lease={lease}"));
        let args: Vec<&str> = ["put"].into_iter().chain(lease.as_deref()).chain([key]).collect();
        // etcdctl takes a missing value for standard input, and an empty one only as an argument.
        let result = if bytes.is_empty() {
            self.cluster().ctl(&[&args[..], &[""]].concat()).await
        } else {
            self.cluster().ctl_with_input(&args, bytes).await
        };
        result.unwrap_or_else(|error| panic!("put {key}: {error}"));
    }
}

impl Harness for Etcd {
    type Guard = EtcdGuard;

    async fn fresh() -> (Arc<dyn ServiceDiscovery>, EtcdGuard) {
        let cluster = EtcdCluster::shared().await.unwrap_or_else(|error| panic!("{error}"));
        let guard = EtcdGuard::on(Member::Shared(cluster));
        (guard.open(), guard)
    }

    async fn isolated() -> (Arc<dyn ServiceDiscovery>, EtcdGuard) {
        let cluster = EtcdCluster::builder().start().await.unwrap_or_else(|error| panic!("{error}"));
        let guard = EtcdGuard::on(Member::Own(cluster));
        (guard.open(), guard)
    }

    fn timing() -> Timing {
        // The floor of a member with the harness's election timeout is 1 s; one more keeps a loaded machine from
        // losing what should live.
        Timing { many: 1_200, ..Timing::default() }
    }

    async fn second(guard: &EtcdGuard) -> Option<Arc<dyn ServiceDiscovery>> {
        Some(guard.open())
    }

    fn stranger(guard: &EtcdGuard) -> Option<Arc<dyn Stranger>> {
        Some(Arc::new(Beneath(Arc::clone(&guard.0))))
    }

    fn faults(guard: &EtcdGuard) -> Option<Arc<dyn Faults>> {
        Some(Arc::new(Beneath(Arc::clone(&guard.0))))
    }
}

/// Whoever works beneath the registry.
struct Beneath(Arc<Inner>);

fn hexadecimal(lease: &LeaseRef) -> String {
    format!("{:x}", lease.generation().number())
}

#[async_trait]
impl Stranger for Beneath {
    async fn put_record(&self, service: &ServiceName, slot: &Slot, bytes: &[u8], under: Under) {
        let lease = match under {
            Under::Lease(lease) => Some(hexadecimal(&lease)),
            Under::OwnLease => {
                let granted = self.0.ctl(&["lease", "grant", "60"]).await;
                Some(granted.split_whitespace().nth(1).expect("`lease ID granted …`").to_owned())
            }
            Under::NoLease => None,
        };
        self.0.put(&self.0.record(service, slot), bytes, lease.as_deref()).await;
    }

    async fn put_junk(&self, service: &ServiceName, tail: &str, bytes: &[u8]) {
        self.0.put(&format!("{}/{tail}", self.0.service(service)), bytes, None).await;
    }

    async fn delete_record(&self, service: &ServiceName, slot: &Slot) {
        self.0.ctl(&["del", &self.0.record(service, slot)]).await;
    }

    async fn delete_claim(&self, lease: &LeaseRef) {
        let key = format!("registry/{}/claims/{}/{}", self.0.namespace, lease.service(), lease.id());
        self.0.ctl(&["del", &key]).await;
    }

    async fn revoke(&self, lease: &LeaseRef) {
        self.0.ctl(&["lease", "revoke", &hexadecimal(lease)]).await;
    }
}

#[async_trait]
impl Faults for Beneath {
    async fn kill(&self) {
        self.0.cluster().kill(0).unwrap_or_else(|error| panic!("{error}"));
    }

    async fn freeze(&self) {
        self.0.cluster().stop(0).unwrap_or_else(|error| panic!("{error}"));
    }

    async fn heal(&self) {
        // Whichever it was: what goes on goes on, what is gone is started again.
        if self.0.cluster().cont(0).is_err() {
            self.0.cluster().restart(0).await.unwrap_or_else(|error| panic!("{error}"));
        }
        self.0.cluster().ready().await.unwrap_or_else(|error| panic!("{error}"));
    }
}
