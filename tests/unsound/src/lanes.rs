//! Lanes, groups and shared memory that are used otherwise than they are meant.

use cuda_std::groups::{coalesced_threads, tiled_partition};
use cuda_std::prelude::*;
use cuda_std::{print, println};

/// Shuffles with masks, widths and lanes that the host chooses.
#[kernel]
pub fn shuffles(mask: u32, lane: u32, width: u32, mut y: Disjoint<[u32; 4], PerThread<1>>) {
    let own = thread::thread_idx_x();
    let got = [
        warp::shfl_sync(mask, own, lane, width),
        warp::shfl_up_sync(mask, own, lane, width),
        warp::shfl_down_sync(mask, own, lane, width),
        warp::shfl_xor_sync(mask, own, lane, width),
    ];
    if let Some(y) = y.own() {
        *y = got;
    }
}

/// A group of lanes of which some have returned when the others go on.
#[kernel]
pub fn group_after_its_lanes(from: u32, mut y: DisjointSlice<u32>) {
    let thread = thread::thread_idx_x();
    if thread >= from {
        return;
    }
    let group = coalesced_threads();
    let (rank, size) = (group.thread_rank(), group.size());
    let beyond = group.shfl(thread, size + 1000);
    let (up, down) = (group.shfl_up(thread, u32::MAX), group.shfl_down(thread, u32::MAX));
    let sum = group.reduce_sum(1_u32);
    if let Some(y) = y.own() {
        *y = sum + u32::from(rank >= size) + u32::from(beyond >= from) + u32::from(up != thread || down != thread);
    }
}

/// Tiles of lanes in a block that does not divide into them.
#[kernel]
pub fn tiles_of_a_short_warp(mut y: DisjointSlice<u32>) {
    let tile = tiled_partition::<8>();
    let together = tile.ballot(true);
    if let Some(y) = y.own() {
        *y = together | tile.meta_group_rank() << 8;
    }
}

/// Two threads exchange the tiles that the kernel gave them.
#[kernel]
pub fn tiles_exchanged(
    exchanges: u32,
    mut y: DisjointSlice<u32>,
    left: Shared<Tile<u32, 64>>,
    right: Shared<Tile<u32, 64>>,
) {
    let (mut left, mut right) = if exchanges == 0 { (left, right) } else { (right, left) };
    *left.own() = 11;
    *right.own() = 2;
    let (left, right) = if exchanges == 2 { (right, left) } else { (left, right) };
    let (left, right) = (left.sync(), right.sync());
    if let Some(y) = y.own() {
        *y = left[63] * 100 + right[0];
    }
}

/// Stages that are forgotten while copies to them are under way, and fetched from where there is nothing.
#[kernel(arch = "sm_80")]
pub fn stages_forgotten(x: &[u32], rounds: u32, mut y: DisjointSlice<u32>, tiles: Pipeline<Tile<u32, 64>>) {
    let mut stages = tiles.start();
    let mut sum = 0;
    for round in 0..rounds as usize {
        stages.fetch(|i| x.get((i + 64 * round).wrapping_sub(64)));
        stages.advance();
        stages.fetch(|i| x.get(usize::MAX - i));
        stages.fetch(|i| x.get(i));
        sum += stages.front()[63 - thread::thread_idx_x() as usize];
    }
    core::mem::forget(stages);
    if let Some(y) = y.own() {
        *y = sum;
    }
}

/// A slice of shared memory of any length, which each thread goes through.
#[kernel]
pub fn shared_slice_of_any_length(sums: &[Atomic<u32>], mut slice: SharedSlice<u32>) {
    slice.part().each(|i, own| *own = i as u32);
    let slice = slice.sync();
    let sum: u32 = slice.iter().sum();
    sums[0].fetch_add(sum + slice.get().get(slice.len()).copied().unwrap_or(0));
}

/// Atomic operations of other threads on a number, in all widths.
#[kernel]
pub fn numbers_of_all_widths(
    small: &[Atomic<u32>],
    large: &[Atomic<u64>],
    floats: &[Atomic<f32>],
    at: u32,
    signed: &[Atomic<i32>],
) {
    let at = at as usize;
    small[at].fetch_add(u32::MAX);
    large[at].fetch_max(u64::MAX - 1);
    floats[at].fetch_add(0.5);
    signed[at].fetch_min(i32::MIN);
}

/// Prints with what C takes for conversions.
#[kernel]
pub fn percent_signs(value: u32) {
    println!("100 %n %s %% {value} %hhn {:08} {}%", value, f32::NAN);
    print!("{}{}{}", true, '%', i64::MIN);
    println!();
}

/// Attacks by these kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub mod attacks {
    use cuda_std::launch::Elements;
    use rumba::{Error, Result};

    use crate::Target;

    /// Shuffles give some lane's value, whatever the numbers.
    pub fn shuffles_of_any_numbers(target: &Target) -> Result<()> {
        let mut y = [[0_u32; 4]; 32];
        for lane in [0, 31, 32, 33, 1 << 31, u32::MAX] {
            for width in [32, 16, 1] {
                target.module.launch((1, 32), super::shuffles(u32::MAX, lane, width, &mut y))?;
                assert!(y.iter().flatten().all(|value| *value < 32), "{lane} {width}: {y:?}");
            }
        }
        Ok(())
    }

    /// Groups consist of the active lanes.
    pub fn groups_of_some_lanes(target: &Target) -> Result<()> {
        for from in [1, 7, 32, 45] {
            let mut y = [0_u32; 64];
            target.module.launch((1, 64), super::group_after_its_lanes(from, &mut y))?;
            for (i, y) in y.iter().enumerate() {
                let lanes = (from as usize).saturating_sub(i / 32 * 32).min(32);
                assert_eq!(*y as usize, if i < from as usize { lanes } else { 0 }, "{from}, {i}");
            }
        }
        Ok(())
    }

    /// Exchanged tiles keep their barriers: in all threads, or in none.
    pub fn tiles_exchanged_by_all(target: &Target) -> Result<()> {
        for (exchanges, sum) in [(0, 1102), (1, 1102), (2, 211)] {
            let mut y = [0_u32; 64];
            target.module.launch((1, 64), super::tiles_exchanged(exchanges, &mut y))?;
            assert_eq!(y, [sum; 64]);
        }
        Ok(())
    }

    /// Copies that are under way when stages are forgotten, and when they are fetched twice.
    pub fn stages_forgotten_under_way(target: &Target) -> Result<()> {
        let x: Vec<u32> = (0..256).collect();
        let mut y = [0_u32; 64];
        for rounds in [0, 1, 3] {
            target.module.launch((1, 64), super::stages_forgotten(&x, rounds, &mut y))?;
            for (i, y) in y.iter().enumerate() {
                let expected: usize =
                    (0..rounds as usize).map(|round| if round == 0 { 0 } else { 64 * (round - 1) + 63 - i }).sum();
                assert_eq!(*y as usize, expected, "{rounds} rounds, thread {i}");
            }
        }
        Ok(())
    }

    /// Shared slices with no elements, with few, and with as many as fit.
    pub fn shared_slices_of_any_length(target: &Target) -> Result<()> {
        for length in [0_usize, 1, 33, 12 << 10] {
            let mut sums = [0_u32];
            target.module.launch((1, 33), super::shared_slice_of_any_length(&mut sums, Elements(length)))?;
            let sum = (0..length as u32).fold(0_u32, u32::wrapping_add);
            assert_eq!(sums, [sum.wrapping_mul(33)], "{length}");
        }
        Ok(())
    }

    /// An atomic number beyond a slice is a panic; others wrap around.
    pub fn atomic_numbers_at_the_ends(target: &Target) -> Result<()> {
        let (mut small, mut large, mut floats, mut signed) = ([5_u32; 2], [7_u64; 2], [1.0_f32; 2], [3_i32; 2]);
        let call = super::numbers_of_all_widths(&mut small, &mut large, &mut floats, 1, &mut signed);
        target.module.launch((2, 64), call)?;
        assert_eq!((small, large), ([5, 5_u32.wrapping_sub(128)], [7, u64::MAX - 1]));
        assert_eq!((floats, signed), ([1.0, 65.0], [3, i32::MIN]));
        for at in [2, u32::MAX] {
            let call = super::numbers_of_all_widths(&mut small, &mut large, &mut floats, at, &mut signed);
            let launched = target.module.launch((2, 64), call);
            assert!(matches!(launched, Err(Error::Panic(_))), "{launched:?}");
        }
        Ok(())
    }

    /// Text is printed as it stands in the source.
    pub fn text_with_percent_signs(target: &Target) -> Result<()> {
        target.module.launch((1, 2), super::percent_signs(42))?;
        target.device.synchronize()
    }

    /// A short last warp has short tiles.
    pub fn tiles_of_a_short_last_warp(target: &Target) -> Result<()> {
        let mut y = [0_u32; 44];
        target.module.launch((1, 44), super::tiles_of_a_short_warp(&mut y))?;
        for (i, y) in y.iter().enumerate() {
            let lanes = if i < 40 { 0xff } else { 0x0f };
            assert_eq!(y & 0xff, lanes, "{i}");
        }
        Ok(())
    }
}
