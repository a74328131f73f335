//! Hints: what may make a launch slow that is no error. They are given on request only ([`Module::hints`], and below the
//! table of a profile), each with its numbers, so that a reader can judge whether it matters here.
//!
//! Nothing is measured: a hint follows from the shape of the launch and what the compiler made of the kernel.

use crate::base::activity::KernelInfo;
use crate::base::error::Result;
use crate::context::limits::Limits;
use crate::launch::config::Dim3;
use crate::modules::module::Module;
use crate::performance::occupancy::Occupancy;
use std::fmt;

/// Something about a launch that may make it slow.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Hint {
    /// Few warps are resident, which hides little of the time that memory takes.
    LowOccupancy {
        /// The present occupancy.
        now: Occupancy,
        /// The best that another block size would reach.
        best: Occupancy,
    },
    /// There are fewer blocks than multiprocessors.
    FewBlocks {
        /// Blocks of the grid.
        blocks: u64,
        /// Multiprocessors of the device.
        multiprocessors: u32,
    },
    /// The last wave of blocks leaves much of the device idle.
    Tail {
        /// Blocks of the grid.
        blocks: u64,
        /// Blocks that run at the same time.
        wave: u64,
        /// The share of the device's time that is used, if all blocks take as long.
        used: f64,
    },
    /// The last warp of each block has threads missing.
    PartialWarp {
        /// Threads of a block.
        threads: u32,
        /// Threads of a warp.
        warp: u32,
    },
    /// Registers are spilled to memory, or arrays live there.
    LocalMemory {
        /// Bytes of a thread.
        bytes: u32,
        /// Registers of a thread.
        registers: u32,
    },
}

/// Occupancy below which one hears of it, if another block size does better.
const LOW: f64 = 0.5;
/// Use of the device's time below which one hears of the tail.
const USED: f64 = 0.8;

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Hint::LowOccupancy { now, best } if 4 * best.warps >= 5 * now.warps => write!(
                f,
                "low occupancy, {now}; blocks of {} threads would reach {:.0} %",
                best.threads,
                100.0 * best.fraction()
            ),
            Hint::LowOccupancy { now, .. } => {
                write!(
                    f,
                    "low occupancy, {now}; no block size does much better: the kernel would have to take less of it"
                )
            }
            Hint::FewBlocks { blocks, multiprocessors } => write!(
                f,
                "{blocks} blocks for {multiprocessors} multiprocessors: {} have nothing to do; more and smaller blocks would \
                 spread the work",
                u64::from(*multiprocessors).saturating_sub(*blocks)
            ),
            Hint::Tail { blocks, wave, used } => write!(
                f,
                "tail effect: {blocks} blocks run in {} waves of {wave}, the last of {} blocks; if all take as long, the device \
                 is used to {:.0} %. Smaller blocks, or as many as run at once (`LaunchConfig::at_once`), avoid it",
                blocks.div_ceil(*wave),
                (blocks - 1) % wave + 1,
                100.0 * used
            ),
            Hint::PartialWarp { threads, warp } => write!(
                f,
                "blocks of {threads} threads are no multiple of a warp ({warp}): {} of {} lanes never work",
                threads.next_multiple_of(*warp) - threads,
                threads.next_multiple_of(*warp)
            ),
            Hint::LocalMemory { bytes, registers } => write!(
                f,
                "{bytes} bytes of local memory for each thread (with {registers} registers): spilled registers, or arrays with \
                 an index that is not constant"
            ),
        }
    }
}

/// The hints for a launch whose occupancy is known.
pub(crate) fn of_launch(limits: &Limits, info: &KernelInfo, now: &Occupancy, blocks: u64, shared: u32) -> Vec<Hint> {
    let mut hints = Vec::new();
    if !now.threads.is_multiple_of(limits.warp.max(1)) {
        hints.push(Hint::PartialWarp { threads: now.threads, warp: limits.warp });
    }
    let wave = u64::from(now.blocks) * u64::from(limits.multiprocessors);
    if blocks < u64::from(limits.multiprocessors) {
        hints.push(Hint::FewBlocks { blocks, multiprocessors: limits.multiprocessors });
    } else if wave > 0 && blocks > wave {
        let used = blocks as f64 / (blocks.div_ceil(wave) * wave) as f64;
        if used < USED {
            hints.push(Hint::Tail { blocks, wave, used });
        }
    }
    if now.fraction() < LOW {
        let best = limits.best_block(info, |_| shared);
        hints.push(Hint::LowOccupancy { now: now.clone(), best });
    }
    if info.local_memory > 0 {
        hints.push(Hint::LocalMemory { bytes: info.local_memory, registers: info.registers });
    }
    hints
}

impl Module {
    /// Possible reasons why a launch of this shape is slow: low occupancy, a last wave of few blocks, warps that are
    /// not full, local memory. An empty list is the usual answer.
    ///
    /// # Errors
    /// [`crate::error::ModuleError::MissingKernel`] if the module lacks the kernel.
    ///
    /// # Examples
    /// ```
    /// # use rumba::test_kernels::PTX;
    /// let module = rumba::Device::new()?.load(PTX)?;
    /// let hints = module.hints("scale", 10_000, 33, 0)?;
    /// assert!(hints[0].to_string().contains("31 of 64 lanes never work"));
    /// # Ok::<(), rumba::Error>(())
    /// ```
    pub fn hints(
        &self,
        kernel: &str,
        grid: impl Into<Dim3>,
        block: impl Into<Dim3>,
        dynamic_shared: u32,
    ) -> Result<Vec<Hint>> {
        let blocks = grid.into().0.iter().map(|&length| u64::from(length)).product();
        let occupancy = self.occupancy(kernel, block, dynamic_shared)?;
        let (limits, info) = (&self.context().limits, self.info(kernel)?);
        Ok(of_launch(limits, &info, &occupancy, blocks, dynamic_shared))
    }
}
