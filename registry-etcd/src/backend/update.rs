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
        let own = self.own(lease);
        let plan = Update {
            place: &place,
            lease: record::lease(lease.generation()),
            owner: lease.owner(),
            version: instance.version.as_ref(),
            record: &encoded,
        };
        let Some(own) = own else {
            return self.update_found(&plan, None).await.map(|done| done.revision);
        };
        self.lives(own).await?;
        let known = own.written(&encoded);
        let writing = own.write();
        let result = match known {
            Some((written, equal)) => self.update_known(&plan, plan.known(&written, equal)?, own).await,
            None => self.update_found(&plan, Some(own)).await,
        };
        match result {
            Ok(done) => {
                let number = done.revision.number();
                writing.done(Put {
                    revision: done.revision,
                    version: instance.version.clone(),
                    claim: (plan.claim()?, done.claim.unwrap_or(number)),
                    record: (encoded, done.record.unwrap_or(number)),
                });
                Ok(done.revision)
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
    async fn update_known(&self, plan: &Update<'_>, writes: Writes, own: &Own) -> Result<Done> {
        match self.step(writes).await? {
            Some(done) => Ok(done),
            None => self.update_found(plan, Some(own)).await,
        }
    }

    async fn update_found(&self, plan: &Update<'_>, own: Option<&Own>) -> Result<Done> {
        let last = own.map(Own::version);
        let target = plan.version.cloned();
        for _ in 0..ROUNDS {
            let versions: Vec<_> = [Some(&target), last.as_ref()].into_iter().flatten().collect();
            let standing = look(&self.session, plan.place, &versions).await?;
            if let Some(done) = self.step(plan.found(&standing, last.as_ref())?).await? {
                return Ok(done);
            }
        }
        Err(contended())
    }

    /// Takes a step; nothing where something has changed in between.
    async fn step(&self, writes: Writes) -> Result<Option<Done>> {
        let answer = self.session.txn(writes.txn).await?;
        let Writes { claim, record, .. } = writes;
        Ok(answer.succeeded.then_some(Done { revision: answer.revision, claim, record }))
    }
}

/// An update that was done.
struct Done {
    revision: Revision,
    /// The revision that wrote the claim, if it was an earlier one.
    claim: Option<u64>,
    /// The revision that wrote the record, if it was an earlier one.
    record: Option<u64>,
}
