//! The project's own tasks: `cargo xtask <command>`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod cargo;
mod demo;
mod private_etcd;
mod setup;
mod test;
mod verify;
mod workspace;

/// What the project does with itself. Everything it fetches goes into `.tools`, nothing is installed system-wide.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Brings what the machine lacks (protoc, etcd 3.4 and 3.5) into `.tools`
    Setup,
    /// Shows a registry at work, on the embedded memory backend or on a real etcd
    Demo(demo::Options),
    /// Runs all tests, on etcd 3.5 and 3.4
    Test(test::Options),
    /// Runs the gates, all or some of them
    Verify(verify::Options),
    /// Mends what can be mended: formatting and lints
    Fix,
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Setup => setup::command(),
        Command::Demo(options) => demo::command(&options),
        Command::Test(options) => test::command(&options),
        Command::Verify(options) => Ok(verify::command(&options)),
        Command::Fix => verify::fix().map(|()| ExitCode::SUCCESS),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
