//! Memory: typed buffers on the device, views of them, page-locked host memory, and the pool behind
//! kernel arguments that are host slices.
//!
//! # When memory is given back
//!
//! What the device may still read or write is neither freed nor given to the caller. All of the runtime keeps to these rules:
//!
//! 1. A wait that was refused is not a wait. Only an answer of the driver to `cuStreamSynchronize`, `cuCtxSynchronize` or
//!    `cuEventSynchronize` ends one: success, or the fault of a context, whose work the driver has stopped by then. An error
//!    of our own, made before the driver was asked (in a host function, in a context that is lost), says nothing about the
//!    device. `Entered::settle` asks the driver in every case.
//! 2. Every owner of something that the device may be using waits in its drop: [`PendingCopy`] and [`CopyScope`] for their
//!    streams, graphs and modules for the context. Freeing device memory waits by itself (`cuMemFree`), and what the driver
//!    does not free, in a context that is lost, stays until the context is gone. Host memory that the runtime allocated is
//!    freed in any case, after the wait.
//! 3. In a host function nothing can wait. There a drop is handed on to a thread of the runtime's:
//!    `crate::callback::OutsideHostFn`, in which every handle is kept.
//! 4. A stream is busy until a synchronisation of its driver handle has returned, not until its last [`Stream`] is gone:
//!    `crate::stream::Lanes` keeps the handle so long, and the order between streams is made on handles.
//! 5. `Device::reset` waits for the calls in progress and for the device. What refers to the old context owns nothing in it
//!    any more; its host memory is freed without asking the driver.
//!
//! [`Stream`]: crate::Stream

mod buffer;
mod copies;
mod ordered;
mod pinned;
mod pool;
mod raw;
pub(crate) mod staged;
mod unified;
mod uses;
mod view;

pub use buffer::{DeviceBuffer, DevicePointer};
pub use copies::{CopyScope, PendingCopy};
pub use ordered::MemoryPool;
pub use pinned::PinnedBuffer;
pub(crate) use pool::Pool;
pub use unified::{HostView, HostViewMut, UnifiedBuffer};
pub use view::{DeviceSlice, DeviceSliceMut};

pub(crate) use raw::{copy_in, copy_out};
pub(crate) use staged::Staging;
pub(crate) use uses::{Access, Order, OrderId, Uses};
pub(crate) use view::same_length;

use crate::callback::OutsideHostFn;
use crate::context::{Context, Entered};
use crate::driver;
use crate::error::{Code, Error, Result};
use cust::error::CudaResult;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;

/// A handle to an allocation on a device. Kernel arguments find their way back to it, whatever the type of
/// its elements: see [`cuda_std::launch::Arguments::borrowed`].
#[derive(Clone)]
pub(crate) struct Memory(OutsideHostFn<Arc<Allocation>>);

/// The allocation, freed with its last handle.
pub(crate) struct Allocation {
    pub(crate) context: Arc<Context>,
    pub(crate) uses: Uses,
    address: u64,
    bytes: usize,
    origin: Origin,
    /// The type of the elements, for messages.
    element: &'static str,
}

/// Where an allocation is from, and thus how it is freed.
enum Origin {
    /// `cuMemAlloc`.
    Device,
    /// A pool of stream-ordered memory.
    Pool {
        /// It lives as long as its memory.
        _pool: OutsideHostFn<Arc<ordered::Handle>>,
    },
    /// `cuMemAllocManaged`: the host has it at the same address.
    Managed,
    /// `cuMemHostAlloc`: the host has it at this address.
    Mapped(usize),
}

impl Memory {
    /// What the address of an allocation is a multiple of (CUDA C++ Programming Guide, "Device Memory Accesses").
    pub(crate) const ALIGNMENT: usize = 256;
    /// What stands for the address of nothing: not null, since kernels take references, and aligned
    /// as an allocation is.
    pub(crate) const EMPTY: u64 = Memory::ALIGNMENT as u64;

    /// That elements lie where they must in an allocation, from the start on.
    pub(crate) const fn aligns<T>() {
        const {
            assert!(
                align_of::<T>() <= Memory::ALIGNMENT,
                "elements in device memory are aligned to 256 bytes at most"
            );
        }
    }

    #[track_caller]
    fn new<T>(context: Arc<Context>, length: usize) -> Result<Memory> {
        let at = Location::caller();
        Memory::of::<T>(context, length, |entered, bytes, operation| {
            let call = || raw::allocate(bytes).map_err(Code::from);
            Ok((allocate_by(at, entered, bytes, operation, call)?, Origin::Device))
        })
    }

    /// With memory from somewhere: at least one byte.
    #[track_caller]
    fn of<T>(
        context: Arc<Context>,
        length: usize,
        allocate: impl FnOnce(&Entered<'_>, usize, &dyn Fn() -> String) -> Result<(u64, Origin)>,
    ) -> Result<Memory> {
        Memory::aligns::<T>();
        let bytes = length
            .checked_mul(size_of::<T>())
            .filter(|&bytes| isize::try_from(bytes).is_ok());
        let bytes = bytes.ok_or(Error::TooLarge {
            length,
            size: size_of::<T>(),
        })?;
        let element = std::any::type_name::<T>();
        let operation = || format!("allocate a DeviceBuffer<{element}> of {length} elements");
        let (address, origin) = if bytes == 0 {
            context.enter(operation)?;
            (Memory::EMPTY, Origin::Device)
        } else {
            allocate(&context.enter(operation)?, bytes, &operation)?
        };
        Ok(Memory(OutsideHostFn::new(Arc::new(Allocation {
            uses: Uses::new(context.lanes.order_id),
            context,
            address,
            bytes,
            origin,
            element,
        }))))
    }
}

impl Memory {
    /// Whether both are handles to one allocation.
    pub(crate) fn is(&self, other: &Memory) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Deref for Memory {
    type Target = Allocation;

    fn deref(&self) -> &Allocation {
        &self.0
    }
}

impl Allocation {
    /// The bytes at `address` as counted from the start.
    pub(crate) fn access(&self, address: u64, bytes: u64, writes: bool) -> Access {
        let start = address - self.address;
        Access {
            bytes: start..start + bytes,
            writes,
        }
    }

    /// Whether the host reaches it by address.
    pub(crate) fn is_unified(&self) -> bool {
        matches!(self.origin, Origin::Managed | Origin::Mapped(_))
    }

    /// "`verb` a DeviceBuffer<…> of … bytes", for messages.
    pub(crate) fn operation(&self, verb: &str) -> String {
        format!("{verb} a DeviceBuffer<{}> of {} bytes", self.element, self.bytes)
    }

    /// Begins an operation on this memory.
    fn enter(&self, verb: &str) -> Result<Entered<'_>> {
        self.context.enter(|| self.operation(verb))
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        if let Some(entered) = self.context.enter_to_release() {
            // The driver waits for work that uses the memory. An error here is a fault that every
            // later call reports.
            let _ = match &self.origin {
                // SAFETY: `origin` says that the address was allocated so; the last handle to it is gone.
                Origin::Device | Origin::Managed => unsafe { raw::free(self.address) },
                Origin::Pool { .. } => {
                    // SAFETY: as above.
                    unsafe { ordered::Handle::free(self, &entered) };
                    Ok(())
                }
                // SAFETY: as above.
                Origin::Mapped(host) => unsafe { raw::free_host(*host) },
            };
        }
    }
}

/// Allocates, after giving back what the pool holds if there is too little without.
#[track_caller]
pub(crate) fn allocate(entered: &Entered<'_>, bytes: usize, operation: impl Fn() -> String) -> Result<u64> {
    let call = || raw::allocate(bytes).map_err(Code::from);
    allocate_by(Location::caller(), entered, bytes, operation, call)
}

/// As [`allocate`], by any call of the driver, for a place in the host's program.
fn allocate_by(
    at: &'static Location<'static>,
    entered: &Entered<'_>,
    bytes: usize,
    operation: impl Fn() -> String,
    mut call: impl FnMut() -> Result<u64, Code>,
) -> Result<u64> {
    let mut allocate = || driver::allocating(at, &mut call);
    let allocated: Result<u64, Code> = allocate().or_else(|code| {
        if code != Code::OUT_OF_MEMORY {
            return Err(code);
        }
        entered.context.pool.lock().release();
        allocate()
    });
    match allocated {
        Err(Code::OUT_OF_MEMORY) => {
            let memory: CudaResult<(usize, usize)> = cust::memory::mem_get_info();
            let (free, total) = memory.unwrap_or((0, 0));
            Err(Error::OutOfMemory {
                operation: operation(),
                device: entered.context.ordinal,
                bytes,
                free,
                total,
            })
        }
        other => entered.check(other, operation),
    }
}
