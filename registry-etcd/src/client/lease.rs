//! Leases: granted and revoked. They are kept alive by [`keepalive`](super::keepalive).

use std::time::Duration;

use registry_core::{ErrorKind, Result};

use super::call::{Core, Repeat};
use super::kv::unsigned;
use super::model::{Granted, LeaseId};

impl Core {
    /// A new lease of at least `ttl`. A lost answer leaves a lease that nothing stands under and that dies by itself,
    /// so nothing was changed that anyone could see: `Unavailable`, not `Ambiguous`.
    pub(super) async fn grant(&self, ttl: Duration) -> Result<Granted> {
        let seconds = whole_seconds(ttl);
        let grant = |mut client: etcd_client::Client| async move { client.lease_grant(seconds, None).await };
        let answer =
            self.call(Repeat::Never, self.call, grant).await.map_err(|error| match error.kind() {
                ErrorKind::Ambiguous => error.with_kind(ErrorKind::Unavailable { time_left: None }),
                _ => error,
            })?;
        self.observe(answer.header());
        Ok(Granted { lease: LeaseId(answer.id()), ttl: Duration::from_secs(unsigned(answer.ttl())) })
    }

    /// Ends a lease and deletes what stands under it; false if there is none.
    pub(super) async fn revoke(&self, lease: LeaseId) -> Result<bool> {
        let revoke = |mut client: etcd_client::Client| async move { client.lease_revoke(lease.0).await };
        match self.call(Repeat::Harmless, self.call, revoke).await {
            Ok(answer) => {
                self.observe(answer.header());
                Ok(true)
            }
            Err(error) if *error.kind() == ErrorKind::NotRegistered => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn observe(&self, header: Option<&etcd_client::ResponseHeader>) {
        if let Some(header) = header {
            self.history.stale(header.cluster_id(), unsigned(header.revision()));
        }
    }
}

/// `ttl` in whole seconds, never shortened, at least one.
fn whole_seconds(ttl: Duration) -> i64 {
    let up = ttl.as_secs().saturating_add(u64::from(ttl.subsec_nanos() > 0));
    i64::try_from(up.max(1)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ttl_is_never_shortened() {
        assert_eq!(whole_seconds(Duration::ZERO), 1);
        assert_eq!(whole_seconds(Duration::from_millis(1001)), 2);
        assert_eq!(whole_seconds(Duration::from_secs(15)), 15);
        assert_eq!(whole_seconds(Duration::MAX), i64::MAX);
    }
}
