//! Who owns the tasks of a session: all of them end with it.

use std::future::Future;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

/// The longest that [`Tasks::end`] waits. A cancelled task ends at its next await, so this is never used up.
const END: Duration = Duration::from_secs(2);

/// Some tasks that end together. A clone is another handle on the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Tasks {
    tracker: TaskTracker,
    token: CancellationToken,
}

impl Tasks {
    /// Tasks among these that can be ended apart: by dropping the guard.
    pub(super) fn group(&self) -> (Self, DropGuard) {
        let token = self.token.child_token();
        (Self { tracker: self.tracker.clone(), token: token.clone() }, token.drop_guard())
    }

    /// Runs a task on `runtime`.
    pub(super) fn spawn_on<F>(&self, task: F, runtime: &Handle) -> AbortHandle
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let token = self.token.clone();
        let task = async move { _ = token.run_until_cancelled(task).await };
        self.tracker.spawn_on(task, runtime).abort_handle()
    }

    /// The answer of `call`, or none if the tasks are ended first.
    pub(super) async fn unless_ended<T>(&self, call: impl Future<Output = T>) -> Option<T> {
        // Asked first: a call that would answer at once is no exception.
        if self.has_ended() { None } else { self.token.run_until_cancelled(call).await }
    }

    /// Whether they were ended.
    pub(super) fn has_ended(&self) -> bool {
        self.token.is_cancelled()
    }

    /// Ends them when dropped.
    pub(super) fn guard(&self) -> DropGuard {
        self.token.clone().drop_guard()
    }

    /// Ends them and waits until they are gone.
    pub(super) async fn end(&self) {
        self.token.cancel();
        self.tracker.close();
        _ = tokio::time::timeout(END, self.tracker.wait()).await;
    }
}

/// The tasks of a connection are those of the transport.
impl<F> hyper::rt::Executor<F> for Tasks
where
    F: Future<Output = ()> + Send + 'static,
{
    fn execute(&self, task: F) {
        self.spawn_on(task, &Handle::current());
    }
}
