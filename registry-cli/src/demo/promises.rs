//! What the demo shows was promised: each promise is checked, and one that is broken fails the demo.

use std::io;
use std::time::Duration;

use super::timeline::Timeline;

/// A caller sees what was registered within this time.
pub(super) const SEEN: Duration = Duration::from_secs(1);
/// What a busy machine may add to anything.
pub(super) const SLACK: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct Promises {
    kept: usize,
    broken: Vec<String>,
}

impl Promises {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Counts a promise; one that is broken is shown at once.
    pub(super) fn check(&mut self, timeline: &Timeline, promise: &str, kept: bool) -> io::Result<()> {
        if kept {
            self.kept += 1;
            return Ok(());
        }
        self.broken.push(promise.to_owned());
        timeline.now("", "BROKEN", promise)
    }

    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    pub(super) fn broken(&self) -> &[String] {
        &self.broken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Format;
    use crate::output::Output;

    #[tokio::test]
    async fn a_broken_promise_is_remembered() {
        let (mut promises, timeline) = (Promises::new(), Timeline::begin(Output::new(Format::Table)));
        promises.check(&timeline, "one", true).unwrap();
        promises.check(&timeline, "two", false).unwrap();
        assert_eq!((promises.kept(), promises.broken()), (1, &["two".to_owned()][..]));
    }
}
