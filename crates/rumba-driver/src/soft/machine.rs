//! The SIMT machine as the driver uses it: the only file that names `rumba_vm`.

use std::alloc::Layout;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::code::Code;
use crate::error::Error;
use crate::soft::image::Source;

/// The machine.
pub(crate) struct Machine {
    blocks: Mutex<BTreeMap<u64, u64>>,
}

/// A loaded set of PTX texts.
pub(crate) struct Program;

/// One kernel of a program.
#[derive(Clone)]
pub(crate) struct Kernel;

/// What a kernel needs.
pub(crate) struct Needs {
    pub(crate) registers: u32,
    pub(crate) shared_bytes: u32,
    pub(crate) const_bytes: u32,
    pub(crate) local_bytes: u32,
    pub(crate) max_threads_per_block: u32,
    pub(crate) ptx_version: u32,
}

/// One parameter of a kernel in its parameter block.
pub(crate) struct Parameter {
    pub(crate) offset: usize,
    pub(crate) bytes: usize,
}

/// A launch that the driver has checked.
pub(crate) struct Launch<'a> {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared: u32,
    pub(crate) parameters: &'a [u8],
    pub(crate) cooperative: bool,
}

/// A kernel that failed while it ran.
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) report: String,
}

/// Total device memory in bytes.
const MEMORY: u64 = 4 << 30;

impl Machine {
    pub(crate) fn new() -> Result<Self, Error> {
        Ok(Self {
            blocks: Mutex::default(),
        })
    }
    pub(crate) fn name(&self) -> String {
        "Rumba software device".into()
    }
    pub(crate) fn multiprocessors(&self) -> u32 {
        2
    }
    pub(crate) fn memory(&self) -> (u64, u64) {
        let used: u64 = self.blocks().values().sum();
        (MEMORY - used, MEMORY)
    }
    fn blocks(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, u64>> {
        self.blocks.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(crate) fn allocate(&self, bytes: u64) -> Result<u64, Error> {
        let (free, _) = self.memory();
        if bytes > free {
            return Err(Error::OutOfMemory { asked: bytes, free });
        }
        let layout = Layout::from_size_align(bytes.max(1) as usize, 256).unwrap();
        // SAFETY: the layout is not empty.
        let start = unsafe { std::alloc::alloc(layout) } as u64;
        self.blocks().insert(start, bytes);
        Ok(start)
    }
    pub(crate) fn free(&self, start: u64) -> Result<(), Error> {
        let bytes = self.blocks().remove(&start).unwrap();
        let layout = Layout::from_size_align(bytes.max(1) as usize, 256).unwrap();
        // SAFETY: allocated above.
        unsafe { std::alloc::dealloc(start as *mut u8, layout) };
        Ok(())
    }
    pub(crate) fn holding(&self, address: u64) -> Option<(u64, u64)> {
        let blocks = self.blocks();
        let (start, bytes) = blocks.range(..=address).next_back()?;
        (address - start < *bytes).then_some((*start, *bytes))
    }
    pub(crate) fn read(&self, source: u64, target: &mut [u8]) -> Result<(), Error> {
        // SAFETY: checked by the driver.
        unsafe { std::ptr::copy(source as *const u8, target.as_mut_ptr(), target.len()) };
        Ok(())
    }
    pub(crate) fn write(&self, target: u64, source: &[u8]) -> Result<(), Error> {
        // SAFETY: checked by the driver.
        unsafe { std::ptr::copy(source.as_ptr(), target as *mut u8, source.len()) };
        Ok(())
    }
    pub(crate) fn copy(&self, target: u64, source: u64, bytes: u64) -> Result<(), Error> {
        // SAFETY: checked by the driver.
        unsafe { std::ptr::copy(source as *const u8, target as *mut u8, bytes as usize) };
        Ok(())
    }
    pub(crate) fn fill(&self, target: u64, pattern: &[u8], count: u64) -> Result<(), Error> {
        for i in 0..count {
            self.write(target + i * pattern.len() as u64, pattern)?;
        }
        Ok(())
    }
    pub(crate) fn load(&self, _sources: &[Source]) -> Result<Program, Error> {
        Err(Error::Unserved { what: "loading" })
    }
    pub(crate) fn launch(&self, _kernel: &Kernel, _launch: &Launch<'_>) -> Result<Result<(), Fault>, Error> {
        Err(Error::Unserved { what: "launching" })
    }
}
impl Program {
    pub(crate) fn kernel(&self, _name: &str) -> Option<Kernel> {
        None
    }
    pub(crate) fn kernel_count(&self) -> usize {
        0
    }
    pub(crate) fn variable(&self, _name: &str) -> Option<(u64, u64)> {
        None
    }
}
impl Kernel {
    pub(crate) fn needs(&self) -> Needs {
        Needs {
            registers: 0,
            shared_bytes: 0,
            const_bytes: 0,
            local_bytes: 0,
            max_threads_per_block: 0,
            ptx_version: 0,
        }
    }
    pub(crate) fn parameter_bytes(&self) -> usize {
        0
    }
    pub(crate) fn parameters(&self) -> &[Parameter] {
        &[]
    }
}

pub(crate) fn check_syntax(_source: &Source) -> Result<(), Error> {
    Ok(())
}
