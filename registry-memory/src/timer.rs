//! The task that evicts on time, and sweeps behind itself.

use std::sync::{Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use registry_core::{Needed, SharedTask};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::store::Store;

/// Never, as far as the clock can tell.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// At most one task per store, started when there is first something to wait for; ended with the last handle.
#[derive(Debug)]
pub(crate) struct Timer {
    store: Weak<Store>,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    task: SharedTask,
    tasks: TaskTracker,
    cancel: CancellationToken,
}

impl Timer {
    pub(crate) fn new(store: Weak<Store>) -> Self {
        Self { current: Mutex::new(Current::new(store.clone())), store }
    }

    /// Makes sure that the task runs, where a runtime is current. Elsewhere reads evict for themselves.
    pub(crate) fn ensure(&self) {
        if let Ok(runtime) = Handle::try_current() {
            self.current().task.ensure(&runtime);
        }
    }

    /// The same for as long as the answer is held, on this runtime or on that of another who needs it.
    pub(crate) fn need(&self, runtime: &Handle) -> Needed {
        self.current().task.need(runtime)
    }

    /// Ends the task and waits for its end. A handle that is opened later starts another.
    pub(crate) async fn stop(&self) {
        let stopped = std::mem::replace(&mut *self.current(), Current::new(self.store.clone()));
        stopped.cancel.cancel();
        stopped.tasks.close();
        stopped.tasks.wait().await;
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Current {
    fn new(store: Weak<Store>) -> Self {
        let (tasks, cancel) = (TaskTracker::new(), CancellationToken::new());
        // Where nobody is left who could be told anything, reads evict for themselves.
        let task = SharedTask::new(tasks.clone(), cancel.clone(), move || run(store.clone()).boxed(), || {});
        Self { task, tasks, cancel }
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

async fn run(store: Weak<Store>) {
    let mut last_sweep = Instant::now();
    loop {
        // The store is held only while it is looked at, so that it can go.
        let (wake, earlier) = {
            let Some(store) = store.upgrade() else { return };
            let earlier = store.earlier();
            // Neither a spin nor a time that the clock cannot tell.
            let period = store.config.sweep.clamp(Duration::from_millis(1), LONGEST);
            if last_sweep.elapsed() >= period {
                last_sweep = Instant::now();
                store.sweep();
            }
            let sweep = last_sweep + period;
            (store.expire().map_or(sweep, |due| due.min(sweep)), earlier)
        };
        tokio::select! {
            () = earlier => {}
            () = sleep_until(wake) => {}
        }
    }
}
