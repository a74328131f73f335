//! A pool of device memory whose allocations are work like any other: they wait for nothing, and memory that is given back
//! is used again at once (`cuMemAllocFromPoolAsync`; CUDA Driver API, "Stream Ordered Memory Allocator").
//!
//! Allocations and releases are put on the default stream; other streams wait for them where they use the memory, as for
//! any other work.

use crate::base::error::{Result, answer};
use crate::base::host_fn::OutsideHostFn;
use crate::buffers::allocation::{Memory, Origin, allocate_by};
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::pool_handle::PoolHandle;
use crate::context::Context;
use crate::context::users::Waited;
use crate::cuda::sys;
use bytemuck::Pod;
use std::ffi::c_void;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Device memory that is allocated and freed without waiting for the device: for programs that make buffers all the time.
///
/// `cuMemAlloc` takes microseconds, and freeing waits for all work. A buffer of a pool is freed when the work that uses it
/// is done, while the host goes on. What is free stays with the pool until [`MemoryPool::trim`], or until the pool and all
/// its buffers are dropped. Cloning gives another handle to the same pool.
///
/// # Examples
/// ```
/// let device = rumba::Device::new()?;
/// let pool = device.memory_pool()?;
/// for step in 0..3 {
///     let scratch = pool.buffer_from(&[step as f32; 1000])?;
///     assert_eq!(scratch.to_vec()?[999], step as f32);
/// }
/// assert_eq!(pool.used()?, 0);
/// # Ok::<(), rumba::Error>(())
/// ```
#[derive(Clone)]
pub struct MemoryPool {
    handle: OutsideHostFn<Arc<PoolHandle>>,
}

impl MemoryPool {
    pub(crate) fn new(context: Arc<Context>) -> Result<MemoryPool> {
        let operation = || "make a pool of device memory".to_owned();
        let raw = {
            let entered = context.enter(operation)?;
            let properties = sys::CUmemPoolProps {
                allocType: sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED,
                handleTypes: sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE,
                location: sys::CUmemLocation {
                    type_: sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE,
                    id: i32::try_from(context.ordinal).unwrap_or(i32::MAX),
                },
                win32SecurityAttributes: std::ptr::null_mut(),
                reserved: [0; 64],
            };
            let mut raw = std::ptr::null_mut();
            // SAFETY: both are valid for the call.
            let made = answer(unsafe { sys::cuMemPoolCreate(&mut raw, &properties) });
            entered.check(made, operation)?;
            let pool = PoolHandle { context: context.clone(), raw };
            // Free memory is kept: by default the driver releases it whenever the host waits.
            let keep = u64::MAX;
            // SAFETY: the attribute is a `u64`.
            let set = answer(unsafe {
                sys::cuMemPoolSetAttribute(
                    raw,
                    sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                    (&raw const keep).cast_mut().cast::<c_void>(),
                )
            });
            entered.check(set, operation)?;
            pool
        };
        Ok(MemoryPool { handle: OutsideHostFn::new(Arc::new(raw)) })
    }

    /// A buffer of `length` zeros.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    #[track_caller]
    pub fn zeros<T: Pod>(&self, length: usize) -> Result<DeviceBuffer<T>> {
        let mut buffer = self.uninitialised(length)?;
        buffer.clear()?;
        Ok(buffer)
    }

    /// A buffer with a copy of `values`.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    #[track_caller]
    pub fn buffer_from<T: Pod>(&self, values: &[T]) -> Result<DeviceBuffer<T>> {
        let mut buffer = self.uninitialised(values.len())?;
        buffer.copy_from(values)?;
        Ok(buffer)
    }

    #[track_caller]
    fn uninitialised<T: Pod>(&self, length: usize) -> Result<DeviceBuffer<T>> {
        let context = self.handle.context.clone();
        let at = Location::caller();
        let memory = Memory::of::<T>(context, length, |entered, bytes, operation| {
            let call = || self.handle.allocate(entered, bytes);
            let address = allocate_by(at, entered, bytes, operation, call)?;
            Ok((address, Origin::Pool { _pool: self.handle.clone() }))
        })?;
        let all = memory.access(memory.address, memory.bytes as u64, true);
        let queues = &memory.context.queues;
        memory.uses.list(&mut queues.order.lock()).note(queues.default.id(), all);
        Ok(DeviceBuffer::of(memory, length))
    }

    /// Bytes that buffers have at this moment.
    ///
    /// # Errors
    /// The driver's.
    pub fn used(&self) -> Result<u64> {
        self.attribute(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
    }

    /// Bytes that the pool has from the device: those of buffers, and what is free.
    ///
    /// # Errors
    /// The driver's.
    pub fn reserved(&self) -> Result<u64> {
        self.attribute(sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT)
    }

    /// Gives free memory back to the device, but for `keep` bytes.
    ///
    /// # Errors
    /// The driver's.
    pub fn trim(&self, keep: usize) -> Result<()> {
        let operation = || "trim a pool of device memory".to_owned();
        let entered = self.handle.context.enter(operation)?;
        // SAFETY: the pool is alive.
        entered.check(answer(unsafe { sys::cuMemPoolTrimTo(self.handle.raw, keep) }), operation)
    }

    fn attribute(&self, attribute: sys::CUmemPool_attribute) -> Result<u64> {
        let operation = || "ask about a pool of device memory".to_owned();
        let context = &self.handle.context;
        let entered = context.enter(operation)?;
        // Freed memory counts as used until the default stream has reached the free.
        entered.check_wait(Waited::Device, context.queues.default.raw.synchronize(), operation)?;
        let mut value = 0_u64;
        // SAFETY: the attribute is a `u64`.
        let read = answer(unsafe { sys::cuMemPoolGetAttribute(self.handle.raw, attribute, (&raw mut value).cast()) });
        entered.check(read, operation)?;
        Ok(value)
    }
}

impl fmt::Debug for MemoryPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryPool(device {})", self.handle.context.ordinal)
    }
}
