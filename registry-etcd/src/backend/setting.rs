//! The operator's overrides: each under a key of its own, with a lease of its own where it has a life.

use std::time::Duration;

use registry_core::{Error, ErrorKind, InstanceId, Override, Result, Revision, ServiceName};

use super::standing::found;
use super::{Inner, give_back};
use crate::client::{Op, Session, Txn};
use crate::record;

impl Inner {
    pub(super) async fn set_override(
        &self,
        service: &ServiceName,
        id: &InstanceId,
        value: Option<Override>,
    ) -> Result<Revision> {
        let mut put = None;
        if let Some(value) = value {
            value.check()?;
            put = Some((record::encode_override(&value)?, value.life));
        }
        let key = self.keys.service(service).override_of(id);
        let work = set(self.session.clone(), key, put);
        let closing = self.closing.clone();
        // A task, so that it is done whole if the call is dropped (C1): a life is no TTL, and a lease left behind without
        // a key would stay for as long.
        let task = self.tasks.spawn(async move { closing.run_until_cancelled(work).await });
        match task.await {
            Ok(Some(result)) => result,
            Ok(None) => Err(Error::closed()),
            // It panicked, or its runtime was shut down.
            Err(ended) => {
                Err(Error::new(ErrorKind::Ambiguous, "the task of an override ended early")
                    .with_source(ended))
            }
        }
    }
}

/// Puts an encoded override, for a life if it has one, or removes what is there; then ends the lease of what it replaced.
async fn set(session: Session, key: Vec<u8>, put: Option<(Vec<u8>, Option<Duration>)>) -> Result<Revision> {
    let mut lease = None;
    let write = match put {
        None => Op::Delete { key: key.clone() },
        Some((value, life)) => {
            if let Some(life) = life {
                lease = Some(session.grant(life).await?.lease);
            }
            Op::Put { key: key.clone(), value, lease }
        }
    };
    let txn = Txn { success: vec![Op::Get { key }, write], ..Txn::default() };
    match session.txn(txn).await {
        Ok(answer) => {
            let before = found(answer.answers).next().flatten().and_then(|kv| kv.lease);
            if let Some(old) = before.filter(|old| Some(*old) != lease) {
                give_back(&session, old).await;
            }
            Ok(answer.revision)
        }
        Err(error) => {
            if let Some(lease) = lease
                && *error.kind() != ErrorKind::Ambiguous
            {
                give_back(&session, lease).await;
            }
            Err(error)
        }
    }
}
