//! Update: the newest body, under the same generation.

use registry_core::{ErrorKind, InstanceSpec, LeaseRef, Result, Revision};

use super::Inner;
use super::look::look;
use super::plan::{Update, Writes};
use super::register::{ROUNDS, contended};
use crate::lease::{Own, Put};
use crate::record;

impl Inner {
    pub(super) async fn update(&self, lease: &LeaseRef, instance: &InstanceSpec) -> Result<Revision> {
        let encoded = self.limits.check(lease.id(), instance)?;
        let place = self.place(lease.service(), lease.id());
        let own = self.own(lease).map(|own| &**own);
        let plan = Update {
            place: &place,
            lease: record::lease(lease.generation()),
            owner: lease.owner(),
            version: instance.version.as_ref(),
            record: &encoded,
        };
        let Some(own) = own else {
            return self.update_found(&plan, None).await.map(|(revision, _)| revision);
        };
        self.lives(own).await?;
        let known = own.written(&encoded);
        let writing = own.write();
        let result = match known {
            Some((written, equal)) => self.update_known(&plan, plan.known(&written, equal)?, own).await,
            None => self.update_found(&plan, Some(own)).await,
        };
        match result {
            Ok((revision, (claim, record))) => {
                let version = instance.version.clone();
                let claim = if claim { Some(plan.claim()?) } else { None };
                writing.done(Put {
                    revision: revision.number(),
                    version,
                    claim,
                    record: record.then_some(encoded),
                });
                Ok(revision)
            }
            Err(error) => {
                if *error.kind() != ErrorKind::Ambiguous {
                    writing.refused();
                }
                Err(error)
            }
        }
    }

    /// In one step, from what the owner wrote last; from what is found where that does not stand.
    async fn update_known(
        &self,
        plan: &Update<'_>,
        writes: Writes,
        own: &Own,
    ) -> Result<(Revision, (bool, bool))> {
        let answer = self.session.txn(writes.txn).await?;
        if answer.succeeded {
            return Ok((answer.revision, (writes.claim, writes.record)));
        }
        self.update_found(plan, Some(own)).await
    }

    async fn update_found(&self, plan: &Update<'_>, own: Option<&Own>) -> Result<(Revision, (bool, bool))> {
        let last = own.map(Own::version);
        let target = plan.version.cloned();
        for _ in 0..ROUNDS {
            let versions: Vec<_> = [Some(&target), last.as_ref()].into_iter().flatten().collect();
            let standing = look(&self.session, plan.place, &versions).await?;
            let writes = plan.found(&standing, last.as_ref())?;
            let answer = self.session.txn(writes.txn).await?;
            if answer.succeeded {
                return Ok((answer.revision, (writes.claim, writes.record)));
            }
        }
        Err(contended())
    }
}
