//! A task that several need, whichever runtimes they live on.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::sync::lock;

/// A task that several need: it runs on the runtime of one of them, and when that runtime ends it begins again on
/// another's.
///
/// A registry may be used from several runtimes (tests do so as a rule: each brings its own), and what one of them
/// started must not die with it while others wait for it. Cheap to clone.
#[derive(Clone)]
pub struct SharedTask(Arc<Inner>);

struct Inner {
    work: Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>,
    ended: Box<dyn Fn() + Send + Sync>,
    tasks: TaskTracker,
    cancel: CancellationToken,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    running: bool,
    next: u64,
    /// The runtimes of those who need it and on which it was not tried yet.
    runtimes: BTreeMap<u64, Handle>,
}

impl SharedTask {
    /// A task that does `work`, begun anew wherever it moves to, until that ends or `cancel` is called. `ended` is
    /// called when it is over, or nobody is left whose runtime could do it. `tasks` is who waits for its end.
    pub fn new(
        tasks: TaskTracker,
        cancel: CancellationToken,
        work: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static,
        ended: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let (work, ended) = (Box::new(work), Box::new(ended));
        Self(Arc::new(Inner { work, ended, tasks, cancel, state: Mutex::default() }))
    }

    /// Says that somebody on `runtime` needs it until the answer is dropped. Starts it where it does not run.
    pub fn need(&self, runtime: &Handle) -> Needed {
        let id = {
            let mut state = lock(&self.0.state);
            let id = state.next;
            state.next += 1;
            state.runtimes.insert(id, runtime.clone());
            id
        };
        self.ensure(runtime);
        Needed { task: self.clone(), id }
    }

    /// Starts it on `runtime` where it does not run.
    pub fn ensure(&self, runtime: &Handle) {
        if !std::mem::replace(&mut lock(&self.0.state).running, true) {
            self.spawn(runtime);
        }
    }

    fn spawn(&self, runtime: &Handle) {
        let running = Running(self.clone());
        let work = (self.0.work)();
        let task = async move {
            let running = running;
            let cancel = running.0.0.cancel.clone();
            if cancel.run_until_cancelled(work).await.is_some() {
                running.over();
            }
        };
        // On a runtime that has ended it is dropped at once, and moves on.
        self.0.tasks.spawn_on(task, runtime);
    }

    fn move_on(&self) {
        let next = {
            let mut state = lock(&self.0.state);
            let next = if self.0.cancel.is_cancelled() { None } else { state.runtimes.pop_first() };
            state.running = next.is_some();
            next
        };
        match next {
            Some((_, runtime)) => self.spawn(&runtime),
            None => (self.0.ended)(),
        }
    }
}

impl fmt::Debug for SharedTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let running = lock(&self.0.state).running;
        f.debug_struct("SharedTask").field("running", &running).finish_non_exhaustive()
    }
}

/// Held by who needs a [`SharedTask`].
#[derive(Debug)]
#[must_use = "dropped, its runtime is not counted on any more"]
pub struct Needed {
    task: SharedTask,
    id: u64,
}

impl Drop for Needed {
    fn drop(&mut self) {
        lock(&self.task.0.state).runtimes.remove(&self.id);
    }
}

/// Inside the running task: dropped with it, whatever ended it.
struct Running(SharedTask);

impl Running {
    /// The work came to its end: nobody shall begin it again.
    fn over(&self) {
        lock(&self.0.0.state).runtimes.clear();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.move_on();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures::FutureExt;
    use tokio::runtime::{Builder, Runtime};

    use super::*;

    fn runtime() -> Runtime {
        Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
    }

    fn counted() -> (SharedTask, Arc<AtomicUsize>, Arc<AtomicUsize>, CancellationToken) {
        let (begun, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let cancel = CancellationToken::new();
        let (counts, ends) = (Arc::clone(&begun), Arc::clone(&ended));
        let work = move || {
            counts.fetch_add(1, Ordering::SeqCst);
            std::future::pending().boxed()
        };
        let ended_now = move || {
            ends.fetch_add(1, Ordering::SeqCst);
        };
        (SharedTask::new(TaskTracker::new(), cancel.clone(), work, ended_now), begun, ended, cancel)
    }

    fn counts(begun: &AtomicUsize, ended: &AtomicUsize) -> (usize, usize) {
        (begun.load(Ordering::SeqCst), ended.load(Ordering::SeqCst))
    }

    #[test]
    fn it_moves_to_a_runtime_that_lives_and_ends_with_the_last() {
        let (task, begun, ended, _cancel) = counted();
        let (one, two, three) = (runtime(), runtime(), runtime());
        let _needs = [task.need(one.handle()), task.need(two.handle()), task.need(three.handle())];
        drop(two);
        assert_eq!(counts(&begun, &ended), (1, 0));
        drop(one);
        // The second is tried and found dead; it runs on the third.
        assert!((2..=4).contains(&begun.load(Ordering::SeqCst)));
        assert_eq!(ended.load(Ordering::SeqCst), 0);
        drop(three);
        assert_eq!(ended.load(Ordering::SeqCst), 1);
        let four = runtime();
        task.ensure(four.handle());
        assert!(task.0.state.lock().unwrap().running, "whoever comes later starts it again");
        drop(four);
    }

    #[test]
    fn who_needs_it_no_more_is_not_counted_on_and_cancelling_ends_it() {
        let (task, begun, ended, cancel) = counted();
        let (one, two) = (runtime(), runtime());
        let _first = task.need(one.handle());
        drop(task.need(two.handle()));
        drop(one);
        assert_eq!(counts(&begun, &ended).1, 1, "nobody else needs it");
        let _again = task.need(two.handle());
        cancel.cancel();
        two.block_on(async {
            while ended.load(Ordering::SeqCst) < 2 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        });
    }
}
