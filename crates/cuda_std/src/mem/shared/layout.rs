//! Layouts: the assignment of elements of shared memory to threads.

use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ops::{Deref, Index, IndexMut};
use core::ptr::addr_of_mut;

use crate::abi::parameter::{Element, demand};
use crate::device::intrinsics::WARP_SIZE;
use crate::device::thread::{
    block_dim_x, block_dim_y, block_dim_z, index_in_block, thread_idx_x, thread_idx_y, thread_idx_z, threads_in_block,
};

/// How memory is shared out among the threads of a block.
///
/// # Safety
///
/// In a block of at most [`BLOCK`](Self::BLOCK) threads, what [`own`](Self::own) and
/// [`part`](Self::part) give to one thread is disjoint from what they give to any other. `Memory` is
/// valid for any bits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no layout of shared memory",
    label = "not a tile",
    note = "write `Tile<T, N>`, `Tile2<T, ROWS, COLUMNS>`, `Tile3<T, LAYERS, ROWS, COLUMNS>`, `Table<T, N>`, \
            `Table2<T, ROWS, COLUMNS>`, `PerWarp<T>`, or a tuple of these"
)]
pub unsafe trait Layout {
    /// The memory.
    type Memory: ?Sized;
    /// The largest block: threads along x, y and z.
    const BLOCK: [u32; 3];
    /// A thread's own element.
    type Own<'a>
    where
        Self: 'a;
    /// All that is the thread's own: [`Part`], or for a tuple of tiles a tuple of them.
    type Part<'a>
    where
        Self: 'a;
    /// The whole, to read.
    type View<'a>
    where
        Self: 'a;

    /// The calling thread's element.
    ///
    /// # Safety
    ///
    /// All threads of the block are in the phase of own elements for `'a`, and the calling thread
    /// has no other reference into the memory.
    unsafe fn own<'a>(memory: *mut Self::Memory) -> Self::Own<'a>
    where
        Self: 'a;

    /// All that is the calling thread's.
    ///
    /// # Safety
    ///
    /// As for [`own`](Self::own).
    unsafe fn part<'a>(memory: *mut Self::Memory) -> Self::Part<'a>
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

/// A thread's elements of a tile that the block shares out: see [`Shared::part`](super::Shared::part).
#[derive(Debug)]
pub struct Part<'a, L: Layout> {
    pub(super) memory: *mut L::Memory,
    borrow: PhantomData<&'a mut L::Memory>,
}

impl<L: Layout> Part<'_, L> {
    /// # Safety
    ///
    /// As for [`Layout::own`].
    #[inline(always)]
    pub(super) unsafe fn new(memory: *mut L::Memory) -> Self {
        Self { memory, borrow: PhantomData }
    }
}

/// The parts that are the same for every layout of one tile: a view is a reference to the memory.
macro_rules! one_tile {
    ($memory:ty) => {
        type Memory = $memory;
        type Part<'a> = Part<'a, Self>;
        type View<'a> = &'a $memory;

        #[inline(always)]
        unsafe fn part<'a>(memory: *mut $memory) -> Part<'a, Self> {
            // SAFETY: the caller's.
            unsafe { Part::new(memory) }
        }

        #[inline(always)]
        unsafe fn view<'a>(memory: *mut $memory) -> &'a $memory {
            // SAFETY: no thread writes in this phase; elements are valid for any bits.
            unsafe { &*memory }
        }
    };
}

/// `N` elements, shared out along x: thread x has the element x, and those whole blocks further.
///
/// For 1-D blocks of at most `N` threads.
#[derive(Debug)]
pub struct Tile<T, const N: usize>(PhantomData<[T; N]>);

// SAFETY: the elements whose index leaves `threadIdx.x` when divided by the block's size, in a block of
// one dimension and at most `N` threads.
unsafe impl<T: Element, const N: usize> Layout for Tile<T, N> {
    const BLOCK: [u32; 3] = block::<T, Self::Memory>([N, 1, 1]);
    type Own<'a> = &'a mut T;
    one_tile!([T; N]);

    #[inline(always)]
    unsafe fn own<'a>(memory: *mut [T; N]) -> &'a mut T {
        // SAFETY: the launcher admits no block of more than `N` threads; the caller's for the rest.
        unsafe { &mut *memory.cast::<T>().add(thread_idx_x() as usize) }
    }
}

/// `ROWS` by `COLUMNS` elements, shared out along both dimensions: thread (x, y) has row y, column x, and those whole
/// blocks further down or to the right.
///
/// For 2-D blocks that are not larger than the tile. `PAD` elements behind each row are not used; one of them keeps a
/// warp that reads down a column of 32 rows from meeting a single memory bank.
#[derive(Debug)]
pub struct Tile2<T, const ROWS: usize, const COLUMNS: usize, const PAD: usize = 0>(
    PhantomData<[TileRow<T, COLUMNS, PAD>; ROWS]>,
);

/// A row of a [`Tile2`]: an array, and padding that cannot be reached.
#[derive(Debug)]
#[repr(C)]
pub struct TileRow<T, const COLUMNS: usize, const PAD: usize> {
    elements: [T; COLUMNS],
    padding: [MaybeUninit<T>; PAD],
}

impl<T, const COLUMNS: usize, const PAD: usize> Deref for TileRow<T, COLUMNS, PAD> {
    type Target = [T; COLUMNS];

    #[inline(always)]
    fn deref(&self) -> &[T; COLUMNS] {
        &self.elements
    }
}

// SAFETY: the elements whose row and column leave `threadIdx.y` and `threadIdx.x` when divided by the
// block's sizes, in a block of two dimensions that are at most `COLUMNS` and `ROWS`.
unsafe impl<T: Element, const ROWS: usize, const COLUMNS: usize, const PAD: usize> Layout
    for Tile2<T, ROWS, COLUMNS, PAD>
{
    const BLOCK: [u32; 3] = block::<T, Self::Memory>([COLUMNS, ROWS, 1]);
    type Own<'a> = &'a mut T;
    one_tile!([TileRow<T, COLUMNS, PAD>; ROWS]);

    #[inline(always)]
    unsafe fn own<'a>(memory: *mut [TileRow<T, COLUMNS, PAD>; ROWS]) -> &'a mut T {
        let offset = thread_idx_y() as usize * (COLUMNS + PAD) + thread_idx_x() as usize;
        // SAFETY: the launcher admits no larger block; the caller's for the rest.
        unsafe { &mut *memory.cast::<T>().add(offset) }
    }
}

/// `LAYERS` by `ROWS` by `COLUMNS` elements, shared out along three dimensions: thread (x, y, z) has layer z, row y,
/// column x, and those whole blocks further.
///
/// For 3-D blocks that are not larger than the tile.
#[derive(Debug)]
pub struct Tile3<T, const LAYERS: usize, const ROWS: usize, const COLUMNS: usize>(
    PhantomData<[[[T; COLUMNS]; ROWS]; LAYERS]>,
);

// SAFETY: as for `Tile2`, with a third dimension.
unsafe impl<T: Element, const LAYERS: usize, const ROWS: usize, const COLUMNS: usize> Layout
    for Tile3<T, LAYERS, ROWS, COLUMNS>
{
    const BLOCK: [u32; 3] = block::<T, Self::Memory>([COLUMNS, ROWS, LAYERS]);
    type Own<'a> = &'a mut T;
    one_tile!([[[T; COLUMNS]; ROWS]; LAYERS]);

    #[inline(always)]
    unsafe fn own<'a>(memory: *mut [[[T; COLUMNS]; ROWS]; LAYERS]) -> &'a mut T {
        let row = thread_idx_z() as usize * ROWS + thread_idx_y() as usize;
        let offset = row * COLUMNS + thread_idx_x() as usize;
        // SAFETY: the launcher admits no larger block; the caller's for the rest.
        unsafe { &mut *memory.cast::<T>().add(offset) }
    }
}

/// `N` elements for a block of any shape and size: the thread that is the n-th of its block (along x, then y, then z)
/// has the element n, if there is one, and those whole blocks further.
///
/// For what has a size of its own: the bins of a histogram, a table, a single value for the block.
#[derive(Debug)]
pub struct Table<T, const N: usize>(PhantomData<[T; N]>);

// SAFETY: the elements whose index leaves the thread's number when divided by the number of threads.
unsafe impl<T: Element, const N: usize> Layout for Table<T, N> {
    const BLOCK: [u32; 3] = block::<T, Self::Memory>(LARGEST);
    type Own<'a> = Option<&'a mut T>;
    one_tile!([T; N]);

    #[inline(always)]
    unsafe fn own<'a>(memory: *mut [T; N]) -> Option<&'a mut T> {
        let index = index_in_block() as usize;
        // SAFETY: below `N`; the caller's for the rest.
        (index < N).then(|| unsafe { &mut *memory.cast::<T>().add(index) })
    }
}

/// `ROWS` by `COLUMNS` elements for a block of any shape and size: a [`Table`] of all rows one after the other.
///
/// Warps that read 2-D data with 1-D blocks, as matrix fragments do, are served best by this one.
#[derive(Debug)]
pub struct Table2<T, const ROWS: usize, const COLUMNS: usize>(PhantomData<[[T; COLUMNS]; ROWS]>);

// SAFETY: as for `Table`, of `ROWS * COLUMNS` elements.
unsafe impl<T: Element, const ROWS: usize, const COLUMNS: usize> Layout for Table2<T, ROWS, COLUMNS> {
    const BLOCK: [u32; 3] = block::<T, Self::Memory>(LARGEST);
    type Own<'a> = Option<&'a mut T>;
    one_tile!([[T; COLUMNS]; ROWS]);

    #[inline(always)]
    unsafe fn own<'a>(memory: *mut [[T; COLUMNS]; ROWS]) -> Option<&'a mut T> {
        let index = index_in_block() as usize;
        // SAFETY: below the number of elements; the caller's for the rest.
        (index < ROWS * COLUMNS).then(|| unsafe { &mut *memory.cast::<T>().add(index) })
    }
}

/// One element for each warp of the block, owned by the warp's first lane.
///
/// Threads are counted along x, then y, then z, and a warp is 32 of them. There are `WARPS` elements, 32 unless the kernel
/// says otherwise; those beyond the block's last warp hold nothing useful. With fewer than 32 it is for 1-D blocks of as
/// many warps at most.
#[derive(Debug)]
pub struct PerWarp<T, const WARPS: usize = 32>(PhantomData<[T; WARPS]>);

// SAFETY: a block of 1024 threads has 32 warps, a smaller one as many as it is said to have at most, and each of them one
// thread whose number is a multiple of 32.
unsafe impl<T: Element, const WARPS: usize> Layout for PerWarp<T, WARPS> {
    const BLOCK: [u32; 3] = block::<T, Self::Memory>(if WARPS < 32 { [32 * WARPS, 1, 1] } else { LARGEST });
    type Own<'a> = Option<&'a mut T>;
    one_tile!([T; WARPS]);

    #[inline(always)]
    unsafe fn own<'a>(memory: *mut [T; WARPS]) -> Option<&'a mut T> {
        let thread = index_in_block();
        // SAFETY: a thread's number is below that of the largest block, or 1024; the caller's for the rest.
        thread.is_multiple_of(WARP_SIZE).then(|| unsafe { &mut *memory.cast::<T>().add((thread / WARP_SIZE) as usize) })
    }
}

/// Layouts of one tile, whose own elements can be visited with their indices: those of this library.
pub trait Elements: Layout + sealed::Elements {
    /// The elements.
    type Element: Element;
    /// An index: a number, or row and column and so on.
    type Index;

    /// Calls `work` with the index of each of the thread's elements and the element.
    fn each(part: Part<'_, Self>, work: impl FnMut(Self::Index, &mut Self::Element))
    where
        Self: Sized;
}

mod sealed {
    /// Implementations visit only elements of the part, in shared memory.
    pub trait Elements {}
}

macro_rules! elements {
    ($($layout:ty, $index:ty, [$($generic:tt)*];)*) => {$(
        impl<T: Element, $($generic)*> sealed::Elements for $layout {}

        impl<T: Element, $($generic)*> Elements for $layout {
            type Element = T;
            type Index = $index;

            #[inline(always)]
            fn each(mut part: Part<'_, Self>, work: impl FnMut($index, &mut T)) {
                part.each(work);
            }
        }
    )*};
}

elements! {
    Tile<T, N>, usize, [const N: usize];
    Tile2<T, ROWS, COLUMNS, PAD>, [usize; 2], [const ROWS: usize, const COLUMNS: usize, const PAD: usize];
    Tile3<T, LAYERS, ROWS, COLUMNS>, [usize; 3], [const LAYERS: usize, const ROWS: usize, const COLUMNS: usize];
    Table<T, N>, usize, [const N: usize];
    Table2<T, ROWS, COLUMNS>, [usize; 2], [const ROWS: usize, const COLUMNS: usize];
}

/// The largest block there can be along each dimension.
const LARGEST: [usize; 3] = [1024, 1024, 64];

/// The most bytes of shared memory that a block can have: 227 KiB, on sm_90 (CUDA C++ Programming Guide, "Compute
/// Capabilities").
const MOST: usize = 227 * 1024;

/// The largest block, threads along x, y and z, of a layout of elements `T` in memory `M`.
///
/// # Panics
/// For memory that no block can have. So numbers of elements are small, and computing with them does not wrap.
#[expect(clippy::cast_possible_truncation, reason = "each is at most `MOST`")]
#[track_caller]
const fn block<T, M>([x, y, z]: [usize; 3]) -> [u32; 3] {
    demand(size_of::<T>() > 0, "elements of shared memory have a size");
    demand(
        size_of::<M>() <= MOST,
        "a block has at most 227 KiB (232448 bytes) of shared memory: write a smaller tile, and let the block load one after the other",
    );
    demand(
        x > 0 && y > 0 && z > 0 && x <= MOST && y <= MOST && z <= MOST,
        "a tile of shared memory has at least one element along each dimension",
    );
    [x as u32, y as u32, z as u32]
}

/// The indices below `end` that are a thread's: its own, then `step` further each time. How often it looks does not depend
/// on the thread, so that in blocks of a stated shape the loop is unrolled.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "shared memory is smaller than 4 GiB")]
fn strided(first: u32, step: u32, end: usize, mut visit: impl FnMut(usize)) {
    let mut start = 0;
    while start < end as u32 {
        // SAFETY: shared memory is far smaller than 4 GiB, and a block has 1024 threads at most.
        let index = unsafe { start.unchecked_add(first) };
        if index < end as u32 {
            visit(index as usize);
        }
        // SAFETY: as above.
        start = unsafe { start.unchecked_add(step) };
    }
}

impl<'a, T: Element, const N: usize> Part<'a, Tile<T, N>> {
    /// Calls `work` with the index of each of the thread's elements and the element.
    #[inline(always)]
    pub fn each(&mut self, mut work: impl FnMut(usize, &mut T)) {
        strided(thread_idx_x(), block_dim_x(), N, |index| {
            // SAFETY: below `N`, and the thread's own by the remainder.
            work(index, unsafe { &mut *self.memory.cast::<T>().add(index) });
        });
    }

    /// The thread's elements with their indices.
    #[inline(always)]
    #[must_use]
    pub fn into_iter_strided(self) -> OwnStrided<'a, T, N> {
        OwnStrided { memory: self.memory, next: thread_idx_x(), step: block_dim_x(), tile: PhantomData }
    }
}

/// The thread's element number `k` of a tile, which lies `k` whole blocks behind its first.
impl<T: Element, const N: usize> Index<usize> for Part<'_, Tile<T, N>> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, k: usize) -> &T {
        // SAFETY: below `N`, and the thread's own by the remainder.
        unsafe { &*self.memory.cast::<T>().add(strided_index(k, N)) }
    }
}

impl<T: Element, const N: usize> IndexMut<usize> for Part<'_, Tile<T, N>> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, k: usize) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.memory.cast::<T>().add(strided_index(k, N)) }
    }
}

/// Where the thread's element number `k` of `length` is. Its number is compared first, so that the product does not wrap to
/// another thread's element.
#[inline(always)]
#[track_caller]
fn strided_index(k: usize, length: usize) -> usize {
    let index = k.wrapping_mul(block_dim_x() as usize) + thread_idx_x() as usize;
    assert!(k < length && index < length, "the thread has no element of this number in the tile");
    index
}

impl<T: Element, const ROWS: usize, const COLUMNS: usize, const PAD: usize> Part<'_, Tile2<T, ROWS, COLUMNS, PAD>> {
    /// Calls `work` with row and column of each of the thread's elements and the element.
    #[inline(always)]
    pub fn each(&mut self, mut work: impl FnMut([usize; 2], &mut T)) {
        strided(thread_idx_y(), block_dim_y(), ROWS, |row| {
            strided(thread_idx_x(), block_dim_x(), COLUMNS, |column| {
                // SAFETY: in the tile, and the thread's own by the remainders.
                work([row, column], unsafe { &mut *self.memory.cast::<T>().add(row * (COLUMNS + PAD) + column) });
            });
        });
    }
}

impl<T: Element, const LAYERS: usize, const ROWS: usize, const COLUMNS: usize>
    Part<'_, Tile3<T, LAYERS, ROWS, COLUMNS>>
{
    /// Calls `work` with layer, row and column of each of the thread's elements and the element.
    #[inline(always)]
    pub fn each(&mut self, mut work: impl FnMut([usize; 3], &mut T)) {
        strided(thread_idx_z(), block_dim_z(), LAYERS, |layer| {
            strided(thread_idx_y(), block_dim_y(), ROWS, |row| {
                strided(thread_idx_x(), block_dim_x(), COLUMNS, |column| {
                    let offset = (layer * ROWS + row) * COLUMNS + column;
                    // SAFETY: in the tile, and the thread's own by the remainders.
                    work([layer, row, column], unsafe { &mut *self.memory.cast::<T>().add(offset) });
                });
            });
        });
    }
}

impl<T: Element, const N: usize> Part<'_, Table<T, N>> {
    /// Calls `work` with the index of each of the thread's elements and the element.
    #[inline(always)]
    pub fn each(&mut self, mut work: impl FnMut(usize, &mut T)) {
        strided(index_in_block(), threads_in_block(), N, |index| {
            // SAFETY: below `N`, and the thread's own by the remainder.
            work(index, unsafe { &mut *self.memory.cast::<T>().add(index) });
        });
    }
}

impl<T: Element, const ROWS: usize, const COLUMNS: usize> Part<'_, Table2<T, ROWS, COLUMNS>> {
    /// Calls `work` with row and column of each of the thread's elements and the element.
    #[inline(always)]
    pub fn each(&mut self, mut work: impl FnMut([usize; 2], &mut T)) {
        strided(index_in_block(), threads_in_block(), ROWS * COLUMNS, |index| {
            // SAFETY: in the table, and the thread's own by the remainder.
            work([index / COLUMNS, index % COLUMNS], unsafe { &mut *self.memory.cast::<T>().add(index) });
        });
    }
}

/// See [`Shared::own_strided`](super::Shared::own_strided).
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
        unsafe impl<$first: Layout<Memory: Sized>, $($tile: Layout<Memory: Sized>),*> Layout for ($first, $($tile),*) {
            type Memory = $memory<$first::Memory, $($tile::Memory),*>;
            const BLOCK: [u32; 3] = {
                let least = $first::BLOCK;
                $(let least = smaller(least, $tile::BLOCK);)*
                least
            };
            type Own<'a> = ($first::Own<'a>, $($tile::Own<'a>),*) where Self: 'a;
            type Part<'a> = ($first::Part<'a>, $($tile::Part<'a>),*) where Self: 'a;
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
            unsafe fn part<'a>(memory: *mut Self::Memory) -> Self::Part<'a>
            where
                Self: 'a,
            {
                // SAFETY: the caller's, for each part; `memory` is the static.
                unsafe {
                    (
                        $first::part(addr_of_mut!((*memory).$first)),
                        $($tile::part(addr_of_mut!((*memory).$tile))),*
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

impl<A, B> Pair<A, B> {
    /// Where the two parts are.
    #[inline(always)]
    pub(super) fn places(memory: *mut Self) -> (*mut A, *mut B) {
        // SAFETY: the address of a field of what the pointer leads to, which is a static.
        unsafe { (addr_of_mut!((*memory).A), addr_of_mut!((*memory).B)) }
    }
}
