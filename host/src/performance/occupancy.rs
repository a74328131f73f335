//! Occupancy: how many blocks of a kernel a multiprocessor holds at once, which of its resources sets the limit, and
//! which block size fills it best.
//!
//! The rules are those of the CUDA C++ Programming Guide, section "Hardware Multithreading", with the units of
//! allocation of NVIDIA's occupancy calculator (`cuda_occupancy.h`). Nothing here is measured, and a full multiprocessor
//! is not always a fast one: see [`crate::occupancy::Hint`] for what to make of the numbers.

use crate::base::activity::KernelInfo;
use crate::base::error::Result;
use crate::context::limits::Limits;
use crate::launch::config::Dim3;
use crate::modules::module::Module;
pub use crate::performance::hints::Hint;
use std::fmt;

/// Registers are given to warps in pieces of this many.
const REGISTER_UNIT: u32 = 256;
/// The parts of a multiprocessor, each with its own registers and warps.
const PARTITIONS: u32 = 4;

/// Something that a multiprocessor has a limited amount of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Resource {
    /// Places for warps.
    Warps,
    /// Places for blocks.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Resource::Warps => "warps",
            Resource::Blocks => "blocks",
            Resource::Registers => "registers",
            Resource::SharedMemory => "shared memory",
        })
    }
}

/// How full a kernel keeps a multiprocessor.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Occupancy {
    /// Threads of a block.
    pub threads: u32,
    /// Blocks that a multiprocessor holds at once.
    pub blocks: u32,
    /// Warps of those blocks.
    pub warps: u32,
    /// Warps that a multiprocessor has places for.
    pub max_warps: u32,
    /// How many blocks each resource would allow by itself.
    pub allowed: [(Resource, u32); 4],
}

impl Occupancy {
    /// The share of the places for warps that are taken, from 0 to 1.
    pub fn fraction(&self) -> f64 {
        f64::from(self.warps) / f64::from(self.max_warps.max(1))
    }

    /// The resources that limit the number of blocks.
    pub fn limited_by(&self) -> impl Iterator<Item = Resource> + '_ {
        let least = self.allowed.iter().map(|(_, blocks)| *blocks).min().unwrap_or(0);
        let limiting = self.allowed.iter().filter(move |(_, blocks)| *blocks == least);
        limiting.map(|(resource, _)| *resource)
    }

    /// "registers", "registers and shared memory".
    pub(crate) fn limit(&self) -> String {
        let names: Vec<String> = self.limited_by().map(|resource| resource.to_string()).collect();
        names.join(" and ")
    }
}

impl fmt::Display for Occupancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:.0} %: {} blocks of {} threads, {} of {} warps; limited by {}",
            100.0 * self.fraction(),
            self.blocks,
            self.threads,
            self.warps,
            self.max_warps,
            self.limit()
        )
    }
}

impl Limits {
    /// The occupancy calculator: how many blocks of a kernel a multiprocessor with these limits holds.
    ///
    /// Calculates without the driver, so that it also answers "what if" questions. [`Module::occupancy`] asks the
    /// driver.
    ///
    /// # Examples
    /// ```
    /// # use rumba::test_kernels::PTX;
    /// let device = rumba::Device::new()?;
    /// let mut scale = device.load(PTX)?.info("scale")?;
    /// // What if it took 128 registers?
    /// scale.registers = 128;
    /// let occupancy = device.limits().occupancy(&scale, 256, 0);
    /// assert_eq!(occupancy.limited_by().next(), Some(rumba::occupancy::Resource::Registers));
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn occupancy(&self, kernel: &KernelInfo, threads: u32, dynamic_shared: u32) -> Occupancy {
        let max_warps = self.threads_per_multiprocessor / self.warp.max(1);
        let warps = threads.div_ceil(self.warp.max(1));
        let shared = kernel.shared_memory.saturating_add(dynamic_shared);
        let fits = threads > 0
            && threads <= self.threads_per_block.min(kernel.threads_per_block)
            && shared <= self.shared_memory_optin;
        let each = |blocks: u32| if fits { blocks } else { 0 };
        let per_warp = (kernel.registers.max(1) * self.warp).next_multiple_of(REGISTER_UNIT);
        let warps_by_registers = self.registers_per_multiprocessor / PARTITIONS / per_warp * PARTITIONS;
        // Shared memory is allocated in units: 128 bytes since Ampere, 256 before.
        let unit = if self.compute_capability >= (8, 0) { 128 } else { 256 };
        let per_block = shared.saturating_add(self.reserved_shared_memory).checked_next_multiple_of(unit);
        let by_shared = match per_block {
            Some(0) => u32::MAX,
            Some(bytes) => self.shared_memory_per_multiprocessor / bytes,
            None => 0,
        };
        let allowed = [
            (Resource::Warps, each(max_warps / warps.max(1))),
            (Resource::Blocks, each(self.blocks_per_multiprocessor)),
            (Resource::Registers, each(warps_by_registers / warps.max(1))),
            (Resource::SharedMemory, each(by_shared)),
        ];
        let blocks = allowed.iter().map(|(_, blocks)| *blocks).min().unwrap_or(0);
        Occupancy { threads, blocks, warps: blocks * warps, max_warps, allowed }
    }

    /// The block size, a multiple of a warp, that fills a multiprocessor best; of several the one nearest to 256, which
    /// leaves little idle at the end of a grid. `shared` says how much dynamic shared memory a block of that size takes.
    pub(crate) fn best_block(&self, kernel: &KernelInfo, shared: impl Fn(u32) -> u32) -> Occupancy {
        const USUAL: u32 = 256;
        let most = self.threads_per_block.min(kernel.threads_per_block).max(1);
        let sizes = (1..=most.div_ceil(self.warp.max(1))).map(|warps| (warps * self.warp).min(most));
        let all = sizes.map(|threads| self.occupancy(kernel, threads, shared(threads)));
        let best = all.max_by_key(|occupancy| {
            let distance = u64::from(occupancy.threads.abs_diff(USUAL));
            (occupancy.blocks * occupancy.threads, std::cmp::Reverse(distance))
        });
        best.unwrap_or_else(|| self.occupancy(kernel, most, shared(most)))
    }
}

impl Module {
    /// How full a kernel keeps a multiprocessor of this device, in blocks of this shape with so many bytes of dynamic
    /// shared memory. The driver calculates the number of blocks, [`Limits::occupancy`] the limiting resource.
    ///
    /// # Errors
    /// [`crate::error::ModuleError::MissingKernel`] if the module lacks the kernel.
    ///
    /// # Examples
    /// ```
    /// # use rumba::test_kernels::PTX;
    /// let module = rumba::Device::new()?.load(PTX)?;
    /// let occupancy = module.occupancy("scale", 32, 0)?;
    /// // Blocks of one warp: there are places for 64 warps, but not for as many blocks.
    /// assert_eq!((occupancy.blocks, occupancy.fraction()), (32, 0.5));
    /// assert_eq!(occupancy.to_string(), "50 %: 32 blocks of 32 threads, 32 of 64 warps; limited by blocks");
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn occupancy(&self, kernel: &str, block: impl Into<Dim3>, dynamic_shared: u32) -> Result<Occupancy> {
        let [x, y, z] = block.into().0;
        let entered = self.enter(kernel)?;
        let function = self.named(&entered, kernel)?;
        let threads = x.saturating_mul(y).saturating_mul(z);
        let limits = &self.context().limits;
        let mut occupancy = limits.occupancy(&function.info, threads, dynamic_shared);
        // Where no block fits, the driver may answer with an error instead of 0.
        if occupancy.blocks > 0 {
            function.allow_shared(&entered, dynamic_shared)?;
            // SAFETY: the function is one of this module's.
            let asked = unsafe { function.raw.blocks_per_multiprocessor(threads, dynamic_shared as usize) };
            occupancy.blocks = entered.check(asked, || format!("ask how many blocks of `{kernel}` fit"))?;
            occupancy.warps = occupancy.blocks * threads.div_ceil(limits.warp.max(1));
        }
        Ok(occupancy)
    }

    /// The block size that fills a multiprocessor best. `shared` gives the bytes of dynamic shared memory that a block of
    /// so many threads takes: `|_| 0` for none.
    ///
    /// # Errors
    /// [`crate::error::ModuleError::MissingKernel`] if the module lacks the kernel.
    ///
    /// # Examples
    /// ```
    /// # use rumba::test_kernels::PTX;
    /// let module = rumba::Device::new()?.load(PTX)?;
    /// let best = module.suggest_block("scale", |_| 0)?;
    /// assert_eq!((best.threads, best.fraction()), (256, 1.0));
    /// // With 64 bytes of shared memory for each thread, blocks of 256 threads would leave some of it unused.
    /// let best = module.suggest_block("scale", |threads| 64 * threads)?;
    /// println!("{best}");
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn suggest_block(&self, kernel: &str, shared: impl Fn(u32) -> u32) -> Result<Occupancy> {
        Ok(self.context().limits.best_block(&self.info(kernel)?, shared))
    }
}

#[cfg(test)]
mod tests {
    use super::Resource;
    use crate::base::activity::KernelInfo;
    use crate::context::limits::Limits;

    /// The limits of an H200.
    const HOPPER: Limits = Limits {
        threads_per_block: 1024,
        block: [1024, 1024, 64],
        grid: [i32::MAX as u32, 65_535, 65_535],
        shared_memory: 49_152,
        shared_memory_optin: 232_448,
        warp: 32,
        multiprocessors: 132,
        multiprocessors_at_once: 132,
        compute_capability: (9, 0),
        ptx_version: (9, 0),
        threads_per_multiprocessor: 2048,
        blocks_per_multiprocessor: 32,
        registers_per_multiprocessor: 65_536,
        shared_memory_per_multiprocessor: 233_472,
        reserved_shared_memory: 1024,
    };

    fn kernel(registers: u32, shared_memory: u32) -> KernelInfo {
        KernelInfo { registers, shared_memory, local_memory: 0, threads_per_block: 1024 }
    }

    #[test]
    fn each_resource_can_be_the_limit() {
        for (registers, shared, threads, blocks, limit) in [
            (32, 0, 256, 8, Resource::Warps),
            (16, 0, 32, 32, Resource::Blocks),
            (128, 0, 256, 2, Resource::Registers),
            (255, 0, 256, 1, Resource::Registers),
            (32, 100_000, 64, 2, Resource::SharedMemory),
            (32, 232_448, 64, 1, Resource::SharedMemory),
        ] {
            let occupancy = HOPPER.occupancy(&kernel(registers, shared), threads, 0);
            let found = (occupancy.blocks, occupancy.limited_by().next());
            assert_eq!(found, (blocks, Some(limit)), "{registers} {shared} {threads}");
        }
    }

    #[test]
    fn what_does_not_fit_has_no_blocks() {
        assert_eq!(HOPPER.occupancy(&kernel(16, 0), 2048, 0).blocks, 0);
        assert_eq!(HOPPER.occupancy(&kernel(16, 0), 0, 0).blocks, 0);
        assert_eq!(HOPPER.occupancy(&kernel(16, 1), 32, u32::MAX).blocks, 0);
        assert_eq!(HOPPER.occupancy(&kernel(16, 232_448), 32, 1).blocks, 0);
    }

    #[test]
    fn the_best_block_is_full_and_near_256() {
        assert_eq!(HOPPER.best_block(&kernel(32, 0), |_| 0).threads, 256);
        // 40 registers: 48 warps at most. 6 blocks of 256 threads, no other size has more.
        let best = HOPPER.best_block(&kernel(40, 0), |_| 0);
        assert_eq!((best.threads, best.warps), (256, 48));
        // 100 bytes of shared memory for each thread.
        let best = HOPPER.best_block(&kernel(32, 0), |threads| 100 * threads);
        assert!(best.fraction() >= HOPPER.occupancy(&kernel(32, 0), 256, 25_600).fraction());
    }
}
