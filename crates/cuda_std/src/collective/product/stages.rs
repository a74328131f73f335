//! Tiles of both operands in shared memory: some are multiplied while the next ones are on their way.

use core::marker::PhantomData;

use bytemuck::Zeroable;

use super::output::{Product, TileStart};
use super::source::{BLOCK, Form, Source};
use crate::abi::parameter::{Element, KernelParameter, Role};
use crate::array::output::Disjoint;
use crate::array::strided::View;
use crate::device::intrinsics;
use crate::device::thread::{index_in_block, threads_in_block};
use crate::mem::shared::dynamic_shared_mem;

/// How a block computes products: [`ByThreads`](super::ByThreads) or [`ByWarps`](super::ByWarps).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no way to compute products",
    note = "write `ByThreads`, or `ByWarps<T>` with `f16`, `bf16`, `Tf32`, `i8` or `f64`"
)]
pub trait Way: sealed::Way {}

impl<W: sealed::Way> Way for W {}

pub(super) mod sealed {
    use super::{Form, Zeroable};

    /// Where the tiles of both operands are.
    pub(crate) type Tiles<W> = [*const <W as Way>::Element; 2];

    /// # Safety
    /// `each` gives a thread of a block elements of a tile that it gives to no other.
    pub unsafe trait Way: Sized {
        /// Elements of the operands.
        type Element: Copy;
        /// What products are summed in.
        type Sum: Copy;
        /// The left operand's tiles, whose lines are rows of the product.
        type Left: Form<Element = Self::Element>;
        /// The right operand's tiles, whose lines are columns of it.
        type Right: Form<Element = Self::Element>;
        /// Tiles of both operands in shared memory, several times.
        type Memory;
        /// The calling thread's sums of a tile of the product.
        type Sums: Zeroable;

        /// What a thread reads of tiles before their turn.
        type Ahead: Copy;

        /// How many times: 3 or 4.
        const STAGES: u32;

        /// What is read ahead of tiles, which are there.
        ///
        /// # Safety
        /// The tiles are in shared memory, and no thread writes them. `LEFT` and `RIGHT` say whether their terms lie in lines.
        unsafe fn ahead<const LEFT: bool, const RIGHT: bool>(tiles: Tiles<Self>) -> Self::Ahead;

        /// Adds the product of two tiles, of which something was read ahead, and reads ahead of the next two. Calls `fetch` once, when
        /// there is something to do while copies start.
        ///
        /// # Safety
        /// As for [`ahead`](Self::ahead), of both.
        unsafe fn multiply<const LEFT: bool, const RIGHT: bool>(
            sums: &mut Self::Sums,
            ahead: &mut Self::Ahead,
            tiles: [Tiles<Self>; 2],
            fetch: impl FnMut(),
        );

        /// Calls `work` with row and column of each of the thread's sums in the tile.
        fn each(sums: &Self::Sums, work: impl FnMut([usize; 2], Self::Sum));
    }
}

/// Tiles of the operands of a product in shared memory, and what computes with them: a parameter of a kernel, for which the host passes
/// nothing. See the [module](super).
///
/// They take 60 to 160 KB of dynamic shared memory.
#[derive(Debug)]
pub struct ProductStages<'l, W> {
    memory: *mut u8,
    barrier: u32,
    launch: PhantomData<(&'l (), W)>,
}

// SAFETY: place and length in the dynamic shared memory.
unsafe impl<W: Way> KernelParameter for ProductStages<'_, W> {
    const BARRIERS: u32 = 1;
    const ROLE: Role = Role::Shared;
    type Element = W::Memory;
    type A = u32;
    type B = u32;
    type C = ();
    type D = ();
    type Value<'l> = ProductStages<'l, W>;

    #[inline(always)]
    unsafe fn assemble(offset: u32, _: u32, (): (), (): ()) -> Self::Value<'static> {
        ProductStages {
            // SAFETY: inside the memory that the launch asked for.
            memory: unsafe { dynamic_shared_mem::<u8>().add(offset as usize) },
            barrier: 0,
            launch: PhantomData,
        }
    }

    #[inline(always)]
    unsafe fn with_barrier<const BARRIER: u32>(value: Self::Value<'static>) -> Self::Value<'static> {
        ProductStages {
            barrier: BARRIER,
            ..value
        }
    }
}

impl<W: Way> ProductStages<'_, W> {
    /// `c = f(a b)` for each matrix of a batch. What `a` and `b` do not have of what the shape of `c` wants is zero.
    ///
    /// `finish` is called with the index of each element, `[batch, row, column]`, its sum and the element.
    ///
    /// # Panics
    /// Unless blocks have 256 threads, and operands are in global memory and lie as the [way](super) needs it.
    #[inline(always)]
    pub fn product<U: Element>(
        self,
        a: View<'_, W::Element, 3>,
        b: View<'_, W::Element, 3>,
        mut c: Disjoint<'_, U, Product>,
        mut finish: impl FnMut([usize; 3], W::Sum, &mut U),
    ) {
        const { assert!(W::Left::DEPTH == W::Right::DEPTH && W::STAGES >= 3) };
        assert!(
            threads_in_block() as usize == BLOCK,
            "a product is computed by blocks of 256 threads"
        );
        let steps = a.shape()[2].min(b.shape()[1]).div_ceil(W::Left::DEPTH) as u32;
        for tile in c.tiles([W::Left::LINES, W::Right::LINES]) {
            let mut left = Source::<W::Left>::new(&a, 1, tile.layer, tile.row);
            let mut right = Source::<W::Right>::new(&b, 2, tile.layer, tile.column);
            let mut sums = W::Sums::zeroed();
            match [left.in_lines(), right.in_lines()] {
                [false, false] => self.add::<false, false>(&mut sums, steps, &mut left, &mut right),
                [false, true] => self.add::<false, true>(&mut sums, steps, &mut left, &mut right),
                [true, false] => self.add::<true, false>(&mut sums, steps, &mut left, &mut right),
                [true, true] => self.add::<true, true>(&mut sums, steps, &mut left, &mut right),
            }
            self.finish(&sums, tile, &mut c, &mut finish);
        }
        intrinsics::cp_async_wait_all();
    }

    /// Adds the products of all tiles of two operands.
    #[inline(always)]
    fn add<const LEFT: bool, const RIGHT: bool>(
        &self,
        sums: &mut W::Sums,
        steps: u32,
        left: &mut Source<W::Left>,
        right: &mut Source<W::Right>,
    ) {
        if steps == 0 {
            return;
        }
        let mut fetch = |step: u32| {
            if step < steps {
                let [to_left, to_right] = self.tiles(step);
                // SAFETY: tiles that no thread multiplies any more: since then all have met, below.
                unsafe {
                    left.fetch(to_left.cast_mut());
                    right.fetch(to_right.cast_mut());
                }
            }
            // Also without copies: each step is a group.
            intrinsics::cp_async_commit();
        };
        for step in 0..W::STAGES - 1 {
            fetch(step);
        }
        wait_for_all_but(W::STAGES - 2);
        intrinsics::barrier_sync(self.barrier);
        // SAFETY: all copies to these tiles are over: each thread has waited for its own, and met the others.
        let mut ahead = unsafe { W::ahead::<LEFT, RIGHT>(self.tiles(0)) };
        for step in 0..steps {
            wait_for_all_but(W::STAGES - 3);
            intrinsics::barrier_sync(self.barrier);
            // After the last tiles there are no next ones.
            let next = if step + 1 < steps { step + 1 } else { step };
            let tiles = [self.tiles(step), self.tiles(next)];
            // SAFETY: as above, of both. New copies to them start after all have met again.
            unsafe {
                W::multiply::<LEFT, RIGHT>(sums, &mut ahead, tiles, || fetch(step + (W::STAGES - 1)));
            }
        }
    }

    /// Has the elements of a tile written, by way of shared memory: neighbouring threads write neighbouring elements, whichever thread
    /// has their sums, and the code of `finish` is there once.
    #[inline(always)]
    fn finish<U: Element>(
        &self,
        sums: &W::Sums,
        tile: TileStart,
        c: &mut Disjoint<'_, U, Product>,
        finish: &mut impl FnMut([usize; 3], W::Sum, &mut U),
    ) {
        let (across, memory) = (W::Right::LINES, self.memory.cast::<W::Sum>());
        let stride = across + PADDING;
        // As many rows at a time as there is room for.
        let down = const {
            let room = size_of::<W::Memory>() / ((W::Right::LINES + PADDING) * size_of::<W::Sum>());
            let rows = if room < W::Left::LINES { room } else { W::Left::LINES };
            1 << rows.ilog2()
        };
        let by_columns = c.is_by_columns();
        let mut first = 0;
        while first < W::Left::LINES {
            // All threads are done with what was there.
            intrinsics::barrier_sync(self.barrier);
            W::each(sums, |[row, column], sum| {
                let row = row.wrapping_sub(first);
                if row < down {
                    // SAFETY: inside the stages, of which no thread uses anything else between these barriers.
                    unsafe { memory.add(row * stride + column).write(sum) };
                }
            });
            intrinsics::barrier_sync(self.barrier);
            let mut number = index_in_block() as usize;
            while number < down * across {
                let [row, column] = if by_columns {
                    [number % down, number / down]
                } else {
                    [number / across, number % across]
                };
                // SAFETY: inside the stages, written before the barrier.
                let sum = unsafe { *memory.add(row * stride + column) };
                let [layer, top, left] = [tile.layer, tile.row, tile.column].map(|at| at as usize);
                // SAFETY: no two blocks have the same tile, no two threads the same number.
                unsafe {
                    c.visit([layer, top + first + row, left + column], |index, element| {
                        finish(index, sum, element);
                    });
                };
                number += BLOCK;
            }
            first += down;
        }
        // Before the next tile's copies.
        intrinsics::barrier_sync(self.barrier);
    }

    /// The tiles of a step.
    #[inline(always)]
    fn tiles(&self, step: u32) -> sealed::Tiles<W> {
        const {
            let stage = (W::Left::LENGTH + W::Right::LENGTH) * size_of::<W::Element>();
            assert!(
                size_of::<W::Memory>() == stage * W::STAGES as usize,
                "the memory is the stages"
            );
        };
        let start = self.memory.cast::<W::Element>();
        let left = start.wrapping_add((step % W::STAGES) as usize * (W::Left::LENGTH + W::Right::LENGTH));
        [left.cast_const(), left.wrapping_add(W::Left::LENGTH).cast_const()]
    }
}

/// Sums behind each row of those that are on their way to the output: threads that have neighbouring rows meet different memory banks.
const PADDING: usize = 4;

/// Keeps the compiler from moving all reads of a long straight piece of code to its start, for which there are no registers: a branch
/// that is never taken, of which it does not know.
#[inline(always)]
pub(super) fn divide(never: bool) {
    if never {
        intrinsics::in_order();
    }
}

/// Waits for the calling thread's groups of copies, all but the last so many.
#[inline(always)]
fn wait_for_all_but(groups: u32) {
    match groups {
        0 => intrinsics::cp_async_wait_all(),
        1 => intrinsics::cp_async_wait_1(),
        _ => intrinsics::cp_async_wait_2(),
    }
}
