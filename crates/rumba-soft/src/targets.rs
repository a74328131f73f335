//! Where each driver call leads on the software device.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::OnceLock;

use rumba_interface::calls::{Call, NAMES, is_per_thread_form};
use rumba_interface::{detour, with_call, with_calls};

use crate::abi::{refuse, set_per_thread};
use crate::api;
use crate::code::Code;
use crate::error::Error;
use crate::soft::report;

macro_rules! functions {
    (
        served { $($file:ident: $($name:ident $(= $target:ident)?),*;)* }
        unserved { $($missing:ident),* }
    ) => {
        /// The functions, in the order of [`NAMES`].
        fn functions() -> [*mut c_void; NAMES.len()] {
            [
                $($(implementation!($file, $name $(, $target)?),)*)*
                $(unserved::<{ Call::$missing as usize }> as *mut c_void,)*
            ]
        }

        /// Where the forms lead that mean the thread's default stream.
        fn per_thread_forms() -> [*mut c_void; NAMES.len()] {
            [
                $($(per_thread::<{ Call::$name as usize }> as *mut c_void,)*)*
                $(per_thread::<{ Call::$missing as usize }> as *mut c_void,)*
            ]
        }
    };
}

macro_rules! implementation {
    ($file:ident, $name:ident) => {
        api::$file::$name as *mut c_void
    };
    ($file:ident, $name:ident, $target:ident) => {
        api::$file::$target as *mut c_void
    };
}

with_calls!(functions);

/// The function for calls that the device does not serve yet.
extern "C" fn unserved<const CALL: usize>() -> Code {
    let error = Error::Unserved { what: NAMES[CALL] };
    report::refusal(&error);
    refuse(NAMES[CALL], &error)
}

/// Where a `_ptds` or `_ptsz` form leads: notes which default stream is meant and goes on to the call that all forms share.
#[unsafe(naked)]
extern "C" fn per_thread<const CALL: usize>() {
    with_call!(CALL, note_per_thread)
}

detour! {
    /// Notes the default stream.
    note_per_thread, note
}

/// Notes that the call means the thread's default stream, and gives where it leads.
extern "C" fn note(call: usize) -> *mut c_void {
    set_per_thread(true);
    targets().shared[call].0
}

/// An address of code, which stays where it is.
#[derive(Clone, Copy)]
struct Address(*mut c_void);

// SAFETY: code is only read.
unsafe impl Send for Address {}
// SAFETY: code is only read.
unsafe impl Sync for Address {}

struct Targets {
    /// The address of each name.
    named: HashMap<&'static [u8], Address>,
    /// What the forms of a call for the thread's default stream share, in the order of [`NAMES`].
    shared: [Address; NAMES.len()],
}

fn targets() -> &'static Targets {
    static TARGETS: OnceLock<Targets> = OnceLock::new();
    TARGETS.get_or_init(|| {
        let (functions, forms) = (functions(), per_thread_forms());
        let named = NAMES.iter().enumerate().map(|(index, name)| {
            let target = if is_per_thread_form(name) { forms[index] } else { functions[index] };
            (name.as_bytes(), Address(target))
        });
        Targets { named: named.collect(), shared: functions.map(Address) }
    })
}

/// The address of a call, or null.
pub(crate) fn address(name: &[u8]) -> *mut c_void {
    targets().named.get(name).map_or(std::ptr::null_mut(), |address| address.0)
}
