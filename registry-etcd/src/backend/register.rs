//! Register: grant a lease, then put claim and record under it in one step.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use registry_core::{Error, ErrorKind, LeaseRef, Registered, Registration, Result, Revision, Ttl};
use tokio::task::AbortHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Inner;
use super::look::read;
use super::plan::{Register, Takes};
use super::standing::{ClaimAt, RecordAt, Standing, found};
use crate::client::{Granted, LeaseId, TxnAnswer};
use crate::lease::{Held, Own, Put, keep_watch};
use crate::record::{Claim, generation};

/// How often others may change what was just read before a call gives up. Each round is lost to a write of theirs.
pub(super) const ROUNDS: usize = 8;

impl Inner {
    pub(super) async fn register(&self, registration: Registration) -> Result<Registered> {
        let record = self.limits.check(&registration.id, &registration.instance)?;
        let version = registration.instance.version.clone();
        let claim = Claim { owner: registration.owner, version: version.clone() }.encode()?;
        let place = self.place(&registration.service, &registration.id);

        let asked = Instant::now();
        let wanted = registration.ttl.unwrap_or(self.ttl);
        let Granted { lease, ttl } = self.session.grant(wanted.get()).await?;
        let plan = Register {
            place: &place,
            lease,
            owner: registration.owner,
            takeover: registration.takeover,
            version: version.as_ref(),
            claim: &claim,
            record: &record,
        };
        let revision = match self.put_under(&plan, ttl, wanted).await {
            Ok(revision) => revision,
            Err(error) => {
                // What may have been put must live on for the repeat to find it (R6). Where etcd could not be reached
                // it would not hear of this either.
                if !matches!(error.kind(), ErrorKind::Ambiguous | ErrorKind::Unavailable { .. }) {
                    self.give_back(lease).await;
                }
                return Err(error);
            }
        };

        let deadline = asked + ttl;
        let number = revision.number();
        let put = Put { revision, version, claim: (claim, number), record: (record, number) };
        let own = Own::new(place, lease, put, ttl, deadline);
        let lease = self.hold(&registration, lease, Arc::new(own), revision);
        Ok(Registered::new(lease, Ttl::new(ttl)?, revision, deadline))
    }

    async fn put_under(&self, plan: &Register<'_>, granted: Duration, asked: Ttl) -> Result<Revision> {
        if granted < asked.get() {
            let why = format!("etcd granted a TTL of {granted:?} where {asked} was asked for");
            return Err(Error::new(ErrorKind::Internal, why));
        }
        let mut step = Takes { txn: plan.first(), replaced: None };
        for _ in 0..=ROUNDS {
            let answer = self.session.txn(step.txn).await.map_err(ran_out)?;
            if answer.succeeded {
                if let Some(old) = step.replaced {
                    self.give_back(old).await;
                }
                return Ok(answer.revision);
            }
            step = plan.next(&self.standing(plan, answer).await?)?;
        }
        Err(contended())
    }

    /// What a refused step found, and the record that the claim names where that is another one.
    async fn standing(&self, plan: &Register<'_>, answer: TxnAnswer) -> Result<Standing> {
        let revision = answer.revision;
        let mut found = found(answer.answers);
        let claim = found.next().flatten().map(ClaimAt::new);
        let record = found.next().flatten();
        let at = |version: Option<_>, kv| RecordAt { version, kv };
        let mut records: Vec<_> = record.into_iter().map(|kv| at(plan.version.cloned(), kv)).collect();
        if let Some(Ok(said)) = claim.as_ref().map(|claim| &claim.said)
            && said.version.as_ref() != plan.version
        {
            let (_, kv) = read(&self.session, plan.place.record(said.version.as_ref())).await?;
            records.extend(kv.map(|kv| at(said.version.clone(), kv)));
        }
        Ok(Standing { revision, claim, records, left: None })
    }

    /// The proof of a registration, with the watch on its own keys.
    fn hold(&self, registration: &Registration, lease: LeaseId, own: Arc<Own>, after: Revision) -> LeaseRef {
        let ends = self.closing.child_token();
        let watch = Mutex::new(self.watch_own(&own, Some(after.number()), &ends));
        let held = Held { own, home: Arc::clone(&self.home), watch, _guard: ends.clone().drop_guard(), ends };
        LeaseRef::with_handle(
            registration.service.clone(),
            registration.id.clone(),
            generation(lease),
            registration.owner,
            Arc::new(held),
        )
    }

    /// Watches a registration's keys again if that ended with the runtime that it ran on: nothing else ends it early.
    pub(super) fn rewatch(&self, held: &Held) {
        let mut watch = held.watch.lock().unwrap_or_else(PoisonError::into_inner);
        if watch.is_finished() && held.own.over().is_none() {
            *watch = self.watch_own(&held.own, None, &held.ends);
        }
    }

    fn watch_own(&self, own: &Arc<Own>, after: Option<u64>, ends: &CancellationToken) -> AbortHandle {
        let watch = keep_watch(self.session.clone(), Arc::clone(own), after);
        let until = ends.clone();
        self.tasks.spawn(async move { until.run_until_cancelled(watch).await }).abort_handle()
    }
}

/// A lease that ran out between its grant and the put.
fn ran_out(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotRegistered => error.with_kind(ErrorKind::Unavailable { time_left: None }),
        _ => error,
    }
}

/// Others change the same instance all the time.
pub(super) fn contended() -> Error {
    Error::unavailable("others kept changing the instance; nothing was written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_that_ran_out_is_no_verdict_on_the_registration() {
        let error = ran_out(Error::not_registered("requested lease not found"));
        assert!(error.is_retryable());
        assert_eq!(ran_out(Error::closed()).kind(), &ErrorKind::Closed);
    }
}
