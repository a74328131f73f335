//! Allocations on a device, freed with their last handle.

use crate::base::driver;
use crate::base::error::{Code, Error, Result};
use crate::base::host_fn::OutsideHostFn;
use crate::buffers::pool_handle::PoolHandle;
use crate::context::raw;
use crate::context::users::Waited;
use crate::context::uses::{Access, Uses};
use crate::context::{Context, Entered};
use std::any::Any;
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
    pub(super) address: u64,
    pub(super) bytes: usize,
    pub(super) origin: Origin,
    /// The type of the elements, for messages.
    pub(super) element: &'static str,
}

/// Where an allocation is from, and thus how it is freed.
pub(super) enum Origin {
    /// `cuMemAlloc`.
    Device,
    /// A pool of stream-ordered memory.
    Pool {
        /// Keeps the pool alive as long as the memory.
        _pool: OutsideHostFn<Arc<PoolHandle>>,
    },
    /// `cuMemAllocManaged`: the host accesses the memory at the same address.
    Managed,
    /// `cuMemHostAlloc`: the host accesses the memory at this address.
    Mapped(usize),
    /// Another library, which frees the memory when its owner is dropped.
    Foreign {
        /// Keeps the memory alive.
        #[cfg_attr(not(feature = "cudarc"), expect(dead_code, reason = "only cudarc gets its owner back"))]
        owner: Box<dyn Any + Send + Sync>,
    },
    /// Another library, until a scope ends that outlives all handles.
    #[cfg_attr(not(feature = "cudarc"), expect(dead_code, reason = "only cudarc lends memory"))]
    Lent,
}

impl Memory {
    /// The alignment of an allocation (CUDA C++ Programming Guide, "Device Memory Accesses").
    pub(crate) const ALIGNMENT: usize = 256;
    /// The address of an empty allocation: not null, since kernels take references, and aligned as an allocation
    /// is.
    pub(crate) const EMPTY: u64 = Memory::ALIGNMENT as u64;

    /// That elements lie where they must in an allocation, from the start on.
    pub(crate) const fn aligns<T>() {
        const {
            assert!(align_of::<T>() <= Memory::ALIGNMENT, "elements in device memory are aligned to 256 bytes at most");
        }
    }

    #[track_caller]
    pub(super) fn new<T>(context: Arc<Context>, length: usize) -> Result<Memory> {
        let at = Location::caller();
        Memory::of::<T>(context, length, |entered, bytes, operation| {
            let call = || raw::allocate(bytes);
            Ok((allocate_by(at, entered, bytes, operation, call)?, Origin::Device))
        })
    }

    /// With memory from somewhere: at least one byte.
    #[track_caller]
    pub(super) fn of<T>(
        context: Arc<Context>,
        length: usize,
        allocate: impl FnOnce(&Entered<'_>, usize, &dyn Fn() -> String) -> Result<(u64, Origin)>,
    ) -> Result<Memory> {
        Memory::aligns::<T>();
        let bytes = length.checked_mul(size_of::<T>()).filter(|&bytes| isize::try_from(bytes).is_ok());
        let bytes = bytes.ok_or(Error::TooLarge { length, size: size_of::<T>() })?;
        let element = std::any::type_name::<T>();
        let operation = || format!("allocate a DeviceBuffer<{element}> of {length} elements");
        let (address, origin) = if bytes == 0 {
            context.enter(operation)?;
            (Memory::EMPTY, Origin::Device)
        } else {
            allocate(&context.enter(operation)?, bytes, &operation)?
        };
        Ok(Memory(OutsideHostFn::new(Arc::new(Allocation {
            uses: Uses::new(context.queues.order_id),
            context,
            address,
            bytes,
            origin,
            element,
        }))))
    }
}

impl Memory {
    /// Memory of another library.
    ///
    /// # Safety
    /// `address` has the alignment of allocations. As long as `owner` lives, the bytes that the caller accesses are memory of this
    /// context, and no other code uses them.
    pub(crate) unsafe fn foreign<T>(
        context: Arc<Context>,
        address: u64,
        bytes: usize,
        owner: Box<dyn Any + Send + Sync>,
    ) -> Memory {
        Memory(OutsideHostFn::new(Arc::new(Allocation {
            uses: Uses::new(context.queues.order_id),
            context,
            address,
            bytes,
            origin: Origin::Foreign { owner },
            element: std::any::type_name::<T>(),
        })))
    }
}

#[cfg(feature = "cust")]
impl Memory {
    /// Memory that another library has allocated.
    ///
    /// # Safety
    /// It is from `cuMemAlloc` in this context, nothing else is its owner, and no work that was put on a stream before uses it.
    pub(super) unsafe fn from_raw<T>(context: Arc<Context>, address: u64, length: usize) -> Memory {
        Memory::aligns::<T>();
        let bytes = length * size_of::<T>();
        Memory(OutsideHostFn::new(Arc::new(Allocation {
            uses: Uses::new(context.queues.order_id),
            context,
            address: if bytes == 0 { Memory::EMPTY } else { address },
            bytes,
            origin: Origin::Device,
            element: std::any::type_name::<T>(),
        })))
    }
}

/// Why memory is not handed over to another library.
#[cfg(any(feature = "cudarc", feature = "cust"))]
pub(crate) enum Kept {
    /// A graph or a copy in the background holds it as well.
    Shared,
    /// It is not from `cuMemAlloc`.
    NotAllocated,
}

#[cfg(any(feature = "cudarc", feature = "cust"))]
impl Memory {
    /// The address, which the caller frees with `cuMemFree`; 0 if there is no memory. The caller orders the work that uses the memory.
    pub(crate) fn into_raw(self) -> Result<u64, Kept> {
        if !matches!(self.origin, Origin::Device) {
            return Err(Kept::NotAllocated);
        }
        let address = if self.bytes == 0 { 0 } else { self.address };
        self.into_allocation().map(|_| address)
    }

    /// The allocation, of which nothing is left to free.
    fn into_allocation(self) -> Result<Allocation, Kept> {
        let mut allocation = Arc::try_unwrap(self.0.into_inner()).map_err(|_| Kept::Shared)?;
        // `Drop` sees no memory.
        allocation.bytes = 0;
        Ok(allocation)
    }
}

#[cfg(feature = "cudarc")]
impl Memory {
    /// Memory that another library has lent.
    ///
    /// # Safety
    /// As for [`Memory::foreign`], until the last handle is dropped.
    pub(crate) unsafe fn lent<T>(context: Arc<Context>, address: u64, bytes: usize) -> Memory {
        Memory(OutsideHostFn::new(Arc::new(Allocation {
            uses: Uses::new(context.queues.order_id),
            context,
            address,
            bytes,
            origin: Origin::Lent,
            element: std::any::type_name::<T>(),
        })))
    }

    /// Whether another library has handed the memory over, with an owner of this type.
    pub(crate) fn is_owned_by<O: Any>(&self) -> bool {
        matches!(&self.origin, Origin::Foreign { owner } if owner.is::<O>())
    }

    /// The owner that another library has handed over. The caller orders the work that uses the memory.
    pub(crate) fn into_owner<O: Any>(self) -> Result<O, Kept> {
        let mut allocation = self.into_allocation()?;
        match std::mem::replace(&mut allocation.origin, Origin::Lent) {
            Origin::Foreign { owner } => owner.downcast().map(|owner| *owner).map_err(|_| Kept::NotAllocated),
            _ => Err(Kept::NotAllocated),
        }
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
        Access { bytes: start..start + bytes, writes }
    }

    /// Where it begins, and its size in bytes.
    pub(crate) fn place(&self) -> (u64, u64) {
        (self.address, self.bytes as u64)
    }

    /// Whether the host reaches it by address.
    pub(crate) fn is_unified(&self) -> bool {
        matches!(self.origin, Origin::Managed | Origin::Mapped(_))
    }

    /// Whether devices with access to this device reach it: memory of pools and of other libraries may have other rules.
    pub(crate) fn is_for_peers(&self) -> bool {
        matches!(self.origin, Origin::Device)
    }

    /// Whether another library has lent it until the end of a scope.
    pub(crate) fn is_lent(&self) -> bool {
        matches!(self.origin, Origin::Lent)
    }

    /// "`verb` a DeviceBuffer<…> of … bytes", for messages.
    pub(crate) fn operation(&self, verb: &str) -> String {
        format!("{verb} a DeviceBuffer<{}> of {} bytes", self.element, self.bytes)
    }

    /// Waits for all work of the device.
    pub(crate) fn wait(&self, verb: &str) -> Result<()> {
        let operation = || self.operation(verb);
        let entered = self.context.enter(operation)?;
        entered.check_wait(Waited::Device, crate::cuda::synchronize(), operation)
    }

    /// Begins an operation on this memory.
    pub(crate) fn enter(&self, verb: &str) -> Result<Entered<'_>> {
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
                    unsafe { PoolHandle::free(self.address, self.bytes, &self.uses, &entered) };
                    Ok(())
                }
                // SAFETY: as above.
                Origin::Mapped(host) => unsafe { raw::free_host(*host) },
                // The owner is dropped next.
                Origin::Foreign { .. } => crate::cuda::synchronize(),
                // The end of the scope orders the work.
                Origin::Lent => Ok(()),
            };
        }
    }
}

/// Allocates, after giving back what the pool holds if there is too little without.
#[track_caller]
pub(crate) fn allocate(entered: &Entered<'_>, bytes: usize, operation: impl Fn() -> String) -> Result<u64> {
    let call = || raw::allocate(bytes);
    allocate_by(Location::caller(), entered, bytes, operation, call)
}

/// As [`allocate`], by any call of the driver, for a place in the host's program.
pub(super) fn allocate_by(
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
            let (free, total) = crate::cuda::memory().unwrap_or_default();
            Err(Error::OutOfMemory { operation: operation(), device: entered.context.ordinal, bytes, free, total })
        }
        other => entered.check(other, operation),
    }
}
