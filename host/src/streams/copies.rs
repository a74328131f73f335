//! Copies between host and device that a stream does while the host goes on, and while other streams run kernels.
//!
//! The host memory must stay as it is until the copy is done, and a borrow could be forgotten while the device still writes
//! through it. So a copy either owns its host memory ([`PendingCopy`]) or belongs to a scope that waits for it
//! ([`crate::Device::scope`]). Copies that the host waits for are the views' own.

use crate::base::error::Result;
use crate::base::host_fn::{in_host_fn, outside_host_fn};
use crate::buffers::allocation::Memory;
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::pinned::PinnedBuffer;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut, same_length};
use crate::context::raw;
use crate::context::uses::Access;
use crate::cuda::Code;
use crate::streams::stream::Stream;
use bytemuck::Pod;
use parking_lot::Mutex;
use std::fmt;
use std::marker::PhantomData;

impl<T: Pod> DeviceSliceMut<'_, T> {
    /// Puts a copy of all elements from page-locked host memory on a stream and returns at once. The
    /// copy keeps the host memory until [`PendingCopy::wait`] gives it back.
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] unless both are as long; the driver's.
    ///
    /// # Examples
    /// Two halves of one buffer, on two streams that do not wait for each other:
    /// ```
    /// let device = rumba::Device::new()?;
    /// let (one, two) = (device.stream()?, device.stream()?);
    /// let mut buffer = device.zeros::<u32>(4)?;
    /// let (mut left, mut right) = buffer.as_slice_mut().split_at_mut(2);
    /// let first = left.copy_from_pinned(device.pinned_from(&[1, 2])?, &one)?;
    /// let second = right.copy_from_pinned(device.pinned_from(&[3, 4])?, &two)?;
    /// (first.wait()?, second.wait()?);
    /// assert_eq!(buffer.to_vec()?, [1, 2, 3, 4]);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn copy_from_pinned(&mut self, source: PinnedBuffer<T>, stream: &Stream) -> Result<PendingCopy<T>> {
        let view = self.as_slice();
        same_length("copy to the device", source.len(), view.len())?;
        let pending = PendingCopy::new(source, stream);
        put(view.memory(), view.access(true), stream, "copy to", |raw| {
            // SAFETY: the pending copy owns the source and gives it up, or frees it, only after the
            // stream has done the copy.
            unsafe { raw::copy_in_async(view.address(), bytemuck::cast_slice(pending.host()), raw) }
        })?;
        Ok(pending)
    }
}

impl<T: Pod> DeviceSlice<'_, T> {
    /// Puts a copy of all elements to page-locked host memory on a stream and returns at once. The
    /// copy keeps the host memory until [`PendingCopy::wait`] gives it back.
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] unless both are as long; the driver's.
    pub fn copy_to_pinned(&self, destination: PinnedBuffer<T>, stream: &Stream) -> Result<PendingCopy<T>> {
        same_length("copy from the device", self.len(), destination.len())?;
        let mut pending = PendingCopy::new(destination, stream);
        put(self.memory(), self.access(false), stream, "copy from", |raw| {
            // SAFETY: the pending copy owns the destination and gives it up, or frees it, only after
            // the stream has done the copy.
            unsafe { raw::copy_out_async(self.address(), bytemuck::cast_slice_mut(pending.host_mut()), raw) }
        })?;
        Ok(pending)
    }
}

impl<T: Pod> DeviceBuffer<T> {
    /// Puts a copy of all elements from page-locked host memory on a stream and returns at once. The
    /// copy keeps the host memory until [`PendingCopy::wait`] gives it back.
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] unless both are as long; the driver's.
    ///
    /// # Examples
    /// ```
    /// let device = rumba::Device::new()?;
    /// let stream = device.stream()?;
    /// let mut host = device.pinned::<f32>(4)?;
    /// host.copy_from_slice(&[1.0, 2.0, 3.0, 4.0]);
    /// let mut buffer = device.zeros::<f32>(4)?;
    /// let sent = buffer.copy_from_pinned(host, &stream)?;
    /// let received = buffer.copy_to_pinned(sent.wait()?, &stream)?;
    /// assert_eq!(*received.wait()?, [1.0, 2.0, 3.0, 4.0]);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn copy_from_pinned(&mut self, source: PinnedBuffer<T>, stream: &Stream) -> Result<PendingCopy<T>> {
        self.as_slice_mut().copy_from_pinned(source, stream)
    }

    /// Puts a copy of all elements to page-locked host memory on a stream and returns at once. The
    /// copy keeps the host memory until [`PendingCopy::wait`] gives it back.
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] unless both are as long; the driver's.
    pub fn copy_to_pinned(&self, destination: PinnedBuffer<T>, stream: &Stream) -> Result<PendingCopy<T>> {
        self.as_slice().copy_to_pinned(destination, stream)
    }
}

/// Puts a copy on a stream, after the work that is in its way.
fn put(
    memory: &Memory,
    access: Access,
    stream: &Stream,
    verb: &str,
    copy: impl FnOnce(&crate::cuda::Stream) -> Result<(), Code>,
) -> Result<()> {
    stream.belongs_to(&memory.context, || memory.operation(verb))?;
    let queue = stream.queue(|| memory.operation(verb))?;
    let entered = memory.enter(verb)?;
    let mut order = memory.context.queues.order.lock();
    queue.next_to_use(&memory.uses, &access, &mut order, &entered)?;
    entered.check(copy(&queue.raw), || memory.operation(verb))
}

/// A copy between a device and page-locked memory that may still be in progress. Dropping it waits; in a host function,
/// another thread waits and then frees the memory.
#[must_use = "dropping a copy in progress waits for it; keep it, and call `wait` when the data is needed"]
pub struct PendingCopy<T> {
    /// None after the buffer was returned.
    host: Option<PinnedBuffer<T>>,
    stream: Stream,
}

impl<T> PendingCopy<T> {
    fn new(host: PinnedBuffer<T>, stream: &Stream) -> PendingCopy<T> {
        PendingCopy { host: Some(host), stream: stream.clone() }
    }

    fn host(&self) -> &[T] {
        self.host.as_deref().unwrap_or_default()
    }

    fn host_mut(&mut self) -> &mut [T] {
        self.host.as_deref_mut().unwrap_or_default()
    }

    /// Waits until the copy is done, and gives the host memory back.
    ///
    /// # Errors
    /// [`crate::Error::Fault`] if a kernel before it on the stream failed.
    ///
    /// # Panics
    /// Never: the handle holds the memory until this call.
    pub fn wait(self) -> Result<PinnedBuffer<T>> {
        self.stream.synchronize()?;
        Ok(self.over())
    }

    /// Gives the host memory back, after the copy is done.
    pub(crate) fn over(mut self) -> PinnedBuffer<T> {
        self.host.take().expect("only this takes the memory, and itself")
    }

    pub(crate) fn stream(&self) -> &Stream {
        &self.stream
    }
}

impl<T> fmt::Debug for PendingCopy<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCopy").field("host", &self.host).finish_non_exhaustive()
    }
}

impl<T> Drop for PendingCopy<T> {
    fn drop(&mut self) {
        if let Some(host) = self.host.take() {
            let (stream, pages) = (self.stream.clone(), host.into_pages());
            outside_host_fn(move || {
                stream.settle();
                drop(pages);
            });
        }
    }
}

/// Where copies may borrow host memory: see [`crate::Device::scope`].
pub struct CopyScope<'scope, 'env: 'scope> {
    streams: &'scope Streams,
    /// Neither may be made shorter, as in `std::thread::scope`.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// Runs `work`, and waits for the copies that it puts on streams.
pub(crate) fn scope<'env, R>(work: impl for<'scope> FnOnce(&'scope CopyScope<'scope, 'env>) -> Result<R>) -> Result<R> {
    let streams = Streams::default();
    let scope = CopyScope { streams: &streams, lifetimes: PhantomData };
    let done = work(&scope);
    // Where `work` panics, dropping the streams waits.
    let waited = streams.wait();
    done.and_then(|value| waited.map(|()| value))
}

impl<'scope> CopyScope<'scope, '_> {
    /// Puts a copy to the device on a stream and returns at once.
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] unless both are as long; [`crate::Error::OtherDevice`]; the driver's.
    pub fn copy_in<T: Pod>(
        &'scope self,
        source: &'scope [T],
        destination: DeviceSliceMut<'_, T>,
        stream: &Stream,
    ) -> Result<()> {
        let view = destination.into_view();
        same_length("copy to the device", source.len(), view.len())?;
        self.streams.add(stream);
        put(view.memory(), view.access(true), stream, "copy to", |raw| {
            // SAFETY: the source is borrowed until the scope has waited for the stream.
            unsafe { raw::copy_in_async(view.address(), bytemuck::cast_slice(source), raw) }
        })
    }

    /// Puts a copy from the device on a stream and returns at once.
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] unless both are as long; [`crate::Error::OtherDevice`]; the driver's.
    pub fn copy_out<T: Pod>(
        &'scope self,
        source: DeviceSlice<'_, T>,
        destination: &'scope mut [T],
        stream: &Stream,
    ) -> Result<()> {
        same_length("copy from the device", source.len(), destination.len())?;
        self.streams.add(stream);
        put(source.memory(), source.access(false), stream, "copy from", |raw| {
            // SAFETY: the destination is borrowed until the scope has waited for the stream.
            unsafe { raw::copy_out_async(source.address(), bytemuck::cast_slice_mut(destination), raw) }
        })
    }
}

/// The streams that have copies of a scope.
#[derive(Default)]
struct Streams(Mutex<Vec<Stream>>);

impl Streams {
    fn add(&self, stream: &Stream) {
        let mut streams = self.0.lock();
        if !streams.contains(stream) {
            streams.push(stream.clone());
        }
    }

    /// Waits for every stream, and gives the first error.
    fn wait(&self) -> Result<()> {
        let mut first = Ok(());
        for stream in self.0.lock().drain(..) {
            let waited = stream.synchronize();
            // The call may have been refused without a wait, in a context that is lost. In a host function it was, but there
            // no copy can have been put on the stream.
            if waited.is_err() && !in_host_fn() {
                stream.settle();
            }
            first = first.and(waited);
        }
        first
    }
}

impl Drop for Streams {
    fn drop(&mut self) {
        // A panic is under way, whose message matters more than an error here.
        let _ = self.wait();
    }
}

impl fmt::Debug for CopyScope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyScope").field("streams", &self.streams.0.lock().len()).finish()
    }
}
