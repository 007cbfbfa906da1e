//! Ends a cluster when nothing else can: a small `sh` beside it that outlives the test process.
//!
//! The guard reads a pipe. Each member writes its own pid into it *before it becomes etcd*, and so does the test
//! process when it has reaped one. When the last writer is gone (the cluster was dropped, or the test process
//! was killed), the guard kills what is left and removes the folder. A parent-death signal would not do: it fires
//! when the *thread* that started the member ends, and tests run on threads.

use std::{
    ffi::OsStr,
    io::{self, Write},
    os::{fd::AsFd, unix::process::CommandExt},
    path::Path,
    process::{Child, ChildStdin, Command, Stdio},
};

/// `$1` is the folder. A second try of `rm` is for files made by a member that was just being killed.
const GUARD: &str = r#"
trap '' HUP INT QUIT TERM
pids=
while read -r sign pid; do
  if [ "$sign" = + ]; then pids="$pids $pid"; continue; fi
  left=
  for known in $pids; do [ "$known" = "$pid" ] || left="$left $known"; done
  pids=$left
done
[ -z "$pids" ] || kill -9 $pids
rm -rf -- "$1" || { sleep 1; rm -rf -- "$1"; }
"#;

/// Standard output is the guard's pipe; `exec` closes it, as etcd writes into its log.
const LAUNCH: &str = r#"echo "+ $$" && exec "$@" >&2"#;

/// A running guard. Dropping it makes it do its work, and waits for that.
#[derive(Debug)]
pub(super) struct Guard {
    child: Child,
    pipe: Option<ChildStdin>,
}

impl Guard {
    pub(super) fn start(folder: &Path) -> io::Result<Self> {
        let mut child = Command::new("sh")
            .args(["-c", GUARD, "registry-etcd-guard"])
            .arg(folder)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Not in the group that Ctrl-C or a test runner's timeout ends.
            .process_group(0)
            .spawn()?;
        let pipe = child.stdin.take();
        Ok(Self { child, pipe })
    }

    /// Makes a command whose process is known to the guard from before its first instruction. Its output goes
    /// to its standard error.
    pub(super) fn launch(&self, program: impl AsRef<OsStr>) -> io::Result<Command> {
        let pipe = self.pipe.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        let pipe = pipe.as_fd().try_clone_to_owned()?;
        let mut command = Command::new("sh");
        command.args(["-c", LAUNCH, "registry-etcd-launch"]).arg(program);
        command.stdin(Stdio::null()).stdout(pipe).process_group(0);
        Ok(command)
    }

    /// Tells the guard that a process was reaped, so that its number may be anybody's.
    pub(super) fn forget(&self, pid: u32) {
        if let Some(mut pipe) = self.pipe.as_ref() {
            // A guard that is gone has nothing to forget.
            let _ = writeln!(pipe, "- {pid}");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.pipe.take());
        let _ = self.child.wait();
    }
}
