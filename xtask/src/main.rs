//! The project's own tasks: `cargo xtask <command>`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod setup;
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
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Setup => setup::command(),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
