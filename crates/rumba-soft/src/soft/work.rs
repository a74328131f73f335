//! The work of a stream: kernels, copies, fills, host functions and the like.
//!
//! A piece of work was checked when it was enqueued. What still goes wrong when it runs is a failure of its context.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use smallvec::SmallVec;

use crate::code::Code;
use crate::error::Error;
use crate::soft::comparison;
use crate::soft::context::as_host_function;
use crate::soft::driver::Driver;
use crate::soft::machine::{HostWaits, Launch};
use crate::soft::memory::Allocation;
use crate::soft::module::Function;
use crate::soft::order::Stamp;
use crate::soft::queue::ContextStatus;
use crate::soft::report;

/// A kernel's parameters in the kernel's layout, stored inline for ordinary kernels. They are aligned to 16 bytes: a
/// program that asks a graph's node for its parameters reads them in place with their own types.
#[derive(Clone, Default)]
pub(crate) struct ParameterBlock {
    words: SmallVec<[u128; 16]>,
    bytes: usize,
}

impl ParameterBlock {
    /// Parameters of `bytes` bytes, all of them 0.
    pub(crate) fn zeros(bytes: usize) -> Self {
        let words = SmallVec::from_elem(0, bytes.div_ceil(size_of::<u128>()));
        Self { words, bytes }
    }
}

impl Deref for ParameterBlock {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the words have at least as many bytes, and any bytes are valid.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast(), self.bytes) }
    }
}

impl DerefMut for ParameterBlock {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, also for bytes that are written.
        unsafe { std::slice::from_raw_parts_mut(self.words.as_mut_ptr().cast(), self.bytes) }
    }
}

/// A host function with its argument.
pub(crate) type HostFunction = unsafe extern "C" fn(*mut c_void);

/// The older form, which is also told the stream and how its work went.
pub(crate) type StreamCallback = unsafe extern "C" fn(usize, Code, *mut c_void);

/// A kernel with everything that its launch needs.
#[derive(Clone)]
pub(crate) struct KernelWork {
    pub(crate) function: Arc<Function>,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    pub(crate) cooperative: bool,
    pub(crate) cluster: Option<[u32; 3]>,
    /// Whether the kernel may begin before earlier work has ended, which the machine never lets it do; edges of
    /// captured graphs record it.
    pub(crate) programmatic: bool,
    pub(crate) parameters: ParameterBlock,
    /// Whether the caller waits for it, where launches run on both engines.
    pub(crate) host: Option<Arc<HostWaits>>,
}

impl KernelWork {
    pub(crate) fn launch(&self) -> Launch<'_> {
        Launch {
            grid: self.grid,
            block: self.block,
            dynamic_shared: self.shared,
            parameters: &self.parameters,
            cooperative: self.cooperative,
            cluster: self.cluster,
            device: self.function.context.device.unsigned_abs(),
        }
    }
}

/// One side of a copy: its first byte, and how far its rows and slices are apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grid {
    pub(crate) start: u64,
    /// Whether the machine knows the memory.
    pub(crate) is_device: bool,
    pub(crate) row: usize,
    pub(crate) slice: usize,
}

impl Grid {
    fn row_at(&self, y: usize, z: usize) -> (u64, bool) {
        (self.start + (z * self.slice + y * self.row) as u64, self.is_device)
    }
}

/// A copy of a box of bytes.
#[derive(Clone)]
pub(crate) struct Transfer {
    target: Grid,
    source: Grid,
    width: usize,
    height: usize,
    depth: usize,
    /// The bytes of a source that its owner may change before the copy is done.
    staged: Option<Arc<[u8]>>,
}

impl Transfer {
    /// A copy of so many bytes in a row, rows in a slice, and slices.
    ///
    /// # Safety
    /// A side that is not the machine's memory is host memory that may be read, or written, until the copy is done.
    pub(crate) unsafe fn new(target: Grid, source: Grid, [width, height, depth]: [usize; 3]) -> Self {
        Self { target, source, width, height, depth, staged: None }
    }

    pub(crate) fn target(&self) -> &Grid {
        &self.target
    }

    pub(crate) fn source(&self) -> &Grid {
        &self.source
    }

    pub(crate) fn extents(&self) -> [usize; 3] {
        [self.width, self.height, self.depth]
    }

    pub(crate) fn bytes(&self) -> usize {
        self.width * self.height * self.depth
    }

    /// Takes a copy of the source now, which must be the host's.
    pub(crate) fn stage(&mut self) {
        assert!(!self.source.is_device, "the host cannot read the device's memory here");
        let mut bytes = Vec::with_capacity(self.bytes());
        for z in 0..self.depth {
            for y in 0..self.height {
                let (row, _) = self.source.row_at(y, z);
                // SAFETY: host memory that may be read (the promise of `new`); only a copy of such a source is staged.
                bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(row as *const u8, self.width) });
            }
        }
        let staged: Arc<[u8]> = bytes.into();
        self.source =
            Grid { start: staged.as_ptr() as u64, is_device: false, row: self.width, slice: self.width * self.height };
        self.staged = Some(staged);
    }

    pub(crate) fn run(&self, driver: &Driver) -> Result<(), Error> {
        for z in 0..self.depth {
            for y in 0..self.height {
                // SAFETY: the promise of `new`.
                unsafe { transfer(driver, self.target.row_at(y, z), self.source.row_at(y, z), self.width) }?;
            }
        }
        Ok(())
    }
}

/// Moves bytes between two places that were checked.
///
/// # Safety
/// A place that is not the machine's memory is host memory, of which as many bytes may be read, or written.
unsafe fn transfer(driver: &Driver, target: (u64, bool), source: (u64, bool), bytes: usize) -> Result<(), Error> {
    match (target, source) {
        ((target, true), (source, true)) => driver.machine.copy(target, source, bytes as u64),
        ((target, true), (source, false)) => {
            // SAFETY: the caller's promise.
            let source = unsafe { std::slice::from_raw_parts(source as *const u8, bytes) };
            driver.machine.write(target, source)
        }
        ((target, false), (source, true)) => {
            // SAFETY: the caller's promise.
            let target = unsafe { std::slice::from_raw_parts_mut(target as *mut u8, bytes) };
            driver.machine.read(source, target)
        }
        ((target, false), (source, false)) => {
            // SAFETY: the caller's promise; they may overlap.
            unsafe { std::ptr::copy(source as *const u8, target as *mut u8, bytes) };
            Ok(())
        }
    }
}

/// Equal elements to be stored in rows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fill {
    pub(crate) target: u64,
    pub(crate) pitch: usize,
    pub(crate) value: u32,
    /// Bytes of an element: 1, 2 or 4.
    pub(crate) element: usize,
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Fill {
    fn run(&self, driver: &Driver) -> Result<(), Error> {
        let value = self.value.to_le_bytes();
        for index in 0..self.height {
            let row = self.target + (index * self.pitch) as u64;
            driver.machine.fill(row, &value[..self.element], self.width as u64)?;
        }
        Ok(())
    }
}

/// A word in memory that a stream writes or waits for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Word {
    pub(crate) address: u64,
    pub(crate) value: u64,
    pub(crate) is_wide: bool,
    pub(crate) flags: u32,
}

impl Word {
    fn bytes(&self) -> u64 {
        if self.is_wide { 8 } else { 4 }
    }

    /// Writes the word, unless its memory was unmapped since.
    fn write(&self, driver: &Driver) -> Result<(), Error> {
        driver.while_live(self.address, self.bytes(), || {
            // SAFETY: the address was found to be aligned when the work was enqueued, and its memory stays while this runs.
            // Kernels and the host reach the same word.
            unsafe {
                if self.is_wide {
                    AtomicU64::from_ptr(self.address as *mut u64).store(self.value, Ordering::SeqCst);
                } else {
                    AtomicU32::from_ptr(self.address as *mut u32).store(self.value as u32, Ordering::SeqCst);
                }
            }
        })
    }

    fn read(&self, driver: &Driver) -> Result<u64, Error> {
        driver.while_live(self.address, self.bytes(), || {
            // SAFETY: as in `write`.
            unsafe {
                if self.is_wide {
                    AtomicU64::from_ptr(self.address as *mut u64).load(Ordering::SeqCst)
                } else {
                    u64::from(AtomicU32::from_ptr(self.address as *mut u32).load(Ordering::SeqCst))
                }
            }
        })
    }

    /// Waits until the condition holds that the low bits of the flags name.
    fn wait(&self, driver: &Driver, status: &ContextStatus) -> Result<(), Error> {
        while !self.holds(self.read(driver)?) && !status.gives_up() {
            std::thread::sleep(Duration::from_micros(50));
        }
        Ok(())
    }

    fn holds(&self, found: u64) -> bool {
        match self.flags & 3 {
            0 if self.is_wide => found.wrapping_sub(self.value) as i64 >= 0,
            0 => (found as u32).wrapping_sub(self.value as u32) as i32 >= 0,
            1 => found == self.value,
            2 => found & self.value != 0,
            _ if self.is_wide => !(found | self.value) != 0,
            _ => !(found as u32 | self.value as u32) != 0,
        }
    }
}

/// An argument of a host function, which only that function looks at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Argument(pub(crate) *mut c_void);

// SAFETY: the driver passes the pointer on and never uses it; the caller asked for it to be used in another thread.
unsafe impl Send for Argument {}
// SAFETY: as above.
unsafe impl Sync for Argument {}

/// A piece of work.
#[derive(Clone)]
pub(crate) enum Work {
    /// Nothing: a place in the order.
    Nothing,
    /// A kernel.
    Kernel(Arc<KernelWork>),
    /// A copy.
    Transfer(Arc<Transfer>),
    /// A fill.
    Fill(Fill),
    /// The record of an event.
    Record(Arc<Stamp>),
    /// A host function, which is called if all went well before it.
    Host(HostFunction, Argument),
    /// A callback, which is called in any case, with the stream that it was enqueued in.
    Callback(StreamCallback, usize, Argument),
    /// The end of an allocation, which the table of allocations has forgotten already.
    Free(Allocation),
    /// A word to write.
    Write(Word),
    /// A word to wait for.
    Wait(Word),
}

impl Work {
    /// Whether it may take as long as others please, or must not run in a thread of the program.
    pub(crate) fn needs_driver_thread(&self) -> bool {
        matches!(self, Self::Host(..) | Self::Callback(..) | Self::Wait(_))
    }

    /// Whether it is a function of the program.
    pub(crate) fn is_of_host(&self) -> bool {
        matches!(self, Self::Host(..) | Self::Callback(..))
    }

    /// Whether it takes no longer than handing it to another thread.
    pub(crate) fn is_quick(&self) -> bool {
        /// Bytes that are copied in some microseconds.
        const QUICK: usize = 64 << 10;
        match self {
            Self::Nothing | Self::Record(_) | Self::Free(_) | Self::Write(_) => true,
            Self::Transfer(transfer) => transfer.bytes() <= QUICK,
            Self::Fill(fill) => fill.width * fill.height * fill.element <= QUICK,
            Self::Kernel(_) | Self::Host(..) | Self::Callback(..) | Self::Wait(_) => false,
        }
    }

    /// Does it. In a context that has failed, nothing is done any more.
    pub(crate) fn run(&self, status: &ContextStatus) {
        let Ok(driver) = Driver::get() else { return };
        match self {
            Self::Record(stamp) => return stamp.set(),
            Self::Callback(callback, stream, argument) => {
                let status = status.usable().err().map_or(Code::SUCCESS, |error| error.code());
                // SAFETY: the caller of `cuStreamAddCallback` asked for this call, with this argument.
                return as_host_function(|| unsafe { callback(*stream, status, argument.0) });
            }
            // Memory is given back also by a context that has failed.
            Self::Free(allocation) => {
                let _ = driver.give_back(allocation);
                return;
            }
            _ => {}
        }
        let _running = match self {
            // Not the device's own work: a host function may itself wait to hear of the failure.
            Self::Host(..) | Self::Wait(_) | Self::Nothing if status.usable().is_err() => return,
            Self::Host(..) | Self::Wait(_) | Self::Nothing => None,
            _ => match status.begin() {
                None => return,
                running => running,
            },
        };
        let outcome = match self {
            Self::Kernel(kernel) => return run_kernel(driver, kernel, status),
            Self::Transfer(transfer) => transfer.run(driver),
            Self::Fill(fill) => fill.run(driver),
            Self::Host(function, argument) => {
                // SAFETY: the caller of `cuLaunchHostFunc`, or of a graph's node, asked for this call, with this argument.
                as_host_function(|| unsafe { function(argument.0) });
                Ok(())
            }
            Self::Write(word) => {
                let _beside = driver.machine.beside_launches();
                word.write(driver)
            }
            Self::Wait(word) => word.wait(driver, status),
            Self::Nothing | Self::Record(_) | Self::Callback(..) | Self::Free(_) => Ok(()),
        };
        if let Err(error) = outcome {
            // The memory was freed or unmapped after the work was enqueued.
            report::refusal(&error);
            status.fail(Code::ILLEGAL_ADDRESS);
        }
    }
}

fn run_kernel(driver: &Driver, kernel: &KernelWork, status: &ContextStatus) {
    let nobody = HostWaits::no();
    let host = kernel.host.as_deref().unwrap_or(&nobody);
    match driver.machine.launch(host, &kernel.function.kernel, &kernel.launch()) {
        Ok(Ok(())) => {}
        Ok(Err(fault)) => {
            if let Some(assertion) = &fault.assertion {
                eprintln!("{assertion}");
            }
            if fault.is_of_machine {
                comparison::note(&fault.report);
                report::mistake(&fault.report);
            } else {
                report::fault(&fault.report);
            }
            status.fail(fault.code);
        }
        // Launches are checked when they are enqueued.
        Err(error) => {
            report::refusal(&error);
            status.fail(Code::LAUNCH_FAILED);
        }
    }
}
