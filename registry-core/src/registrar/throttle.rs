//! A long outage is told, not shouted.

use std::collections::HashMap;
use std::time::Duration;

use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);

/// Lets each cause through at once, then ever more seldom while it goes on: after 1 s, 2 s, and so on to 1 min.
#[derive(Debug, Default)]
pub(super) struct Throttle(HashMap<(&'static str, &'static str), Quiet>);

#[derive(Debug)]
struct Quiet {
    until: Instant,
    length: Duration,
    held_back: u64,
}

impl Throttle {
    /// Whether to tell of this cause now, and how often it was held back since it was told last.
    pub(super) fn pass(&mut self, operation: &'static str, kind: &'static str, now: Instant) -> Option<u64> {
        let Some(quiet) = self.0.get_mut(&(operation, kind)) else {
            let quiet = Quiet { until: now + FIRST, length: FIRST, held_back: 0 };
            self.0.insert((operation, kind), quiet);
            return Some(0);
        };
        if now < quiet.until {
            quiet.held_back += 1;
            return None;
        }
        quiet.length = (quiet.length * 2).min(LONGEST);
        quiet.until = now + quiet.length;
        Some(std::mem::take(&mut quiet.held_back))
    }

    /// It works again: what comes next is told at once, but for what was told within the last second.
    pub(super) fn recovered(&mut self, now: Instant) {
        self.0.retain(|_, quiet| {
            let told = quiet.until - quiet.length;
            quiet.length = FIRST;
            quiet.until = told + FIRST;
            quiet.until > now
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s12_an_hour_of_failures_is_told_some_seventy_times() {
        let (mut throttle, begin) = (Throttle::default(), Instant::now());
        let (mut told, mut held_back) = (0, 0);
        for tenth in 0..36_000 {
            let now = begin + Duration::from_millis(100) * tenth;
            if let Some(count) = throttle.pass("heartbeat", "Unavailable", now) {
                told += 1;
                held_back += count;
            }
        }
        assert!((60..80).contains(&told), "{told}");
        assert!(held_back > 35_000);
    }

    #[test]
    fn another_cause_is_told_at_once_and_flapping_stays_under_one_a_second() {
        let (mut throttle, begin) = (Throttle::default(), Instant::now());
        assert_eq!(throttle.pass("heartbeat", "Unavailable", begin), Some(0));
        assert_eq!(throttle.pass("update", "Unavailable", begin), Some(0));
        let mut told = 0;
        for tenth in 1..=100 {
            let now = begin + Duration::from_millis(100) * tenth;
            throttle.recovered(now);
            told += u32::from(throttle.pass("heartbeat", "Unavailable", now).is_some());
        }
        assert!((9..=10).contains(&told), "{told}");
    }
}
