//! The device's side: the panic handler, and thin functions in the place of the core library's.
//!
//! The builder's link stage puts a function named `__rumba_NAME` in the place of the core library's `NAME`, where the
//! types agree, and inlines both into the kernels. So a panic's parts reach [`__rumba_raise`] as constants and registers, and the
//! formatting code of the core library stays out. The texts that only formatting could make are left out: of
//! `assert_eq!` the values, of `unwrap` the error, of a formatted message all but the place.

use crate::abi::record::{self, Kind, PanicLocation, Record};
use crate::device::{intrinsics, waiting};
use crate::mem::atomic::Atomic;
use core::fmt;
use core::mem::offset_of;
use core::panic::{Location, PanicInfo};

// The host reads a location as a `PanicLocation`.
const _: () = {
    let location = Location::caller();
    assert!(size_of::<Location<'_>>() == size_of::<PanicLocation>());
    // SAFETY: both words are inside of the location, by the assertion, and initialised: it has no room for padding.
    let (line, column) = unsafe {
        let words = core::ptr::from_ref(location).cast::<u32>();
        (*words.add(offset_of!(PanicLocation, line) / 4), *words.add(offset_of!(PanicLocation, column) / 4))
    };
    assert!(line == location.line() && column == location.column());
};

/// Reads a special register here and now.
macro_rules! special_register {
    ($name:literal) => {{
        let value: u32;
        core::arch::asm!(concat!("mov.u32 {}, ", $name, ";"), out(reg32) value, options(nomem, nostack));
        value
    }};
}

/// The parts of the [`Record`] of a panic.
///
/// The link stage keeps this a call until the kernels are optimised, and then inlines it: what never happens is not
/// worth the optimiser's time, and cannot disturb what does.
#[unsafe(no_mangle)]
#[cold]
#[inline(never)]
extern "Rust" fn __rumba_raise(
    kind: Kind,
    text: *const u8,
    length: usize,
    first: usize,
    second: usize,
    location: &Location<'_>,
) -> ! {
    let record = record::address();
    // SAFETY: inside of the record, and only used as an atomic while kernels run.
    unsafe { &*(&raw mut (*record).grid).cast::<Atomic<u32>>() }.store(record::this_grid());
    // SAFETY: the counter is inside of the record and is only used as an atomic while kernels run.
    let count = unsafe { &*(&raw mut (*record).count).cast::<Atomic<u32>>() };
    if count.fetch_add(1) == 0 {
        // SAFETY: only the thread that counted first comes here, until the host has read the record and
        // set the counter back, which it does when no kernel runs. The bell is null or what the
        // runtime put there: a word that the device may write.
        unsafe {
            (*record).kind = kind as u32;
            (*record).place = core::ptr::from_ref(location).addr() as u64;
            if matches!(kind, Kind::Text) {
                (*record).text = [text.addr() as u64, length as u64];
            } else {
                (*record).numbers = [first as u64, second as u64];
            }
            write_indices(record);
            let bell = (*record).bell;
            if bell == 0 {
                intrinsics::trap();
            }
            core::arch::asm!(
                "st.volatile.global.u64 [{bell}], {record};",
                bell = in(reg64) bell,
                record = in(reg64) record.addr() as u64,
                options(nostack),
            );
        }
    }
    waiting::exit()
}

/// The builder's replacement if messages are not wanted.
#[unsafe(no_mangle)]
#[cold]
#[inline(never)]
extern "Rust" fn __rumba_raise_silently(_: Kind, _: *const u8, _: usize, _: usize, _: usize, _: &Location<'_>) -> ! {
    waiting::exit()
}

/// Writes the record of a message, if this is the first panic since the host read it, and ends the thread.
#[inline(always)]
fn say(text: &str, location: &Location<'_>) -> ! {
    __rumba_raise(Kind::Text, text.as_ptr(), text.len(), 0, 0, location)
}

/// As above, for a kind of panic with numbers.
#[inline(always)]
fn count(kind: Kind, first: usize, second: usize, location: &Location<'_>) -> ! {
    __rumba_raise(kind, core::ptr::null(), 0, first, second, location)
}

/// Writes down which thread this is.
///
/// In a loop of a length that the compiler does not know, reading registers in ways that it must not move: a straight
/// line of six reads and writes is scheduled with all reads first, which would cost a kernel six registers.
///
/// # Safety
/// The record is this thread's.
#[inline(always)]
unsafe fn write_indices(record: *mut Record) {
    // SAFETY: the caller's; the address is that of the first of the indices, of which there are `dimensions`.
    unsafe {
        let mut place = (&raw mut (*record).indices).cast::<u32>();
        let mut left = (&raw const (*record).dimensions).read_volatile();
        while left != 0 {
            place.write_volatile(match left {
                6 => special_register!("%ctaid.x"),
                5 => special_register!("%ctaid.y"),
                4 => special_register!("%ctaid.z"),
                3 => special_register!("%tid.x"),
                2 => special_register!("%tid.y"),
                _ => special_register!("%tid.z"),
            });
            place = place.add(1);
            left -= 1;
        }
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    // Panics of `core` go through `__rumba_panic_fmt`; this one is reached by nothing but the symbol
    // that the language asks for.
    match info.location() {
        Some(location) => say(UNFORMATTED, location),
        None => say(UNFORMATTED, Location::caller()),
    }
}

/// A placeholder for messages that would need formatting.
const UNFORMATTED: &str = "a message that is formatted, which a kernel cannot do";

/// In place of `core::panicking::panic_fmt`.
#[unsafe(no_mangle)]
extern "Rust" fn __rumba_panic_fmt(message: fmt::Arguments<'_>, location: &Location<'_>) -> ! {
    say(message.as_str().unwrap_or(UNFORMATTED), location)
}

/// In place of `core::panicking::panic_bounds_check`.
#[unsafe(no_mangle)]
extern "Rust" fn __rumba_panic_bounds_check(index: usize, length: usize, location: &Location<'_>) -> ! {
    count(Kind::Index, length, index, location)
}

/// In place of `core::slice::index::slice_index_fail`.
#[unsafe(no_mangle)]
extern "Rust" fn __rumba_slice_index_fail(start: usize, end: usize, length: usize, location: &Location<'_>) -> ! {
    // A single call of `count`, which is therefore inlined once.
    let (kind, first, second) = if start > length {
        (Kind::RangeStart, start, length)
    } else if start > end && end <= length {
        (Kind::RangeOrder, start, end)
    } else {
        (Kind::RangeEnd, end, length)
    };
    count(kind, first, second, location)
}

/// In place of `core::option::expect_failed`.
#[unsafe(no_mangle)]
extern "Rust" fn __rumba_expect_failed(text: &str, location: &Location<'_>) -> ! {
    say(text, location)
}

/// In place of `core::result::unwrap_failed`: the message, without the error.
#[unsafe(no_mangle)]
extern "Rust" fn __rumba_unwrap_failed(text: &str, _: &dyn fmt::Debug, location: &Location<'_>) -> ! {
    say(text, location)
}

/// In place of `core::panicking::assert_failed_inner`: which comparison failed, without the values.
#[unsafe(no_mangle)]
extern "Rust" fn __rumba_assert_failed_inner(
    kind: u8,
    _: &dyn fmt::Debug,
    _: &dyn fmt::Debug,
    _: Option<fmt::Arguments<'_>>,
    location: &Location<'_>,
) -> ! {
    // The order of `core::panicking::AssertKind`.
    let text = match kind {
        0 => "assertion `left == right` failed",
        1 => "assertion `left != right` failed",
        _ => "assertion `left matches right` failed",
    };
    say(text, location)
}
