//! Indices and counts that overflow, or lie outside: each thread still reaches its own elements only.

use cuda_std::half::f16;
use cuda_std::mma::{FragmentA, FragmentB, FragmentC, Fragments};
use cuda_std::prelude::*;

/// Stores a tile of four numbers for each thread in a round that the host chooses.
#[kernel]
pub fn store_round(round: u64, mut y: Disjoint<u32, Rounds<[VectorOf<4>; 1]>>) {
    y.store(round as usize, [[1 + thread::block_idx_x(); 4]]);
}

/// Stores in two rounds: where the second is another block's, two threads write one element.
#[kernel]
pub fn store_two_rounds(round: u64, mut y: Disjoint<u32, Rounds<[VectorOf<4>; 1]>>) {
    y.store(0, [[1; 4]]);
    y.store(round as usize, [[2; 4]]);
}

/// Loads in a round that the host chooses.
#[kernel]
pub fn load_round(round: u64, x: &[u32], mut y: Disjoint<u32, Rounds<[VectorOf<4>; 1]>>) {
    let values = y.load(x, round as usize);
    y.store(0, values);
}

/// Changes the `k`-th element of the thread's part of a tile.
#[kernel]
pub fn part_of_tile(k: u64, mut out: DisjointSlice<u32>, mut tile: Shared<Tile<u32, 64>>) {
    *tile.own() = 0;
    let mut part = tile.part();
    part[k as usize] = 100 + thread::thread_idx_x();
    let tile = tile.sync();
    if let Some(out) = out.own() {
        *out = tile[thread::thread_idx_x() as usize];
    }
}

/// The same in dynamic shared memory.
#[kernel]
pub fn part_of_shared_slice(k: u64, mut out: DisjointSlice<u32>, mut keys: SharedSlice<u32>) {
    if let Some(own) = keys.own() {
        *own = 0;
    }
    if let Some(own) = keys.part().get_mut(k as usize) {
        *own = 100 + thread::thread_idx_x();
    }
    let keys = keys.sync();
    if let Some(out) = out.own() {
        *out = keys[thread::thread_idx_x() as usize];
    }
}

/// Loads a fragment from a row of a tile that the host chooses. Another tile lies beside it.
#[kernel]
pub fn rows_of_fragment(
    row: u64,
    mut out: Disjoint<f32, Fragments<16, 8>>,
    mut other: Shared<Table2<f16, 32, 16>>,
    mut tile: Shared<Table2<f16, 32, 16>>,
) {
    other.part().each(|_, element| *element = f16::from_f32(3.0));
    tile.part().each(|_, element| *element = f16::from_f32(1.0));
    let tile = tile.sync();
    let a = FragmentA::<f16>::from_rows(&*tile, row as usize, 0);
    let b = FragmentB::<f16>::load(|i, j| f16::from_f32(if i == j { 1.0 } else { 0.0 }));
    let mut c = FragmentC::<f16>::zero();
    c.multiply_add(&a, &b);
    out.store(0, &c);
    let _ = other.sync();
}

/// Stores fragments in two steps: where the second is another warp's, two threads write one element.
#[kernel]
pub fn steps_of_fragments(step: u64, mut c: Disjoint<f32, Fragments<16, 24>>) {
    let sum = FragmentC::<f16>::zero();
    c.store(0, &sum);
    c.store(step as usize, &sum);
}

/// Runs a loop over the grid up to an end that the host chooses.
#[kernel]
pub fn strides_up_to(end: u64, seen: &[Atomic<u32>]) {
    let mut rounds = 0_u32;
    for i in grid_stride(end as usize) {
        rounds += 1;
        if i >= end as usize || rounds > 4 {
            break;
        }
    }
    if rounds > 4 {
        seen[0].fetch_add(1);
    }
}

/// Reads an element of a view whose index the host chooses.
#[kernel]
pub fn index_of_view(row: u64, column: u64, x: View<u32, 2>, mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = x.get([row as usize, column as usize]).copied().unwrap_or(7);
    }
}

/// Makes a view of a shape that the host chooses.
#[kernel]
pub fn shape_of_view(rows: u64, columns: u64, x: &[u32], mut y: DisjointSlice<u32>) {
    let view = cuda_std::view::View2::new(x, [rows as usize, columns as usize]);
    if let Some(y) = y.own() {
        *y = view.get([rows as usize - 1, 0]).copied().unwrap_or(7);
    }
}

/// Takes a value from a lane that the host chooses.
#[kernel]
pub fn lane_of_warp(lane: u32, mut y: DisjointSlice<u32>) {
    let value = warp::shuffle(thread::thread_idx_x(), lane);
    if let Some(y) = y.own() {
        *y = value;
    }
}

/// Attacks by these kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub mod attacks {
    use crate::Target;
    use cuda_std::launch::Elements;
    use rumba::{Error, Result};

    /// The number by which an odd one is 1, modulo 2⁶⁴.
    fn inverse(odd: u64) -> u64 {
        let mut inverse: u64 = 1;
        for _ in 0..6 {
            inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
        }
        inverse
    }

    /// The outcome of a launch: a kernel may panic at a bad index, or ignore the index.
    fn or_panic(outcome: Result<()>) -> Result<()> {
        match outcome {
            Err(Error::Panic(_)) => Ok(()),
            other => other,
        }
    }

    /// Runs a launch on the middle of a buffer, and looks whether the rest of it has changed.
    fn on_the_middle(
        target: &Target,
        length: usize,
        launch: impl FnOnce(rumba::DeviceSliceMut<'_, u32>) -> Result<()>,
    ) -> Result<Vec<u32>> {
        const OUTSIDE: u32 = 99;
        let mut buffer = target.device.buffer_from(&vec![OUTSIDE; 3 * length])?;
        or_panic(launch(buffer.slice_mut(length..2 * length)))?;
        or_panic(target.device.synchronize())?;
        let values = buffer.to_vec()?;
        assert!(values[..length].iter().all(|&value| value == OUTSIDE), "before the slice");
        assert!(values[2 * length..].iter().all(|&value| value == OUTSIDE), "behind the slice");
        Ok(values[length..2 * length].to_vec())
    }

    /// Three blocks: the third part of 2⁶⁴ rounds would be another block's tile.
    pub fn rounds_store_wraps(target: &Target) -> Result<()> {
        let values = on_the_middle(target, 384, |y| target.module.launch((3, 32), super::store_round(inverse(3), y)))?;
        assert!(values.iter().all(|&value| value == 99), "no round of the slice was stored to");
        on_the_middle(target, 384, |y| target.module.launch((3, 32), super::store_two_rounds(inverse(3), y)))?;
        Ok(())
    }

    /// Blocks of 33 threads: the last whole tile below 2⁶⁴ would begin before the slice.
    pub fn rounds_reach_before_the_slice(target: &Target) -> Result<()> {
        on_the_middle(target, 132, |y| target.module.launch((1, 33), super::store_round(u64::MAX / 132, y)))?;
        Ok(())
    }

    /// The same rounds, read instead of written.
    pub fn rounds_load_wraps(target: &Target) -> Result<()> {
        let x = target.device.buffer_from(&[[1_u32; 132], [2; 132], [3; 132]].concat())?;
        for round in [1, inverse(33), u64::MAX / 132, u64::MAX] {
            let x = x.slice(132..264);
            on_the_middle(target, 132, |y| target.module.launch((1, 33), super::load_round(round, x, y)))?;
        }
        Ok(())
    }

    /// A part's index that would wrap to the next thread's element.
    pub fn part_wraps(target: &Target) -> Result<()> {
        for k in [inverse(33), u64::MAX, 2, 1 << 63] {
            let values = on_the_middle(target, 33, |out| target.module.launch((1, 33), super::part_of_tile(k, out)))?;
            assert!(values.iter().all(|&value| value == 0 || value == 99), "another thread's: {values:?}");
        }
        Ok(())
    }

    /// The same in dynamic shared memory.
    pub fn shared_slice_part_wraps(target: &Target) -> Result<()> {
        for k in [inverse(33), u64::MAX, 2, 1 << 63] {
            let values = on_the_middle(target, 33, |out| {
                target.module.launch((1, 33), super::part_of_shared_slice(k, out, Elements(34)))
            })?;
            assert!(values.iter().all(|&value| value == 0 || value == 99), "another thread's: {values:?}");
        }
        Ok(())
    }

    /// A row so large that adding the height of the fragment wraps.
    pub fn fragment_rows_wrap(target: &Target) -> Result<()> {
        for row in [u64::MAX - 15, u64::MAX - 7, u64::MAX, 17, 1 << 60] {
            let mut y = vec![0.0_f32; 128];
            or_panic(target.module.launch((1, 32), super::rows_of_fragment(row, (&mut y, [16, 8]))))?;
            assert!(y.iter().all(|&value| value != 3.0), "row {row} reaches the other tile");
        }
        Ok(())
    }

    /// A step that would be another warp's.
    pub fn fragment_place_wraps(target: &Target) -> Result<()> {
        for step in [inverse(3), u64::MAX, 1 << 62] {
            let mut c = vec![1.0_f32; 16 * 24];
            or_panic(target.module.launch((1, 96), super::steps_of_fragments(step, (&mut c, [16, 24]))))?;
        }
        Ok(())
    }

    /// A loop whose last step would go round the numbers and begin again.
    pub fn grid_stride_at_the_end(target: &Target) -> Result<()> {
        let seen = target.device.zeros::<u32>(1)?;
        let mut seen = seen;
        for end in [64, 65, 128] {
            target.module.launch((1, 64), super::strides_up_to(end, &mut seen))?;
        }
        assert_eq!(seen.to_vec()?, [0], "more rounds than there are");
        Ok(())
    }

    /// Indices whose offset wraps.
    pub fn view_index_wraps(target: &Target) -> Result<()> {
        let x: Vec<u32> = (0..64).collect();
        for (row, column) in [(u64::MAX, 0), (0, u64::MAX), (1 << 61, 8), (1 << 32, 0), (8, 0), (0, 8), (inverse(9), 1)]
        {
            let mut y = [0];
            target.module.launch((1, 1), super::index_of_view(row, column, (&x, [8, 8]), &mut y))?;
            assert_eq!(y, [7], "there is no element [{row}, {column}]");
        }
        Ok(())
    }

    /// A shape whose product wraps to the number of elements.
    pub fn view_new_wraps(target: &Target) -> Result<()> {
        let x: Vec<u32> = (0..64).collect();
        for (rows, columns) in [(1 << 63, 2), ((1 << 62) + 16, 4), (65, 1), (inverse(5).wrapping_mul(64), 5)] {
            let mut y = [7];
            or_panic(target.module.launch((1, 1), super::shape_of_view(rows, columns, &x, &mut y)))?;
            assert_eq!(y, [7], "there is no shape {rows} x {columns}");
        }
        Ok(())
    }

    /// Lanes beyond the warp: the instruction takes the number modulo 32, and every value is some lane's.
    pub fn shuffle_from_beyond_the_warp(target: &Target) -> Result<()> {
        for lane in [32, 33, u32::MAX, 1 << 31] {
            let mut y = [99_u32; 32];
            target.module.launch((1, 32), super::lane_of_warp(lane, &mut y))?;
            assert_eq!(y, [lane % 32; 32]);
        }
        Ok(())
    }
}
