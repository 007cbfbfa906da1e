//! Q1 to Q9: reading.

use std::time::Duration;

use futures::future::join_all;
use registry_core::{
    Change, ErrorKind, Health, InstanceStatus, Override, OverrideStatus, ReadMode, ReadOptions,
};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::case::{Case, discover, query};
use crate::refused;
use crate::watched::sorted;
use crate::words::{id, service, spec, tagged, version};

/// Q1: sorted by id, no id twice, whatever order they came in.
pub async fn q1_a_snapshot_is_sorted_and_without_duplicates(case: &Case) {
    for instance in ["m", "b", "z", "a", "10.0.0.1:80", "[::1]:80", "B", "a-1", "a.b", "a_"] {
        case.up("orders", instance).await;
    }
    let snapshot = case.discover("orders").await;
    assert_eq!(snapshot.len(), 10);
    sorted(&snapshot);
}

/// Q1: a snapshot is of one moment: of two instances updated in turn the second never runs ahead of the first.
pub async fn q1_a_snapshot_is_of_one_revision(case: &Case) {
    let many = case.timing.many;
    let fillers: Vec<_> = (0..many).map(|n| case.registration("orders", &format!("filler-{n}"))).collect();
    for chunk in fillers.chunks(64) {
        join_all(chunk.iter().map(|filler| case.register(filler))).await;
    }
    // The first sorts before all fillers, the last after: they stand on the first and the last page.
    let first = case.up("orders", "a-first").await;
    let last = case.up("orders", "z-last").await;
    let writes = async {
        for n in 1..=40_u32 {
            case.registry.update(&first.lease, tagged("n", n.to_string())).await.expect("an update");
            case.registry.update(&last.lease, tagged("n", n.to_string())).await.expect("an update");
        }
    };
    let reads = async {
        loop {
            let snapshot = case.discover("orders").await;
            sorted(&snapshot);
            assert_eq!(snapshot.len(), many + 2);
            let count = |instance: &str| -> u32 {
                let instance = snapshot.get(&id(instance)).expect("it is never gone");
                instance.metadata().get("n").map_or(0, |n| n.parse().expect("a number"))
            };
            let (ahead, behind) = (count("a-first"), count("z-last"));
            assert!(ahead == behind || ahead == behind + 1, "two moments in one snapshot: {ahead}, {behind}");
            if behind == 40 {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    futures::join!(writes, reads);
}

/// Q2: linearizable unless asked otherwise, and the answer says so.
pub async fn q2_reads_are_linearizable_by_default(case: &Case) {
    assert_eq!(ReadOptions::default().mode, ReadMode::Linearizable);
    assert_eq!(ReadOptions::default().deadline, Duration::from_secs(2));
    case.up("orders", "a").await;
    assert_eq!(case.discover("orders").await.read, ReadMode::Linearizable);
    // Without stale reads they are answered linearizable, and say that.
    let answer = case.registry.discover(&query("orders"), ReadOptions::stale()).await.expect("a stale read");
    if answer.read == ReadMode::Linearizable {
        assert_eq!(answer.len(), 1);
    }
}

/// Q2: a stale read is asked for, and says that it is one.
pub async fn q2_a_stale_read_says_so(case: &Case) {
    case.up("orders", "a").await;
    let stale = async || {
        let answer =
            case.registry.discover(&query("orders"), ReadOptions::stale()).await.expect("a stale read");
        assert_eq!(answer.read, ReadMode::Stale);
        (answer.len() == 1).then_some(())
    };
    case.eventually("a stale read catches up", case.soon(), stale).await;
}

/// Q3: nobody there is an answer, and an empty one.
pub async fn q3_empty_is_ok_and_empty(case: &Case) {
    assert!(case.discover("never-registered").await.is_empty());
    let a = case.up("orders", "a").await;
    case.down(&a.lease).await;
    assert!(case.discover("orders").await.is_empty());
    let of_version = query("orders").with_version(version("1"));
    assert!(case.registry.discover(&of_version, ReadOptions::default()).await.expect("an answer").is_empty());
}

/// Q3: a closed handle is an error, not an empty list.
pub async fn q3_closed_is_an_error(case: &Case) {
    case.up("orders", "a").await;
    case.registry.close().await;
    for name in ["orders", "never-registered"] {
        for options in [ReadOptions::default(), ReadOptions::stale()] {
            refused!(case.registry.discover(&query(name), options).await, ErrorKind::Closed);
        }
    }
    refused!(case.registry.services(ReadOptions::default()).await, ErrorKind::Closed);
}

/// Q3: a backend that is gone is an error, never an empty list.
pub async fn q3_unreachable_is_an_error(case: &Case) {
    case.up("orders", "a").await;
    let faults = case.faults();
    faults.kill().await;
    for name in ["orders", "never-registered"] {
        let answer = case.registry.discover(&query(name), ReadOptions::default()).await;
        refused!(answer, ErrorKind::Unavailable { .. } | ErrorKind::DeadlineExceeded);
    }
    let names = case.registry.services(ReadOptions::default()).await;
    refused!(names, ErrorKind::Unavailable { .. } | ErrorKind::DeadlineExceeded);
    faults.heal().await;
    case.eventually("the backend answers again", case.soon(), async || {
        case.registry.discover(&query("orders"), ReadOptions::default()).await.ok()
    })
    .await;
}

/// Names that resemble each other, for Q4.
const LOOKALIKES: [&str; 11] =
    ["demo", "demo-b", "demo.b", "demo_b", "Demo", "demo0", "demo00", "dem", "xdemo", "demo.", "b"];

/// Q4: a list holds what belongs to exactly this service.
pub async fn q4_a_list_is_of_exactly_one_service(case: &Case) {
    let names: Vec<_> = LOOKALIKES.iter().filter(|name| !name.ends_with('.')).collect();
    for name in &names {
        case.up(name, &format!("of-{name}")).await;
    }
    for name in &names {
        assert_eq!(case.ids(name).await, [format!("of-{name}")], "{name}");
    }
    assert!(case.ids("dem0").await.is_empty());
}

/// Q4: so does a watch.
pub async fn q4_a_watch_is_of_exactly_one_service(case: &Case) {
    let mut watched = case.watch("demo").await;
    for name in ["demo-b", "Demo", "demo0", "dem", "demo.b"] {
        let a = case.up(name, "a").await;
        case.down(&a.lease).await;
    }
    case.up("demo", "mine").await;
    let change = watched.next_change().await;
    assert!(matches!(&change, Change::Added(instance) if instance.id == "mine"), "{change:?}");
    watched.quiet(case.timing.eps).await;
}

/// Q6: however short the deadline, the answer or its error comes by then.
pub async fn q6_a_short_deadline_is_kept(case: &Case) {
    case.up("orders", "a").await;
    for deadline in [Duration::ZERO, Duration::from_millis(1), Duration::from_millis(20)] {
        let options = ReadOptions::default().within(deadline);
        let asked = Instant::now();
        let list = case.registry.discover(&query("orders"), options).await;
        let names = case.registry.services(options).await;
        let took = asked.elapsed();
        assert!(took <= deadline * 2 + case.timing.eps, "{took:?} for two reads of {deadline:?}");
        match list {
            Ok(snapshot) => assert_eq!(snapshot.len(), 1),
            Err(error) => assert_eq!(error.kind(), &ErrorKind::DeadlineExceeded),
        }
        if let Err(error) = names {
            assert_eq!(error.kind(), &ErrorKind::DeadlineExceeded);
        }
    }
    let far = ReadOptions::default().within(Duration::MAX);
    assert_eq!(case.registry.discover(&query("orders"), far).await.expect("no overflow").len(), 1);
}

/// Q6: the deadline holds against a backend that says nothing.
pub async fn q6_the_deadline_holds_against_silence(case: &Case) {
    case.up("orders", "a").await;
    let faults = case.faults();
    faults.freeze().await;
    for deadline in [Duration::from_millis(300), Duration::from_secs(2)] {
        let options = ReadOptions::default().within(deadline);
        let asked = Instant::now();
        let answer = case.registry.discover(&query("orders"), options).await;
        let took = asked.elapsed();
        refused!(answer, ErrorKind::DeadlineExceeded | ErrorKind::Unavailable { .. });
        assert!(took <= deadline + case.timing.eps, "{took:?} for a deadline of {deadline:?}");
        let names = timeout(deadline + case.timing.eps, case.registry.services(options)).await;
        refused!(
            names.expect("services() keeps the deadline"),
            ErrorKind::DeadlineExceeded | ErrorKind::Unavailable { .. }
        );
    }
    faults.heal().await;
}

/// Q7: after a watch told of a change, every list that begins to be read afterwards has it.
pub async fn q7_what_a_watch_told_is_listed(case: &Case) {
    let other = case.other().await;
    let mut watched = case.watch("orders").await;
    for round in 0..10_u16 {
        let a = other.register(case.registration("orders", "a")).await.expect("a registration");
        watched.next_change().await;
        let told = watched.state();
        let listed = case.discover("orders").await;
        assert!(listed.revision >= told.revision, "a list older than an event");
        assert_eq!(listed.get(&id("a")).map(|i| i.generation), Some(a.generation()));
        other.update(&a.lease, spec(100 + round)).await.expect("an update");
        assert_eq!(
            *case.discover("orders").await.instances[0].own,
            spec(100 + round),
            "an acknowledged update"
        );
        watched.next_change().await;
        other.deregister(&a.lease).await.expect("a deregistration");
        watched.next_change().await;
        assert!(case.discover("orders").await.is_empty());
    }
}

/// Q7: nor is a watch ever ahead of a list, while somebody else writes.
pub async fn q7_no_event_is_ahead_of_a_list(case: &Case) {
    let other = case.other().await;
    let a = other.register(case.registration("orders", "a")).await.expect("a registration");
    let mut watched = case.watch("orders").await;
    let mut writer = JoinSet::new();
    writer.spawn(async move {
        for n in 1..=300_u32 {
            other.update(&a.lease, tagged("n", n.to_string())).await.expect("an update");
            // Slower than the reader, so that each event is met when it is new.
            tokio::time::sleep(Duration::from_micros(200)).await;
        }
    });
    let mut met = 0;
    while met < 300 {
        met += watched.next_changes(case.soon()).await.len();
        let told = watched.state();
        let listed = case.discover("orders").await;
        assert!(
            listed.revision >= told.revision,
            "the list is at {}, the event at {}",
            listed.revision,
            told.revision
        );
    }
    writer.join_next().await.expect("a writer").expect("it does not panic");
}

/// Q8: all that live are listed with what they say; those that may be called are told apart.
pub async fn q8_all_living_are_listed_and_the_routable_told_apart(case: &Case) {
    let bodies = [
        ("up", spec(80), true),
        ("healthy", spec(80).with_health(Health::Healthy), true),
        ("starting", spec(80).with_status(InstanceStatus::Starting), false),
        ("draining", spec(80).with_status(InstanceStatus::Draining), false),
        ("disabled", spec(80).with_status(InstanceStatus::Disabled), false),
        ("weightless", spec(80).with_weight(0), false),
        ("degraded", spec(80).with_health(Health::Degraded), false),
        ("unhealthy", spec(80).with_health(Health::Unhealthy), false),
        ("overridden", spec(80), false),
    ];
    for (instance, body, _) in &bodies {
        let mut registration = case.registration("orders", instance);
        registration.instance = body.clone();
        case.register(&registration).await;
    }
    let disable = Override::status(OverrideStatus::Disabled, "test", "Q8");
    case.registry
        .set_override(&service("orders"), &id("overridden"), Some(disable))
        .await
        .expect("an override");
    let snapshot = case.discover("orders").await;
    assert_eq!(snapshot.len(), bodies.len(), "all that live are listed");
    for (instance, body, _) in &bodies {
        assert_eq!(&*snapshot.get(&id(instance)).expect("listed").own, body);
    }
    assert_eq!(snapshot.get(&id("overridden")).map(|i| i.status()), Some(InstanceStatus::Disabled));
    let mut routable: Vec<_> =
        bodies.iter().filter(|(_, _, routable)| *routable).map(|(name, ..)| *name).collect();
    routable.sort_unstable();
    let told: Vec<_> = snapshot.routable().map(|instance| instance.id.as_str()).collect();
    assert_eq!(told, routable);
    assert_eq!(snapshot.left_out().total(), snapshot.len() - routable.len());
}

/// Q9: a version that is asked for comes alone, its overrides merged.
pub async fn q9_a_version_comes_alone(case: &Case) {
    for (instance, body) in [
        ("none", spec(80)),
        ("one", spec(80).with_version(version("1"))),
        ("one-a", spec(80).with_version(version("1"))),
        ("one-dot", spec(80).with_version(version("1.0"))),
        ("two", spec(80).with_version(version("2"))),
        ("eleven", spec(80).with_version(version("11"))),
    ] {
        let mut registration = case.registration("orders", instance);
        registration.instance = body;
        case.register(&registration).await;
    }
    for instance in ["one", "two"] {
        let weight = Override::weight(7, "test", "Q9");
        case.registry
            .set_override(&service("orders"), &id(instance), Some(weight))
            .await
            .expect("an override");
    }
    let asked = query("orders").with_version(version("1"));
    let snapshot = case.registry.discover(&asked, ReadOptions::default()).await.expect("a list");
    let ids: Vec<_> = snapshot.instances.iter().map(|instance| instance.id.as_str()).collect();
    assert_eq!(ids, ["one", "one-a"]);
    assert_eq!(snapshot.version, asked.version);
    assert_eq!(snapshot.instances[0].weight(), 7, "the override is merged");
    assert_eq!(discover(&*case.registry, "orders").await.len(), 6);
}
