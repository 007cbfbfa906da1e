//! The operator's overrides: each under a key of its own, with a lease of its own where it has a life.

use registry_core::{ErrorKind, InstanceId, Override, Result, Revision, ServiceName};

use super::Inner;
use super::standing::found;
use crate::client::{Op, Txn};
use crate::record;

impl Inner {
    pub(super) async fn set_override(
        &self,
        service: &ServiceName,
        id: &InstanceId,
        value: Option<Override>,
    ) -> Result<Revision> {
        let key = self.keys.service(service).override_of(id);
        let mut lease = None;
        let write = match value {
            None => Op::Delete { key: key.clone() },
            Some(value) => {
                value.check()?;
                let encoded = record::encode_override(&value)?;
                if let Some(life) = value.life {
                    lease = Some(self.session.grant(life).await?.lease);
                }
                Op::Put { key: key.clone(), value: encoded, lease }
            }
        };
        let txn = Txn { success: vec![Op::Get { key }, write], ..Txn::default() };
        match self.session.txn(txn).await {
            Ok(answer) => {
                let before = found(answer.answers).next().flatten().and_then(|kv| kv.lease);
                if let Some(old) = before.filter(|old| Some(*old) != lease) {
                    self.give_back(old).await;
                }
                Ok(answer.revision)
            }
            Err(error) => {
                if let Some(lease) = lease
                    && *error.kind() != ErrorKind::Ambiguous
                {
                    self.give_back(lease).await;
                }
                Err(error)
            }
        }
    }
}
