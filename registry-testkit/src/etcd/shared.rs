//! One member for all tests of a process.

use tokio::sync::OnceCell;

use super::{EtcdCluster, HarnessError};

/// Statics are never dropped: its guard ends it with the process.
static SHARED: OnceCell<EtcdCluster> = OnceCell::const_new();

impl EtcdCluster {
    /// The one-member cluster of this process, of the machine's default version, started by the first call and
    /// ended with the process. It is bound to no runtime. Each test takes a namespace of its own, and none
    /// kills, stops or wipes it.
    ///
    /// Errors as [`start`](super::EtcdClusterBuilder::start); the next call tries again.
    pub async fn shared() -> Result<&'static Self, HarnessError> {
        SHARED.get_or_try_init(|| Self::builder().start()).await
    }
}
