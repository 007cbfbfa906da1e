//! What the contract says and this list of rules does not test, with the reason.

/// Why a rule, or a part of it, is not among the tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It needs a fault that no harness can make yet: a proxy between client and server, a stopped or restored
    /// cluster, a wall clock that jumps.
    FaultTools,
    /// It speaks of one backend's ways and is tested beside that backend.
    OneBackend(&'static str),
    /// No backend can be brought there from outside at will: it is tested where it can be scripted.
    Scripted(&'static str),
}

/// A rule, or a part of one, that is not tested here.
#[derive(Debug, Clone, Copy)]
pub struct Deferred {
    /// The rule's number.
    pub rule: &'static str,
    /// Which part of it.
    pub part: &'static str,
    /// The reason.
    pub why: Why,
}

const fn faults(rule: &'static str, part: &'static str) -> Deferred {
    Deferred { rule, part, why: Why::FaultTools }
}

const fn etcd(rule: &'static str, part: &'static str) -> Deferred {
    Deferred { rule, part, why: Why::OneBackend("etcd") }
}

const fn scripted(rule: &'static str, part: &'static str, at: &'static str) -> Deferred {
    Deferred { rule, part, why: Why::Scripted(at) }
}

/// All of it, in one place.
pub const DEFERRED: &[Deferred] = &[
    faults("A3", "a wall clock that jumps while the process runs"),
    faults("A4", "a process that is stopped and continued"),
    faults("R6", "a reply lost between server and client; a leader that dies under a write"),
    scripted("H3", "an older lease that lives on because its revoke was lost", "registry-etcd's own keys"),
    faults("H4", "retries spread over all endpoints of a cluster, through a real outage"),
    faults("X3", "a change of leader, an outage of a known length"),
    faults("X5", "an outage that ends with a mass expiry"),
    faults("D4", "the background try through an outage that outlasts the TTL"),
    scripted("D6", "`Unknown`: gone while the watch was cut off", "registry-core's feed and recovery"),
    scripted(
        "W2",
        "resyncs for a compacted or replaced history",
        "registry-core's recovery, registry-etcd's client",
    ),
    faults("W4", "a link that is cut and healed while others write"),
    faults("W6", "a member that lags behind"),
    faults("W7", "a restored backup, another cluster, a member behind the revision asked for"),
    faults("W9", "convergence after a fault; without one it is tested here"),
    faults("W10", "a half-open link, a lost event"),
    faults("W11", "refused credentials, an end that the server sends"),
    faults("W12", "a reconnect storm"),
    faults("W17", "an expired token, a changed user store"),
    etcd("R8", "leases counted on the server"),
    etcd("W13", "watchers counted on the server"),
    etcd("I11", "lists of endpoints"),
    etcd("I12", "the ping interval"),
];
