//! Libraries of kernels that the runtime launches itself, such as the algorithms: what their handles share from call to call.
//!
//! Kernels are loaded one by one, so that a program waits for the driver's compiler only for the kernels it uses. This
//! module does not know the purpose of the kernels.

use crate::base::append::AppendMap;
use crate::base::error::Result;
use crate::base::ptx::Pieces;
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::view::DeviceSliceMut;
use crate::devices::device::Device;
use crate::launch::config::LaunchConfig;
use crate::modules::module::Module;
use crate::streams::stream::Stream;
use cuda_std::launch::Call;
use parking_lot::Mutex;
use std::fmt;
use std::sync::{Arc, LazyLock};
#[cfg(feature = "linalg")]
use std::time::Duration;

/// Buffers that are kept at most.
const SPARE: usize = 8;

/// The kernels of a library, and what it is called in errors.
#[derive(Clone, Copy)]
pub(crate) struct Kernels {
    pub(crate) name: &'static str,
    pub(crate) texts: &'static LazyLock<Pieces>,
}

/// How a caller launches a library's kernel: on a stream, or while it measures.
#[cfg(feature = "linalg")]
pub(crate) type Launch<'l> = dyn FnMut(&Library, LaunchConfig<'_>, Call<'_>) -> Result<()> + 'l;

/// A handle to a library on a device, and the stream that it launches on. Clones share kernels and work memory.
#[derive(Clone, Debug)]
pub(crate) struct Library {
    kept: Arc<Kept>,
    stream: Option<Stream>,
}

/// The state that all handles share.
struct Kept {
    device: Device,
    kernels: Kernels,
    modules: AppendMap<&'static str, Module>,
    /// Work memory that is free. Work on the device that still uses it is ordered before the next user, by the buffer.
    spare: Mutex<Vec<DeviceBuffer<u32>>>,
}

/// Work memory of a call, which goes back to the library when it is dropped.
pub(crate) struct Work<'l> {
    library: &'l Kept,
    buffer: Option<DeviceBuffer<u32>>,
    words: usize,
}

impl Library {
    /// The library on a device. Nothing is loaded or allocated yet.
    pub(crate) fn new(device: &Device, kernels: Kernels) -> Library {
        let kept = Kept { device: device.clone(), kernels, modules: AppendMap::default(), spare: Mutex::default() };
        Library { kept: Arc::new(kept), stream: None }
    }

    /// The library on another stream instead of the default stream.
    pub(crate) fn on(&self, stream: &Stream) -> Library {
        Library { kept: self.kept.clone(), stream: Some(stream.clone()) }
    }

    pub(crate) fn device(&self) -> &Device {
        &self.kept.device
    }

    /// The module of a kernel: the caller's own, or one with this kernel alone.
    pub(crate) fn module_of(&self, own: Option<&Module>, kernel: &'static str) -> Result<Module> {
        if let Some(module) = own {
            return Ok(module.clone());
        }
        let Kept { device, kernels, modules, .. } = &*self.kept;
        if let Some(module) = modules.get(kernel) {
            return Ok(module.clone());
        }
        let text = kernels.texts.only(kernel, device.limits().compute_capability)?;
        let module = device.load_named(kernels.name, &text)?;
        Ok(modules.insert(kernel, module).clone())
    }

    /// Work memory of at least as many words, whatever they hold: of what is spare the smallest that is large enough.
    pub(crate) fn work(&self, words: usize) -> Result<Work<'_>> {
        let mut spare = self.kept.spare.lock();
        let fits = spare.iter().enumerate().filter(|(_, buffer)| buffer.len() >= words);
        let found = fits.min_by_key(|(_, buffer)| buffer.len()).map(|(index, _)| index);
        let buffer = match found {
            Some(index) => spare.swap_remove(index),
            None => {
                drop(spare);
                self.device().uninitialised(words.next_multiple_of(64))?
            }
        };
        Ok(Work { library: &self.kept, buffer: Some(buffer), words })
    }

    /// The addresses of the work memory that is free, in ascending order.
    #[cfg(all(test, feature = "algorithms"))]
    pub(crate) fn spare(&self) -> Vec<u64> {
        let spare = self.kept.spare.lock();
        let mut addresses: Vec<u64> = spare.iter().map(|buffer| buffer.as_device_pointer().address()).collect();
        addresses.sort_unstable();
        addresses
    }

    /// Gives the work memory back to the device.
    pub(crate) fn release_memory(&self) {
        self.kept.spare.lock().clear();
    }

    /// Blocks of so many threads, with so many bytes of dynamic shared memory, that are on the device at a time. With more,
    /// the last ones would run by themselves when the others are done.
    #[cfg(feature = "algorithms")]
    pub(crate) fn full_grid(
        &self,
        own: Option<&Module>,
        call: &Call<'_>,
        threads: usize,
        shared: usize,
    ) -> Result<usize> {
        let kernel = call.kernel().name;
        let info = self.module_of(own, kernel)?.info(kernel)?;
        let limits = self.device().limits();
        let resident = limits.occupancy(&info, threads as u32, shared as u32).blocks.max(1);
        Ok((limits.multiprocessors_at_once * resident) as usize)
    }

    /// Launches a kernel of the library, or of the caller's own module, on the handle's stream.
    pub(crate) fn launch<'s>(
        &'s self,
        own: Option<&Module>,
        config: impl Into<LaunchConfig<'s>>,
        call: Call<'_>,
    ) -> Result<()> {
        let module = self.module_of(own, call.kernel().name)?;
        module.launch(self.here(config.into()), call)
    }

    /// The same of the library's own kernels, but waits, and says how long the kernel ran.
    #[cfg(feature = "linalg")]
    pub(crate) fn launch_timed<'s>(&'s self, config: impl Into<LaunchConfig<'s>>, call: Call<'_>) -> Result<Duration> {
        let module = self.module_of(None, call.kernel().name)?;
        Ok(module.launch_timed(self.here(config.into()), call)?.kernel)
    }

    fn here<'s>(&'s self, config: LaunchConfig<'s>) -> LaunchConfig<'s> {
        match &self.stream {
            Some(stream) => config.stream(stream),
            None => config,
        }
    }

    /// Whether launches are noted for a graph instead of being carried out.
    #[cfg(feature = "linalg")]
    pub(crate) fn is_recording(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| stream.records().is_some())
    }
}

impl Work<'_> {
    /// Gives the memory back to the device instead of keeping it.
    #[cfg(feature = "linalg")]
    pub(crate) fn discard(mut self) {
        self.buffer = None;
    }

    /// The words.
    pub(crate) fn slice(&mut self) -> DeviceSliceMut<'_, u32> {
        let words = self.words;
        self.buffer.as_mut().expect("the buffer is there until the drop").slice_mut(..words)
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            let mut spare = self.library.spare.lock();
            spare.push(buffer);
            if spare.len() > SPARE {
                // The largest serve most calls.
                let smallest = spare.iter().enumerate().min_by_key(|(_, buffer)| buffer.len());
                if let Some(index) = smallest.map(|(index, _)| index) {
                    spare.swap_remove(index);
                }
            }
        }
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library")
            .field("name", &self.kernels.name)
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}
