//! NVIDIA's libraries on arrays and buffers of this runtime: cuBLAS, cuFFT and cuRAND, loaded when first used.
//!
//! Each module checks lengths, strides and alignment before it calls its library, and knows nothing of the others. What they share is
//! here: handles, streams, the order of work, and calls that a graph repeats.

pub mod cublas;
pub mod cufft;
pub mod curand;
mod loading;

use crate::base::driver;
use crate::base::error::{GraphError, LibraryError, Result, answer};
use crate::base::host_fn::OutsideHostFn;
use crate::base::recording;
use crate::buffers::allocation::Memory;
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::view::DeviceSlice;
use crate::context::queue::Queue;
use crate::context::uses::Access;
use crate::context::{Context, same_context};
use crate::cuda;
use crate::cuda::sys::{self, CUstream};
use crate::devices::device::Device;
use crate::streams::recorded::{Exchange, Recorded};
use crate::streams::stream::Stream;
use bytemuck::Pod;
use loading::Source;
use std::ffi::{c_int, c_void};
use std::fmt;
use std::sync::Arc;

/// A handle that a library gives out as a pointer.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Pointer(*mut c_void);

// SAFETY: the libraries allow calls with a handle from any thread, one at a time.
unsafe impl Send for Pointer {}
// SAFETY: as above; calls are made with the lock of the device's order of work.
unsafe impl Sync for Pointer {}

impl Pointer {
    const NULL: Pointer = Pointer(std::ptr::null_mut());
}

/// The functions of a library whose handles have a stream.
trait Library: Sync + 'static {
    type Handle: Copy + Send + Sync + 'static;
    const SOURCE: &'static Source;

    /// # Safety
    /// Handle and stream are alive, their context current, and no other call uses the handle.
    unsafe fn set_stream(&self, handle: Self::Handle, stream: CUstream) -> c_int;

    /// # Safety
    /// As for `set_stream`; the handle is not used afterwards.
    unsafe fn destroy(&self, handle: Self::Handle) -> c_int;
}

/// A handle of a library on a device, and the stream that calls are put on.
///
/// A call borrows the handle's memory for writing, so calls with one handle run in their order, whatever their streams.
struct Session<L: Library> {
    kept: OutsideHostFn<Arc<Kept<L>>>,
    stream: Option<Stream>,
}

struct Kept<L: Library> {
    /// Dropped before its memory.
    handle: Owned<L>,
    /// Memory that the library works in: at least one byte.
    work: DeviceBuffer<u8>,
}

struct Owned<L: Library> {
    library: &'static L,
    context: Arc<Context>,
    raw: L::Handle,
}

impl<L: Library> Clone for Session<L> {
    fn clone(&self) -> Self {
        Session { kept: self.kept.clone(), stream: self.stream.clone() }
    }
}

/// An error on the software device, which no library of NVIDIA's knows.
fn on_a_gpu(source: &Source) -> Result<(), LibraryError> {
    match driver::is_software() {
        true => Err(LibraryError::SoftwareDevice { library: source.library, instead: source.instead }),
        false => Ok(()),
    }
}

impl<L: Library> Session<L> {
    /// Makes a handle: `prepare` tells how many bytes of memory the handle works in, and `bind` passes their address on.
    fn new(
        device: &Device,
        library: &'static L,
        operation: &'static str,
        create: impl FnOnce() -> Result<L::Handle, LibraryError>,
        prepare: impl FnOnce(L::Handle) -> Result<usize, LibraryError>,
        bind: impl FnOnce(L::Handle, u64) -> Result<(), LibraryError>,
    ) -> Result<Session<L>> {
        let context = device.context();
        let (handle, bytes) = {
            let _entered = context.enter(|| operation.to_owned())?;
            let handle = Owned { library, context: context.clone(), raw: create()? };
            let bytes = prepare(handle.raw)?;
            (handle, bytes)
        };
        let work = DeviceBuffer::uninitialised(context.clone(), bytes.max(1))?;
        let _entered = context.enter(|| operation.to_owned())?;
        bind(handle.raw, work.as_slice().address())?;
        Ok(Session { kept: OutsideHostFn::new(Arc::new(Kept { handle, work })), stream: None })
    }

    fn on(&self, stream: &Stream) -> Session<L> {
        Session { kept: self.kept.clone(), stream: Some(stream.clone()) }
    }

    fn context(&self) -> &Arc<Context> {
        &self.kept.handle.context
    }

    /// Puts a call on the stream, behind the work on other streams that uses the same memory, or notes the call for a graph.
    ///
    /// # Safety
    /// The call reads and writes no other device memory than `uses` and the handle's own, and is sound whenever it is made while that
    /// memory is allocated.
    unsafe fn put(
        &self,
        operation: &'static str,
        uses: &[(&Memory, Access)],
        call: impl Fn(&L, L::Handle) -> c_int + Send + Sync + 'static,
    ) -> Result<()> {
        for (memory, _) in uses {
            same_context(self.context(), &memory.context, || memory.operation(&format!("{operation} with")))?;
        }
        let Some(stream) = &self.stream else {
            return self.run(None, operation, uses, &call);
        };
        stream.belongs_to(self.context(), || operation.to_owned())?;
        let Some(recording) = stream.records() else {
            return self.run(Some(stream), operation, uses, &call);
        };
        let kept = recordable(operation, uses)?;
        let session = Session { kept: self.kept.clone(), stream: None };
        let put = move |stream: Option<&Stream>| {
            let uses: Vec<_> = kept.iter().map(|(memory, access)| (memory, access.clone())).collect();
            session.run(stream, operation, &uses, &call)
        };
        recording.add(Recorded::Call(Exchange { name: operation, put: Box::new(put) }))
    }

    /// An error if the stream records launches: a result for the host would not be there yet.
    fn computes_now(&self, operation: &'static str) -> Result<()> {
        self.stream.as_ref().map_or(Ok(()), |stream| stream.queue(|| operation.to_owned()).map(drop))
    }

    /// Makes a call that puts no work on a stream.
    fn at_once(&self, operation: &'static str, call: impl Fn(&L, L::Handle) -> c_int) -> Result<()> {
        self.run(self.stream.as_ref(), operation, &[], &call)
    }

    fn run(
        &self,
        stream: Option<&Stream>,
        operation: &'static str,
        uses: &[(&Memory, Access)],
        call: &dyn Fn(&L, L::Handle) -> c_int,
    ) -> Result<()> {
        let text = || operation.to_owned();
        let Kept { handle: Owned { library, context, raw }, work } = &**self.kept;
        let queue = match stream {
            Some(stream) => stream.queue(text)?,
            None => &context.queues.default,
        };
        // Until the work is on the stream, no other thread uses the handle.
        let mut order = context.queues.order.lock();
        let entered = context.enter(text)?;
        if stream.is_none() {
            entered.not_captured(text)?;
        }
        let work = work.as_slice();
        for (memory, access) in uses.iter().map(|(memory, access)| (*memory, access)) {
            queue.next_to_use(&memory.uses, access, &mut order, &entered)?;
        }
        queue.next_to_use(&work.memory().uses, &work.access(true), &mut order, &entered)?;
        // SAFETY: handle and stream are alive, the context is current; the lock keeps other calls away.
        let set = unsafe { library.set_stream(*raw, queue.raw.raw()) };
        let answered = match set {
            0 => recording::on_host(operation, || call(library, *raw)),
            refused => refused,
        };
        let Err(refused) = L::SOURCE.check(operation, answered) else {
            return Ok(());
        };
        // The libraries answer so to the fault of an earlier kernel as well.
        match fault(queue) {
            Some(code) => entered.check(Err(code), text),
            None => Err(refused.into()),
        }
    }
}

/// The memory that a recorded call keeps.
fn recordable(operation: &'static str, uses: &[(&Memory, Access)]) -> Result<Vec<(Memory, Access)>> {
    for (memory, _) in uses {
        if memory.is_unified() {
            return Err(GraphError::UnifiedMemory { kernel: operation }.into());
        }
        if memory.is_lent() {
            return Err(GraphError::Lent { kernel: operation }.into());
        }
    }
    Ok(uses.iter().map(|(memory, access)| ((*memory).clone(), access.clone())).collect())
}

/// The fault that has ended the context of a stream, if any.
fn fault(queue: &Queue) -> Option<cuda::Code> {
    // SAFETY: the stream is alive, its context current.
    answer(unsafe { sys::cuStreamQuery(queue.raw.raw()) }).err().filter(|code| code.loses_context())
}

/// A use of the elements of a slice.
fn uses<'a, T: Pod>(slice: &DeviceSlice<'a, T>, writes: bool) -> (&'a Memory, Access) {
    (slice.memory(), slice.access(writes))
}

/// An error unless the elements begin at a multiple of so many bytes.
fn aligned<T: Pod>(
    source: &Source,
    operation: &'static str,
    slice: &DeviceSlice<'_, T>,
    bytes: usize,
) -> Result<(), LibraryError> {
    let address = slice.address();
    match slice.is_empty() || address.is_multiple_of(bytes as u64) {
        true => Ok(()),
        false => Err(LibraryError::Alignment { library: source.library, operation, address, bytes }),
    }
}

impl<L: Library> fmt::Debug for Session<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(L::SOURCE.library)
            .field("device", &self.context().ordinal)
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

impl<L: Library> Drop for Owned<L> {
    fn drop(&mut self) {
        if let Some(_entered) = self.context.enter_to_release() {
            // Its work may still be running. An error is a fault that every later call reports.
            let _ = cuda::synchronize();
            // SAFETY: the handle is alive and destroyed once, in its context.
            let _ = unsafe { self.library.destroy(self.raw) };
        }
    }
}
