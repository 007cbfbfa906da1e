//! The program beside the test: what it says line by line, and signals for it.

use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdout, Command};
use tokio::time::{Instant, timeout};

use crate::running::LIMIT;

pub(super) struct Beside {
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    err: Lines<BufReader<ChildStderr>>,
}

impl Beside {
    pub(super) fn start(command: &mut Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let (out, err) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
        Self { child, out: BufReader::new(out).lines(), err: BufReader::new(err).lines() }
    }

    /// The next line on stdout that holds this, and when it came.
    pub(super) async fn out(&mut self, text: &str) -> (Instant, String) {
        line(&mut self.out, text).await
    }

    /// The next line on stderr that holds this.
    pub(super) async fn err(&mut self, text: &str) -> (Instant, String) {
        line(&mut self.err, text).await
    }

    /// The next item of a watch in JSON that is about data.
    pub(super) async fn item(&mut self) -> (Instant, Value) {
        loop {
            let (at, line) = self.out("item").await;
            let item: Value = serde_json::from_str(&line).expect("one document a line");
            if item["item"] != "connected" && item["item"] != "progress" {
                return (at, item);
            }
        }
    }

    pub(super) fn signal(&self, signal: Signal) {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        kill_process(pid.expect("it runs"), signal).expect("a signal");
    }

    /// Waits for its end, and gives its code.
    pub(super) async fn code(mut self) -> Option<i32> {
        timeout(LIMIT, self.child.wait()).await.expect("no end in time").expect("a status").code()
    }
}

async fn line(lines: &mut Lines<BufReader<impl AsyncRead + Unpin>>, text: &str) -> (Instant, String) {
    let found = async {
        let mut before = Vec::new();
        loop {
            match lines.next_line().await.expect("text") {
                Some(line) if line.contains(text) => return (Instant::now(), line),
                Some(line) => before.push(line),
                None => panic!("it ended without {text:?}: {before:#?}"),
            }
        }
    };
    timeout(LIMIT, found).await.unwrap_or_else(|_| panic!("no {text:?} in time"))
}
