//! Devices: enumeration, properties, and the entry points of all work on a device.

mod identity;
mod memory;
mod peer;

pub use crate::context::limits::Limits;
pub use crate::cuda::DeviceAttribute;
pub use identity::Uuid;

use crate::base::error::{Code, DriverError, Error, Result};
use crate::base::host_fn;
use crate::base::{driver, recording};
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::pinned::PinnedBuffer;
use crate::context::Context;
use crate::context::users::Waited;
use crate::cuda;
use crate::modules::link::Linker;
use crate::modules::module::{Module, Text};
use crate::streams::event::Event;
use crate::streams::stream::Stream;
use bytemuck::Pod;
use parking_lot::{Mutex, RwLock};
use std::cell::RefCell;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::{Arc, Weak};

/// A CUDA device with its context: the start of everything.
///
/// Cloning is cheap, and all `Device`s of one number share one context. The context lives until the
/// last device, module, buffer, stream or event of it is dropped, in whichever order that happens.
///
/// # Examples
/// ```
/// let device = rumba::Device::new()?;
/// println!("{}: {} multiprocessors", device.name(), device.limits().multiprocessors);
/// let buffer = device.buffer_from(&[1.0_f32, 2.0, 3.0])?;
/// assert_eq!(buffer.to_vec()?, [1.0, 2.0, 3.0]);
/// # Ok::<(), rumba::Error>(())
/// ```
#[derive(Clone)]
pub struct Device {
    slot: Arc<Slot>,
}

/// One device of the process; devices of the same number share it.
struct Slot {
    ordinal: u32,
    raw: crate::cuda::Device,
    name: String,
    context: RwLock<Arc<Context>>,
}

/// The live slots and contexts of the process, so that a device has one slot and one context at a
/// time, however often it is requested.
struct Registry {
    slots: Vec<Weak<Slot>>,
    contexts: Vec<Weak<Context>>,
}

static REGISTRY: Mutex<Registry> = Mutex::new(Registry { slots: Vec::new(), contexts: Vec::new() });

thread_local! {
    /// The device of the checked run that the thread is in.
    static CHECKED: RefCell<Option<Device>> = const { RefCell::new(None) };
}

/// Ends what [`Device::for_this_thread`] began.
struct NoLongerChecked;

impl Drop for NoLongerChecked {
    fn drop(&mut self) {
        CHECKED.set(None);
    }
}

impl Registry {
    /// Makes this the context of its device, and forgets what is gone.
    fn remember(&mut self, context: &Arc<Context>) {
        self.slots.retain(|slot| slot.strong_count() > 0);
        self.contexts.retain(|other| other.upgrade().is_some_and(|other| other.ordinal != context.ordinal));
        self.contexts.push(Arc::downgrade(context));
    }
}

/// The memory of a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryInfo {
    /// Free memory, which no process has allocated.
    pub free: usize,
    /// The total memory for contexts.
    pub total: usize,
}

impl Device {
    /// Device 0: the GPU if present, otherwise the software device. `RUMBA_DEVICE=gpu` or
    /// `RUMBA_DEVICE=soft` insists on one of them.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if the device that `RUMBA_DEVICE` asks for is missing.
    pub fn new() -> Result<Device> {
        Device::get(0)
    }

    /// The device of this number, counted from 0.
    ///
    /// # Errors
    /// [`Error::NoSuchDevice`] if no device has this number.
    pub fn get(ordinal: u32) -> Result<Device> {
        if let Some(checked) = CHECKED.with_borrow(Clone::clone) {
            return Ok(checked);
        }
        let count = Device::count()?;
        if ordinal >= count {
            return Err(Error::NoSuchDevice { ordinal, count });
        }
        let mut registry = REGISTRY.lock();
        if let Some(slot) = registry.slots.iter().filter_map(Weak::upgrade).find(|slot| slot.ordinal == ordinal) {
            return Ok(Device { slot });
        }
        let raw = in_driver(crate::cuda::Device::get(ordinal), || format!("get device {ordinal}"))?;
        let name = in_driver(raw.name(), || "read the device's name".to_owned())?;
        let living = registry.contexts.iter().filter_map(Weak::upgrade).find(|context| context.ordinal == ordinal);
        let context = match living {
            Some(context) => context,
            None => Context::new(ordinal, raw)?,
        };
        registry.remember(&context);
        let slot = Arc::new(Slot { ordinal, raw, name, context: RwLock::new(context) });
        registry.slots.push(Arc::downgrade(&slot));
        drop(registry);
        let device = Device { slot };
        crate::found(&device);
        Ok(device)
    }

    /// How many devices there are.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if the device that `RUMBA_DEVICE` asks for is missing.
    pub fn count() -> Result<u32> {
        driver::start()?;
        in_driver(crate::cuda::Device::count(), || "count the devices".to_owned())
    }

    /// The device's name, as its driver gives it.
    pub fn name(&self) -> &str {
        &self.slot.name
    }

    /// The device's number.
    pub fn ordinal(&self) -> u32 {
        self.slot.ordinal
    }

    /// The limits and the resources of the device.
    pub fn limits(&self) -> Limits {
        self.context().limits
    }

    /// Any other attribute of the device.
    ///
    /// # Errors
    /// The driver's, if it does not know the attribute.
    pub fn attribute(&self, attribute: DeviceAttribute) -> Result<i32> {
        in_driver(self.slot.raw.attribute(attribute), || format!("read the device's {attribute:?}"))
    }

    /// Bytes of memory that the device has.
    ///
    /// # Errors
    /// The driver's.
    pub fn total_memory(&self) -> Result<usize> {
        in_driver(self.slot.raw.total_memory(), || "read the size of the device's memory".to_owned())
    }

    /// Bytes of memory that are free.
    ///
    /// # Errors
    /// The driver's, or that the context is lost.
    pub fn free_memory(&self) -> Result<usize> {
        Ok(self.memory_info()?.free)
    }

    /// How much of the device's memory is free, and how much there is: Numba's `get_memory_info`.
    ///
    /// ```
    /// let device = rumba::Device::new()?;
    /// let before = device.memory_info()?;
    /// let buffer = device.zeros::<u8>(64 << 20)?;
    /// assert!(device.memory_info()?.free < before.free);
    /// # drop(buffer);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver's, or that the context is lost.
    pub fn memory_info(&self) -> Result<MemoryInfo> {
        let context = self.context();
        let operation = || "read how much memory is free".to_owned();
        let entered = context.enter(operation)?;
        let (free, total) = entered.check(cuda::memory(), operation)?;
        Ok(MemoryInfo { free, total })
    }

    /// Loads PTX text that `cuda_builder` wrote. Errors call it "the PTX text"; [`Device::load_named`] gives it a name.
    ///
    /// Its last line has a hash of the text, so that a text of another origin, or one that was changed or cut since, is
    /// refused. When a kernel is first launched, its launcher is compared with what the compilation for the device wrote
    /// into the text: what the parameters are and how their elements lie in memory. So safe launchers are safe. The hash is
    /// against accidents: a program that makes such a text by other means answers for it as for [`Device::load_unchecked`].
    ///
    /// Where kernels state architectures, `#[kernel(arch = ["sm_90a", "sm_80"])]`, there are several texts in one, and the newest
    /// that this device runs is loaded, with the newest variant of each kernel. A kernel of which the device runs none is
    /// [`crate::error::ModuleError::NoImage`] when it is first used.
    ///
    /// # Errors
    /// [`crate::error::ModuleError::ForeignPtx`] if the text is not as `cuda_builder` wrote it; other [`crate::error::ModuleError`]s with
    /// the compiler's messages, their lines and columns.
    ///
    /// # Examples
    /// ```
    /// use rumba::test_kernels::PTX;
    ///
    /// let device = rumba::Device::new()?;
    /// assert_eq!(device.load(PTX)?.kernels(), ["scale", "saxpy"]);
    ///
    /// let error = device.load(&PTX.replace("mul.f32", "div.rn.f32")).unwrap_err();
    /// assert!(error.to_string().contains("has changed"), "{error}");
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn load(&self, ptx: &str) -> Result<Module> {
        self.load_named("the PTX text", ptx)
    }

    /// Loads PTX text that `cuda_builder` wrote under a name that errors will show.
    ///
    /// # Errors
    /// As [`Device::load`].
    pub fn load_named(&self, name: &str, ptx: &str) -> Result<Module> {
        let ptx = ptx.to_owned();
        Module::from_text(self.context(), name.to_owned(), Text { ptx, sealed: true })
    }

    /// Loads a file of PTX text that `cuda_builder` wrote.
    ///
    /// # Errors
    /// As [`Device::load`], and [`crate::error::ModuleError::File`] if it cannot be read.
    pub fn load_file(&self, path: impl AsRef<Path>) -> Result<Module> {
        Module::from_file(self.context(), path.as_ref())
    }

    /// Loads PTX text of any origin under a name that errors will show: written by hand or by nvcc, or changed.
    ///
    /// # Safety
    /// A kernel that is launched from it, by a launcher that is a safe function, is what the launcher was made for: it takes
    /// these parameters in this layout, reads and writes only the memory that they refer to, and that only as the launcher's
    /// types say. Of this only the sizes of the parameters are compared.
    ///
    /// # Errors
    /// [`crate::error::ModuleError`] with the compiler's messages, their lines and columns.
    ///
    /// # Examples
    /// ```
    /// let device = rumba::Device::new()?;
    /// let ptx = ".version 7.0 .target sm_70 .address_size 64 .visible .entry nothing() { ret; }";
    /// // SAFETY: its kernel does nothing.
    /// let module = unsafe { device.load_unchecked("by hand", ptx) }?;
    /// assert_eq!(module.kernels(), ["nothing"]);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub unsafe fn load_unchecked(&self, name: &str, ptx: &str) -> Result<Module> {
        let ptx = ptx.to_owned();
        Module::from_text(self.context(), name.to_owned(), Text { ptx, sealed: false })
    }

    /// Begins to link several PTX texts to one module.
    pub fn linker(&self) -> Linker {
        Linker::new(self.context())
    }

    /// A new stream: work on it may overlap with work on other streams.
    ///
    /// # Errors
    /// The driver's.
    pub fn stream(&self) -> Result<Stream> {
        Stream::new(self.context(), None)
    }

    /// A new stream of a priority: where several streams have blocks waiting, the device starts those of the lowest number.
    /// A number outside of [`Device::stream_priorities`] becomes the nearest inside.
    ///
    /// # Errors
    /// The driver's.
    pub fn stream_with_priority(&self, priority: i32) -> Result<Stream> {
        Stream::new(self.context(), Some(priority))
    }

    /// The priorities that streams can have, from the greatest (the lowest number) to the least (0, which streams have by
    /// default).
    ///
    /// # Errors
    /// The driver's, or that the context is lost.
    ///
    /// # Examples
    /// ```
    /// let device = rumba::Device::new()?;
    /// let urgent = device.stream_with_priority(*device.stream_priorities()?.start())?;
    /// assert_eq!(urgent.priority()?, *device.stream_priorities()?.start());
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn stream_priorities(&self) -> Result<RangeInclusive<i32>> {
        let context = self.context();
        let operation = || "read the priorities of streams".to_owned();
        let entered = context.enter(operation)?;
        let (least, greatest) = entered.check(cuda::stream_priorities(), operation)?;
        Ok(greatest..=least)
    }

    /// A buffer of `length` zeros in device memory.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    #[track_caller]
    pub fn zeros<T: Pod>(&self, length: usize) -> Result<DeviceBuffer<T>> {
        DeviceBuffer::zeros(self.context(), length)
    }

    /// A buffer in device memory that holds whatever the memory held.
    #[cfg(any(feature = "algorithms", feature = "linalg"))]
    #[track_caller]
    pub(crate) fn uninitialised<T: Pod>(&self, length: usize) -> Result<DeviceBuffer<T>> {
        DeviceBuffer::uninitialised(self.context(), length)
    }

    /// A buffer in device memory with a copy of `values`.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    #[track_caller]
    pub fn buffer_from<T: Pod>(&self, values: &[T]) -> Result<DeviceBuffer<T>> {
        DeviceBuffer::from_slice(self.context(), values)
    }

    /// A buffer of `length` zeros in page-locked host memory, which devices copy from and to fastest
    /// and without holding up the host.
    ///
    /// # Errors
    /// The driver's.
    pub fn pinned<T: Pod>(&self, length: usize) -> Result<PinnedBuffer<T>> {
        PinnedBuffer::zeros(self.context(), length)
    }

    /// Page-locked host memory with a copy of `values`.
    ///
    /// # Errors
    /// The driver's.
    pub fn pinned_from<T: Pod>(&self, values: &[T]) -> Result<PinnedBuffer<T>> {
        let mut pinned = self.pinned(values.len())?;
        pinned.copy_from_slice(values);
        Ok(pinned)
    }

    /// Marks this moment on the default stream; see [`Stream::record`].
    ///
    /// # Errors
    /// The driver's, or that the context is lost.
    pub fn record(&self) -> Result<Event> {
        Event::on_default_stream(self.context())
    }

    /// Waits until the device has finished all work of this context.
    ///
    /// # Errors
    /// [`Error::Fault`] if a kernel failed meanwhile, [`Error::Panic`] if a thread of one panicked.
    pub fn synchronize(&self) -> Result<()> {
        let context = self.context();
        let operation = || "wait for the device".to_owned();
        let entered = context.enter(operation)?;
        let waited = recording::on_host("wait", cuda::synchronize);
        entered.check_wait(Waited::Device, waited, operation)
    }

    /// Destroys the context with everything in it and starts a new one. This is the way on after a
    /// kernel has failed. Modules, buffers, streams and events of the old context answer any later
    /// use with [`Error::ContextDestroyed`].
    ///
    /// # Errors
    /// [`Error::NeedsRestart`] after a kernel's failure if the driver keeps it until the process ends,
    /// as NVIDIA's does; [`Error::InHostFunction`]; the driver's.
    pub fn reset(&self) -> Result<()> {
        if host_fn::in_host_fn() {
            let operation = format!("reset device {}", self.ordinal());
            return Err(Error::InHostFunction { operation });
        }
        let mut context = self.slot.context.write();
        let destroyed = context.destroy(self.slot.raw);
        *context = Context::new(self.slot.ordinal, self.slot.raw)?;
        REGISTRY.lock().remember(&context);
        destroyed
    }

    /// False once a kernel has failed, until [`Device::reset`].
    pub fn is_usable(&self) -> bool {
        self.context().is_usable()
    }

    /// The device of a checked run, which the driver does not count. Its context is not shared.
    pub(crate) fn checked(ordinal: u32) -> Result<Device> {
        let raw = in_driver(crate::cuda::Device::get(ordinal), || "get the device of a checked run".to_owned())?;
        let name = in_driver(raw.name(), || "read the device's name".to_owned())?;
        let context = RwLock::new(Context::new(ordinal, raw)?);
        let slot = Arc::new(Slot { ordinal, raw, name, context });
        Ok(Device { slot })
    }

    /// Makes this the device that the calling thread gets whenever it asks for one, until the result is dropped.
    pub(crate) fn for_this_thread(&self) -> impl Drop + use<> {
        CHECKED.set(Some(self.clone()));
        NoLongerChecked
    }

    /// Destroys the context with everything in it. Remaining handles then return [`Error::ContextDestroyed`].
    pub(crate) fn end(self) {
        // An error is the fault of a kernel, which is reported already.
        let _ = self.slot.context.read().destroy(self.slot.raw);
    }

    pub(crate) fn raw(&self) -> crate::cuda::Device {
        self.slot.raw
    }

    pub(crate) fn context(&self) -> Arc<Context> {
        self.slot.context.read().clone()
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device").field("ordinal", &self.slot.ordinal).field("name", &self.slot.name).finish()
    }
}

fn in_driver<T>(result: Result<T, Code>, operation: impl FnOnce() -> String) -> Result<T> {
    result.map_err(|error| DriverError::new(operation(), error).into())
}
