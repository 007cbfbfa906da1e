//! Answers on stdout: a table for people, JSON for programs.

use std::io::{self, Write};

use comfy_table::{Table, presets};
use registry_core::Snapshot;
use serde::Serialize;

use crate::args::Format;
use crate::words::{addresses, plain, status};

pub(crate) mod view;

/// Where and how answers are written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    format: Format,
}

impl Output {
    pub(crate) fn new(format: Format) -> Self {
        Self { format }
    }

    pub(crate) fn is_json(self) -> bool {
        self.format == Format::Json
    }

    #[expect(clippy::unused_self, reason = "one way to stdout")]
    pub(crate) fn line(self, line: &str) -> io::Result<()> {
        writeln!(io::stdout(), "{line}")
    }

    /// One document.
    pub(crate) fn json(self, value: &impl Serialize) -> io::Result<()> {
        self.line(&serde_json::to_string_pretty(value)?)
    }

    /// One line of many.
    pub(crate) fn json_line(self, value: &impl Serialize) -> io::Result<()> {
        self.line(&serde_json::to_string(value)?)
    }

    /// Aligned columns below a header.
    pub(crate) fn table(
        self,
        header: &[&str],
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> io::Result<()> {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_header(header.iter().copied());
        for row in rows {
            table.add_row(row.iter().map(|cell| plain(cell).into_owned()));
        }
        for line in table.lines() {
            // Each cell has a space on either side.
            self.line(line.strip_prefix(' ').unwrap_or(&line).trim_end())?;
        }
        Ok(())
    }

    /// The list of a service.
    pub(crate) fn instances(self, snapshot: &Snapshot) -> io::Result<()> {
        let header = ["ID", "STATUS", "WEIGHT", "VERSION", "ADDRESSES", "METADATA", "OVERRIDE"];
        let rows: Vec<_> = snapshot
            .instances
            .iter()
            .map(|instance| {
                let metadata = instance.metadata().iter().map(|(key, value)| format!("{key}={value}"));
                let operator = instance.overridden.as_deref().map_or(String::new(), |set| {
                    if set.reason.is_empty() {
                        format!("by {}", set.by)
                    } else {
                        format!("by {}: {}", set.by, set.reason)
                    }
                });
                [
                    instance.id.to_string(),
                    status(instance.status()).to_owned(),
                    instance.weight().to_string(),
                    instance.version().map(ToString::to_string).unwrap_or_default(),
                    addresses(instance),
                    metadata.collect::<Vec<_>>().join(" "),
                    operator,
                ]
            })
            .collect();
        // What nobody says needs no column; id, status and address always stand.
        let kept: Vec<_> = (0..header.len())
            .filter(|column| [0, 1, 4].contains(column) || rows.iter().any(|row| !row[*column].is_empty()))
            .collect();
        let header: Vec<_> = kept.iter().map(|column| header[*column]).collect();
        let rows = rows.into_iter().map(|row| kept.iter().map(|column| row[*column].clone()).collect());
        self.table(&header, rows)
    }
}
