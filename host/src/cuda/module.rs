//! A module that the driver has loaded.

use super::{Code, Function, answer, handle, sys};
use std::ffi::{CStr, c_void};
use std::ptr;

/// A module, unloaded when this is dropped.
pub(crate) struct Module(sys::CUmodule);

// SAFETY: a module is a name that the driver looks up; its calls may be made from any thread.
unsafe impl Send for Module {}

// SAFETY: as above.
unsafe impl Sync for Module {}

impl Module {
    /// Loads PTX into the current context (`cuModuleLoadData`).
    pub(crate) fn from_ptx(ptx: &CStr) -> Result<Self, Code> {
        // SAFETY: a terminated text.
        unsafe { Self::load(ptx.as_ptr().cast()) }
    }

    /// Loads an image that the driver has made (`cuModuleLoadData`).
    ///
    /// # Safety
    /// `image` points to a whole image, or to a terminated text of PTX.
    pub(crate) unsafe fn load(image: *const c_void) -> Result<Self, Code> {
        // SAFETY: the place is valid, there are no options; the caller's promise.
        let loaded =
            |module: &mut _| unsafe { sys::cuModuleLoadDataEx(module, image, 0, ptr::null_mut(), ptr::null_mut()) };
        handle(loaded).map(Self)
    }

    /// The address of the handle, valid as long as this module.
    #[cfg(feature = "cust")]
    pub(crate) fn as_ptr(&self) -> *const sys::CUmodule {
        &raw const self.0
    }

    /// The kernel of a name (`cuModuleGetFunction`). The kernel is valid as long as the module.
    pub(crate) fn function(&self, name: &CStr) -> Result<Function, Code> {
        // SAFETY: the module is loaded, the name terminated, the place valid.
        handle(|function| unsafe { sys::cuModuleGetFunction(function, self.0, name.as_ptr()) }).map(Function::of)
    }

    /// Address and bytes of a variable (`cuModuleGetGlobal`).
    pub(crate) fn variable(&self, name: &CStr) -> Result<(u64, usize), Code> {
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: as above.
        answer(unsafe { sys::cuModuleGetGlobal_v2(&mut address, &mut bytes, self.0, name.as_ptr()) })?;
        Ok((address, bytes))
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: unloaded once. An error is a fault that every later call reports.
        let _ = unsafe { sys::cuModuleUnload(self.0) };
    }
}
