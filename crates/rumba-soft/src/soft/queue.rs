//! In-order queues of work, and the threads that empty them.
//!
//! A [`Queue`] is the queue behind a stream. Work runs on threads of the driver, which start when more queues are ready
//! than threads are idle and end after some time without work. A thread that waits for a queue runs the queue's work
//! instead of sleeping, where it may: that saves two thread switches per small kernel. A queue whose next piece waits
//! for another queue occupies no thread. This module does not know what the work is.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use smallvec::SmallVec;

use crate::code::Code;
use crate::error::Error;
use crate::soft::capture::Part;
use crate::soft::work::Work;

/// Whether a context can be used: shared by the context and its queues.
#[derive(Default)]
pub(crate) struct ContextStatus {
    /// The context is closing: no thread may wait any longer for work of other threads.
    closing: AtomicBool,
    destroyed: AtomicBool,
    /// The kernel failure after which every call fails.
    failure: OnceLock<Code>,
    /// Whether a call that waits for work or queries it has returned the failure.
    is_told: AtomicBool,
    /// Pieces of the device's own work that are running: kernels, copies, fills.
    running: Mutex<u32>,
    /// Notified when the last running piece has ended.
    idle: Condvar,
}

impl ContextStatus {
    /// Refuses a context that was destroyed or in which a kernel failed.
    pub(crate) fn usable(&self) -> Result<(), Error> {
        if self.destroyed.load(Ordering::Acquire) {
            return Err(Error::ContextDestroyed);
        }
        match self.failure.get() {
            None => Ok(()),
            Some(code) => Err(Error::Sticky(*code)),
        }
    }

    /// [`usable`](Self::usable), for calls that enqueue work. They ignore a failure until a wait has returned it:
    /// whether the failure has happened yet depends on the speed of threads.
    pub(crate) fn accepts(&self) -> Result<(), Error> {
        match self.usable() {
            Err(Error::Sticky(_)) if !self.is_told.load(Ordering::Acquire) => Ok(()),
            known => known,
        }
    }

    /// [`usable`](Self::usable), for calls that wait for work or query it: from then on every call returns the failure.
    ///
    /// The call returns the failure when no work of the context runs any more, also on other streams: callers then free
    /// memory that the device was writing to, as they do after an error of NVIDIA's driver, which has stopped the
    /// device by then.
    pub(crate) fn outcome(&self) -> Result<(), Error> {
        let outcome = self.usable();
        if outcome.is_err() {
            let mut running = self.lock_running();
            while *running > 0 {
                running = self.idle.wait(running).unwrap_or_else(PoisonError::into_inner);
            }
            self.is_told.store(true, Ordering::Release);
        }
        outcome
    }

    /// Begins a piece of the device's own work, unless a kernel has failed.
    pub(crate) fn begin(&self) -> Option<Running<'_>> {
        let mut running = self.lock_running();
        // With the lock held: a failure is set before its caller counts what is running.
        self.usable().ok()?;
        *running += 1;
        Some(Running { status: self, number: in_progress().begin() })
    }

    fn lock_running(&self) -> MutexGuard<'_, u32> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a kernel failed: once that is known, every call in this context gets `code`.
    pub(crate) fn fail(&self, code: Code) {
        // Only the first failure is reported.
        let _ = self.failure.set(code);
    }

    pub(crate) fn close(&self) {
        self.closing.store(true, Ordering::Release);
    }

    pub(crate) fn destroy(&self) {
        self.destroyed.store(true, Ordering::Release);
    }

    /// Whether work that waits for a value in memory has to give up.
    pub(crate) fn gives_up(&self) -> bool {
        self.closing.load(Ordering::Acquire) || self.usable().is_err()
    }
}

/// A piece of the device's own work, for as long as it runs.
pub(crate) struct Running<'f> {
    status: &'f ContextStatus,
    number: u64,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        in_progress().end(self.number);
        let mut running = self.status.lock_running();
        *running -= 1;
        if *running == 0 {
            self.status.idle.notify_all();
        }
    }
}

/// The pieces of the device's own work that are running, of all contexts.
struct InProgress {
    /// The number of the next piece.
    next: u64,
    /// The numbers of the pieces that are running.
    running: Vec<u64>,
}

static IN_PROGRESS: Mutex<InProgress> = Mutex::new(InProgress { next: 0, running: Vec::new() });
static ENDED: Condvar = Condvar::new();

fn in_progress() -> MutexGuard<'static, InProgress> {
    IN_PROGRESS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl InProgress {
    fn begin(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        self.running.push(number);
        number
    }

    fn end(&mut self, number: u64) {
        self.running.retain(|running| *running != number);
        ENDED.notify_all();
    }
}

/// Waits until every piece of the device's own work that is running has ended, in all contexts. Such a piece may use the bounds
/// of memory that it found before the memory was taken from kernels. A piece that begins later does not find the memory.
pub(crate) fn wait_for_running_work() {
    let mut pieces = in_progress();
    let now = pieces.next;
    while pieces.running.iter().any(|number| *number < now) {
        pieces = ENDED.wait(pieces).unwrap_or_else(PoisonError::into_inner);
    }
}

/// A place in a queue: reached when the work up to it is done.
#[derive(Clone)]
pub(crate) struct Point {
    queue: Arc<Queue>,
    number: u64,
}

impl Point {
    pub(crate) fn is_reached(&self) -> bool {
        self.queue.completed.load(Ordering::Acquire) >= self.number
    }

    /// Waits until the work up to here is done.
    pub(crate) fn wait(&self) {
        self.queue.wait(self.number);
    }

    /// Waits for at most this time, without running work. Returns whether the point is reached.
    pub(crate) fn wait_for(&self, time: Duration) -> bool {
        let queue = &self.queue;
        let mut state = queue.lock();
        state.waiters += 1;
        let waited = queue.progress.wait_timeout_while(state, time, |_| !self.is_reached());
        let (mut state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
        state.waiters -= 1;
        !timeout.timed_out()
    }
}

/// Points that a piece of work waits for.
pub(crate) type Points = SmallVec<[Point; 2]>;

struct Item {
    work: Work,
    after: Points,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Item>,
    /// A thread is running the piece that was in front.
    running: bool,
    /// That piece is a function of the program.
    runs_host: bool,
    /// The queue is in the list of the executors.
    scheduled: bool,
    waiters: usize,
    enqueued: u64,
    /// Queues whose front waits for one of this queue's points.
    dependents: Vec<(u64, Arc<Queue>)>,
}

/// An in-order queue of work.
pub(crate) struct Queue {
    pub(crate) status: Arc<ContextStatus>,
    /// Whether it keeps order with the context's default stream.
    pub(crate) blocking: bool,
    /// Its part in a capture.
    pub(crate) capture: Mutex<Option<Part>>,
    /// The nodes that a caller was told to come before what is captured next.
    pub(crate) told: Mutex<Vec<usize>>,
    completed: AtomicU64,
    state: Mutex<State>,
    progress: Condvar,
}

impl Queue {
    pub(crate) fn new(status: Arc<ContextStatus>, blocking: bool) -> Arc<Self> {
        Arc::new(Self {
            status,
            blocking,
            capture: Mutex::default(),
            told: Mutex::default(),
            completed: AtomicU64::new(0),
            state: Mutex::default(),
            progress: Condvar::new(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The point after everything that was enqueued so far.
    pub(crate) fn end(self: &Arc<Self>) -> Point {
        let number = self.lock().enqueued;
        Point { queue: Arc::clone(self), number }
    }

    /// The point after everything enqueued so far, or `None` if the queue has reached it.
    pub(crate) fn unreached(self: &Arc<Self>) -> Option<Point> {
        let end = self.end();
        (!end.is_reached()).then_some(end)
    }

    /// Enqueues work behind everything in the queue and behind the points in `after`. The calling thread runs `quick`
    /// work at once if no earlier work is left.
    pub(crate) fn push(self: &Arc<Self>, work: Work, after: Points, quick: bool) -> Point {
        let mut state = self.lock();
        state.enqueued += 1;
        let number = state.enqueued;
        let idle = !state.running && state.waiting.is_empty();
        let point = || Point { queue: Arc::clone(self), number };
        if quick && idle && after.iter().all(Point::is_reached) {
            state.running = true;
            state.runs_host = work.is_of_host();
            drop(state);
            self.execute(work);
            self.continue_elsewhere();
            return point();
        }
        state.waiting.push_back(Item { work, after });
        // A queue that waits for another queue is resubmitted by the other queue.
        let wake = !state.running && !state.scheduled && state.waiting.len() == 1;
        state.scheduled |= wake;
        drop(state);
        if wake {
            submit(Arc::clone(self));
        }
        point()
    }

    /// Runs a piece of work and counts it. The caller has set `running`.
    fn execute(self: &Arc<Self>, work: Work) {
        work.run(&self.status);
        // The work's resources are dropped before its end is reported.
        drop(work);
        let mut state = self.lock();
        state.running = false;
        let completed = self.completed.load(Ordering::Relaxed) + 1;
        self.completed.store(completed, Ordering::Release);
        if state.waiters > 0 {
            self.progress.notify_all();
        }
        if state.dependents.is_empty() {
            return;
        }
        let (ready, waiting) =
            std::mem::take(&mut state.dependents).into_iter().partition(|(number, _)| *number <= completed);
        state.dependents = waiting;
        drop(state);
        let ready: Vec<(u64, Arc<Self>)> = ready;
        for (_, queue) in ready {
            queue.schedule();
        }
    }

    /// Gives the queue to the executors, unless they have it.
    fn schedule(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.scheduled || state.running {
            // The thread that runs the queue looks at its front when it has finished.
            return;
        }
        state.scheduled = true;
        drop(state);
        submit(Arc::clone(self));
    }

    /// Leaves the rest of the queue to the executors.
    fn continue_elsewhere(self: &Arc<Self>) {
        let more = {
            let state = self.lock();
            !state.waiting.is_empty()
        };
        if more {
            self.schedule();
        }
    }

    /// Runs the front of the queue if it can run now. Gives whether it did.
    fn step(self: &Arc<Self>, on_driver_thread: bool) -> bool {
        loop {
            let mut state = self.lock();
            if state.running {
                return false;
            }
            let Some(front) = state.waiting.front_mut() else {
                return false;
            };
            front.after.retain(|point| !point.is_reached());
            if let Some(point) = front.after.last().cloned() {
                drop(state);
                if point.queue.call_back(point.number, self) {
                    return false;
                }
                continue;
            }
            if !on_driver_thread && front.work.needs_driver_thread() {
                return false;
            }
            let Some(item) = state.waiting.pop_front() else {
                return false;
            };
            state.running = true;
            state.runs_host = item.work.is_of_host();
            drop(state);
            self.execute(item.work);
            return true;
        }
    }

    /// Notes that `queue` waits for a point; `false` if it is reached already.
    fn call_back(&self, number: u64, queue: &Arc<Self>) -> bool {
        let mut state = self.lock();
        if self.completed.load(Ordering::Acquire) >= number {
            return false;
        }
        state.dependents.push((number, Arc::clone(queue)));
        true
    }

    /// Waits until the piece that runs now has ended, unless it is a function of the program, which may wait for the
    /// caller.
    pub(crate) fn settle(&self) {
        let mut state = self.lock();
        let before = self.completed.load(Ordering::Relaxed);
        while state.running && !state.runs_host && self.completed.load(Ordering::Relaxed) == before {
            state.waiters += 1;
            state = self.progress.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiters -= 1;
        }
    }

    fn wait(self: &Arc<Self>, number: u64) {
        loop {
            if self.completed.load(Ordering::Acquire) >= number {
                // A waiter that ran the queue's work leaves the rest to others.
                self.continue_elsewhere();
                return;
            }
            if self.step(false) {
                continue;
            }
            let mut state = self.lock();
            if self.completed.load(Ordering::Acquire) >= number {
                continue;
            }
            // The executors run work that this thread must not run.
            let wake = !state.running && !state.scheduled && !state.waiting.is_empty();
            if wake {
                state.scheduled = true;
                drop(state);
                submit(Arc::clone(self));
                continue;
            }
            state.waiters += 1;
            let mut state = self.progress.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiters -= 1;
        }
    }
}

/// Queues with work, and the threads that wait for some.
struct Executors {
    ready: VecDeque<Arc<Queue>>,
    idle: usize,
}

static EXECUTORS: Mutex<Executors> = Mutex::new(Executors { ready: VecDeque::new(), idle: 0 });
static READY: Condvar = Condvar::new();

fn executors() -> MutexGuard<'static, Executors> {
    EXECUTORS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hands a queue to a thread of the driver.
fn submit(queue: Arc<Queue>) {
    let mut executors = executors();
    executors.ready.push_back(queue);
    let enough = executors.ready.len() <= executors.idle;
    drop(executors);
    if enough {
        READY.notify_one();
        return;
    }
    // If no thread can be started, the queue is run by one of the existing threads, or by a thread that waits for the
    // queue.
    let _ = std::thread::Builder::new().name("rumba-stream".into()).spawn(serve);
}

/// The loop of the driver's threads.
fn serve() {
    /// How long a thread stays without work.
    const PATIENCE: Duration = Duration::from_secs(5);
    loop {
        let queue = {
            let mut executors = executors();
            loop {
                if let Some(queue) = executors.ready.pop_front() {
                    break queue;
                }
                executors.idle += 1;
                let (woken, timeout) = READY.wait_timeout(executors, PATIENCE).unwrap_or_else(PoisonError::into_inner);
                executors = woken;
                executors.idle -= 1;
                if timeout.timed_out() && executors.ready.is_empty() {
                    return;
                }
            }
        };
        queue.lock().scheduled = false;
        while queue.step(true) {}
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::{ContextStatus, wait_for_running_work};
    use crate::code::Code;

    /// Work that began before is waited for, whichever context it is of; work that begins later is not.
    #[test]
    fn running_work_of_all_contexts_is_waited_for() {
        let (one, other) = (ContextStatus::default(), ContextStatus::default());
        let earlier = one.begin().expect("nothing has failed");
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                wait_for_running_work();
                assert!(ended.load(Ordering::Acquire), "the earlier work was still running");
            });
            // However long this takes, the waiter does not return before.
            std::thread::sleep(std::time::Duration::from_millis(10));
            let later = other.begin().expect("nothing has failed");
            ended.store(true, Ordering::Release);
            drop(earlier);
            waiter.join().expect("the waiter does not wait for the later work");
            drop(later);
        });
    }

    #[test]
    fn a_failure_is_told_when_nothing_runs_any_more() {
        let status = ContextStatus::default();
        let other = status.begin().expect("nothing has failed");
        status.fail(Code::ILLEGAL_ADDRESS);
        assert!(status.begin().is_none(), "nothing begins after a failure");
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(status.outcome().is_err());
                assert!(ended.load(Ordering::Acquire), "told while another stream's work was running");
            });
            // However long this takes, the waiter is not told before.
            std::thread::sleep(std::time::Duration::from_millis(10));
            ended.store(true, Ordering::Release);
            drop(other);
        });
        assert!(status.accepts().is_err());
    }
}
