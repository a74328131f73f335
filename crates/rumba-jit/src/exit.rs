//! The end of the process while LLVM works.
//!
//! `exit` runs the destructors of LLVM's variables, which a thread that still compiles then uses: so the end waits for it, for a
//! short time, and after that the process ends without those destructors.

use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use rumba_llvm::Llvm;

use crate::destructors;

/// How long the end of a process waits for what is being compiled.
const PATIENCE: Duration = Duration::from_millis(200);

struct State {
    /// Threads that are in LLVM.
    busy: usize,
    is_ending: bool,
}

static STATE: Mutex<State> = Mutex::new(State {
    busy: 0,
    is_ending: false,
});
static IDLE: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says, as long as it is there, that a thread is in LLVM.
#[derive(Debug)]
pub(crate) struct Work(());

/// Begins work in LLVM, unless the process ends.
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

/// Has the end of the process wait. To be called when LLVM is loaded and before it is used: what is registered later runs earlier,
/// and LLVM then registers nothing any more.
pub(crate) fn watch(llvm: &'static Llvm) {
    static REGISTERED: Once = Once::new();
    destructors::forget(llvm.api().LLVMContextCreate as *const ());
    REGISTERED.call_once(register);
}

/// Waits until no thread is in LLVM, and lets none begin. Whether that is so.
fn settle(patience: Option<Duration>) -> bool {
    let mut state = lock();
    state.is_ending = true;
    let is_busy = |state: &mut State| state.busy > 0;
    match patience {
        Some(limit) => {
            let waited = IDLE.wait_timeout_while(state, limit, is_busy);
            waited.unwrap_or_else(PoisonError::into_inner).0.busy == 0
        }
        None => {
            drop(IDLE.wait_while(state, is_busy));
            true
        }
    }
}

#[cfg(target_env = "gnu")]
fn register() {
    use std::ffi::{c_int, c_void};
    use std::ptr::null_mut;

    unsafe extern "C" {
        /// Has a function called with the status of the process when it ends (GNU C Library).
        fn on_exit(function: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
    }

    extern "C" fn at_exit(status: c_int, _: *mut c_void) {
        if !settle(Some(PATIENCE)) {
            // SAFETY: what is buffered is written; what else was registered to be called does not run.
            unsafe {
                libc::fflush(null_mut());
                libc::_exit(status);
            }
        }
    }

    // SAFETY: the function stays: a library that contains it is linked so that it is not unloaded.
    unsafe { on_exit(at_exit, null_mut()) };
}

/// Other C libraries do not tell the status, so the end waits for as long as it takes.
#[cfg(not(target_env = "gnu"))]
fn register() {
    extern "C" fn at_exit() {
        settle(None);
    }

    // SAFETY: the function stays: a library that contains it is linked so that it is not unloaded.
    unsafe { libc::atexit(at_exit) };
}
