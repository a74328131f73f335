//! What a panic does in a kernel: it says where and why, and ends the launch.
//!
//! The message goes through `__assertfail`, as CUDA's `assert` does, so the host gets
//! `CUDA_ERROR_ASSERT` and the driver prints the text with block and thread. Everything is cold and
//! takes no formatting machinery along: a message that is a literal arrives as it is, an index or a
//! range out of bounds arrives with its numbers, and of other formatted messages only the place.

use core::ffi::{c_char, c_void};
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
    /// With the NUL at the end. Long enough for any message of the core library.
    const CAPACITY: usize = 192;

    fn new() -> Self {
        // Only what is written is read; zeros would be stored one by one.
        Self {
            text: [0; Self::CAPACITY],
            length: 0,
        }
    }

    fn push(&mut self, byte: u8) {
        if self.length < Self::CAPACITY - 1 {
            self.text[self.length] = byte;
            self.length += 1;
        }
    }

    fn text(&mut self, text: &str) {
        for &byte in text.as_bytes() {
            self.push(byte);
        }
    }

    fn number(&mut self, number: usize) {
        let mut power = 1;
        while number / power >= 10 {
            power *= 10;
        }
        while power > 0 {
            #[expect(clippy::cast_possible_truncation, reason = "a decimal digit")]
            self.push(b'0' + (number / power % 10) as u8);
            power /= 10;
        }
    }

    /// Hands it to the driver, which ends the kernel.
    fn fail(&self, location: &Location<'_>) -> ! {
        // SAFETY: three texts that end in a NUL (the last byte of `text` is never written) and
        // outlive the call, of characters of one byte.
        unsafe {
            __assertfail(
                self.text.as_ptr().cast(),
                location.file_as_c_str().as_ptr().cast::<c_char>().cast(),
                location.line(),
                c"kernel".as_ptr().cast(),
                1,
            )
        }
    }
}

#[cold]
#[inline(never)]
fn fail(text: &str, location: &Location<'_>) -> ! {
    let mut message = Message::new();
    message.text(text);
    message.fail(location)
}

#[panic_handler]
#[cold]
fn panic(info: &PanicInfo<'_>) -> ! {
    let text = info
        .message()
        .as_str()
        .unwrap_or("panicked, with a message that a kernel cannot format");
    match info.location() {
        Some(location) => fail(text, location),
        None => fail(text, Location::caller()),
    }
}

/// In place of `core::panicking::panic_bounds_check`.
#[unsafe(no_mangle)]
#[cold]
#[inline(never)]
extern "Rust" fn __rumba_panic_bounds_check(index: usize, length: usize, location: &Location<'_>) -> ! {
    let mut message = Message::new();
    message.text("index out of bounds: the len is ");
    message.number(length);
    message.text(" but the index is ");
    message.number(index);
    message.fail(location)
}

/// In place of `core::option::expect_failed` and of what prints a single text.
#[unsafe(no_mangle)]
#[cold]
#[inline(never)]
extern "Rust" fn __rumba_expect_failed(text: &str, location: &Location<'_>) -> ! {
    fail(text, location)
}
