//! Symmetric memory: memory of several ranks, which their kernels read and write of each other while they run.
//!
//! A rank is a launch on a device of its own, which the other ranks reach over NVLink or PCIe (CUDA's peer access). Each rank has as
//! many elements as every other rank, as in the symmetric heap of OpenSHMEM and NVSHMEM. [`Symmetric`] is the parameter of a kernel.
//!
//! | | who writes the memory of a rank | for |
//! |---|---|---|
//! | [`Symmetric<T>`](Symmetric), [`Symmetric<T, Get>`](Get) | the rank itself | sums over ranks, all-gather: each rank reads from the others |
//! | [`Symmetric<T, Put>`](Put) | each rank has a part | all-to-all, halos: each rank writes to the others |
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::symmetric::Symmetric;
//!
//! /// y = the sum of all ranks' x.
//! #[kernel(cooperative)]
//! pub fn add_over_ranks(x: &[f32], mut y: DisjointSlice<f32>, mut memory: Symmetric<f32>) {
//!     memory.each(|i, element| *element = x[i]);
//!     let ranks = memory.sync();
//!     if let Some(y) = y.own() {
//!         let i = grid::<1>().get();
//!         *y = ranks.iter().map(|elements| elements[i]).sum();
//!     }
//! }
//!
//! # fn main() {
//! // Two ranks, here on one device.
//! let x = [[1.0; 64], [2.5; 64]];
//! let y = examples::ranks(&x, (2, 32), |x, y, memory| add_over_ranks(x, y, memory));
//! assert_eq!(y, [[3.5; 64]; 2]);
//! # examples::becomes("add_over_ranks", &["ld.acquire.sys", "st.relaxed.sys", "fence.acq_rel.sys"]);
//! # }
//! ```
//!
//! The launches of all ranks run at the same time and wait for each other: a kernel with a parameter of this type is
//! `#[kernel(cooperative)]`, each rank launches it, and between these launches the host waits for nothing. A rank that waits longer
//! than `RUMBA_RANK_TIMEOUT` seconds (300 by default) panics, and so does each later launch with the memory.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

use bytemuck::{Pod, Zeroable};

use crate::abi::parameter::{Element, KernelParameter, Role, demand};
use crate::abi::record;
use crate::device::scope::System;
use crate::device::sync::fence;
use crate::device::thread::{
    block_number, global_timer, grid_dim, index_in_block, is_first_in_block, threads_in_block,
};
use crate::device::{intrinsics, waiting};
use crate::mem::atomic::Atomic;

/// The most ranks that have symmetric memory: more than there are devices in one machine.
pub const MOST_RANKS: usize = 16;

/// Where the memory of each rank is. Host and devices share the layout, and nothing writes it while kernels run.
#[doc(hidden)]
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Table {
    /// The number of the rank to which the table belongs.
    pub rank: u32,
    /// How many ranks there are.
    pub size: u32,
    /// How many nanoseconds a thread waits for another rank.
    pub timeout: u64,
    /// The address of each rank's elements.
    pub elements: [u64; MOST_RANKS],
    /// The address of each rank's [`Signals`].
    pub signals: [u64; MOST_RANKS],
}

/// The state of the barrier between the ranks, one for each rank and zero at first. An exchange has two phases; `[0]` counts ranks that
/// have written, `[1]` ranks that have read.
#[doc(hidden)]
#[repr(C)]
#[derive(Debug)]
pub struct Signals {
    /// The blocks of the rank's own launch that have come to the end of the phase.
    arrived: [Atomic<u32>; 2],
    /// How often each rank has come to the end of the phase. Rank `r` alone writes the number `r`, from its own device.
    phases: [[Atomic<u32>; MOST_RANKS]; 2],
    /// Whether a thread of the rank has waited in vain: other ranks may then still be reading, so the memory is used no more.
    failed: Atomic<u32>,
}

/// The first phase of an exchange: each thread writes its own elements.
const WRITING: usize = 0;
/// The second phase: all threads of all ranks read.
const READING: usize = 1;

/// Who writes which elements: [`Get`] or [`Put`].
pub trait Access: sealed::Access {}

/// Each rank writes its own memory, and others get the elements from there (OpenSHMEM's `get`).
#[derive(Debug)]
pub enum Get {}

/// Each rank puts elements into the memory of all ranks (OpenSHMEM's `put`): the part that has the rank's number, of as many parts of
/// equal length as there are ranks. Elements behind the last whole part stay as they are.
#[derive(Debug)]
pub enum Put {}

mod sealed {
    pub trait Access: 'static {}
}

impl sealed::Access for Get {}
impl sealed::Access for Put {}
impl Access for Get {}
impl Access for Put {}

/// Memory of all ranks, in the phase in which each thread has its own elements. See the [module](self).
///
/// [`sync`](Self::sync) waits for all threads of all ranks and gives a [`SymmetricView`], in which every thread reads the memory of
/// every rank. The end of the view, or [`SymmetricView::sync`], ends the exchange.
///
/// Why that is sound: the barrier counts blocks, and a block counts when all its threads that have not exited have come, so all threads
/// of all ranks have passed the barrier equally often, and the count tells the phase. Elements are written through this type alone, which
/// a thread has between the end of one exchange on all ranks and its own arrival in the next; they are read through the view
/// alone. A thread that waits in vain marks the memory of its rank as failed before it exits, and no launch uses failed memory.
#[derive(Debug)]
pub struct Symmetric<'l, T, A = Get> {
    ranks: Ranks<'l>,
    length: usize,
    elements: PhantomData<(*mut T, A)>,
}

/// Memory of all ranks, in the phase in which every thread reads all of it: see [`Symmetric`]. The end of a view says that the
/// thread has read what it wanted; the thread does not wait.
#[derive(Debug)]
pub struct SymmetricView<'l, T, A = Get> {
    memory: Symmetric<'l, T, A>,
}

// SAFETY: a table and a length. The runtime makes the table, for memory of so many elements on each rank, and passes the memory of a
// rank to one launch at a time.
unsafe impl<T: Element + Pod, A: Access> KernelParameter for Symmetric<'_, T, A> {
    const BARRIERS: u32 = 1;
    const COOPERATIVE: bool = true;
    const ROLE: Role = {
        demand(size_of::<T>() > 0, "elements of symmetric memory have a size");
        Role::Value
    };
    type Element = T;
    type A = &'static Table;
    type B = usize;
    type C = ();
    type D = ();
    type Value<'l> = Symmetric<'l, T, A>;

    #[inline(always)]
    unsafe fn assemble(table: Self::A, length: usize, (): (), (): ()) -> Self::Value<'static> {
        let _ = Self::ROLE;
        Symmetric { ranks: Ranks { table, barrier: 0 }, length, elements: PhantomData }
    }

    #[inline(always)]
    unsafe fn with_barrier<const BARRIER: u32>(value: Self::Value<'static>) -> Self::Value<'static> {
        let ranks = Ranks { barrier: BARRIER, ..value.ranks };
        // Other ranks may still be reading what the launch before has written.
        ranks.begin();
        Symmetric { ranks, ..value }
    }
}

impl<'l, T: Pod, A: Access> Symmetric<'l, T, A> {
    /// The number of the calling rank.
    #[inline(always)]
    #[must_use]
    pub fn rank(&self) -> usize {
        self.ranks.table.rank as usize
    }

    /// How many ranks there are.
    #[inline(always)]
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks.size()
    }

    /// How many elements each rank has.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether the ranks have no elements.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Waits until all threads of all ranks have come here, and gives the memory of all ranks to all of them to read.
    ///
    /// All threads of all blocks of all ranks must come here equally often, less those that have exited. Of a block, the first thread
    /// must not have exited.
    ///
    /// `barrier.sync`, `atom.acq_rel.gpu.add.u32`, `fence.acq_rel.sys`, `st.relaxed.sys` to each rank, `ld.acquire.sys` in a loop;
    /// PTX 6.0, sm_70.
    ///
    /// # Panics
    /// If a rank has not come in time.
    #[inline(always)]
    #[must_use = "the elements can be read through the view only"]
    #[track_caller]
    pub fn sync(self) -> SymmetricView<'l, T, A> {
        let phase = self.ranks.arrive(WRITING);
        self.ranks.wait(WRITING, phase, false);
        SymmetricView { memory: self }
    }

    /// Calls a function with each of the calling thread's elements among `length` elements of the memory of a rank from `start` on, and
    /// with their indices, from 0. All threads of the launch share the elements, neighbours to neighbouring threads.
    #[inline(always)]
    fn each_of(&mut self, rank: usize, start: usize, length: usize, mut write: impl FnMut(usize, &mut T)) {
        let blocks = grid_dim();
        let threads = threads_in_block() as usize;
        let all = threads * blocks.x as usize * blocks.y as usize * blocks.z as usize;
        let mut i = block_number() as usize * threads + index_in_block() as usize;
        let elements = self.ranks.elements::<T>(rank).wrapping_add(start);
        while i < length {
            // SAFETY: inside of the rank's elements, as the callers say. `i` is another one in each thread of this launch, and by `A` no
            // other rank writes these elements; nothing reads them in this phase.
            write(i, unsafe { &mut *elements.add(i) });
            i += all;
        }
    }
}

impl<T: Pod> Symmetric<'_, T, Get> {
    /// Calls a function with each of the calling thread's elements of its rank's memory, and with the index of the element. All threads
    /// of the launch share the elements, neighbours to neighbouring threads, one grid of threads after the other.
    #[inline(always)]
    pub fn each(&mut self, write: impl FnMut(usize, &mut T)) {
        self.each_of(self.rank(), 0, self.length, write);
    }
}

impl<T: Pod> Symmetric<'_, T, Put> {
    /// How many elements of each rank's memory a rank writes.
    #[inline(always)]
    #[must_use]
    pub fn part_len(&self) -> usize {
        self.length / self.ranks()
    }

    /// Calls a function with each of the calling thread's elements of the calling rank's part of the memory of `rank`, and with the
    /// index of the element in the part. Elements of other ranks are better written than read, since a store does not wait.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    /// use cuda_std::symmetric::{Put, Symmetric};
    ///
    /// /// Each rank sends part `r` of its x to rank `r`, and y is what all ranks have sent, one behind the other.
    /// #[kernel(cooperative)]
    /// pub fn all_to_all(x: &[u32], mut y: DisjointSlice<u32>, mut memory: Symmetric<u32, Put>) {
    ///     let length = memory.part_len();
    ///     for rank in 0..memory.ranks() {
    ///         memory.each_on(rank, |i, element| *element = x[rank * length + i]);
    ///     }
    ///     let ranks = memory.sync();
    ///     if let Some(y) = y.own() {
    ///         *y = ranks.own()[grid::<1>()];
    ///     }
    /// }
    ///
    /// # fn main() {
    /// let x = [[1, 2, 3, 4], [5, 6, 7, 8]];
    /// let y = examples::ranks(&x, (1, 4), |x, y, memory| all_to_all(x, y, memory));
    /// assert_eq!(y, [[1, 2, 5, 6], [3, 4, 7, 8]]);
    /// # }
    /// ```
    ///
    /// # Panics
    /// If `rank` is not below [`ranks`](Self::ranks).
    #[inline(always)]
    #[track_caller]
    pub fn each_on(&mut self, rank: usize, write: impl FnMut(usize, &mut T)) {
        assert!(rank < self.ranks(), "there is no such rank");
        let length = self.part_len();
        self.each_of(rank, self.rank() * length, length, write);
    }
}

impl<'l, T: Pod, A: Access> SymmetricView<'l, T, A> {
    /// The elements of a rank. Loads from the memory of another rank go over NVLink or PCIe, each time.
    ///
    /// # Panics
    /// If `rank` is not below [`ranks`](Self::ranks).
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn rank(&self, rank: usize) -> &[T] {
        let Symmetric { ranks, length, .. } = &self.memory;
        assert!(rank < ranks.size(), "there is no such rank");
        // SAFETY: the elements of the rank, which nothing writes in this phase.
        unsafe { core::slice::from_raw_parts(ranks.elements(rank), *length) }
    }

    /// How many ranks there are.
    #[inline(always)]
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.memory.ranks()
    }

    /// The elements of the calling rank.
    #[inline(always)]
    #[must_use]
    pub fn own(&self) -> &[T] {
        self.rank(self.memory.rank())
    }

    /// The elements of each rank, in the order of their numbers.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = &[T]> {
        (0..self.ranks()).map(|rank| self.rank(rank))
    }

    /// Waits until all threads of all ranks have read what they wanted, and gives each thread its own elements back, for another
    /// exchange of the same launch.
    ///
    /// # Panics
    /// If a rank has not come in time.
    #[inline(always)]
    #[must_use = "the elements can be written through what this gives only"]
    #[track_caller]
    pub fn sync(self) -> Symmetric<'l, T, A> {
        let (ranks, length) = (self.memory.ranks, self.memory.length);
        // What its end would do is done here.
        core::mem::forget(self);
        let ended = ranks.arrive(READING);
        ranks.wait(READING, ended, false);
        Symmetric { ranks, length, elements: PhantomData }
    }
}

impl<T, A> Drop for SymmetricView<'_, T, A> {
    #[inline(always)]
    fn drop(&mut self) {
        self.memory.ranks.arrive(READING);
    }
}

/// The barrier between the ranks.
#[derive(Clone, Copy, Debug)]
struct Ranks<'l> {
    table: &'l Table,
    /// The barrier of the block that belongs to the parameter alone.
    barrier: u32,
}

impl<'l> Ranks<'l> {
    #[inline(always)]
    fn size(self) -> usize {
        self.table.size as usize
    }

    #[inline(always)]
    fn elements<T>(self, rank: usize) -> *mut T {
        // SAFETY: the caller passes a rank below the size, which is `MOST_RANKS` at most.
        unsafe { *self.table.elements.get_unchecked(rank) as *mut T }
    }

    #[inline(always)]
    fn signals(self, rank: usize) -> &'l Signals {
        // SAFETY: as above. The signals live as long as the launch, and all threads of all ranks have shared references to them.
        unsafe { &*(*self.table.signals.get_unchecked(rank) as *const Signals) }
    }

    #[inline(always)]
    fn own(self) -> &'l Signals {
        self.signals(self.table.rank as usize)
    }

    /// How often the calling rank has come to the end of a phase. The number changes when all blocks of the rank have come there.
    #[inline(always)]
    fn own_phases(self, phase: usize) -> u32 {
        self.own().phases[phase][self.table.rank as usize].system().load(Relaxed)
    }

    /// The begin of a launch: waits until each rank has ended as many exchanges as the calling rank. The number of the calling rank
    /// changes only when all blocks of the launch have begun and ended an exchange.
    #[inline(always)]
    #[track_caller]
    fn begin(self) {
        let looks = (index_in_block() as usize) < self.size();
        let (ended, failed) =
            if looks { (self.own_phases(READING), self.own().failed.system().load(Relaxed) != 0) } else { (0, false) };
        self.wait(READING, ended, failed);
    }

    /// The calling thread has come to the end of a phase. Returns what [`wait`](Self::wait) waits for, in threads that look.
    #[inline(always)]
    fn arrive(self, phase: usize) -> u32 {
        // Before the block arrives, so that the number is that of before.
        let looks = (index_in_block() as usize) < self.size();
        let next = if looks { self.own_phases(phase).wrapping_add(1) } else { 0 };
        intrinsics::barrier_sync(self.barrier);
        if is_first_in_block() {
            let blocks = grid_dim();
            let blocks = blocks.x * blocks.y * blocks.z;
            let arrived = self.own().arrived[phase].device();
            // The last block has seen what all blocks of the rank have done, and passes that on to the other ranks.
            if arrived.fetch_add(1, AcqRel) + 1 == blocks {
                arrived.store(0, Relaxed);
                fence::<System>(AcqRel);
                for rank in 0..self.size() {
                    let phases = &self.signals(rank).phases[phase];
                    phases[self.table.rank as usize].system().store(next, Relaxed);
                }
            }
        }
        next
    }

    /// Waits until each rank has come to the end of a phase so often, unless the wait is in vain.
    #[inline(always)]
    #[track_caller]
    fn wait(self, phase: usize, count: u32, mut in_vain: bool) {
        let mut rank = index_in_block() as usize;
        while rank < self.size() && !in_vain {
            in_vain = !self.comes(phase, rank, count);
            rank += threads_in_block() as usize;
        }
        if intrinsics::barrier_count_of_any(self.barrier, in_vain) > 0 {
            self.fail(in_vain);
        }
    }

    /// Waits until a rank has come to the end of a phase so often; returns whether it has.
    #[inline(always)]
    fn comes(self, phase: usize, rank: usize, count: u32) -> bool {
        /// After how many attempts a thread looks for how long it has waited, which takes longer than an attempt.
        const PATIENCE: u32 = 1024;
        // SAFETY: the rank is below the size, which is `MOST_RANKS` at most.
        let counted = unsafe { self.own().phases[phase].get_unchecked(rank) }.system();
        let (mut attempts, mut since) = (0_u32, 0);
        // The numbers wrap around, and no rank is more than one phase ahead.
        while counted.load(Acquire).wrapping_sub(count).cast_signed() < 0 {
            attempts = attempts.wrapping_add(1);
            if attempts.is_multiple_of(PATIENCE) {
                let now = global_timer();
                since = if since == 0 { now } else { since };
                if now.wrapping_sub(since) > self.table.timeout || record::has_panicked() {
                    return false;
                }
            }
        }
        true
    }

    /// The end of the threads of a block of which some have waited in vain.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn fail(self, in_vain: bool) -> ! {
        if in_vain {
            self.own().failed.system().store(1, Relaxed);
            panic!("a rank has not come to the barrier of the symmetric memory in time, now or in an earlier launch");
        }
        waiting::exit()
    }
}
