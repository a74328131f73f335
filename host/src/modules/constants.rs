//! Variables in a module's constant memory, which kernels read and the host writes.

use crate::base::error::{ModuleError, Result};
use crate::modules::module::Module;
use bytemuck::Pod;
use cuda_std::constant::Constant;
use cust::memory::{CopyDestination, DeviceCopy};
use std::ffi::CString;

/// A value as cust copies it.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Plain<T>(T);

// SAFETY: `Pod` types are plain bytes.
unsafe impl<T: Pod> DeviceCopy for Plain<T> {}

impl Module {
    /// Writes a variable in constant memory. Kernels that were launched before, on any stream of the device, see the old
    /// value, and those launched later the new one: the copy is on CUDA's legacy default stream, which waits for the work of
    /// all other streams, as they wait for it. So a kernel never sees the value change.
    ///
    /// # Examples
    /// ```no_run
    /// # let (device, ptx) = (rumba::Device::new()?, "");
    /// cuda_std::constant! {
    ///     static GAIN: f32 = 1.0;
    /// }
    /// let module = device.load(ptx)?;
    /// module.set_constant(&GAIN, &2.5)?;
    /// # Ok::<(), rumba::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ModuleError::MissingConstant`] if the module lacks the variable, or its size differs; the driver's errors.
    pub fn set_constant<T: Pod>(&self, constant: &Constant<T>, value: &T) -> Result<()> {
        let operation = || format!("write the constant `{}` of {}", constant.name(), self.name());
        let symbol = self.check_constant(constant)?;
        let entered = self.context().enter(operation)?;
        let mut place = entered.check(self.raw().get_global::<Plain<T>>(&symbol), operation)?;
        entered.check(place.copy_from(&Plain(*value)), operation)
    }

    /// Reads a variable in constant memory.
    ///
    /// # Errors
    /// As [`set_constant`](Self::set_constant).
    pub fn constant<T: Pod>(&self, constant: &Constant<T>) -> Result<T> {
        let operation = || format!("read the constant `{}` of {}", constant.name(), self.name());
        let symbol = self.check_constant(constant)?;
        let entered = self.context().enter(operation)?;
        let place = entered.check(self.raw().get_global::<Plain<T>>(&symbol), operation)?;
        let mut value = Plain(T::zeroed());
        entered.check(place.copy_to(&mut value), operation)?;
        Ok(value.0)
    }

    /// The name of a variable that the PTX has, in this size: cust panics at another.
    fn check_constant<T: Pod>(&self, constant: &Constant<T>) -> Result<CString> {
        let found = self.constant_bytes(constant.name());
        if found == Some(size_of::<T>()) {
            Ok(CString::new(constant.name()).expect("an identifier has no zero"))
        } else {
            let missing = ModuleError::MissingConstant {
                constant: constant.name(),
                module: self.name().to_owned(),
                expected: size_of::<T>(),
                found,
            };
            Err(missing.into())
        }
    }
}
