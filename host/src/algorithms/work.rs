//! What the algorithms keep from call to call: loaded kernels and work memory.
//!
//! Kernels are loaded one by one, so that a program waits for the driver's compiler only for those it uses.

use crate::algorithms::Algorithms;
use crate::base::error::Result;
use crate::base::ptx::Pieces;
use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::view::DeviceSliceMut;
use crate::devices::device::Device;
use crate::launch::config::LaunchConfig;
use crate::modules::module::Module;
use cuda_std::launch::Call;
use elsa::sync::FrozenMap;
use parking_lot::Mutex;
use rumba_algorithms as kernels;
use std::fmt;
use std::sync::LazyLock;

/// The kernels, also those of the arithmetic of arrays.
pub(crate) static KERNELS: LazyLock<Pieces> = LazyLock::new(|| Pieces::new(include_str!(env!("ALGORITHMS_PTX"))));

/// Buffers that are kept at most.
const SPARE: usize = 8;

/// What all handles share.
pub(super) struct Library {
    device: Device,
    modules: FrozenMap<&'static str, Box<Module>>,
    /// Work memory that is free. Work on the device that still uses it is ordered before the next user, by the buffer.
    spare: Mutex<Vec<DeviceBuffer<u32>>>,
}

/// Work memory of a call, which goes back to the library when it is dropped.
pub(super) struct Work<'l> {
    library: &'l Library,
    buffer: Option<DeviceBuffer<u32>>,
    words: usize,
}

impl Library {
    pub(super) fn new(device: &Device) -> Library {
        Library {
            device: device.clone(),
            modules: FrozenMap::new(),
            spare: Mutex::default(),
        }
    }

    /// The module of a kernel: the operator's own, or one with this kernel alone.
    pub(super) fn module_of(&self, own: Option<&Module>, kernel: &'static str) -> Result<Module> {
        if let Some(module) = own {
            return Ok(module.clone());
        }
        if let Some(module) = self.modules.get(kernel) {
            return Ok(module.clone());
        }
        let text = KERNELS.only(kernel, self.device.limits().compute_capability)?;
        let module = self.device.load_named("the algorithms", &text)?;
        Ok(self.modules.insert(kernel, Box::new(module)).clone())
    }

    /// Work memory of at least as many words, whatever they hold: of what is spare the smallest that is large enough.
    pub(super) fn work(&self, words: usize) -> Result<Work<'_>> {
        let mut spare = self.spare.lock();
        let fits = spare.iter().enumerate().filter(|(_, buffer)| buffer.len() >= words);
        let found = fits.min_by_key(|(_, buffer)| buffer.len()).map(|(index, _)| index);
        let buffer = match found {
            Some(index) => spare.swap_remove(index),
            None => {
                drop(spare);
                self.device.uninitialised(words.next_multiple_of(64))?
            }
        };
        Ok(Work {
            library: self,
            buffer: Some(buffer),
            words,
        })
    }

    pub(super) fn release_memory(&self) {
        self.spare.lock().clear();
    }
}

impl Work<'_> {
    /// The words.
    pub(super) fn slice(&mut self) -> DeviceSliceMut<'_, u32> {
        let words = self.words;
        self.buffer
            .as_mut()
            .expect("the buffer is there until the drop")
            .slice_mut(..words)
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

/// What the algorithms' files have in common.
impl Algorithms {
    pub(super) fn device(&self) -> &Device {
        &self.library.device
    }

    /// Blocks of so many threads that are on the device at a time at most, whatever the kernel.
    pub(super) fn most_blocks(&self, threads: usize) -> usize {
        let limits = self.device().limits();
        limits.multiprocessors as usize * (limits.threads_per_multiprocessor as usize / threads).max(1)
    }

    /// Blocks of so many threads, with so many bytes of dynamic shared memory, that are on the device at a time. With more,
    /// the last ones would run by themselves when the others are done.
    pub(super) fn full_grid(
        &self,
        own: Option<&Module>,
        call: &Call<'_>,
        threads: usize,
        shared: usize,
    ) -> Result<usize> {
        let kernel = call.kernel().name;
        let info = self.library.module_of(own, kernel)?.info(kernel)?;
        let limits = self.device().limits();
        let resident = limits.occupancy(&info, threads as u32, shared as u32).blocks.max(1);
        Ok((limits.multiprocessors * resident) as usize)
    }

    /// A 1-D launch.
    pub(super) fn config(&self, blocks: usize, threads: usize) -> LaunchConfig<'static> {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        LaunchConfig::new(number(blocks), number(threads))
    }

    fn here<'s>(&'s self, config: LaunchConfig<'s>) -> LaunchConfig<'s> {
        match &self.stream {
            Some(stream) => config.stream(stream),
            None => config,
        }
    }

    /// Launches a kernel of the library on the handle's stream.
    pub(super) fn launch<'s>(&'s self, config: LaunchConfig<'s>, call: Call<'_>) -> Result<()> {
        self.launch_from(None, config, call)
    }

    /// Launches a kernel of an operator's own module, or else of the library.
    pub(super) fn launch_from<'s>(
        &'s self,
        own: Option<&Module>,
        config: LaunchConfig<'s>,
        call: Call<'_>,
    ) -> Result<()> {
        let module = self.library.module_of(own, call.kernel().name)?;
        module.launch(self.here(config), call)
    }

    /// Work memory of zeros.
    pub(super) fn cleared(&self, words: usize) -> Result<Work<'_>> {
        let mut work = self.library.work(words)?;
        self.clear(work.slice())?;
        Ok(work)
    }

    /// Sets words to zero, by a kernel: other than the driver's function it stays on the stream.
    pub(super) fn clear(&self, words: DeviceSliceMut<'_, u32>) -> Result<()> {
        self.launch(LaunchConfig::for_each(words.len()), kernels::clear(words))
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library")
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::{Algorithms, Device};
    use crate::algorithms::{Max, Sum};

    #[test]
    fn work_memory_is_allocated_once() {
        let device = Device::new().unwrap();
        let algorithms = Algorithms::new(&device);
        let mut keys = device.buffer_from(&[3_u32; 10_000]).unwrap();
        let mut sums = device.zeros(10_000).unwrap();
        let mut all = || {
            algorithms.sort(&mut keys).unwrap();
            algorithms.inclusive_scan(&keys, Sum, &mut sums).unwrap();
            assert_eq!(algorithms.reduce(&sums, Max).unwrap(), 30_000);
            let spare = algorithms.library.spare.lock();
            let mut addresses: Vec<u64> = spare
                .iter()
                .map(|buffer| buffer.as_device_pointer().address())
                .collect();
            addresses.sort_unstable();
            addresses
        };
        let first = all();
        for _ in 0..3 {
            assert_eq!(all(), first);
        }
        algorithms.release_memory();
        assert!(algorithms.library.spare.lock().is_empty());
    }
}
