//! Which system this is: the few words of `/etc/os-release` that matter here.

use std::fs;

/// The parts of os-release that name the archive's suite.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OsRelease {
    pub(super) id: String,
    pub(super) codename: String,
}

impl OsRelease {
    pub(super) fn read() -> Self {
        fs::read_to_string("/etc/os-release").map(|text| Self::parse(&text)).unwrap_or_default()
    }

    fn parse(text: &str) -> Self {
        let value = |key: &str| {
            text.lines()
                .filter_map(|line| line.split_once('='))
                .find(|(name, _)| name.trim() == key)
                .map(|(_, value)| value.trim().trim_matches(['"', '\'']).to_owned())
        };
        Self {
            id: value("ID").unwrap_or_default(),
            codename: value("VERSION_CODENAME").or_else(|| value("UBUNTU_CODENAME")).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::OsRelease;

    #[test]
    fn quoted_and_bare_values_are_read() {
        let text = "PRETTY_NAME=\"Debian GNU/Linux 12\"\nVERSION_CODENAME=bookworm\nID=\"debian\"\n";
        assert_eq!(OsRelease::parse(text), OsRelease { id: "debian".into(), codename: "bookworm".into() });
        assert_eq!(OsRelease::parse(""), OsRelease::default());
    }
}
