//! Dialogues with a server that is played by the test.

use std::sync::Arc;

use futures::FutureExt;
use futures::StreamExt;
use registry_core::FollowEnd;

use super::*;
use crate::client::feed::{EventKind, Feed, FeedEvent};
use crate::client::tasks::Tasks;
use crate::client::watch::Inbox;

const CLUSTER: u64 = 7;
const P: Duration = Duration::from_secs(5);

struct Dialogue {
    mux: Mux,
    history: History,
    inbox: Arc<Inbox>,
    now: Instant,
}

impl Dialogue {
    fn new() -> Self {
        let now = Instant::now();
        let inbox = Arc::new(Inbox::new(Tasks::default()));
        Self { mux: Mux::new(P, Duration::from_secs(2), now), history: History::new(), inbox, now }
    }

    fn want(&mut self, id: u64, after: u64) -> Feed {
        let (feed, sink) = Feed::new(id, Arc::clone(&self.inbox));
        let range = KeyRange::prefix("a/");
        self.mux.add(Wanted { id, range, after, lineage: self.history.lineage(), sink });
        feed
    }

    fn asks(&mut self) -> Option<Request> {
        self.mux.next_request(self.now)
    }

    /// Answers the create that is asked for now.
    fn create(&mut self, revision: u64) -> Option<Question> {
        let Some(Request::Create { id, .. }) = self.asks() else { panic!("no create was asked for") };
        self.hear(Message { created: true, revision, ..about(id) })
    }

    fn hear(&mut self, message: Message) -> Option<Question> {
        self.mux.hear(message, &self.history, self.now)
    }

    fn watched(&mut self, id: u64, after: u64) -> Feed {
        let feed = self.want(id, after);
        assert_eq!(self.create(after), None);
        feed
    }
}

fn about(id: u64) -> Message {
    Message { watch: Some(id), cluster: CLUSTER, ..Message::default() }
}

fn events(id: u64, revisions: &[u64]) -> Message {
    let events = revisions.iter().map(|revision| Event {
        kind: EventKind::Delete { key: b"a/1".to_vec(), revision: *revision },
        prev: None,
    });
    Message { events: events.collect(), ..about(id) }
}

/// What a feed gives without waiting: revisions of batches, `p` and a revision for progress, the end's name.
fn given(feed: &mut Feed) -> Vec<String> {
    let mut seen = Vec::new();
    while let Some(Some(item)) = feed.next().now_or_never() {
        seen.push(match item {
            Ok(FeedEvent::Batch { revision, .. }) => revision.to_string(),
            Ok(FeedEvent::Progress(revision)) => format!("p{revision}"),
            Err(FollowEnd::Disconnected(_)) => "disconnected".to_owned(),
            Err(FollowEnd::Denied(_)) => "denied".to_owned(),
            Err(end) => format!("{end:?}"),
        });
    }
    seen
}

#[test]
fn watches_are_made_one_after_the_other_from_the_next_revision() {
    let mut dialogue = Dialogue::new();
    let _feeds = (dialogue.want(1, 10), dialogue.want(2, 20));
    assert!(matches!(dialogue.asks(), Some(Request::Create { id: 1, start: 11, .. })));
    assert_eq!(dialogue.asks(), None, "the first is not answered yet");
    dialogue.hear(Message { created: true, revision: 10, ..about(1) });
    assert!(matches!(dialogue.asks(), Some(Request::Create { id: 2, start: 21, .. })));
}

#[test]
fn a_message_is_given_out_by_revision_and_fragments_as_one() {
    let mut dialogue = Dialogue::new();
    let mut feed = dialogue.watched(1, 10);
    dialogue.hear(events(1, &[11, 11, 13]));
    assert_eq!(given(&mut feed), ["11", "13"]);
    dialogue.hear(Message { fragment: true, ..events(1, &[14]) });
    assert!(given(&mut feed).is_empty());
    dialogue.hear(events(1, &[14]));
    assert_eq!(given(&mut feed), ["14"]);
}

#[test]
fn what_was_delivered_does_not_come_again() {
    let mut dialogue = Dialogue::new();
    let mut feed = dialogue.watched(1, 10);
    dialogue.hear(events(1, &[9, 10, 11]));
    dialogue.hear(events(1, &[11]));
    assert_eq!(given(&mut feed), ["11"]);
}

#[test]
fn progress_tells_the_last_batch_and_never_what_the_server_says() {
    let mut dialogue = Dialogue::new();
    let mut feed = dialogue.watched(1, 10);
    dialogue.hear(events(1, &[11]));
    dialogue.hear(Message { cluster: CLUSTER, revision: 99, ..Message::default() });
    assert_eq!(given(&mut feed), ["11", "p11"]);
}

#[test]
fn a_new_watch_is_told_at_once_the_others_each_silence() {
    let mut dialogue = Dialogue::new();
    let mut old = dialogue.watched(1, 10);
    let progress = || Message { cluster: CLUSTER, revision: 10, ..Message::default() };
    assert!(dialogue.mux.tick(dialogue.now));
    assert_eq!(dialogue.asks(), Some(Request::Progress), "right after the create");
    dialogue.hear(progress());
    let mut new = dialogue.watched(2, 10);
    dialogue.hear(progress());
    assert_eq!(given(&mut old), ["p10"], "once, though a second answer came");
    assert_eq!(given(&mut new), ["p10"]);
    dialogue.now += P;
    assert!(dialogue.mux.tick(dialogue.now));
    dialogue.hear(progress());
    assert_eq!((given(&mut old), given(&mut new)), (vec!["p10".to_owned()], vec!["p10".to_owned()]));
}

#[test]
fn a_slow_consumer_lags_alone_and_is_cancelled() {
    let mut dialogue = Dialogue::new();
    let mut slow = dialogue.watched(1, 0);
    let mut other = dialogue.watched(2, 0);
    for revision in 1..=5_000 {
        dialogue.hear(events(1, &[revision]));
    }
    dialogue.hear(events(2, &[5_000]));
    assert_eq!(dialogue.asks(), Some(Request::Cancel(1)));
    assert_eq!(given(&mut other), ["5000"]);
    let seen = given(&mut slow);
    assert_eq!(seen.first().unwrap(), "1");
    assert_eq!(seen.last().unwrap(), "Lagged");
}

#[test]
fn compaction_ends_one_watch() {
    let mut dialogue = Dialogue::new();
    let mut feed = dialogue.watched(1, 10);
    let mut other = dialogue.watched(2, 10);
    // As etcd sends it: revision 0, no reason.
    dialogue.hear(Message { canceled: true, compacted: Some(50), ..about(1) });
    assert_eq!(given(&mut feed), ["Compacted"]);
    assert!(given(&mut other).is_empty());
    assert_eq!(dialogue.asks(), Some(Request::Cancel(1)), "etcd 3.5 holds progress back until then");
    assert_eq!(dialogue.asks(), None, "once");
}

#[test]
fn a_compacted_watch_holds_no_progress_back_whatever_the_server_answers_its_cancel() {
    for answer in [None, Some(Message { canceled: true, ..about(1) })] {
        let mut dialogue = Dialogue::new();
        let mut feed = dialogue.watched(1, 10);
        let mut other = dialogue.watched(2, 10);
        assert!(dialogue.mux.tick(dialogue.now));
        assert_eq!(dialogue.asks(), Some(Request::Progress), "which is not answered");
        let compacted = Message { canceled: true, compacted: Some(50), ..about(1) };
        dialogue.hear(compacted.clone());
        assert_eq!(dialogue.asks(), Some(Request::Cancel(1)));
        // Said again, as to any watch that is unknown.
        dialogue.hear(compacted);
        if let Some(answer) = answer {
            dialogue.hear(answer);
        }
        assert_eq!(dialogue.asks(), None);
        dialogue.now += Duration::from_millis(250);
        assert!(dialogue.mux.tick(dialogue.now));
        assert_eq!(dialogue.asks(), Some(Request::Progress), "again");
        dialogue.hear(Message { cluster: CLUSTER, revision: 10, ..Message::default() });
        assert_eq!((given(&mut feed), given(&mut other)), (vec!["Compacted".into()], vec!["p10".into()]));
    }
}

#[test]
fn refused_and_denied_watches_are_not_cancelled() {
    let mut dialogue = Dialogue::new();
    let mut feed = dialogue.watched(1, 10);
    dialogue.hear(Message { canceled: true, reason: "etcdserver: no space".into(), ..about(1) });
    assert_eq!(given(&mut feed).len(), 1);
    assert_eq!(dialogue.asks(), None);
}

#[test]
fn a_member_behind_the_position_is_doubted_and_its_events_held_back() {
    let mut dialogue = Dialogue::new();
    let mut feed = dialogue.want(1, 100);
    let question = dialogue.create(40);
    assert_eq!(question, Some(Question::Behind { id: 1, range: KeyRange::prefix("a/") }));
    dialogue.hear(events(1, &[101]));
    assert!(given(&mut feed).is_empty());
    dialogue.mux.settled(1, &dialogue.history, dialogue.now);
    assert_eq!(given(&mut feed), ["101"]);
}

#[test]
fn a_member_at_the_position_is_not_doubted() {
    let mut dialogue = Dialogue::new();
    let _feed = dialogue.want(1, 100);
    assert_eq!(dialogue.create(100), None);
}

#[test]
fn another_cluster_changes_the_lineage() {
    let mut dialogue = Dialogue::new();
    dialogue.history.committed(CLUSTER, 100);
    let mut created = dialogue.want(1, 100);
    let Some(Request::Create { id, .. }) = dialogue.asks() else { panic!() };
    dialogue.hear(Message { created: true, cluster: 8, revision: 200, ..about(id) });
    assert_eq!(given(&mut created), ["LineageChanged"]);
    assert_eq!(dialogue.asks(), Some(Request::Cancel(1)));
}

#[test]
fn a_break_that_others_noticed_ends_the_watches_of_the_old_history() {
    let mut dialogue = Dialogue::new();
    let at = dialogue.history.committed(CLUSTER, 10).lineage();
    let mut feed = dialogue.watched(1, 10);
    let lineage = dialogue.history.broken(at);
    dialogue.mux.enter(Some(lineage));
    assert_eq!(given(&mut feed), ["LineageChanged"]);
}

#[test]
fn refused_credentials_are_asked_about_and_other_refusals_end_the_watch() {
    let mut dialogue = Dialogue::new();
    let refuse = |reason: &str| Message {
        created: true,
        canceled: true,
        reason: reason.to_owned(),
        cluster: CLUSTER,
        ..Message::default()
    };
    let _denied = dialogue.want(1, 10);
    dialogue.asks();
    let question = dialogue.hear(refuse("etcdserver: permission denied"));
    assert!(matches!(question, Some(Question::Refused { id: 1, .. })));
    let _expired = dialogue.want(2, 10);
    dialogue.asks();
    let question = dialogue.hear(refuse("etcdserver: invalid auth token"));
    assert!(matches!(question, Some(Question::Refused { id: 2, .. })));
    let mut other = dialogue.want(3, 10);
    dialogue.asks();
    assert_eq!(dialogue.hear(refuse("etcdserver: mvcc: something")), None);
    assert_eq!(given(&mut other), ["disconnected"]);
}

#[test]
fn a_watch_left_while_it_is_made_is_cancelled_once_it_is() {
    let mut dialogue = Dialogue::new();
    let _feed = dialogue.want(1, 10);
    dialogue.asks();
    dialogue.mux.remove(1);
    assert!(!dialogue.mux.is_empty(), "the server is making it");
    dialogue.hear(Message { created: true, revision: 10, ..about(1) });
    assert_eq!(dialogue.asks(), Some(Request::Cancel(1)));
    assert!(dialogue.mux.is_empty());
}

#[test]
fn a_watch_left_while_it_waits_is_never_made() {
    let mut dialogue = Dialogue::new();
    let _feeds = (dialogue.want(1, 10), dialogue.want(2, 10));
    dialogue.mux.remove(1);
    assert!(matches!(dialogue.asks(), Some(Request::Create { id: 2, .. })));
}

#[test]
fn messages_about_unknown_watches_are_ignored() {
    let mut dialogue = Dialogue::new();
    dialogue.hear(events(9, &[1]));
    dialogue.hear(Message { canceled: true, ..about(9) });
    dialogue.hear(Message { created: true, ..about(9) });
    assert_eq!(dialogue.asks(), None);
}
