//! What happened to an instance, in the contract's words.

use std::borrow::Cow;
use std::fmt::Write;

use registry_core::{Change, Instance, InstanceStatus};

/// One word, or few, for a change.
pub(crate) fn word(change: &Change) -> &'static str {
    match change {
        Change::Added(instance) => match instance.status() {
            InstanceStatus::Up => "registered",
            other => status(other),
        },
        Change::Removed { reason, .. } => reason.name(),
        Change::Updated { before, after } if before.status() != after.status() => status(after.status()),
        Change::Updated { before, after } if before.generation != after.generation => "registered again",
        Change::Updated { .. } => "updated",
    }
}

/// A status as the contract writes it, in lower case.
pub(crate) fn status(status: InstanceStatus) -> &'static str {
    match status {
        InstanceStatus::Up => "up",
        InstanceStatus::Starting => "starting",
        InstanceStatus::Draining => "draining",
        InstanceStatus::Disabled => "disabled",
    }
}

/// Where it listens, in one line.
pub(crate) fn addresses(instance: &Instance) -> String {
    let named = instance.endpoints().iter().map(|endpoint| match endpoint.name() {
        "default" => endpoint.to_string(),
        name => format!("{name}={endpoint}"),
    });
    named.collect::<Vec<_>>().join(" ")
}

/// Text by other writers, without what would move a terminal's cursor.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() {
            let _ = write!(plain, "{}", c.escape_default());
        } else {
            plain.push(c);
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_moved() {
        assert_eq!(plain("a b"), "a b");
        assert_eq!(plain("a\u{1b}[2Jb\n\u{9b}1m"), "a\\u{1b}[2Jb\\n\\u{9b}1m");
    }
}
