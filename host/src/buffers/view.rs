//! Views of a part of a buffer: what `&[T]` and `&mut [T]` are for a vector.

use crate::base::error::{Error, Result};
use crate::buffers::allocation::Memory;
use crate::buffers::buffer::DeviceBuffer;
use crate::context::users::Waited;
use crate::context::uses::Access;
use crate::context::{raw, same_context, staging};
use bytemuck::Pod;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

/// A shared view of elements in device memory.
pub struct DeviceSlice<'a, T> {
    memory: &'a Memory,
    start: usize,
    length: usize,
    element: PhantomData<T>,
}

/// The elements of a view, without the borrow: the memory stays allocated.
pub(crate) struct Kept<T> {
    memory: Memory,
    start: usize,
    length: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: Pod> Kept<T> {
    pub(crate) fn view(&self) -> DeviceSlice<'_, T> {
        DeviceSlice { memory: &self.memory, start: self.start, length: self.length, element: PhantomData }
    }
}

/// A mutable view of elements in device memory.
pub struct DeviceSliceMut<'a, T> {
    view: DeviceSlice<'a, T>,
}

impl<T> Clone for DeviceSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeviceSlice<'_, T> {}

impl<'a, T: Pod> DeviceSlice<'a, T> {
    pub(crate) fn whole(memory: &'a Memory, length: usize) -> DeviceSlice<'a, T> {
        DeviceSlice { memory, start: 0, length, element: PhantomData }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the slice has no elements.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// A part of this view.
    ///
    /// # Panics
    /// If the range does not lie in it, as slices do.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> DeviceSlice<'a, T> {
        let (start, end) = bounds(range, self.length);
        DeviceSlice { start: self.start + start, length: end - start, ..*self }
    }

    /// Views the memory as elements of another type, as `bytemuck::cast_slice` does with a slice.
    ///
    /// ```
    /// # use rumba::Device;
    /// let numbers = Device::new()?.buffer_from(&[1_u32, 2, 3, 4])?;
    /// assert_eq!(numbers.as_slice().cast::<[u32; 2]>().to_vec()?, [[1, 2], [3, 4]]);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    ///
    /// Elements that are aligned to more than 256 bytes do not compile.
    ///
    /// # Panics
    /// If the view does not start or end where such an element does.
    pub fn cast<U: Pod>(&self) -> DeviceSlice<'a, U> {
        Memory::aligns::<U>();
        let (start, bytes, size) = (self.start * size_of::<T>(), self.bytes(), size_of::<U>());
        assert!(
            size > 0 && start.is_multiple_of(size) && bytes.is_multiple_of(size),
            "a view of {bytes} bytes, {start} from the start of its memory, does not hold whole elements of {size} bytes"
        );
        DeviceSlice { memory: self.memory, start: start / size, length: bytes / size, element: PhantomData }
    }

    /// Copies the elements to the host.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless `destination` is as long as this view; the driver's.
    pub fn copy_to(&self, destination: &mut [T]) -> Result<()> {
        same_length("copy from the device", self.length, destination.len())?;
        let entered = self.memory.enter("copy from")?;
        // SAFETY: the view's elements, of which there are as many, lie in its memory.
        let copied = unsafe { staging::copy_out(&entered, self.address(), bytemuck::cast_slice_mut(destination)) };
        entered.check_wait(Waited::Device, copied, || self.memory.operation("copy from"))
    }

    /// A copy of the elements on the host.
    ///
    /// # Errors
    /// The driver's.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut values = vec![T::zeroed(); self.length];
        self.copy_to(&mut values)?;
        Ok(values)
    }

    /// A new buffer with a copy of the elements.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] and the driver's.
    pub fn to_buffer(&self) -> Result<DeviceBuffer<T>> {
        let mut buffer = DeviceBuffer::uninitialised(self.memory.context.clone(), self.length)?;
        buffer.as_slice_mut().copy_from_device(self)?;
        Ok(buffer)
    }

    pub(crate) fn memory(&self) -> &'a Memory {
        self.memory
    }

    pub(crate) fn keep(&self) -> Kept<T> {
        Kept { memory: self.memory.clone(), start: self.start, length: self.length, element: PhantomData }
    }

    /// A mutable view of the elements.
    ///
    /// # Safety
    /// They are borrowed mutably for `'a`, and the view is not used meanwhile.
    pub(crate) unsafe fn assume_mut(self) -> DeviceSliceMut<'a, T> {
        DeviceSliceMut { view: self }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.length * size_of::<T>()
    }

    pub(crate) fn address(&self) -> u64 {
        self.memory.address + (self.start * size_of::<T>()) as u64
    }

    pub(crate) fn access(&self, writes: bool) -> Access {
        self.memory.access(self.address(), self.bytes() as u64, writes)
    }
}

impl<'a, T: Pod> From<&'a DeviceBuffer<T>> for DeviceSlice<'a, T> {
    fn from(buffer: &'a DeviceBuffer<T>) -> DeviceSlice<'a, T> {
        buffer.as_slice()
    }
}

impl<'a, T: Pod> From<&'a mut DeviceBuffer<T>> for DeviceSliceMut<'a, T> {
    fn from(buffer: &'a mut DeviceBuffer<T>) -> DeviceSliceMut<'a, T> {
        buffer.as_slice_mut()
    }
}

impl<'a, T: Pod> DeviceSliceMut<'a, T> {
    /// # Safety
    /// `memory` is borrowed mutably for `'a`.
    pub(super) unsafe fn whole(memory: &'a Memory, length: usize) -> DeviceSliceMut<'a, T> {
        DeviceSliceMut { view: DeviceSlice::whole(memory, length) }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.view.length
    }

    /// Whether the slice has no elements.
    pub fn is_empty(&self) -> bool {
        self.view.length == 0
    }

    /// A read-only view of the elements.
    pub fn as_slice(&self) -> DeviceSlice<'_, T> {
        self.view
    }

    /// The view alone, its borrow still mutable.
    pub(crate) fn into_view(self) -> DeviceSlice<'a, T> {
        self.view
    }

    /// A shorter borrow of this view.
    pub fn reborrow(&mut self) -> DeviceSliceMut<'_, T> {
        DeviceSliceMut { view: self.view }
    }

    /// Views the memory as elements of another type: see [`DeviceSlice::cast`].
    ///
    /// # Panics
    /// If the view does not start or end where such an element does.
    pub fn cast<U: Pod>(self) -> DeviceSliceMut<'a, U> {
        DeviceSliceMut { view: self.view.cast() }
    }

    /// A part of this view.
    ///
    /// # Panics
    /// If the range does not lie in it, as slices do.
    pub fn slice_mut(self, range: impl RangeBounds<usize>) -> DeviceSliceMut<'a, T> {
        DeviceSliceMut { view: self.view.slice(range) }
    }

    /// Two parts: the first `middle` elements, and the rest.
    ///
    /// # Panics
    /// If there are fewer than `middle` elements, as slices do.
    pub fn split_at_mut(self, middle: usize) -> (DeviceSliceMut<'a, T>, DeviceSliceMut<'a, T>) {
        let first = DeviceSliceMut { view: self.view.slice(..middle) };
        (first, DeviceSliceMut { view: self.view.slice(middle..) })
    }

    /// Parts of `length` elements each, the last perhaps shorter: what `chunks_mut` is for a slice.
    ///
    /// # Panics
    /// If `length` is 0, as slices do.
    pub fn chunks_mut(self, length: usize) -> impl ExactSizeIterator<Item = DeviceSliceMut<'a, T>> {
        assert!(length > 0, "chunks have at least one element");
        let view = self.view;
        (0..view.length.div_ceil(length)).map(move |index| {
            let start = index * length;
            DeviceSliceMut { view: view.slice(start..view.length.min(start + length)) }
        })
    }

    /// Copies elements from the host.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless `source` is as long as this view; the driver's.
    pub fn copy_from(&mut self, source: &[T]) -> Result<()> {
        same_length("copy to the device", source.len(), self.view.length)?;
        let memory = self.view.memory;
        let entered = memory.enter("copy to")?;
        // SAFETY: the view's elements, of which there are as many, lie in its memory, and are borrowed mutably.
        let copied = unsafe { staging::copy_in(&entered, self.view.address(), bytemuck::cast_slice(source)) };
        entered.check(copied, || memory.operation("copy to"))
    }

    /// Copies elements from other device memory, on the default stream. Between two devices the copy takes the direct way
    /// where [`crate::Device::enable_peer_access`] has opened it, otherwise that through the host.
    ///
    /// # Errors
    /// [`Error::LengthMismatch`] unless `source` is as long as this view; the driver's.
    pub fn copy_from_device(&mut self, source: &DeviceSlice<'_, T>) -> Result<()> {
        same_length("copy on the device", source.length, self.view.length)?;
        let memory = self.view.memory;
        if memory.context.ordinal != source.memory.context.ordinal {
            return self.copy_from_peer(source);
        }
        same_context(&memory.context, &source.memory.context, || source.memory.operation("copy from"))?;
        let entered = memory.enter("copy to")?;
        entered.not_captured(|| memory.operation("copy to"))?;
        let queues = &memory.context.queues;
        let mut order = queues.order.lock();
        for (memory, access) in [(source.memory, source.access(false)), (memory, self.view.access(true))] {
            queues.default.next_to_use(&memory.uses, &access, &mut order, &entered)?;
        }
        // SAFETY: both views are as long and lie in their memory, the target is borrowed mutably; the order that was noted
        // above keeps both until the copy is done.
        let copied =
            unsafe { raw::copy(source.address(), self.view.address(), self.view.bytes(), &queues.default.raw) };
        entered.check(copied, || memory.operation("copy to"))
    }

    /// Sets all bytes to zero.
    ///
    /// # Errors
    /// The driver's.
    pub fn clear(&mut self) -> Result<()> {
        let memory = self.view.memory;
        let entered = memory.enter("clear")?;
        entered.not_captured(|| memory.operation("clear"))?;
        // SAFETY: the view lies in its memory and is borrowed mutably; freeing memory waits for the null stream.
        let filled = unsafe { raw::fill(self.view.address(), self.view.bytes(), 0) };
        entered.check(filled, || memory.operation("clear"))
    }
}

impl<T> fmt::Debug for DeviceSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.start + self.length;
        write!(f, "DeviceSlice<{}>({}..{end})", self.memory.element, self.start)
    }
}

impl<T> fmt::Debug for DeviceSliceMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.view.start + self.view.length;
        write!(f, "DeviceSliceMut<{}>({}..{end})", self.view.memory.element, self.view.start)
    }
}

pub(crate) fn same_length(operation: &'static str, source: usize, destination: usize) -> Result<()> {
    if source == destination {
        return Ok(());
    }
    Err(Error::LengthMismatch { operation, source_length: source, destination_length: destination })
}

/// The range in numbers, or the panic that a slice would give.
#[track_caller]
fn bounds(range: impl RangeBounds<usize>, length: usize) -> (usize, usize) {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => length,
    };
    assert!(start <= end, "the range starts at {start} but ends at {end}");
    assert!(end <= length, "the range ends at {end}, but there are {length} elements");
    (start, end)
}
