//! Roles of a tensor pipeline that do not play together: one panics or ends too early, a stage is left out, a warp group wants more
//! registers than there are.

#![expect(
    clippy::needless_range_loop,
    reason = "these kernels index behind the end of a slice, which an iterator does not"
)]

use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::tensor::{Accumulator, Multicast, Swizzled, TensorMap, TensorPipeline};

/// 8 KiB.
type Half = Swizzled<f16, 64, 64>;

/// The producer reads an element out of bounds, after three stages; the consumers want ten.
#[kernel(block = 256, min_blocks = 1, arch = "sm_90a")]
pub fn producer_panics(a: TensorMap<Half>, x: &[u32], stages: TensorPipeline<(Half, Half), 2, 1>) {
    stages.roles::<40, 216>(
        |producer| {
            for step in 0..10 {
                let row = if step < 3 { 0 } else { x[step] };
                producer.acquire().fill(a.at([row, 0]), a.at([0, 0]));
            }
        },
        |consumer| {
            let mut sums = Accumulator::<64>::zero();
            sums.products(|products| {
                for _ in 0..10 {
                    products.add(consumer.wait(), |a, b| (a, b));
                }
            });
        },
    );
}

/// The same in one block of a cluster, whose blocks copy for each other.
#[kernel(block = 256, min_blocks = 1, cluster = 2, arch = "sm_90a")]
pub fn producer_of_a_cluster_panics(
    a: TensorMap<Swizzled<f16, 32, 64>>,
    x: &[u32],
    stages: TensorPipeline<(Half, Multicast<Half>), 2, 1, 2>,
) {
    stages.roles::<40, 216>(
        |producer| {
            for step in 0..10 {
                let is_early = step < 3 || thread::block_idx_x() == 0;
                let row = if is_early { 0 } else { x[step] };
                producer.acquire().fill(a.at([row, 0]), a.at([0, 0]));
            }
        },
        |consumer| {
            for _ in 0..10 {
                drop(consumer.wait());
            }
        },
    );
}

/// The threads of a warp that would release stages read an element out of bounds.
#[kernel(block = 256, min_blocks = 1, arch = "sm_90a")]
pub fn consumer_panics(a: TensorMap<Half>, x: &[u32], stages: TensorPipeline<(Half, Half), 2, 1>) {
    stages.roles::<40, 216>(
        |producer| {
            for _ in 0..10 {
                producer.acquire().fill(a.at([0, 0]), a.at([0, 0]));
            }
        },
        |consumer| {
            for step in 0..10 {
                let full = consumer.wait();
                if step == 3 && thread::thread_idx_x() / 32 == 5 && x[step] == 0 {
                    return;
                }
                drop(full);
            }
        },
    );
}

/// A role passes more stages than the other.
#[kernel(block = 256, min_blocks = 1, arch = "sm_90a")]
pub fn unequal_roles(a: TensorMap<Half>, filled: u32, taken: u32, stages: TensorPipeline<(Half, Half), 3, 1>) {
    stages.roles::<40, 216>(
        |producer| {
            for _ in 0..filled {
                producer.acquire().fill(a.at([0, 0]), a.at([0, 0]));
            }
        },
        |consumer| {
            for _ in 0..taken {
                drop(consumer.wait());
            }
        },
    );
}

/// A block passes more stages than the other one of its cluster.
#[kernel(block = 256, min_blocks = 1, cluster = 2, arch = "sm_90a")]
pub fn unequal_blocks(
    a: TensorMap<Swizzled<f16, 32, 64>>,
    first: u32,
    second: u32,
    stages: TensorPipeline<(Half, Multicast<Half>), 3, 1, 2>,
) {
    let count = if thread::block_idx_x() == 0 { first } else { second };
    stages.roles::<40, 216>(
        |producer| {
            for _ in 0..count {
                producer.acquire().fill(a.at([0, 0]), a.at([0, 0]));
            }
        },
        |consumer| {
            for _ in 0..count {
                drop(consumer.wait());
            }
        },
    );
}

/// The producer acquires a stage and does not fill it.
#[kernel(block = 256, min_blocks = 1, arch = "sm_90a")]
pub fn stage_left_out(a: TensorMap<Half>, stages: TensorPipeline<(Half, Half), 2, 1>) {
    stages.roles::<40, 216>(
        |producer| {
            for step in 0..6 {
                let empty = producer.acquire();
                if step != 4 {
                    empty.fill(a.at([0, 0]), a.at([0, 0]));
                }
            }
        },
        |consumer| {
            for _ in 0..6 {
                drop(consumer.wait());
            }
        },
    );
}

/// Three blocks on a multiprocessor leave 80 registers for each thread.
#[kernel(block = 256, min_blocks = 3, arch = "sm_90a")]
pub fn too_many_registers(a: TensorMap<Half>, stages: TensorPipeline<(Half, Half), 2, 1>) {
    stages.roles::<40, 216>(
        |producer| producer.acquire().fill(a.at([0, 0]), a.at([0, 0])),
        |consumer| drop(consumer.wait()),
    );
}

/// Attacks by these kernels: none waits for ever.
#[cfg(not(target_arch = "nvptx64"))]
pub mod attacks {
    use cuda_std::half::f16;
    use cuda_std::launch::Call;
    use rumba::{DeviceBuffer, Error, Result};

    use crate::Target;

    const UNEQUAL: &str = "the producer and the consumers of a pipeline do not pass equally many stages";

    fn operand(target: &Target) -> Result<DeviceBuffer<f16>> {
        target.device.buffer_from(&[f16::ONE; 64 * 64])
    }

    /// Launches, and expects a panic with this message.
    fn panics(target: &Target, grid: u32, call: Call<'_>, expected: &str) {
        let launched = target.module.launch((grid, 256), call);
        match launched.and_then(|()| target.device.synchronize()) {
            Err(Error::Panic(panic)) if panic.message.contains(expected) => {}
            other => panic!("{other:?} instead of a panic with `{expected}`"),
        }
    }

    /// The consumers do not wait for stages that no thread fills any more.
    pub fn panic_of_a_producer(target: &Target) -> Result<()> {
        let (a, x) = (operand(target)?, [0_u32; 3]);
        let message = "index out of bounds: the len is 3 but the index is 3";
        panics(target, 5, super::producer_panics((&a, [64, 64]), &x), message);
        // The device is as before.
        let a = operand(target)?;
        target.module.launch((2, 256), super::unequal_roles((&a, [64, 64]), 7, 7))
    }

    /// Nor do the roles of another block, which receives copies from the block that panicked.
    pub fn panic_of_a_producer_in_a_cluster(target: &Target) -> Result<()> {
        let (a, x) = (operand(target)?, [0_u32; 3]);
        let message = "index out of bounds: the len is 3 but the index is 3";
        panics(target, 2, super::producer_of_a_cluster_panics((&a, [64, 64]), &x), message);
        target.module.launch((2, 256), super::unequal_blocks((&a, [64, 64]), 7, 7))
    }

    /// The producer does not wait for a release that no thread makes any more.
    pub fn panic_of_a_consumer(target: &Target) -> Result<()> {
        let (a, x) = (operand(target)?, [0_u32; 3]);
        let message = "index out of bounds: the len is 3 but the index is 3";
        panics(target, 3, super::consumer_panics((&a, [64, 64]), &x), message);
        target.module.launch((2, 256), super::unequal_roles((&a, [64, 64]), 7, 7))
    }

    /// No role waits for a role that has ended.
    pub fn roles_that_pass_unequally_many_stages(target: &Target) -> Result<()> {
        let a = operand(target)?;
        for (filled, taken) in [(0, 0), (1, 1), (3, 3), (20, 20)] {
            target.module.launch((2, 256), super::unequal_roles((&a, [64, 64]), filled, taken))?;
        }
        for (filled, taken) in [(0, 1), (1, 0), (3, 4), (4, 3), (6, 12), (12, 6), (2, 20), (20, 2)] {
            panics(target, 2, super::unequal_roles((&a, [64, 64]), filled, taken), UNEQUAL);
        }
        Ok(())
    }

    /// No block waits for copies of another one that has ended.
    pub fn blocks_that_pass_unequally_many_stages(target: &Target) -> Result<()> {
        let a = operand(target)?;
        for (first, second) in [(0, 0), (1, 1), (3, 3), (20, 20)] {
            target.module.launch((4, 256), super::unequal_blocks((&a, [64, 64]), first, second))?;
        }
        for (first, second) in [(0, 1), (1, 0), (3, 4), (4, 3), (6, 12), (12, 6), (2, 20), (20, 2)] {
            panics(target, 2, super::unequal_blocks((&a, [64, 64]), first, second), UNEQUAL);
        }
        Ok(())
    }

    /// No consumer waits for a stage that the producer forgot.
    pub fn stage_that_is_not_filled(target: &Target) -> Result<()> {
        let a = operand(target)?;
        let message = "a stage of a pipeline is acquired and not filled";
        panics(target, 2, super::stage_left_out((&a, [64, 64])), message);
        Ok(())
    }

    /// No warp group waits for registers beyond the block's.
    pub fn registers_that_there_are_not(target: &Target) -> Result<()> {
        let a = operand(target)?;
        let message = "the warp groups of a block have not as many registers as their roles want";
        panics(target, 2, super::too_many_registers((&a, [64, 64])), message);
        Ok(())
    }
}
