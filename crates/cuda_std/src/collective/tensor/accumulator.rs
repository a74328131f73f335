//! Sums of products in the registers of a warp group.

use core::marker::PhantomData;

use super::output::TensorWriter;
use super::pipeline::{Consumer, Full, WARP_GROUP};
use super::tile::{Element, Factor, Operand, StageTile, Stored, Swizzled, TileRef, sealed as tile};
use super::width::{Columns, Number, Width, sealed};
use crate::device::thread::{index_in_block, lane_id};
use crate::device::wgmma::{self, Sums};

/// 64 rows by `COLUMNS` columns of sums, in the registers of the 128 threads of a warp group.
///
/// Products are asynchronous, so they are made inside of [`products`](Self::products), which borrows the accumulator until
/// they are done. The numbers cannot be indexed: what has no constant index is not in a register.
#[allow(missing_debug_implementations, reason = "registers of threads are not shown")]
pub struct Accumulator<const COLUMNS: usize, N: Number = f32>
where
    Columns<COLUMNS>: Width,
{
    pub(super) sums: <N as sealed::Number>::Of<Columns<COLUMNS>>,
}

impl<const COLUMNS: usize, N: Number> Accumulator<COLUMNS, N>
where
    Columns<COLUMNS>: Width,
{
    /// An accumulator of zeros.
    #[inline(always)]
    #[must_use]
    pub fn zero() -> Self {
        Self { sums: Sums::zeroed() }
    }

    /// Lets `work` add products, and waits for them. The first one replaces what the accumulator holds; without any, it is
    /// kept. All threads of a warp group come here together.
    ///
    /// `wgmma.fence`, `wgmma.wait_group`; PTX 8.0, sm_90a.
    #[inline(always)]
    pub fn products<'r, S, const STAGES: usize, const CLUSTER: u32>(
        &mut self,
        work: impl for<'p> FnOnce(&mut Products<'p, 'r, S, STAGES, CLUSTER, COLUMNS, N>),
    ) where
        S: super::Stage,
    {
        let mut products = Products { accumulator: self, before: None, last: None, add: 0 };
        work(&mut products);
        products.wait();
    }

    /// Replaces each number by what `change` makes of it, which is told the row and the column.
    #[inline(always)]
    pub fn map(&mut self, mut change: impl FnMut(u32, u32, N) -> N) {
        let [row, column] = first_place();
        self.sums.each(|register, value| {
            let [down, right] = register_place(register);
            change(row + down, column + right, value)
        });
    }
}

/// Row and column of the calling thread's first sum: PTX ISA, "Register Fragments and Shared Memory Matrix Layouts" of
/// `wgmma.mma_async`.
#[inline(always)]
pub(super) fn first_place() -> [u32; 2] {
    let (thread, lane) = (index_in_block() % WARP_GROUP, lane_id());
    [thread / 32 * 16 + lane / 4, lane % 4 * 2]
}

/// How many rows below and columns right of the first the sum in a register is.
#[inline(always)]
pub(super) fn register_place(register: usize) -> [u32; 2] {
    let register = register as u32;
    [register / 2 % 2 * 8, register / 4 * 8 + register % 2]
}

/// The sums of an [`Accumulator`], as numbers of 16 bits in half as many registers.
pub(super) struct Packed<T, const COLUMNS: usize>
where
    Columns<COLUMNS>: Width,
{
    pub(super) pairs: <<Columns<COLUMNS> as sealed::Width>::F32 as Sums>::Packed,
    element: PhantomData<T>,
}

impl<T, const COLUMNS: usize> Packed<T, COLUMNS>
where
    Columns<COLUMNS>: Width,
{
    #[inline(always)]
    pub(super) fn zero() -> Self {
        Self { pairs: bytemuck::Zeroable::zeroed(), element: PhantomData }
    }

    /// Rounds what `result` makes of the numbers of an accumulator, of which it is told row and column.
    #[inline(always)]
    pub(super) fn take<V>(&mut self, accumulator: &Accumulator<COLUMNS>, mut result: impl FnMut(u32, u32, f32) -> V)
    where
        T: Stored<V>,
    {
        let [row, column] = first_place();
        accumulator.sums.pack(&mut self.pairs, |register, low, high| {
            let [down, right] = register_place(register);
            let (row, column) = (row + down, column + right);
            T::pack(result(row, column, low), result(row, column + 1, high))
        });
    }

    /// The registers of 16 columns. Only constants are to be passed: what has no constant index is not in a register.
    #[inline(always)]
    pub(super) fn sixteen(&self, number: usize) -> [u32; 4] {
        self.pairs.as_ref()[number]
    }
}

/// Products that are being added to an accumulator, which cannot be read meanwhile.
#[allow(missing_debug_implementations, reason = "registers of threads are not shown")]
pub struct Products<
    'p,
    'r,
    S: super::Stage,
    const STAGES: usize,
    const CLUSTER: u32,
    const COLUMNS: usize,
    N: Number = f32,
> where
    Columns<COLUMNS>: Width,
{
    accumulator: &'p mut Accumulator<COLUMNS, N>,
    /// The stages that the last product but one and the last read.
    before: Option<Full<'r, S, STAGES, CLUSTER>>,
    last: Option<Full<'r, S, STAGES, CLUSTER>>,
    /// 1 if a product is added to the accumulator, 0 for the first product.
    add: u32,
}

impl<S: super::Stage, N: Number, const STAGES: usize, const CLUSTER: u32, const COLUMNS: usize>
    Products<'_, '_, S, STAGES, CLUSTER, COLUMNS, N>
where
    Columns<COLUMNS>: Width,
{
    /// Waits for all products so far, and releases the stage of the last one. With a single stage, that has to be before the
    /// next one is waited for.
    ///
    /// `wgmma.wait_group`; PTX 8.0, sm_90a.
    #[inline(always)]
    pub fn wait(&mut self) {
        // SAFETY: the warp group is together, says the caller. It is not `unsafe` to be mistaken there: see the module.
        unsafe { self.accumulator.sums.wait() };
        if let Some(stage) = self.before.take() {
            stage.release_together();
        }
        if let Some(stage) = self.last.take() {
            stage.release_together();
        }
    }
}

impl<'r, A, B, N: Number, const STAGES: usize, const CLUSTER: u32, const COLUMNS: usize>
    Products<'_, 'r, (A, B), STAGES, CLUSTER, COLUMNS, N>
where
    A: StageTile,
    B: StageTile,
    Columns<COLUMNS>: Width,
{
    /// Starts to add the product of two tiles of a stage, `a` and the transpose of `b`: both have the columns that are summed
    /// over. `operands` chooses them: 64 rows of `a`, and a row of `b` for each column of the accumulator.
    ///
    /// The stage is released when the product is done, which is known when one or two others have been added, or all are waited for.
    ///
    /// `wgmma.mma_async`, `wgmma.commit_group`, `wgmma.wait_group`; PTX 8.0, sm_90a.
    #[inline(always)]
    pub fn add<T: Factor<Sum = N>, const INNER: usize>(
        &mut self,
        stage: Full<'r, (A, B), STAGES, CLUSTER>,
        operands: impl for<'s> FnOnce(
            TileRef<'s, A::Tile>,
            TileRef<'s, B::Tile>,
        )
            -> (TileRef<'s, Swizzled<T, 64, INNER>>, TileRef<'s, Swizzled<T, COLUMNS, INNER>>),
    ) {
        let (a, b) = {
            let (a, b) = stage.tiles();
            let (a, b) = operands(a, b);
            (a.address(), b.address())
        };
        self.start::<T, Swizzled<T, 64, INNER>, Swizzled<T, COLUMNS, INNER>>(stage, [a, b], 0);
    }

    /// The same of a stage's tiles in either order: 64 rows of the product from `first` on, and all columns.
    #[inline(always)]
    pub fn add_rows<T, const ROWS: usize, const INNER: usize>(
        &mut self,
        stage: Full<'r, (A, B), STAGES, CLUSTER>,
        first: u32,
    ) where
        T: Factor<Sum = N>,
        A: StageTile<Tile: Operand<T, ROWS, INNER>>,
        B: StageTile<Tile: Operand<T, COLUMNS, INNER>>,
    {
        assert!(
            first.is_multiple_of(64) && first + 64 <= ROWS as u32,
            "rows that the tile does not have, or that do not begin at a multiple of 64"
        );
        let places = {
            let (a, b) = stage.tiles();
            [a.address(), b.address()]
        };
        self.start::<T, A::Tile, B::Tile>(stage, places, first);
    }

    /// Starts the products of two tiles that are in the stage at `places`, of the first from a row on.
    #[inline(always)]
    fn start<T, X, Y>(&mut self, stage: Full<'r, (A, B), STAGES, CLUSTER>, [a, b]: [u32; 2], first: u32)
    where
        T: Factor<Sum = N>,
        X: tile::Operand,
        Y: tile::Operand,
    {
        let (a, b) = (X::descriptor(a, first), Y::descriptor(b, 0));
        let sums = &mut self.accumulator.sums;
        const {
            assert!(
                X::STEPS == Y::STEPS && matches!(X::STEPS, 1 | 2 | 4),
                "both operands have the same elements along the sum"
            );
        };
        // SAFETY: the stage stays full until the products are done: it is dropped when all but the last are. The accumulator
        // is borrowed until then. The warp group is together, says the caller.
        unsafe {
            if const { X::STEPS == 4 } {
                let operands = |first: u64, step: u64| [first, first + step, first + 2 * step, first + 3 * step];
                let (a, b) = (operands(a, X::STEP), operands(b, Y::STEP));
                T::multiply_four::<Columns<COLUMNS>, X::Order, Y::Order>(sums, a, b, self.add);
            } else {
                sums.fence();
                T::multiply::<Columns<COLUMNS>, X::Order, Y::Order>(sums, a, b, self.add);
                if X::STEPS > 1 {
                    T::multiply::<Columns<COLUMNS>, X::Order, Y::Order>(sums, a + X::STEP, b + Y::STEP, 1);
                }
            }
            wgmma::wgmma_commit();
            // Narrow products take less time than it takes to start the next: two of them are ahead, if there are stages for it.
            if COLUMNS <= 128 && STAGES >= 6 {
                wgmma::wgmma_wait_2();
            } else {
                wgmma::wgmma_wait_1();
            }
        }
        self.add = 1;
        let mut done = self.last.replace(stage);
        if COLUMNS <= 128 && STAGES >= 6 {
            done = core::mem::replace(&mut self.before, done);
        }
        if let Some(done) = done {
            done.release_together();
        }
    }
}

impl<'r, A, B, const STAGES: usize, const CLUSTER: u32, const COLUMNS: usize>
    Products<'_, 'r, (A, B), STAGES, CLUSTER, COLUMNS>
where
    A: StageTile,
    B: StageTile,
    Columns<COLUMNS>: Width,
{
    /// Adds the products of the next `stages` stages as [`add_rows`](Self::add_rows) does, and while the first of them go on,
    /// writes the tile that the writer holds.
    #[inline(always)]
    pub fn add_all<T, O, const ROWS: usize, const INNER: usize, const GROUPS: u32, const PART: usize>(
        &mut self,
        consumer: &mut Consumer<'r, (A, B), STAGES, GROUPS, CLUSTER>,
        stages: u32,
        writer: &mut TensorWriter<'_, O, GROUPS, COLUMNS, PART>,
        first: u32,
    ) where
        T: Factor<Sum = f32>,
        O: Element,
        A: StageTile<Tile: Operand<T, ROWS, INNER>>,
        B: StageTile<Tile: Operand<T, COLUMNS, INNER>>,
    {
        let mut left = stages;
        let parts = TensorWriter::<'_, O, GROUPS, COLUMNS, PART>::PARTS;
        if writer.holds() && left >= parts {
            left -= parts;
            writer.write_between(|| self.add_rows(consumer.wait(), first));
        } else {
            writer.write();
        }
        while left > 0 {
            left -= 1;
            self.add_rows(consumer.wait(), first);
        }
    }
}
