//! Where the exported calls lead: a slot for each, filled when the first call has chosen the device.

use std::ffi::c_void;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};

use libloading::os::unix::Symbol;
use rumba_interface::calls::NAMES;
use rumba_interface::{Bytes, with_calls};

use crate::choice::{Driver, choice};
use crate::fault;
use crate::refusal;
use crate::trampoline::{FIRST_CALLS, REFUSALS, stub, trampoline};

/// Where each exported call leads.
pub(crate) static SLOTS: [AtomicPtr<c_void>; NAMES.len()] = {
    let mut slots = [const { AtomicPtr::new(std::ptr::null_mut()) }; NAMES.len()];
    let mut call = 0;
    while call < NAMES.len() {
        slots[call] = AtomicPtr::new(stub(&raw const FIRST_CALLS, call));
        call += 1;
    }
    slots
};

macro_rules! exported {
    (
        served { $($file:ident: $($name:ident $(= $target:ident)?),*;)* }
        unserved { $($missing:ident),* }
    ) => {
        mod exported {
            use super::trampoline;

            $($(trampoline!($name);)*)*
            $(trampoline!($missing);)*
        }
    };
}

with_calls!(exported);

/// Chooses the device, points every slot at it, and gives the slot of `call`. Runs on the first call of a
/// process, and on others that race with it.
pub(crate) extern "C" fn resolve(call: usize) -> *mut c_void {
    static FILLED: Once = Once::new();
    FILLED.call_once(|| {
        for (number, (name, slot)) in NAMES.iter().zip(&SLOTS).enumerate() {
            let found = match &choice().driver {
                Ok(Driver::Software(device)) => (device.call)(Bytes::new(name.as_bytes())),
                Ok(Driver::Nvidia(library)) => {
                    // SAFETY: the address is not called here; callers call it as what cuda.h declares.
                    let found = unsafe { library.get::<*mut c_void>(name.as_bytes()) };
                    found.map_or(std::ptr::null_mut(), Symbol::into_raw)
                }
                Err(_) => refusal::answer(number),
            };
            let target = if found.is_null() { stub(&raw const REFUSALS, number) } else { found };
            slot.store(target, Ordering::Release);
        }
        if let Some(fault) = choice().fault {
            fault::watch(Some(fault));
        }
    });
    SLOTS[call].load(Ordering::Acquire)
}

/// The address of a call that [`resolve`] has been through.
pub(crate) fn address(call: usize) -> *const c_void {
    SLOTS[call].load(Ordering::Acquire)
}
