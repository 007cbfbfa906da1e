//! What is done to model and backend alike, and how sequences of it are drawn.

use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use registry_core::{InstanceSpec, InstanceStatus, Override, OverrideStatus};

use crate::words::{tagged, version};

/// One step. Small numbers name services, ids and owners, so that they meet often.
#[derive(Debug, Clone)]
pub(super) enum Op {
    /// Register: service, id, owner, permission to take over, TTL and body.
    Register { of: u8, id: u8, owner: u8, takeover: Take, brief: bool, body: u8 },
    /// Beat with a lease that was granted at some time.
    Heartbeat(Index),
    /// Beat with every lease that is in force.
    HeartbeatAll,
    /// Update with such a lease.
    Update(Index, u8),
    /// Many updates at once, more than a slow watcher's queue holds.
    Flood(Index, u8),
    /// Deregister with such a lease.
    Deregister(Index),
    /// Ask who holds an id.
    Holder { of: u8, id: u8 },
    /// Set or lift an override.
    Override { of: u8, id: u8, value: u8 },
    /// Let this many eighths of the short TTL pass.
    Elapse(u8),
    /// List a service, or a version of it.
    Discover { of: u8, version: u8 },
    /// List the names.
    Services,
    /// Open a watch.
    Open { of: u8, version: u8 },
    /// Read a watch to its end; those that are never named are slow.
    Read(Index),
    /// Drop a watch.
    Drop(Index),
    /// From now on the other handle is used.
    Switch,
}

/// A permission to take over.
#[derive(Debug, Clone)]
pub(super) enum Take {
    /// None.
    Never,
    /// Of the generation of some lease that was granted.
    If(Index),
    /// Of whoever is there.
    Always,
}

/// How many watches may be open at once.
pub(super) const WATCHES: usize = 6;

/// Sequences of up to `length` steps.
pub(super) fn sequences(length: usize) -> impl Strategy<Value = Vec<Op>> {
    proptest::collection::vec(op(), 1..=length)
}

fn op() -> impl Strategy<Value = Op> {
    let (of, id, owner) = (0..2_u8, 0..3_u8, 0..3_u8);
    let take =
        prop_oneof![3 => Just(Take::Never), 1 => any::<Index>().prop_map(Take::If), 1 => Just(Take::Always)];
    let register = (of.clone(), id.clone(), owner, take, any::<bool>(), 0..5_u8).prop_map(
        |(of, id, owner, takeover, brief, body)| Op::Register { of, id, owner, takeover, brief, body },
    );
    prop_oneof![
        12 => register,
        4 => any::<Index>().prop_map(Op::Heartbeat),
        4 => Just(Op::HeartbeatAll),
        6 => (any::<Index>(), 0..5_u8).prop_map(|(lease, body)| Op::Update(lease, body)),
        1 => (any::<Index>(), 0..5_u8).prop_map(|(lease, body)| Op::Flood(lease, body)),
        6 => any::<Index>().prop_map(Op::Deregister),
        2 => (of.clone(), id.clone()).prop_map(|(of, id)| Op::Holder { of, id }),
        6 => (of.clone(), id, 0..6_u8).prop_map(|(of, id, value)| Op::Override { of, id, value }),
        6 => (1..10_u8).prop_map(Op::Elapse),
        3 => (of.clone(), 0..3_u8).prop_map(|(of, version)| Op::Discover { of, version }),
        2 => Just(Op::Services),
        4 => (of, 0..3_u8).prop_map(|(of, version)| Op::Open { of, version }),
        3 => any::<Index>().prop_map(Op::Read),
        1 => any::<Index>().prop_map(Op::Drop),
        1 => Just(Op::Switch),
    ]
}

/// A body by its number: they differ in version, weight or status.
pub(super) fn body(number: u8) -> InstanceSpec {
    let plain = tagged("body", number.to_string());
    match number {
        0 => plain,
        1 => plain.with_version(version("1")),
        2 => plain.with_version(version("2")),
        3 => plain.with_version(version("1")).with_weight(0),
        _ => plain.with_status(InstanceStatus::Starting),
    }
}

/// An override by its number; with a life for the later ones.
pub(super) fn imposed(number: u8, life: Duration) -> Option<Override> {
    let status = |status| Override::status(status, "model", "");
    match number {
        0 => None,
        1 => Some(status(OverrideStatus::Draining)),
        2 => Some(status(OverrideStatus::Disabled)),
        3 => Some(Override::weight(7, "model", "")),
        4 => Some(status(OverrideStatus::Draining).lasting(life)),
        _ => Some(Override::weight(0, "model", "").lasting(life)),
    }
}
