use futures::future::join_all;
use futures::stream;
use registry_core::ErrorKind;

use super::*;

async fn grant(session: &Session) -> LeaseId {
    session.grant(Duration::from_mins(1)).await.unwrap().lease
}

#[tokio::test]
async fn a_thousand_leases_share_one_stream() {
    let cluster = one().await;
    let session = open(&cluster);
    let leases: Vec<_> = stream::iter(0..1_000).map(|_| grant(&session)).buffer_unordered(64).collect().await;
    for _ in 0..3 {
        let answers = join_all(leases.iter().map(|lease| session.renew(*lease, SOON))).await;
        assert!(answers.into_iter().all(|answer| answer.unwrap() == Some(Duration::from_mins(1))));
    }
    let metrics = cluster.metrics(0).await.unwrap();
    assert_eq!(metrics.keepalive_streams(), 1);
    let begun = [("grpc_service", "etcdserverpb.Lease"), ("grpc_method", "LeaseKeepAlive")];
    assert_eq!(metrics.value_of("grpc_server_started_total", &begun), Some(1.0), "never another");
}

#[tokio::test]
async fn a_lease_that_is_not_there_is_told_in_a_round_trip() {
    let cluster = one().await;
    let session = open(&cluster);
    // As the first of a stream, and on one that is open.
    assert_eq!(session.renew(LeaseId(77), SOON).await.unwrap(), None);
    let (kept, revoked) = (grant(&session).await, grant(&session).await);
    assert!(session.renew(kept, SOON).await.unwrap().is_some());
    assert!(session.renew(revoked, SOON).await.unwrap().is_some());
    session.revoke(revoked).await.unwrap();
    let begun = Instant::now();
    assert_eq!(session.renew(revoked, SOON).await.unwrap(), None);
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    assert!(session.renew(kept, SOON).await.unwrap().is_some(), "it harms nobody else");
}

#[tokio::test]
async fn all_who_wait_are_told_when_the_server_dies_and_the_next_heartbeat_opens_a_stream() {
    let cluster = one().await;
    let session = open(&cluster);
    let leases = join_all((0..10).map(|_| grant(&session))).await;
    session.renew(leases[0], SOON).await.unwrap();
    cluster.stop(0).unwrap();
    let begun = Instant::now();
    let beats = join_all(leases.iter().map(|lease| session.renew(*lease, SOON)));
    let killing = async {
        sleep(Duration::from_millis(100)).await;
        cluster.kill(0).unwrap();
    };
    let (answers, ()) = tokio::join!(beats, killing);
    for answer in answers {
        assert!(matches!(answer.unwrap_err().kind(), ErrorKind::Unavailable { .. }));
    }
    assert!(begun.elapsed() < Duration::from_secs(2), "none waited for its time: {:?}", begun.elapsed());
    let begun = Instant::now();
    assert!(session.renew(leases[0], SOON).await.is_err(), "refused");
    assert!(begun.elapsed() < Duration::from_millis(500));
    cluster.restart(0).await.unwrap();
    let answers = join_all(leases.iter().map(|lease| session.renew(*lease, SOON))).await;
    assert!(answers.into_iter().all(|answer| answer.unwrap().is_some()));
}

#[tokio::test]
async fn a_frozen_member_costs_one_heartbeat() {
    let cluster = three().await;
    let session = open(&cluster);
    let lease = grant(&session).await;
    session.renew(lease, SOON).await.unwrap();
    let mut frozen = None;
    for member in 0..3 {
        if cluster.metrics(member).await.unwrap().keepalive_streams() > 0 {
            frozen = Some(member);
        }
    }
    cluster.stop(frozen.unwrap()).unwrap();
    let within = Duration::from_millis(500);
    let error = session.renew(lease, within).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unavailable { .. }));
    // If it led, the others elect first.
    until("another member answers", || async { matches!(session.renew(lease, within).await, Ok(Some(_))) })
        .await;
}

#[tokio::test]
async fn a_flood_of_calls_and_unread_feeds_does_not_delay_heartbeats() {
    let cluster = one().await;
    let session = open(&cluster);
    let lease = grant(&session).await;
    let value = "x".repeat(100_000);
    let _unread: Vec<_> = (0..3).map(|_| session.follow(KeyRange::prefix("big/"), 1)).collect();
    for n in 0..100 {
        write(&session, &format!("big/{n}"), &value).await;
    }
    let begun = Instant::now();
    assert!(session.renew(lease, SOON).await.unwrap().is_some());
    read(&session, "k").await.unwrap();
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}
