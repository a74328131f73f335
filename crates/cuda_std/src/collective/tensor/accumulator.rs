//! Sums of products in the registers of a warp group.

use core::marker::PhantomData;

use ::half::{bf16, f16};

use super::output::TensorWriter;
use super::pipeline::{Consumer, Full, WARP_GROUP};
use super::tile::{Element, StageTile, Swizzled, TileRef};
use crate::device::thread::{index_in_block, lane_id};
use crate::device::wgmma::{self, Sums as _, Wgmma};

/// How wide an accumulator may be: 32, 64, 128, 192 or 256 columns.
#[derive(Debug)]
pub struct Columns<const COLUMNS: usize>(());

/// What [`Columns`] of a width there are.
#[diagnostic::on_unimplemented(
    message = "there is no accumulator of this width",
    note = "accumulators have 32, 64, 128, 192 or 256 columns"
)]
pub trait Width: sealed::Width {}

pub(super) mod sealed {
    use super::{Wgmma, bf16, f16};

    pub trait Width {
        #[allow(private_bounds, reason = "the instructions are not public")]
        type Sums: Wgmma<f16> + Wgmma<bf16>;
    }
}

macro_rules! widths {
    ($($columns:literal)*) => {$(
        impl Width for Columns<$columns> {}
        impl sealed::Width for Columns<$columns> {
            type Sums = [f32; $columns / 2];
        }
    )*};
}

widths!(32 64 128 192 256);

/// 64 rows by `COLUMNS` columns of sums, in the registers of the 128 threads of a warp group.
///
/// Products are asynchronous, so they are made inside of [`products`](Self::products), which borrows the accumulator until
/// they are done. The numbers cannot be indexed: what has no constant index is not in a register.
#[allow(missing_debug_implementations, reason = "registers of threads are not shown")]
pub struct Accumulator<const COLUMNS: usize>
where
    Columns<COLUMNS>: Width,
{
    sums: <Columns<COLUMNS> as sealed::Width>::Sums,
}

impl<const COLUMNS: usize> Accumulator<COLUMNS>
where
    Columns<COLUMNS>: Width,
{
    /// An accumulator of zeros.
    #[inline(always)]
    #[must_use]
    pub fn zero() -> Self {
        Self {
            sums: wgmma::Sums::zeroed(),
        }
    }

    /// Lets `work` add products, and waits for them. The first one replaces what the accumulator holds; without any, it is
    /// kept. All threads of a warp group come here together.
    ///
    /// `wgmma.fence`, `wgmma.wait_group`; PTX 8.0, sm_90a.
    #[inline(always)]
    pub fn products<'r, S, const STAGES: usize, const CLUSTER: u32>(
        &mut self,
        work: impl for<'p> FnOnce(&mut Products<'p, 'r, S, STAGES, CLUSTER, COLUMNS>),
    ) where
        S: super::Stage,
    {
        let mut products = Products {
            accumulator: self,
            last: None,
            add: 0,
        };
        work(&mut products);
        products.wait();
    }

    /// Replaces each number by what `change` makes of it, which is told the row and the column.
    #[inline(always)]
    pub fn map(&mut self, mut change: impl FnMut(u32, u32, f32) -> f32) {
        let (thread, lane) = (index_in_block() % WARP_GROUP, lane_id());
        let (row, column) = (thread / 32 * 16 + lane / 4, lane % 4 * 2);
        self.sums.each(|register, value| {
            let register = register as u32;
            change(
                row + register / 2 % 2 * 8,
                column + register / 4 * 8 + register % 2,
                value,
            )
        });
    }
}

/// What an [`Accumulator`] held, as numbers of 16 bits in half as many registers.
pub(super) struct Packed<T, const COLUMNS: usize>
where
    Columns<COLUMNS>: Width,
{
    pairs: <<Columns<COLUMNS> as sealed::Width>::Sums as wgmma::Sums>::Packed,
    element: PhantomData<T>,
}

impl<T: Element, const COLUMNS: usize> Packed<T, COLUMNS>
where
    Columns<COLUMNS>: Width,
{
    #[inline(always)]
    pub(super) fn zero() -> Self {
        Self {
            pairs: bytemuck::Zeroable::zeroed(),
            element: PhantomData,
        }
    }

    /// Rounds the numbers of an accumulator.
    #[inline(always)]
    pub(super) fn take(&mut self, accumulator: &Accumulator<COLUMNS>) {
        accumulator.sums.pack(&mut self.pairs, T::pack);
    }

    /// The registers of 16 columns. Only constants are to be passed: what has no constant index is not in a register.
    #[inline(always)]
    pub(super) fn sixteen(&self, number: usize) -> [u32; 4] {
        self.pairs.as_ref()[number]
    }
}

/// Products that are being added to an accumulator, which cannot be read meanwhile.
#[allow(missing_debug_implementations, reason = "registers of threads are not shown")]
pub struct Products<'p, 'r, S: super::Stage, const STAGES: usize, const CLUSTER: u32, const COLUMNS: usize>
where
    Columns<COLUMNS>: Width,
{
    accumulator: &'p mut Accumulator<COLUMNS>,
    /// The stage that the last product reads.
    last: Option<Full<'r, S, STAGES, CLUSTER>>,
    /// Whether a product is added to what is there: 1, or 0 for the first.
    add: u32,
}

impl<S: super::Stage, const STAGES: usize, const CLUSTER: u32, const COLUMNS: usize>
    Products<'_, '_, S, STAGES, CLUSTER, COLUMNS>
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
        if let Some(stage) = self.last.take() {
            stage.release_together();
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
    /// Starts to add the product of two tiles of a stage, `a` and the transpose of `b`: both have the columns that are summed
    /// over. `operands` chooses them: 64 rows of one, and as many rows of the other as the accumulator has columns.
    ///
    /// The stage is released when the product is done, which is when the next but one is added, or all are waited for.
    ///
    /// `wgmma.mma_async`, `wgmma.commit_group`, `wgmma.wait_group`; PTX 8.0, sm_90a.
    #[inline(always)]
    pub fn add<T: Element, const INNER: usize>(
        &mut self,
        stage: Full<'r, (A, B), STAGES, CLUSTER>,
        operands: impl for<'s> FnOnce(
            TileRef<'s, A::Tile>,
            TileRef<'s, B::Tile>,
        ) -> (
            TileRef<'s, Swizzled<T, 64, INNER>>,
            TileRef<'s, Swizzled<T, COLUMNS, INNER>>,
        ),
    ) {
        let (a, b) = {
            let (a, b) = stage.tiles();
            let (a, b) = operands(a, b);
            (a.descriptor(), b.descriptor())
        };
        let sums = &mut self.accumulator.sums;
        // SAFETY: the stage stays full until the products are done: it is dropped when all but the last are. The accumulator
        // is borrowed until then. The warp group is together, says the caller.
        unsafe {
            sums.fence();
            T::multiply::<Columns<COLUMNS>>(sums, a, b, self.add);
            // One at a time are 32 bytes of each row, which the descriptor counts in units of 16.
            let pieces = const { INNER * size_of::<T>() / 32 };
            if pieces > 1 {
                T::multiply::<Columns<COLUMNS>>(sums, a + 2, b + 2, 1);
            }
            if pieces > 2 {
                T::multiply::<Columns<COLUMNS>>(sums, a + 4, b + 4, 1);
                T::multiply::<Columns<COLUMNS>>(sums, a + 6, b + 6, 1);
            }
            wgmma::wgmma_commit();
            wgmma::wgmma_wait_1();
        }
        self.add = 1;
        if let Some(done) = self.last.replace(stage) {
            done.release_together();
        }
    }

    /// Adds the products of the next `stages` stages as [`add`](Self::add) does, and while the first of them go on, writes the
    /// tile that the writer holds.
    #[inline(always)]
    pub fn add_all<T: Element, const INNER: usize, const GROUPS: u32>(
        &mut self,
        consumer: &mut Consumer<'r, (A, B), STAGES, GROUPS, CLUSTER>,
        stages: u32,
        writer: &mut TensorWriter<'_, T, GROUPS, COLUMNS>,
        operands: impl Copy
        + for<'s> FnOnce(
            TileRef<'s, A::Tile>,
            TileRef<'s, B::Tile>,
        ) -> (
            TileRef<'s, Swizzled<T, 64, INNER>>,
            TileRef<'s, Swizzled<T, COLUMNS, INNER>>,
        ),
    ) {
        let mut left = stages;
        let parts = TensorWriter::<'_, T, GROUPS, COLUMNS>::PARTS;
        if writer.holds() && left >= parts {
            left -= parts;
            writer.write_between(|| self.add(consumer.wait(), operands));
        } else {
            writer.write();
        }
        while left > 0 {
            left -= 1;
            self.add(consumer.wait(), operands);
        }
    }
}
