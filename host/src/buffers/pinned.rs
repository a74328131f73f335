//! Page-locked host memory. Copies from and to it that go on while the host does something else are `copies`' business.
//!
//! The memory is the host's own, made known to the driver, so it outlives a reset of the device.

use crate::base::error::{Error, Result, answer};
use crate::base::host_fn::OutsideHostFn;
use crate::context::Context;
use crate::cuda::sys;
use bytemuck::Pod;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// Elements in page-locked host memory: a slice on the host that devices copy from and to fastest,
/// and that copies on a stream need. Made by [`crate::Device::pinned`].
pub struct PinnedBuffer<T> {
    pages: OutsideHostFn<Pages>,
    length: usize,
    elements: PhantomData<Box<[T]>>,
}

/// The memory itself: unregistered and freed when dropped, which must be after the last copy from and to it, and not in a
/// host function.
pub(crate) struct Pages {
    context: Arc<Context>,
    start: NonNull<u8>,
    /// None for an empty buffer, which allocates nothing.
    layout: Option<Layout>,
}

// SAFETY: it owns the bytes, and shares them with no other value.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

impl<T: Pod> PinnedBuffer<T> {
    pub(crate) fn zeros(context: Arc<Context>, length: usize) -> Result<PinnedBuffer<T>> {
        const PAGE: usize = 4096;
        let too_large = || Error::TooLarge { length, size: size_of::<T>() };
        let bytes = length.checked_mul(size_of::<T>()).ok_or_else(too_large)?;
        let operation = || format!("page-lock {bytes} bytes of host memory");
        if bytes == 0 {
            context.enter(operation)?;
            let start = NonNull::<T>::dangling().cast();
            // SAFETY: elements without bytes are anywhere.
            return Ok(unsafe { PinnedBuffer::of(context, start, None, length) });
        }
        // Whole pages, because that is what the driver locks: two buffers must not share one.
        let size = bytes.checked_next_multiple_of(PAGE).ok_or_else(too_large)?;
        let layout = Layout::from_size_align(size, PAGE.max(align_of::<T>())).map_err(|_| too_large())?;
        // SAFETY: the layout's size is not zero.
        let memory = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(memory) else { handle_alloc_error(layout) };
        let registered = context.enter(operation).and_then(|entered| {
            // SAFETY: the memory is `size` bytes of this process, unregistered before it is freed.
            entered.check(answer(unsafe { sys::cuMemHostRegister_v2(memory.cast(), size, 0) }), operation)
        });
        if let Err(error) = registered {
            // SAFETY: allocated above with this layout; nothing else knows of it.
            unsafe { dealloc(memory, layout) };
            return Err(error);
        }
        // SAFETY: allocated and registered above, for so many elements, which are zeros.
        Ok(unsafe { PinnedBuffer::of(context, start, Some(layout), length) })
    }

    /// # Safety
    /// At `start` are `length` valid elements. With a layout, the memory was allocated by it and registered with the driver, and
    /// is the buffer's from now on.
    unsafe fn of(context: Arc<Context>, start: NonNull<u8>, layout: Option<Layout>, length: usize) -> PinnedBuffer<T> {
        PinnedBuffer { pages: OutsideHostFn::new(Pages { context, start, layout }), length, elements: PhantomData }
    }
}

impl<T> PinnedBuffer<T> {
    /// The memory without its type. Elements are plain data, of which none is dropped.
    pub(crate) fn into_pages(self) -> OutsideHostFn<Pages> {
        self.pages
    }
}

impl<T> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the allocation has `length` elements, at first zeros, which are valid for `Pod` types.
        unsafe { std::slice::from_raw_parts(self.pages.start.as_ptr().cast(), self.length) }
    }
}

impl<T> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.pages.start.as_ptr().cast(), self.length) }
    }
}

impl<T> fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PinnedBuffer<{}>({} elements)", std::any::type_name::<T>(), self.length)
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        let Some(layout) = self.layout else { return };
        let memory = self.start.as_ptr();
        if let Some(_entered) = self.context.enter_to_release() {
            // SAFETY: registered by `zeros`, unregistered once. An error here is a fault that every
            // later call reports.
            let _ = unsafe { sys::cuMemHostUnregister(memory.cast()) };
        }
        // SAFETY: allocated by `zeros` with this layout; no copy is in progress: a copy owns the pages until it is over,
        // and a scope that has borrowed them has waited for its copies.
        unsafe { dealloc(memory, layout) };
    }
}
