//! The task that evicts on time, and sweeps behind itself.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::store::Store;

/// Never, as far as the clock can tell.
const LONGEST: Duration = Duration::from_hours(365 * 24);

/// At most one task per store, started when there is first something to wait for; ended with the last handle.
#[derive(Debug, Default)]
pub(crate) struct Timer(Mutex<Option<JoinHandle<()>>>);

impl Timer {
    /// Makes sure that the task runs, on the current runtime if its last one is gone.
    ///
    /// Without a current runtime nothing runs; reads evict for themselves.
    pub(crate) fn ensure(&self, store: &Arc<Store>) {
        let mut task = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if task.as_ref().is_some_and(|task| !task.is_finished()) {
            return;
        }
        if let Ok(runtime) = Handle::try_current() {
            *task = Some(runtime.spawn(run(Arc::downgrade(store))));
        }
    }

    /// Ends the task and waits for its end.
    pub(crate) async fn stop(&self) {
        let task = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.abort();
            // Either it was cancelled, which was asked for, or it had ended.
            let _ = task.await;
        }
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(task) = self.0.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
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
