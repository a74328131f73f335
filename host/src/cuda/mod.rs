//! CUDA's driver API as the runtime calls it: handles that release what they own, and the driver's code as each error.
//!
//! Nothing here keeps a context current or alive; [`crate::context`] does. `sys` has the declarations in cuda.h's names, the
//! other files a type for each kind of handle. A call with one caller is made where it is needed, by its declaration in `sys`.

mod code;
mod context;
mod device;
mod event;
mod function;
mod module;
mod stream;
pub(crate) mod sys;

#[cfg(feature = "cust")]
pub(crate) use context::device_of;
#[cfg(feature = "python")]
pub(crate) use context::ordinal_of;
pub(crate) use context::{Primary, context_of, memory, stream_priorities, synchronize};
pub use device::DeviceAttribute;
pub(crate) use device::{Device, version};
pub(crate) use event::Event;
pub(crate) use function::{Function, FunctionAttribute};
pub(crate) use module::Module;
pub(crate) use stream::Stream;

/// A code of the driver other than success.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Code(pub(crate) sys::CUresult);

/// The result of a call.
pub(crate) fn answer(result: sys::CUresult) -> Result<(), Code> {
    match result {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        error => Err(Code(error)),
    }
}

/// The value that a call has stored, if the call succeeded.
fn stored<T: Default>(call: impl FnOnce(&mut T) -> sys::CUresult) -> Result<T, Code> {
    let mut value = T::default();
    answer(call(&mut value))?;
    Ok(value)
}

/// The handle that a call has stored, if the call succeeded.
fn handle<T>(call: impl FnOnce(&mut *mut T) -> sys::CUresult) -> Result<*mut T, Code> {
    let mut handle = std::ptr::null_mut();
    answer(call(&mut handle))?;
    Ok(handle)
}
