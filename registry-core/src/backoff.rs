//! How long to wait before trying again.

use std::time::Duration;

use fastrand::Rng;

/// Exponential backoff with full jitter: each delay is drawn evenly between the floor and a ceiling that doubles with
/// every failure up to the cap, so that many clients that failed together do not come back together.
///
/// The delays never end: who retries decides when to stop. Needs no clock.
#[derive(Debug, Clone)]
pub struct Backoff {
    floor: Duration,
    cap: Duration,
    ceiling: Duration,
    rng: Rng,
}

impl Backoff {
    /// Delays between `floor` and `cap`, both included. A cap below the floor counts as the floor.
    pub fn new(floor: Duration, cap: Duration) -> Self {
        Self::with_rng(floor, cap, Rng::new())
    }

    /// The same with delays that `seed` decides: for tests.
    pub fn seeded(floor: Duration, cap: Duration, seed: u64) -> Self {
        Self::with_rng(floor, cap, Rng::with_seed(seed))
    }

    fn with_rng(floor: Duration, cap: Duration, rng: Rng) -> Self {
        Self { floor, cap: cap.max(floor), ceiling: floor, rng }
    }

    /// The delay before the next attempt; the ceiling of the one after it is twice as high.
    #[expect(clippy::should_implement_trait, reason = "an endless sequence needs no `Option`")]
    pub fn next(&mut self) -> Duration {
        // From a floor of zero doubling would never leave zero.
        self.ceiling = self.ceiling.max(Duration::from_millis(1)).saturating_mul(2).min(self.cap);
        let span = self.ceiling.saturating_sub(self.floor);
        self.floor + span.mul_f64(self.rng.f64())
    }

    /// Begins again at the floor: call it when an attempt succeeded.
    pub fn reset(&mut self) {
        self.ceiling = self.floor;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_delay_lies_between_floor_and_cap(floor in 0_u64..5_000, more in 0_u64..60_000, seed: u64) {
            let (floor, cap) = (Duration::from_millis(floor), Duration::from_millis(floor + more));
            let mut backoff = Backoff::seeded(floor, cap, seed);
            for _ in 0..200 {
                let delay = backoff.next();
                prop_assert!(floor <= delay && delay <= cap, "{delay:?}");
            }
        }

        #[test]
        fn a_seed_repeats_its_delays(seed: u64) {
            let delays = |mut backoff: Backoff| (0..20).map(|_| backoff.next()).collect::<Vec<_>>();
            let backoff = Backoff::seeded(Duration::from_millis(100), Duration::from_secs(1), seed);
            prop_assert_eq!(delays(backoff.clone()), delays(backoff));
        }
    }

    #[test]
    fn delays_grow_to_the_cap_and_begin_again_after_a_success() {
        let (floor, cap) = (Duration::from_millis(100), Duration::from_mins(1));
        let mut backoff = Backoff::seeded(floor, cap, 7);
        assert!(backoff.next() <= floor * 2);
        let longest = (0..100).map(|_| backoff.next()).max().unwrap();
        assert!(longest > cap / 2, "{longest:?}");
        backoff.reset();
        assert!(backoff.next() <= floor * 2);
    }

    #[test]
    fn a_thousand_clients_spread_over_the_whole_window() {
        let window = Duration::from_secs(1);
        let mut tenths = [0; 10];
        for seed in 0..1_000 {
            let mut backoff = Backoff::seeded(Duration::ZERO, window, seed);
            let delay = (0..20).map(|_| backoff.next()).last().unwrap();
            tenths[(delay.as_millis() / 100).min(9) as usize] += 1;
        }
        assert!(tenths.iter().all(|n| *n > 50), "{tenths:?}");
    }

    #[test]
    fn extremes_do_not_overflow() {
        let mut backoff = Backoff::seeded(Duration::MAX, Duration::ZERO, 1);
        assert_eq!(backoff.next(), Duration::MAX);
        let mut backoff = Backoff::seeded(Duration::ZERO, Duration::MAX, 1);
        assert!((0..300).map(|_| backoff.next()).all(|delay| delay <= Duration::MAX));
    }
}
