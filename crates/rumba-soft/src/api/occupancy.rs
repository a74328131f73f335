//! Occupancy: how many blocks a multiprocessor holds, as a GPU would say it for the registers that the kernel has here
//! (`rumba_vm::limits`).

use std::ffi::{c_int, c_uint};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rumba_vm::limits::{Multiprocessor, WARP};

use crate::abi::{CUfunction, In, Out, answer, wrong};
use crate::api::func::function_of;
use crate::api::launch::{LARGEST_CLUSTER, LaunchConfig, PORTABLE_CLUSTER, Shape, shape_of};
use crate::code::Code;
use crate::error::Error;
use crate::soft::driver::Driver;
use crate::soft::machine::Needs;
use crate::soft::module::Function;
use crate::table;

/// Blocks of a kernel that one multiprocessor holds at once.
pub(crate) fn resident_blocks(needs: &Needs, threads: u32, dynamic_shared: u32) -> u32 {
    table::multiprocessor().resident_blocks(threads, needs.registers, needs.shared_bytes.saturating_add(dynamic_shared))
}

pub(crate) extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
    blocks: Out<c_int>,
    function: CUfunction,
    threads: c_int,
    shared: usize,
) -> Code {
    answer(|| max_active(blocks, function, threads, shared, 0))
}

pub(crate) extern "C" fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    blocks: Out<c_int>,
    function: CUfunction,
    threads: c_int,
    shared: usize,
    flags: c_uint,
) -> Code {
    answer(|| max_active(blocks, function, threads, shared, flags))
}

fn max_active(
    blocks: Out<c_int>,
    function: CUfunction,
    threads: c_int,
    shared: usize,
    flags: c_uint,
) -> Result<(), Error> {
    let function = function_of(function)?;
    blocks.required("numBlocks")?;
    check_flags(flags)?;
    let threads = positive("blockSize", threads)?;
    let shared = u32::try_from(shared).unwrap_or(u32::MAX);
    blocks.put("numBlocks", resident_blocks(function.kernel.needs(), threads, shared) as c_int)
}

fn check_flags(flags: c_uint) -> Result<(), Error> {
    if flags <= 1 { Ok(()) } else { Err(wrong("flags", flags, "it must be 0 or 1")) }
}

fn positive(name: &'static str, value: c_int) -> Result<u32, Error> {
    u32::try_from(value).ok().filter(|value| *value > 0).ok_or_else(|| wrong(name, value, "it must be positive"))
}

/// Computes the dynamic shared memory of a block from its threads.
pub(crate) type SharedOfBlock = extern "C" fn(c_int) -> usize;

pub(crate) extern "C" fn cuOccupancyMaxPotentialBlockSize(
    grid: Out<c_int>,
    block: Out<c_int>,
    function: CUfunction,
    shared_of_block: Option<SharedOfBlock>,
    shared: usize,
    limit: c_int,
) -> Code {
    answer(|| max_potential(grid, block, function, shared_of_block, shared, limit, 0))
}

pub(crate) extern "C" fn cuOccupancyMaxPotentialBlockSizeWithFlags(
    grid: Out<c_int>,
    block: Out<c_int>,
    function: CUfunction,
    shared_of_block: Option<SharedOfBlock>,
    shared: usize,
    limit: c_int,
    flags: c_uint,
) -> Code {
    answer(|| max_potential(grid, block, function, shared_of_block, shared, limit, flags))
}

/// The largest block among those that keep the most threads resident.
fn max_potential(
    grid: Out<c_int>,
    block: Out<c_int>,
    function: CUfunction,
    shared_of_block: Option<SharedOfBlock>,
    shared: usize,
    limit: c_int,
    flags: c_uint,
) -> Result<(), Error> {
    let driver = Driver::get()?;
    let function = function_of(function)?;
    grid.required("minGridSize")?;
    block.required("blockSize")?;
    check_flags(flags)?;
    let needs = function.kernel.needs();
    let limit = match u32::try_from(limit) {
        Ok(0) => needs.max_threads_per_block,
        Ok(limit) => limit.min(needs.max_threads_per_block),
        Err(_) => return Err(wrong("blockSizeLimit", limit, "it must not be negative")),
    };
    let mut best = (0, 0);
    for aligned in (1..=limit.div_ceil(WARP)).rev() {
        let threads = (aligned * WARP).min(limit);
        let shared = shared_of_block.map_or(shared, |shared_of_block| shared_of_block(threads as c_int));
        let blocks = resident_blocks(needs, threads, u32::try_from(shared).unwrap_or(u32::MAX));
        if blocks * threads > best.0 * best.1 {
            best = (blocks, threads);
        }
    }
    grid.put("minGridSize", (best.0 * driver.machine.multiprocessors()) as c_int)?;
    block.put("blockSize", best.1 as c_int)
}

pub(crate) extern "C" fn cuOccupancyAvailableDynamicSMemPerBlock(
    shared: Out<usize>,
    function: CUfunction,
    blocks: c_int,
    threads: c_int,
) -> Code {
    answer(|| {
        let function = function_of(function)?;
        shared.required("dynamicSmemSize")?;
        let blocks = positive("numBlocks", blocks)?;
        let threads = positive("blockSize", threads)?;
        let needs = function.kernel.needs();
        if blocks > resident_blocks(needs, threads, 0) {
            return Err(wrong("numBlocks", blocks, "a multiprocessor does not hold so many"));
        }
        let share = (table::multiprocessor().shared / blocks).saturating_sub(needs.shared_bytes) as usize;
        let most = function.max_dynamic_shared.load(Ordering::Relaxed) as usize;
        shared.put("dynamicSmemSize", share.min(most))
    })
}

/// The inputs of an occupancy query for clusters: the function, the blocks of it that a multiprocessor holds, and the
/// launch. NVIDIA's driver refuses a null function here as it refuses a null pointer.
fn launch_of(function: CUfunction, config: In<LaunchConfig>) -> Result<(Arc<Function>, u32, Shape), Error> {
    if function == 0 {
        return Err(Error::Null("func"));
    }
    let function = function_of(function)?;
    let shape = shape_of(&config.get("config")?)?;
    let threads = shape.block.iter().fold(1_u32, |threads, extent| threads.saturating_mul(*extent));
    let most = function.max_dynamic_shared.load(Ordering::Relaxed);
    if i64::from(shape.shared) > i64::from(most) {
        let rule = "it exceeds the kernel's limit, which cuFuncSetAttribute raises";
        return Err(wrong("sharedMemBytes", shape.shared, rule));
    }
    let blocks = resident_blocks(function.kernel.needs(), threads, shape.shared);
    Ok((function, blocks, shape))
}

/// Blocks of the largest cluster that a kernel can be launched in.
fn largest_cluster(function: &Function) -> u32 {
    if !table::multiprocessor().has_clusters() {
        return 1;
    }
    let allows = function.allows_large_clusters.load(Ordering::Relaxed);
    let largest = if allows { LARGEST_CLUSTER } else { PORTABLE_CLUSTER };
    largest.min(function.kernel.most_blocks_of_cluster().unwrap_or(largest))
}

pub(crate) extern "C" fn cuOccupancyMaxPotentialClusterSize(
    size: Out<c_int>,
    function: CUfunction,
    config: In<LaunchConfig>,
) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        size.required("clusterSize")?;
        let (function, blocks, _) = launch_of(function, config)?;
        let group = Multiprocessor::groups(driver.machine.multiprocessors()).max().unwrap_or(0);
        // A size is a power of two.
        let fits = largest_cluster(&function).min(group * blocks);
        size.put("clusterSize", fits.checked_ilog2().map_or(0, |log| 1 << log))
    })
}

pub(crate) extern "C" fn cuOccupancyMaxActiveClusters(
    clusters: Out<c_int>,
    function: CUfunction,
    config: In<LaunchConfig>,
) -> Code {
    answer(|| {
        let driver = Driver::get()?;
        clusters.required("numClusters")?;
        let (function, blocks, shape) = launch_of(function, config)?;
        // As NVIDIA's driver counts a launch without clusters.
        let Some(extents) = shape.cluster.or(function.kernel.cluster()) else {
            return clusters.put("numClusters", 0);
        };
        let size = extents.iter().fold(1_u32, |size, extent| size.saturating_mul(*extent));
        if size == 0 || size > largest_cluster(&function) {
            return Err(Error::Cluster(format!(
                "a cluster of {size} blocks: this kernel has 1 to {} in one, and more than {PORTABLE_CLUSTER} only with \
                 CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED",
                largest_cluster(&function)
            )));
        }
        // All blocks of a cluster lie in one group of multiprocessors.
        let groups = Multiprocessor::groups(driver.machine.multiprocessors());
        clusters.put("numClusters", groups.map(|group| group * blocks / size).sum::<u32>() as c_int)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident(registers: u32, shared_bytes: u32, threads: u32, shared: u32) -> u32 {
        let needs = Needs {
            registers,
            shared_bytes,
            const_bytes: 0,
            local_bytes: 0,
            max_threads_per_block: 1024,
            ptx_version: 70,
        };
        resident_blocks(&needs, threads, shared)
    }

    #[test]
    fn an_h200_gives_the_same_numbers() {
        assert_eq!(resident(4, 0, 128, 0), 16);
        assert_eq!(resident(4, 0, 2048, 0), 0);
        assert_eq!(resident(4, 0, 1, 0), 32);
        assert_eq!(resident(4, 0, 1, 300_000), 0);
        assert_eq!(resident(4, 1024, 1024, 40_000), 2);
    }

    #[test]
    fn registers_and_shared_memory_limit_residency() {
        assert_eq!(resident(255, 0, 256, 0), 1);
        assert_eq!(resident(32, 100_000, 64, 0), 2);
    }
}
