//! Shared memory: fast memory that the threads of a block have in common.
//!
//! # Without `unsafe`
//!
//! [`Shared`] is memory whose ownership changes hands at a barrier. A kernel declares it as a
//! parameter, which the host does not pass. In the first phase each thread has its own element, to
//! write and read. [`Shared::sync`] waits for the block and gives a [`View`] in which every thread
//! reads every element; [`View::sync`] waits again and gives the elements back.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// Reverses each block of 256.
//! #[kernel]
//! pub fn reverse(x: &[f32], mut y: DisjointSlice<f32>, mut tile: Shared<Tile<f32, 256>>) {
//!     *tile.own() = x[grid::<1>()];
//!     let tile = tile.sync();
//!     if let Some(y) = y.own() {
//!         *y = tile[255 - thread::thread_idx_x() as usize];
//!     }
//! }
//!
//! # fn main() {
//! let x: Vec<f32> = (0..256).map(|i| i as f32).collect();
//! let mut y = vec![0.0_f32; 256];
//! examples::launch((1, 256), reverse(&x, &mut y));
//! assert!(y.iter().eq(x.iter().rev()));
//! # examples::becomes("reverse", &["st.shared", "barrier", "ld.shared"]);
//! # }
//! ```
//!
//! The layout, the type in the brackets, assigns elements to threads:
//!
//! | layout | block | a thread's elements |
//! |---|---|---|
//! | [`Tile<T, N>`](Tile) | 1-D, up to N | x, and those whole blocks further |
//! | [`Tile2<T, ROWS, COLUMNS>`](Tile2), `Tile2<T, ROWS, COLUMNS, PAD>` | 2-D, up to the tile | row y, column x, and those whole blocks further |
//! | [`Tile3<T, LAYERS, ROWS, COLUMNS>`](Tile3) | 3-D, up to the tile | likewise |
//! | [`Table<T, N>`](Table), [`Table2<T, ROWS, COLUMNS>`](Table2) | any | those of its number in the block |
//! | [`PerWarp<T>`](PerWarp) | any | one for the first lane of each warp |
//! | tuples of these | the smallest of them | those of each part; all parts share one barrier |
//! | [`SharedSlice<T>`](SharedSlice) | any | as a table; the host passes the length |
//!
//! In a loop or a closure, [`Shared::read`] does both: it waits for the block, lends all elements to a closure, and waits again.
//!
//! What threads change at once, such as the bins of a histogram, are elements of type
//! [`Atomic`](crate::atomic::Atomic): then every thread may change every element of a view. Sums, extremes and scans over the
//! block are methods of a [`BlockScratch`](crate::block::BlockScratch) parameter. Where one
//! step reads what the step before wrote, the two tiles of an [`Alternating`] parameter take turns with
//! one barrier for each step; the copies of a [`Pipeline`] bring the next data while the present ones are
//! computed with. What the blocks of a cluster read of each other is a [`ClusterShared`] parameter.
//!
//! Why that is sound: the compiler checks for each thread alone that it writes only its own elements
//! in one phase and only reads in the other. That all threads of the block are in the same phase
//! follows from the barrier, because each parameter of shared memory has a hardware barrier and one
//! protocol of its own: a thread waiting there can be joined only by threads that wait there too, so
//! every thread has passed it equally often, and with the protocol the count tells the phase. The
//! barrier is the form that may stand in a branch; if some threads never come, the others wait for ever,
//! and the software device says so. The launcher refuses blocks larger than the tile. Elements are
//! plain data, valid whatever the memory holds before the first write.
//!
//! A thread that returns from the kernel or panics is not waited for. It passes a fence of the block's
//! scope before it exits (`fence.acq_rel.cta`; after its asynchronous copies, if it has any), so that the
//! others find what it wrote when they pass the barrier without it.
//!
//! A block has 16 barriers. [`sync_threads`](crate::sync::sync_threads) uses one barrier, so a kernel
//! can have 15 parameters of shared memory. Put tiles that always change together into one tuple.
//!
//! # With `unsafe`
//!
//! [`shared_array!`](crate::shared_array) and [`dynamic_shared_mem`] give raw pointers.

mod alternating;
mod cluster;
mod dynamic;
mod layout;
mod pipeline;

pub use alternating::Alternating;
pub use cluster::{ClusterMemory, ClusterShared, ClusterView, Plain};
pub(crate) use dynamic::dynamic_shared_tensors;
pub use dynamic::{SharedSlice, Slice, dynamic_shared_bytes, dynamic_shared_mem, dynamic_shared_slice};
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) use layout::smaller;
pub use layout::{
    Elements, Layout, OwnStrided, Pair, Part, PerWarp, Quadruple, Table, Table2, Tile, Tile2, Tile3, TileRow, Triple,
};
pub use pipeline::{Pipeline, Stages};

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::sync::atomic::Ordering::AcqRel;

use crate::abi::parameter::{self, Element, Parameter, Role};
use crate::device::intrinsics;
use crate::device::scope::Block;
use crate::device::sync::fence;
use crate::device::thread::{thread_idx_x, thread_idx_y, thread_idx_z};

/// A static variable in shared memory. For macros, whose `link_section` selects shared memory. Aligned to 16 bytes, for
/// copies of that size and for matrix fragments.
#[repr(C, align(16))]
#[derive(Debug)]
pub struct Storage<M>(UnsafeCell<MaybeUninit<M>>);

// SAFETY: it hands out a raw pointer only; code that dereferences it answers for that.
unsafe impl<M> Sync for Storage<M> {}

/// A type for statics in shared memory without `mut`: the type promises nothing about the contents.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a static in shared memory has no value at first, so a `{Self}` there cannot be used without `unsafe`",
    label = "its initialiser would not be used",
    note = "write `static mut`, every use of which is `unsafe`",
    note = "or take shared memory as a parameter of the kernel, which needs no `unsafe`: `mut tile: Shared<Tile<f32, 256>>`"
)]
pub trait Uninitialised: sealed::Uninitialised {}

mod sealed {
    pub trait Uninitialised {}
}

impl<M> sealed::Uninitialised for Storage<M> {}
impl<M> Uninitialised for Storage<M> {}

impl<M> Storage<M> {
    /// The only value it can have: shared memory has no initialiser.
    #[must_use]
    pub const fn uninit() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// Where it is in this block.
    #[inline(always)]
    pub const fn as_mut_ptr(&self) -> *mut M {
        self.0.get().cast()
    }
}

/// Shared memory in the phase in which each thread has its own elements. See the
/// [module](self) for how it is used.
///
/// It lives as long as the launch, `'l`, which is left out in a kernel's parameters.
#[derive(Debug)]
pub struct Shared<'l, L: Layout> {
    memory: *mut L::Memory,
    barrier: u32,
    launch: PhantomData<&'l ()>,
}

impl<'l, L: Layout> Shared<'l, L> {
    /// This thread's own element, of each tile.
    ///
    /// `st.shared` and `ld.shared`; PTX 1.0.
    #[inline(always)]
    #[must_use]
    pub fn own(&mut self) -> L::Own<'_> {
        // SAFETY: a `Shared` exists in the phase of own elements only, and is borrowed meanwhile.
        unsafe { L::own(self.memory) }
    }

    /// All elements that are this thread's, of each tile, for tiles that are larger than the block: the
    /// threads share them out.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// /// y = the sum of the 3 by 3 elements around, in blocks of 16 by 8; x has one row and column more on each side.
    /// #[kernel]
    /// pub fn sum_around(x: &[u32], mut y: Disjoint<u32, PerThread<2>>, mut tile: Shared<Tile2<u32, 10, 18>>) {
    ///     let (block, width) = (thread::block_idx(), y.columns() + 2);
    ///     let (top, left) = (block.y as usize * 8, block.x as usize * 16);
    ///     tile.part().each(|[row, column], own| {
    ///         *own = x.get((top + row) * width + left + column).copied().unwrap_or(0);
    ///     });
    ///     let tile = tile.sync();
    ///     if let Some(y) = y.own() {
    ///         let (row, column) = (thread::thread_idx_y() as usize, thread::thread_idx_x() as usize);
    ///         *y = tile[row..row + 3].iter().flat_map(|row| &row[column..column + 3]).sum();
    ///     }
    /// }
    ///
    /// # fn main() {
    /// let mut y = vec![0_u32; 20 * 30];
    /// examples::launch(((2, 3), (16, 8)), sum_around(&vec![1; 22 * 32], (&mut y, [20, 30])));
    /// assert_eq!(y, [9; 20 * 30]);
    /// # examples::becomes("sum_around", &["st.shared", "ld.shared"]);
    /// # }
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn part(&mut self) -> L::Part<'_> {
        // SAFETY: as for `own`.
        unsafe { L::part(self.memory) }
    }

    /// Waits for all threads of the block, and gives all elements to all of them to read.
    ///
    /// Every thread of the block must come here; one that has returned from the kernel or panicked is
    /// not waited for.
    ///
    /// `barrier.sync`; PTX 6.0, sm_70.
    #[inline(always)]
    #[must_use = "the elements can be reached through the view only"]
    pub fn sync(self) -> View<'l, L> {
        intrinsics::barrier_sync(self.barrier);
        View { memory: self.memory, barrier: self.barrier, launch: PhantomData }
    }
}

impl<L: Layout + 'static> Shared<'_, L> {
    /// Waits for all threads of the block, calls `work` with all elements to read, and waits again until all threads have
    /// read: [`sync`](Self::sync) and [`View::sync`] in one, which borrow the memory and do not move it. For loops and closures.
    ///
    /// `work` is given an array, for several tiles a tuple of arrays, and for a [`SharedSlice`] a slice.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    ///
    /// /// Reverses each row, in blocks of 64: a row is as long as a block.
    /// #[kernel(block = 64)]
    /// pub fn reverse_rows(mut y: Disjoint<f32, Rows>, mut tile: Shared<Tile<f32, 64>>) {
    ///     let place = 63 - thread::thread_idx_x() as usize;
    ///     y.each_row(|_, mut row| {
    ///         row.each(|_, y| *tile.own() = *y);
    ///         let opposite = tile.read(|tile| tile[place]);
    ///         row.each(|_, y| *y = opposite);
    ///     });
    /// }
    ///
    /// # fn main() {
    /// let mut y: Vec<f32> = (0..5 * 64).map(|i| i as f32).collect();
    /// examples::launch((2, 64), reverse_rows((&mut y, [5, 64])));
    /// assert!((0..5 * 64).all(|i| y[i] == (i / 64 * 64 + 63 - i % 64) as f32));
    /// # examples::becomes("reverse_rows", &["st.shared", "barrier", "ld.shared"]);
    /// # }
    /// ```
    ///
    /// Every thread of the block must come here, as to `sync`.
    ///
    /// `barrier.sync`, twice; PTX 6.0, sm_70.
    #[inline(always)]
    pub fn read<R>(&mut self, work: impl for<'v> FnOnce(L::View<'v>) -> R) -> R {
        intrinsics::barrier_sync(self.barrier);
        // SAFETY: the barrier has begun the phase of reading, which lasts until the next. The view does not outlive `work`, which
        // is called for any lifetime of it, and the memory is borrowed mutably, so no element is the thread's own meanwhile.
        let result = work(unsafe { L::view(self.memory) });
        intrinsics::barrier_sync(self.barrier);
        result
    }
}

impl<T: Element, const N: usize> Shared<'_, Tile<T, N>> {
    /// This thread's elements when a block smaller than the tile shares all of it out, with their
    /// indices: the thread's own, then one block further each time.
    #[inline(always)]
    pub fn own_strided(&mut self) -> OwnStrided<'_, T, N> {
        self.part().into_iter_strided()
    }
}

/// Shared memory in the phase in which every thread reads every element.
#[derive(Debug)]
pub struct View<'l, L: Layout> {
    memory: *mut L::Memory,
    barrier: u32,
    launch: PhantomData<&'l ()>,
}

impl<'l, L: Layout> View<'l, L> {
    /// The elements: of one tile an array, of several a tuple of arrays.
    ///
    /// `ld.shared`; PTX 1.0.
    #[inline(always)]
    #[must_use]
    pub fn get(&self) -> L::View<'_> {
        // SAFETY: a `View` exists in the phase of reading only.
        unsafe { L::view(self.memory) }
    }

    /// Waits until all threads of the block have read what they wanted, and gives each its own
    /// elements back.
    ///
    /// `barrier.sync`; PTX 6.0, sm_70.
    #[inline(always)]
    #[must_use = "the elements can be written through what this gives only"]
    pub fn sync(self) -> Shared<'l, L> {
        intrinsics::barrier_sync(self.barrier);
        Shared { memory: self.memory, barrier: self.barrier, launch: PhantomData }
    }
}

/// A view of one tile is its array.
impl<L: OneTile> Deref for View<'_, L> {
    type Target = L::Memory;

    #[inline(always)]
    fn deref(&self) -> &L::Memory {
        // SAFETY: a `View` exists in the phase of reading only, in which no thread writes; elements are valid for any bits.
        unsafe { &*self.memory }
    }
}

mod one_tile {
    /// A layout whose view is a reference to its memory.
    pub trait OneTile: super::Layout {
        /// The type of an item of the view: an element or a row.
        type Indexed;
    }
}
pub(crate) use one_tile::OneTile;

macro_rules! one_tile {
    ($($layout:ty, [$($generic:tt)*], $indexed:ty;)*) => {$(
        impl<T: Element, $($generic)*> OneTile for $layout {
            type Indexed = $indexed;
        }
    )*};
}

one_tile! {
    Tile<T, N>, [const N: usize], T;
    Tile2<T, R, C, P>, [const R: usize, const C: usize, const P: usize], TileRow<T, C, P>;
    Tile3<T, L, R, C>, [const L: usize, const R: usize, const C: usize], [[T; C]; R];
    Table<T, N>, [const N: usize], T;
    Table2<T, R, C>, [const R: usize, const C: usize], [T; C];
    PerWarp<T, WARPS>, [const WARPS: usize], T;
    Slice<T>, [], T;
}

/// [`Shared`], [`Alternating`], [`Pipeline`], [`ClusterShared`] or [`BlockScratch`](crate::block::BlockScratch), to the macro that
/// declares the memory.
///
/// # Safety
///
/// In a block of at most `BLOCK` threads, with a barrier that nothing else uses, the value is sound to hand to every thread.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not shared memory of this library",
    label = "`#[kernel]` takes the names `Shared`, `Alternating`, `Pipeline`, `ClusterShared` and `BlockScratch` for those of `cuda_std`",
    note = "rename the other type, or import it under another name"
)]
pub unsafe trait SharedParameter: Sized {
    /// The type of the static's contents.
    type Memory;
    /// The largest block: threads along x, y and z.
    const BLOCK: [u32; 3];
    /// Whether threads start asynchronous copies to it, which a thread waits for before it exits.
    const COPIES: bool = false;
    /// Whether it uses the barrier of the cluster: 0 or 1.
    const CLUSTERS: u32 = 0;
    /// The type that the body of the kernel sees, in a launch that lasts for `'l`: see
    /// [`KernelParameter::Value`](crate::KernelParameter::Value).
    type Value<'l>;

    /// Makes the kernel's value.
    ///
    /// # Safety
    ///
    /// `storage` is in shared memory, nothing else refers to it, nothing else uses the barrier, and
    /// each thread of a block of at most `BLOCK` calls this once.
    unsafe fn assemble<const BARRIER: u32>(storage: &'static Storage<Self::Memory>) -> Self::Value<'static>;

    /// The end of a thread that returns from the kernel.
    ///
    /// # Safety
    ///
    /// Each thread that returns calls this once, with the storage that the value was made of, and does nothing afterwards.
    #[inline(always)]
    unsafe fn leave(_storage: &'static Storage<Self::Memory>) {}
}

impl Parameter {
    /// Shared memory that the entry declares.
    #[must_use]
    pub const fn tile<S: SharedParameter>(name: &'static str, ty: &'static str) -> Self {
        Self { name, ty, role: Role::Tile { block: S::BLOCK }, layout: parameter::Layout::of::<S::Memory>([0; 4]) }
    }
}

// SAFETY: what `Layout` promises, phase by phase.
unsafe impl<L: Layout<Memory: Sized> + 'static> SharedParameter for Shared<'_, L> {
    type Memory = L::Memory;
    type Value<'l> = Shared<'l, L>;
    const BLOCK: [u32; 3] = L::BLOCK;

    #[inline(always)]
    unsafe fn assemble<const BARRIER: u32>(storage: &'static Storage<L::Memory>) -> Shared<'static, L> {
        // SAFETY: the caller's.
        unsafe { enter::<L, BARRIER>() };
        Shared { memory: storage.as_mut_ptr(), barrier: BARRIER, launch: PhantomData }
    }
}

/// The conditions that hold from the start of a kernel on.
///
/// # Safety
///
/// The block has at most `L::BLOCK` threads.
#[inline(always)]
unsafe fn enter<L: Layout, const BARRIER: u32>() {
    const {
        assert!(0 < BARRIER && BARRIER < 16, "a barrier of the block, less that of `sync_threads`");
    };
    // SAFETY: no larger block, says the caller. Then indices of threads need no check in a tile.
    unsafe {
        core::hint::assert_unchecked(thread_idx_x() < L::BLOCK[0]);
        core::hint::assert_unchecked(thread_idx_y() < L::BLOCK[1]);
        core::hint::assert_unchecked(thread_idx_z() < L::BLOCK[2]);
    }
}

/// The number of each parameter's barrier, or 0 for none, by how many each has to have. For the macro.
///
/// # Panics
///
/// If a block has not as many barriers.
#[doc(hidden)]
#[must_use]
pub const fn barriers<const N: usize>(wanted: [u32; N]) -> [u32; N] {
    let mut numbers = [0; N];
    let (mut parameter, mut last) = (0, 0);
    while parameter < N {
        last += wanted[parameter];
        assert!(
            last < 16,
            "a kernel can have 15 parameters of shared memory, one for each barrier: put several tiles into one, as a tuple"
        );
        if wanted[parameter] > 0 {
            numbers[parameter] = last - wanted[parameter] + 1;
        }
        parameter += 1;
    }
    numbers
}

/// The end of a thread of a kernel with these barriers: those that wait there do not wait for this thread, and see what it
/// wrote or, where it `copies`, had copied. For the macro.
#[doc(hidden)]
#[inline(always)]
pub fn leave<const N: usize>(barriers: [u32; N], copies: bool) {
    if copies {
        intrinsics::cp_async_wait_all();
    }
    if barriers.into_iter().any(|barrier| barrier > 0) {
        fence::<Block>(AcqRel);
    }
}

/// A static array in shared memory, as a raw pointer to its first element: `shared_array![f32; 256]`.
///
/// Each place where the macro stands is one array for each block, not initialised. Following the
/// pointer is `unsafe`: no thread may write an element that another reads or writes before both
/// have passed a [`sync_threads`](crate::sync::sync_threads). [`Shared`](crate::shared::Shared)
/// needs no such care.
#[macro_export]
macro_rules! shared_array {
    ($element:ty; $length:expr) => {{
        #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = ".shared"))]
        static ARRAY: $crate::shared::Storage<[$element; $length]> = $crate::shared::Storage::uninit();
        ARRAY.as_mut_ptr().cast::<$element>()
    }};
}
