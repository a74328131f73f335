//! Device memory as a kernel's argument. Values and host memory are `cuda_std`'s.

use crate::buffers::allocation::Memory;
use crate::buffers::buffer::{DeviceBuffer, DevicePointer};
use crate::buffers::unified::UnifiedBuffer;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use crate::context::uses::Access;
use bytemuck::Pod;
use cuda_std::launch::{self, Argument, Arguments, Borrowed, MemoryMut, Settling};

fn bind<'a, T: Pod>(view: DeviceSlice<'a, T>, writes: bool, arguments: &mut Arguments<'a>) {
    arguments.push_slice(view.address(), view.len());
    arguments.borrow(Borrowed { owner: view.memory(), address: view.address(), bytes: view.bytes() as u64, writes });
}

// SAFETY: here and below: a view is a pointer to elements of device memory and their number, as the
// parameter is. The memory is borrowed for `'a`, mutably where the kernel writes; what a launch that
// outlasts `'a` still uses is kept until its stream is done.
unsafe impl<'a, T: Pod> launch::Memory<'a, T> for &'a DeviceBuffer<T> {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind(self.as_slice(), false, arguments);
    }
}

// SAFETY: see above.
unsafe impl<'a, T: Pod> launch::Memory<'a, T> for &'a UnifiedBuffer<T> {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind(self.as_slice(), false, arguments);
    }
}

// SAFETY: see above.
unsafe impl<'a, T: Pod> launch::Memory<'a, T> for DeviceSlice<'a, T> {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind(self, false, arguments);
    }
}

// SAFETY: see above.
unsafe impl<'a, T: Pod> MemoryMut<'a, T> for &'a mut DeviceBuffer<T> {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind(self.as_slice_mut().into_view(), true, arguments);
    }
}

// SAFETY: see above.
unsafe impl<'a, T: Pod> MemoryMut<'a, T> for &'a mut UnifiedBuffer<T> {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind(self.as_slice_mut().into_view(), true, arguments);
    }
}

// SAFETY: see above.
unsafe impl<'a, T: Pod> MemoryMut<'a, T> for DeviceSliceMut<'a, T> {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind(self.into_view(), true, arguments);
    }
}

// SAFETY: an address is what a raw pointer parameter takes; the launcher of such a kernel is unsafe,
// and its caller answers for what the address leads to.
unsafe impl<T> Argument<'_, *const T> for DevicePointer<T> {
    fn bind(self, arguments: &mut Arguments<'_>) {
        arguments.push_pointer(self.address());
    }
}

// SAFETY: see above.
unsafe impl<T> Argument<'_, *mut T> for DevicePointer<T> {
    fn bind(self, arguments: &mut Arguments<'_>) {
        arguments.push_pointer(self.address());
    }
}

/// The memory among the arguments, and what the kernel does with it.
pub(crate) fn device_memory<'a>(arguments: &Arguments<'a>) -> impl Iterator<Item = (&'a Memory, Access)> {
    arguments.borrowed().iter().filter_map(access)
}

/// The memory of which the kernel can be told that it is settled.
pub(crate) fn settling<'a>(arguments: &Arguments<'a>) -> impl Iterator<Item = (&'a Memory, Access, Settling)> {
    arguments.settling().iter().filter_map(|settling| {
        let (memory, access) = access(arguments.borrowed().get(settling.memory)?)?;
        Some((memory, access, *settling))
    })
}

fn access<'a>(borrowed: &Borrowed<'a>) -> Option<(&'a Memory, Access)> {
    let memory = borrowed.owner.downcast_ref::<Memory>()?;
    Some((memory, memory.access(borrowed.address, borrowed.bytes, borrowed.writes)))
}
