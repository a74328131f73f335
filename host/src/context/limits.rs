//! The limits and the resources of a device.

use crate::base::driver;
use crate::cuda::{self, Code, DeviceAttribute};

/// The limits and the resources of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Threads of one block.
    pub threads_per_block: u32,
    /// Threads of one block in x, y and z.
    pub block: [u32; 3],
    /// Blocks of one grid in x, y and z.
    pub grid: [u32; 3],
    /// Bytes of shared memory that a block gets without asking.
    pub shared_memory: u32,
    /// Bytes of shared memory that a block can ask for.
    pub shared_memory_optin: u32,
    /// Threads of a warp.
    pub warp: u32,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Multiprocessors that work at the same time: all of a GPU's, and on the software device one for each thread that runs
    /// blocks. Kernels whose blocks stay and go through the tiles have the least to do with as many blocks as this.
    pub multiprocessors_at_once: u32,
    /// Compute capability, major and minor.
    pub compute_capability: (u32, u32),
    /// The newest version of PTX that the driver reads.
    pub ptx_version: (u32, u32),
    /// Threads that a multiprocessor holds at the same time.
    pub threads_per_multiprocessor: u32,
    /// Blocks that a multiprocessor holds at the same time.
    pub blocks_per_multiprocessor: u32,
    /// Registers of 32 bits that the blocks on a multiprocessor share.
    pub registers_per_multiprocessor: u32,
    /// Bytes of shared memory that the blocks on a multiprocessor share.
    pub shared_memory_per_multiprocessor: u32,
    /// Bytes of shared memory that the driver takes for itself in each block.
    pub reserved_shared_memory: u32,
}

impl Limits {
    pub(crate) fn of(device: cuda::Device) -> Result<Limits, Code> {
        use DeviceAttribute as A;
        let get = |attribute| device.attribute(attribute).map(unsigned);
        let shared_memory = get(A::MaxSharedMemoryPerBlock)?;
        let cuda = cuda::version()?;
        let multiprocessors = get(A::MultiprocessorCount)?;
        Ok(Limits {
            threads_per_block: get(A::MaxThreadsPerBlock)?,
            block: [get(A::MaxBlockDimX)?, get(A::MaxBlockDimY)?, get(A::MaxBlockDimZ)?],
            grid: [get(A::MaxGridDimX)?, get(A::MaxGridDimY)?, get(A::MaxGridDimZ)?],
            shared_memory,
            shared_memory_optin: newer(device, A::MaxSharedMemoryPerBlockOptin).max(shared_memory),
            warp: get(A::WarpSize)?,
            multiprocessors,
            multiprocessors_at_once: if driver::is_software() {
                multiprocessors.min(driver::software_workers() as u32)
            } else {
                multiprocessors
            },
            compute_capability: (get(A::ComputeCapabilityMajor)?, get(A::ComputeCapabilityMinor)?),
            ptx_version: ptx_version(cuda),
            threads_per_multiprocessor: get(A::MaxThreadsPerMultiprocessor)?,
            // Drivers before CUDA 11 do not say: as many as the smallest blocks would be.
            blocks_per_multiprocessor: match newer(device, A::MaxBlocksPerMultiprocessor) {
                0 => 16,
                blocks => blocks,
            },
            registers_per_multiprocessor: get(A::MaxRegistersPerMultiprocessor)?,
            shared_memory_per_multiprocessor: get(A::MaxSharedMemoryPerMultiprocessor)?,
            reserved_shared_memory: newer(device, A::ReservedSharedMemoryPerBlock),
        })
    }
}

/// The newest PTX that a driver reads, by the version of CUDA that it is for (PTX ISA, "Release Notes").
fn ptx_version((major, minor): (u32, u32)) -> (u32, u32) {
    match major {
        ..=10 => (6, 3 + minor),
        11 => (7, minor),
        // CUDA 12.6 brought none.
        12 if minor > 5 => (8, minor - 1),
        12 => (8, minor),
        _ => (major - 4, minor),
    }
}

/// An attribute that drivers before CUDA 11 do not know; 0 there.
fn newer(device: cuda::Device, attribute: DeviceAttribute) -> u32 {
    device.attribute(attribute).map_or(0, unsigned)
}

fn unsigned(value: i32) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::ptx_version;

    #[test]
    fn drivers_read_the_ptx_of_their_release() {
        for (cuda, ptx) in [
            ((10, 2), (6, 5)),
            ((11, 8), (7, 8)),
            ((12, 0), (8, 0)),
            ((12, 5), (8, 5)),
            ((12, 6), (8, 5)),
            ((12, 9), (8, 8)),
            ((13, 0), (9, 0)),
        ] {
            assert_eq!(ptx_version(cuda), ptx, "CUDA {cuda:?}");
        }
    }
}
