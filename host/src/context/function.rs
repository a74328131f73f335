//! A kernel as the driver knows it, ready to launch, with what the driver's compiler made of it.

use crate::base::activity::KernelInfo;
use crate::base::error::{Error, Result, answer};
use crate::context::Entered;
use crate::cuda::{self, FunctionAttribute, sys};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A kernel of a module, ready to launch.
pub(crate) struct Function {
    /// The address of the launcher's kernel; 0 where none asked.
    pub(crate) key: usize,
    /// Valid as long as the module that holds this.
    pub(crate) raw: cuda::Function,
    pub(crate) info: KernelInfo,
    /// Whether the driver has been told to allow as much dynamic shared memory as there is.
    allows_shared: AtomicBool,
    /// Whether the kernel reads the size of its grid, once that has been asked.
    pub(crate) strides: OnceLock<bool>,
    /// Whether the program was warned of a launch that leaves elements of an output untouched.
    pub(crate) has_warned: AtomicBool,
}

impl Function {
    /// With what the driver's compiler made of it. `key` is the address of its launcher's kernel, or 0.
    ///
    /// # Safety
    /// The function is dropped before its module.
    pub(crate) unsafe fn new(
        key: usize,
        raw: cuda::Function,
        entered: &Entered<'_>,
        operation: impl Fn() -> String,
    ) -> Result<Function> {
        let read = |attribute| {
            // SAFETY: the module is loaded, since the function is dropped before it.
            let value = entered.check(unsafe { raw.attribute(attribute) }, &operation)?;
            Ok::<u32, Error>(u32::try_from(value).unwrap_or(0))
        };
        let info = KernelInfo {
            registers: read(FunctionAttribute::NumRegs)?,
            shared_memory: read(FunctionAttribute::SharedSizeBytes)?,
            local_memory: read(FunctionAttribute::LocalSizeBytes)?,
            threads_per_block: read(FunctionAttribute::MaxThreadsPerBlock)?,
        };
        Ok(Function {
            key,
            raw,
            info,
            allows_shared: AtomicBool::new(false),
            strides: OnceLock::new(),
            has_warned: AtomicBool::new(false),
        })
    }

    /// Tells the driver once that launches may use this much dynamic shared memory. Amounts up to the
    /// default limit of a block need no call.
    ///
    /// Always allows the device's maximum, so that no other handle to the same kernel lowers the limit.
    #[inline]
    pub(crate) fn allow_shared(&self, entered: &Entered<'_>, dynamic: u32) -> Result<()> {
        let needed = self.info.shared_memory.saturating_add(dynamic);
        if needed <= entered.context.limits.shared_memory || self.allows_shared.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.allow_all_shared(entered)
    }

    #[cold]
    fn allow_all_shared(&self, entered: &Entered<'_>) -> Result<()> {
        let attribute = sys::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let most = entered.context.limits.shared_memory_optin;
        let bytes = i32::try_from(most.saturating_sub(self.info.shared_memory)).unwrap_or(i32::MAX);
        // SAFETY: the function is alive, its context current.
        let result = answer(unsafe { sys::cuFuncSetAttribute(self.raw.raw(), attribute, bytes) });
        entered.check(result, || format!("allow {bytes} bytes of dynamic shared memory"))?;
        self.allows_shared.store(true, Ordering::Relaxed);
        Ok(())
    }
}
