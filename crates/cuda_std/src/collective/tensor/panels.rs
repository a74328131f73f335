//! Tiles that are wider than a row of the swizzle's pattern: as many tiles side by side, and their products.

use core::marker::PhantomData;

use super::Stage;
use super::accumulator::{Accumulator, Packed};
use super::pipeline::{Consumer, Empty, Full, sealed as stage};
use super::stack::Source4;
use super::tile::{Element, StageTile, Swizzled, sealed as tile};
use super::turns::Turns;
use super::width::{Columns, Width};
use crate::device::warp_group::{self, RegisterProducts};
use crate::device::wgmma::{self, Along, Sums as _};

/// Columns of a panel: a row of 128 bytes.
const PANEL: usize = 64;

/// A stage with `N` tiles side by side.
impl<A: StageTile, const N: usize> Stage for [A; N] {}

impl<A: StageTile, const N: usize> stage::Stage for [A; N] {
    type Memory = [<A::Tile as tile::Tile>::Memory; N];
    const BYTES: u32 = {
        let bytes = N as u32 * <A::Tile as tile::Tile>::BYTES;
        assert!(bytes > 0 && bytes < 1 << 20, "a barrier counts less than 1 MiB");
        bytes
    };
    const SHARED: bool = A::COMMON.0 != 1;
}

impl<T: Element, const ROWS: usize, const N: usize, const STAGES: usize>
    Empty<'_, [Swizzled<T, ROWS, PANEL>; N], STAGES, 1>
{
    /// Starts to copy the tiles, which lie side by side from `source` on; when all bytes have come, the stage is full.
    ///
    /// `mbarrier.arrive.expect_tx`, `cp.async.bulk.tensor.4d`; PTX 8.0, sm_90.
    #[inline(always)]
    pub fn fill(self, source: Source4<'_, Swizzled<T, ROWS, PANEL>>) {
        let (tiles, barrier) = self.begin();
        // SAFETY: the stage is empty, and as many bytes are copied as are expected: all of each tile.
        unsafe {
            wgmma::mbarrier_arrive_expect_tx(barrier, <[Swizzled<T, ROWS, PANEL>; N] as stage::Stage>::BYTES);
            for panel in 0..N as u32 {
                let place = tiles + panel * <Swizzled<T, ROWS, PANEL> as tile::Tile>::BYTES;
                source.fill(panel * PANEL as u32, place, barrier);
            }
        }
    }
}

impl<T: Element, const ROWS: usize, const N: usize, const STAGES: usize>
    Full<'_, [Swizzled<T, ROWS, PANEL>; N], STAGES, 1>
{
    /// The tiles, to be multiplied while the stage is full.
    #[inline(always)]
    #[must_use]
    pub fn panels(&self) -> Panels<'_, T, ROWS, N> {
        const { assert!(size_of::<T>() == 2, "panels have numbers of 16 bits, `f16` or `bf16`") }
        Panels { address: self.address(), pitch: <Swizzled<T, ROWS, PANEL> as tile::Tile>::BYTES, stage: PhantomData }
    }
}

/// `ROWS` rows of `N` tiles side by side, 64 columns each, that may be multiplied during `'s`.
#[derive(Debug)]
pub struct Panels<'s, T, const ROWS: usize, const N: usize> {
    address: u32,
    /// Bytes from one tile to the next.
    pitch: u32,
    stage: PhantomData<&'s T>,
}

impl<T, const ROWS: usize, const N: usize> Clone for Panels<'_, T, ROWS, N> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const ROWS: usize, const N: usize> Copy for Panels<'_, T, ROWS, N> {}

/// 16 columns of a panel, as descriptors count: PTX ISA, "Matrix Descriptor".
const SIXTEEN_COLUMNS: u64 = 32 >> 4;
/// 16 rows of a panel.
const SIXTEEN_ROWS: u64 = (16 * 128) >> 4;

impl<'s, T: Element, const ROWS: usize, const N: usize> Panels<'s, T, ROWS, N> {
    /// `PART` rows from `first` on, which is a multiple of 8.
    ///
    /// # Panics
    /// If the tiles do not have them.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn rows<const PART: usize>(self, first: u32) -> Panels<'s, T, PART, N> {
        const { assert!(PART <= ROWS, "a part has no more rows than its tile") };
        assert!(
            first.is_multiple_of(8) && first <= (ROWS - PART) as u32,
            "rows that the tile does not have, or that do not begin at a multiple of 8"
        );
        Panels { address: self.address + first * 128, pitch: self.pitch, stage: PhantomData }
    }

    /// `PART` panels from `first` on.
    ///
    /// # Panics
    /// If the tiles do not have them.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn panels<const PART: usize>(self, first: u32) -> Panels<'s, T, ROWS, PART> {
        const { assert!(PART <= N, "a part has no more panels than its tile") };
        assert!(first <= (N - PART) as u32, "panels that the tile does not have");
        Panels { address: self.address + first * self.pitch, pitch: self.pitch, stage: PhantomData }
    }

    /// The first panel, with its rows along the sum: eight rows are 1024 bytes further.
    #[inline(always)]
    fn descriptor(self) -> u64 {
        u64::from((self.address & 0x3_ffff) >> 4) | (1 << 16) | (64 << 32) | (1 << 62)
    }

    /// The same with its columns along the sum's: further 64 columns are a panel further.
    #[inline(always)]
    fn descriptor_of_columns(self) -> u64 {
        u64::from((self.address & 0x3_ffff) >> 4) | u64::from(self.pitch >> 4) << 16 | (64 << 32) | (1 << 62)
    }

    /// Four times sixteen columns: those of a panel, whose first has this descriptor.
    #[inline(always)]
    fn fours(self, first: u64, panel: u64) -> [u64; 4] {
        let first = first + panel * u64::from(self.pitch >> 4);
        [0, 1, 2, 3].map(|sixteen| first + sixteen * SIXTEEN_COLUMNS)
    }
}

/// An [`Accumulator`] that is also summed up from [`Weights`].
#[diagnostic::on_unimplemented(
    message = "no product with weights has this width",
    note = "such accumulators have 64, 128, 192 or 256 columns"
)]
pub trait WeightedWidth: Width + sealed::WeightedWidth {}

mod sealed {
    use super::{super::width::sealed::Width, Element, RegisterProducts};

    pub trait WeightedWidth: Width {
        /// Starts a product.
        ///
        /// # Safety
        ///
        /// As for `RegisterProducts`.
        unsafe fn multiply<T: Element>(sums: &mut Self::F32, a: [u32; 4], b: u64);
    }

    impl<W: Width<F32: RegisterProducts>> WeightedWidth for W {
        #[inline(always)]
        unsafe fn multiply<T: Element>(sums: &mut Self::F32, a: [u32; 4], b: u64) {
            // SAFETY: the caller's.
            unsafe {
                if T::DATA_TYPE == <::half::bf16 as super::tile::Element>::DATA_TYPE {
                    sums.multiply_registers::<true>(a, b);
                } else {
                    sums.multiply_registers::<false>(a, b);
                }
            }
        }
    }
}

impl<W: Width + sealed::WeightedWidth> WeightedWidth for W {}

/// A left operand in registers: 64 rows by `COLUMNS` columns of numbers of 16 bits, which an accumulator held.
#[allow(missing_debug_implementations, reason = "registers of threads are not shown")]
pub struct Weights<T, const COLUMNS: usize>(Packed<T, COLUMNS>)
where
    Columns<COLUMNS>: Width;

impl<T: Element, const COLUMNS: usize> Weights<T, COLUMNS>
where
    Columns<COLUMNS>: Width,
{
    /// Weights of zero.
    #[inline(always)]
    #[must_use]
    pub fn zero() -> Self {
        Self(Packed::zero())
    }

    /// Rounds the numbers of an accumulator, in place of what was there.
    #[inline(always)]
    pub fn take(&mut self, accumulator: &Accumulator<COLUMNS>) {
        self.0.take(accumulator, |_, _, sum| sum);
    }

    /// They are read up to here.
    #[inline(always)]
    fn keep(&self) {
        self.0.pairs.as_ref().iter().for_each(|registers| warp_group::keep(*registers));
    }
}

impl<const COLUMNS: usize> Accumulator<COLUMNS>
where
    Columns<COLUMNS>: Width,
{
    /// Starts a product of `INNER` columns of `a` and of `b`, which is added to the accumulators if `add` is 1 and
    /// replaces them if `add` is 0.
    ///
    /// # Safety
    ///
    /// The warp group is together; nothing reads or changes the sums and nothing writes to the tiles until the product is over.
    #[inline(always)]
    unsafe fn start<T: Element, const N: usize, const INNER: usize>(
        &mut self,
        a: Panels<'_, T, 64, N>,
        b: Panels<'_, T, COLUMNS, N>,
        add: u32,
    ) {
        const {
            assert!(
                INNER > 0 && INNER.is_multiple_of(64) && INNER <= N * PANEL && INNER <= 256,
                "a product sums over a multiple of 64 columns, which its tiles have"
            );
        }
        // SAFETY: the caller's.
        unsafe {
            let (left, right) = (a.descriptor(), b.descriptor());
            let multiply_four = T::multiply_four::<Columns<COLUMNS>, Along, Along>;
            multiply_four(&mut self.sums, a.fours(left, 0), b.fours(right, 0), add);
            // No `multiply_four`, which begins with a fence: ptxas ends a group of products at each.
            macro_rules! products {
                ($($panel:literal)*) => {$(
                    if const { 64 * $panel < INNER } {
                        let (a, b) = (a.fours(left, $panel), b.fours(right, $panel));
                        for sixteen in 0..4 {
                            T::multiply::<Columns<COLUMNS>, Along, Along>(&mut self.sums, a[sixteen], b[sixteen], 1);
                        }
                    }
                )*};
            }
            products!(1 2 3);
            wgmma::wgmma_commit();
        }
    }

    /// Starts to add the product of weights and of the rows of `b`.
    ///
    /// # Safety
    ///
    /// As for `start`, and nothing changes the weights.
    #[inline(always)]
    unsafe fn start_weighted<T: Element, const N: usize, const ROWS: usize>(
        &mut self,
        weights: &Weights<T, ROWS>,
        b: Panels<'_, T, ROWS, N>,
    ) where
        Columns<COLUMNS>: WeightedWidth,
        Columns<ROWS>: Width,
    {
        const {
            assert!(COLUMNS <= N * PANEL, "the tiles have as many columns as the accumulator");
        };
        let first = b.descriptor_of_columns();
        // SAFETY: the caller's.
        unsafe {
            self.sums.fence();
            macro_rules! steps {
                ($($step:literal)*) => {$(
                    if const { 16 * $step < ROWS } {
                        let a = weights.0.sixteen($step);
                        let b = first + $step * SIXTEEN_ROWS;
                        <Columns<COLUMNS> as sealed::WeightedWidth>::multiply::<T>(&mut self.sums, a, b);
                    }
                )*};
            }
            steps!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
            wgmma::wgmma_commit();
        }
    }

    /// Replaces what the accumulator holds by the product of 64 rows of `a` and the transpose of a stage, over their first
    /// `INNER` columns, and waits for it. Then the stage is released.
    ///
    /// `wgmma.mma_async`, `wgmma.wait_group`; PTX 8.0, sm_90a.
    #[inline(always)]
    pub fn product<T: Element, const N: usize, const INNER: usize, const STAGES: usize>(
        &mut self,
        a: Panels<'_, T, 64, N>,
        b: Full<'_, [Swizzled<T, COLUMNS, PANEL>; N], STAGES, 1>,
    ) {
        // SAFETY: the stage is full until it is released, and the accumulator is borrowed. The warp group is together, says
        // the caller. It is not `unsafe` to be mistaken there: see the module.
        unsafe {
            self.start::<T, N, INNER>(a, b.panels(), 0);
            self.sums.wait();
        }
        b.release_together();
    }

    /// Adds the product of 64 rows of `a` and the transpose of a stage to what the accumulator holds: see
    /// [`product`](Self::product).
    ///
    /// `wgmma.mma_async`, `wgmma.wait_group`; PTX 8.0, sm_90a.
    #[inline(always)]
    pub fn add_product<T: Element, const N: usize, const INNER: usize, const STAGES: usize>(
        &mut self,
        a: Panels<'_, T, 64, N>,
        b: Full<'_, [Swizzled<T, COLUMNS, PANEL>; N], STAGES, 1>,
    ) {
        // SAFETY: as for `product`.
        unsafe {
            self.start::<T, N, INNER>(a, b.panels(), 1);
            self.sums.wait();
        }
        b.release_together();
    }

    /// Adds the product of weights and a stage, whose rows are summed over, and waits for it. Then the stage is released.
    ///
    /// `wgmma.mma_async`, with the left operand in registers; `wgmma.wait_group`; PTX 8.0, sm_90a.
    #[inline(always)]
    pub fn add_weighted<T: Element, const N: usize, const ROWS: usize, const STAGES: usize>(
        &mut self,
        weights: &Weights<T, ROWS>,
        b: Full<'_, [Swizzled<T, ROWS, PANEL>; N], STAGES, 1>,
    ) where
        Columns<COLUMNS>: WeightedWidth,
        Columns<ROWS>: Width,
    {
        // SAFETY: as for `product`; the weights are borrowed.
        unsafe {
            self.start_weighted(weights, b.panels());
            self.sums.wait();
        }
        weights.keep();
        b.release_together();
    }

    /// [`add_weighted`](Self::add_weighted), while `scores` become another [`product`](Self::product), which is started first.
    /// When that one is over, `meanwhile` is called with the scores, while this sum may still be under way.
    ///
    /// Both are started when it is this warp group's turn, which is then the next one's. Before `meanwhile` is called, the next
    /// stage is waited for, which is passed on.
    ///
    /// `wgmma.mma_async`, `wgmma.wait_group`; PTX 8.0, sm_90a.
    #[inline(always)]
    #[allow(clippy::too_many_arguments, reason = "two products have six operands")]
    pub fn add_weighted_while<
        'r,
        T: Element,
        R,
        const N: usize,
        const INNER: usize,
        const ROWS: usize,
        const STAGES: usize,
        const GROUPS: u32,
    >(
        &mut self,
        weights: &Weights<T, ROWS>,
        b: Full<'r, [Swizzled<T, ROWS, PANEL>; N], STAGES, 1>,
        scores: &mut Accumulator<ROWS>,
        left: Panels<'_, T, 64, N>,
        right: Full<'r, [Swizzled<T, ROWS, PANEL>; N], STAGES, 1>,
        stages: &mut Consumer<'r, [Swizzled<T, ROWS, PANEL>; N], STAGES, GROUPS, 1>,
        turns: &mut Turns<'_, GROUPS>,
        meanwhile: impl FnOnce(&mut Accumulator<ROWS>) -> R,
    ) -> (R, Full<'r, [Swizzled<T, ROWS, PANEL>; N], STAGES, 1>)
    where
        Columns<COLUMNS>: WeightedWidth,
        Columns<ROWS>: Width,
    {
        turns.take();
        // SAFETY: as for `product` and `add_weighted`. Groups end in order: the scores are done when one group remains.
        unsafe {
            scores.start::<T, N, INNER>(left, right.panels(), 0);
            self.start_weighted(weights, b.panels());
            turns.pass();
            scores.sums.wait_1();
        }
        right.release_together();
        // Before `meanwhile`, so that no loop stands between it and the wait for the sum: ptxas then places most of the exponentials of a
        // softmax behind that wait, among the conversions that use them. Attention with heads of 64 takes 1.17 of the time otherwise.
        let next = stages.wait();
        let result = meanwhile(scores);
        // SAFETY: as above.
        unsafe { self.sums.wait() };
        weights.keep();
        b.release_together();
        (result, next)
    }
}
