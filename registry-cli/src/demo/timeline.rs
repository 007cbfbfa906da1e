//! One line per event: when, who, what, and what it means.

use std::io::{self, IsTerminal};
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::output::Output;

pub(super) struct Timeline {
    begun: Instant,
    output: Output,
    coloured: bool,
}

impl Timeline {
    pub(super) fn begin(output: Output) -> Self {
        let coloured = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Self { begun: Instant::now(), output, coloured }
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// What will happen, above all.
    pub(super) fn head(&self, text: &str) -> io::Result<()> {
        if self.output.is_json() {
            return Ok(());
        }
        self.output.line(text)?;
        self.output.line("")?;
        self.output.line("    time  who       what")
    }

    /// What happened just now.
    pub(super) fn now(&self, who: &str, what: &str, detail: &str) -> io::Result<()> {
        self.at(Instant::now(), who, what, detail)
    }

    /// What happened then.
    pub(super) fn at(&self, at: Instant, who: &str, what: &str, detail: &str) -> io::Result<()> {
        let time = at.saturating_duration_since(self.begun);
        if self.output.is_json() {
            let event = json!({ "seconds": time.as_secs_f64(), "who": who, "what": what, "detail": detail });
            return self.output.json_line(&event);
        }
        let (colour, plain) = if self.coloured { (colour(what), "\x1b[0m") } else { ("", "") };
        let line = format!("{:>7.3}s  {who:<8}  {colour}{what:<19}{plain}  {detail}", time.as_secs_f64());
        self.output.line(line.trim_end())
    }
}

/// Green for what comes, yellow for what leaves on purpose, red for what is wrong.
fn colour(what: &str) -> &'static str {
    match what.split(' ').next_back() {
        Some("registers" | "registered") => "\x1b[32m",
        Some("draining" | "deregistered" | "deregisters") => "\x1b[33m",
        Some("killed" | "expired" | "lost" | "BROKEN") => "\x1b[31m",
        _ => "",
    }
}

/// A duration as people say it.
pub(super) fn told(time: Duration) -> String {
    let ms = time.as_secs_f64() * 1000.0;
    match ms {
        ..10.0 => format!("{ms:.1} ms"),
        ..1000.0 => format!("{ms:.0} ms"),
        _ => {
            let seconds = format!("{:.2}", time.as_secs_f64());
            format!("{} s", seconds.trim_end_matches('0').trim_end_matches('.'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_in_few_digits() {
        let cases = [
            (0, "0.0 ms"),
            (840, "0.8 ms"),
            (12_300, "12 ms"),
            (3_000_000, "3 s"),
            (3_014_000, "3.01 s"),
            (10_001_000, "10 s"),
            (3_500_000, "3.5 s"),
        ];
        for (micros, text) in cases {
            assert_eq!(told(Duration::from_micros(micros)), text);
        }
    }
}
