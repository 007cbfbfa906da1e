use registry_memory::MemoryRegistry;
use tokio::time::timeout;

use super::*;
use crate::words::{id, service, spec};

const SOON: Duration = Duration::from_millis(100);

fn registration() -> Registration {
    Registration::new(service("orders"), id("a"), spec(80))
}

fn chaos() -> Chaos {
    Chaos::new(Arc::new(MemoryRegistry::new()))
}

/// Whether the instance is there, asked without chaos.
async fn is_there(chaos: &Chaos) -> bool {
    let query = Query::new(service("orders"));
    !chaos.inner.discover(&query, ReadOptions::default()).await.unwrap().is_empty()
}

#[tokio::test(start_paused = true)]
async fn each_fault_does_what_it_says() {
    for (fault, ends, done) in [
        (Fault::None, true, true),
        (Fault::Refused, true, false),
        (Fault::Silent, false, false),
        (Fault::ReplyLost, true, true),
        (Fault::ReplySilent, false, true),
        (Fault::Late(SOON * 2), false, false),
        (Fault::Late(SOON / 2), true, true),
    ] {
        let chaos = chaos();
        chaos.script(Call::Register, [fault]);
        let answer = timeout(SOON, chaos.register(registration())).await;
        assert_eq!((answer.is_ok(), is_there(&chaos).await), (ends, done), "{fault:?}");
        let made = chaos.calls(Call::Register).remove(0);
        assert_eq!((made.fault, made.ended), (fault, ends), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_is_ambiguous_for_a_write_and_unavailable_for_the_rest() {
    let chaos = chaos();
    let registered = chaos.register(registration()).await.unwrap();
    chaos.always(Call::Update, Fault::ReplyLost);
    chaos.always(Call::Heartbeat, Fault::ReplyLost);
    let update = chaos.update(&registered.lease, spec(81)).await.unwrap_err();
    assert_eq!(update.kind(), &ErrorKind::Ambiguous);
    let beat = chaos.heartbeat(&registered.lease).await.unwrap_err();
    assert!(matches!(beat.kind(), ErrorKind::Unavailable { .. }));
    chaos.calm();
    chaos.heartbeat(&registered.lease).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_seed_is_the_same_story_every_time() {
    let story = async |seed| {
        let chaos = chaos().seeded(seed, 50, &[Fault::Refused, Fault::ReplyLost]);
        for _ in 0..64 {
            let _ = chaos.holder(&service("orders"), &id("a")).await;
        }
        chaos.made().iter().map(|made| made.fault).collect::<Vec<_>>()
    };
    let first = story(7).await;
    assert_eq!(first, story(7).await);
    assert_ne!(first, story(8).await);
    let hit = first.iter().filter(|fault| **fault != Fault::None).count();
    assert!((16..48).contains(&hit), "{hit} of 64 at 50 per cent");
}
