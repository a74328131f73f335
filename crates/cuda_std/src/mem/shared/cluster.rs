//! Shared memory that the blocks of a cluster read of each other.

use core::marker::PhantomData;

use super::{Layout, PerWarp, SharedParameter, Storage, Table, Table2, Tile, Tile2, Tile3, enter};
use crate::abi::parameter::Element;
use crate::abi::record;
use crate::device::thread::{is_first_in_block, threads_in_block};
use crate::device::{cluster, intrinsics, waiting};
use bytemuck::Pod;

/// Shared memory of each block of a cluster (distributed shared memory), in the phase in which each thread has its own
/// elements of its block's. A parameter of a kernel, as [`Shared`](super::Shared) is, with the same layouts; the kernel states
/// its cluster, `#[kernel(cluster = 4)]`.
///
/// [`sync`](Self::sync) waits for all threads of the cluster, not of the block only, and gives a [`ClusterView`] in which every
/// thread reads the memory of every block. [`ClusterView::sync`] waits again and gives the elements back.
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// How often each of 64 values occurs: a block counts its own numbers, and each of the four blocks of a cluster adds up
/// /// what all have found for a quarter of the values.
/// #[kernel(cluster = 4, block = 64, arch = ["sm_90"])]
/// pub fn count(
///     x: &[u32],
///     counts: &[Atomic<u32>],
///     mut local: Shared<Table<Atomic<u32>, 64>>,
///     mut found: ClusterShared<Table<u32, 64>>,
/// ) {
///     local.part().each(|_, count| *count = Atomic::new(0));
///     let local = local.sync();
///     for i in grid_stride(x.len()) {
///         local[x[i] as usize % 64].fetch_add(1);
///     }
///     let mut local = local.sync();
///     if let (Some(count), Some(own)) = (local.own(), found.own()) {
///         *own = count.load();
///     }
///     let found = found.sync();
///     let value = thread::thread_idx_x();
///     if value / 16 == found.rank() {
///         let sum = found.blocks().map(|block| block[value as usize]).sum();
///         counts[value as usize].fetch_add(sum);
///     }
/// }
///
/// # fn main() {
/// let x: Vec<u32> = (0..1000).map(|i| i * i).collect();
/// let mut counts = [0; 64];
/// examples::launch((8, 64), count(&x, &mut counts));
/// assert!((0..64).all(|value| counts[value as usize] as usize == x.iter().filter(|x| *x % 64 == value).count()));
/// # examples::becomes("count", &["barrier.cluster.arrive.release", "barrier.cluster.wait.acquire", "mapa.u64"]);
/// # }
/// ```
///
/// A kernel has one of these, because the blocks of a cluster have one barrier; several tiles go into one, as a tuple. Its
/// elements are plain data, and not [`Atomic`](crate::atomic::Atomic) numbers, whose operations on shared memory order the
/// threads of one block only.
///
/// Why that is sound: all threads of the cluster that have not exited come to each barrier, so they have passed it equally
/// often, and with the protocol the count tells the phase, as for [`Shared`](super::Shared). A returning thread arrives
/// at the barrier once more, so that the memory of its block exists while other blocks read it in that phase. The last
/// thread of a block to return arrives at each further barrier until all blocks have returned, so that other blocks
/// read the last contents of the block's memory. If all threads of a block panic, an access to the block's memory by
/// another block ends the kernel with an error (CUDA's "cluster target block not present") and reads nothing.
#[derive(Debug)]
pub struct ClusterShared<'l, L: Plain> {
    memory: *mut L::Memory,
    launch: PhantomData<&'l ()>,
}

// SAFETY: what `Layout` promises, phase by phase. The macro lets a kernel have one of them, and nothing else in it uses the
// barrier of the cluster.
unsafe impl<L: Plain + 'static> SharedParameter for ClusterShared<'_, L> {
    type Memory = ClusterMemory<L::Memory>;
    type Value<'l> = ClusterShared<'l, L>;
    const BLOCK: [u32; 3] = L::BLOCK;
    const CLUSTERS: u32 = 1;

    #[inline(always)]
    unsafe fn assemble<const BARRIER: u32>(storage: &'static Storage<Self::Memory>) -> Self::Value<'static> {
        // SAFETY: the caller's.
        unsafe { enter::<L, BARRIER>() };
        let ended = ended(storage);
        if is_first_in_block() {
            // SAFETY: the counters, which no thread uses before the barrier.
            unsafe {
                waiting::store_word(ended.threads, 0);
                waiting::store_word(ended.blocks, 0);
            }
        }
        cluster::sync();
        ClusterShared {
            // SAFETY: inside of the storage.
            memory: unsafe { &raw mut (*storage.as_mut_ptr()).tile },
            launch: PhantomData,
        }
    }

    #[inline(always)]
    unsafe fn leave(storage: &'static Storage<Self::Memory>) {
        let (ended, blocks) = (ended(storage), intrinsics::blocks_in_cluster());
        // SAFETY: these are the counters. Other blocks keep their memory until they have counted all blocks.
        unsafe {
            let is_last = waiting::count_one(ended.threads) + 1 == threads_in_block();
            if is_last {
                for block in 0..blocks {
                    waiting::count_one_of(ended.blocks, block);
                }
            }
            loop {
                cluster::sync();
                if !is_last || waiting::word(ended.blocks) == blocks || record::has_panicked() {
                    break;
                }
            }
        }
    }
}

/// The memory of a block: its elements, how many of its threads have returned, and how many blocks of the cluster have.
#[derive(Debug)]
#[repr(C)]
pub struct ClusterMemory<M> {
    tile: M,
    threads: u32,
    blocks: u32,
}

/// Where the counters of a block are in shared memory.
#[derive(Clone, Copy)]
struct Ended {
    threads: u32,
    blocks: u32,
}

#[inline(always)]
fn ended<M>(storage: &'static Storage<ClusterMemory<M>>) -> Ended {
    let memory = storage.as_mut_ptr();
    let address = |word: *const u32| intrinsics::shared_address(word.cast());
    // SAFETY: inside of the storage.
    unsafe { Ended { threads: address(&raw const (*memory).threads), blocks: address(&raw const (*memory).blocks) } }
}

impl<'l, L: Plain> ClusterShared<'l, L> {
    /// The number of the calling block in its cluster. `%cluster_ctarank`; PTX 7.8, sm_90.
    #[inline(always)]
    #[must_use]
    pub fn rank(&self) -> u32 {
        intrinsics::rank_in_cluster()
    }

    /// How many blocks the cluster has. `%cluster_nctarank`; PTX 7.8, sm_90.
    #[inline(always)]
    #[must_use]
    pub fn size(&self) -> u32 {
        intrinsics::blocks_in_cluster()
    }

    /// This thread's own element: see [`Shared::own`](super::Shared::own).
    #[inline(always)]
    #[must_use]
    pub fn own(&mut self) -> L::Own<'_> {
        // SAFETY: it exists in the phase of own elements only, and is borrowed meanwhile.
        unsafe { L::own(self.memory) }
    }

    /// All elements that are this thread's: see [`Shared::part`](super::Shared::part).
    #[inline(always)]
    #[must_use]
    pub fn part(&mut self) -> L::Part<'_> {
        // SAFETY: as for `own`.
        unsafe { L::part(self.memory) }
    }

    /// Waits for all threads of all blocks of the cluster, and gives the memory of all blocks to all of them to read.
    ///
    /// Every thread of the cluster must come here; one that has returned from the kernel or panicked is not waited for.
    ///
    /// `barrier.cluster.arrive.release`, `barrier.cluster.wait.acquire`; PTX 7.8, sm_90.
    #[inline(always)]
    #[must_use = "the elements can be reached through the view only"]
    pub fn sync(self) -> ClusterView<'l, L> {
        cluster::sync();
        ClusterView { memory: self.memory, launch: PhantomData }
    }
}

/// Layouts whose elements are plain data: what the blocks of a cluster may have in common.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be what the blocks of a cluster have in common",
    note = "write a tile, a table or a tuple of them, whose elements are numbers or other plain data and not `Atomic`"
)]
pub trait Plain: Layout<Memory: Sized> + sealed::Plain {}

mod sealed {
    pub trait Plain {}
}

macro_rules! plain {
    ($($layout:ty, [$($generic:tt)*];)*) => {$(
        impl<$($generic)*> sealed::Plain for $layout {}
        impl<$($generic)*> Plain for $layout {}
    )*};
}

plain! {
    Tile<T, N>, [T: Element + Pod, const N: usize];
    Tile2<T, R, C, P>, [T: Element + Pod, const R: usize, const C: usize, const P: usize];
    Tile3<T, L, R, C>, [T: Element + Pod, const L: usize, const R: usize, const C: usize];
    Table<T, N>, [T: Element + Pod, const N: usize];
    Table2<T, R, C>, [T: Element + Pod, const R: usize, const C: usize];
    PerWarp<T, WARPS>, [T: Element + Pod, const WARPS: usize];
    (A, B), [A: Plain, B: Plain];
    (A, B, C), [A: Plain, B: Plain, C: Plain];
    (A, B, C, D), [A: Plain, B: Plain, C: Plain, D: Plain];
}

/// Shared memory of all blocks of a cluster in the phase in which every thread reads every element: see [`ClusterShared`].
#[derive(Debug)]
pub struct ClusterView<'l, L: Plain> {
    memory: *mut L::Memory,
    launch: PhantomData<&'l ()>,
}

impl<'l, L: Plain> ClusterView<'l, L> {
    /// The number of the calling block in its cluster. `%cluster_ctarank`; PTX 7.8, sm_90.
    #[inline(always)]
    #[must_use]
    pub fn rank(&self) -> u32 {
        intrinsics::rank_in_cluster()
    }

    /// How many blocks the cluster has. `%cluster_nctarank`; PTX 7.8, sm_90.
    #[inline(always)]
    #[must_use]
    pub fn size(&self) -> u32 {
        intrinsics::blocks_in_cluster()
    }

    /// The elements of the calling block: of one tile an array, of several a tuple of arrays. `ld.shared`; PTX 1.0.
    #[inline(always)]
    #[must_use]
    pub fn own_block(&self) -> L::View<'_> {
        // SAFETY: a view exists in the phase of reading only.
        unsafe { L::view(self.memory) }
    }

    /// The elements of the block that has this number in the cluster.
    ///
    /// `mapa.u64`, and loads by generic addresses; PTX 7.8, sm_90.
    ///
    /// # Panics
    /// If the cluster has no block of this rank.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn block(&self, rank: u32) -> L::View<'_> {
        assert!(rank < self.size(), "the cluster has no such block");
        // SAFETY: there is such a block, whose memory lies at the same place of its own; all threads of the cluster are in the
        // phase of reading, and it does not end before this thread has come to the next barrier or exited.
        unsafe { L::view(cluster::map(self.memory.cast(), rank).cast()) }
    }

    /// The elements of each block of the cluster, in the order of their numbers.
    #[inline(always)]
    pub fn blocks(&self) -> impl Iterator<Item = L::View<'_>> {
        (0..self.size()).map(|rank| self.block(rank))
    }

    /// Waits until all threads of the cluster have read what they wanted, and gives each its own elements back.
    ///
    /// `barrier.cluster.arrive.release`, `barrier.cluster.wait.acquire`; PTX 7.8, sm_90.
    #[inline(always)]
    #[must_use = "the elements can be written through what this gives only"]
    pub fn sync(self) -> ClusterShared<'l, L> {
        cluster::sync();
        ClusterShared { memory: self.memory, launch: PhantomData }
    }
}
