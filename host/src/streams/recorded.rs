//! Launches, and exchanges between ranks, that a recording stream takes note of, for a graph.

use crate::base::error::{Code, GraphError, Result, answer};
use crate::buffers::allocation::Memory;
use crate::buffers::argument::{device_memory, settling};
use crate::context::uses::Access;
use crate::cuda::sys;
use crate::modules::module::Module;
use crate::streams::stream::Stream;
use cuda_std::launch::{Arguments, Kernel, ParameterBytes, Settling};
use parking_lot::Mutex;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

/// A launch that has passed the checks, with a copy of its arguments.
pub(crate) struct Step {
    pub(crate) kernel: &'static Kernel,
    /// Keeps the function.
    pub(crate) module: Module,
    pub(crate) function: sys::CUfunction,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    /// Whether it may begin before the step ahead of it has ended.
    pub(crate) dependent: bool,
    words: Vec<MaybeUninit<u64>>,
    parameters: Vec<ParameterBytes>,
    pub(crate) uses: Vec<(Memory, Access)>,
    /// For each input, where the step is told that no running step may write the input.
    settling: Vec<(Memory, Access, Settling)>,
    /// For tests: what the step was told about each input, in order.
    #[cfg(test)]
    pub(crate) told: Vec<bool>,
}

// SAFETY: the function is a name that the driver looks up; the module keeps it.
unsafe impl Send for Step {}

/// An operation of a group of ranks or a call of a library, which a graph puts on a stream between launches.
pub(crate) struct Exchange {
    pub(crate) name: &'static str,
    pub(crate) put: PutExchange,
}

/// Puts an operation on a stream, or on the default stream.
pub(crate) type PutExchange = Box<dyn Fn(Option<&Stream>) -> Result<()> + Send + Sync>;

/// A note of a recording.
pub(crate) enum Recorded {
    Launch(Step),
    /// A call of a library, which puts its own work on the stream between launches.
    Call(Exchange),
    Exchange(Exchange),
}

/// The notes of a recording in progress. None: it has ended.
pub(crate) struct Recording(Mutex<Option<Vec<Recorded>>>);

impl Recording {
    pub(crate) fn new() -> Recording {
        Recording(Mutex::new(Some(Vec::new())))
    }

    pub(crate) fn add(&self, recorded: Recorded) -> Result<()> {
        let kernel = match &recorded {
            Recorded::Launch(step) => step.kernel.name,
            Recorded::Call(call) => call.name,
            Recorded::Exchange(exchange) => exchange.name,
        };
        match &mut *self.0.lock() {
            Some(all) => all.push(recorded),
            None => return Err(GraphError::Ended { kernel }.into()),
        }
        Ok(())
    }

    pub(crate) fn end(&self) -> Vec<Recorded> {
        self.0.lock().take().unwrap_or_default()
    }
}

impl Step {
    pub(crate) fn new(
        kernel: &'static Kernel,
        module: &Module,
        function: sys::CUfunction,
        (grid, block, shared): ([u32; 3], [u32; 3], u32),
        dependent: bool,
        arguments: &Arguments<'_>,
    ) -> Result<Step> {
        if kernel.contract.cooperative && !arguments.transfers().is_empty() {
            return Err(GraphError::Cooperative { kernel: kernel.name }.into());
        }
        if let Some(index) = arguments.transfers().first().and_then(|first| {
            let starts = arguments.parameters();
            starts.iter().position(|parameter| usize::from(parameter.word) == first.word)
        }) {
            return Err(GraphError::HostMemory { kernel: kernel.name, parameter: index }.into());
        }
        if device_memory(arguments).any(|(memory, _)| memory.is_unified()) {
            return Err(GraphError::UnifiedMemory { kernel: kernel.name }.into());
        }
        if device_memory(arguments).any(|(memory, _)| memory.is_lent()) {
            return Err(GraphError::Lent { kernel: kernel.name }.into());
        }
        Ok(Step {
            kernel,
            module: module.clone(),
            function,
            grid,
            block,
            shared,
            dependent,
            words: arguments.words().to_vec(),
            parameters: arguments.parameters().to_vec(),
            uses: device_memory(arguments).map(|(memory, access)| (memory.clone(), access)).collect(),
            settling: settling(arguments)
                .map(|(memory, access, settling)| (memory.clone(), access, settling))
                .collect(),
            #[cfg(test)]
            told: Vec::new(),
        })
    }

    /// Tells the kernel which of the memory that it reads is settled.
    pub(crate) fn settle(&mut self, is_settled: impl Fn(&Memory, &Access) -> bool) {
        #[cfg(test)]
        self.told.clear();
        for (memory, access, settling) in &self.settling {
            let settled = is_settled(memory, access);
            settling.tell(&mut self.words, settled);
            #[cfg(test)]
            self.told.push(settled);
        }
    }

    /// Calls the driver with the node's parameters, which it copies.
    pub(crate) fn with_parameters(
        &mut self,
        call: impl FnOnce(*const sys::CUDA_KERNEL_NODE_PARAMS) -> sys::CUresult,
    ) -> Result<(), Code> {
        let words = self.words.as_mut_ptr();
        let place = |parameter: &ParameterBytes| words.wrapping_add(usize::from(parameter.word)).cast::<c_void>();
        let mut pointers: Vec<*mut c_void> = self.parameters.iter().map(place).collect();
        let ([grid_x, grid_y, grid_z], [x, y, z]) = (self.grid, self.block);
        let parameters = sys::CUDA_KERNEL_NODE_PARAMS {
            func: self.function,
            gridDimX: grid_x,
            gridDimY: grid_y,
            gridDimZ: grid_z,
            blockDimX: x,
            blockDimY: y,
            blockDimZ: z,
            sharedMemBytes: self.shared,
            kernelParams: pointers.as_mut_ptr(),
            extra: ptr::null_mut(),
        };
        answer(call(&parameters))
    }
}
