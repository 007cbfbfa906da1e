use registry_core::ErrorKind;

use super::*;

/// Within the deadline that reads have by default.
async fn short_read(session: &Session) -> Result<RangeAnswer> {
    session.range(RangeRequest::of(KeyRange::one("k")), Duration::from_secs(2)).await
}

#[tokio::test]
async fn reads_and_transactions_say_what_etcd_says() {
    let cluster = one().await;
    let session = open(&cluster);
    let lease = session.grant(Duration::from_mins(1)).await.unwrap();
    assert!(lease.ttl >= Duration::from_mins(1));
    let create = Txn {
        compare: vec![Compare::Absent(b"a/1".to_vec())],
        success: vec![
            Op::Put { key: b"a/1".to_vec(), value: b"one".to_vec(), lease: Some(lease.lease) },
            put("a/2", "two"),
        ],
        failure: vec![Op::Get { key: b"a/1".to_vec() }],
    };
    let made = session.txn(create.clone()).await.unwrap();
    assert!(made.succeeded);
    assert_eq!(made.answers, [OpAnswer::Put, OpAnswer::Put]);

    let again = session.txn(create).await.unwrap();
    assert!(!again.succeeded);
    let [OpAnswer::Got(found)] = &again.answers[..] else { panic!("{:?}", again.answers) };
    assert_eq!((&found[0].value[..], found[0].lease), (&b"one"[..], Some(lease.lease)));

    let at = made.revision.number();
    let held = vec![Compare::ModRevision(b"a/1".to_vec(), at), Compare::Lease(b"a/1".to_vec(), lease.lease)];
    let delete = Txn { compare: held, success: vec![Op::Delete { key: b"a/1".to_vec() }], failure: vec![] };
    let deleted = session.txn(delete).await.unwrap();
    assert!(deleted.succeeded && deleted.revision.is_after(made.revision));
    assert_eq!(deleted.answers, [OpAnswer::Deleted(1)]);

    let prefix = RangeRequest::of(KeyRange::prefix("a/"));
    let now = session.range(prefix.clone(), SOON).await.unwrap();
    assert_eq!(now.kvs.iter().map(|kv| &kv.key[..]).collect::<Vec<_>>(), [b"a/2"]);
    let pinned = RangeRequest { revision: Some(at), limit: 1, keys_only: true, ..prefix };
    let then = session.range(pinned, SOON).await.unwrap();
    assert!(then.more);
    assert_eq!((&then.kvs[0].key[..], &then.kvs[0].value[..]), (&b"a/1"[..], &b""[..]));
    let stale = RangeRequest { stale: true, ..RangeRequest::of(KeyRange::one("a/2")) };
    assert_eq!(session.range(stale, SOON).await.unwrap().kvs[0].value, b"two");

    assert!(session.revoke(lease.lease).await.unwrap());
    assert!(!session.revoke(lease.lease).await.unwrap());
}

#[tokio::test]
async fn refusals_have_their_kinds() {
    let cluster = one().await;
    let session = open(&cluster);
    let dead = Op::Put { key: b"k".to_vec(), value: vec![], lease: Some(LeaseId(77)) };
    assert_eq!(*session.txn(all([dead])).await.unwrap_err().kind(), ErrorKind::NotRegistered);

    let first = write(&session, "k", "1").await;
    let last = write(&session, "k", "2").await;
    cluster.ctl(&["compact", &last.to_string()]).await.unwrap();
    let gone = RangeRequest { revision: Some(first), ..RangeRequest::of(KeyRange::one("k")) };
    let error = session.range(gone, SOON).await.unwrap_err();
    assert!(crate::error::is_history_gone(&error), "{error:?}");
    assert!(error.target().is_some_and(|target| target.starts_with("etcd://")));
}

#[tokio::test]
async fn a_write_to_a_frozen_server_is_ambiguous_and_to_a_dead_one_unavailable() {
    let cluster = one().await;
    let session = open_by_default(&cluster);
    write(&session, "k", "1").await;
    cluster.stop(0).unwrap();
    let begun = Instant::now();
    let error = session.txn(all([put("k", "2")])).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Ambiguous);
    assert!(begun.elapsed() < Duration::from_millis(2_500), "{:?}", begun.elapsed());
    let error = session.grant(Duration::from_secs(5)).await.unwrap_err();
    assert!(
        matches!(error.kind(), ErrorKind::Unavailable { .. }),
        "nothing that anyone could see: {error:?}"
    );
    let error = short_read(&session).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::DeadlineExceeded);

    cluster.kill(0).unwrap();
    let begun = Instant::now();
    let error = session.txn(all([put("k", "3")])).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unavailable { .. }), "{error:?}");
    assert!(matches!(short_read(&session).await.unwrap_err().kind(), ErrorKind::Unavailable { .. }));
    assert!(begun.elapsed() < Duration::from_millis(500), "refused at once: {:?}", begun.elapsed());

    cluster.restart(0).await.unwrap();
    write(&session, "k", "4").await;
}

#[tokio::test]
async fn a_frozen_follower_costs_one_attempt_once() {
    let cluster = three().await;
    let leader = cluster.leader().await.unwrap();
    let (session, follower) = loop {
        let session = open_by_default(&cluster);
        let mut feed = session.follow(KeyRange::prefix("a/"), 1);
        live(&mut feed).await;
        // All connections of a session are to one member, chosen at random.
        let member = watched_member(&cluster).await;
        if member != leader {
            break (session, member);
        }
        session.close().await;
        until("the stream ends", || async { cluster.metrics(leader).await.unwrap().watch_streams() == 0 })
            .await;
    };
    short_read(&session).await.unwrap();
    cluster.stop(follower).unwrap();
    short_read(&session).await.expect("the next member answers within the deadline");
    let begun = Instant::now();
    for _ in 0..20 {
        write(&session, "k", "v").await;
    }
    assert!(
        begun.elapsed() < Duration::from_secs(1),
        "the next member is stayed with: {:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn dead_members_are_passed_over_also_to_write() {
    let cluster = three().await;
    cluster.kill(0).unwrap();
    cluster.leader().await.unwrap();
    cluster.ready().await.unwrap();
    // Wherever each begins.
    for n in 0..12 {
        let session = open(&cluster);
        write(&session, &format!("k{n}"), "v").await;
    }
}

#[tokio::test]
async fn data_lost_under_the_same_cluster_id_is_another_lineage() {
    let cluster = one().await;
    let session = open(&cluster);
    for _ in 0..10 {
        write(&session, "k", "v").await;
    }
    let before = read(&session, "k").await.unwrap().revision;
    cluster.wipe(0).unwrap();
    cluster.restart(0).await.unwrap();
    let after = read(&session, "k").await.unwrap().revision;
    assert!(after.number() < before.number());
    assert_eq!(after.lineage().origin(), before.lineage().origin(), "the cluster id is the same");
    assert_ne!(after.lineage(), before.lineage());
    assert_eq!(session.lineage(), Some(after.lineage()));
}

#[tokio::test]
async fn close_is_bounded_with_the_only_member_frozen_and_leaves_nothing() {
    let cluster = one().await;
    let before = tasks();
    let session = open(&cluster);
    let lease = session.grant(Duration::from_mins(1)).await.unwrap().lease;
    session.renew(lease, SOON).await.unwrap();
    let mut feed = session.follow(KeyRange::prefix("a/"), 1);
    live(&mut feed).await;
    assert!(tasks() > before);
    cluster.stop(0).unwrap();
    let in_flight = session.clone();
    let call = async move { read(&in_flight, "k").await };
    let heart = session.clone();
    let beat = async move { heart.renew(lease, SOON).await };
    let closing = async {
        sleep(Duration::from_millis(100)).await;
        let begun = Instant::now();
        session.close().await;
        session.close().await;
        begun.elapsed()
    };
    let (call, beat, took) = tokio::join!(call, beat, closing);
    assert_eq!(*call.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(*beat.unwrap_err().kind(), ErrorKind::Closed);
    assert!(took < Duration::from_millis(500), "{took:?}");
    assert!(matches!(end(&mut feed).await, FollowEnd::Closed));
    assert_eq!(tasks(), before);
    assert_eq!(*read(&session, "k").await.unwrap_err().kind(), ErrorKind::Closed);
    assert_eq!(*session.renew(lease, SOON).await.unwrap_err().kind(), ErrorKind::Closed);
    assert!(matches!(end(&mut session.follow(KeyRange::one("k"), 1)).await, FollowEnd::Closed));
}

#[tokio::test]
async fn everything_ends_with_the_last_clone() {
    let cluster = one().await;
    let before = tasks();
    let session = open(&cluster);
    let lease = session.grant(Duration::from_mins(1)).await.unwrap().lease;
    session.renew(lease, SOON).await.unwrap();
    let mut feed = session.follow(KeyRange::prefix("a/"), 1);
    live(&mut feed).await;
    drop(session.clone());
    write(&session, "a/1", "v").await;
    assert_eq!(batch(&mut feed).await.1, 1, "one clone is left");
    drop(session);
    assert!(matches!(end(&mut feed).await, FollowEnd::Closed));
    until("no task is left", || async { tasks() == before }).await;
}
