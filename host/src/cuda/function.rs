//! A kernel of a loaded module.

use super::{Code, stored, sys};

/// A kernel, valid as long as its module.
#[derive(Clone, Copy)]
pub(crate) struct Function(sys::CUfunction);

// SAFETY: a function is a name that the driver looks up; its calls may be made from any thread.
unsafe impl Send for Function {}

// SAFETY: as above.
unsafe impl Sync for Function {}

/// An attribute of a kernel, by the numbers of `CUfunction_attribute`.
#[derive(Clone, Copy)]
#[repr(i32)]
pub(crate) enum FunctionAttribute {
    MaxThreadsPerBlock = 0,
    SharedSizeBytes = 1,
    LocalSizeBytes = 3,
    NumRegs = 4,
}

impl Function {
    pub(super) fn of(raw: sys::CUfunction) -> Self {
        Self(raw)
    }

    pub(crate) fn raw(self) -> sys::CUfunction {
        self.0
    }

    /// An attribute (`cuFuncGetAttribute`).
    ///
    /// # Safety
    /// The kernel's module is loaded.
    pub(crate) unsafe fn attribute(self, attribute: FunctionAttribute) -> Result<i32, Code> {
        // SAFETY: the place is valid; the caller's promise.
        stored(|value| unsafe { sys::cuFuncGetAttribute(value, attribute as i32, self.0) })
    }

    /// Blocks of so many threads, and bytes of dynamic shared memory, that a multiprocessor holds at the same time
    /// (`cuOccupancyMaxActiveBlocksPerMultiprocessor`).
    ///
    /// # Safety
    /// The kernel's module is loaded.
    pub(crate) unsafe fn blocks_per_multiprocessor(self, threads: u32, shared: usize) -> Result<u32, Code> {
        let threads = i32::try_from(threads).map_err(|_| Code::INVALID_VALUE)?;
        // SAFETY: the place is valid; the caller's promise.
        let blocks = stored(|blocks| unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, self.0, threads, shared)
        })?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }
}
