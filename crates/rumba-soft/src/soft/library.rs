//! Libraries: modules that belong to no context. A library is loaded into a context when the context first asks for it.
//!
//! No lazy loading of single kernels: a library is parsed and checked as a whole when it is made.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Error;
use crate::soft::context::Owner;
use crate::soft::driver::Driver;
use crate::soft::image::Source;
use crate::soft::machine::{Kernel, Program};
use crate::soft::module::{Function, Module};

/// A library.
pub(crate) struct Library {
    /// Its texts, for the contexts after the first.
    pub(crate) sources: Vec<Source>,
    /// The program that was loaded to check the texts; the first context takes it.
    pub(crate) spare: Mutex<Option<Program>>,
    /// The names of its kernels.
    pub(crate) names: Vec<String>,
    /// Handles of the modules, by the life of their context.
    modules: Mutex<HashMap<u64, usize>>,
    /// Handles of the kernels that were asked for.
    pub(crate) kernels: Mutex<HashMap<String, usize>>,
}

/// A kernel of a library, in whichever context is current.
pub(crate) struct LibraryKernel {
    /// The handle of its library.
    pub(crate) library: usize,
    pub(crate) name: CString,
    /// The kernel's resources and parameters, which are the same in every context.
    pub(crate) kernel: Kernel,
}

impl Library {
    pub(crate) fn new(sources: Vec<Source>, program: Program) -> Self {
        Self {
            sources,
            names: program.kernel_names(),
            spare: Mutex::new(Some(program)),
            modules: Mutex::default(),
            kernels: Mutex::default(),
        }
    }

    /// The handle of its module in a context.
    pub(crate) fn module_in(&self, driver: &Driver, context: &Owner) -> Result<usize, Error> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(handle) = modules.get(&context.life)
            && driver.modules.get(*handle).is_ok()
        {
            return Ok(*handle);
        }
        let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).take();
        let program = match spare.filter(|program| program.is_of(driver.part(context))) {
            Some(program) => program,
            None => driver.machine.load(driver.part(context), &self.sources)?,
        };
        let (handle, _) = driver.modules.insert(|_| Module::new(Arc::clone(context), program));
        modules.insert(context.life, handle);
        Ok(handle)
    }

    /// The handles of all modules it was loaded as.
    pub(crate) fn modules(&self) -> Vec<usize> {
        let modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        modules.values().copied().collect()
    }
}

impl Driver {
    /// The function behind a handle; that of a library's kernel means the kernel in the current context.
    pub(crate) fn function(&self, handle: usize) -> Result<Arc<Function>, Error> {
        match self.functions.get(handle) {
            Ok(function) => Ok(function),
            Err(error) => match self.kernels.get(handle) {
                Ok(kernel) => self.functions.get(self.function_of_kernel(&kernel)?),
                Err(_) => Err(error),
            },
        }
    }

    /// The handle of a library's kernel as a function of the current context.
    pub(crate) fn function_of_kernel(&self, kernel: &LibraryKernel) -> Result<usize, Error> {
        let (_, context) = Self::current()?;
        let library = self.libraries.get(kernel.library)?;
        let module = library.module_in(self, &context)?;
        self.function_in(module, &kernel.name)
    }

    /// The handle of a module's function: always the same one for a name.
    pub(crate) fn function_in(&self, handle: usize, name: &std::ffi::CStr) -> Result<usize, Error> {
        let module = self.modules.get(handle)?;
        let text = name.to_string_lossy();
        let mut functions = module.functions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = functions.get(&*text) {
            return Ok(*known);
        }
        let kernel = module.program.kernel(&text)?;
        let context = Arc::clone(&module.context);
        let (found, _) = self.functions.insert(|_| Function::new(context, handle, kernel, name.to_owned()));
        functions.insert(text.into_owned(), found);
        Ok(found)
    }
}
