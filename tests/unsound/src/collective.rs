//! Collective functions to which the threads of a block, or the blocks of a cluster, do not come alike: with operands, results or stages
//! that differ, or not at all.

use cuda_std::half::f16;
use cuda_std::prelude::*;
use cuda_std::product::{ByThreads, ByWarps, Product, ProductStages};
use cuda_std::tensor::{MatrixOutput, Multicast, Swizzled, TensorExchange, TensorMap, TensorPipeline, Tiling, product};

/// 8 KiB, and 16 KiB.
type Half = Swizzled<f16, 64, 64>;
type Whole = Swizzled<f16, 128, 64>;

/// Threads from `from` on multiply a longer operand, in blocks from `block` on all threads.
#[kernel(block = 256)]
pub fn operands_by_thread(
    short: View<f32, 3>,
    long: View<f32, 3>,
    b: View<f32, 3>,
    from: u32,
    block: u32,
    c: Disjoint<f32, Product<ByThreads>>,
    stages: ProductStages<ByThreads>,
) {
    let is_long = thread::thread_idx_x() >= from || thread::block_idx_x() >= block;
    stages.product(if is_long { long } else { short }, b, c, |_, sum, c| *c = sum);
}

/// The same by warps.
#[kernel(block = 128)]
pub fn operands_by_warp(
    short: View<f64, 3>,
    long: View<f64, 3>,
    b: View<f64, 3>,
    from: u32,
    c: Disjoint<f64, Product<ByWarps<f64, 64, 64>>>,
    stages: ProductStages<ByWarps<f64, 64, 64>>,
) {
    let a = if thread::thread_idx_x() < from { short } else { long };
    stages.product(a, b, c, |_, sum, c| *c = sum);
}

/// Threads from `from` on have no value by the sum alone.
#[kernel(block = 256)]
pub fn values_by_thread(
    a: View<f32, 3>,
    b: View<f32, 3>,
    from: u32,
    c: Disjoint<f32, Product<ByThreads>>,
    stages: ProductStages<ByThreads>,
) {
    let value = (thread::thread_idx_x() < from).then_some(|sum: f32| sum);
    stages.product_or(a, b, c, value, |_, sum, c| *c = sum);
}

/// Threads from `from` on have another output, with more tiles.
#[kernel(block = 256)]
pub fn outputs_by_thread(
    a: View<f32, 3>,
    b: View<f32, 3>,
    from: u32,
    c: Disjoint<f32, Product<ByThreads>>,
    d: Disjoint<f32, Product<ByThreads>>,
    stages: ProductStages<ByThreads>,
) {
    let output = if thread::thread_idx_x() < from { c } else { d };
    stages.product(a, b, output, |_, sum, c| *c = sum);
}

/// Threads from `from` on return.
#[kernel(block = 256)]
pub fn product_without_some(
    a: View<f32, 3>,
    b: View<f32, 3>,
    from: u32,
    c: Disjoint<f32, Product<ByThreads>>,
    stages: ProductStages<ByThreads>,
) {
    if thread::thread_idx_x() < from {
        stages.product(a, b, c, |_, sum, c| *c = sum);
    }
}

/// Threads from `from` on have a longer operand than the producer.
#[kernel(block = 384, min_blocks = 1, arch = "sm_90a")]
pub fn maps_by_thread(
    short: TensorMap<Whole>,
    long: TensorMap<Whole>,
    b: TensorMap<Whole>,
    from: u32,
    c: MatrixOutput<f32, Tiling<128, 128>>,
    stages: TensorPipeline<(Whole, Whole), 4, 2>,
) {
    let a = if thread::thread_idx_x() < from { short } else { long };
    product((a, b), stages, c, |_, sum: f32| sum);
}

/// Blocks that have tiles in common have operands of different lengths: those with a number from `from` on in their cluster.
#[kernel(block = 384, min_blocks = 1, cluster = 2, arch = "sm_90a")]
pub fn maps_by_block(
    short: TensorMap<Whole>,
    long: TensorMap<Whole>,
    b: TensorMap<Half>,
    from: u32,
    c: MatrixOutput<f32, Tiling<128, 128, 8, 2>>,
    stages: TensorPipeline<(Whole, Multicast<Whole>), 4, 2, 2>,
) {
    let a = if thread::block_idx_x() % 2 < from { short } else { long };
    product((a, b), stages, c, |_, sum: f32| sum);
}

/// Threads from `from` on write another output, with more tiles.
#[kernel(block = 384, min_blocks = 1, arch = "sm_90a")]
pub fn matrices_by_thread(
    a: TensorMap<Whole>,
    b: TensorMap<Whole>,
    from: u32,
    c: MatrixOutput<f32, Tiling<128, 128>>,
    d: MatrixOutput<f32, Tiling<128, 128>>,
    stages: TensorPipeline<(Whole, Whole), 4, 2>,
) {
    let output = if thread::thread_idx_x() < from { c } else { d };
    product((a, b), stages, output, |_, sum: f32| sum);
}

/// Threads from `from` on add up sums elsewhere.
#[kernel(block = 256, min_blocks = 1, cluster = 2, arch = "sm_90a")]
pub fn exchanges_by_thread(
    a: TensorMap<Half>,
    b: TensorMap<Half>,
    from: u32,
    c: MatrixOutput<f32, Tiling<64, 64, 1, 1, 1, 2>>,
    stages: TensorPipeline<(Half, Half), 2, 1, 2>,
    one: TensorExchange<64, 64, 2>,
    two: TensorExchange<64, 64, 2>,
) {
    let exchange = if thread::thread_idx_x() < from { one } else { two };
    product((a, b), stages, (c, exchange), |_, sum: f32| sum);
}

/// Actions of a block before its cluster's roles, by a number.
const RETURNS: u32 = 1;
const PANICS: u32 = 2;
const PANICS_IN_PART: u32 = 3;
const RETURNS_IN_PART: u32 = 4;
const RETURNS_LATE: u32 = 5;

/// The blocks of a cluster do what the numbers say: return, panic, or take roles and copy to each other.
#[kernel(block = 256, min_blocks = 1, cluster = 2, arch = "sm_90a")]
pub fn blocks_that_leave(
    a: TensorMap<Swizzled<f16, 32, 64>>,
    first: u32,
    second: u32,
    x: &[u32],
    stages: TensorPipeline<(Half, Multicast<Half>), 2, 1, 2>,
) {
    let (way, thread) = (if thread::block_idx_x().is_multiple_of(2) { first } else { second }, thread::thread_idx_x());
    if way == PANICS || way == PANICS_IN_PART && thread >= 100 {
        assert!(x.is_empty(), "the block panics");
    }
    if way == RETURNS_LATE {
        cuda_std::sync::nanosleep(100_000);
        // Other threads do not wait for threads that have returned.
        if thread < 64 {
            return;
        }
        sync_threads();
        return;
    }
    if way == RETURNS || way == PANICS_IN_PART || way == RETURNS_IN_PART && thread < 64 {
        return;
    }
    stages.roles::<40, 216>(
        |producer| {
            for _ in 0..4 {
                producer.acquire().fill(a.at([0, 0]), a.at([0, 0]));
            }
        },
        |consumer| {
            for _ in 0..4 {
                drop(consumer.wait());
            }
        },
    );
}

/// The same where a whole product follows.
#[kernel(block = 384, min_blocks = 1, cluster = 2, arch = "sm_90a")]
pub fn product_without_a_block(
    a: TensorMap<Whole>,
    b: TensorMap<Half>,
    leaves: u32,
    c: MatrixOutput<f32, Tiling<128, 128, 8, 2>>,
    stages: TensorPipeline<(Whole, Multicast<Whole>), 4, 2, 2>,
) {
    if thread::block_idx_x() % 2 != leaves {
        product((a, b), stages, c, |_, sum: f32| sum);
    }
}

/// The blocks of a cluster return one after the other, while those that are left read the memory of all.
#[kernel(block = 64, cluster = 4, arch = "sm_90")]
pub fn blocks_that_return_one_by_one(
    lengths: u32,
    mut sums: DisjointSlice<u32>,
    mut own: ClusterShared<Tile<u32, 64>>,
) {
    let rank = own.rank();
    // A byte for each block.
    let rounds = lengths >> (8 * rank) & 0xff;
    let mut sum = 0;
    for round in 0..rounds {
        *own.own() = 10 * round + rank;
        let all = own.sync();
        sum += all.blocks().map(|block| block[63 - thread::thread_idx_x() as usize]).sum::<u32>();
        own = all.sync();
    }
    if let Some(own) = sums.own() {
        *own = sum;
    }
}

/// Attacks by these kernels: each is a panic, and neither a wrong result nor a lost context.
#[cfg(not(target_arch = "nvptx64"))]
pub mod attacks {
    use cuda_std::half::f16;
    use cuda_std::launch::Call;
    use rumba::array::Array;
    use rumba::{DeviceBuffer, Error, Result};

    use super::{PANICS, PANICS_IN_PART, RETURNS, RETURNS_IN_PART, RETURNS_LATE};
    use crate::Target;

    const PRODUCT: &str = "all threads of a block compute a product together, of the same operands";
    const BLOCK: &str =
        "all threads of a block take a role in a tensor pipeline together, with the same operands and results";
    const CLUSTER: &str = "all threads of all blocks of a cluster take a role in a tensor pipeline together, with the same operands and results";

    /// Launches, and expects a panic with this message. The context remains usable.
    fn panics(target: &Target, launch: (u32, u32), call: Call<'_>, expected: &str) {
        let launched = target.module.launch(launch, call);
        match launched.and_then(|()| target.device.synchronize()) {
            Err(Error::Panic(panic)) if panic.message.contains(expected) => {}
            other => panic!("{other:?} instead of a panic with `{expected}`"),
        }
    }

    fn halves(target: &Target, count: usize) -> Result<DeviceBuffer<f16>> {
        target.device.buffer_from(&vec![f16::ONE; count])
    }

    /// Barriers are not counted by one thread's operand, and passed by another's.
    pub fn product_of_operands_by_thread(target: &Target) -> Result<()> {
        let device = &target.device;
        let (short, long) = (Array::full(device, [1, 300, 16], 1.0_f32)?, Array::full(device, [1, 300, 256], 1.0_f32)?);
        let b = Array::full(device, [1, 256, 128], 1.0_f32)?;
        let mut c = Array::<f32, 3>::zeros(device, [1, 300, 128])?;
        for from in [1, 31, 128, 255] {
            let call = super::operands_by_thread(&short, &long, &b, from, 9, &mut c);
            panics(target, (1, 256), call, PRODUCT);
        }
        // The same in all threads, or in those of a block.
        for (from, block, sums) in [(0, 9, [256.0, 256.0]), (256, 9, [16.0, 16.0]), (256, 1, [16.0, 256.0])] {
            target.module.launch((2, 256), super::operands_by_thread(&short, &long, &b, from, block, &mut c))?;
            let c = c.to_vec()?;
            assert_eq!([c[0], c[299 * 128]], sums);
        }
        Ok(())
    }

    /// The same by warps.
    pub fn product_of_operands_by_warp(target: &Target) -> Result<()> {
        let device = &target.device;
        let (short, long) = (Array::full(device, [1, 64, 16], 1.0_f64)?, Array::full(device, [1, 64, 256], 1.0_f64)?);
        let b = Array::full(device, [1, 256, 64], 1.0_f64)?;
        let mut c = Array::<f64, 3>::zeros(device, [1, 64, 64])?;
        for from in [1, 64, 127] {
            panics(target, (1, 128), super::operands_by_warp(&short, &long, &b, from, &mut c), PRODUCT);
        }
        target.module.launch((1, 128), super::operands_by_warp(&short, &long, &b, 0, &mut c))?;
        assert_eq!(c.to_vec()?, [256.0; 64 * 64]);
        // The same lengths, but another order of elements.
        let turned = Array::full(device, [1, 256, 64], 1.0_f64)?;
        let call = super::operands_by_warp(turned.view().permute([0, 2, 1]), &long, &b, 64, &mut c);
        panics(target, (1, 128), call, PRODUCT);
        Ok(())
    }

    /// Whether elements are written from registers, or by way of shared memory.
    pub fn product_of_values_by_thread(target: &Target) -> Result<()> {
        let device = &target.device;
        let a = Array::full(device, [1, 256, 16], 1.0_f32)?;
        let b = Array::full(device, [1, 16, 128], 1.0_f32)?;
        let mut c = Array::<f32, 3>::zeros(device, [1, 256, 128])?;
        for from in [1, 100, 255] {
            panics(target, (1, 256), super::values_by_thread(&a, &b, from, &mut c), PRODUCT);
        }
        for from in [0, 256] {
            target.module.launch((1, 256), super::values_by_thread(&a, &b, from, &mut c))?;
            assert_eq!(c.to_vec()?, [16.0; 256 * 128]);
        }
        Ok(())
    }

    /// How many tiles there are.
    pub fn product_of_outputs_by_thread(target: &Target) -> Result<()> {
        let device = &target.device;
        let a = Array::full(device, [1, 300, 16], 1.0_f32)?;
        let b = Array::full(device, [1, 16, 128], 1.0_f32)?;
        let mut c = Array::<f32, 3>::zeros(device, [1, 8, 128])?;
        let mut d = Array::<f32, 3>::zeros(device, [1, 300, 128])?;
        for from in [1, 128] {
            panics(target, (1, 256), super::outputs_by_thread(&a, &b, from, &mut c, &mut d), PRODUCT);
        }
        for from in [0, 256] {
            target.module.launch((1, 256), super::outputs_by_thread(&a, &b, from, &mut c, &mut d))?;
        }
        assert!(c.to_vec()?.iter().chain(&d.to_vec()?).all(|sum| *sum == 16.0));
        Ok(())
    }

    /// Threads that have returned copy no terms.
    pub fn product_without_some_threads(target: &Target) -> Result<()> {
        let device = &target.device;
        let a = Array::full(device, [1, 256, 16], 1.0_f32)?;
        let b = Array::full(device, [1, 16, 128], 1.0_f32)?;
        let mut c = Array::<f32, 3>::zeros(device, [1, 256, 128])?;
        for from in [1, 128, 255] {
            panics(target, (1, 256), super::product_without_some(&a, &b, from, &mut c), PRODUCT);
        }
        target.module.launch((1, 256), super::product_without_some(&a, &b, 0, &mut c))?;
        assert_eq!(c.to_vec()?, [0.0; 256 * 128]);
        Ok(())
    }

    /// The producer does not fill fewer stages than consumers take.
    pub fn tensor_product_of_maps_by_thread(target: &Target) -> Result<()> {
        let (a, long) = (halves(target, 128 * 64)?, halves(target, 128 * 640)?);
        let mut c = target.device.zeros::<f32>(128 * 128)?;
        for from in [1, 128, 256, 383] {
            let call = super::maps_by_thread(
                (&a, [128, 64]),
                (&long, [128, 640]),
                (&long, [128, 640]),
                from,
                (&mut c, [128, 128]),
            );
            panics(target, (1, 384), call, BLOCK);
        }
        for (from, sum) in [(0, 640.0), (384, 64.0)] {
            let call = super::maps_by_thread(
                (&a, [128, 64]),
                (&long, [128, 640]),
                (&long, [128, 640]),
                from,
                (&mut c, [128, 128]),
            );
            target.module.launch((1, 384), call)?;
            assert_eq!(c.to_vec()?, [sum; 128 * 128]);
        }
        Ok(())
    }

    /// Nor do blocks that copy for each other.
    pub fn tensor_product_of_maps_by_block(target: &Target) -> Result<()> {
        let (a, long, right) = (halves(target, 256 * 64)?, halves(target, 256 * 640)?, halves(target, 128 * 640)?);
        let mut c = target.device.zeros::<f32>(256 * 128)?;
        let b = [128, 640];
        for grid in [2, 4] {
            let call = super::maps_by_block((&a, [256, 64]), (&long, [256, 640]), (&right, b), 1, (&mut c, [256, 128]));
            panics(target, (grid, 384), call, CLUSTER);
        }
        for (from, sum) in [(0, 640.0), (2, 64.0)] {
            let call =
                super::maps_by_block((&a, [256, 64]), (&long, [256, 640]), (&right, b), from, (&mut c, [256, 128]));
            target.module.launch((2, 384), call)?;
            assert_eq!(c.to_vec()?, [sum; 256 * 128]);
        }
        Ok(())
    }

    /// The producer does not bring fewer tiles than consumers write.
    pub fn tensor_product_of_outputs_by_thread(target: &Target) -> Result<()> {
        let a = halves(target, 300 * 64)?;
        let mut c = target.device.zeros::<f32>(128 * 128)?;
        let mut d = target.device.zeros::<f32>(300 * 128)?;
        for from in [1, 128, 256] {
            let (c, d) = ((&mut c, [128, 128]), (&mut d, [300, 128]));
            let call = super::matrices_by_thread((&a, [300, 64]), (&a, [300, 64]), from, c, d);
            panics(target, (1, 384), call, BLOCK);
        }
        Ok(())
    }

    /// Barriers that no thread made are not waited for.
    pub fn tensor_product_of_exchanges_by_thread(target: &Target) -> Result<()> {
        let a = halves(target, 64 * 256)?;
        let mut c = target.device.zeros::<f32>(64 * 64)?;
        for from in [1, 128, 200] {
            let call = super::exchanges_by_thread((&a, [64, 256]), (&a, [64, 256]), from, (&mut c, [64, 64]));
            panics(target, (2, 256), call, CLUSTER);
        }
        for from in [0, 256] {
            let call = super::exchanges_by_thread((&a, [64, 256]), (&a, [64, 256]), from, (&mut c, [64, 64]));
            target.module.launch((2, 256), call)?;
            assert_eq!(c.to_vec()?, [256.0; 64 * 64]);
        }
        Ok(())
    }

    /// No block arrives at barriers, or copies to stages, of one that has ended.
    pub fn block_leaves_before_roles(target: &Target) -> Result<()> {
        let a = halves(target, 64 * 64)?;
        let x = [1_u32];
        for (first, second, message) in [
            (RETURNS, 0, CLUSTER),
            (0, RETURNS, CLUSTER),
            (0, RETURNS_LATE, CLUSTER),
            (RETURNS_LATE, 0, CLUSTER),
            (0, RETURNS_IN_PART, CLUSTER),
            (RETURNS_IN_PART, RETURNS, CLUSTER),
            (PANICS, 0, "the block panics"),
            (0, PANICS, "the block panics"),
            (0, PANICS_IN_PART, "the block panics"),
            (PANICS, RETURNS, "the block panics"),
        ] {
            let call = super::blocks_that_leave((&a, [64, 64]), first, second, &x);
            panics(target, (4, 256), call, message);
        }
        // A cluster that returns as a whole has no roles.
        for (first, second) in [(0, 0), (RETURNS, RETURNS), (RETURNS, RETURNS_LATE), (RETURNS_LATE, RETURNS_LATE)] {
            target.module.launch((4, 256), super::blocks_that_leave((&a, [64, 64]), first, second, &x))?;
        }
        target.device.synchronize()
    }

    /// Other blocks read the last contents of the memory of a block that has returned.
    pub fn blocks_return_one_by_one(target: &Target) -> Result<()> {
        for lengths in [[1_u32, 2, 3, 4], [4, 1, 1, 1], [1, 5, 5, 1], [3, 3, 3, 3], [1, 1, 1, 9]] {
            let mut sums = [0_u32; 8 * 64];
            let packed = lengths.iter().rev().fold(0, |packed, length| packed << 8 | length);
            target.module.launch((8, 64), super::blocks_that_return_one_by_one(packed, &mut sums))?;
            for (i, sum) in sums.iter().enumerate() {
                let own = lengths[i / 64 % 4];
                let seen =
                    |round: u32| (0..4).map(|block| 10 * round.min(lengths[block] - 1) + block as u32).sum::<u32>();
                assert_eq!(*sum, (0..own).map(seen).sum::<u32>(), "{lengths:?}, thread {i}");
            }
        }
        Ok(())
    }

    /// The same where a whole product follows.
    pub fn block_leaves_before_a_product(target: &Target) -> Result<()> {
        let (a, b) = (halves(target, 256 * 64)?, halves(target, 128 * 64)?);
        let mut c = target.device.zeros::<f32>(256 * 128)?;
        for leaves in [0, 1] {
            let call = super::product_without_a_block((&a, [256, 64]), (&b, [128, 64]), leaves, (&mut c, [256, 128]));
            panics(target, (2, 384), call, CLUSTER);
        }
        let call = super::product_without_a_block((&a, [256, 64]), (&b, [128, 64]), 2, (&mut c, [256, 128]));
        target.module.launch((2, 384), call)?;
        assert_eq!(c.to_vec()?, [64.0; 256 * 128]);
        Ok(())
    }
}
