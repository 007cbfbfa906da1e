//! An operator's acts, through etcdctl.

use std::{
    ffi::OsString,
    process::{Command, Stdio},
    time::Duration,
};

use tokio::time::timeout;

use super::{EtcdCluster, HarnessError, flags};

/// etcdctl gives up by itself before: 2 s to connect, 5 s for a command.
const LIMIT: Duration = Duration::from_secs(30);

impl EtcdCluster {
    /// Runs `etcdctl` with these arguments against all members and returns what it wrote: put, del, lease
    /// revoke, compact, snapshot save, user add. It speaks TLS and acts as root where the cluster asks for
    /// that, unless the arguments say otherwise (`--endpoints`, `--user`, `--cacert`, `--cert`, `--key`).
    ///
    /// Errors: [`HarnessError::ToolMissing`], [`HarnessError::Failed`]. Dropping the call ends etcdctl; the
    /// command may have taken effect.
    pub async fn ctl(&self, args: &[&str]) -> Result<String, HarnessError> {
        self.run("etcdctl", args).await
    }

    /// The same with `input` on its standard input: a value for `put` that may be any bytes.
    ///
    /// Errors and cancellation as [`ctl`](Self::ctl).
    pub async fn ctl_with_input(&self, args: &[&str], input: &[u8]) -> Result<String, HarnessError> {
        let file =
            tempfile::NamedTempFile::new_in(self.folder()).map_err(HarnessError::io("keep the input"))?;
        std::fs::write(file.path(), input).map_err(HarnessError::io("keep the input"))?;
        let input = file.reopen().map_err(HarnessError::io("keep the input"))?;
        self.run_reading("etcdctl", args, input.into()).await
    }

    /// Runs another program that came with this etcd, as `etcdutl`, like [`ctl`](Self::ctl).
    pub async fn run(&self, tool: &str, args: &[&str]) -> Result<String, HarnessError> {
        self.run_reading(tool, args, Stdio::null()).await
    }

    async fn run_reading(&self, tool: &str, args: &[&str], input: Stdio) -> Result<String, HarnessError> {
        let mut command = Command::new(self.etcd.tool(tool)?);
        flags::clean_environment(&mut command);
        command.args(args).current_dir(self.folder()).stdin(input);
        // By environment, as etcdutl knows no such flags; a flag and its variable together are an error.
        let given = |flag: &str| args.iter().any(|arg| arg.split('=').next() == Some(flag));
        let mut set = |flag: &str, variable: &str, value: OsString| {
            if !given(flag) {
                command.env(variable, value);
            }
        };
        set("--endpoints", "ETCDCTL_ENDPOINTS", self.endpoints().join(",").into());
        if let Some(tls) = &self.tls {
            set("--cacert", "ETCDCTL_CACERT", tls.ca.clone().into());
            if tls.client_cert_auth {
                set("--cert", "ETCDCTL_CERT", tls.cert.clone().into());
                set("--key", "ETCDCTL_KEY", tls.key.clone().into());
            }
        }
        if let Some(password) = self.root_password.get() {
            set("--user", "ETCDCTL_USER", format!("root:{password}").into());
        }
        command.env("ETCDCTL_API", "3");
        let named = || format!("{tool} {}", args.join(" "));
        let output = tokio::process::Command::from(command).kill_on_drop(true).output();
        let output = timeout(LIMIT, output)
            .await
            .map_err(|_| HarnessError::Failed {
                command: named(),
                stderr: format!("no end within {LIMIT:?}"),
            })?
            .map_err(HarnessError::io(format!("run {tool}")))?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        } else {
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            Err(HarnessError::Failed { command: named(), stderr })
        }
    }

    /// Makes the user `root` and turns authentication on; from then on [`ctl`](Self::ctl) acts as root.
    pub async fn enable_auth(&self, root_password: &str) -> Result<(), HarnessError> {
        self.ctl(&["user", "add", &format!("root:{root_password}")]).await?;
        self.ctl(&["user", "grant-role", "root", "root"]).await?;
        self.ctl(&["auth", "enable"]).await?;
        // Only a second call finds it set, and that one fails above.
        let _ = self.root_password.set(root_password.to_owned());
        Ok(())
    }
}
