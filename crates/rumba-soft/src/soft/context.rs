//! Contexts, and which one is current on each thread.
//!
//! A context owns what is made in it; the tables of those objects live with their kinds. The handle of the
//! primary context stays the same over its lives, as with NVIDIA's driver, so the handle on a thread's
//! stack may mean a context that was reset, or none.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::code::Code;
use crate::error::Error;
use crate::soft::capture;
use crate::soft::queue::{ContextStatus, Points, Queue};
use crate::soft::report;
use crate::table;

/// One life of a context.
pub(crate) struct Context {
    /// The context's handle for callers.
    pub(crate) handle: usize,
    /// The ordinal of its device.
    pub(crate) device: i32,
    /// Handles of the contexts whose memory its kernels may reach.
    pub(crate) peers: Mutex<Vec<usize>>,
    /// Distinguishes the lives of the primary context.
    pub(crate) life: u64,
    flags: AtomicU32,
    settings: Mutex<Settings>,
    status: Arc<ContextStatus>,
    /// The default stream.
    default: Arc<Queue>,
    /// All other queues; those with work in them are held elsewhere.
    queues: Mutex<Vec<Weak<Queue>>>,
}

/// The settings of `cuCtxSetLimit` and its kin. Most of it changes nothing on the software device.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) limits: [usize; 9],
    pub(crate) cache_config: i32,
    pub(crate) shared_config: i32,
}

impl Settings {
    fn new() -> Self {
        // The values that an H200 starts with; device runtime limits (3) exist on no current device.
        let shared = table::multiprocessor().shared_per_block;
        let limits = [1024, 8_650_752, 8_388_608, 0, 2048, 64, 11_796_480, shared as usize, 0];
        Self { limits, cache_config: 0, shared_config: 1 }
    }
}

impl Context {
    pub(crate) fn new(handle: usize, device: i32, flags: u32) -> Self {
        static LIVES: AtomicU64 = AtomicU64::new(1);
        let status = Arc::<ContextStatus>::default();
        Self {
            handle,
            device,
            peers: Mutex::default(),
            life: LIVES.fetch_add(1, Ordering::Relaxed),
            flags: AtomicU32::new(flags),
            settings: Mutex::new(Settings::new()),
            default: Queue::new(Arc::clone(&status), true),
            queues: Mutex::default(),
            status,
        }
    }

    /// Refuses a context that was destroyed or in which a kernel is known to have failed.
    pub(crate) fn usable(&self) -> Result<(), Error> {
        self.status.accepts()
    }

    /// How the work went that a call has waited for. Before a failure is told for the first time, what still runs on other
    /// streams ends: nothing of a lost context reaches memory that its owner has taken back since.
    pub(crate) fn outcome(&self) -> Result<(), Error> {
        if self.status.usable().is_err() {
            self.queues().for_each(|queue| queue.settle());
        }
        self.status.outcome()
    }

    /// Fails as if a kernel had failed with this code and a call had told so.
    pub(crate) fn lose(&self, code: Code) {
        report::fault(&format!("the context was lost on purpose, with {}: see RUMBA_FAULT", code.name()));
        self.status.fail(code);
        // The outcome is that failure, or an earlier one.
        let _ = self.outcome();
    }

    /// Every queue of the context.
    fn queues(&self) -> impl Iterator<Item = Arc<Queue>> {
        let queues: Vec<_> = self.lock_queues().iter().filter_map(Weak::upgrade).collect();
        queues.into_iter().chain([Arc::clone(&self.default)])
    }

    /// Finishes all work and lets nothing more be done.
    pub(crate) fn destroy(&self) {
        self.status.close();
        self.finish();
        self.status.destroy();
    }

    /// A queue for another stream.
    pub(crate) fn new_queue(&self, blocking: bool) -> Arc<Queue> {
        let queue = Queue::new(Arc::clone(&self.status), blocking);
        let mut queues = self.lock_queues();
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(&queue));
        queue
    }

    pub(crate) fn default_queue(&self) -> &Arc<Queue> {
        &self.default
    }

    /// The unfinished work of all streams that keep order with the default stream.
    pub(crate) fn blocking_work(&self) -> Points {
        let queues = self.lock_queues();
        let blocking = queues.iter().filter_map(Weak::upgrade).filter(|queue| queue.blocking);
        blocking.filter_map(|queue| queue.unreached()).collect()
    }

    /// Whether a stream that keeps order with the default stream is being captured.
    pub(crate) fn has_captured_queue(&self) -> bool {
        capture::is_any() && self.captured(true).next().is_some()
    }

    /// Refuses what would wait for streams that are being captured, and invalidates their captures: all, or only those
    /// that keep order with the default stream.
    pub(crate) fn refuse_captured(&self, only_blocking: bool, code: Code) -> Result<(), Error> {
        if !capture::is_any() {
            return Ok(());
        }
        let mut refused = Ok(());
        for queue in self.captured(only_blocking) {
            if capture::refuse(&queue, code).is_err() {
                refused = Err(Error::Capture(code));
            }
        }
        refused
    }

    fn captured(&self, only_blocking: bool) -> impl Iterator<Item = Arc<Queue>> {
        let queues: Vec<_> = self.lock_queues().iter().filter_map(Weak::upgrade).collect();
        let queues = queues.into_iter().filter(move |queue| queue.blocking || !only_blocking);
        queues.filter(|queue| capture::part(queue).is_some_and(|part| part.session.is_valid()))
    }

    /// Waits for all work of all streams.
    pub(crate) fn finish(&self) {
        for queue in self.queues() {
            if let Some(end) = queue.unreached() {
                end.wait();
            }
        }
    }

    fn lock_queues(&self) -> MutexGuard<'_, Vec<Weak<Queue>>> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn flags(&self) -> u32 {
        self.flags.load(Ordering::Relaxed)
    }

    pub(crate) fn set_flags(&self, flags: u32) {
        self.flags.store(flags, Ordering::Relaxed);
    }

    pub(crate) fn settings(&self) -> MutexGuard<'_, Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    static STACK: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

/// Works on the stack of context handles of the calling thread; its last one is current.
pub(crate) fn with_stack<R>(work: impl FnOnce(&mut Vec<usize>) -> R) -> Result<R, Error> {
    STACK.try_with(|stack| work(&mut stack.borrow_mut())).map_err(|_| Error::ThreadEnding)
}

/// The handle of the calling thread's current context.
pub(crate) fn current_handle() -> Result<Option<usize>, Error> {
    if IN_HOST_FUNCTION.try_with(Cell::get).unwrap_or(false) {
        return Err(Error::InHostFunction);
    }
    with_stack(|stack| stack.last().copied())
}

/// Runs a host function of a stream, in which the driver may not be called.
pub(crate) fn as_host_function<R>(function: impl FnOnce() -> R) -> R {
    IN_HOST_FUNCTION.set(true);
    let result = function();
    IN_HOST_FUNCTION.set(false);
    result
}

/// A context together with what it does not own: shared by everything made in it.
pub(crate) type Owner = Arc<Context>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_stays() {
        let context = Context::new(16, 0, 0);
        assert_eq!(context.usable(), Ok(()));
        context.status.fail(Code::MISALIGNED_ADDRESS);
        context.status.fail(Code::ILLEGAL_ADDRESS);
        assert_eq!(context.usable(), Ok(()), "there was no wait");
        assert_eq!(context.outcome(), Err(Error::Sticky(Code::MISALIGNED_ADDRESS)));
        assert_eq!(context.usable(), Err(Error::Sticky(Code::MISALIGNED_ADDRESS)));
        context.destroy();
        assert_eq!(context.usable(), Err(Error::ContextDestroyed));
    }

    #[test]
    fn host_functions_may_not_call() {
        assert_eq!(current_handle(), Ok(None));
        assert_eq!(as_host_function(current_handle), Err(Error::InHostFunction));
        assert_eq!(current_handle(), Ok(None));
    }
}
