//! The command line of a member.

use std::{env, ffi::OsString, path::Path, process::Command};

use super::{
    EtcdVersion,
    builder::{EtcdClusterBuilder, TlsFiles},
    ports::Port,
};

/// Where a member listens. The metrics have a port of their own, without TLS, so that readiness and metrics are
/// read in one way however the client port is set up.
#[derive(Debug)]
pub(super) struct Ports {
    pub(super) client: Port,
    pub(super) peer: Port,
    pub(super) metrics: Port,
}

/// The arguments of member `index`. What the test adds comes last: the last of two values counts.
pub(super) fn of(
    asked: &EtcdClusterBuilder,
    version: EtcdVersion,
    token: &str,
    all: &[Ports],
    index: usize,
    data: &Path,
) -> Vec<OsString> {
    let ports = &all[index];
    let client = ports.client.url(scheme(asked.tls.as_ref()));
    let peer = ports.peer.url("http");
    let cluster: Vec<_> =
        all.iter().enumerate().map(|(at, ports)| format!("m{at}={}", ports.peer.url("http"))).collect();
    let mut args: Vec<OsString> = [
        ("--name", format!("m{index}")),
        ("--listen-client-urls", client.clone()),
        ("--advertise-client-urls", client),
        ("--listen-peer-urls", peer.clone()),
        ("--initial-advertise-peer-urls", peer),
        ("--listen-metrics-urls", ports.metrics.url("http")),
        ("--initial-cluster", cluster.join(",")),
        // Of this cluster alone: a member that dials a port of an earlier cluster is refused by its token.
        ("--initial-cluster-token", token.to_owned()),
        ("--initial-cluster-state", "new".to_owned()),
        ("--heartbeat-interval", asked.heartbeat.as_millis().to_string()),
        ("--election-timeout", asked.election.as_millis().to_string()),
        ("--logger", "zap".to_owned()),
        ("--log-level", "error".to_owned()),
        ("--log-outputs", "stderr".to_owned()),
    ]
    .into_iter()
    .flat_map(|(flag, value)| [flag.into(), value.into()])
    .collect();
    args.extend(["--data-dir".into(), data.into()]);
    if version.at_least(3, 5) {
        args.push("--unsafe-no-fsync".into());
    }
    if let Some(tls) = &asked.tls {
        args.extend(["--cert-file".into(), tls.cert.clone().into()]);
        args.extend(["--key-file".into(), tls.key.clone().into()]);
        // An authority alone already makes etcd demand client certificates.
        if tls.client_cert_auth {
            args.extend(["--client-cert-auth".into(), "--trusted-ca-file".into(), tls.ca.clone().into()]);
        }
    }
    args.extend(asked.args.iter().cloned());
    args
}

pub(super) fn scheme(tls: Option<&TlsFiles>) -> &'static str {
    if tls.is_some() { "https" } else { "http" }
}

/// Without this etcd refuses to run on some processors.
const KEPT: &str = "ETCD_UNSUPPORTED_ARCH";

/// Takes away what the user's environment would set: etcd reads every flag from `ETCD_*`, etcdctl from
/// `ETCDCTL_*`.
pub(super) fn clean_environment(command: &mut Command) {
    for (name, _) in env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"ETCD") && name != KEPT {
            command.env_remove(name);
        }
    }
}
