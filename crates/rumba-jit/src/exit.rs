//! The end of the process during a compilation.
//!
//! LLVM may run until the process is gone: none of LLVM's destructors runs (`rumba_llvm::load_isolated`). The end of
//! the process still waits for a short time, so that code that is nearly compiled reaches the cache; from then on no
//! compilation begins.

use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

/// How long the end of a process waits for running compilations.
const PATIENCE: Duration = Duration::from_millis(200);

struct State {
    /// Threads that compile.
    busy: usize,
    is_ending: bool,
}

static STATE: Mutex<State> = Mutex::new(State { busy: 0, is_ending: false });
static IDLE: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts the calling thread as compiling until it is dropped.
#[derive(Debug)]
pub(crate) struct Work(());

/// Begins to compile, unless the process ends.
pub(crate) fn begin() -> Option<Work> {
    let mut state = lock();
    if state.is_ending {
        return None;
    }
    state.busy += 1;
    Some(Work(()))
}

impl Drop for Work {
    fn drop(&mut self) {
        lock().busy -= 1;
        IDLE.notify_all();
    }
}

/// Whether the process ends.
pub(crate) fn is_ending() -> bool {
    lock().is_ending
}

/// Registers [`at_exit`] for the end of the process. Call it before the first compilation begins.
pub(crate) fn watch() {
    static REGISTERED: Once = Once::new();
    // SAFETY: the function stays mapped: libraries that contain this crate are linked so that they are never unloaded.
    REGISTERED.call_once(|| unsafe {
        libc::atexit(at_exit);
    });
}

/// Waits for running compilations, for a short time, and lets no further one begin.
extern "C" fn at_exit() {
    let mut state = lock();
    state.is_ending = true;
    drop(IDLE.wait_timeout_while(state, PATIENCE, |state| state.busy > 0));
}
