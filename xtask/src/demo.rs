//! `cargo xtask demo`: the first run, on the embedded memory backend or on a real etcd.

use std::process::ExitCode;

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;

use crate::cargo::cargo;
use crate::private_etcd::PrivateEtcd;
use crate::setup::{self, Series};
use crate::workspace::runtime;

/// On what.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// On a real etcd, started for this run alone
    #[arg(long)]
    etcd: bool,
    /// Passed on to `registryctl demo`
    #[arg(last = true)]
    rest: Vec<String>,
}

pub(crate) fn command(options: &Options) -> Result<ExitCode> {
    if !options.etcd {
        let code = ended(built(&[])?.args(["--", "demo"]).args(&options.rest))?;
        bring_protoc();
        return Ok(code);
    }
    let series = any_etcd()?;
    let mut command = built(&["--features", "etcd"])?;
    runtime()?.block_on(async {
        let member = PrivateEtcd::start(series).await?;
        eprintln!("etcd {series} for this run: {}", member.target());
        command.args(["--", "demo", "--target", &member.target()]);
        ended(command.args(&options.rest))
    })
}

/// The embedded demo needs nothing, but after this first run the whole workspace shall build.
fn bring_protoc() {
    if let Err(why) = setup::ensure(&[]).and_then(|tools| tools.protoc) {
        eprintln!("note: `cargo build --all-features` will need protoc: {why:#}");
    }
}

/// The newest series that is there or can be fetched.
fn any_etcd() -> Result<Series> {
    let mut why = anyhow!("no etcd");
    for series in Series::ALL {
        let tools = setup::ensure(&[series])?;
        tools.protoc.context("the etcd backend cannot be built")?;
        for (series, tool) in tools.etcd {
            match tool {
                Ok(_) => return Ok(series),
                Err(error) => why = error,
            }
        }
    }
    Err(why)
}

/// Builds with cargo's progress to be seen, so that the demo itself starts at once and has the screen.
fn built(features: &[&str]) -> Result<std::process::Command> {
    let which = ["--package", "registry-cli", "--bin", "registryctl"];
    let status =
        cargo(&["build"]).args(which).args(features).status().context("cargo could not be started")?;
    if !status.success() {
        bail!("registryctl does not build");
    }
    let mut run = cargo(&["run", "--quiet"]);
    run.args(which).args(features);
    Ok(run)
}

/// Ends as the command ends.
fn ended(command: &mut std::process::Command) -> Result<ExitCode> {
    let status = command.status().context("cargo could not be started")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
