//! Variables in a module's constant memory, which kernels read and the host writes.

use crate::base::error::{ModuleError, Result};
use crate::context::raw;
use crate::modules::module::Module;
use bytemuck::Pod;
use cuda_std::constant::Constant;
use std::ffi::CString;

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
        let (address, _) = entered.check(self.raw().variable(&symbol), operation)?;
        // SAFETY: the variable has as many bytes, and its module stays loaded.
        entered.check(unsafe { raw::copy_in(address, bytemuck::bytes_of(value)) }, operation)
    }

    /// Reads a variable in constant memory.
    ///
    /// # Errors
    /// As [`set_constant`](Self::set_constant).
    pub fn constant<T: Pod>(&self, constant: &Constant<T>) -> Result<T> {
        let operation = || format!("read the constant `{}` of {}", constant.name(), self.name());
        let symbol = self.check_constant(constant)?;
        let entered = self.context().enter(operation)?;
        let (address, _) = entered.check(self.raw().variable(&symbol), operation)?;
        let mut value = T::zeroed();
        // SAFETY: as in `set_constant`.
        entered.check(unsafe { raw::copy_out(address, bytemuck::bytes_of_mut(&mut value)) }, operation)?;
        Ok(value)
    }

    /// The name of a variable that the PTX has, in this size.
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
