//! What may be written on the command line. Names are checked here, so that a wrong one is a usage error.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use registry_core::{DEFAULT_WEIGHT, InstanceId, Query, ReadOptions, ServiceName, Ttl, Version};

mod address;

pub(crate) use self::address::Address;

const AFTER: &str = "\
Exit codes: 0 ok, 1 error, 2 usage, 3 not found.
A first look, without any registry running: registryctl demo";

/// The service registry from a shell
#[derive(Parser)]
#[command(name = "registryctl", version, after_help = AFTER)]
pub(crate) struct Args {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes. Not `Debug`: a target may hold a password.
#[derive(clap::Args)]
#[command(next_help_heading = "For every command")]
pub(crate) struct Global {
    /// The registry, as etcd://host:2379,host:2379/prefix?namespace=n; else what the variable REGISTRY_TARGET says
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) target: Option<String>,
    /// For people, or for programs: json is one document, for `watch` one line per item
    #[arg(long, global = true, value_enum, default_value_t)]
    pub(crate) output: Format,
    /// What to log on stderr: warn, info, registry_etcd=debug; else what REGISTRY_LOG says, else nothing
    #[arg(long, global = true, value_name = "FILTER")]
    pub(crate) log: Option<String>,
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    #[default]
    Table,
    Json,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show instances come, be found, drain, expire, heal and go; on an embedded registry unless --target is given
    Demo,
    /// Keep an instance registered until SIGINT or SIGTERM, or as long as COMMAND runs
    Register(Register),
    /// List the services that have a living instance
    Services(Services),
    /// List the living instances of a service
    Instances(Instances),
    /// Follow the instances of a service as they come, change and go
    Watch(Watch),
    /// Remove an instance; a living owner brings it back, see `disable`
    Deregister(Deregister),
    /// Take an instance out of service, whatever its owner says; lasts until `enable`
    Disable(Disable),
    /// Undo `disable`
    Enable(Enable),
}

#[derive(clap::Args)]
pub(crate) struct Services {
    #[command(flatten)]
    pub(crate) read: Read,
}

#[derive(clap::Args)]
pub(crate) struct Instances {
    #[command(flatten)]
    pub(crate) which: Which,
    #[command(flatten)]
    pub(crate) read: Read,
}

#[derive(clap::Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    pub(crate) which: Which,
}

#[derive(clap::Args)]
pub(crate) struct Deregister {
    #[command(flatten)]
    pub(crate) one: One,
}

#[derive(clap::Args)]
pub(crate) struct Disable {
    #[command(flatten)]
    pub(crate) one: One,
    /// Why, for whoever looks later
    #[arg(long, default_value = "")]
    pub(crate) reason: String,
    /// For how long: 90s, 15m, 2h; until `enable` unless said
    #[arg(long = "for", value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) life: Option<Duration>,
}

#[derive(clap::Args)]
pub(crate) struct Enable {
    #[command(flatten)]
    pub(crate) one: One,
}

#[derive(clap::Args)]
pub(crate) struct Which {
    /// The service
    pub(crate) service: ServiceName,
    /// Only instances of this version of the interface
    #[arg(long)]
    version: Option<Version>,
}

impl From<Which> for Query {
    fn from(which: Which) -> Self {
        let query = Self::new(which.service);
        match which.version {
            Some(version) => query.with_version(version),
            None => query,
        }
    }
}

#[derive(clap::Args)]
pub(crate) struct One {
    /// The service
    pub(crate) service: ServiceName,
    /// The instance's id within it
    pub(crate) id: InstanceId,
}

#[derive(clap::Args)]
pub(crate) struct Read {
    /// Take what the member that is asked has: may lag, answers without a quorum
    #[arg(long)]
    stale: bool,
}

impl From<Read> for ReadOptions {
    fn from(read: Read) -> Self {
        if read.stale { Self::stale() } else { Self::default() }
    }
}

#[derive(clap::Args)]
#[command(after_help = REGISTER)]
pub(crate) struct Register {
    /// The service it is an instance of
    #[arg(long)]
    pub(crate) service: ServiceName,
    /// Where it listens: host:port, http://host:port, admin=http://host:port; may be given several times. A wildcard
    /// such as 0.0.0.0:port becomes a real address of this machine
    #[arg(long = "address", required = true, value_name = "ADDRESS")]
    pub(crate) addresses: Vec<Address>,
    /// Made of host name, service and address unless given, so that a restart is the same instance
    #[arg(long)]
    pub(crate) id: Option<InstanceId>,
    /// The version of the interface
    #[arg(long)]
    pub(crate) version: Option<Version>,
    /// Its share of traffic beside its siblings; 0 = no new traffic
    #[arg(long, default_value_t = DEFAULT_WEIGHT)]
    pub(crate) weight: u32,
    /// A pair that every reader sees; may be given several times
    #[arg(long = "meta", value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) metadata: Vec<(String, String)>,
    /// The same for what looks like a secret, and may be read by everybody
    #[arg(long = "public-meta", value_name = "KEY=VALUE", value_parser = pair)]
    pub(crate) public_metadata: Vec<(String, String)>,
    /// How long it lives without a heartbeat; what the target says, else 15s
    #[arg(long, value_name = "DURATION", value_parser = ttl)]
    pub(crate) ttl: Option<Ttl>,
    /// Replace a living instance of the same id
    #[arg(long)]
    pub(crate) takeover: bool,
    /// How long `draining` is shown before the end; two heartbeats unless given
    #[arg(long, value_name = "DURATION", value_parser = humantime::parse_duration)]
    pub(crate) drain: Option<Duration>,
    /// Register at once, without waiting until COMMAND accepts connections at every address
    #[arg(long, requires = "command")]
    pub(crate) no_wait: bool,
    /// What to run: registered while it runs, its exit code is passed on
    #[arg(last = true)]
    pub(crate) command: Vec<OsString>,
}

const REGISTER: &str = "\
With COMMAND the instance is registered once every address accepts connections (or at once, with --no-wait).
Without COMMAND it is registered at once: see to it that something listens there.
SIGINT or SIGTERM: `draining` for a while, then COMMAND gets the signal, and after its end the instance is
deregistered. A second signal shortens the drain; all further ones go to COMMAND.";

fn ttl(text: &str) -> Result<Ttl, String> {
    let ttl = humantime::parse_duration(text).map_err(|error| format!("{error}: write 15s, 500ms, 2m"))?;
    Ttl::new(ttl).map_err(|error| error.to_string())
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE")?;
    Ok((key.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_made() {
        Args::command().debug_assert();
    }
}
