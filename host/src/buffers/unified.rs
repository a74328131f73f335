//! Memory that the host and kernels both use by address: managed memory, which migrates to the processor that uses it, and mapped memory,
//! which stays with the host and is read and written across the bus.
//!
//! A host access waits for the kernels that use it, and no kernel can be given it meanwhile: the
//! borrow checker sees to the one, [`UnifiedBuffer::host`] to the other.

use crate::base::error::{Result, answer};
use crate::buffers::allocation::{Memory, Origin, allocate_by};
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use crate::context::users::Waited;
use crate::context::{Context, Entered};
use crate::cuda::sys;
use bytemuck::Pod;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
use std::sync::Arc;

/// Elements that both the host and kernels reach by address: made by [`crate::Device::managed`] and [`crate::Device::mapped`].
///
/// Kernels take it by `&` and `&mut` like a [`crate::DeviceBuffer`], or a part of it as a slice. The host sees it
/// through [`UnifiedBuffer::host`] and [`UnifiedBuffer::host_mut`].
///
/// # Examples
/// ```
/// # use rumba::test_kernels::{PTX, scale};
/// let device = rumba::Device::new()?;
/// let module = device.load(PTX)?;
/// let mut numbers = device.managed::<f32>(4)?;
/// numbers.host_mut()?.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
/// module.for_each(4, scale(10.0, &mut numbers))?;
/// assert_eq!(*numbers.host()?, [10.0, 20.0, 30.0, 40.0]);
/// # Ok::<(), rumba::Error>(())
/// ```
///
/// While the host looks at it, it cannot be given to a kernel that writes:
///
/// ```compile_fail,E0502
/// # use rumba::test_kernels::{PTX, scale};
/// # fn main() -> rumba::Result<()> {
/// # let device = rumba::Device::new()?;
/// # let module = device.load(PTX)?;
/// # let mut numbers = device.managed::<f32>(4)?;
/// let seen = numbers.host()?;
/// module.for_each(4, scale(10.0, &mut numbers))?;
/// println!("{}", seen[0]);
/// # Ok(())
/// # }
/// ```
pub struct UnifiedBuffer<T> {
    memory: Memory,
    length: usize,
    element: PhantomData<T>,
}

impl<T: Pod> UnifiedBuffer<T> {
    #[track_caller]
    pub(crate) fn managed(context: Arc<Context>, length: usize) -> Result<UnifiedBuffer<T>> {
        let at = Location::caller();
        UnifiedBuffer::of(context, length, |entered, bytes, operation| {
            let mut address = 0;
            let global = sys::CU_MEM_ATTACH_GLOBAL;
            let address = allocate_by(at, entered, bytes, operation, || {
                // SAFETY: the place for the address is valid.
                answer(unsafe { sys::cuMemAllocManaged(&mut address, bytes, global) })?;
                Ok(address)
            })?;
            // The host uses the same address.
            Ok((address, Origin::Managed))
        })
    }

    #[track_caller]
    pub(crate) fn mapped(context: Arc<Context>, length: usize) -> Result<UnifiedBuffer<T>> {
        UnifiedBuffer::of(context, length, |entered, bytes, operation| {
            let flags = sys::CU_MEMHOSTALLOC_DEVICEMAP | sys::CU_MEMHOSTALLOC_PORTABLE;
            let (mut host, mut address) = (std::ptr::null_mut(), 0);
            // SAFETY: the place for the address is valid.
            let allocated = answer(unsafe { sys::cuMemHostAlloc(&mut host, bytes, flags) });
            entered.check(allocated, operation)?;
            // SAFETY: as above.
            let mapped = answer(unsafe { sys::cuMemHostGetDevicePointer_v2(&mut address, host, 0) });
            if mapped.is_err() {
                // SAFETY: allocated just now, and not known elsewhere.
                let _ = unsafe { sys::cuMemFreeHost(host) };
            }
            entered.check(mapped, operation)?;
            Ok((address, Origin::Mapped(host.expose_provenance())))
        })
    }

    #[track_caller]
    fn of(
        context: Arc<Context>,
        length: usize,
        allocate: impl FnOnce(&Entered<'_>, usize, &dyn Fn() -> String) -> Result<(u64, Origin)>,
    ) -> Result<UnifiedBuffer<T>> {
        let memory = Memory::of::<T>(context, length, allocate)?;
        let mut buffer = UnifiedBuffer { memory, length, element: PhantomData };
        buffer.host_mut()?.fill(T::zeroed());
        Ok(buffer)
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// All elements as kernels and copies take them, to read.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice::whole(&self.memory, self.length)
    }

    /// All elements as kernels and copies take them, to write.
    pub fn as_slice_mut(&mut self) -> DeviceSliceMut<'_, T> {
        // SAFETY: the buffer is borrowed mutably, and its memory with it.
        unsafe { DeviceSliceMut::whole(&self.memory, self.length) }
    }

    /// The elements on the host, to read, once nothing that was put on a stream writes them any more.
    ///
    /// [`crate::Device::reset`] waits until the result is dropped.
    ///
    /// # Errors
    /// [`crate::Error::Fault`] if a kernel failed meanwhile, [`crate::Error::Panic`] if a thread of one panicked.
    pub fn host(&self) -> Result<HostView<'_, T>> {
        self.wait(false)
    }

    /// The elements on the host, to write, once nothing that was put on a stream uses them any more.
    ///
    /// [`crate::Device::reset`] waits until the result is dropped.
    ///
    /// # Errors
    /// As [`UnifiedBuffer::host`].
    pub fn host_mut(&mut self) -> Result<HostViewMut<'_, T>> {
        Ok(HostViewMut { view: self.wait(true)? })
    }

    fn wait(&self, writes: bool) -> Result<HostView<'_, T>> {
        let memory = &self.memory;
        let verb = if writes { "write on the host to" } else { "read on the host" };
        let entered = memory.enter(verb)?;
        let access = memory.access(memory.address, memory.bytes as u64, writes);
        // Copies that the host need not wait for elsewhere are on the null stream.
        // SAFETY: the null stream is always there.
        let waited = answer(unsafe { sys::cuStreamSynchronize(std::ptr::null_mut()) });
        entered.check_wait(Waited::Device, waited, || memory.operation(verb))?;
        let queues = {
            let mut order = memory.context.queues.order.lock();
            memory.uses.list(&mut order).in_the_way(0, &access)
        };
        for queue in queues {
            memory.context.queues.wait_on_host(queue, &entered, || memory.operation(verb))?;
        }
        let start = match memory.origin {
            _ if memory.bytes == 0 => std::ptr::NonNull::dangling().as_ptr(),
            Origin::Mapped(host) => std::ptr::with_exposed_provenance_mut(host),
            _ => std::ptr::with_exposed_provenance_mut(memory.address as usize),
        };
        Ok(HostView { start, length: self.length, _alive: entered, elements: PhantomData })
    }
}

/// Elements of a [`UnifiedBuffer`] as the host sees them: a slice.
pub struct HostView<'a, T> {
    start: *mut T,
    length: usize,
    /// Keeps the context from being reset while this value exists.
    _alive: Entered<'a>,
    elements: PhantomData<&'a [T]>,
}

impl<T> Deref for HostView<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the buffer is borrowed, so the elements are there, and nothing on the device writes them: what did has
        // been waited for, and what would needs a mutable borrow. At first they are zeros, which are valid for `Pod` types.
        unsafe { std::slice::from_raw_parts(self.start, self.length) }
    }
}

impl<T: fmt::Debug> fmt::Debug for HostView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// Elements of a [`UnifiedBuffer`] as the host sees them, to write: a mutable slice.
pub struct HostViewMut<'a, T> {
    view: HostView<'a, T>,
}

impl<T> Deref for HostViewMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.view
    }
}

impl<T> DerefMut for HostViewMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `HostView`; the buffer is borrowed mutably, so nothing on the device reads them either.
        unsafe { std::slice::from_raw_parts_mut(self.view.start, self.view.length) }
    }
}

impl<T: fmt::Debug> fmt::Debug for HostViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> fmt::Debug for UnifiedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.memory.origin {
            Origin::Mapped(_) => "mapped",
            _ => "managed",
        };
        write!(f, "UnifiedBuffer<{}>({} elements, {kind})", self.memory.element, self.length)
    }
}
