//! A running cluster and what a test does to it.

use std::{
    env,
    path::Path,
    sync::{Arc, OnceLock},
    time::Duration,
};

use tempfile::TempDir;

use super::{
    EtcdClusterBuilder, EtcdVersion, HarnessError, Installed, Metrics, TlsFiles,
    flags::{self, Ports},
    guard::Guard,
    http,
    member::Member,
    ports::Port,
};

/// One try at a member's health or its metrics.
pub(super) const ATTEMPT: Duration = Duration::from_secs(2);
/// What a member takes on start is two write-ahead files of 64 MB.
const SPACE_PER_MEMBER: u64 = 256 << 20;

/// Members of etcd on this machine, numbered from 0. Dropping it kills them (a frozen one too), waits for their
/// end and removes their folder; that blocks for some milliseconds.
///
/// Its methods take `&self`: what one test does to a member, others see. What a test kills or stops should be
/// its own cluster, not the shared one.
#[derive(Debug)]
pub struct EtcdCluster {
    // Dropped in this order: the members are killed, the guard finds nothing left, the folder goes.
    pub(super) members: Vec<Member>,
    pub(super) etcd: Installed,
    pub(super) tls: Option<TlsFiles>,
    pub(super) root_password: OnceLock<String>,
    pub(super) ready_within: Duration,
    folder: TempDir,
}

impl EtcdCluster {
    /// Asks for a cluster.
    pub fn builder() -> EtcdClusterBuilder {
        EtcdClusterBuilder::new()
    }

    /// A cluster on newly chosen ports, none of its members running.
    pub(super) fn new(asked: &EtcdClusterBuilder, etcd: &Installed) -> Result<Self, HarnessError> {
        let folder = folder(asked.members)?;
        let guard = Guard::start(folder.path()).map_err(HarnessError::io("start `sh`"))?;
        let guard = Arc::new(guard);
        let ports = (0..asked.members)
            .map(|_| {
                Ok(Ports { client: Port::reserve()?, peer: Port::reserve()?, metrics: Port::reserve()? })
            })
            .collect::<Result<Vec<_>, HarnessError>>()?;
        let token = folder.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let data = |index| folder.path().join(format!("m{index}"));
        let args: Vec<_> = (0..asked.members)
            .map(|index| flags::of(asked, etcd.version, &token, &ports, index, &data(index)))
            .collect();
        let members = ports
            .into_iter()
            .zip(args)
            .enumerate()
            .map(|(index, (ports, args))| {
                Member::new(index, ports, data(index), (&etcd.path, args), Arc::clone(&guard))
            })
            .collect();
        Ok(Self {
            members,
            etcd: etcd.clone(),
            tls: asked.tls.clone(),
            root_password: OnceLock::new(),
            ready_within: asked.ready_within,
            folder,
        })
    }

    /// Starts every member, and waits until all serve.
    pub(super) async fn launch_all(&self) -> Result<(), HarnessError> {
        for member in &self.members {
            member.launch()?;
            // A new member asks each other one whether it is known already. One that listens and does not serve
            // yet costs it a second; one that does not listen, or serves, costs nothing.
            self.wait_until(vec![member.index], Member::serves_peers).await?;
        }
        self.ready().await
    }

    /// Whether `error` tells of a member that ended because somebody took one of its ports. Its log alone does
    /// not always say so: a taken metrics port can make etcd panic.
    pub(super) fn lost_a_port(&self, error: &HarnessError) -> bool {
        let HarnessError::MemberExited { member, log, .. } = error else { return false };
        log.contains("address already in use") || self.members[*member].lost_a_port()
    }

    pub(super) fn member(&self, index: usize) -> Result<&Member, HarnessError> {
        self.members.get(index).ok_or(HarnessError::NotRunning(index))
    }

    /// How many members there are, running or not.
    #[expect(clippy::len_without_is_empty, reason = "a cluster has members")]
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// The members' version.
    pub fn version(&self) -> EtcdVersion {
        self.etcd.version
    }

    /// The members' client URLs: `http://127.0.0.1:port`, `https` with TLS. They stay over restarts.
    pub fn endpoints(&self) -> Vec<String> {
        let scheme = flags::scheme(self.tls.as_ref());
        self.members.iter().map(|member| member.ports.client.url(scheme)).collect()
    }

    /// The members' client addresses, `127.0.0.1:port`.
    pub fn addresses(&self) -> Vec<String> {
        self.members.iter().map(|member| format!("127.0.0.1:{}", member.ports.client.number())).collect()
    }

    /// `etcd://127.0.0.1:port,127.0.0.1:port`
    pub fn target(&self) -> String {
        format!("etcd://{}", self.addresses().join(","))
    }

    /// The folder of everything of this cluster; it goes with it.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A member's data folder (which a restored backup may take the place of while it is not running).
    pub fn data_dir(&self, member: usize) -> Result<&Path, HarnessError> {
        Ok(&self.member(member)?.data)
    }

    /// The process id of a running member, frozen or not.
    pub fn pid(&self, member: usize) -> Option<u32> {
        self.members.get(member)?.pid()
    }

    /// Ends a member with SIGKILL and waits for that; fine if it is not running.
    pub fn kill(&self, member: usize) -> Result<(), HarnessError> {
        self.member(member)?.kill()
    }

    /// Freezes a member with SIGSTOP; it is frozen when this returns.
    pub fn stop(&self, member: usize) -> Result<(), HarnessError> {
        self.member(member)?.stop()
    }

    /// Lets a frozen member go on (SIGCONT).
    pub fn cont(&self, member: usize) -> Result<(), HarnessError> {
        self.member(member)?.cont()
    }

    /// Starts a member that was killed, on the same data and ports, without waiting for it to serve: the first
    /// of several has no leader to wait for. A running member stays as it is.
    pub fn launch(&self, member: usize) -> Result<(), HarnessError> {
        self.member(member)?.launch()
    }

    /// Kills a member if it runs, starts it again on the same data and ports, and waits until it serves; that
    /// needs a majority.
    pub async fn restart(&self, member: usize) -> Result<(), HarnessError> {
        self.kill(member)?;
        self.launch(member)?;
        self.wait_until(vec![member], Member::health).await
    }

    /// Kills all members, starts them all and waits until all serve.
    pub async fn restart_all(&self) -> Result<(), HarnessError> {
        self.members.iter().try_for_each(Member::kill)?;
        self.launch_all().await
    }

    /// Kills a member and removes its data. All members wiped and launched are a new, empty cluster with the
    /// *same* cluster id. One of several is not let in again by the others unless an operator removes and adds
    /// it (`ctl`).
    pub fn wipe(&self, member: usize) -> Result<(), HarnessError> {
        self.member(member)?.wipe()
    }

    /// A member's metrics, within 2 s.
    pub async fn metrics(&self, member: usize) -> Result<Metrics, HarnessError> {
        let port = self.member(member)?.ports.metrics.number();
        Ok(Metrics::parse(&http::get(port, "/metrics", ATTEMPT).await?))
    }

    /// All that a member wrote to its log (errors only, unless `--log-level` says otherwise), over all its
    /// lives.
    pub fn logs(&self, member: usize) -> Result<String, HarnessError> {
        Ok(self.member(member)?.log())
    }
}

impl Drop for EtcdCluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for member in self.members.iter().filter(|member| !member.log().is_empty()) {
                eprintln!("the log of etcd member {} ends with:\n{}", member.index, member.log_tail());
            }
        }
        // All at once: each takes some milliseconds to end.
        for member in &self.members {
            member.doom();
        }
    }
}

/// In memory where there is room for it, as etcd waits for the disk at every write.
fn folder(members: usize) -> Result<TempDir, HarnessError> {
    let needed = SPACE_PER_MEMBER * members as u64;
    let memory = Path::new("/dev/shm");
    let room = rustix::fs::statvfs(memory).is_ok_and(|stat| stat.f_bavail * stat.f_frsize >= needed);
    let new = |parent: &Path| tempfile::Builder::new().prefix("registry-etcd-").tempdir_in(parent);
    let made = if room { new(memory).or_else(|_| new(&env::temp_dir())) } else { new(&env::temp_dir()) };
    made.map_err(HarnessError::io("make a temporary folder"))
}
