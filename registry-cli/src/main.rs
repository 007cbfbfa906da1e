//! `registryctl`: the service registry from a shell. The README beside it tells what it does.

mod args;
mod commands;
mod demo;
mod exit;
mod logs;
mod output;
mod target;
mod words;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    exit::code(commands::run(args::Args::parse()))
}
