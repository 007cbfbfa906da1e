//! One member: a process, its ports and its folder.

use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process::{Child, ExitStatus},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::{
    HarnessError,
    flags::{self, Ports},
    guard::Guard,
    http,
    ports::Port,
};

/// How much of a log an error shows.
const LOG_TAIL: usize = 2000;

/// Dropping it kills the process and waits for its end.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) index: usize,
    pub(super) ports: Ports,
    pub(super) data: PathBuf,
    program: PathBuf,
    args: Vec<OsString>,
    log: PathBuf,
    process: Mutex<Option<Child>>,
    guard: Arc<Guard>,
}

impl Member {
    /// A member that is not running yet. Its log lies beside its data.
    pub(super) fn new(
        index: usize,
        ports: Ports,
        data: PathBuf,
        (program, args): (&Path, Vec<OsString>),
        guard: Arc<Guard>,
    ) -> Self {
        let (program, log) = (program.to_owned(), data.with_extension("log"));
        Self { index, ports, data, program, args, log, process: Mutex::new(None), guard }
    }

    fn process(&self) -> MutexGuard<'_, Option<Child>> {
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts the process, without waiting for it to serve. A running one stays.
    pub(super) fn launch(&self) -> Result<(), HarnessError> {
        let mut process = self.process();
        if self.reap(&mut process)?.is_none() && process.is_some() {
            return Ok(());
        }
        let what = || format!("start {}", self.program.display());
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.log)
            .map_err(HarnessError::io(format!("open {}", self.log.display())))?;
        let mut command = self.guard.launch(&self.program).map_err(HarnessError::io(what()))?;
        flags::clean_environment(&mut command);
        command.args(&self.args).stderr(log);
        *process = Some(command.spawn().map_err(HarnessError::io(what()))?);
        Ok(())
    }

    /// Ends the process with SIGKILL and waits for that; fine if it is not running.
    pub(super) fn kill(&self) -> Result<(), HarnessError> {
        if let Some(mut child) = self.process().take() {
            let what = || format!("kill member {}", self.index);
            child.kill().map_err(HarnessError::io(what()))?;
            child.wait().map_err(HarnessError::io(what()))?;
            self.guard.forget(child.id());
        }
        Ok(())
    }

    /// Sends SIGKILL and does not wait.
    pub(super) fn doom(&self) {
        if let Some(child) = self.process().as_mut() {
            // What cannot be killed here is left to the guard.
            let _ = child.kill();
        }
    }

    /// Freezes the process with SIGSTOP, and returns when it is frozen.
    pub(super) fn stop(&self) -> Result<(), HarnessError> {
        let process = self.process();
        let pid = self.signal(process.as_ref(), Signal::STOP)?;
        // Told about, not reaped: the child handle does that.
        let until = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(pid), until).map_err(|error| self.signal_error(error))?;
        Ok(())
    }

    /// Lets a frozen process go on.
    pub(super) fn cont(&self) -> Result<(), HarnessError> {
        let process = self.process();
        self.signal(process.as_ref(), Signal::CONT).map(|_| ())
    }

    fn signal(&self, process: Option<&Child>, signal: Signal) -> Result<Pid, HarnessError> {
        let pid = process.map(Pid::from_child).ok_or(HarnessError::NotRunning(self.index))?;
        kill_process(pid, signal).map_err(|error| self.signal_error(error))?;
        Ok(pid)
    }

    fn signal_error(&self, error: rustix::io::Errno) -> HarnessError {
        HarnessError::io(format!("send a signal to member {}", self.index))(error.into())
    }

    pub(super) fn pid(&self) -> Option<u32> {
        self.process().as_ref().map(Child::id)
    }

    /// How the process ended, if it did so by itself since it was started; told once.
    pub(super) fn exited(&self) -> Result<Option<ExitStatus>, HarnessError> {
        self.reap(&mut self.process())
    }

    fn reap(&self, process: &mut Option<Child>) -> Result<Option<ExitStatus>, HarnessError> {
        let Some(child) = process else { return Ok(None) };
        let ended = child.try_wait().map_err(HarnessError::io(format!("wait for member {}", self.index)))?;
        if ended.is_some() {
            self.guard.forget(child.id());
            *process = None;
        }
        Ok(ended)
    }

    /// Kills the process and removes its data; the log stays.
    pub(super) fn wipe(&self) -> Result<(), HarnessError> {
        self.kill()?;
        match fs::remove_dir_all(&self.data) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(HarnessError::io(format!("remove {}", self.data.display()))(error))
            }
            _ => Ok(()),
        }
    }

    /// Whether somebody else has one of its ports, asked of a member that is not running.
    pub(super) fn lost_a_port(&self) -> bool {
        [&self.ports.client, &self.ports.peer, &self.ports.metrics].into_iter().any(Port::taken)
    }

    /// Whether the member answers other members; it need not have a leader.
    pub(super) async fn serves_peers(&self, limit: Duration) -> Result<(), HarnessError> {
        http::get(self.ports.peer.number(), "/version", limit).await.map(drop)
    }

    /// Whether the member has a leader and serves clients.
    pub(super) async fn health(&self, limit: Duration) -> Result<(), HarnessError> {
        let answer = http::get(self.ports.metrics.number(), "/health", limit).await?;
        if answer.contains(r#""health":"true""#) {
            Ok(())
        } else {
            Err(HarnessError::BadAnswer(format!("member {} says {}", self.index, answer.trim())))
        }
    }

    /// All that the member wrote, over all its lives.
    pub(super) fn log(&self) -> String {
        fs::read(&self.log).map(|log| String::from_utf8_lossy(&log).into_owned()).unwrap_or_default()
    }

    pub(super) fn log_tail(&self) -> String {
        let log = self.log();
        let from = log.len().saturating_sub(LOG_TAIL);
        log[log.ceil_char_boundary(from)..].to_owned()
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        // What cannot be killed here is left to the guard.
        let _ = self.kill();
    }
}
