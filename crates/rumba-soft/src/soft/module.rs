//! Loaded modules, their functions, and link states.

use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32};

use crate::soft::context::Owner;
use crate::soft::image::Source;
use crate::soft::machine::{Kernel, Program};

/// A module of a context.
pub(crate) struct Module {
    pub(crate) context: Owner,
    pub(crate) program: Program,
    /// The handles of the functions that were asked for: the same name gives the same handle.
    pub(crate) functions: Mutex<HashMap<String, usize>>,
}

impl Module {
    pub(crate) fn new(context: Owner, program: Program) -> Self {
        Self { context, program, functions: Mutex::default() }
    }
}

/// A kernel of a module.
pub(crate) struct Function {
    pub(crate) context: Owner,
    /// The handle of its module.
    pub(crate) module: usize,
    pub(crate) kernel: Kernel,
    pub(crate) name: CString,
    /// Dynamic shared memory that a launch may ask for, in bytes.
    pub(crate) max_dynamic_shared: AtomicI32,
    /// Whether clusters may be larger than every device takes.
    pub(crate) allows_large_clusters: AtomicBool,
    /// Preferred share of shared memory, in percent; -1 is the default.
    pub(crate) carveout: AtomicI32,
}

impl Function {
    pub(crate) fn new(context: Owner, module: usize, kernel: Kernel, name: CString) -> Self {
        // For more than 48 KiB in all, a program has to ask.
        let max_dynamic_shared = (48_u32 << 10).saturating_sub(kernel.needs().shared_bytes);
        let max_dynamic_shared = AtomicI32::new(max_dynamic_shared as i32);
        Self {
            context,
            module,
            kernel,
            name,
            max_dynamic_shared,
            allows_large_clusters: AtomicBool::new(false),
            carveout: AtomicI32::new(-1),
        }
    }
}

/// A link in progress.
pub(crate) struct Link {
    pub(crate) context: Owner,
    pub(crate) state: Mutex<LinkState>,
}

/// The inputs of a link so far.
#[derive(Default)]
pub(crate) struct LinkState {
    pub(crate) sources: Vec<Source>,
    /// The finished image; it lives as long as the link state.
    pub(crate) image: Option<Vec<u8>>,
    pub(crate) log: crate::api::jit::Log,
}
