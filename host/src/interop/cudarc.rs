//! Memory of the crate [`cudarc`](https://docs.rs/cudarc), and so of candle, as arguments of kernels, and memory of this runtime for
//! cudarc, without a copy.
//!
//! | memory | how it is passed |
//! |---|---|
//! | a `CudaSlice` that the program owns | [`DeviceBuffer::from_cudarc`], and back by [`DeviceBuffer::into_cudarc`] |
//! | a `CudaView` or `CudaViewMut` | [`Scope::read`] and [`Scope::write`], until the [`scope()`] ends |
//! | a buffer that the program owns | [`DeviceBuffer::into_cudarc`], and back by [`DeviceBuffer::from_cudarc`] |
//! | a slice of a buffer or an array | [`Scope::lend`] and [`Scope::lend_mut`], until the [`scope()`] ends |
//!
//! The device orders the work of both libraries, and the host waits for nothing: the streams of this runtime wait for the work that
//! cudarc has put on its streams before the memory was passed, and the streams of cudarc wait for the launches of this runtime before the
//! memory came back. CUDA's legacy default stream is in between, with which all streams of this runtime synchronise.
//!
//! Streams are not passed on. A stream of `CudaContext::new_stream` does not synchronise with the legacy default stream, as this runtime
//! expects of its streams, and a `CudaStream` keeps no owner of another library's stream alive. Launches on any stream of this runtime are
//! ordered with the streams of cudarc.
//!
//! Both libraries must call one driver. On a GPU both load NVIDIA's. On the software device a program starts with `cargo rumba check`.
//!
//! # Examples
//! ```
//! use rumba::interop::cudarc;
//! use rumba::test_kernels::{PTX, saxpy, scale};
//!
//! # rumba::test_kernels::share_the_driver();
//! let device = rumba::Device::new()?;
//! let module = device.load(PTX)?;
//! // Memory of cudarc, on a stream of its own.
//! let stream = device.to_cudarc()?.new_stream()?;
//! let x = stream.clone_htod(&[1.0_f32, 2.0, 3.0])?;
//! let mut y = stream.clone_htod(&[10.0_f32, 20.0, 30.0])?;
//!
//! // Borrowed for some launches.
//! let (read, written) = (x.as_view(), y.as_view_mut());
//! cudarc::scope(&device, |scope| module.for_each(3, saxpy(2.0, scope.read(read)?, scope.write(written)?)))?;
//!
//! // Taken over, and given back.
//! let mut buffer = rumba::DeviceBuffer::from_cudarc(&device, y)?;
//! module.for_each(3, scale(10.0, &mut buffer))?;
//! let y = buffer.into_cudarc(&stream)?;
//! assert_eq!(stream.clone_dtoh(&y)?, [120.0, 240.0, 360.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use ::cudarc::driver as theirs;
use bytemuck::Pod;
use elsa::FrozenVec;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::{Arc, OnceLock};
use theirs::{CudaContext, CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr, DevicePtrMut, SyncOnDrop};

use crate::base::error::{DriverError, Error, InteropError, Result};
use crate::buffers::allocation::{Kept, Memory};
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};
use crate::context::{Context, same_context};
use crate::cuda::{self, Code, sys};
use crate::devices::device::Device;

/// The driver's answer to a call of cudarc's, as this library's.
fn answered<T>(result: Result<T, theirs::DriverError>, operation: &str) -> Result<T> {
    result.map_err(|error| DriverError::new(operation.to_owned(), Code(sys::CUresult(error.0 as u32))).into())
}

/// Whether cudarc, which panics if there is no driver library to load, finds one.
fn finds_the_driver() -> bool {
    /// A program that is linked with the driver library has it. cudarc then lacks its function of this name.
    #[allow(dead_code, reason = "cudarc has the function if it loads the library when the program runs")]
    unsafe fn is_culib_present() -> bool {
        true
    }
    fn found() -> bool {
        #[allow(
            clippy::wildcard_imports,
            unused_imports,
            reason = "cudarc's function, if it exists, hides the one above"
        )]
        use theirs::sys::*;
        // SAFETY: the driver library is loaded and closed again; loading it has no effect of its own.
        unsafe { is_culib_present() }
    }
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(found)
}

/// An error unless a context of cudarc's is this one.
fn is_ours(context: &Context, theirs: &CudaContext) -> Result<()> {
    match context.handle().raw() == theirs.cu_ctx().cast() {
        true => Ok(()),
        false => Err(InteropError::OtherPrimary { ordinal: context.ordinal }.into()),
    }
}

impl Device {
    /// The device's primary context as cudarc's, from which its streams come. It lives as long as this device or the result.
    ///
    /// # Errors
    /// [`InteropError::NoDriver`], [`InteropError::OtherPrimary`]; the driver's.
    pub fn to_cudarc(&self) -> Result<Arc<CudaContext>> {
        let context = self.context();
        let operation = "pass the context on to cudarc";
        drop(context.enter(|| operation.to_owned())?);
        if !finds_the_driver() {
            return Err(InteropError::NoDriver.into());
        }
        let found = answered(CudaContext::new(self.ordinal() as usize), operation)?;
        is_ours(&context, &found)?;
        Ok(found)
    }

    /// The device of a context of cudarc's.
    ///
    /// # Errors
    /// [`InteropError::OtherPrimary`] unless the context is the primary one of its device, by the same driver; the driver's.
    pub fn from_cudarc(context: &CudaContext) -> Result<Device> {
        // Cudarc numbers devices as the driver does.
        let device = Device::get(context.ordinal() as u32)?;
        is_ours(&device.context(), context)?;
        Ok(device)
    }
}

impl<T: Pod> DeviceBuffer<T> {
    /// Takes memory over. Launches wait for the work that cudarc has put on streams before; the host does not.
    ///
    /// [`DeviceBuffer::into_cudarc`] gives the same `CudaSlice` back. A buffer that is dropped drops the `CudaSlice`, after all work of the
    /// device.
    ///
    /// # Errors
    /// [`InteropError::OtherPrimary`], [`InteropError::Misaligned`]; the driver's.
    pub fn from_cudarc(device: &Device, mut slice: CudaSlice<T>) -> Result<DeviceBuffer<T>> {
        let context = device.context();
        let null = null_of(&context, slice.stream(), "take a slice over from cudarc")?;
        order_after(slice.stream(), &null)?;
        let address = mark(slice.device_ptr_mut(&null));
        left(&null)?;
        let (length, bytes) = (slice.len(), slice.num_bytes());
        let start = if bytes == 0 { Memory::EMPTY } else { address };
        if !start.is_multiple_of(Memory::ALIGNMENT as u64) {
            return Err(InteropError::Misaligned { address, alignment: Memory::ALIGNMENT }.into());
        }
        // SAFETY: the slice is the only owner of this memory of the context, and is among what is kept.
        let memory = unsafe { Memory::foreign::<T>(context, start, bytes, Box::new(slice)) };
        Ok(DeviceBuffer::of(memory, length))
    }

    /// Hands the memory over. The streams of cudarc wait for the launches that use it; the host does not, and learns of a fault or a panic
    /// in a kernel by its next wait, such as [`Device::synchronize`].
    ///
    /// Memory that [`DeviceBuffer::from_cudarc`] took over comes back as the same `CudaSlice`. Memory of this runtime is of `stream` from
    /// then on, on which cudarc frees the memory.
    ///
    /// # Errors
    /// [`InteropError::Shared`] if a graph holds the memory; [`InteropError::NotAllocated`] for memory of a pool; that `stream` is of
    /// another context: [`InteropError::OtherPrimary`]; the driver's.
    pub fn into_cudarc(self, stream: &Arc<CudaStream>) -> Result<CudaSlice<T>> {
        const OPERATION: &str = "hand a buffer over to cudarc";
        let (length, memory) = (self.len(), self.into_memory());
        let context = memory.context.clone();
        drop(null_of(&context, stream, OPERATION)?);
        let mut slice: CudaSlice<T> = if memory.is_owned_by::<CudaSlice<T>>() {
            memory.into_owner()?
        } else {
            let address = match length * size_of::<T>() {
                // SAFETY: the contents of the allocation are not read.
                0 => answered(unsafe { stream.alloc::<u8>(1) }, OPERATION)?.leak(),
                _ => memory.into_raw()?,
            };
            // SAFETY: an allocation of the driver's, of at least as many bytes, of which nothing else is the owner.
            unsafe { stream.upgrade_device_ptr(address, length) }
        };
        let null = slice.context().default_stream();
        let ordered = order_before(&null, slice.stream());
        mark(slice.device_ptr_mut(&null));
        settled(&context, ordered.and_then(|()| left(&null)))?;
        Ok(slice)
    }
}

/// The legacy default stream as one of a context of cudarc's, which is checked to be this one.
fn null_of(context: &Context, stream: &CudaStream, operation: &str) -> Result<Arc<CudaStream>> {
    is_ours(context, stream.context())?;
    drop(context.enter(|| operation.to_owned())?);
    Ok(stream.context().default_stream())
}

/// Makes the legacy default stream wait for a stream of cudarc's, and so all later work of this runtime.
fn order_after(theirs: &CudaStream, null: &CudaStream) -> Result<()> {
    answered(null.join(theirs), "order launches after the work of cudarc")
}

/// Makes a stream of cudarc's wait for the legacy default stream, and so for all work of this runtime.
fn order_before(null: &CudaStream, theirs: &CudaStream) -> Result<()> {
    answered(theirs.join(null), "order the work of cudarc after launches")
}

/// Takes note of a use of memory on the legacy default stream: cudarc has made the stream wait for the uses on other streams, and records the
/// event of this use, for which later uses on other streams wait. Gives the address.
fn mark((address, recorded): (u64, SyncOnDrop<'_>)) -> u64 {
    drop(recorded);
    address
}

/// The error of calls of cudarc's that give no result, which cudarc keeps.
fn left(stream: &CudaStream) -> Result<()> {
    answered(stream.context().check_err(), "order launches and the work of cudarc")
}

/// The result of calls that order work. After an error the device does not order the work, so the host waits for all of it.
fn settled(context: &Context, ordered: Result<()>) -> Result<()> {
    if ordered.is_err()
        && let Some(_entered) = context.enter_to_release()
    {
        // With an error the device has stopped.
        let _ = cuda::synchronize();
    }
    ordered
}

impl From<Kept> for InteropError {
    fn from(kept: Kept) -> InteropError {
        match kept {
            Kept::Shared => InteropError::Shared,
            Kept::NotAllocated => InteropError::NotAllocated,
        }
    }
}

impl From<Kept> for Error {
    fn from(kept: Kept) -> Error {
        InteropError::from(kept).into()
    }
}

/// Where the libraries borrow memory of each other: see [`scope()`].
pub struct Scope<'scope, 'env: 'scope> {
    context: &'scope Arc<Context>,
    loans: &'scope Loans<'env>,
    /// Neither may be made shorter, as in `std::thread::scope`.
    lifetimes: PhantomData<(&'scope mut &'scope (), &'env mut &'env ())>,
}

/// Calls `work` with a scope in which the libraries borrow memory of each other.
///
/// When the scope ends, the later work of the lender waits for the work of the borrower. The device waits, not the host.
///
/// # Errors
/// That of `work`; the driver's.
///
/// # Examples
/// A matrix of this runtime in a copy of cudarc's:
/// ```
/// # rumba::test_kernels::share_the_driver();
/// let device = rumba::Device::new()?;
/// let stream = device.to_cudarc()?.new_stream()?;
/// let mut matrix = device.buffer_from(&[1.0_f32, 2.0, 3.0, 4.0])?;
/// let (row, other) = matrix.as_slice_mut().split_at_mut(2);
/// rumba::interop::cudarc::scope(&device, |scope| {
///     let (row, mut other) = (scope.lend(row.as_slice(), &stream)?, scope.lend_mut(other, &stream)?);
///     stream.memcpy_dtod(&row, &mut other).expect("both have two elements");
///     Ok(())
/// })?;
/// assert_eq!(matrix.to_vec()?, [1.0, 2.0, 1.0, 2.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn scope<'env, R>(
    device: &Device,
    work: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> Result<R>,
) -> Result<R> {
    let context = device.context();
    let mut loans = Loans { context: context.clone(), memories: FrozenVec::new(), all: FrozenVec::new() };
    let done = work(&Scope { context: &context, loans: &loans, lifetimes: PhantomData });
    // Where `work` panics, dropping the loans ends them.
    let ended = loans.end();
    done.and_then(|value| ended.map(|()| value))
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Elements of cudarc's, for kernels to read.
    ///
    /// # Errors
    /// [`InteropError::OtherPrimary`], [`InteropError::Misaligned`]; the driver's.
    pub fn read<T: Pod>(&'scope self, view: CudaView<'env, T>) -> Result<DeviceSlice<'scope, T>> {
        self.borrow(view)
    }

    /// Elements of cudarc's, for kernels to write.
    ///
    /// # Errors
    /// As [`Scope::read`].
    pub fn write<T: Pod>(&'scope self, view: CudaViewMut<'env, T>) -> Result<DeviceSliceMut<'scope, T>> {
        let slice = self.borrow(view)?;
        // SAFETY: cudarc has lent the elements mutably, and the only view of them is this one.
        Ok(unsafe { slice.assume_mut() })
    }

    fn borrow<T: Pod, V: View<T> + 'env>(&'scope self, mut view: V) -> Result<DeviceSlice<'scope, T>> {
        Memory::aligns::<T>();
        let null = null_of(self.context, view.stream(), "borrow a slice of cudarc")?;
        order_after(view.stream(), &null)?;
        let address = view.mark(&null);
        left(&null)?;
        let (length, bytes) = (view.len(), view.num_bytes());
        let address = if bytes == 0 { Memory::EMPTY } else { address };
        // Memory begins where an allocation may, at or before the first element.
        let before = (address % Memory::ALIGNMENT as u64) as usize;
        if !before.is_multiple_of(size_of::<T>().max(1)) {
            return Err(InteropError::Misaligned { address, alignment: size_of::<T>() }.into());
        }
        // SAFETY: the elements are lent until the scope ends, and the slice below reaches no other bytes.
        let memory = unsafe { Memory::lent::<T>(self.context.clone(), address - before as u64, before + bytes) };
        self.loans.add(OfCudarc { null, view, element: PhantomData });
        let memory = self.loans.memories.push_get(Box::new(memory));
        let start = before / size_of::<T>().max(1);
        Ok(DeviceSlice::whole(memory, start + length).slice(start..))
    }

    /// Elements of this runtime, for cudarc to read on `stream`, or on any stream if cudarc tracks events.
    ///
    /// # Errors
    /// [`InteropError::OtherPrimary`]; [`crate::Error::OtherDevice`]; the driver's.
    pub fn lend<T: Pod>(
        &'scope self,
        slice: DeviceSlice<'env, T>,
        stream: &Arc<CudaStream>,
    ) -> Result<CudaView<'scope, T>> {
        // SAFETY: the slice is the loan's until the scope ends, and is lent for reading.
        Ok(unsafe { self.give(slice, stream)?.as_ref() }.as_view())
    }

    /// Elements of this runtime, for cudarc to write on `stream`, or on any stream if cudarc tracks events.
    ///
    /// # Errors
    /// As [`Scope::lend`].
    pub fn lend_mut<T: Pod>(
        &'scope self,
        slice: DeviceSliceMut<'env, T>,
        stream: &Arc<CudaStream>,
    ) -> Result<CudaViewMut<'scope, T>> {
        // SAFETY: as above; the elements are borrowed mutably, and the view is the only one.
        Ok(unsafe { self.give(slice.into_view(), stream)?.as_mut() }.as_view_mut())
    }

    /// The elements as a slice of cudarc's, which lives until the scope ends.
    fn give<T: Pod>(
        &'scope self,
        slice: DeviceSlice<'env, T>,
        stream: &Arc<CudaStream>,
    ) -> Result<NonNull<CudaSlice<T>>> {
        let operation = || "lend a slice to cudarc".to_owned();
        same_context(self.context, &slice.memory().context, operation)?;
        let null = null_of(self.context, stream, &operation())?;
        order_before(&null, stream)?;
        // SAFETY: the elements are borrowed until the scope ends. The loan never lets cudarc free them.
        let slice = Box::new(unsafe { stream.upgrade_device_ptr::<T>(slice.address(), slice.len()) });
        let mut slice = NonNull::from(Box::leak(slice));
        self.loans.add(OfRumba { null: null.clone(), slice, element: PhantomData::<&'env T> });
        // SAFETY: the loan's slice lives until the scope ends, and there are no views of it yet.
        mark(unsafe { slice.as_mut() }.device_ptr_mut(&null));
        left(&null)?;
        Ok(slice)
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("loans", &self.loans.all.len()).finish_non_exhaustive()
    }
}

/// What the libraries have borrowed of each other in a scope.
struct Loans<'env> {
    context: Arc<Context>,
    /// The memory of this runtime that stands for memory of cudarc.
    memories: FrozenVec<Box<Memory>>,
    all: FrozenVec<Box<dyn Loan + 'env>>,
}

impl<'env> Loans<'env> {
    /// Keeps a loan until the scope ends.
    fn add(&self, loan: impl Loan + 'env) {
        self.all.push(Box::new(loan));
    }

    /// Ends all loans, and gives the first error.
    fn end(&mut self) -> Result<()> {
        let mut first = Ok(());
        // All loans end, also after an error.
        for mut loan in std::mem::take(&mut self.all).into_vec() {
            first = first.and(loan.end());
        }
        settled(&self.context, first)
    }
}

impl Drop for Loans<'_> {
    fn drop(&mut self) {
        // A panic is under way, whose message matters more than an error here.
        let _ = self.end();
    }
}

/// Memory of one library that the other library uses until the scope ends.
trait Loan {
    /// Orders the later work of the lender after the work of the borrower.
    fn end(&mut self) -> Result<()>;
}

/// A view of cudarc's that this runtime has borrowed.
struct OfCudarc<T, V> {
    null: Arc<CudaStream>,
    view: V,
    element: PhantomData<T>,
}

impl<T, V: View<T>> Loan for OfCudarc<T, V> {
    fn end(&mut self) -> Result<()> {
        order_before(&self.null, self.view.stream())?;
        self.view.mark(&self.null);
        left(&self.null)
    }
}

/// A view of cudarc's.
trait View<T>: theirs::DeviceSlice<T> {
    /// Takes note of the use that the view is for: see [`mark`].
    fn mark(&mut self, null: &CudaStream) -> u64;
}

impl<T> View<T> for CudaView<'_, T> {
    fn mark(&mut self, null: &CudaStream) -> u64 {
        mark(self.device_ptr(null))
    }
}

impl<T> View<T> for CudaViewMut<'_, T> {
    fn mark(&mut self, null: &CudaStream) -> u64 {
        mark(self.device_ptr_mut(null))
    }
}

/// Memory of this runtime that cudarc has borrowed.
struct OfRumba<'env, T> {
    null: Arc<CudaStream>,
    /// From `Box::leak`, until the loan ends.
    slice: NonNull<CudaSlice<T>>,
    element: PhantomData<&'env T>,
}

impl<T> Loan for OfRumba<'_, T> {
    fn end(&mut self) -> Result<()> {
        // SAFETY: from `Box::leak`, and each loan ends once, when all views of the slice are gone.
        let mut slice = unsafe { Box::from_raw(self.slice.as_ptr()) };
        let ordered = order_after(slice.stream(), &self.null);
        mark(slice.device_ptr_mut(&self.null));
        // The memory stays this runtime's.
        slice.leak();
        ordered.and_then(|()| left(&self.null))
    }
}
