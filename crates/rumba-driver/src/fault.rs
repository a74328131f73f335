//! Driver calls that fail on purpose: a test fails each call of a scenario with each error that the call can return, and looks at
//! what the program does then. SQLite is tested so, against a lack of memory and errors of files.
//!
//! While calls are watched, the slots lead here instead of to the driver. Nothing of this costs a process that does not ask for it.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rumba_interface::calls::NAMES;
use rumba_interface::code::Code;
use rumba_interface::errors::{errors_of, loses_context};
use rumba_interface::gather;

use crate::choice::{self, Driver};
use crate::slots::{self, SLOTS};
use crate::trampoline::{WATCHED_CALLS, stub};

/// A call that fails: the first one from number `call` on, counted from 1, that can return `error`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    /// The number of the call.
    pub call: u64,
    /// The code that it returns. A code of a lost context ends the current context, if that is the software device's.
    pub error: Code,
}

impl Fault {
    /// Reads what `RUMBA_FAULT` says: `call=37,error=2`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (mut call, mut error) = (None, None);
        for part in text.split(',') {
            match part.split_once('=')? {
                ("call", number) => call = Some(number.trim().parse().ok().filter(|number| *number > 0)?),
                ("error", number) => {
                    error = Some(Code::of(number.trim().parse().ok()?).filter(|code| *code != Code::SUCCESS)?);
                }
                _ => return None,
            }
        }
        Some(Self { call: call?, error: error? })
    }
}

/// The calls made while calls were watched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The names of the calls, in their order.
    pub calls: Vec<&'static str>,
    /// The number of the call that failed, from 1.
    pub failed: Option<u64>,
}

struct Watch {
    /// The fault, until it has happened.
    fault: Option<Fault>,
    is_on: bool,
    seen: Seen,
}

static WATCH: Mutex<Watch> =
    Mutex::new(Watch { fault: None, is_on: false, seen: Seen { calls: Vec::new(), failed: None } });

/// Where each call leads behind the watch.
static TARGETS: [AtomicPtr<c_void>; NAMES.len()] = [const { AtomicPtr::new(std::ptr::null_mut()) }; NAMES.len()];

thread_local! {
    /// The code that the failing call returns.
    static ERROR: Cell<Code> = const { Cell::new(Code::UNKNOWN) };
}

fn lock() -> MutexGuard<'static, Watch> {
    WATCH.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches the calls of all threads from now on. The slots are filled.
pub(crate) fn watch(fault: Option<Fault>) {
    let mut watch = lock();
    *watch = Watch { fault, is_on: true, seen: Seen::default() };
    for (number, (slot, target)) in SLOTS.iter().zip(&TARGETS).enumerate() {
        let watched = stub(&raw const WATCHED_CALLS, number);
        let answers = slot.load(Ordering::Acquire);
        if answers != watched {
            target.store(answers, Ordering::Release);
            slot.store(watched, Ordering::Release);
        }
    }
}

/// Begins to watch the calls of all threads. If a fault is given, one call fails.
pub fn begin(fault: Option<Fault>) {
    // Fills the slots, if no call has done that.
    slots::resolve(0);
    watch(fault);
}

/// Ends the watch that [`begin`] began, and returns the calls seen.
pub fn end() -> Seen {
    let mut watch = lock();
    watch.is_on = false;
    watch.fault = None;
    std::mem::take(&mut watch.seen)
}

/// Where a watched call goes on.
pub(crate) extern "C" fn watched(call: usize) -> *mut c_void {
    let target = TARGETS[call].load(Ordering::Acquire);
    let error = {
        let mut watch = lock();
        if !watch.is_on {
            return target;
        }
        watch.seen.calls.push(NAMES[call]);
        let number = watch.seen.calls.len() as u64;
        let is_due = |fault: &Fault| number >= fault.call && errors_of(NAMES[call]).contains(&fault.error);
        match watch.fault.take_if(|fault| is_due(fault)) {
            Some(fault) => {
                watch.seen.failed = Some(number);
                fault.error
            }
            None => return target,
        }
    };
    if loses_context(error)
        && let Some(Ok(Driver::Software(device))) = choice::made().map(|choice| &choice.driver)
    {
        (device.lose_context)(error.number());
    }
    ERROR.set(error);
    fail as *mut c_void
}

/// Stands for the call that fails.
extern "C" fn fail() -> Code {
    ERROR.get()
}

/// How many objects of each kind the software device has: contexts, modules, streams, allocations and so on. Nothing with NVIDIA's
/// driver.
pub fn objects() -> Vec<(String, u64)> {
    let Some(Ok(Driver::Software(device))) = choice::made().map(|choice| &choice.driver) else {
        return Vec::new();
    };
    let counts = gather(|counts| (device.objects)(counts));
    let counts = counts.iter().filter_map(|count| {
        let (kind, number) = str::from_utf8(count).ok()?.split_once('=')?;
        Some((kind.to_owned(), number.parse().ok()?))
    });
    counts.collect()
}

#[cfg(test)]
mod tests {
    use super::{Code, Fault};

    #[test]
    fn faults_are_read_from_text() {
        let fault = |call, error| Some(Fault { call, error });
        assert_eq!(Fault::parse("call=37,error=2"), fault(37, Code::OUT_OF_MEMORY));
        assert_eq!(Fault::parse("error=700,call=1"), fault(1, Code::ILLEGAL_ADDRESS));
        for wrong in [
            "",
            "37",
            "call=37",
            "error=2",
            "call=0,error=2",
            "call=1,error=0",
            "call=1,error=35",
            "call=1,error=2,x=1",
        ] {
            assert_eq!(Fault::parse(wrong), None, "{wrong}");
        }
    }
}
