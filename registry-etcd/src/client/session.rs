//! The one way to etcd for everything that shares endpoints and credentials.

use std::time::Duration;

use registry_core::{Lineage, Result};

use super::feed::Feed;
use super::model::{Granted, KeyRange, LeaseId, RangeAnswer, RangeRequest, Txn, TxnAnswer};
use crate::config::EtcdConfig;

/// Cheap to clone. All clones end with the last one, or with [`close`](Self::close).
#[derive(Debug, Clone)]
pub(crate) struct Session {
    _seam: (),
}

// Signatures of the seam; bodies follow.
#[allow(unused_variables, clippy::unused_async, clippy::unused_self)]
impl Session {
    pub(crate) fn open(config: &EtcdConfig) -> Result<Self> {
        unimplemented!()
    }
    pub(crate) async fn range(&self, request: RangeRequest, deadline: Duration) -> Result<RangeAnswer> {
        unimplemented!()
    }
    pub(crate) async fn txn(&self, txn: Txn) -> Result<TxnAnswer> {
        unimplemented!()
    }
    pub(crate) async fn grant(&self, ttl: Duration) -> Result<Granted> {
        unimplemented!()
    }
    pub(crate) async fn revoke(&self, lease: LeaseId) -> Result<bool> {
        unimplemented!()
    }
    pub(crate) async fn renew(&self, lease: LeaseId, timeout: Duration) -> Result<Option<Duration>> {
        unimplemented!()
    }
    pub(crate) async fn time_to_live(&self, lease: LeaseId) -> Result<Option<Duration>> {
        unimplemented!()
    }
    pub(crate) fn follow(&self, range: KeyRange, after: u64) -> Feed {
        unimplemented!()
    }
    pub(crate) fn lineage(&self) -> Option<Lineage> {
        unimplemented!()
    }
    pub(crate) fn lineage_broken(&self, at: Lineage) -> Lineage {
        unimplemented!()
    }
    pub(crate) async fn close(&self) {
        unimplemented!()
    }
}
