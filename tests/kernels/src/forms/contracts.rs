//! Kernels that state something about their launches.

use cuda_std::prelude::*;
use cuda_std::shared::{dynamic_shared_bytes, dynamic_shared_mem};

/// Rows and columns of a block of [`exact_2d`].
pub const TILE: usize = 16;

/// Blocks of one shape: each thread writes how many threads its block has.
#[kernel(block = 128)]
pub fn exact_1d(mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = thread::block_dim_x();
    }
}

/// The same in two dimensions, with a constant of the crate, and room for two blocks.
#[kernel(block = (TILE, TILE as u32), min_blocks = 2)]
pub fn exact_2d(mut y: Disjoint<u32, PerThread<2>>) {
    if let Some(y) = y.own() {
        *y = thread::block_dim_x() * thread::block_dim_y();
    }
}

/// Blocks of any shape up to a size.
#[kernel(max_threads = 256, min_blocks = 4)]
pub fn at_most(mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = thread::block_dim_x();
    }
}

/// Few registers.
#[kernel(max_registers = 32)]
pub fn few_registers(mut y: DisjointSlice<u32>) {
    if let Some(y) = y.own() {
        *y = 1;
    }
}

/// Reverses each block through dynamic shared memory, and writes how many bytes there are of it.
#[kernel(block = 64, dynamic_shared = 64 * size_of::<u32>())]
pub fn dynamic(x: &[u32], mut y: DisjointSlice<u32>, mut bytes: Disjoint<u64, PerBlock>) {
    let tile = dynamic_shared_mem::<u32>();
    let own = thread::thread_idx_x() as usize;
    // SAFETY: the memory has 64 words, and a block 64 threads; each writes its own before the barrier.
    unsafe { *tile.add(own) = x[grid::<1>()] };
    sync_threads();
    if let Some(y) = y.own() {
        // SAFETY: no thread writes after the barrier.
        *y = unsafe { *tile.add(63 - own) };
    }
    if let Some(bytes) = bytes.own() {
        *bytes = dynamic_shared_bytes() as u64;
    }
}

/// All blocks meet: each adds one to a counter and waits until all have.
#[kernel(cooperative)]
pub fn meet(arrived: &[Atomic<u32>], mut seen: Disjoint<u32, PerBlock>) {
    let blocks = thread::grid_dim_x();
    if let Some(seen) = seen.own() {
        arrived[0].fetch_add(1);
        while arrived[0].load() < blocks {}
        *seen = arrived[0].load();
    }
}

/// The same division twice: exact, and with fast mathematics.
#[kernel]
pub fn divide(x: &[f32], mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        *y /= x[i];
    }
}

/// See [`divide`].
#[kernel(fast_math, block = 32)]
pub fn divide_fast(x: &[f32], mut y: DisjointSlice<f32>) {
    let i = grid::<1>();
    if let Some(y) = y.get_mut(i) {
        *y /= x[i];
    }
}

/// Functions of one name, whose kernels have different ones.
pub mod first {
    use cuda_std::prelude::*;

    /// Writes 1.
    #[kernel]
    pub fn same_name(mut y: DisjointSlice<u32>) {
        if let Some(y) = y.own() {
            *y = 1;
        }
    }
}

/// The second of these.
pub mod second {
    use cuda_std::Element;
    use cuda_std::prelude::*;

    /// Writes 2.
    #[kernel(name = "second_of_its_name")]
    pub fn same_name(mut y: DisjointSlice<u32>) {
        if let Some(y) = y.own() {
            *y = 2;
        }
    }

    /// Writes a value, by kernels that have its type's name behind their own.
    #[kernel(T = [u32, f64], name = "fill_by_name")]
    pub fn fill<T: Element + Copy>(value: T, mut y: DisjointSlice<T>) {
        if let Some(y) = y.own() {
            *y = value;
        }
    }

    /// Twice as much.
    #[vectorize(name = "twice_by_name")]
    #[must_use]
    pub fn twice(x: f32) -> f32 {
        2.0 * x
    }
}
