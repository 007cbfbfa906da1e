//! A file has one subject.

use super::File;

/// Lines without unit tests from which on a file is a question.
const ASKED: usize = 400;
/// Lines, all told, above which it is refused.
const REFUSED: usize = 600;

pub(super) fn faults(file: &File) -> Vec<String> {
    let lines = file.text.lines().count();
    if file.is_rust() && lines > REFUSED {
        return vec![format!("{}: {lines} lines: split it by subject ({REFUSED} at most)", file.path)];
    }
    Vec::new()
}

/// Told, not refused.
pub(super) fn note(file: &File) -> Option<String> {
    let code = file.text.lines().take_while(|line| line.trim() != "#[cfg(test)]").count();
    (file.is_rust() && code > ASKED)
        .then(|| format!("{}: {code} lines without tests: one subject?", file.path))
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::{faults, note};

    #[test]
    fn a_god_file_is_refused() {
        assert_eq!(faults(&file("a/src/god.rs", &"x\n".repeat(601))).len(), 1);
        assert!(faults(&file("a/src/big.rs", &"x\n".repeat(600))).is_empty());
        assert!(faults(&file("README.md", &"x\n".repeat(601))).is_empty());
    }

    #[test]
    fn tests_do_not_make_a_file_a_question() {
        let code = "x\n".repeat(401);
        assert!(note(&file("a/src/big.rs", &code)).is_some());
        let tested = format!("{}#[cfg(test)]\n{}", "x\n".repeat(300), "x\n".repeat(200));
        assert!(note(&file("a/src/tested.rs", &tested)).is_none());
    }
}
