//! One connection to one member.

use std::time::Duration;

use etcd_client::{Channel, Client, ConnectOptions, Error as VendorError};
use registry_core::{Error, ErrorKind, Result};
use tokio::time::timeout;
use tokio_util::sync::DropGuard;
use tonic::transport::Endpoint;

use super::tasks::Tasks;
use super::tls;
use crate::config::{EtcdConfig, TlsConfig};
use crate::error::{Fault, classify, classify_connect};

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Calls. A member that lost its cluster still answers stale reads.
    Calls,
    /// Open streams. A member that lost its cluster ends them, instead of leaving them silent for ever.
    Streams,
}

/// Brings up connections, all by the same rules.
pub(super) struct Connector {
    urls: Vec<String>,
    login: Option<(String, String)>,
    tls: Option<TlsConfig>,
    within: Duration,
    tcp_keepalive: Duration,
    ping: Option<Duration>,
    tasks: Tasks,
}

impl Connector {
    /// Checks all that can be checked without the network, files of TLS included.
    pub(super) fn new(config: &EtcdConfig, tasks: Tasks) -> Result<Self> {
        config.check()?;
        let connector = Self {
            urls: config.endpoint_urls()?,
            login: config.auth.as_ref().map(|auth| (auth.user.clone(), auth.password.expose().to_owned())),
            tls: config.tls.clone(),
            within: config.connect_timeout,
            tcp_keepalive: config.tcp_keepalive,
            ping: config.http2_ping,
            tasks,
        };
        for url in &connector.urls {
            connector.endpoint(url)?;
        }
        Ok(connector)
    }

    /// How many members are known.
    pub(super) fn members(&self) -> usize {
        self.urls.len()
    }

    /// Connects to a member and logs in. Whatever fails here, the call that wanted the connection was not sent.
    pub(super) async fn connect(&self, member: usize, purpose: Purpose) -> Result<Connection, Fault> {
        let url = &self.urls[member];
        match timeout(self.within, self.try_connect(url, purpose)).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(Fault::Lost(error))) => Err(Fault::Unprocessed(error)),
            Ok(Err(fault)) => Err(fault),
            Err(_) => {
                let message = format!("no connection to {url} within {:?}", self.within);
                Err(Fault::Unprocessed(Error::unavailable(message)))
            }
        }
    }

    async fn try_connect(&self, url: &str, purpose: Purpose) -> Result<Connection, Fault> {
        let (tasks, guard) = self.tasks.group();
        // The files of TLS were good when the session was opened: what is wrong with them now may be mended.
        let unusable =
            |error: Error| Fault::Unprocessed(error.with_kind(ErrorKind::Unavailable { time_left: None }));
        let endpoint = self.endpoint(url).map_err(unusable)?.executor(tasks);
        let channel = endpoint.connect().await.map_err(classify_connect)?;
        let options = ConnectOptions::new().with_require_leader(purpose == Purpose::Streams);
        let mut client =
            Client::from_channel(Channel::Tonic(channel), Some(options)).await.map_err(classify)?;
        if let Some(login) = &self.login {
            match client.update_user(Some(login.clone())).await {
                Err(VendorError::GRpcStatus(status)) if status.message().contains(AUTH_IS_OFF) => {}
                result => result.map_err(classify)?,
            }
        }
        Ok(Connection { client, _tasks: guard })
    }

    fn endpoint(&self, url: &str) -> Result<Endpoint> {
        let invalid = |error| Error::invalid("endpoints", format!("{url} cannot be used")).with_source(error);
        let mut endpoint = Endpoint::from_shared(url.to_owned())
            .map_err(invalid)?
            .connect_timeout(self.within)
            .tcp_keepalive(Some(self.tcp_keepalive));
        if let Some(tls) = &self.tls {
            endpoint = endpoint.tls_config(tls::load(tls)?).map_err(|error| {
                Error::invalid("tls", "the certificate and its key cannot be used").with_source(error)
            })?;
        }
        if let Some(interval) = self.ping {
            endpoint = endpoint.http2_keep_alive_interval(interval).keep_alive_timeout(interval);
        }
        Ok(endpoint)
    }
}

/// What etcd says to a login while authentication is switched off. It serves everyone then, as etcd's own client does.
const AUTH_IS_OFF: &str = "authentication is not enabled";

/// A connection that came up, logged in. Its socket and tasks end with it.
pub(super) struct Connection {
    client: Client,
    _tasks: DropGuard,
}

impl Connection {
    /// A handle to call by, valid while the connection is kept.
    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }
}
