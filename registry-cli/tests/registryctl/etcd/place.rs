//! A namespace of its own on the member of this test process.

use std::time::Duration;

use registry_testkit::etcd::EtcdCluster;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::time::{Instant, interval};

use super::beside::Beside;
use crate::running::{Ended, LIMIT, ended, registryctl};

/// Where one test's instances stand.
pub(super) struct Place {
    pub(super) target: String,
}

impl Place {
    pub(super) async fn new(test: &str) -> Self {
        let cluster = EtcdCluster::shared().await.expect("an etcd");
        Self { target: format!("{}?namespace={test}", cluster.target()) }
    }

    /// Runs it here to its end.
    pub(super) async fn run(&self, arguments: &[&str]) -> Ended {
        // By the variable here, by the option beside the test: both name the target.
        ended(registryctl(arguments).env("REGISTRY_TARGET", &self.target)).await
    }

    /// Starts it here, beside the test.
    pub(super) fn start(&self, arguments: &[&str]) -> Beside {
        let mut command = registryctl(&["--target", &self.target]);
        Beside::start(command.args(arguments))
    }

    /// The instances of a service now; none where it has none.
    pub(super) async fn instances(&self, service: &str) -> Vec<Value> {
        let ended = self.run(&["instances", service, "--output", "json"]).await;
        assert!(matches!(ended.code, Some(0 | 3)), "{ended:#?}");
        let mut list: Value = serde_json::from_str(&ended.out).expect("one document");
        match list["instances"].take() {
            Value::Array(instances) => {
                assert_eq!(instances.is_empty(), ended.code == Some(3));
                instances
            }
            other => panic!("no list: {other}"),
        }
    }

    /// Waits until the list is as it should be.
    pub(super) async fn until(&self, service: &str, what: &str, wanted: impl Fn(&[Value]) -> bool) {
        let begun = Instant::now();
        let mut ticks = interval(Duration::from_millis(50));
        loop {
            let list = self.instances(service).await;
            if wanted(&list) {
                return;
            }
            assert!(begun.elapsed() < LIMIT, "never {what}: {list:#?}");
            ticks.tick().await;
        }
    }
}

/// Something that listens, and where.
pub(super) async fn listener() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    (listener, address)
}
