//! `.cargo/tools.toml`: tells a plain `cargo build --all-features` where the private protoc lies.

use std::fs;

use anyhow::{Context, Result};

use super::{Origin, Tools};
use crate::workspace::root;

pub(super) fn write(tools: &Tools) -> Result<()> {
    let private = tools.protoc.as_ref().is_ok_and(|tool| tool.origin == Origin::Private);
    let file = root().join(".cargo/tools.toml");
    let text = text(private);
    // Left alone when nothing changes: cargo need not look at it again.
    if fs::read_to_string(&file).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let new = file.with_extension("toml.new");
    fs::write(&new, text)?;
    fs::rename(&new, &file).with_context(|| format!("{} cannot be written", file.display()))
}

fn text(private: bool) -> String {
    let env = if private {
        "\n[env]\nPROTOC = { value = \".tools/protoc/protoc\", relative = true }\n"
    } else {
        ""
    };
    format!("# Written by `cargo xtask setup`.\n{env}")
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn a_protoc_of_the_machine_is_left_alone() {
        assert!(!text(false).contains("PROTOC"));
        assert!(text(true).contains("PROTOC = {"));
    }
}
