//! Random lives of a registrar. What must always hold is checked by [`World`] on every step; here is what must hold
//! at the end.

use std::ops::Range;
use std::time::Duration;

use proptest::prelude::*;

use super::world::{Fate, World};
use super::{Change, Command};
use crate::endpoint::Endpoint;
use crate::instance::{Health, InstanceSpec, InstanceStatus};
use crate::registrar::config::{LostPolicy, RegistrarConfig, TakeoverPolicy};
use crate::registrar::status::RegistrarStatus;

#[derive(Debug, Clone)]
enum Op {
    Command(Command),
    Pass(Duration, Duration, Fate),
    Beat(Fate),
    Write(Fate),
    Vanish,
    Damage,
    Rival,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => Just(Fate::Done),
        2 => Just(Fate::Doubt),
        2 => Just(Fate::Lost),
        2 => Just(Fate::Unreachable),
        1 => Just(Fate::Denied),
    ]
}

fn body() -> impl Strategy<Value = InstanceSpec> {
    (1_u16..100, 0_u32..3).prop_map(|(port, weight)| {
        InstanceSpec::new(Endpoint::new("http", "10.0.0.1", port).unwrap()).with_weight(weight)
    })
}

fn command() -> impl Strategy<Value = Command> {
    prop_oneof![
        4 => body().prop_map(|body| Command::Change(Change::Body(Box::new(body)))),
        1 => Just(Command::Change(Change::Status(InstanceStatus::Starting))),
        1 => Just(Command::Change(Change::Health(Health::Degraded))),
        3 => Just(Command::Pause),
        4 => Just(Command::Resume),
        2 => Just(Command::Drain),
        1 => Just(Command::Deregister),
        1 => Just(Command::Close),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let millis = |range: Range<u64>| range.prop_map(Duration::from_millis);
    prop_oneof![
        4 => command().prop_map(Op::Command),
        6 => (millis(0_u64..20_000), millis(1_u64..4_000), fate()).prop_map(|(t, d, f)| Op::Pass(t, d, f)),
        4 => fate().prop_map(Op::Beat),
        6 => fate().prop_map(Op::Write),
        2 => Just(Op::Vanish),
        1 => Just(Op::Damage),
        1 => Just(Op::Rival),
    ]
}

fn config() -> impl Strategy<Value = RegistrarConfig> {
    let interval = prop_oneof![Just(None), (500_u64..5_000).prop_map(|ms| Some(Duration::from_millis(ms)))];
    let lost = prop_oneof![
        3 => Just(LostPolicy::RetryForever),
        1 => (0_u64..60).prop_map(|s| LostPolicy::GiveUpAfter(Duration::from_secs(s))),
    ];
    let takeover = prop_oneof![Just(TakeoverPolicy::OwnPreviousLife), Just(TakeoverPolicy::Always)];
    let drain = prop_oneof![Just(None), Just(Some(Duration::ZERO)), Just(Some(Duration::from_secs(3)))];
    (interval, lost, takeover, drain).prop_map(|(interval, lost, takeover, drain)| {
        let mut config = RegistrarConfig::new("greeter".parse().unwrap())
            .with_id("a".parse().unwrap())
            .listening("10.0.0.1:80".parse().unwrap())
            .unwrap()
            .with_lost(lost)
            .with_takeover(takeover);
        (config.interval, config.drain) = (interval, drain);
        config
    })
}

fn life(config: &RegistrarConfig, seed: u64, ops: Vec<Op>) -> World {
    let mut world = World::new(config, seed);
    world.command(Command::Start);
    for op in ops {
        match op {
            Op::Command(command) => world.command(command),
            Op::Pass(time, delay, fate) => world.pass(time, delay, fate),
            Op::Beat(fate) => world.answer_beat(fate),
            Op::Write(fate) => world.answer_write(fate),
            Op::Vanish => world.vanish(),
            Op::Damage => world.damage(),
            Op::Rival => world.rival(),
        }
    }
    world
}

const SOON: Duration = Duration::from_millis(5);
const TTL: Duration = Duration::from_secs(15);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// H4 H6 H8 R7 H9: once the registry answers, what should be there is there with the newest body, and what should
    /// not be there is not.
    #[test]
    fn it_heals(config in config(), seed: u64, ops in prop::collection::vec(op(), 0..40)) {
        let mut world = life(&config, seed, ops);
        world.pass(TTL * 4, SOON, Fate::Done);
        prop_assert_eq!(world.unanswered(), 0);
        match world.last_told().clone() {
            RegistrarStatus::Registered { generation, .. } => {
                prop_assert_eq!(world.alive(), Some(generation));
                prop_assert_eq!(world.body(), Some(world.newest()));
            }
            RegistrarStatus::Paused | RegistrarStatus::Deregistered { .. } | RegistrarStatus::Closed => {
                prop_assert_eq!(world.alive(), None);
            }
            status => prop_assert!(status.is_final(), "stuck as {}", status),
        }
        if world.away == 1 {
            prop_assert!(!world.last_told().is_registered());
        }
    }

    /// H9 D4 C2: with a registry that is dead or silent nobody waits for ever, and one that was told to end ends.
    #[test]
    fn it_answers_and_ends_without_the_registry(
        config in config(),
        seed: u64,
        ops in prop::collection::vec(op(), 0..40),
        silent: bool,
        end in prop_oneof![Just(Some(Command::Deregister)), Just(Some(Command::Close)), Just(Some(Command::Drain)), Just(None)],
    ) {
        let mut world = life(&config, seed, ops);
        let parting = end.is_none();
        match end {
            Some(end) => world.command(end),
            None => world.dropped(),
        }
        let delay = if silent { Duration::from_hours(1) } else { SOON };
        world.pass(if parting { Duration::from_secs(1) } else { TTL * 2 }, delay, Fate::Unreachable);
        prop_assert!(world.machine.is_gone(), "still {}", world.last_told());
        for (command, took, _) in &world.answers {
            let most = match command {
                Command::Pause | Command::Deregister => config.deregister,
                Command::Start | Command::Resume | Command::Change(_) => config.start,
                // Two phases: until it is seen, and then the drain time, from when the newest of several is seen.
                Command::Drain => config.deregister + Duration::from_secs(10),
                Command::Close => Duration::from_secs(1),
            };
            prop_assert!(*took <= most, "{:?} took {:?}", command, took);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// H4: an outage of any length ends with a registration, however long the registry was silent.
    #[test]
    fn no_outage_is_too_long(seed: u64, hours in 0_u64..12, silent: bool) {
        let config = RegistrarConfig::new("greeter".parse().unwrap())
            .with_id("a".parse().unwrap())
            .with_endpoint("http://10.0.0.1:80".parse().unwrap());
        let mut world = life(&config, seed, Vec::new());
        world.pass(TTL, SOON, Fate::Done);
        let delay = if silent { Duration::from_hours(1) } else { SOON };
        world.pass(Duration::from_hours(hours), delay, Fate::Unreachable);
        world.pass(TTL / 3 + Duration::from_secs(1), SOON, Fate::Done);
        prop_assert!(world.last_told().is_registered());
        prop_assert!(world.alive().is_some());
    }
}
