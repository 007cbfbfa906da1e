use futures::future::join_all;

use super::*;

#[tokio::test]
async fn a_thousand_watches_share_one_stream_and_dropping_them_cancels_them() {
    let cluster = one().await;
    let session = open(&cluster);
    let at = revision(&session).await;
    let mut feeds: Vec<_> =
        (0..1_000).map(|n| session.follow(KeyRange::prefix(format!("s{n:03}/")), at)).collect();
    let begun = Instant::now();
    join_all(feeds.iter_mut().map(live)).await;
    println!("1,000 watches live after {:?}", begun.elapsed());
    let metrics = cluster.metrics(0).await.unwrap();
    assert_eq!((metrics.watch_streams(), metrics.watchers()), (1, 1_000));

    for half in [0, 500] {
        let puts = (half..half + 100).map(|n| put(format!("s{n:03}/a"), "v"));
        session.txn(all(puts)).await.unwrap();
    }
    assert_eq!(batch(&mut feeds[550]).await.1, 1);
    assert_eq!(batch(&mut feeds[50]).await.1, 1);

    feeds.truncate(1);
    let begun = Instant::now();
    until("the others are cancelled", || async { cluster.metrics(0).await.unwrap().watchers() == 1 }).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "W13: {:?}", begun.elapsed());
    assert_eq!(batch(&mut feeds[0]).await.1, 1, "one is left");
}

#[tokio::test]
async fn a_revision_is_one_batch_with_what_was_there_before() {
    let cluster = one().await;
    let session = open(&cluster);
    let lease = session.grant(Duration::from_mins(1)).await.unwrap().lease;
    let at = revision(&session).await;
    let mut feed = session.follow(KeyRange::prefix("a/"), at);
    let owned = Op::Put { key: b"a/1".to_vec(), value: b"one".to_vec(), lease: Some(lease) };
    let made = session.txn(all([owned, put("a/2", "two"), put("b/1", "other")])).await.unwrap().revision;
    assert_eq!(batch(&mut feed).await, (made.number(), 2));
    session.revoke(lease).await.unwrap();
    let gone = loop {
        match next(&mut feed).await.unwrap() {
            FeedEvent::Batch { revision, events } => {
                assert!(revision.is_after(made));
                break events;
            }
            FeedEvent::Progress(_) => {}
        }
    };
    let [Event { kind: EventKind::Delete { key, .. }, prev: Some(prev) }] = &gone[..] else {
        panic!("{gone:?}")
    };
    assert_eq!((&key[..], &prev.value[..], prev.lease), (&b"a/1"[..], &b"one"[..], Some(lease)));
}

#[tokio::test]
async fn a_revision_larger_than_a_message_is_one_batch() {
    let cluster = one().await;
    let session = open(&cluster);
    let lease = session.grant(Duration::from_mins(1)).await.unwrap().lease;
    let value = "x".repeat(16 << 10);
    for page in 0..5 {
        let puts = (0..60).map(|n| Op::Put {
            key: format!("a/{page}/{n}").into_bytes(),
            value: value.clone().into_bytes(),
            lease: Some(lease),
        });
        session.txn(all(puts)).await.unwrap();
    }
    let mut feed = session.follow(KeyRange::prefix("a/"), revision(&session).await);
    live(&mut feed).await;
    session.revoke(lease).await.unwrap();
    assert_eq!(batch(&mut feed).await.1, 300, "with previous values 4.9 MB");
}

#[tokio::test]
async fn history_is_caught_up_in_order() {
    let cluster = one().await;
    let session = open(&cluster);
    let from = revision(&session).await;
    for chunk in 0..25 {
        join_all((0..100).map(|n| async move { format!("a/{chunk}/{n}") }).map(|key| {
            let session = &session;
            async move { write(session, &key.await, "v").await }
        }))
        .await;
    }
    let mut feed = session.follow(KeyRange::prefix("a/"), from);
    for expected in from + 1..=from + 2_500 {
        assert_eq!(batch(&mut feed).await, (expected, 1));
    }
}

#[tokio::test]
async fn a_watch_is_told_soon_that_it_is_live_and_again_each_silence() {
    let cluster = one().await;
    let mut config = config(&cluster);
    config.watch_silence = Duration::from_millis(500);
    let session = Session::open(&config).unwrap();
    let at = revision(&session).await;
    let begun = Instant::now();
    let mut feed = session.follow(KeyRange::prefix("a/"), at);
    live(&mut feed).await;
    assert!(begun.elapsed() < Duration::from_millis(400), "{:?}", begun.elapsed());
    for _ in 0..3 {
        live(&mut feed).await;
    }
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn compacted_history_ends_one_watch() {
    let cluster = one().await;
    let session = open(&cluster);
    let old = write(&session, "a/1", "1").await;
    let new = write(&session, "a/1", "2").await;
    let mut other = session.follow(KeyRange::prefix("b/"), new);
    live(&mut other).await;
    cluster.ctl(&["compact", &new.to_string()]).await.unwrap();
    let mut feed = session.follow(KeyRange::prefix("a/"), old - 1);
    assert!(matches!(end(&mut feed).await, FollowEnd::Compacted));
    write(&session, "b/1", "v").await;
    assert_eq!(batch(&mut other).await.1, 1);
}

/// W9: the stream's other watches are told that they live, and the stream is not given up.
#[tokio::test]
async fn w9_one_compacted_watch_silences_no_stream() {
    let cluster = one().await;
    let mut config = config(&cluster);
    (config.watch_silence, config.watch_answer) = (Duration::from_millis(500), Duration::from_secs(1));
    let session = Session::open(&config).unwrap();
    let old = write(&session, "a/1", "1").await;
    let new = write(&session, "a/1", "2").await;
    cluster.ctl(&["compact", &new.to_string()]).await.unwrap();
    let mut other = session.follow(KeyRange::prefix("b/"), new);
    let mut feed = session.follow(KeyRange::prefix("a/"), old - 1);
    assert!(matches!(end(&mut feed).await, FollowEnd::Compacted));
    for _ in 0..4 {
        live(&mut other).await;
    }
    assert_eq!(cluster.metrics(0).await.unwrap().watchers(), 1, "the compacted one is gone there as well");
}

#[tokio::test]
async fn a_killed_member_is_noticed_at_once_and_nothing_is_lost_over_its_restart() {
    let cluster = one().await;
    let session = open(&cluster);
    let at = revision(&session).await;
    let mut feed = session.follow(KeyRange::prefix("a/"), at);
    write(&session, "a/1", "1").await;
    let (seen, _) = batch(&mut feed).await;
    cluster.kill(0).unwrap();
    let begun = Instant::now();
    assert!(matches!(end(&mut feed).await, FollowEnd::Disconnected(_)));
    assert!(begun.elapsed() < Duration::from_millis(500), "{:?}", begun.elapsed());
    let begun = Instant::now();
    assert!(matches!(
        end(&mut session.follow(KeyRange::prefix("a/"), seen)).await,
        FollowEnd::Disconnected(_)
    ));
    assert!(begun.elapsed() < Duration::from_millis(500), "refused at once: {:?}", begun.elapsed());

    cluster.restart(0).await.unwrap();
    let missed = write(&session, "a/2", "2").await;
    let mut feed = session.follow(KeyRange::prefix("a/"), seen);
    assert_eq!(batch(&mut feed).await, (missed, 1));
}

#[tokio::test]
async fn a_frozen_member_is_found_within_silence_and_answer_and_left() {
    let cluster = three().await;
    let session = open(&cluster);
    let at = revision(&session).await;
    let mut feeds: Vec<_> = (0..3).map(|n| session.follow(KeyRange::prefix(format!("{n}/")), at)).collect();
    join_all(feeds.iter_mut().map(live)).await;
    let member = watched_member(&cluster).await;
    cluster.stop(member).unwrap();
    let begun = Instant::now();
    let ends = join_all(feeds.iter_mut().map(|feed| async { timeout(SOON, end(feed)).await.unwrap() })).await;
    assert!(ends.iter().all(|end| matches!(end, FollowEnd::Disconnected(_))), "{ends:?}");
    let took = begun.elapsed();
    println!("found after {took:?}");
    assert!(took < Duration::from_millis(7_500), "{took:?}");

    let begun = Instant::now();
    until("another member serves it", || async {
        let mut feed = session.follow(KeyRange::prefix("0/"), at);
        matches!(next(&mut feed).await, Ok(FeedEvent::Progress(_)))
    })
    .await;
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_member_without_its_cluster_ends_its_watches() {
    let cluster = three().await;
    let session = open(&cluster);
    let mut feed = session.follow(KeyRange::prefix("a/"), revision(&session).await);
    live(&mut feed).await;
    let member = watched_member(&cluster).await;
    for other in (0..3).filter(|other| *other != member) {
        cluster.kill(other).unwrap();
    }
    let begun = Instant::now();
    assert!(matches!(end(&mut feed).await, FollowEnd::Disconnected(_)));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn data_lost_under_the_same_cluster_id_changes_the_lineage() {
    let cluster = one().await;
    let session = open(&cluster);
    for _ in 0..10 {
        write(&session, "a/1", "v").await;
    }
    let at = revision(&session).await;
    let before = session.lineage();
    let mut feed = session.follow(KeyRange::prefix("a/"), at);
    live(&mut feed).await;
    cluster.wipe(0).unwrap();
    assert!(matches!(end(&mut feed).await, FollowEnd::Disconnected(_)));
    cluster.restart(0).await.unwrap();
    // No call was made: the watch itself must notice, and ask.
    let mut feed = session.follow(KeyRange::prefix("a/"), at);
    assert!(matches!(end(&mut feed).await, FollowEnd::LineageChanged));
    assert_ne!(session.lineage(), before);
}

#[tokio::test]
async fn a_follower_that_lags_is_waited_for() {
    let cluster = three().await;
    let writer = open(&cluster);
    // Each session begins at any member; the list is ahead of most of them.
    for n in 0..30 {
        let session = open(&cluster);
        let at = write(&writer, "a/1", &n.to_string()).await;
        let mut feed = session.follow(KeyRange::prefix("a/"), at);
        let next = write(&writer, "a/2", "v").await;
        assert_eq!(batch(&mut feed).await, (next, 1));
        session.close().await;
    }
}

#[tokio::test]
async fn a_stream_that_nobody_needs_is_closed() {
    let cluster = one().await;
    let mut config = config(&cluster);
    config.watch_silence = Duration::from_millis(200);
    let session = Session::open(&config).unwrap();
    let mut feed = session.follow(KeyRange::prefix("a/"), revision(&session).await);
    live(&mut feed).await;
    drop(feed);
    until("it is closed", || async { cluster.metrics(0).await.unwrap().watch_streams() == 0 }).await;
    let mut feed = session.follow(KeyRange::prefix("a/"), revision(&session).await);
    live(&mut feed).await;
}

#[tokio::test]
async fn feeds_opened_and_dropped_leave_nothing_behind() {
    let cluster = one().await;
    let session = open(&cluster);
    let at = revision(&session).await;
    let mut kept = session.follow(KeyRange::prefix("kept/"), at);
    live(&mut kept).await;
    let tasks_before = tasks();
    for n in 0..2_000 {
        let mut feed = session.follow(KeyRange::prefix(format!("{n}/")), at);
        if n % 4 == 0 {
            live(&mut feed).await;
        }
    }
    until("one is left", || async { cluster.metrics(0).await.unwrap().watchers() == 1 }).await;
    assert_eq!(tasks(), tasks_before);
    write(&session, "kept/1", "v").await;
    assert_eq!(batch(&mut kept).await.1, 1);
}
