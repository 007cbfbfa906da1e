//! One member, a registry on it, and an operator beside it.

use std::future::Future;
use std::time::Duration;

use registry_core::{
    InstanceId, InstanceSpec, Query, ReadOptions, Registered, Registration, ServiceDiscovery, ServiceName,
    Snapshot, Ttl,
};
use registry_etcd::{EtcdConfig, EtcdRegistry};
use registry_testkit::etcd::{EtcdCluster, EtcdClusterBuilder};
use tokio::time::{Instant, sleep};

/// No test waits longer for what must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Bench {
    // Before the cluster, so that it is dropped while etcd still answers.
    pub(crate) registry: EtcdRegistry,
    pub(crate) cluster: EtcdCluster,
}

impl Bench {
    pub(crate) async fn start() -> Self {
        Self::on(EtcdCluster::builder()).await
    }

    pub(crate) async fn on(builder: EtcdClusterBuilder) -> Self {
        let cluster = builder.start().await.unwrap();
        Self { registry: open(&cluster), cluster }
    }

    /// A handle of another process, as far as etcd can tell.
    pub(crate) fn second(&self) -> EtcdRegistry {
        open(&self.cluster)
    }

    pub(crate) async fn leases(&self) -> Vec<String> {
        let out = self.cluster.ctl(&["lease", "list"]).await.unwrap();
        out.lines().skip(1).map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    }

    /// Every key of the registry.
    pub(crate) async fn keys(&self) -> Vec<String> {
        let out = self.cluster.ctl(&["get", "--prefix", "--keys-only", "registry/"]).await.unwrap();
        out.lines().filter(|line| !line.is_empty()).map(ToOwned::to_owned).collect()
    }

    pub(crate) async fn value(&self, key: &str) -> String {
        self.cluster.ctl(&["get", "--print-value-only", key]).await.unwrap().trim_end().to_owned()
    }

    pub(crate) async fn put(&self, key: &str, value: &str) {
        self.cluster.ctl(&["put", key, value]).await.unwrap();
    }

    pub(crate) async fn delete(&self, key: &str) {
        assert_eq!(self.cluster.ctl(&["del", key]).await.unwrap().trim(), "1", "{key} was not there");
    }

    /// How many calls of this method etcd has ended.
    pub(crate) async fn handled(&self, method: &str) -> u64 {
        let metrics = self.cluster.metrics(0).await.unwrap();
        let value = metrics.value_of("grpc_server_handled_total", &[("grpc_method", method)]).unwrap_or(0.0);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small count")]
        let count = value as u64;
        count
    }
}

fn open(cluster: &EtcdCluster) -> EtcdRegistry {
    EtcdRegistry::open(&EtcdConfig::new(cluster.endpoints())).unwrap()
}

pub(crate) fn service(name: &str) -> ServiceName {
    ServiceName::new(name).unwrap()
}

pub(crate) fn id(id: &str) -> InstanceId {
    InstanceId::new(id).unwrap()
}

pub(crate) fn spec() -> InstanceSpec {
    InstanceSpec::new("http://10.0.0.1:80".parse().unwrap())
}

pub(crate) fn demo(name: &str) -> Registration {
    Registration::new(service("demo"), id(name), spec()).with_ttl(ttl(5))
}

pub(crate) fn ttl(seconds: u64) -> Ttl {
    Ttl::new(Duration::from_secs(seconds)).unwrap()
}

pub(crate) async fn register(registry: &EtcdRegistry, name: &str) -> Registered {
    registry.register(demo(name)).await.unwrap()
}

pub(crate) async fn snapshot(registry: &EtcdRegistry) -> std::sync::Arc<Snapshot> {
    registry.discover(&Query::new(service("demo")), ReadOptions::default()).await.unwrap()
}

pub(crate) async fn ids(registry: &EtcdRegistry) -> Vec<String> {
    snapshot(registry).await.instances.iter().map(|instance| instance.id.to_string()).collect()
}

/// Polls until `probe` gives something.
pub(crate) async fn until<T, F: Future<Output = Option<T>>>(what: &str, mut probe: impl FnMut() -> F) -> T {
    let late = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        assert!(Instant::now() < late, "waited in vain until {what}");
        sleep(Duration::from_millis(10)).await;
    }
}
