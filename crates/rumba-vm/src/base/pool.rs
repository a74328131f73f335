//! The threads that blocks run on. They live as long as the device.
//!
//! A job is a closure; the calling thread takes part in it. Several callers may post jobs at once: a thread that is
//! done with one job looks for the next.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

/// The work of a job; the argument is the worker's number.
type Job = *const (dyn Fn(usize) + Sync);

struct State {
    posted: Vec<Posted>,
    /// The number of jobs posted so far.
    jobs: u64,
    stop: bool,
}

/// A job that threads may take part in.
struct Posted {
    job: SendJob,
    number: u64,
    /// The threads up to this number take part.
    helpers: usize,
    /// The number of threads that have begun the job and not finished it.
    running: usize,
    panic: Option<Box<dyn std::any::Any + Send>>,
}

impl State {
    /// The posted job of this number, which is not finished.
    fn find(&mut self, number: u64) -> &mut Posted {
        let posted = self.posted.iter_mut().find(|posted| posted.number == number);
        posted.expect("a job is there until all who began it have finished")
    }
}

#[derive(Clone, Copy)]
struct SendJob(Job);

// SAFETY: the job is Sync, and outlives its use because `run` waits for all threads that have begun it.
unsafe impl Send for SendJob {}

struct Shared {
    state: Mutex<State>,
    start: Condvar,
    done: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A set of threads.
pub(crate) struct ThreadPool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// Runs `job` on exactly so many workers, the calling thread and others that end with the job.
pub(crate) fn run_on_own_threads(workers: usize, job: &(dyn Fn(usize) + Sync)) {
    std::thread::scope(|scope| {
        for number in 1..workers {
            scope.spawn(move || job(number));
        }
        job(0);
    });
}

impl ThreadPool {
    /// Threads for `workers` workers, one of which is the caller of [`Self::run`].
    pub(crate) fn new(workers: usize) -> std::io::Result<Self> {
        let state = State { posted: Vec::new(), jobs: 0, stop: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), start: Condvar::new(), done: Condvar::new() });
        let mut pool = Self { shared, threads: Vec::new() };
        for number in 1..workers {
            let shared = Arc::clone(&pool.shared);
            let thread =
                std::thread::Builder::new().name(format!("rumba-{number}")).spawn(move || work(&shared, number))?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Runs `job` on up to `workers` workers at once and returns when all workers that have begun it have finished. A
    /// thread that wakes up too late for a short job does not take part.
    ///
    /// # Panics
    /// If the job panics on one of the workers.
    pub(crate) fn run(&self, workers: usize, job: &(dyn Fn(usize) + Sync)) {
        let helpers = workers.saturating_sub(1).min(self.threads.len());
        if helpers == 0 {
            return job(0);
        }
        // SAFETY: only the lifetime changes; the job is not used after this function.
        let erased = SendJob(unsafe { std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), Job>(job) });
        let number = {
            let mut state = self.shared.lock();
            state.jobs += 1;
            let number = state.jobs;
            state.posted.push(Posted { job: erased, number, helpers, running: 0, panic: None });
            number
        };
        self.shared.start.notify_all();
        let outcome = catch_unwind(AssertUnwindSafe(|| job(0)));
        let mut state = self.shared.lock();
        state.find(number).helpers = 0;
        while state.find(number).running > 0 {
            state = self.shared.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let panic = state.find(number).panic.take();
        state.posted.retain(|posted| posted.number != number);
        drop(state);
        if let Some(panic) = outcome.err().or(panic) {
            resume_unwind(panic);
        }
    }

    /// Applies a function to each item, on all workers, and gives the results in the order of the items.
    ///
    /// # Panics
    /// If the function panics.
    pub(crate) fn map<T: Sync, R: Send + Sync>(&self, items: &[T], function: impl Fn(&T) -> R + Sync) -> Vec<R> {
        let results: Vec<OnceLock<R>> = items.iter().map(|_| OnceLock::new()).collect();
        let next = AtomicUsize::new(0);
        self.run(items.len(), &|_| {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some((item, result)) = items.get(index).zip(results.get(index)) else {
                    break;
                };
                // No other thread has this index.
                let _ = result.set(function(item));
            }
        });
        results.into_iter().filter_map(OnceLock::into_inner).collect()
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.start.notify_all();
        for thread in self.threads.drain(..) {
            // `run` has already passed on a panic of the thread.
            let _ = thread.join();
        }
    }
}

fn work(shared: &Shared, number: usize) {
    let mut seen = 0;
    loop {
        let job = {
            let mut state = shared.lock();
            loop {
                if state.stop {
                    return;
                }
                let mut posted = state.posted.iter_mut();
                if let Some(posted) = posted.find(|posted| posted.number > seen && number <= posted.helpers) {
                    posted.running += 1;
                    seen = posted.number;
                    break posted.job;
                }
                state = shared.start.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        };
        // SAFETY: this thread has begun the job, and `run` waits until the thread reports that it has finished.
        let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { (*job.0)(number) }));
        let mut state = shared.lock();
        let posted = state.find(seen);
        if let Err(panic) = outcome {
            posted.panic = Some(panic);
        }
        posted.running -= 1;
        if posted.running == 0 {
            shared.done.notify_all();
        }
    }
}
