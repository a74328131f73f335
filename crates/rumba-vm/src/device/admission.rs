//! The launches that a device takes: shapes, shared memory and parameters within the limits of device and kernel.

use std::sync::Arc;

use crate::base::lanes::{MAX_CLUSTER, SHARED_START};
use crate::base::limits;
use crate::device::Device;
use crate::load::module::Function;
use crate::machine::fault::LaunchError;
use crate::mem::arena::SHARED_STRIDE;
use crate::run::launch::Launch;

impl Device {
    /// The size of the clusters of a launch.
    pub(super) fn cluster(function: &Function, launch: &Launch<'_>) -> Result<[u32; 3], LaunchError> {
        let program = &function.program;
        let size = launch.cluster.or(program.required_cluster).unwrap_or([1; 3]);
        let wrong = |reason: String| Err(LaunchError::Cluster { size, reason });
        if let Some(required) = program.required_cluster
            && required != size
        {
            return wrong(format!("the kernel requires {required:?} (.reqnctapercluster)"));
        }
        if program.explicit_cluster && launch.cluster.or(program.required_cluster).is_none() {
            return wrong("the kernel wants the launch to say how large they are (.explicitcluster)".into());
        }
        let blocks = size.iter().map(|extent| u64::from(*extent)).product::<u64>();
        let limit = u64::from(program.max_cluster.unwrap_or(MAX_CLUSTER).min(MAX_CLUSTER));
        if blocks == 0 || blocks > limit {
            return wrong(format!("a cluster has 1 to {limit} blocks"));
        }
        let fits = launch.grid.iter().zip(size).all(|(grid, extent)| grid % extent == 0);
        if !fits && !program.blocks_are_clusters {
            let grid = launch.grid;
            return wrong(format!("the grid {grid:?} is not a multiple of that"));
        }
        Ok(size)
    }

    /// The number of blocks of a launch that a multiprocessor keeps resident.
    pub(super) fn residency(&self, function: &Function, launch: &Launch<'_>) -> Result<u32, LaunchError> {
        let program = &function.program;
        if !Arc::ptr_eq(&function.module.device, &self.inner.resources) {
            return Err(LaunchError::OtherDevice);
        }
        let threads = launch.block.iter().map(|size| u64::from(*size)).product::<u64>();
        for (what, size, limit) in [("grid", launch.grid, limits::GRID), ("block", launch.block, limits::BLOCK)] {
            if size.contains(&0) {
                return Err(LaunchError::Empty { what, size });
            }
            if what == "block" && threads > u64::from(limits::THREADS_PER_BLOCK) {
                return Err(LaunchError::TooManyThreads {
                    threads,
                    limit: limits::THREADS_PER_BLOCK,
                    reason: "the device allows",
                });
            }
            if size.iter().zip(&limit).any(|(size, limit)| size > limit) {
                return Err(LaunchError::TooLarge { what, size, limit });
            }
        }
        if threads > u64::from(program.max_threads) {
            let limit = program.max_threads;
            return Err(LaunchError::TooManyThreads { threads, limit, reason: "the kernel allows (.maxntid)" });
        }
        if let Some(required) = program.required_block
            && required != launch.block
        {
            return Err(LaunchError::WrongBlock { required, size: launch.block });
        }
        let fixed = program.shared_end - SHARED_START;
        let dynamic = u64::from(launch.dynamic_shared);
        let multiprocessor = self.inner.config.multiprocessor;
        let limit = multiprocessor.shared_per_block;
        if fixed + dynamic > u64::from(limit) || fixed + dynamic > SHARED_STRIDE as u64 - 2 * SHARED_START {
            return Err(LaunchError::TooMuchShared { requested: fixed + dynamic, fixed, dynamic, limit });
        }
        if launch.parameters.len() != program.parameter_bytes {
            let (expected, given) = (program.parameter_bytes, launch.parameters.len());
            return Err(LaunchError::Parameters { expected, given });
        }
        let residency = multiprocessor.resident_blocks(threads as u32, 0, (fixed + dynamic) as u32).max(1);
        let blocks = launch.grid.iter().map(|size| u64::from(*size)).product::<u64>();
        let limit = u64::from(residency) * u64::from(self.multiprocessors());
        if launch.cooperative && blocks > limit {
            return Err(LaunchError::TooManyCooperative { blocks, limit });
        }
        Ok(residency)
    }
}
