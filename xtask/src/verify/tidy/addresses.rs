//! A checkout speaks of no machine: no home folder, no archive or registry of packages.

use super::File;

const HOMES: [&str; 3] = ["home", "root", "Users"];

/// Absolute paths into somebody's folder: `/<home>/name`.
pub(super) fn home_paths(file: &File) -> Vec<String> {
    let hits = file.lines().filter(|(_, line)| HOMES.iter().any(|home| has_path(line, home)));
    hits.map(|(number, _)| file.at(number, "a path of one machine")).collect()
}

fn has_path(line: &str, home: &str) -> bool {
    let start = format!("/{home}/");
    line.match_indices(&start).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + start.len()..].chars().next();
        // Absolute, not a folder of this name inside another.
        before.is_none_or(|c| !(c.is_alphanumeric() || "._-/}".contains(c)))
            && after.is_some_and(char::is_alphanumeric)
    })
}

/// Labels of a host that serves packages. Where they are is for the machine's configuration to say.
const LABELS: [&str; 9] =
    ["debian", "ubuntu", "crates", "pypi", "pythonhosted", "npmjs", "golang", "alpinelinux", "artifactory"];

pub(super) fn hosts(file: &File) -> Vec<String> {
    // Cargo writes the registry's name itself.
    if file.path == "Cargo.lock" {
        return Vec::new();
    }
    let hits =
        file.lines().filter(|(_, line)| urls(line).any(|host| host.split('.').any(|l| LABELS.contains(&l))));
    hits.map(|(number, _)| file.at(number, "a host that serves packages")).collect()
}

/// The hosts of all URLs in a line.
fn urls(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("://").map(|(at, mark)| {
        let rest = &line[at + mark.len()..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '.' || c == '-')).unwrap_or(rest.len());
        &rest[..end]
    })
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::{HOMES, LABELS, home_paths, hosts};

    #[test]
    fn a_path_of_one_machine_is_found() {
        for home in HOMES {
            assert_eq!(home_paths(&file("a.md", &format!("see /{home}/me/x"))).len(), 1, "{home}");
            assert_eq!(home_paths(&file("a.md", &format!("\"/{home}/x\""))).len(), 1, "{home}");
            assert!(home_paths(&file("a.md", &format!("src/{home}/x and /{home}/"))).is_empty(), "{home}");
        }
    }

    #[test]
    fn a_package_host_is_found_whatever_it_is_called() {
        for label in LABELS {
            assert_eq!(
                hosts(&file("a.toml", &format!("x = \"https://mirror.{label}.example/y\""))).len(),
                1,
                "{label}"
            );
        }
        for good in ["etcd://a:2379,b:2379/crates", "https://github.com/x/debian", "debian.sources"] {
            assert!(hosts(&file("a.md", good)).is_empty(), "{good}");
        }
    }
}
