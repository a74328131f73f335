//! Memory that the host and a device share, pools, and copies within a scope.

use crate::base::error::Result;
use crate::buffers::ordered::MemoryPool;
use crate::buffers::unified::UnifiedBuffer;
use crate::devices::device::Device;
use crate::streams::copies::{self, CopyScope};
use bytemuck::Pod;

impl Device {
    /// `length` zeros in managed memory: pages move to the device or the host, whichever uses them
    /// (`cuMemAllocManaged`). There may be more of it than the device has memory.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    #[track_caller]
    pub fn managed<T: Pod>(&self, length: usize) -> Result<UnifiedBuffer<T>> {
        UnifiedBuffer::managed(self.context(), length)
    }

    /// `length` zeros in host memory that kernels reach across the bus (`cuMemHostAlloc`): "zero-copy", for what is read or
    /// written once.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    #[track_caller]
    pub fn mapped<T: Pod>(&self, length: usize) -> Result<UnifiedBuffer<T>> {
        UnifiedBuffer::mapped(self.context(), length)
    }

    /// A pool of device memory for buffers that come and go.
    ///
    /// # Errors
    /// The driver's, and that of a device without such pools.
    pub fn memory_pool(&self) -> Result<MemoryPool> {
        MemoryPool::new(self.context())
    }

    /// Runs `work`, in which copies may borrow host memory while they are in progress, and waits for them in the end.
    /// The host memory may be any; while kernels run, devices copy only from and to page-locked memory.
    ///
    /// This is the way to overlap copies with kernels: cut the data into chunks, and give each chunk a stream of its own or
    /// take a few in turn. On a stream a chunk is copied in, computed and copied out in order.
    ///
    /// # Errors
    /// That of `work`, or of the wait: [`crate::Error::Fault`], [`crate::Error::Panic`].
    ///
    /// # Examples
    /// ```
    /// use rumba::LaunchConfig;
    /// # use rumba::test_kernels::{PTX, scale};
    ///
    /// let device = rumba::Device::new()?;
    /// let module = device.load(PTX)?;
    /// let streams = [device.stream()?, device.stream()?];
    /// let input = device.pinned_from(&[1.0_f32; 1000])?;
    /// let mut output = device.pinned::<f32>(1000)?;
    /// let mut buffer = device.zeros::<f32>(1000)?;
    /// device.scope(|scope| {
    ///     let chunks = buffer.as_slice_mut().chunks_mut(300);
    ///     for (index, mut chunk) in chunks.enumerate() {
    ///         let stream = &streams[index % 2];
    ///         scope.copy_in(&input[index * 300..][..chunk.len()], chunk.reborrow(), stream)?;
    ///         let threads = LaunchConfig::for_each(chunk.len()).stream(stream);
    ///         module.launch(threads, scale(2.0, chunk.reborrow()))?;
    ///     }
    ///     scope.copy_out(buffer.as_slice(), &mut output, &streams[0])
    /// })?;
    /// assert_eq!(output[..], [2.0; 1000]);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn scope<'env, R>(
        &self,
        work: impl for<'scope> FnOnce(&'scope CopyScope<'scope, 'env>) -> Result<R>,
    ) -> Result<R> {
        copies::scope(work)
    }
}
