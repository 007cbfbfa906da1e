//! The machine's own apt sources, in both their forms, and the same source with another suite.
//!
//! Archive addresses, keys and options are taken from here; none is written into the project.

use std::fs;
use std::path::{Path, PathBuf};

/// One archive the machine trusts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Source {
    pub(super) suites: Vec<String>,
    components: Vec<String>,
    form: Form,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Form {
    /// `deb [options] uri suite components`
    OneLine { options: Option<String>, uri: String },
    /// The fields of a deb822 stanza that are kept as they are.
    Stanza(Vec<(String, String)>),
}

/// Names that any release of Debian may go by.
const ALIASES: [&str; 5] = ["stable", "oldstable", "testing", "unstable", "sid"];

impl Source {
    /// The suite of this source that is the distribution's own release: no updates, no third party.
    pub(super) fn own_suite(&self, codename: &str) -> Option<&str> {
        let own = |suite: &&String| suite.as_str() == codename || ALIASES.contains(&suite.as_str());
        let suite = self.suites.iter().find(own)?;
        self.components.iter().any(|component| component == "main").then_some(suite.as_str())
    }

    /// How the name of a file in this form ends: apt goes by it.
    pub(super) fn ending(&self) -> &'static str {
        match self.form {
            Form::OneLine { .. } => "list",
            Form::Stanza(_) => "sources",
        }
    }

    /// The text of a sources file that asks the same archive for `suite`.
    pub(super) fn with_suite(&self, suite: &str, components: &str) -> String {
        match &self.form {
            Form::OneLine { options, uri } => {
                let options = options.as_ref().map(|options| format!("[{options}] ")).unwrap_or_default();
                format!("deb {options}{uri} {suite} {components}\n")
            }
            Form::Stanza(fields) => {
                let kept = fields.iter().map(|(name, value)| format!("{name}:{value}\n"));
                let own = format!("Types: deb\nSuites: {suite}\nComponents: {components}\n");
                kept.chain([own]).collect()
            }
        }
    }
}

/// All sources of the machine, the distribution's own files first.
pub(super) fn read() -> Vec<Source> {
    let folder = Path::new("/etc/apt/sources.list.d");
    let own = ["debian.sources", "ubuntu.sources"].map(|name| folder.join(name));
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .map(|entries| entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect())
        .unwrap_or_default();
    files.sort();
    files.retain(|file| !own.contains(file));
    let first = own.into_iter().chain([PathBuf::from("/etc/apt/sources.list")]);
    first
        .chain(files)
        .filter_map(|file| {
            let text = fs::read_to_string(&file).ok()?;
            match file.extension()?.to_str()? {
                "sources" => Some(parse_stanzas(&text)),
                "list" => Some(text.lines().filter_map(parse_line).collect()),
                _ => None,
            }
        })
        .flatten()
        .collect()
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// `deb [ arch=amd64 signed-by=... ] uri suite component...`
fn parse_line(line: &str) -> Option<Source> {
    let line = line.split('#').next()?.trim();
    let rest = line.strip_prefix("deb")?;
    if !rest.starts_with([' ', '\t', '[']) {
        return None; // deb-src
    }
    let rest = rest.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(options, rest)| (Some(options.trim().to_owned()), rest))?,
        None => (None, rest),
    };
    let mut parts = rest.split_whitespace().map(str::to_owned);
    let (uri, suite) = (parts.next()?, parts.next()?);
    if uri.starts_with("cdrom:") {
        return None;
    }
    Some(Source { suites: vec![suite], components: parts.collect(), form: Form::OneLine { options, uri } })
}

fn parse_stanzas(text: &str) -> Vec<Source> {
    let mut sources = Vec::new();
    let mut fields: Vec<(String, String)> = Vec::new();
    for line in text.lines().chain([""]) {
        if line.starts_with('#') {
            continue;
        }
        if line.trim().is_empty() {
            sources.extend(source_of(std::mem::take(&mut fields)));
        } else if line.starts_with([' ', '\t']) {
            // A value that goes on, such as a key written into the file.
            if let Some((_, value)) = fields.last_mut() {
                value.push('\n');
                value.push_str(line);
            }
        } else if let Some((name, value)) = line.split_once(':') {
            fields.push((name.trim().to_owned(), value.to_owned()));
        }
    }
    sources
}

fn source_of(fields: Vec<(String, String)>) -> Option<Source> {
    let field = |wanted: &str| {
        fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, value)| value.as_str())
    };
    let disabled = field("Enabled").is_some_and(|value| value.trim().eq_ignore_ascii_case("no"));
    if disabled || !words(field("Types")?).iter().any(|kind| kind == "deb") {
        return None;
    }
    field("URIs")?;
    let (suites, components) = (words(field("Suites")?), words(field("Components").unwrap_or_default()));
    let ours = ["Types", "Suites", "Components", "Enabled"];
    let kept = |name: &str| !ours.iter().any(|own| name.eq_ignore_ascii_case(own));
    let form = Form::Stanza(fields.into_iter().filter(|(name, _)| kept(name)).collect());
    Some(Source { suites, components, form })
}

#[cfg(test)]
mod tests {
    use super::{parse_line, parse_stanzas};

    #[test]
    fn a_line_is_asked_for_another_suite() {
        let source =
            parse_line("deb [signed-by=/k.gpg arch=amd64] http://archive.test/debian bookworm main # x");
        let source = source.expect("a source");
        assert_eq!((source.own_suite("bookworm"), source.ending()), (Some("bookworm"), "list"));
        let text = source.with_suite("trixie", "main");
        assert_eq!(text, "deb [signed-by=/k.gpg arch=amd64] http://archive.test/debian trixie main\n");
    }

    #[test]
    fn lines_that_are_no_archive_are_left_out() {
        for line in
            ["", "# deb http://a b main", "deb-src http://a b main", "deb cdrom:[x]/ b main", "deb http://a"]
        {
            assert_eq!(parse_line(line), None, "{line}");
        }
    }

    #[test]
    fn a_stanza_keeps_its_key_and_options() {
        let text = "Types: deb deb-src\n# a comment\nURIs: http://archive.test/debian\nSuites: bookworm bookworm-updates\n\
                    Components: main contrib\nSigned-By:\n BEGIN KEY\n .\n END KEY\n\n\
                    Types: deb\nURIs: http://other.test\nSuites: nodistro\nComponents: main\n\n\
                    Types: deb\nEnabled: no\nURIs: http://off.test\nSuites: bookworm\nComponents: main\n";
        let sources = parse_stanzas(text);
        assert_eq!(sources.len(), 2);
        assert_eq!((sources[0].own_suite("bookworm"), sources[0].ending()), (Some("bookworm"), "sources"));
        assert_eq!(sources[1].own_suite("bookworm"), None);
        assert_eq!(
            sources[0].with_suite("trixie", "main"),
            "URIs: http://archive.test/debian\nSigned-By:\n BEGIN KEY\n .\n END KEY\n\
             Types: deb\nSuites: trixie\nComponents: main\n"
        );
    }

    #[test]
    fn a_third_party_without_main_is_not_the_own_archive() {
        let source = parse_line("deb http://vendor.test/linux bookworm stable").expect("a source");
        assert_eq!(source.own_suite("bookworm"), None);
    }
}
