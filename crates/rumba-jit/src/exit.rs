//! The end of the process while something is compiled.
//!
//! LLVM may go on until the process is gone: none of its destructors runs (`rumba_llvm::load_isolated`). The end waits for a short
//! time all the same, so that what is nearly done comes into the cache, and from then on nothing is begun.

use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

/// How long the end of a process waits for what is being compiled.
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

/// Says, as long as it is there, that a thread compiles.
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

/// Has the end of the process call [`at_exit`]. To be called before anything is begun.
pub(crate) fn watch() {
    static REGISTERED: Once = Once::new();
    // SAFETY: the function stays: a library that contains it is linked so that it is not unloaded.
    REGISTERED.call_once(|| unsafe {
        libc::atexit(at_exit);
    });
}

/// Waits until nothing is compiled, for a short time, and lets nothing begin.
extern "C" fn at_exit() {
    let mut state = lock();
    state.is_ending = true;
    drop(IDLE.wait_timeout_while(state, PATIENCE, |state| state.busy > 0));
}
