//! What a cluster is asked to be, and its start.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use super::{EtcdCluster, HarnessError, Installed, binaries};

/// How often a start is tried when someone else took a port between the choice and the member's start.
const TRIES: usize = 5;

/// Certificate files for the client port, in PEM. Peers talk in plain text.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The server's certificate, valid for 127.0.0.1. With `client_cert_auth` it must do for a client too:
    /// [`EtcdCluster::ctl`] and etcd's own gateway present it.
    pub cert: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// The authority that signed it, and that client certificates are checked against.
    pub ca: PathBuf,
    /// Whether clients must present a certificate.
    pub client_cert_auth: bool,
}

/// Asks for a cluster; made by [`EtcdCluster::builder`].
///
/// Defaults: one member, the machine's default version (see [the module](super)), 10 ms heartbeats and 100 ms elections (a
/// lease then lives for at least 1 s), ready within 20 s, no TLS, no users.
#[derive(Clone, Debug)]
#[must_use = "`start` starts it"]
pub struct EtcdClusterBuilder {
    pub(super) members: usize,
    pub(super) version: Option<String>,
    pub(super) heartbeat: Duration,
    pub(super) election: Duration,
    pub(super) args: Vec<OsString>,
    pub(super) tls: Option<TlsFiles>,
    pub(super) root_password: Option<String>,
    pub(super) ready_within: Duration,
}

impl EtcdClusterBuilder {
    pub(super) fn new() -> Self {
        Self {
            members: 1,
            version: None,
            heartbeat: Duration::from_millis(10),
            election: Duration::from_millis(100),
            args: Vec::new(),
            tls: None,
            root_password: None,
            ready_within: Duration::from_secs(20),
        }
    }

    /// 1, 3 or 5 members.
    pub fn members(mut self, members: usize) -> Self {
        self.members = members;
        self
    }

    /// `3.5` for the newest installed of that line, or one version, `3.5.16`.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// The leader's heartbeat to the other members, in whole milliseconds. etcd wants at least five of them in
    /// an election timeout.
    pub fn heartbeat(mut self, interval: Duration) -> Self {
        self.heartbeat = interval;
        self
    }

    /// How long a member waits without a leader before it stands for election, in whole milliseconds. Leases
    /// live for at least 1.5 times as long, rounded up to seconds.
    pub fn election(mut self, timeout: Duration) -> Self {
        self.election = timeout;
        self
    }

    /// One more argument for each member (`--auth-token-ttl=5`); it wins over the harness's own.
    pub fn extra_arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// TLS on the client port.
    pub fn tls(mut self, files: TlsFiles) -> Self {
        self.tls = Some(files);
        self
    }

    /// Makes the user `root` with this password and turns authentication on, once the cluster is ready; `ctl`
    /// then acts as root. Needs etcdctl.
    pub fn auth(mut self, root_password: impl Into<String>) -> Self {
        self.root_password = Some(root_password.into());
        self
    }

    /// How long the members may take to be ready, at the start and after each restart.
    pub fn ready_within(mut self, limit: Duration) -> Self {
        self.ready_within = limit;
        self
    }

    /// Starts the members and waits until each has a leader and serves. The first start of a process also
    /// searches for binaries, blocking for about 30 ms each.
    ///
    /// Errors: what was asked for is impossible or not installed; a member ended by itself
    /// ([`HarnessError::MemberExited`], with the end of its log) or was not ready in time. Nothing is left
    /// running after an error, nor when the call is dropped.
    pub async fn start(self) -> Result<EtcdCluster, HarnessError> {
        let etcd = binaries::find(self.version.as_deref())?;
        self.start_on(&etcd).await
    }

    pub(super) async fn start_on(self, etcd: &Installed) -> Result<EtcdCluster, HarnessError> {
        if ![1, 3, 5].contains(&self.members) {
            return Err(HarnessError::BadRequest(format!(
                "a cluster has 1, 3 or 5 members, not {}",
                self.members
            )));
        }
        let mut outcome = Err(HarnessError::NoFreePort);
        for _ in 0..TRIES {
            let cluster = EtcdCluster::new(&self, etcd)?;
            let launched = cluster.launch_all().await;
            let again = launched.as_ref().is_err_and(|error| cluster.lost_a_port(error));
            outcome = launched.map(|()| cluster);
            if !again {
                break;
            }
            tracing::debug!("a chosen port was taken: other ports are tried");
        }
        let cluster = outcome?;
        if let Some(password) = &self.root_password {
            cluster.enable_auth(password).await?;
        }
        Ok(cluster)
    }
}
