//! Kernels that the runtime itself needs, loaded into a context when one is first launched.
//!
//! They belong to the context and not to a module, which would keep the context alive.

use super::Launch;
use crate::context::Entered;
use crate::error::{Code, LaunchError, Result};
use crate::module::Function;
use cuda_std::launch::Call;
use elsa::sync::FrozenMap;
use std::ffi::CString;
use std::mem::ManuallyDrop;

/// The loaded kernels of a context.
pub(crate) struct Builtin {
    functions: FrozenMap<&'static str, Box<Function>>,
    raw: ManuallyDrop<cust::module::Module>,
}

impl Builtin {
    fn load(entered: &Entered<'_>) -> Result<Builtin> {
        let text = CString::new(array_kernels::PTX).unwrap_or_default();
        let loaded = cust::module::Module::from_ptx_cstr(&text, &[]);
        let raw = entered.check(loaded, || "load the kernels for arrays".to_owned())?;
        Ok(Builtin {
            functions: FrozenMap::new(),
            raw: ManuallyDrop::new(raw),
        })
    }

    fn function(&self, entered: &Entered<'_>, name: &'static str) -> Result<&Function> {
        if let Some(function) = self.functions.get(name) {
            return Ok(function);
        }
        let operation = || format!("look up the kernel `{name}` for arrays");
        let raw = entered.check(self.raw.get_function(name).map_err(Code::from), operation)?;
        // SAFETY: the function is kept with its module, which is not unloaded before the map is dropped.
        let function = unsafe { Function::new(0, raw, entered, operation) }?;
        Ok(self.functions.insert(name, Box::new(function)))
    }

    /// Unloads the kernels. The context must be current, and none of them running.
    pub(crate) fn unload(mut self) {
        // SAFETY: dropped once, here; `self` ends.
        unsafe { ManuallyDrop::drop(&mut self.raw) };
    }
}

/// Puts a call of one of these kernels on the default stream.
pub(crate) fn launch(entered: &Entered<'_>, mut call: Call<'_>, grid: [u32; 3], block: [u32; 3]) -> Result<()> {
    let context = entered.context;
    let builtin = match context.builtin.get() {
        Some(builtin) => builtin,
        None => {
            let loaded = Builtin::load(entered)?;
            let mut unused = Some(loaded);
            let builtin = context
                .builtin
                .get_or_init(|| unused.take().expect("it is taken here only"));
            // Another thread was faster.
            if let Some(unused) = unused {
                unused.unload();
            }
            builtin
        }
    };
    let kernel = call.kernel();
    let function = builtin.function(entered, kernel.name)?;
    call.check(grid, block, 0).map_err(LaunchError::Contract)?;
    let launch = Launch {
        kernel,
        function,
        entered,
        lane: &context.lanes.default,
        grid,
        block,
        shared: 0,
    };
    launch.enqueue(call.arguments_mut())
}
