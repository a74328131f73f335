//! Device memory as a kernel's argument. Values and host memory are `cuda_std`'s.

use crate::memory::{DeviceBuffer, DevicePointer, DeviceSlice, DeviceSliceMut, UnifiedBuffer};
use bytemuck::Pod;
use cuda_std::launch::{Argument, Arguments, Borrowed, Memory, MemoryMut};

fn bind<'a, T: Pod>(view: DeviceSlice<'a, T>, writes: bool, arguments: &mut Arguments<'a>) {
    arguments.push_slice(view.address(), view.len());
    arguments.borrow(Borrowed {
        owner: view.memory(),
        address: view.address(),
        bytes: view.bytes() as u64,
        writes,
    });
}

// SAFETY: here and below: a view is a pointer to elements of device memory and their number, as the
// parameter is. The memory is borrowed for `'a`, mutably where the kernel writes; what a launch that
// outlasts `'a` still uses is kept until its stream is done.
unsafe impl<'a, T: Pod> Memory<'a, T> for &'a DeviceBuffer<T> {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind(self.as_slice(), false, arguments);
    }
}

// SAFETY: see above.
unsafe impl<'a, T: Pod> Memory<'a, T> for &'a UnifiedBuffer<T> {
    fn bind(self, arguments: &mut Arguments<'a>) {
        bind(self.as_slice(), false, arguments);
    }
}

// SAFETY: see above.
unsafe impl<'a, T: Pod> Memory<'a, T> for DeviceSlice<'a, T> {
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
