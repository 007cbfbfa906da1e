//! Words that do not stand in finished code. Written here in halves, or this file would find itself.

use super::File;

const BANNED: [(&str, &str); 6] = [
    (concat!("to", "do!("), "finish it"),
    (concat!("unimple", "mented!("), "finish it"),
    (concat!("db", "g!("), "remove it"),
    (concat!("#[ig", "nore"), "a test runs, or is counted as skipped"),
    (concat!("thread::", "sleep"), "poll to a deadline"),
    (concat!("unbounded_", "channel("), "every queue is bounded"),
];

pub(super) fn banned(file: &File) -> Vec<String> {
    if !file.is_rust() {
        return Vec::new();
    }
    let hits = file.lines().flat_map(|(number, line)| {
        let found = BANNED.iter().filter(move |(word, _)| line.contains(word));
        found.map(move |(word, cure)| file.at(number, &format!("`{word}`: {cure}")))
    });
    hits.collect()
}

/// Where the vendor's client crate may be named.
const VENDOR_PLACES: [&str; 5] = [
    "registry-etcd/src/client/",
    "registry-etcd/src/client.rs",
    "registry-etcd/src/error.rs",
    "registry-testkit/src/etcd",
    "bench/",
];

pub(super) fn vendor(file: &File) -> Vec<String> {
    let allowed =
        VENDOR_PLACES.iter().any(|place| file.path.starts_with(place)) || file.path.contains("/benches/");
    if !file.is_rust() || allowed {
        return Vec::new();
    }
    let hits = file.lines().filter(|(_, line)| line.contains(concat!("etcd_", "client")));
    hits.map(|(number, _)| {
        file.at(number, "the vendor crate is named in registry-etcd's client and error alone")
    })
    .collect()
}

/// An example that is not compiled rots.
pub(super) fn ignored_examples(file: &File) -> Vec<String> {
    let hits = file.lines().filter(|(_, line)| {
        let line = line.trim_start();
        let line = ["//!", "///"].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
        line.trim_start()
            .strip_prefix("```")
            .is_some_and(|info| info.split(',').any(|word| word.trim() == "ignore"))
    });
    hits.map(|(number, _)| file.at(number, "an example that is not compiled: no_run or text instead"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::{BANNED, banned, ignored_examples, vendor};

    #[test]
    fn every_banned_word_is_found() {
        for (word, _) in BANNED {
            let bad = file("a/src/x.rs", &format!("fn f() {{}}\n    {word} y\n"));
            assert_eq!(banned(&bad).len(), 1, "{word}");
            assert!(banned(&bad)[0].starts_with("a/src/x.rs:2: "), "{word}");
        }
        assert!(banned(&file("clippy.toml", BANNED[4].0)).is_empty());
    }

    #[test]
    fn the_vendor_crate_stays_in_its_corner() {
        let text = concat!("use etcd_", "client::Client;\n");
        for path in ["registry-etcd/src/watch.rs", "registry-core/src/lib.rs", "tests/tests/a.rs"] {
            assert_eq!(vendor(&file(path, text)).len(), 1, "{path}");
        }
        for path in [
            "registry-etcd/src/client/session.rs",
            "registry-etcd/src/error.rs",
            "registry-etcd/benches/a.rs",
        ] {
            assert!(vendor(&file(path, text)).is_empty(), "{path}");
        }
    }

    #[test]
    fn examples_that_are_not_compiled_are_found() {
        for text in ["/// ```ignore\n", "//! ```rust,ignore\n", "```ignore\n"] {
            assert_eq!(ignored_examples(&file("a.rs", text)).len(), 1, "{text}");
        }
        assert!(ignored_examples(&file("a.rs", "/// ```no_run\n/// ```\n")).is_empty());
    }
}
