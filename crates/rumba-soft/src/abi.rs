//! Crossing the C ABI: C types, arguments in, results and codes out.
//!
//! Every call of the software device is a plain function whose body is wrapped in [`answer`]. Handles are
//! numbers here: their objects are looked up, and numbers are never dereferenced.

use std::any::type_name;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_void};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError};

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
    code_of(catch_unwind(AssertUnwindSafe(call)), called::<F>)
}

/// The part of [`answer`] after the body, which is the same for every call.
#[inline(never)]
fn code_of(answered: std::thread::Result<Result<(), Error>>, called: fn() -> &'static str) -> Code {
    set_per_thread(false);
    match answered {
        Ok(Ok(())) => {
            if log::level() >= Level::Calls {
                log::say(Level::Calls, format_args!("{} -> {}", called(), Code::SUCCESS.name()));
            }
            Code::SUCCESS
        }
        Ok(Err(error)) => refuse(called(), &error),
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
    let level = if code == Code::NOT_READY { Level::Calls } else { Level::Errors };
    log::say(level, format_args!("{call} -> {}: {error}", code.name()));
    if code == Code::NOT_SUPPORTED && std::env::var_os("RUMBA_LOG").is_none() {
        name_once(format!("{call} -> {}: {error}", code.name()));
    }
    code
}

/// Writes what the device lacks to standard error, once: C has one code for all of it, and most programs print no more than
/// that. `RUMBA_LOG` overrides this.
#[cold]
fn name_once(message: String) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if !told.contains(&message) {
        log::write(format_args!("{message}"));
        told.insert(message);
    }
}

/// The name of the call whose body has type `F`: the path of a closure holds that of its function.
fn called<F>() -> &'static str {
    let path = type_name::<F>();
    path.split("::").find(|part| part.starts_with("cu")).unwrap_or(path)
}

/// An output argument: null, or memory that the caller lets the call write, as cuda.h says for this argument.
///
/// Only C callers make the arguments of this file, by calling with a pointer, or `from_address` for a pointer that lies in
/// another argument. Arguments are valid during the call, whose lifetime is `'a`. So safe code reads and writes the
/// value that an argument points to; access to further memory, such as the other elements of an array, is `unsafe` and
/// justified by cuda.h.
#[repr(transparent)]
pub(crate) struct Out<'a, T>(*mut T, PhantomData<&'a mut T>);

impl<T> Clone for Out<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<'_, T> {}

impl<T> Out<'_, T> {
    /// Refuses a null pointer, for calls that check before they act.
    pub(crate) fn required(self, name: &'static str) -> Result<(), Error> {
        if self.0.is_null() { Err(Error::Null(name)) } else { Ok(()) }
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

    /// The place of element `index` of an output array; none where the array is null.
    ///
    /// # Safety
    /// The call is documented to write that element.
    pub(crate) unsafe fn at(self, index: usize) -> Self {
        if self.0.is_null() {
            return self;
        }
        Self(self.0.wrapping_add(index), PhantomData)
    }

    /// The value that the caller stored there.
    ///
    /// # Safety
    /// The call is documented to read the value as well, and every value of its bytes is a `T`.
    pub(crate) unsafe fn given(self, name: &'static str) -> Result<T, Error>
    where
        T: Copy,
    {
        self.required(name)?;
        // SAFETY: the caller's promise.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// The address.
    pub(crate) fn address(self) -> u64 {
        self.0 as u64
    }

    /// The output argument at an address that a caller passed inside another argument.
    ///
    /// # Safety
    /// The address is 0, or the call is documented to write a `T` there.
    pub(crate) unsafe fn from_address(address: u64) -> Self {
        Self(address as *mut T, PhantomData)
    }
}

impl<'a> Out<'a, c_void> {
    /// The same memory, to hold a `T`.
    ///
    /// # Safety
    /// The call is documented to write a `T` there.
    pub(crate) unsafe fn holding<T>(self) -> Out<'a, T> {
        Out(self.0.cast(), PhantomData)
    }
}

/// An input argument: null, or a value (or an array of them) that the caller lets the call read, as cuda.h says for this
/// argument. See [`Out`].
#[repr(transparent)]
pub(crate) struct In<'a, T>(*const T, PhantomData<&'a T>);

impl<T> Clone for In<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<'_, T> {}

impl<T> In<'_, T> {
    /// No argument.
    pub(crate) const NULL: Self = Self(std::ptr::null(), PhantomData);

    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The address.
    pub(crate) fn address(self) -> u64 {
        self.0 as u64
    }

    /// The input argument at an address that a caller passed inside another argument.
    ///
    /// # Safety
    /// The address is 0, or the call is documented to read a `T` there.
    pub(crate) unsafe fn from_address(address: u64) -> Self {
        Self(address as *const T, PhantomData)
    }
}

impl<T: Copy> In<'_, T> {
    /// The value.
    pub(crate) fn get(self, name: &'static str) -> Result<T, Error> {
        // SAFETY: a non-null input argument may be read.
        unsafe { self.element(name, 0) }
    }

    /// Element `index`.
    ///
    /// # Safety
    /// The call is documented to read that element.
    pub(crate) unsafe fn element(self, name: &'static str, index: usize) -> Result<T, Error> {
        if self.0.is_null() {
            return Err(Error::Null(name));
        }
        // SAFETY: the caller's promise; C may have aligned it less than Rust would.
        Ok(unsafe { self.0.wrapping_add(index).read_unaligned() })
    }
}

impl<'a> In<'a, u8> {
    /// `count` bytes.
    ///
    /// # Safety
    /// The call is documented to read `count` bytes.
    pub(crate) unsafe fn slice(self, name: &'static str, count: usize) -> Result<&'a [u8], Error> {
        if self.0.is_null() {
            return Err(Error::Null(name));
        }
        // SAFETY: the caller's promise; the bytes stay in place until the call returns.
        Ok(unsafe { std::slice::from_raw_parts(self.0, count) })
    }
}

/// A string argument: null, or NUL-terminated. See [`Out`].
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Text<'a>(*const c_char, PhantomData<&'a CStr>);

impl<'a> Text<'a> {
    pub(crate) fn get(self, name: &'static str) -> Result<&'a CStr, Error> {
        if self.0.is_null() {
            return Err(Error::Null(name));
        }
        // SAFETY: a non-null string argument is NUL-terminated and stays until the call returns.
        Ok(unsafe { CStr::from_ptr(self.0) })
    }
}

/// A refusal of one argument's value.
pub(crate) fn wrong(name: &'static str, value: impl ToString, rule: &'static str) -> Error {
    Error::Argument { name, value: value.to_string(), rule }
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
        let nowhere = Out(std::ptr::null_mut::<i32>(), PhantomData);
        assert_eq!(nowhere.put("count", 1), Err(Error::Null("count")));
        nowhere.put_if(1);
        let mut value = 0;
        assert_eq!(Out(&raw mut value, PhantomData).put("count", 1), Ok(()));
        assert_eq!(value, 1);
    }

    #[test]
    fn an_array_that_is_null_has_no_elements() {
        let nowhere = Out(std::ptr::null_mut::<i32>(), PhantomData);
        // SAFETY: nothing is written through null.
        unsafe { nowhere.at(3) }.put_if(1);
        // SAFETY: nothing is read through null.
        let element = unsafe { In::<i32>::NULL.element("nodes", 3) };
        assert_eq!(element, Err(Error::Null("nodes")));
    }
}
