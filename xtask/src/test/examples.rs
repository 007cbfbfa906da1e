//! Examples are run, not only built: each ends by itself, with success.

use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::artifacts::Built;
use crate::private_etcd::PrivateEtcd;
use crate::setup::Series;
use crate::workspace::runtime;

/// An example is short.
const PATIENCE: Duration = Duration::from_mins(1);

/// Runs it with a target of its own, for those that take one.
pub(super) fn run(example: &Built, etcd: Series) -> Result<()> {
    eprintln!("+ example {} of {}", example.target, example.package);
    runtime()?.block_on(async {
        let member = PrivateEtcd::start(etcd).await?;
        let mut command = tokio::process::Command::from(example.command());
        command.env("REGISTRY_TARGET", member.target()).kill_on_drop(true);
        let mut child = command.spawn().context("it could not be started")?;
        let ended = tokio::time::timeout(PATIENCE, child.wait()).await;
        let status = ended.with_context(|| format!("it runs longer than {PATIENCE:?}"))??;
        if !status.success() {
            bail!("it ended with {status}");
        }
        Ok(())
    })
}
