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

    /// As `registryctl --target` takes it.
    pub(crate) fn target(&self) -> String {
        self.cluster.target()
    }
}
