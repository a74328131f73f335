//! What a panic does in a kernel: it says where and why, and ends the launch.
//!
//! The message goes through `__assertfail`, as CUDA's `assert` does, so the host gets
//! `CUDA_ERROR_ASSERT` and the driver prints the text with block and thread. Everything is cold, and
//! small: a kernel is charged the registers of what it might call. A message that is a literal
//! arrives as it is; an index or a range out of bounds arrives with its numbers; of other formatted
//! messages only the place does. The formatting machinery of the core library stays out.

use core::ffi::c_void;
use core::fmt;
use core::panic::{Location, PanicInfo};

unsafe extern "C" {
    /// The driver's; declared as CUDA's headers do.
    fn __assertfail(
        message: *const c_void,
        file: *const c_void,
        line: u32,
        function: *const c_void,
        char_size: usize,
    ) -> !;
}

/// A message under construction: text of C, cut off where the space ends.
struct Message {
    text: [u8; Self::CAPACITY],
    length: usize,
}

impl Message {
    /// With the NUL at the end. Long enough for the messages of the core library.
    const CAPACITY: usize = 128;

    #[inline(always)]
    fn push(&mut self, byte: u8) {
        if self.length < Self::CAPACITY - 1 {
            self.text[self.length] = byte;
            self.length += 1;
        }
    }

    #[inline(always)]
    fn text(&mut self, text: &str) {
        for &byte in text.as_bytes() {
            self.push(byte);
        }
    }

    /// Digit by digit, by subtraction: a division takes more registers than the rest of a panic.
    #[inline(always)]
    fn number(&mut self, mut left: usize) {
        let mut started = false;
        let mut powers = POWERS_OF_TEN.iter();
        while let Some(&power) = powers.next() {
            let mut digit = b'0';
            while left >= power {
                left -= power;
                digit += 1;
            }
            started |= digit != b'0' || power == 1;
            if started {
                self.push(digit);
            }
        }
    }
}

/// From the highest that fits.
static POWERS_OF_TEN: [usize; 20] = {
    let mut powers = [1; 20];
    let mut index = 19;
    while index > 0 {
        powers[index - 1] = powers[index] * 10;
        index -= 1;
    }
    powers
};

/// Composes a message of up to two numbers, and hands it to the driver, which ends the kernel.
///
/// All in one function that calls nothing else, so that no register has to be saved.
#[cold]
#[inline(never)]
#[optimize(size)]
fn fail(start: &str, numbers: Option<(usize, &str, usize)>, location: &Location<'_>) -> ! {
    let mut message = Message {
        text: [0; Message::CAPACITY],
        length: 0,
    };
    message.text(start);
    if let Some((first, between, second)) = numbers {
        message.number(first);
        message.text(between);
        message.number(second);
    }
    // SAFETY: three texts that end in a NUL (the last byte of the message is never written) and
    // outlive the call, of characters of one byte.
    unsafe {
        __assertfail(
            message.text.as_ptr().cast(),
            location.file_as_c_str().as_ptr().cast(),
            location.line(),
            c"kernel".as_ptr().cast(),
            1,
        )
    }
}

#[panic_handler]
#[cold]
fn panic(info: &PanicInfo<'_>) -> ! {
    let text = info
        .message()
        .as_str()
        .unwrap_or("panicked, with a message that a kernel cannot format");
    match info.location() {
        Some(location) => fail(text, None, location),
        None => fail(text, None, Location::caller()),
    }
}

// The builder's link stage puts a function named `__rumba_NAME` in the place of the core library's
// `NAME`, where the types agree. A panic with arguments so never reaches the formatting code.

/// In place of `core::panicking::panic_bounds_check`.
#[unsafe(no_mangle)]
#[cold]
#[inline(never)]
extern "Rust" fn __rumba_panic_bounds_check(index: usize, length: usize, location: &Location<'_>) -> ! {
    fail(
        "index out of bounds: the len is ",
        Some((length, " but the index is ", index)),
        location,
    )
}

/// In place of `core::slice::index::slice_index_fail`.
#[unsafe(no_mangle)]
#[cold]
#[inline(never)]
extern "Rust" fn __rumba_slice_index_fail(start: usize, end: usize, length: usize, location: &Location<'_>) -> ! {
    let of_length = " out of range for slice of length ";
    if start > length {
        fail("range start index ", Some((start, of_length, length)), location)
    } else if start > end && end <= length {
        fail("slice index starts at ", Some((start, " but ends at ", end)), location)
    } else {
        fail("range end index ", Some((end, of_length, length)), location)
    }
}

/// In place of `core::option::expect_failed`.
#[unsafe(no_mangle)]
#[cold]
#[inline(never)]
extern "Rust" fn __rumba_expect_failed(text: &str, location: &Location<'_>) -> ! {
    fail(text, None, location)
}

/// In place of `core::result::unwrap_failed`: the message, without the error.
#[unsafe(no_mangle)]
#[cold]
#[inline(never)]
extern "Rust" fn __rumba_unwrap_failed(text: &str, _: &dyn fmt::Debug, location: &Location<'_>) -> ! {
    fail(text, None, location)
}

/// In place of `core::panicking::assert_failed_inner`: which comparison failed, without the values.
#[unsafe(no_mangle)]
#[cold]
#[inline(never)]
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
    fail(text, None, location)
}
