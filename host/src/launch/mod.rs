//! Launches: from a call with bound arguments to the driver, with every check that makes a better
//! error than the driver's number.
//!
//! A launch with device memory only is put on its stream and not waited for. Host slices among the
//! arguments make it synchronous, because their results must be there when it returns.

pub(crate) mod builtin;
pub(crate) mod config;
mod dependent;
pub(crate) mod graph;
#[cfg(any(feature = "algorithms", feature = "linalg"))]
pub(crate) mod library;
mod nodes;
mod peer;
mod reach;
#[doc(hidden)]
pub mod test_kernels;
pub(crate) mod timings;

use crate::base::activity::{Launched, Operation};
use crate::base::error::{LaunchError, Result, answer};
use crate::base::{recording, warning};
use crate::buffers::allocation::{Memory, allocate};
use crate::buffers::argument::device_memory;
use crate::context::function::Function;
use crate::context::panics::{Bell, Waiting};
use crate::context::queue::Queue;
use crate::context::users::Waited;
use crate::context::{Context, Entered, same_context, staging};
use crate::cuda::sys;
use crate::modules::module::Module;
use crate::streams::event::Event;
use crate::streams::recorded::{Recorded, Step};
use config::{Extent, IntoLaunchConfig, LaunchConfig};
use cuda_std::launch::{Arguments, Call, IntoCall, Kernel};
use smallvec::SmallVec;
use std::ffi::c_void;
use std::panic::Location;
use std::time::Instant;
use timings::Timings;

impl Module {
    /// Runs a kernel for `n` elements, one thread for each (or for as many as a thread has of the kernel's outputs), in
    /// blocks of a size that suits it: Numba's `forall`. The last block may have threads beyond `n`, whose elements must be absent from the
    /// outputs or harmless to compute. With `n` of 0 nothing runs.
    ///
    /// # Errors
    /// As [`Module::launch`], and an output of one element per thread that has fewer than `n`.
    ///
    /// # Examples
    /// ```
    /// # use rumba::test_kernels::{PTX, scale};
    /// let module = rumba::Device::new()?.load(PTX)?;
    /// let mut values = vec![1.0_f32; 1000];
    /// module.for_each(values.len(), scale(3.0, &mut values))?;
    /// assert!(values.iter().all(|value| *value == 3.0));
    /// # Ok::<(), rumba::Error>(())
    /// ```
    #[track_caller]
    pub fn for_each<'c>(&self, n: usize, call: impl IntoCall<'c>) -> Result<()> {
        self.launch(LaunchConfig::for_each(n), call)
    }

    /// Runs a kernel in a grid of blocks: `LaunchConfig::new(blocks, threads)`, or just the pair; `LaunchConfig::grid(blocks)` for
    /// one that states its block.
    ///
    /// With host slices among the arguments it returns when the results are in them. Otherwise the
    /// work is put on the stream; reading a buffer waits for it, and so does `synchronize`.
    ///
    /// # Errors
    /// [`LaunchError`] for a launch that the device or the kernel does not allow, or that does not reach all elements of an
    /// [`Out`](crate::Out); where it leaves elements of another output as they are, there is a [warning](crate::warning::Warning).
    /// [`crate::error::ModuleError`] for a kernel that is not in the module, [`crate::Error::Fault`] for
    /// one that failed, [`crate::Error::Panic`] for one of whose threads one panicked.
    ///
    /// # Examples
    /// ```
    /// # use rumba::test_kernels::{PTX, scale};
    /// let device = rumba::Device::new()?;
    /// let module = device.load(PTX)?;
    /// let mut buffer = device.buffer_from(&[1.0_f32; 100])?;
    /// module.launch((4, 32), scale(2.0, &mut buffer))?;
    /// assert_eq!(buffer.to_vec()?, [2.0; 100]);
    /// # Ok::<(), rumba::Error>(())
    /// ```
    #[track_caller]
    pub fn launch<'s, 'c>(&self, config: impl IntoLaunchConfig<'s>, call: impl IntoCall<'c>) -> Result<()> {
        self.run(&config.into_launch_config(), &mut call.into_call(), None)
    }

    /// As [`Module::for_each`], but waits for the kernel and says where the time went.
    ///
    /// # Errors
    /// As [`Module::for_each`].
    #[track_caller]
    pub fn for_each_timed<'c>(&self, n: usize, call: impl IntoCall<'c>) -> Result<Timings> {
        self.launch_timed(LaunchConfig::for_each(n), call)
    }

    /// As [`Module::launch`], but waits for the kernel and says where the time went.
    ///
    /// # Errors
    /// As [`Module::launch`].
    #[track_caller]
    pub fn launch_timed<'s, 'c>(&self, config: impl IntoLaunchConfig<'s>, call: impl IntoCall<'c>) -> Result<Timings> {
        let mut timings = Timings::default();
        self.run(&config.into_launch_config(), &mut call.into_call(), Some(&mut timings))?;
        Ok(timings)
    }

    #[track_caller]
    fn run(&self, config: &LaunchConfig<'_>, call: &mut Call<'_>, timings: Option<&mut Timings>) -> Result<()> {
        let kernel = call.kernel();
        let entered = self.enter(kernel.name)?;
        let function = self.function(&entered, kernel, call.arguments().parameters())?;
        let stated = match config.shared {
            0 => kernel.contract.dynamic_shared,
            bytes => bytes,
        };
        let shared = u32::try_from(call.arguments().shared_bytes()).map_or(u32::MAX, |needed| stated.max(needed));
        let Some((grid, block)) = self.shape(config, call, function)? else {
            return Ok(());
        };
        check_device(kernel, function, entered.context, grid.unwrap_or([1; 3]), block, shared)?;
        let grid = match grid {
            Some(grid) => grid,
            None => {
                let blocks = self.blocks_at_once(&entered, kernel, function, block, shared)?;
                let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
                [blocks.clamp(1, self.context().limits.grid[0]), 1, 1]
            }
        };
        call.check(grid, block, shared).map_err(LaunchError::Contract)?;
        for output in call.unreached(grid, block) {
            self.unreached(kernel, function, config, (grid, block), output, Location::caller())?;
        }
        check_kernel(kernel, function, entered.context, grid, block)?;
        function.allow_shared(&entered, shared)?;
        if kernel.contract.cooperative {
            let limit = self.blocks_at_once(&entered, kernel, function, block, shared)?;
            let blocks = grid.iter().map(|&blocks| u64::from(blocks)).product();
            if blocks > limit {
                let (kernel, device) = (kernel.name, entered.context.label.clone());
                let error = LaunchError::CooperativeGrid { kernel, device, blocks, limit };
                return Err(error.into());
            }
        }
        let is_recorded = config.stream.is_some_and(|stream| stream.records().is_some());
        for (memory, _) in device_memory(call.arguments()) {
            if is_recorded || !memory.is_for_peers() || !self.context().reaches(&memory.context) {
                same_context(self.context(), &memory.context, || {
                    memory.operation(&format!("launch `{}` with", kernel.name))
                })?;
            }
        }
        let dependent = config.dependent || kernel.contract.dependent;
        let queue = match config.stream {
            None => {
                if timings.is_none() {
                    entered.not_captured(|| format!("launch `{}`", kernel.name))?;
                }
                &self.context().queues.default
            }
            Some(stream) => {
                let operation = || format!("launch `{}` on a stream", kernel.name);
                stream.belongs_to(self.context(), operation)?;
                if let Some(recording) = stream.records().filter(|_| timings.is_none()) {
                    let function = function.raw.raw();
                    let step = Step::new(kernel, self, function, (grid, block, shared), dependent, call.arguments())?;
                    return recording.add(Recorded::Launch(step));
                }
                stream.queue(operation)?
            }
        };
        let launch =
            Launch { kernel, function, entered: &entered, queue, bell: self.bell(), grid, block, shared, dependent };
        // SAFETY: nothing is bound, and the memory for each transfer is taken for this launch.
        let arguments = unsafe { call.arguments_mut() };
        if arguments.transfers().is_empty() && timings.is_none() {
            return launch.enqueue(arguments);
        }
        launch.finish(self, arguments, timings)
    }

    /// Grid and block of a launch; no grid is one of as many blocks as run at once. None: there is nothing to do.
    fn shape(&self, config: &LaunchConfig<'_>, call: &Call<'_>, function: &Function) -> Result<Option<Shape>> {
        let kernel = call.kernel();
        let stated = config.block.or(kernel.contract.block);
        let block = || stated.ok_or(LaunchError::NoBlock { kernel: kernel.name });
        let n = match config.extent {
            Extent::Blocks(grid) => return Ok(Some((Some(grid), block()?))),
            Extent::Threads(threads) => {
                let block = block()?;
                // An empty block is refused below.
                let grid = [0, 1, 2].map(|axis| threads[axis].div_ceil(block[axis].max(1)));
                return Ok(Some((Some(grid), block)));
            }
            Extent::AtOnce => return Ok(Some((None, block()?))),
            Extent::Elements(n) => n,
        };
        call.check_for_each(n).map_err(LaunchError::Contract)?;
        // 256 threads keep every current GPU busy unless the kernel is short of registers, and leave
        // little idle at the end.
        const THREADS: u32 = 256;
        let room = kernel.max_block.map_or(THREADS, |[x, ..]| x);
        let block = stated.unwrap_or([THREADS.min(function.info.threads_per_block).min(room).max(1), 1, 1]);
        let threads = n.div_ceil(kernel.elements as usize);
        let cluster = kernel.contract.cluster.map_or(1, |[x, ..]| x as usize);
        let blocks = threads.div_ceil(block[0].max(1) as usize).next_multiple_of(cluster);
        let blocks = u32::try_from(blocks).map_err(|_| too_many_blocks(kernel, self.context(), 0, blocks as u64))?;
        Ok((blocks > 0).then_some((Some([blocks, 1, 1]), block)))
    }

    /// How many blocks the device runs at the same time, of a size that [`check_device`] has accepted.
    fn blocks_at_once(
        &self,
        entered: &Entered<'_>,
        kernel: &Kernel,
        function: &Function,
        block: [u32; 3],
        shared: u32,
    ) -> Result<u64> {
        function.allow_shared(entered, shared)?;
        let threads = block.into_iter().fold(1, u32::saturating_mul);
        // SAFETY: the function is one of this module's.
        let each = unsafe { function.raw.blocks_per_multiprocessor(threads, shared as usize) };
        let each = entered.check(each, || format!("ask how many blocks of `{}` fit", kernel.name))?;
        Ok(u64::from(each) * u64::from(self.context().limits.multiprocessors))
    }
}

/// Grid, if it is stated, and block of a launch.
type Shape = (Option<[u32; 3]>, [u32; 3]);

/// Checks limits of the device that the driver would report with a mere number.
fn check_device(
    kernel: &'static Kernel,
    function: &Function,
    context: &Context,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic: u32,
) -> Result<(), LaunchError> {
    let (launched, limits) = (kernel, &context.limits);
    let kernel = launched.name;
    let device = || context.label.clone();
    if grid.contains(&0) {
        return Err(LaunchError::EmptyGrid { kernel, grid });
    }
    if block.contains(&0) {
        return Err(LaunchError::EmptyBlock { kernel, block });
    }
    let threads = block.iter().fold(1_u64, |product, &length| product.saturating_mul(u64::from(length)));
    if threads > u64::from(limits.threads_per_block) {
        return Err(LaunchError::BlockTooLarge {
            kernel,
            device: device(),
            grid,
            block,
            threads,
            limit: limits.threads_per_block,
        });
    }
    for (index, axis) in AXES.into_iter().enumerate() {
        if block[index] > limits.block[index] {
            return Err(LaunchError::BlockDimension {
                kernel,
                device: device(),
                axis,
                value: block[index],
                limit: limits.block[index],
            });
        }
        if grid[index] > limits.grid[index] {
            return Err(too_many_blocks(launched, context, index, u64::from(grid[index])));
        }
    }
    let declared = function.info.shared_memory;
    if u64::from(declared) + u64::from(dynamic) > u64::from(limits.shared_memory_optin) {
        return Err(LaunchError::SharedMemory {
            kernel,
            device: device(),
            declared,
            dynamic,
            limit: limits.shared_memory_optin,
        });
    }
    Ok(())
}

const AXES: [char; 3] = ['x', 'y', 'z'];

fn too_many_blocks(kernel: &'static Kernel, context: &Context, axis: usize, blocks: u64) -> LaunchError {
    LaunchError::GridDimension {
        kernel: kernel.name,
        device: context.label.clone(),
        axis: AXES[axis],
        value: blocks,
        limit: context.limits.grid[axis],
    }
}

/// The limit that follows from what the driver's compiler made of the kernel.
fn check_kernel(
    kernel: &'static Kernel,
    function: &Function,
    context: &Context,
    grid: [u32; 3],
    block: [u32; 3],
) -> Result<(), LaunchError> {
    let threads = block.iter().map(|&length| u64::from(length)).product();
    let (limit, registers) = (function.info.threads_per_block, function.info.registers);
    if threads > u64::from(limit) {
        let kernel = kernel.name;
        return Err(LaunchError::BlockTooLargeForKernel {
            kernel,
            device: context.label.clone(),
            grid,
            block,
            threads,
            limit,
            registers,
        });
    }
    Ok(())
}

/// A launch that has passed the checks.
struct Launch<'l> {
    kernel: &'static Kernel,
    function: &'l Function,
    entered: &'l Entered<'l>,
    queue: &'l Queue,
    bell: Option<&'l Bell>,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    dependent: bool,
}

impl Launch<'_> {
    /// Puts the kernel on its stream.
    fn enqueue(&self, arguments: &mut Arguments<'_>) -> Result<()> {
        if device_memory(arguments).any(|(memory, _)| memory.context.id != self.entered.context.id) {
            return peer::enqueue(self, arguments);
        }
        let mut order = self.entered.context.queues.order.lock();
        for (memory, access) in device_memory(arguments) {
            self.queue.next_to_use(&memory.uses, &access, &mut order, self.entered)?;
        }
        self.put(arguments)
    }

    /// Puts the kernel on its stream, whose order with other uses of the memory is noted.
    fn put(&self, arguments: &mut Arguments<'_>) -> Result<()> {
        let context = self.entered.context;
        context.launching(self.kernel);
        if let Some(bell) = self.bell {
            bell.launch(self.queue.id());
        }
        let ([grid_x, grid_y, grid_z], [x, y, z], shared) = (self.grid, self.block, self.shared);
        let (function, stream) = (self.function.raw.raw(), self.queue.raw.raw());
        let mut pointers: SmallVec<[*mut c_void; 24]> = arguments.pointers().collect();
        let launch = || {
            let (all, extra) = (pointers.as_mut_ptr(), std::ptr::null_mut());
            if self.kernel.contract.cooperative {
                // SAFETY: as below.
                answer(unsafe {
                    sys::cuLaunchCooperativeKernel(function, grid_x, grid_y, grid_z, x, y, z, shared, stream, all)
                })
            } else if self.dependent {
                // SAFETY: as below; the configuration or the kernel says that it waits itself.
                unsafe { dependent::launch(function, (self.grid, self.block, shared), stream, &mut pointers) }
            } else {
                // SAFETY: the pointers lead to the parameters, which outlive the call, in number and size as
                // the kernel declares them, as far as its PTX could be read; device memory among them is
                // borrowed by the arguments and is freed only after the work on its stream.
                answer(unsafe {
                    sys::cuLaunchKernel(function, grid_x, grid_y, grid_z, x, y, z, shared, stream, all, extra)
                })
            }
        };
        let launched = recording::on_stream(Some(&self.queue.raw), || self.described(), launch);
        self.entered.check(launched, || format!("launch `{}`", self.kernel.name))
    }

    /// The description of the launch in a profile.
    fn described(&self) -> Operation {
        Operation::Kernel(Box::new(Launched {
            kernel: self.kernel.name,
            grid: self.grid,
            block: self.block,
            dynamic_shared: self.shared,
            info: self.function.info,
        }))
    }

    /// Copies host memory in, runs the kernel, waits, and copies host memory out.
    #[track_caller]
    fn finish(&self, module: &Module, arguments: &mut Arguments<'_>, timings: Option<&mut Timings>) -> Result<()> {
        let start = Instant::now();
        let mut staging = self.copy_in(arguments)?;
        let copied_in = Instant::now();

        staging.in_use = true;
        let waiting = module.bell().map(Bell::wait);
        let mut kernel_time = None;
        if timings.is_some() {
            let before = Event::on(module.context(), self.queue)?;
            self.enqueue(arguments)?;
            let after = Event::on(module.context(), self.queue)?;
            self.wait(waiting.as_ref())?;
            kernel_time = Some(after.since(&before)?);
        } else {
            self.enqueue(arguments)?;
            self.wait(waiting.as_ref())?;
        }
        drop(waiting);

        staging.in_use = false;
        let computed = Instant::now();
        for (transfer, block) in arguments.transfers_mut().iter_mut().zip(&staging.blocks) {
            if let Some(destination) = transfer.host.destination() {
                // SAFETY: the block was made for this transfer, by `copy_in`.
                let copied = unsafe { staging::copy_out(self.entered, block.address, destination) };
                self.entered.check(copied, || self.copying("results of"))?;
            }
        }
        if let (Some(timings), Some(kernel)) = (timings, kernel_time) {
            *timings = Timings { copy_in: copied_in - start, kernel, copy_out: computed.elapsed() };
        }
        Ok(())
    }

    fn wait(&self, own: Option<&Waiting<'_>>) -> Result<()> {
        let waited = recording::on_host("wait", || self.queue.raw.synchronize());
        let waited = self
            .entered
            .check_wait_of(own, Waited::on(self.queue.id()), waited, || format!("run `{}`", self.kernel.name));
        waited.map_err(|error| error.in_kernel(self.kernel.name))
    }

    #[track_caller]
    fn copy_in(&self, arguments: &mut Arguments<'_>) -> Result<Staging<'_>> {
        let mut staging = Staging { entered: self.entered, queue: self.queue, in_use: false, blocks: SmallVec::new() };
        let pieces = arguments.transfers().iter().map(|transfer| transfer.host.place());
        warning::copied(Location::caller(), self.kernel.name, pieces);
        for index in 0..arguments.transfers().len() {
            let transfer = &arguments.transfers()[index];
            let bytes = transfer.host.bytes();
            let address = staging.add(bytes, transfer.align, || self.copying("arguments of"))?;
            if let Some(source) = transfer.host.source() {
                // SAFETY: the memory was just taken, for so many bytes.
                let copied = unsafe { staging::copy_in(self.entered, address, source) };
                self.entered.check(copied, || self.copying("arguments of"))?;
            }
            let word = transfer.word;
            arguments.set_address(word, address);
        }
        Ok(staging)
    }

    fn copying(&self, what: &str) -> String {
        format!("copy the {what} `{}`", self.kernel.name)
    }
}

/// Device memory for the host slices of one launch, given back to the pool at the end.
struct Staging<'e> {
    entered: &'e Entered<'e>,
    queue: &'e Queue,
    /// A kernel may be using it.
    in_use: bool,
    /// In the order of the transfers.
    blocks: SmallVec<[Block; 8]>,
}

/// Device memory of the pool, for one transfer.
struct Block {
    /// 0: it has none.
    bytes: usize,
    start: u64,
    /// The elements' address in it.
    address: u64,
}

impl Staging<'_> {
    /// Memory for so many bytes at a multiple of `align`, a power of two.
    #[track_caller]
    fn add(&mut self, bytes: usize, align: usize, operation: impl Fn() -> String) -> Result<u64> {
        // Alignment beyond an allocation's own is found within a longer allocation.
        let slack = align.saturating_sub(Memory::ALIGNMENT);
        let bytes = if bytes == 0 { 0 } else { bytes.saturating_add(slack) };
        let start = if bytes == 0 {
            Memory::ALIGNMENT as u64
        } else {
            let kept = self.entered.context.pool.lock().take(bytes);
            match kept {
                Some(address) => address,
                None => allocate(self.entered, bytes, operation)?,
            }
        };
        let address = start.next_multiple_of(align as u64);
        self.blocks.push(Block { bytes, start, address });
        Ok(address)
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        if self.in_use {
            // Something failed between the launch and the wait.
            self.entered.settle(self.queue);
        }
        let mut pool = self.entered.context.pool.lock();
        for block in self.blocks.iter().filter(|block| block.bytes > 0) {
            // SAFETY: `add` took the block from the pool or allocated it; its work is done or was settled.
            unsafe { pool.give(block.bytes, block.start) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Staging;
    use crate::buffers::allocation::Memory;
    use crate::devices::device::Device;
    use smallvec::SmallVec;

    #[test]
    fn host_memory_of_a_launch_is_aligned_on_the_device_as_its_elements_must_be() {
        let device = Device::new().unwrap();
        let context = device.context();
        let entered = context.enter(String::new).unwrap();
        let mut staging =
            Staging { entered: &entered, queue: &context.queues.default, in_use: false, blocks: SmallVec::new() };
        for align in [1, 16, Memory::ALIGNMENT, 512, 4096, 1 << 16] {
            for bytes in [0, 1, 100, 4096] {
                let address = staging.add(bytes, align, String::new).unwrap();
                assert!(address > 0 && address.is_multiple_of(align as u64), "{bytes} {align}");
                let block = staging.blocks.last().unwrap();
                let end = block.start + block.bytes as u64;
                assert!(bytes == 0 || block.start <= address && address + bytes as u64 <= end);
                assert!(align > Memory::ALIGNMENT || block.bytes == bytes, "no byte more than asked for");
            }
        }
    }
}
