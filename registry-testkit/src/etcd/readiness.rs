//! Waiting for a cluster: polled to a deadline.

use std::time::Duration;

use tokio::time::{Instant, interval, timeout};

use super::{EtcdCluster, HarnessError, cluster::ATTEMPT, member::Member};

/// Between two looks at a member that is starting.
const POLL: Duration = Duration::from_millis(5);
const LEADER_ATTEMPT: Duration = Duration::from_millis(200);

impl EtcdCluster {
    /// Waits until every running member has a leader and serves. Dropping the call changes nothing.
    pub async fn ready(&self) -> Result<(), HarnessError> {
        let running = self.members.iter().filter(|member| member.pid().is_some());
        self.wait_until(running.map(|member| member.index).collect(), Member::health).await
    }

    /// Waits until `probe` is content with each of these members, and for no longer than `ready_within`.
    pub(super) async fn wait_until(
        &self,
        mut waiting: Vec<usize>,
        probe: impl AsyncFn(&Member, Duration) -> Result<(), HarnessError>,
    ) -> Result<(), HarnessError> {
        let begun = Instant::now();
        let mut ticks = interval(POLL);
        while let Some(&index) = waiting.last() {
            ticks.tick().await;
            // All of them: one that fell may be what another waits for.
            for member in waiting.iter().map(|&index| &self.members[index]) {
                if let Some(status) = member.exited()? {
                    let log = member.log_tail();
                    return Err(HarnessError::MemberExited { member: member.index, status, log });
                }
            }
            let member = self.member(index)?;
            let left = self.ready_within.saturating_sub(begun.elapsed());
            match probe(member, ATTEMPT.min(left)).await {
                Ok(()) => drop(waiting.pop()),
                Err(last) if begun.elapsed() >= self.ready_within => {
                    let (waited, log) = (begun.elapsed(), member.log_tail());
                    return Err(HarnessError::NotReady {
                        member: index,
                        waited,
                        last: last.to_string(),
                        log,
                    });
                }
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// The running member that leads; an election is waited for. A frozen member is passed over after 200 ms,
    /// and one that was frozen or cut off may still take itself for the leader for a moment.
    pub async fn leader(&self) -> Result<usize, HarnessError> {
        let begun = Instant::now();
        let mut ticks = interval(POLL);
        loop {
            for member in self.members.iter().filter(|member| member.pid().is_some()) {
                let metrics = timeout(LEADER_ATTEMPT, self.metrics(member.index)).await;
                if let Ok(Ok(metrics)) = metrics
                    && metrics.value("etcd_server_is_leader") == Some(1.0)
                {
                    return Ok(member.index);
                }
            }
            let waited = begun.elapsed();
            if waited >= self.ready_within {
                return Err(HarnessError::NoLeader { waited });
            }
            ticks.tick().await;
        }
    }
}
