//! Contexts, and which one is current on each thread.
//!
//! A context owns what is made in it; the tables of those objects live with their kinds. The handle of the
//! primary context stays the same over its lives, as with NVIDIA's driver, so the handle on a thread's
//! stack may mean a context that was reset, or none.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::code::Code;
use crate::error::Error;

/// One life of a context.
pub(crate) struct Context {
    /// What callers name it by.
    pub(crate) handle: usize,
    /// Distinguishes the lives of the primary context.
    pub(crate) life: u64,
    flags: AtomicU32,
    settings: Mutex<Settings>,
    /// Orders the work of the default stream.
    pub(crate) default_stream: Mutex<()>,
    destroyed: AtomicBool,
    /// The kernel failure after which nothing works any more.
    failure: OnceLock<Code>,
}

/// What `cuCtxSetLimit` and its kin keep. Most of it changes nothing on the software device.
#[derive(Clone)]
pub(crate) struct Settings {
    pub(crate) limits: [usize; 9],
    pub(crate) cache_config: i32,
    pub(crate) shared_config: i32,
}

impl Settings {
    fn new() -> Self {
        // The values that an H200 starts with; device runtime limits (3) exist on no current device.
        let limits = [1024, 8_650_752, 8_388_608, 0, 2048, 64, 11_796_480, 232_448, 0];
        Self {
            limits,
            cache_config: 0,
            shared_config: 1,
        }
    }
}

impl Context {
    pub(crate) fn new(handle: usize, flags: u32) -> Self {
        static LIVES: AtomicU64 = AtomicU64::new(1);
        Self {
            handle,
            life: LIVES.fetch_add(1, Ordering::Relaxed),
            flags: AtomicU32::new(flags),
            settings: Mutex::new(Settings::new()),
            default_stream: Mutex::default(),
            destroyed: AtomicBool::new(false),
            failure: OnceLock::new(),
        }
    }

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

    /// Records that a kernel failed: from now on every call in this context gets `code`.
    pub(crate) fn fail(&self, code: Code) {
        // The first failure is the one that is reported.
        let _ = self.failure.set(code);
    }

    pub(crate) fn destroy(&self) {
        self.destroyed.store(true, Ordering::Release);
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
    STACK
        .try_with(|stack| work(&mut stack.borrow_mut()))
        .map_err(|_| Error::ThreadEnding)
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
        let context = Context::new(16, 0);
        assert_eq!(context.usable(), Ok(()));
        context.fail(Code::MisalignedAddress);
        context.fail(Code::IllegalAddress);
        assert_eq!(context.usable(), Err(Error::Sticky(Code::MisalignedAddress)));
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
