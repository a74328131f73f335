//! Crossing the C ABI: C types, arguments in, results and codes out.
//!
//! Every call of the software device is a plain function whose body is wrapped in [`answer`]. Handles are
//! numbers here: what they stand for is looked up, never dereferenced.

use std::any::type_name;
use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::code::Code;
use crate::error::Error;
use crate::log::{self, Level};

pub(crate) type CUdevice = i32;
pub(crate) type CUdeviceptr = u64;
pub(crate) type CUcontext = usize;
pub(crate) type CUmodule = usize;
pub(crate) type CUfunction = usize;
pub(crate) type CUstream = usize;
pub(crate) type CUevent = usize;
pub(crate) type CUlinkState = usize;
pub(crate) type CUmemoryPool = usize;
pub(crate) type CUarray = usize;
pub(crate) type CUlibrary = usize;
pub(crate) type CUgraph = usize;
pub(crate) type CUgraphExec = usize;
pub(crate) type CUgraphNode = usize;
pub(crate) type CUkernel = usize;

/// Runs the body of a call: turns its error into a code, says what `RUMBA_LOG` asks for, and keeps a panic,
/// which would be a bug of this crate, from crossing into C.
pub(crate) fn answer<F: FnOnce() -> Result<(), Error>>(call: F) -> Code {
    let answered = catch_unwind(AssertUnwindSafe(call));
    set_per_thread(false);
    match answered {
        Ok(Ok(())) => {
            if log::level() >= Level::Calls {
                log::say(
                    Level::Calls,
                    format_args!("{} -> {}", called::<F>(), Code::SUCCESS.name()),
                );
            }
            Code::SUCCESS
        }
        Ok(Err(error)) => refuse(called::<F>(), &error),
        Err(_) => Code::UNKNOWN,
    }
}

thread_local! {
    /// Whether the call in progress means the thread's own default stream where it is given none.
    static PER_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// Sets which default stream the next call of this thread means.
pub(crate) fn set_per_thread(value: bool) {
    // A thread that is ending has no default stream of its own.
    let _ = PER_THREAD.try_with(|per_thread| per_thread.set(value));
}

/// Whether the call in progress is a form with `_ptds` or `_ptsz`.
pub(crate) fn is_per_thread() -> bool {
    PER_THREAD.try_with(Cell::get).unwrap_or(false)
}

/// Answers a call with an error.
pub(crate) fn refuse(call: &str, error: &Error) -> Code {
    let code = error.code();
    // That something is not ready is an answer, not a mistake.
    let level = if code == Code::NOT_READY {
        Level::Calls
    } else {
        Level::Errors
    };
    log::say(level, format_args!("{call} -> {}: {error}", code.name()));
    code
}

/// The name of the call whose body has type `F`: the path of a closure holds that of its function.
fn called<F>() -> &'static str {
    let path = type_name::<F>();
    path.split("::").find(|part| part.starts_with("cu")).unwrap_or(path)
}

/// An output argument: null, or memory that the caller lets the call write.
///
/// Only C callers make these, by calling with a pointer; cuda.h is what binds them. That is why reading and
/// writing through the argument types of this file is safe code elsewhere.
#[repr(transparent)]
pub(crate) struct Out<T>(*mut T);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Out<T> {
    /// Refuses a null pointer, for calls that check before they act.
    pub(crate) fn required(self, name: &'static str) -> Result<(), Error> {
        if self.0.is_null() {
            Err(Error::Null(name))
        } else {
            Ok(())
        }
    }

    /// Stores a result that the caller must want.
    pub(crate) fn put(self, name: &'static str, value: T) -> Result<(), Error> {
        self.required(name)?;
        self.put_if(value);
        Ok(())
    }

    /// Stores a result unless the caller passed null for it.
    pub(crate) fn put_if(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: a non-null output argument may be written; C may have aligned it less than Rust would.
            unsafe { self.0.write_unaligned(value) };
        }
    }

    /// The place of element `index` of an output array.
    pub(crate) fn at(self, index: usize) -> Self {
        Self(self.0.wrapping_add(index))
    }

    /// The same memory, to hold a `U`.
    pub(crate) fn cast<U>(self) -> Out<U> {
        Out(self.0.cast())
    }

    /// The address.
    pub(crate) fn address(self) -> u64 {
        self.0 as u64
    }

    /// The output argument at an address that a caller passed inside another argument.
    pub(crate) fn from_address(address: u64) -> Self {
        Self(address as *mut T)
    }
}

/// An input argument: null, or a value (or an array of them) that the caller lets the call read.
#[repr(transparent)]
pub(crate) struct In<T>(*const T);

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T> In<T> {
    /// No argument.
    pub(crate) const NULL: Self = Self(std::ptr::null());

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The address.
    pub(crate) fn address(self) -> u64 {
        self.0 as u64
    }

    /// The input argument at an address that a caller passed inside another argument.
    pub(crate) fn from_address(address: u64) -> Self {
        Self(address as *const T)
    }
}

impl<T: Copy> In<T> {
    /// Element `index`; 0 is the value itself.
    pub(crate) fn get(self, name: &'static str, index: usize) -> Result<T, Error> {
        if self.0.is_null() {
            return Err(Error::Null(name));
        }
        // SAFETY: a non-null input argument may be read as far as the call is documented to.
        Ok(unsafe { self.0.wrapping_add(index).read_unaligned() })
    }
}

impl In<u8> {
    /// `count` bytes.
    pub(crate) fn slice<'a>(self, name: &'static str, count: usize) -> Result<&'a [u8], Error> {
        if self.0.is_null() {
            return Err(Error::Null(name));
        }
        // SAFETY: as above; the caller keeps the bytes in place until the call returns.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) })
    }
}

/// A string argument: null, or NUL-terminated.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Text(*const c_char);

impl Text {
    pub(crate) fn get<'a>(self, name: &'static str) -> Result<&'a CStr, Error> {
        if self.0.is_null() {
            return Err(Error::Null(name));
        }
        // SAFETY: a non-null string argument is NUL-terminated and stays until the call returns.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }
}

/// A refusal of one argument's value.
pub(crate) fn wrong(name: &'static str, value: impl ToString, rule: &'static str) -> Error {
    Error::Argument {
        name,
        value: value.to_string(),
        rule,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    extern "C" fn cu_example(fail: bool) -> Code {
        answer(|| {
            assert!(!fail, "a bug");
            Err(Error::NoContext)
        })
    }

    #[test]
    fn errors_become_codes_and_panics_unknown() {
        assert_eq!(cu_example(false), Code::INVALID_CONTEXT);
        assert_eq!(cu_example(true), Code::UNKNOWN);
    }

    #[test]
    fn a_body_knows_its_call() {
        fn name_of<F>(_: F) -> &'static str {
            called::<F>()
        }
        fn cu_named() -> &'static str {
            name_of(|| ())
        }
        assert_eq!(cu_named(), "cu_named");
    }

    #[test]
    fn null_results_are_refused() {
        let nowhere = Out(std::ptr::null_mut::<i32>());
        assert_eq!(nowhere.put("count", 1), Err(Error::Null("count")));
        nowhere.put_if(1);
        let mut value = 0;
        assert_eq!(Out(&raw mut value).put("count", 1), Ok(()));
        assert_eq!(value, 1);
    }
}
