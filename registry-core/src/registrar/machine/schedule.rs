//! When to beat, and when to try again (H4, H5, H6).

use std::time::Duration;

use fastrand::Rng;
use tokio::time::Instant;

use crate::backoff::Backoff;
use crate::ttl::Ttl;

/// The least time between two calls, however short the TTL: a timer knows no less.
pub(super) const LEAST: Duration = Duration::from_millis(1);

/// The rhythm of a registration under a granted TTL.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    ttl: Duration,
    interval: Duration,
}

impl Pace {
    pub(super) fn new(granted: Ttl, configured: Option<Duration>) -> Self {
        // What was configured beside another TTL than the granted one must not let it expire in between.
        let configured = configured.filter(|interval| *interval < granted.get());
        let interval = configured.unwrap_or(granted.interval()).max(LEAST);
        Self { ttl: granted.get(), interval }
    }

    /// The time between heartbeats.
    pub(super) fn interval(self) -> Duration {
        self.interval
    }

    /// How long one heartbeat may take.
    pub(super) fn attempt(self) -> Duration {
        (self.ttl / 6).min(Duration::from_secs(2)).max(LEAST)
    }

    /// When the heartbeat after one that was sent at `sent` goes out: early by up to a tenth, never late.
    pub(super) fn next_beat(self, sent: Instant, rng: &mut Rng) -> Instant {
        sent + self.interval.mul_f64(1.0 - rng.f64() / 10.0)
    }

    /// The delay before each of the first two retries: well inside TTL/12 (or 1 ms), and short enough that a process that was
    /// stopped is back within a second (A4).
    pub(super) fn quick_retry(self, rng: &mut Rng) -> Duration {
        let most = (self.ttl / 16).min(Duration::from_millis(500)).max(LEAST);
        most.mul_f64(f64::midpoint(1.0, rng.f64()))
    }

    /// The delays after those: full jitter up to TTL/3, or up to the interval where that is shorter.
    pub(super) fn backoff(self, rng: &mut Rng) -> Backoff {
        let floor = (self.ttl / 12).min(Duration::from_millis(100)).max(LEAST);
        Backoff::seeded(floor, self.interval.min(self.ttl / 3), rng.u64(..))
    }

    /// The delay before a lost registration is made again: many that were lost together come back spread, within half
    /// of what H6 allows.
    pub(super) fn relapse(self, rng: &mut Rng) -> Duration {
        (self.interval / 2).min(Duration::from_millis(500)).mul_f64(rng.f64())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    proptest! {
        #[test]
        fn h5_every_delay_keeps_its_bound(micros in 1_u64..86_400_000_000, tiny: bool, part in 1_u64..100, seed: u64) {
            let ttl = Duration::from_micros(if tiny { 1 + micros % 20_000 } else { micros });
            let configured = ttl.mul_f64(Duration::from_millis(part).as_secs_f64() * 9.9);
            for interval in [None, Some(configured)] {
                let pace = Pace::new(Ttl::new(ttl).unwrap(), interval);
                let mut rng = Rng::with_seed(seed);
                prop_assert_eq!(pace.interval(), interval.unwrap_or(ttl / 3).max(LEAST));
                prop_assert!(LEAST <= pace.attempt() && pace.attempt() <= (ttl / 6).max(LEAST) && pace.attempt() <= Duration::from_secs(2));
                let sent = Instant::now();
                let mut backoff = pace.backoff(&mut rng);
                for _ in 0..20 {
                    let next = pace.next_beat(sent, &mut rng) - sent;
                    prop_assert!(pace.interval().mul_f64(0.899) <= next && next <= pace.interval());
                    let (quick, slow) = (pace.quick_retry(&mut rng), backoff.next());
                    prop_assert!(LEAST / 2 <= quick && quick <= (ttl / 12).max(LEAST));
                    prop_assert!(LEAST <= slow && slow <= (ttl / 3).max(ttl / 12).max(LEAST));
                    prop_assert!(pace.relapse(&mut rng) <= pace.interval().max(Duration::from_secs(1)) / 2);
                }
            }
        }

        /// The third heartbeat still arrives in time when the two before it were lost as late as can be.
        #[test]
        fn h5_two_lost_heartbeats_never_cost_an_instance(millis in 100_u64..86_400_000, seed: u64) {
            let ttl = Duration::from_millis(millis);
            let pace = Pace::new(Ttl::new(ttl).unwrap(), None);
            let mut rng = Rng::with_seed(seed);
            let sent = Instant::now();
            let mut now = pace.next_beat(sent, &mut rng);
            for _ in 0..2 {
                now += pace.attempt() + pace.quick_retry(&mut rng);
            }
            prop_assert!(now + pace.attempt() <= sent + ttl);
        }
    }
}
