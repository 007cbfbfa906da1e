//! A private etcd member for a demo or an example; it ends with the handle.

use anyhow::{Context, Result};
use registry_testkit::etcd::EtcdCluster;

use crate::setup::Series;

/// One member on free ports, its data in a temporary folder.
pub(crate) struct PrivateEtcd {
    cluster: EtcdCluster,
}

impl PrivateEtcd {
    pub(crate) async fn start(series: Series) -> Result<Self> {
        let started = EtcdCluster::builder().version(series.name()).members(1).start().await;
        Ok(Self { cluster: started.with_context(|| format!("etcd {series} does not start"))? })
    }

    /// `etcd://host:port`
    pub(crate) fn target(&self) -> String {
        target(&self.cluster.endpoints())
    }
}

fn target<S: AsRef<str>>(endpoints: &[S]) -> String {
    let bare = endpoints.iter().map(|endpoint| {
        let endpoint = endpoint.as_ref();
        endpoint.split_once("://").map_or(endpoint, |(_, address)| address).trim_end_matches('/')
    });
    format!("etcd://{}", bare.collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::target;

    #[test]
    fn endpoints_become_one_target() {
        assert_eq!(
            target(&["http://127.0.0.1:2379", "127.0.0.1:2380"]),
            "etcd://127.0.0.1:2379,127.0.0.1:2380"
        );
    }
}
