//! Deregister: one step that removes this generation and says so, then its lease.

use std::time::Duration;

use registry_core::{ErrorKind, LeaseRef, OwnerToken, Result, Revision};
use registry_core::{InstanceId, ServiceName};
use tokio::time::timeout;
use uuid::Uuid;

use super::Inner;
use super::look::{look, read};
use super::plan::Leave;
use super::register::{ROUNDS, contended};
use super::standing::{ClaimAt, Holder};
use crate::client::{LeaseId, Txn, TxnAnswer};
use crate::lease::{Over, Own};
use crate::record;

/// The longest that the answer waits for the lease to go as well; it would run out by itself.
const REVOKE: Duration = Duration::from_millis(500);

impl Inner {
    pub(super) async fn deregister(&self, lease: &LeaseRef) -> Result<Option<Revision>> {
        let place = self.place(lease.service(), lease.id());
        let id = record::lease(lease.generation());
        let own = self.own(lease);
        if own.is_some_and(|own| own.over() == Some(Over::Left)) {
            return Ok(None);
        }
        let leave = Leave { place: &place, lease: id, mark: true };
        let removed = self.remove(leave, own).await?;
        if let Some(own) = own {
            own.leave();
        }
        // The lease is this generation's alone, whoever holds the id now.
        let _ = timeout(REVOKE, self.give_back(id)).await;
        Ok(removed)
    }

    async fn remove(&self, mut leave: Leave<'_>, own: Option<&Own>) -> Result<Option<Revision>> {
        if let Some((written, _)) = own.and_then(|own| own.written(&[])) {
            let answer = self.leave(&mut leave, |leave| leave.known(&written)).await?;
            if answer.succeeded {
                return Ok(Some(answer.revision));
            }
        }
        let last = own.map(Own::version);
        for _ in 0..ROUNDS {
            let standing = look(&self.session, leave.place, last.as_ref().as_slice()).await?;
            if leave.found(&standing, last.as_ref()).is_none() {
                return Ok(None);
            }
            let step = |leave: &Leave<'_>| leave.found(&standing, last.as_ref()).unwrap_or_default();
            let answer = self.leave(&mut leave, step).await?;
            if answer.succeeded {
                return Ok(Some(answer.revision));
            }
        }
        Err(contended())
    }

    /// Takes a step, without the mark where the store refuses every put: a full store must not keep an instance.
    async fn leave<'a>(&self, leave: &mut Leave<'a>, step: impl Fn(&Leave<'a>) -> Txn) -> Result<TxnAnswer> {
        match self.session.txn(step(leave)).await {
            // The put needs the lease: it is gone, or the store is full.
            Err(error)
                if matches!(error.kind(), ErrorKind::ResourceExhausted | ErrorKind::NotRegistered)
                    && leave.mark =>
            {
                leave.mark = false;
                self.session.txn(step(leave)).await
            }
            result => result,
        }
    }

    pub(super) async fn holder(&self, service: &ServiceName, id: &InstanceId) -> Result<Option<LeaseRef>> {
        let (_, claim) = read(&self.session, self.keys.claim(service, id)).await?;
        let claim = claim.map(ClaimAt::new);
        let (lease, owner): (LeaseId, OwnerToken) = match claim.as_ref().map(ClaimAt::holder) {
            None | Some(Holder::Nobody) => return Ok(None),
            Some(Holder::Owner(lease, claim)) => (lease, claim.owner),
            // Held by a claim that says nothing: the lease alone proves it.
            Some(Holder::Unreadable(lease)) => (lease, Uuid::nil().into()),
        };
        Ok(Some(LeaseRef::new(service.clone(), id.clone(), record::generation(lease), owner)))
    }
}
