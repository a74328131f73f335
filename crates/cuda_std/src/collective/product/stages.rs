//! Tiles of both operands in shared memory: some are multiplied while the next ones are on their way.

use core::marker::PhantomData;

use bytemuck::Zeroable;

use self::sealed::Ahead;
use super::output::{Product, TileStart};
use super::source::{Along, Form, Source, Unturned};
use crate::abi::parameter::{Element, KernelParameter, Role};
use crate::array::output::Disjoint;
use crate::array::strided::{Dimensions, View};
use crate::collective::agreement::agree;
use crate::collective::mma::unrolled;
use crate::device::intrinsics;
use crate::device::thread::{index_in_block, threads_in_block};
use crate::mem::shared::dynamic_shared_mem;

/// The tiling of a product, how a block computes it, as `TiledMMA` of CUTLASS: [`ByThreads`](super::ByThreads) or [`ByWarps`](super::ByWarps).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tiling of products",
    note = "write `ByThreads`, or `ByWarps<T>` with `f16`, `bf16`, `Tf32`, `i8` or `f64`"
)]
pub trait TiledMma: sealed::TiledMma {}

impl<W: sealed::TiledMma> TiledMma for W {}

pub(super) mod sealed {
    use super::{Form, Zeroable};

    /// Where the tiles of both operands are.
    pub(crate) type Tiles<W> = [*const <W as TiledMma>::Element; 2];

    /// Work for later steps between the parts of a multiplication: starts the copies of later tiles, behind the loads
    /// of the current step, because loads would wait for the copies. Also [turns](super::Source::turn) the copies for
    /// the next step, which the thread reads and later writes; tilings whose forms do not turn need not call this.
    pub trait Ahead {
        /// Starts the copies of an operand's tile, 0 being the left one.
        ///
        /// # Safety
        /// It is called once in a multiplication for each operand, by all threads.
        unsafe fn copy(&mut self, operand: usize);
        fn read(&mut self);
        fn write(&mut self);
    }

    /// # Safety
    /// `each` gives a thread of a block, whose index it is told, elements of a tile that it gives to no other.
    pub unsafe trait TiledMma: Sized {
        /// Elements of the operands.
        type Element: Copy;
        /// The type of sums.
        type Sum: Copy;
        /// The left operand's tiles, whose lines are rows of the product.
        type Left: Form<Element = Self::Element>;
        /// The right operand's tiles, whose lines are columns of it.
        type Right: Form<Element = Self::Element>;
        /// Tiles of both operands in shared memory, several times.
        type Memory;
        /// The calling thread's sums of a tile of the product.
        type Sums: Zeroable;

        /// Data that a thread has read from tiles and not multiplied yet.
        type Read: Zeroable;

        /// How many times there are tiles in memory: 3 or 4.
        const STAGES: u32;

        /// Reads two tiles, and adds what was read to the sums: each part of the tiles is multiplied while the next one is read, the
        /// first part by what was left of the tiles before. In the meantime it has tiles of later steps copied and turned.
        ///
        /// # Safety
        /// The tiles are in shared memory, and no thread writes them. `LEFT` and `RIGHT` say whether their terms lie in lines.
        unsafe fn multiply<const LEFT: bool, const RIGHT: bool>(
            thread: usize,
            sums: &mut Self::Sums,
            read: &mut Self::Read,
            tiles: Tiles<Self>,
            ahead: &mut impl Ahead,
        );

        /// Adds the product of what was read last.
        fn multiply_rest(sums: &mut Self::Sums, read: &Self::Read);

        /// Neighbouring columns of which a thread has the sums: 2 or 4.
        const SIDE_BY_SIDE: usize;

        /// Calls `work` with row and first column in the tile of each [`SIDE_BY_SIDE`](Self::SIDE_BY_SIDE) of the thread's sums, and
        /// these.
        fn each(thread: usize, sums: &Self::Sums, work: impl FnMut([usize; 2], &[Self::Sum]));
    }
}

/// Tiles of the operands of a product in shared memory, and what computes with them: a parameter of a kernel, for which the host passes
/// nothing. See the [module](super).
///
/// They take 50 to 100 KB of dynamic shared memory.
#[derive(Debug)]
pub struct ProductStages<'l, W> {
    memory: *mut u8,
    barrier: u32,
    launch: PhantomData<(&'l (), W)>,
}

// SAFETY: place and length in the dynamic shared memory.
unsafe impl<W: TiledMma> KernelParameter for ProductStages<'_, W> {
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
        ProductStages { barrier: BARRIER, ..value }
    }
}

impl<W: TiledMma> ProductStages<'_, W> {
    /// `c = f(a b)` for each matrix of a batch. Elements that `c` requires and `a` or `b` lack are zero.
    ///
    /// `finish` is called with the index of each element, `[batch, row, column]`, its sum and the element.
    ///
    /// # Panics
    /// Unless blocks have as many threads as the [tiling](super) says, all of which come here with the same operands and output, and operands
    /// are in global memory and lie as it needs them.
    #[inline(always)]
    pub fn product<U: Element>(
        self,
        a: View<'_, W::Element, 3>,
        b: View<'_, W::Element, 3>,
        c: Disjoint<'_, U, Product<W>>,
        finish: impl FnMut([usize; 3], W::Sum, &mut U),
    ) {
        self.product_or(a, b, c, None::<fn(W::Sum) -> U>, finish);
    }

    /// As [`product`](Self::product), but an optional function `value` computes an element from its sum alone. `value`
    /// is used where threads can write vectors, as in tiles of an output by rows, and `finish` elsewhere. All threads
    /// pass a `value`, or none does.
    ///
    /// ```
    /// use cuda_std::prelude::*;
    /// use cuda_std::product::{ByThreads, Product, ProductStages};
    ///
    /// /// c = alpha a b + beta c.
    /// #[kernel(block = 256)]
    /// pub fn scaled_product(
    ///     a: View<f32, 3>,
    ///     b: View<f32, 3>,
    ///     alpha: f32,
    ///     beta: f32,
    ///     c: Disjoint<f32, Product<ByThreads>>,
    ///     stages: ProductStages<ByThreads>,
    /// ) {
    ///     let value = (beta == 0.0).then_some(|sum: f32| alpha * sum);
    ///     stages.product_or(a, b, c, value, |_, sum, c| *c = alpha * sum + beta * *c);
    /// }
    ///
    /// # fn main() {
    /// let (a, b) = (vec![2.0_f32; 256 * 8], vec![0.5_f32; 8 * 128]);
    /// for (beta, result) in [(0.0, 24.0), (1.0, 31.0)] {
    ///     let mut c = vec![7.0_f32; 256 * 128];
    ///     let call = scaled_product((&a, [1, 256, 8]), (&b, [1, 8, 128]), 3.0, beta, (&mut c, [1, 256, 128]));
    ///     examples::launch((1, 256), call);
    ///     assert!(c.iter().all(|c| *c == result));
    /// }
    /// # }
    /// ```
    ///
    /// # Panics
    /// As [`product`](Self::product).
    #[inline(always)]
    pub fn product_or<U: Element>(
        self,
        a: View<'_, W::Element, 3>,
        b: View<'_, W::Element, 3>,
        mut c: Disjoint<'_, U, Product<W>>,
        value: Option<impl Fn(W::Sum) -> U>,
        mut finish: impl FnMut([usize; 3], W::Sum, &mut U),
    ) {
        const {
            assert!(W::Left::DEPTH == W::Right::DEPTH && W::Left::THREADS == W::Right::THREADS && W::STAGES >= 3);
        };
        assert!(
            threads_in_block() as usize == W::Left::THREADS,
            "a product is computed by blocks of as many threads as its tiling says"
        );
        let (left, right, mut output) = (a.parts(), b.parts(), words(c.start.addr(), &c.shape));
        // Lengths have 31 bits. The bit is opaque, so that `value.is_some()` compiles to a predicate.
        output[2] |= if value.is_some() { intrinsics::opaque(1 << 31) } else { 0 };
        let task = [words(left.0.addr(), left.1), words(right.0.addr(), right.1), output];
        assert!(
            // SAFETY: the stages are not in use yet, and have room for the words. Threads that chose other stages meet at another barrier,
            // of which they are not all.
            unsafe { agree(self.memory.cast(), self.barrier, task) },
            "all threads of a block compute a product together, of the same operands"
        );
        for tile in c.tiles([W::Left::LINES, W::Right::LINES]) {
            let tile = c.moved(tile);
            // Read for each tile, as the thread's index is.
            let [of_a, of_b] = [a.shape()[2], b.shape()[1]].map(|terms| intrinsics::opaque(terms as u32));
            let terms = of_a.min(of_b);
            let depth = W::Left::DEPTH as u32;
            let (steps, whole_steps) = (terms.div_ceil(depth), terms / depth);
            let sources = |tile: TileStart| {
                let thread = thread();
                (
                    Source::<W::Left>::new(&a, 1, tile.layer, tile.row, thread),
                    Source::<W::Right>::new(&b, 2, tile.layer, tile.column, thread),
                )
            };
            let mut sums = W::Sums::zeroed();
            // Complete tiles come last: code for partial tiles needs more registers, which are free before the sums.
            let (mut left, mut right) = sources(tile);
            let is_plain = left.plain().is_some() && right.plain().is_some();
            let plain_steps = if is_plain { whole_steps } else { 0 };
            if plain_steps < steps {
                left.skip(plain_steps);
                right.skip(plain_steps);
                self.add_any(&mut sums, steps - plain_steps, &mut left, &mut right);
                // All threads are done with the stages.
                intrinsics::barrier_sync(self.barrier);
            }
            // Computed again, so that no register has it in the loop above.
            let (mut left, mut right) = sources(tile.opaque());
            // Tiles with contiguous lines or terms have code for both orders; other tiles have one order.
            match [left.plain(), right.plain()] {
                _ if whole_steps == 0 => {}
                [Some(Along::Terms), Some(Along::Terms)] => {
                    self.add_plain::<true, true>(&mut sums, whole_steps, &mut left, &mut right);
                }
                [Some(Along::Terms), Some(Along::Lines)] if W::Right::TERM > 0 => {
                    self.add_plain::<true, false>(&mut sums, whole_steps, &mut left, &mut right);
                }
                [Some(Along::Lines), Some(Along::Terms)] if W::Left::TERM > 0 => {
                    self.add_plain::<false, true>(&mut sums, whole_steps, &mut left, &mut right);
                }
                [Some(Along::Lines), Some(Along::Lines)] if W::Left::TERM > 0 && W::Right::TERM > 0 => {
                    self.add_plain::<false, false>(&mut sums, whole_steps, &mut left, &mut right);
                }
                _ => {}
            }
            match &value {
                Some(value) if c.has_vectors(tile) => self.store(&sums, tile, &mut c, value),
                _ => self.finish(&sums, tile, &mut c, &mut finish),
            }
        }
    }

    /// Writes the elements of a tile, each thread those that it has the sums of.
    #[inline(always)]
    fn store<U: Element>(
        &self,
        sums: &W::Sums,
        tile: TileStart,
        c: &mut Disjoint<'_, U, Product<W>>,
        value: &impl Fn(W::Sum) -> U,
    ) {
        W::each(thread(), sums, |[row, column], sums| {
            let index = [tile.layer as usize, tile.row as usize + row, tile.column as usize + column];
            // SAFETY: as `has_vectors` says; no two blocks have the same tile, no two threads the same part of it.
            unsafe { c.write_vector(index, sums, value) };
        });
        // All threads are done with the stages before the next tile's copies.
        intrinsics::barrier_sync(self.barrier);
    }

    /// Adds the products of so many tiles of two operands that are [plain](Source::plain), along the terms or not.
    #[inline(always)]
    fn add_plain<const LEFT: bool, const RIGHT: bool>(
        &self,
        sums: &mut W::Sums,
        steps: u32,
        left: &mut Source<W::Left>,
        right: &mut Source<W::Right>,
    ) {
        left.begin_plain::<LEFT>();
        right.begin_plain::<RIGHT>();
        let feed = Plain::<'_, W, LEFT, RIGHT> {
            stages: self,
            sources: (left, right),
            steps,
            copied: 0,
            next: 0,
            unturned_left: None,
            unturned_right: None,
        };
        match [LEFT && W::Left::LINE > 0, RIGHT && W::Right::LINE > 0] {
            [false, false] => self.add::<false, false, _>(sums, steps, feed),
            [false, true] => self.add::<false, true, _>(sums, steps, feed),
            [true, false] => self.add::<true, false, _>(sums, steps, feed),
            [true, true] => self.add::<true, true, _>(sums, steps, feed),
        }
    }

    /// Adds the products of so many tiles of two operands.
    #[inline(always)]
    fn add_any(&self, sums: &mut W::Sums, steps: u32, left: &mut Source<W::Left>, right: &mut Source<W::Right>) {
        let feed = Any { stages: self, sources: (left, right), steps };
        if W::Left::ONE_BY_ONE {
            self.add::<false, false, _>(sums, steps, feed);
        } else {
            self.add::<true, true, _>(sums, steps, feed);
        }
    }

    /// Adds the products of all tiles, whose terms lie in lines or not.
    #[inline(always)]
    fn add<const LEFT: bool, const RIGHT: bool, F: Feed>(&self, sums: &mut W::Sums, steps: u32, mut feed: F) {
        // Each step is a group of copies, also without any.
        for step in 0..W::STAGES - 1 {
            // SAFETY: no thread multiplies yet.
            unsafe { feed.fetch(step) };
            intrinsics::cp_async_commit();
        }
        if F::TURNS {
            wait_for_all_but(W::STAGES - 2);
            feed.turn_next(0);
            feed.read();
            feed.write();
        }
        // Zeros: their product changes no sum.
        let mut read = W::Read::zeroed();
        for step in 0..steps {
            // `turn_next` reads copies of the next step, so turned operands must arrive one step earlier.
            wait_for_all_but(if F::TURNS { W::STAGES - 3 } else { W::STAGES - 2 });
            intrinsics::barrier_sync(self.barrier);
            // SAFETY: all threads are done with the step before, whose stage is that of the copies.
            unsafe { feed.fetch_next(step + (W::STAGES - 1)) };
            feed.turn_next(step + 1);
            // SAFETY: all copies to these tiles are over: each thread has waited for its own, and met the others. New ones start after
            // all have met again.
            unsafe { W::multiply::<LEFT, RIGHT>(feed.thread(), sums, &mut read, self.tiles(step), &mut feed) };
            intrinsics::cp_async_commit();
        }
        W::multiply_rest(sums, &read);
        intrinsics::cp_async_wait_all();
    }

    /// Writes the elements of a tile through shared memory: neighbouring threads write neighbouring elements, whichever
    /// thread has their sums, and the code of `finish` occurs once.
    #[inline(always)]
    fn finish<U: Element>(
        &self,
        sums: &W::Sums,
        tile: TileStart,
        c: &mut Disjoint<'_, U, Product<W>>,
        finish: &mut impl FnMut([usize; 3], W::Sum, &mut U),
    ) {
        let (across, memory) = (W::Right::LINES, self.memory.cast::<W::Sum>());
        let stride = across + PADDING;
        // The number of rows that fit into shared memory at a time.
        let down = const {
            let room = size_of::<W::Memory>() / ((W::Right::LINES + PADDING) * size_of::<W::Sum>());
            let rows = if room < W::Left::LINES { room } else { W::Left::LINES };
            1 << rows.ilog2()
        };
        let by_columns = c.is_by_columns();
        let [layer, top, left] = [tile.layer, tile.row, tile.column].map(|at| at as usize);
        let own = [top.next_multiple_of(W::Left::LINES), left.next_multiple_of(W::Right::LINES)];
        let mut first = 0;
        while first < W::Left::LINES {
            // Waits until all threads have read the previous contents.
            intrinsics::barrier_sync(self.barrier);
            W::each(thread(), sums, |[row, column], sums| {
                let row = row.wrapping_sub(first);
                if row < down {
                    unrolled::<4>(|i| {
                        if i < W::SIDE_BY_SIDE {
                            // SAFETY: inside the stages, of which no thread uses anything else between these barriers.
                            unsafe { memory.add(row * stride + column + i).write(sums[i]) };
                        }
                    });
                }
            });
            intrinsics::barrier_sync(self.barrier);
            let mut number = thread();
            while number < down * across {
                let [row, column] =
                    if by_columns { [number % down, number / down] } else { [number / across, number % across] };
                // SAFETY: inside the stages, written before the barrier.
                let sum = unsafe { *memory.add(row * stride + column) };
                let [row, column] = [top + first + row, left + column];
                // The rest of a tile that was moved is another's.
                if row >= own[0] && column >= own[1] {
                    // SAFETY: no two blocks have the same tile, no two threads the same number.
                    unsafe { c.visit([layer, row, column], |index, element| finish(index, sum, element)) };
                }
                number += W::Left::THREADS;
            }
            first += down;
        }
        // Before the next tile's copies.
        intrinsics::barrier_sync(self.barrier);
    }

    /// The tiles of a step. Behind each tile lies memory for terms that are not turned yet.
    #[inline(always)]
    fn tiles(&self, step: u32) -> sealed::Tiles<W> {
        let [left, right] = const {
            let lengths = [W::Left::LENGTH + W::Left::UNTURNED, W::Right::LENGTH + W::Right::UNTURNED];
            let stage = (lengths[0] + lengths[1]) * size_of::<W::Element>();
            assert!(size_of::<W::Memory>() == stage * W::STAGES as usize, "the memory is the stages");
            lengths
        };
        let start = self.memory.cast::<W::Element>();
        let tile = start.wrapping_add((step % W::STAGES) as usize * (left + right));
        [tile.cast_const(), tile.wrapping_add(left).cast_const()]
    }
}

/// Where an operand or the output lies: barriers, the places of terms in the stages and the shares of threads follow from this.
#[inline(always)]
fn words(start: usize, Dimensions { lengths, strides }: &Dimensions<3>) -> [u32; 8] {
    let ([a, b, c], [d, e, f]) = (*lengths, strides.map(i32::cast_unsigned));
    [start as u32, (start as u64 >> 32) as u32, a, b, c, d, e, f]
}

/// The calling thread's index, opaque so that addresses for a tile of the product, or for its end, are computed at
/// their use: otherwise they would take registers from the sums for the whole kernel.
#[inline(always)]
fn thread() -> usize {
    intrinsics::opaque(index_in_block()) as usize
}

/// Copies tiles to the stages.
trait Feed: Ahead {
    /// Whether tiles are turned.
    const TURNS: bool;

    /// Starts copies to the tiles of a step, if the step exists.
    ///
    /// # Safety
    /// No thread multiplies the tiles of its stage. Steps come one after the other.
    unsafe fn fetch(&mut self, step: u32);

    /// Chooses the step whose tiles are copied in the next multiplication, or copies them.
    ///
    /// # Safety
    /// As for [`fetch`](Self::fetch), until the multiplication is over.
    unsafe fn fetch_next(&mut self, step: u32);

    /// The calling thread's index.
    fn thread(&self) -> usize;

    /// Chooses the step whose tiles are turned next. The thread has waited for its copies.
    fn turn_next(&mut self, step: u32);
}

/// Operands that are [plain](Source::plain), along the terms or not. After the last tiles they are copied again, and not used: that is
/// cheaper than a branch.
struct Plain<'s, W: TiledMma, const LEFT: bool, const RIGHT: bool> {
    stages: &'s ProductStages<'s, W>,
    sources: (&'s mut Source<W::Left>, &'s mut Source<W::Right>),
    steps: u32,
    /// Whose tiles are copied, and whose are turned.
    copied: u32,
    next: u32,
    unturned_left: Option<Unturned<W::Element>>,
    unturned_right: Option<Unturned<W::Element>>,
}

impl<W: TiledMma, const LEFT: bool, const RIGHT: bool> Feed for Plain<'_, W, LEFT, RIGHT> {
    const TURNS: bool = LEFT && W::Left::TURNS || RIGHT && W::Right::TURNS;

    #[inline(always)]
    unsafe fn fetch(&mut self, step: u32) {
        self.copied = step;
        // SAFETY: the caller's.
        unsafe {
            self.copy(0);
            self.copy(1);
        }
    }

    #[inline(always)]
    unsafe fn fetch_next(&mut self, step: u32) {
        self.copied = step;
    }

    #[inline(always)]
    fn thread(&self) -> usize {
        self.sources.0.thread
    }

    #[inline(always)]
    fn turn_next(&mut self, step: u32) {
        self.next = step;
    }
}

impl<W: TiledMma, const LEFT: bool, const RIGHT: bool> Ahead for Plain<'_, W, LEFT, RIGHT> {
    #[inline(always)]
    unsafe fn copy(&mut self, operand: usize) {
        let [left, right] = self.stages.tiles(self.copied);
        let is_last = self.copied + 1 >= self.steps;
        // SAFETY: plain operands. No thread multiplies the tiles, as the caller of `fetch_next` says.
        unsafe {
            if operand == 0 {
                self.sources.0.fetch_plain::<LEFT>(left.cast_mut(), is_last);
            } else {
                self.sources.1.fetch_plain::<RIGHT>(right.cast_mut(), is_last);
            }
        }
    }

    #[inline(always)]
    fn read(&mut self) {
        let [left, right] = self.stages.tiles(self.next);
        if LEFT && W::Left::TURNS {
            // SAFETY: the thread has waited for its copies.
            self.unturned_left = Some(unsafe { self.sources.0.read_unturned(left) });
        }
        if RIGHT && W::Right::TURNS {
            // SAFETY: as above.
            self.unturned_right = Some(unsafe { self.sources.1.read_unturned(right) });
        }
    }

    #[inline(always)]
    fn write(&mut self) {
        let [left, right] = self.stages.tiles(self.next);
        if let Some(unturned) = &self.unturned_left {
            // SAFETY: tiles of the next step, which no thread reads before all have met.
            unsafe { self.sources.0.turn(left.cast_mut(), unturned) };
        }
        if let Some(unturned) = &self.unturned_right {
            // SAFETY: as above.
            unsafe { self.sources.1.turn(right.cast_mut(), unturned) };
        }
    }
}

/// Any operands.
struct Any<'s, W: TiledMma> {
    stages: &'s ProductStages<'s, W>,
    sources: (&'s mut Source<W::Left>, &'s mut Source<W::Right>),
    steps: u32,
}

impl<W: TiledMma> Feed for Any<'_, W> {
    const TURNS: bool = false;

    #[inline(always)]
    unsafe fn fetch(&mut self, step: u32) {
        if step < self.steps {
            let [left, right] = self.stages.tiles(step);
            // SAFETY: the caller's.
            unsafe {
                self.sources.0.fetch(left.cast_mut());
                self.sources.1.fetch(right.cast_mut());
            }
        }
    }

    #[inline(always)]
    unsafe fn fetch_next(&mut self, step: u32) {
        // SAFETY: the caller's.
        unsafe { self.fetch(step) };
    }

    #[inline(always)]
    fn thread(&self) -> usize {
        self.sources.0.thread
    }

    #[inline(always)]
    fn turn_next(&mut self, _: u32) {}
}

impl<W: TiledMma> Ahead for Any<'_, W> {
    #[inline(always)]
    unsafe fn copy(&mut self, _: usize) {}

    #[inline(always)]
    fn read(&mut self) {}

    #[inline(always)]
    fn write(&mut self) {}
}

/// Sums behind each row of those that are on their way to the output: threads that have neighbouring rows meet different memory banks.
const PADDING: usize = 4;

/// Waits for the calling thread's groups of copies, all but the last so many.
#[inline(always)]
fn wait_for_all_but(groups: u32) {
    match groups {
        0 => intrinsics::cp_async_wait_all(),
        1 => intrinsics::cp_async_wait_1(),
        _ => intrinsics::cp_async_wait_2(),
    }
}
