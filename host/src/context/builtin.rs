//! Kernels that the runtime itself needs, each loaded into a context when it is first launched.
//!
//! They belong to the context and not to a module, which would keep the context alive.

use crate::base::append::AppendMap;
use crate::base::error::Result;
use crate::base::ptx::Pieces;
use crate::context::Entered;
use crate::context::function::Function;
use parking_lot::Mutex;
use std::ffi::CString;
use std::mem::ManuallyDrop;

/// The loaded kernels of a context.
#[derive(Default)]
pub(crate) struct Builtin {
    kernels: AppendMap<&'static str, Loaded>,
    /// Held while a kernel is loaded, so that each kernel is loaded once.
    loading: Mutex<()>,
}

/// A kernel in a module of its own: the driver compiles what is used, and nothing else.
struct Loaded {
    function: Function,
    module: ManuallyDrop<crate::cuda::Module>,
}

impl Builtin {
    /// A kernel, from a text that may have others.
    pub(crate) fn function(&self, entered: &Entered<'_>, text: &Pieces, name: &'static str) -> Result<&Function> {
        if let Some(loaded) = self.kernels.get(name) {
            return Ok(&loaded.function);
        }
        let _only = self.loading.lock();
        if let Some(loaded) = self.kernels.get(name) {
            return Ok(&loaded.function);
        }
        let operation = || format!("load the kernel `{name}` for arrays");
        let text = text.only(name, entered.context.limits.compute_capability)?;
        let text = CString::new(text).unwrap_or_default();
        let module = entered.check(crate::cuda::Module::from_ptx(&text), operation)?;
        let symbol = CString::new(name).unwrap_or_default();
        let raw = entered.check(module.function(&symbol), operation)?;
        // SAFETY: the function is kept with its module, which is not unloaded before the map is dropped.
        let function = unsafe { Function::new(0, raw, entered, operation) }?;
        let module = ManuallyDrop::new(module);
        Ok(&self.kernels.insert(name, Loaded { function, module }).function)
    }

    /// Unloads the kernels, once none of them is running. The context must be current.
    pub(crate) fn unload(self) {
        let mut kernels = self.kernels.into_values().peekable();
        if kernels.peek().is_some() {
            // There is no caller left to return an error to.
            let _ = crate::cuda::synchronize();
        }
        for loaded in kernels {
            drop(ManuallyDrop::into_inner(loaded.module));
        }
    }
}
