//! Blocks that wait for others of their grid, which have panicked: the host is told, instead of waiting for ever.

use cuda_std::algorithms::LookBack;
use cuda_std::groups::GridGroup;
use cuda_std::prelude::*;

/// All threads of a block panic, or one of them, or none; the others wait for all.
#[kernel(cooperative)]
pub fn panic_before_the_grid_meets(grid: GridGroup, block: u32, from: u32, x: &[u32], seen: &[Atomic<u32>]) {
    for round in 0..3 {
        if thread::block_idx_x() == block && thread::thread_idx_x() >= from && round == 1 {
            assert!(x.is_empty(), "a block panics");
        }
        grid.sync();
        seen[0].fetch_add(1);
    }
}

/// A block panics before it publishes what others wait for.
#[kernel(block = 32)]
pub fn panic_before_a_sum(x: &[u32], limit: u32, published: &[Atomic<u64>], mut sums: Disjoint<u32, PerBlock>) {
    let own = x[thread::block_idx_x() as usize];
    assert!(own < limit, "a block panics");
    let look_back = LookBack::of_block(published);
    let mut before = 0;
    look_back.wait(&own, 1000, |_, earlier: u32| before += earlier);
    let end = warp::reduce_sum(before) + own;
    look_back.publish_end(|| Some(end));
    if let Some(sum) = sums.own() {
        *sum = end;
    }
}

/// Attacks by these kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub mod attacks {
    use cuda_std::algorithms::scan_places;
    use rumba::{Error, Result};

    use crate::Target;

    fn is_panic(outcome: Result<()>) {
        assert!(matches!(&outcome, Err(Error::Panic(panic)) if panic.message == "a block panics"), "{outcome:?}");
    }

    /// Blocks do not wait for one that does not come to the barrier of the grid.
    pub fn grid_without_a_block(target: &Target) -> Result<()> {
        for (block, from) in [(1, 0), (0, 0), (0, 1), (3, 63)] {
            let (x, mut seen) = ([1_u32], [0_u32]);
            let call = super::panic_before_the_grid_meets(block, from, &x, &mut seen);
            is_panic(target.module.launch((4, 64), call));
        }
        let (x, mut seen) = ([1_u32], [0_u32]);
        target.module.launch((4, 64), super::panic_before_the_grid_meets(4, 0, &x, &mut seen))?;
        assert_eq!(seen, [3 * 4 * 64]);
        Ok(())
    }

    /// Nor for a sum that no block publishes.
    pub fn scan_without_a_block(target: &Target) -> Result<()> {
        let mut x = [1_u32; 300];
        for wrong in [Some(0), Some(127), Some(130), None] {
            if let Some(wrong) = wrong {
                x[wrong] = 7;
            }
            let mut published = target.device.zeros::<u64>(scan_places(300))?;
            let mut sums = target.device.zeros::<u32>(300)?;
            let call = super::panic_before_a_sum(&x, 2, &mut published, &mut sums);
            let outcome = target.module.launch((300, 32), call).and_then(|()| target.device.synchronize());
            match wrong {
                Some(wrong) => {
                    is_panic(outcome);
                    x[wrong] = 1;
                }
                None => {
                    outcome?;
                    assert_eq!(sums.to_vec()?, (1..=300).collect::<Vec<u32>>());
                }
            }
        }
        Ok(())
    }
}
