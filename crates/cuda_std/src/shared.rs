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
//! # use cuda_std::prelude::*;
//! /// Reverses each block of 256.
//! #[kernel]
//! pub fn reverse(x: &[f32], mut y: DisjointSlice<f32>, mut tile: Shared<Tile<f32, 256>>) {
//!     *tile.own() = x[grid::<1>()];
//!     let tile = tile.sync();
//!     if let Some(y) = y.own() {
//!         *y = tile[255 - thread::thread_idx_x() as usize];
//!     }
//! }
//! # fn main() {}
//! ```
//!
//! Why that is sound: the compiler checks for each thread alone that it writes only its own element
//! in one phase and only reads in the other. That all threads of the block are in the same phase
//! follows from the barrier, because each `Shared` parameter has a hardware barrier of its own: a
//! thread waiting there can be joined only by threads that wait there too, so every thread has
//! passed it equally often. The barrier is the form that may stand in a branch; if some threads
//! never come, the others wait for ever, and the software device says so. The launcher refuses
//! blocks larger than the tile. Elements are plain data, valid whatever the memory holds before the
//! first write.
//!
//! Several tiles that always change together go into one parameter as a tuple, and share a barrier:
//! `Shared<(Tile<f32, 256>, Tile<u32, 256>)>`. A block has 16 barriers, one of them is
//! [`sync_threads`](crate::sync::sync_threads), so a kernel can have 15 `Shared` parameters.
//!
//! # With `unsafe`
//!
//! [`shared_array!`](crate::shared_array) and [`dynamic_shared_mem`] give raw pointers.

use core::cell::UnsafeCell;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::Deref;
use core::ptr::addr_of_mut;

use crate::device;
use crate::parameter::Element;
use crate::thread::{block_dim_x, index_in_block, thread_idx_x, thread_idx_y};
use crate::warp::WARP_SIZE;

/// A static variable in shared memory. For macros: the section is what puts it there.
#[repr(transparent)]
#[derive(Debug)]
pub struct Storage<M>(UnsafeCell<MaybeUninit<M>>);

// SAFETY: it hands out a raw pointer only; whoever follows the pointer answers for it.
unsafe impl<M> Sync for Storage<M> {}

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

/// How memory is shared out among the threads of a block.
///
/// # Safety
///
/// In a block of at most [`BLOCK`](Self::BLOCK) threads, what [`own`](Self::own) gives to one
/// thread is disjoint from what it gives to any other. `Memory` is valid for any bits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no layout of shared memory",
    label = "not a tile",
    note = "write `Tile<T, N>`, `Tile2<T, ROWS, COLUMNS>`, `PerWarp<T>`, or a tuple of these"
)]
pub unsafe trait Layout {
    /// The memory.
    type Memory;
    /// The largest block: threads along x, y and z.
    const BLOCK: [u32; 3];
    /// A thread's own part.
    type Own<'a>
    where
        Self: 'a;
    /// The whole, to read.
    type View<'a>
    where
        Self: 'a;

    /// The calling thread's part.
    ///
    /// # Safety
    ///
    /// All threads of the block are in the phase of own elements for `'a`, and the calling thread
    /// has no other reference into the memory.
    unsafe fn own<'a>(memory: *mut Self::Memory) -> Self::Own<'a>
    where
        Self: 'a;

    /// The whole memory.
    ///
    /// # Safety
    ///
    /// All threads of the block are in the phase of reading for `'a`.
    unsafe fn view<'a>(memory: *mut Self::Memory) -> Self::View<'a>
    where
        Self: 'a;
}

/// `N` elements, one for each thread of a 1-D block.
#[derive(Debug)]
pub struct Tile<T, const N: usize>(PhantomData<[T; N]>);

// SAFETY: the element at `threadIdx.x`, in a block of one dimension and at most `N` threads.
unsafe impl<T: Element, const N: usize> Layout for Tile<T, N> {
    type Memory = [T; N];
    #[expect(clippy::cast_possible_truncation, reason = "shared memory is smaller than 4 GiB")]
    const BLOCK: [u32; 3] = [N as u32, 1, 1];
    type Own<'a> = &'a mut T;
    type View<'a> = &'a [T; N];

    #[inline(always)]
    unsafe fn own<'a>(memory: *mut [T; N]) -> &'a mut T {
        // SAFETY: the launcher admits no block of more than `N` threads; the caller's for the rest.
        unsafe { &mut *memory.cast::<T>().add(thread_idx_x() as usize) }
    }

    #[inline(always)]
    unsafe fn view<'a>(memory: *mut [T; N]) -> &'a [T; N] {
        // SAFETY: nobody writes in this phase; elements are valid for any bits.
        unsafe { &*memory }
    }
}

/// `ROWS` by `COLUMNS` elements, one for each thread of a 2-D block: row y, column x.
///
/// A column more than the block has threads along x keeps a warp that reads down a column from
/// meeting a single memory bank.
#[derive(Debug)]
pub struct Tile2<T, const ROWS: usize, const COLUMNS: usize>(PhantomData<[[T; COLUMNS]; ROWS]>);

// SAFETY: the element at `threadIdx.y`, `threadIdx.x`, in a block of two dimensions that are at most
// `COLUMNS` and `ROWS`.
unsafe impl<T: Element, const ROWS: usize, const COLUMNS: usize> Layout for Tile2<T, ROWS, COLUMNS> {
    type Memory = [[T; COLUMNS]; ROWS];
    #[expect(clippy::cast_possible_truncation, reason = "shared memory is smaller than 4 GiB")]
    const BLOCK: [u32; 3] = [COLUMNS as u32, ROWS as u32, 1];
    type Own<'a> = &'a mut T;
    type View<'a> = &'a [[T; COLUMNS]; ROWS];

    #[inline(always)]
    unsafe fn own<'a>(memory: *mut [[T; COLUMNS]; ROWS]) -> &'a mut T {
        let offset = thread_idx_y() as usize * COLUMNS + thread_idx_x() as usize;
        // SAFETY: the launcher admits no larger block; the caller's for the rest.
        unsafe { &mut *memory.cast::<T>().add(offset) }
    }

    #[inline(always)]
    unsafe fn view<'a>(memory: *mut [[T; COLUMNS]; ROWS]) -> &'a [[T; COLUMNS]; ROWS] {
        // SAFETY: nobody writes in this phase; elements are valid for any bits.
        unsafe { &*memory }
    }
}

/// One element for each warp of the block, which the warp's first lane has.
///
/// Threads are counted along x, then y, then z, and a warp is 32 of them. There are always 32
/// elements; those beyond the block's last warp hold nothing useful.
#[derive(Debug)]
pub struct PerWarp<T>(PhantomData<T>);

// SAFETY: a block of 1024 threads has 32 warps, and each of them one thread whose number is a
// multiple of 32.
unsafe impl<T: Element> Layout for PerWarp<T> {
    type Memory = [T; 32];
    const BLOCK: [u32; 3] = [1024, 1024, 64];
    type Own<'a> = Option<&'a mut T>;
    type View<'a> = &'a [T; 32];

    #[inline(always)]
    unsafe fn own<'a>(memory: *mut [T; 32]) -> Option<&'a mut T> {
        let thread = index_in_block();
        // SAFETY: a thread's number is below 1024; the caller's for the rest.
        thread
            .is_multiple_of(WARP_SIZE)
            .then(|| unsafe { &mut *memory.cast::<T>().add((thread / WARP_SIZE) as usize) })
    }

    #[inline(always)]
    unsafe fn view<'a>(memory: *mut [T; 32]) -> &'a [T; 32] {
        // SAFETY: nobody writes in this phase; elements are valid for any bits.
        unsafe { &*memory }
    }
}

impl<T: Element> Deref for View<PerWarp<T>> {
    type Target = [T; 32];

    #[inline(always)]
    fn deref(&self) -> &[T; 32] {
        self.get()
    }
}

/// The smaller of two block limits, along each dimension.
pub(crate) const fn smaller(a: [u32; 3], b: [u32; 3]) -> [u32; 3] {
    let mut least = a;
    let mut dimension = 0;
    while dimension < 3 {
        if b[dimension] < least[dimension] {
            least[dimension] = b[dimension];
        }
        dimension += 1;
    }
    least
}

/// Tuples of tiles: each part has its own place.
macro_rules! tuples {
    ($($memory:ident: $first:ident $($tile:ident)*;)*) => {$(
        /// The memory of a tuple of tiles.
        #[derive(Debug)]
        #[repr(C)]
        #[allow(non_snake_case)]
        pub struct $memory<$first, $($tile),*> {
            $first: $first,
            $($tile: $tile,)*
        }

        // SAFETY: each tile's own part is disjoint in that tile, and the tiles are disjoint.
        unsafe impl<$first: Layout, $($tile: Layout),*> Layout for ($first, $($tile),*) {
            type Memory = $memory<$first::Memory, $($tile::Memory),*>;
            const BLOCK: [u32; 3] = {
                let least = $first::BLOCK;
                $(let least = smaller(least, $tile::BLOCK);)*
                least
            };
            type Own<'a> = ($first::Own<'a>, $($tile::Own<'a>),*) where Self: 'a;
            type View<'a> = ($first::View<'a>, $($tile::View<'a>),*) where Self: 'a;

            #[inline(always)]
            unsafe fn own<'a>(memory: *mut Self::Memory) -> Self::Own<'a>
            where
                Self: 'a,
            {
                // SAFETY: the caller's, for each part; `memory` is the static.
                unsafe {
                    (
                        $first::own(addr_of_mut!((*memory).$first)),
                        $($tile::own(addr_of_mut!((*memory).$tile))),*
                    )
                }
            }

            #[inline(always)]
            unsafe fn view<'a>(memory: *mut Self::Memory) -> Self::View<'a>
            where
                Self: 'a,
            {
                // SAFETY: the caller's, for each part; `memory` is the static.
                unsafe {
                    (
                        $first::view(addr_of_mut!((*memory).$first)),
                        $($tile::view(addr_of_mut!((*memory).$tile))),*
                    )
                }
            }
        }
    )*};
}

tuples! {
    Pair: A B;
    Triple: A B C;
    Quadruple: A B C D;
}

/// Shared memory in the phase in which each thread has its own element. See the
/// [module](self) for how it is used.
#[derive(Debug)]
pub struct Shared<L: Layout> {
    memory: *mut L::Memory,
    barrier: u32,
}

impl<L: Layout> Shared<L> {
    /// This thread's own element, of each tile.
    ///
    /// `st.shared` and `ld.shared`; PTX 1.0.
    #[inline(always)]
    #[must_use]
    pub fn own(&mut self) -> L::Own<'_> {
        // SAFETY: a `Shared` exists in the phase of own elements only, and is borrowed meanwhile.
        unsafe { L::own(self.memory) }
    }

    /// Waits for all threads of the block, and gives all elements to all of them to read.
    ///
    /// Every thread of the block must come here; one that has returned from the kernel is not
    /// waited for.
    ///
    /// `barrier.sync`; PTX 6.0, sm_70.
    #[inline(always)]
    #[must_use = "the elements can be reached through the view only"]
    pub fn sync(self) -> View<L> {
        device::barrier_sync(self.barrier);
        View {
            memory: self.memory,
            barrier: self.barrier,
        }
    }
}

impl<T: Element, const N: usize> Shared<Tile<T, N>> {
    /// This thread's elements when a block smaller than the tile shares all of it out, with their
    /// indices: the thread's own, then one block further each time.
    #[inline(always)]
    pub fn own_strided(&mut self) -> OwnStrided<'_, T, N> {
        OwnStrided {
            memory: self.memory,
            next: thread_idx_x(),
            step: block_dim_x(),
            tile: PhantomData,
        }
    }
}

/// See [`Shared::own_strided`].
#[derive(Debug)]
pub struct OwnStrided<'a, T, const N: usize> {
    memory: *mut [T; N],
    next: u32,
    step: u32,
    tile: PhantomData<&'a mut [T; N]>,
}

impl<'a, T, const N: usize> Iterator for OwnStrided<'a, T, N> {
    type Item = (usize, &'a mut T);

    #[inline(always)]
    fn next(&mut self) -> Option<Self::Item> {
        let index = self.next as usize;
        if index >= N {
            return None;
        }
        // Shared memory is far smaller than 4 GiB, a block than a tile.
        self.next = self.next.wrapping_add(self.step);
        // SAFETY: below `N`; the remainder by the block's size is this thread's index, and no other
        // thread's; each index is given out once.
        Some((index, unsafe { &mut *self.memory.cast::<T>().add(index) }))
    }
}

/// Shared memory in the phase in which every thread reads every element.
#[derive(Debug)]
pub struct View<L: Layout> {
    memory: *mut L::Memory,
    barrier: u32,
}

impl<L: Layout> View<L> {
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
    /// element back.
    ///
    /// `barrier.sync`; PTX 6.0, sm_70.
    #[inline(always)]
    #[must_use = "the elements can be written through what this gives only"]
    pub fn sync(self) -> Shared<L> {
        device::barrier_sync(self.barrier);
        Shared {
            memory: self.memory,
            barrier: self.barrier,
        }
    }
}

impl<T: Element, const N: usize> Deref for View<Tile<T, N>> {
    type Target = [T; N];

    #[inline(always)]
    fn deref(&self) -> &[T; N] {
        self.get()
    }
}

impl<T: Element, const ROWS: usize, const COLUMNS: usize> Deref for View<Tile2<T, ROWS, COLUMNS>> {
    type Target = [[T; COLUMNS]; ROWS];

    #[inline(always)]
    fn deref(&self) -> &[[T; COLUMNS]; ROWS] {
        self.get()
    }
}

/// [`Shared`], to the macro that declares it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not shared memory of this library",
    label = "`#[kernel]` takes the name `Shared` for `cuda_std::shared::Shared`",
    note = "rename the other type, or import it under another name"
)]
pub trait SharedParameter: Sized {
    /// What the static holds.
    type Memory;
    /// The largest block: threads along x, y and z.
    const BLOCK: [u32; 3];

    /// Makes the kernel's value.
    ///
    /// # Safety
    ///
    /// `storage` is in shared memory, nothing else refers to it, nothing else uses the barrier, and
    /// each thread of a block of at most `BLOCK` calls this once.
    unsafe fn assemble<const BARRIER: u32>(storage: &'static Storage<Self::Memory>) -> Self;
}

impl<L: Layout> SharedParameter for Shared<L> {
    type Memory = L::Memory;
    const BLOCK: [u32; 3] = L::BLOCK;

    #[inline(always)]
    unsafe fn assemble<const BARRIER: u32>(storage: &'static Storage<L::Memory>) -> Self {
        const {
            assert!(
                BARRIER < 16,
                "a kernel can have 15 `Shared` parameters: put several tiles into one, as a tuple"
            );
        };
        // SAFETY: no larger block, says the caller. Then indices of threads need no check in a tile.
        unsafe {
            core::hint::assert_unchecked(thread_idx_x() < L::BLOCK[0]);
            core::hint::assert_unchecked(thread_idx_y() < L::BLOCK[1]);
        }
        Self {
            memory: storage.as_mut_ptr(),
            barrier: BARRIER,
        }
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

/// The shared memory that the launch asked for, as a raw pointer: aligned to 16 bytes, not
/// initialised, and the same for each call.
///
/// Following the pointer is `unsafe`: it must stay inside [`dynamic_shared_bytes`], and no thread
/// may write an element that another reads or writes before both have passed a
/// [`sync_threads`](crate::sync::sync_threads).
///
/// `.extern .shared`; PTX 1.0.
#[inline(always)]
#[must_use]
pub fn dynamic_shared_mem<T>() -> *mut T {
    const { assert!(align_of::<T>() <= 16, "dynamic shared memory is aligned to 16 bytes") };
    #[repr(C, align(16))]
    struct Aligned([u8; 16]);
    #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = ".shared.dynamic"))]
    static DYNAMIC: Storage<Aligned> = Storage::uninit();
    DYNAMIC.as_mut_ptr().cast()
}

/// How many bytes of dynamic shared memory the launch asked for. `%dynamic_smem_size`; PTX 4.1,
/// sm_20.
#[inline(always)]
#[must_use]
pub fn dynamic_shared_bytes() -> usize {
    device::dynamic_shared_bytes() as usize
}

/// The dynamic shared memory as a raw slice of as many `T` as fit. See [`dynamic_shared_mem`].
#[inline(always)]
#[must_use]
pub fn dynamic_shared_slice<T>() -> *mut [T] {
    const { assert!(size_of::<T>() > 0, "elements have a size") };
    core::ptr::slice_from_raw_parts_mut(dynamic_shared_mem(), dynamic_shared_bytes() / size_of::<T>())
}
