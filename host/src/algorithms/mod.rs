//! Algorithms on whole slices: reduce, scan, sort, histogram, transpose, random numbers. Each takes one line, and is as
//! fast as NVIDIA's CUB. The kernels are ordinary kernels of the crate `rumba-algorithms`; this module launches them.
//!
//! Not here: elementwise functions, which a kernel of three lines does, and anything over several devices.

mod data;
mod histogram;
mod operation;
mod random;
mod sort;

pub use data::{Source, Target};
pub use histogram::{Level, Value};
pub use operation::{Operation, Own};
pub use random::Real;
pub use sort::SortKey;

pub use cuda_std::algorithms::{And, Max, Min, Operator, Or, Product, Sum, Xor};

use crate::base::error::Result;
use crate::base::ptx::Pieces;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut, same_length};
use crate::devices::device::Device;
use crate::launch::config::LaunchConfig;
use crate::launch::library::{Kernels, Library, Work};
use crate::modules::module::Module;
use crate::streams::stream::Stream;
use bytemuck::Pod;
use cuda_std::algorithms::{REDUCE_BLOCK, SCAN_BLOCK, SCAN_TILE, scan_places};
use cuda_std::launch::Call;
use rumba_algorithms as kernels;
use std::sync::LazyLock;

/// The kernels, also those of the arithmetic of arrays.
pub(crate) static KERNELS: LazyLock<Pieces> = LazyLock::new(|| Pieces::new(include_str!(env!("ALGORITHMS_PTX"))));

/// The algorithms on one device: the kernels, and work memory that is kept from call to call.
///
/// Inputs and outputs are device memory ([`crate::DeviceBuffer`], or parts of one) or host slices, which are copied there
/// and back. With device memory a call puts its work on the stream and returns; those that return a number wait for it.
/// Work memory is allocated when a call first needs that much. Kernels are compiled by the driver when they are first used.
///
/// Cloning gives another handle to the same kernels and memory. Handles may be used from any thread.
///
/// # Examples
/// ```
/// use rumba::algorithms::{Algorithms, Max, Sum};
/// # fn main() -> rumba::Result<()> {
/// let device = rumba::Device::new()?;
/// let algorithms = Algorithms::new(&device);
///
/// let mut x = device.buffer_from(&[3.0_f32, 1.0, 2.0])?;
/// assert_eq!(algorithms.reduce(&x, Sum)?, 6.0);
/// algorithms.sort(&mut x)?;
/// assert_eq!(x.to_vec()?, [1.0, 2.0, 3.0]);
///
/// // Host slices serve as well.
/// let mut sums = [0; 4];
/// algorithms.inclusive_scan(&[1, 2, 3, 4], Sum, &mut sums)?;
/// assert_eq!(sums, [1, 3, 6, 10]);
/// assert_eq!(algorithms.reduce(&sums, Max)?, 10);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Algorithms {
    library: Library,
}

impl Algorithms {
    /// The algorithms on a device. Nothing is loaded or allocated yet.
    pub fn new(device: &Device) -> Algorithms {
        let kernels = Kernels { name: "the algorithms", texts: &KERNELS };
        Algorithms { library: Library::new(device, kernels) }
    }

    /// The algorithms on another stream instead of the default stream.
    ///
    /// ```
    /// # use rumba::algorithms::{Algorithms, Sum};
    /// # fn main() -> rumba::Result<()> {
    /// # let device = rumba::Device::new()?;
    /// # let algorithms = Algorithms::new(&device);
    /// let stream = device.stream()?;
    /// let mut keys = device.buffer_from(&[2_u32, 3, 1])?;
    /// algorithms.on(&stream).sort(&mut keys)?;
    /// assert_eq!(keys.to_vec()?, [1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn on(&self, stream: &Stream) -> Algorithms {
        Algorithms { library: self.library.on(stream) }
    }

    /// Combines all elements: their sum, product, smallest, largest, or by an operator of one's own ([`Own`]).
    ///
    /// The order of the elements may change, and depends on nothing but their number and the device: floats give the same
    /// bits each time. Of no elements the result is the one that changes nothing, such as 0 for a sum.
    ///
    /// # Errors
    /// [`crate::Error::OutOfMemory`] and the driver's.
    pub fn reduce<'a, T: Pod, O: Operation<T>>(&self, x: impl Source<'a, T>, operation: O) -> Result<T> {
        x.on_device(self.device(), |x| {
            let mut words = self.library.work(size_of::<T>() / 4)?;
            let mut result = words.slice();
            self.reduce_on_device(x, &operation, result.reborrow())?;
            let mut value = T::zeroed();
            result.as_slice().copy_to(bytemuck::cast_slice_mut(std::slice::from_mut(&mut value)))?;
            Ok(if x.is_empty() { operation.of_nothing() } else { value })
        })
    }

    /// [`Algorithms::reduce`] with the result in device memory, so that nothing waits for it.
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] unless `result` has one element; [`crate::Error::OutOfMemory`] and the driver's.
    ///
    /// # Examples
    /// ```
    /// # use rumba::algorithms::{Algorithms, Sum};
    /// # fn main() -> rumba::Result<()> {
    /// # let device = rumba::Device::new()?;
    /// # let algorithms = Algorithms::new(&device);
    /// let x = device.buffer_from(&[1_u64; 1000])?;
    /// let mut sums = device.zeros(2)?;
    /// algorithms.reduce_into(&x, Sum, sums.slice_mut(1..))?;
    /// assert_eq!(sums.to_vec()?, [0, 1000]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn reduce_into<'a, 'b, T: Pod, O: Operation<T>>(
        &self,
        x: impl Source<'a, T>,
        operation: O,
        result: impl Target<'b, T>,
    ) -> Result<()> {
        result.on_device(self.device(), |mut result| {
            same_length("reduce to one element", 1, result.len())?;
            x.on_device(self.device(), |x| match x.is_empty() {
                true => result.copy_from(&[operation.of_nothing()]),
                false => self.reduce_on_device(x, &operation, result.reborrow().cast()),
            })
        })
    }

    fn reduce_on_device<T: Pod, O: Operation<T>>(
        &self,
        x: DeviceSlice<'_, T>,
        operation: &O,
        result: DeviceSliceMut<'_, u32>,
    ) -> Result<()> {
        if x.is_empty() {
            return Ok(());
        }
        let words = size_of::<T>() / 4;
        // A view that is not aligned to vectors may have one less.
        let vectors = (x.len() * words / 4).saturating_sub(1);
        let mut work = self.library.work(1 + self.most_blocks(REDUCE_BLOCK) * words)?;
        self.clear(work.slice().slice_mut(..1))?;
        let call = operation.reduce(x, work.slice(), result);
        let full = self.full_grid(operation.module(), &call, REDUCE_BLOCK, 0)?;
        let blocks = vectors.div_ceil(REDUCE_BLOCK).clamp(1, full);
        self.launch_from(operation.module(), self.config(blocks, REDUCE_BLOCK), call)
    }

    /// The combination of each element of `x` with all before it: `y[i]` is that of `x[0]` to `x[i]`. The order is kept, so
    /// the operator need not be commutative.
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] unless both are as long; [`crate::Error::OutOfMemory`] and the driver's.
    pub fn inclusive_scan<'a, 'b, T: Pod, O: Operation<T>>(
        &self,
        x: impl Source<'a, T>,
        operation: O,
        y: impl Target<'b, T>,
    ) -> Result<()> {
        self.scan(x, operation, None, y)
    }

    /// The combination of `initial` and all elements of `x` before each: `y[i]` is that of `initial` and `x[0]` to
    /// `x[i - 1]`.
    ///
    /// # Errors
    /// As [`Algorithms::inclusive_scan`].
    ///
    /// # Examples
    /// ```
    /// # use rumba::algorithms::{Algorithms, Sum};
    /// # fn main() -> rumba::Result<()> {
    /// # let algorithms = Algorithms::new(&rumba::Device::new()?);
    /// // Where the rows of a sparse matrix start.
    /// let mut starts = [0_u32; 4];
    /// algorithms.exclusive_scan(&[5, 0, 2, 7], Sum, 0, &mut starts)?;
    /// assert_eq!(starts, [0, 5, 5, 7]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn exclusive_scan<'a, 'b, T: Pod, O: Operation<T>>(
        &self,
        x: impl Source<'a, T>,
        operation: O,
        initial: T,
        y: impl Target<'b, T>,
    ) -> Result<()> {
        self.scan(x, operation, Some(initial), y)
    }

    fn scan<'a, 'b, T: Pod, O: Operation<T>>(
        &self,
        x: impl Source<'a, T>,
        operation: O,
        initial: Option<T>,
        y: impl Target<'b, T>,
    ) -> Result<()> {
        y.on_device(self.device(), |y| {
            x.on_device(self.device(), |x| {
                same_length("scan", x.len(), y.len())?;
                if x.is_empty() {
                    return Ok(());
                }
                let blocks = x.len().div_ceil(SCAN_TILE * 16 / size_of::<T>());
                let mut work = self.cleared(2 * scan_places(blocks) * (size_of::<T>() / 4))?;
                let published = work.slice().cast::<u64>();
                let (from, is_exclusive) = (initial.unwrap_or_else(|| operation.of_nothing()), initial.is_some());
                let call = operation.scan(x, from, is_exclusive, y, published);
                self.launch_from(operation.module(), self.config(blocks, SCAN_BLOCK), call)
            })
        })
    }

    /// The transpose of a matrix of `rows` by `columns`, row by row: `output[c * rows + r]` is `input[r * columns + c]`.
    ///
    /// Elements have 4 or 8 bytes.
    ///
    /// # Errors
    /// [`crate::Error::LengthMismatch`] unless both have `rows * columns` elements; [`crate::Error::OutOfMemory`] and the driver's.
    ///
    /// # Examples
    /// ```
    /// # use rumba::algorithms::Algorithms;
    /// # fn main() -> rumba::Result<()> {
    /// # let algorithms = Algorithms::new(&rumba::Device::new()?);
    /// let mut output = [0; 6];
    /// algorithms.transpose(&[1, 2, 3, 4, 5, 6], [2, 3], &mut output)?;
    /// assert_eq!(output, [1, 4, 2, 5, 3, 6]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transpose<'a, 'b, T: Pod>(
        &self,
        input: impl Source<'a, T>,
        [rows, columns]: [usize; 2],
        output: impl Target<'b, T>,
    ) -> Result<()> {
        const { assert!(size_of::<T>() == 4 || size_of::<T>() == 8, "elements of 4 or 8 bytes") };
        output.on_device(self.device(), |output| {
            input.on_device(self.device(), |input| {
                let elements = rows.saturating_mul(columns);
                same_length("transpose", input.len(), elements)?;
                same_length("transpose", elements, output.len())?;
                if input.is_empty() {
                    return Ok(());
                }
                let shape = [columns, rows];
                let call = match size_of::<T>() {
                    4 => kernels::transpose::transpose::<u32>(input.cast::<u32>(), (output.cast::<u32>(), shape)),
                    _ => kernels::transpose::transpose::<u64>(input.cast::<u64>(), (output.cast::<u64>(), shape)),
                };
                let tiles =
                    |length: usize| u32::try_from(length.div_ceil(kernels::transpose::TILE)).unwrap_or(u32::MAX);
                let config = LaunchConfig::new((tiles(columns), tiles(rows)), kernels::transpose::BLOCK);
                self.launch(config, call)
            })
        })
    }

    /// Gives the work memory back to the device; it is allocated again when it is needed.
    pub fn release_memory(&self) {
        self.library.release_memory();
    }
}

/// Helpers that the algorithms' files share.
impl Algorithms {
    fn device(&self) -> &Device {
        self.library.device()
    }

    /// Blocks of so many threads that are on the device at a time at most, whatever the kernel.
    fn most_blocks(&self, threads: usize) -> usize {
        let limits = self.device().limits();
        limits.multiprocessors_at_once as usize * (limits.threads_per_multiprocessor as usize / threads).max(1)
    }

    /// See [`Library::full_grid`].
    fn full_grid(&self, own: Option<&Module>, call: &Call<'_>, threads: usize, shared: usize) -> Result<usize> {
        self.library.full_grid(own, call, threads, shared)
    }

    /// A 1-D launch.
    fn config(&self, blocks: usize, threads: usize) -> LaunchConfig<'static> {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        LaunchConfig::new(number(blocks), number(threads))
    }

    /// Launches a kernel of the library on the handle's stream.
    fn launch<'s>(&'s self, config: LaunchConfig<'s>, call: Call<'_>) -> Result<()> {
        self.library.launch(None, config, call)
    }

    /// Launches a kernel of an operator's own module, or else of the library.
    fn launch_from<'s>(&'s self, own: Option<&Module>, config: LaunchConfig<'s>, call: Call<'_>) -> Result<()> {
        self.library.launch(own, config, call)
    }

    /// Work memory of zeros.
    fn cleared(&self, words: usize) -> Result<Work<'_>> {
        let mut work = self.library.work(words)?;
        self.clear(work.slice())?;
        Ok(work)
    }

    /// Sets words to zero, by a kernel: other than the driver's function it stays on the stream.
    fn clear(&self, words: DeviceSliceMut<'_, u32>) -> Result<()> {
        self.launch(LaunchConfig::for_each(words.len()), kernels::clear(words))
    }
}

#[cfg(test)]
mod tests {
    use super::{Algorithms, Device, Max, Sum};

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
            algorithms.library.spare()
        };
        let first = all();
        for _ in 0..3 {
            assert_eq!(all(), first);
        }
        algorithms.release_memory();
        assert!(algorithms.library.spare().is_empty());
    }
}
