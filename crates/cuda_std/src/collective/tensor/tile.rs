//! Tiles of matrices in shared memory, as tensor copies write them and products read them.

use core::marker::PhantomData;

use ::half::{bf16, f16};
use bytemuck::Pod;

use super::width::{Number, sealed as width};
use crate::device::wgmma::{self, Order, Wgmma};
use crate::number::half::{e4m3, e5m2};

/// Numbers that warp groups multiply: `f16`, `bf16`, `f32` (of which they read tf32, the upper 19 bits), `e4m3` and `e5m2` with
/// sums of `f32`, and `i8` with sums of `i32`.
#[diagnostic::on_unimplemented(
    message = "warp groups do not multiply elements `{Self}`",
    note = "they multiply `f32`, `i8`, and `f16`, `bf16`, `e4m3` and `e5m2` of `cuda_std::half`"
)]
pub trait Factor: sealed::Element<Total = <Self as Factor>::Sum> {
    /// The type of sums.
    type Sum: Number;
}

/// Element types of 16 bits: `f16` and `bf16`; tensor copies can write sums as these types.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no number of 16 bits",
    note = "this takes `f16` and `bf16` of `cuda_std::half`"
)]
pub trait Element: Factor<Sum = f32> + Stored<f32> {}

impl Element for f16 {}
impl Element for bf16 {}

/// Element types that a result `V` is written as: for `f32` the types of floats, for `i32` itself.
#[diagnostic::on_unimplemented(
    message = "results `{V}` are not written as `{Self}`",
    note = "`f32` is written as `f32`, or `f16`, `bf16`, `e4m3` or `e5m2` of `cuda_std::half`, and `i32` as `i32`"
)]
pub trait Stored<V>: sealed::Stored<V> {}

/// A tile of `ROWS` by `COLUMNS` elements in shared memory, of which the 16 bytes at a column of a row lie so that eight rows
/// of a column are in different banks. A row has 128, 64 or 32 bytes, and tells the pattern: PTX ISA, "Swizzling Modes".
///
/// No thread has a reference to its elements: tensor copies write them, and products read them.
#[derive(Debug)]
pub struct Swizzled<T, const ROWS: usize, const COLUMNS: usize>(PhantomData<[[T; COLUMNS]; ROWS]>);

/// A tile of a stage that blocks of a cluster have in common: each copies a part of it, to all of them. These are all blocks, or
/// `BLOCKS` of them whose numbers in the cluster are `APART`: of a cluster with two blocks below each other and two beside each
/// other, those below have numbers that are 1 apart, those beside 2.
#[derive(Debug)]
pub struct Multicast<T, const BLOCKS: u32 = 0, const APART: u32 = 1>(PhantomData<T>);

/// A tile of `ROWS` by `COLUMNS` elements in shared memory, whose rows are of 128 bytes each: panels of so many columns lie one
/// behind the other, each as a [`Swizzled`] tile, of which several make it up. For operands whose rows are along the product's
/// rows or columns, and not along the sum, as numbers of 16 bits may be.
#[derive(Debug)]
pub struct Across<T, const ROWS: usize, const COLUMNS: usize>(PhantomData<[[T; COLUMNS]; ROWS]>);

/// The tile of a tensor map: a [`Swizzled`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tile that a tensor map copies",
    note = "write `Swizzled<f16, ROWS, COLUMNS>`, with rows of 128, 64 or 32 bytes"
)]
pub trait Tile: sealed::Tile + 'static {
    /// A number.
    type Element: Factor;
    /// Rows of the tile.
    const ROWS: usize;
    /// Columns of the tile.
    const COLUMNS: usize;
}

/// A tile of a stage: a [`Swizzled`] that the block copies for itself, or a [`Multicast`] one.
pub trait StageTile: sealed::StageTile + 'static {
    /// The tile.
    type Tile: Tile;
}

/// A tile of a stage as an operand: `LENGTH` rows or columns of the product, and `DEPTH` elements along the sum.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no operand of {LENGTH} rows with {DEPTH} elements `{T}` along the sum",
    note = "both operands have elements of one type, and as many of them along the sum: `Swizzled<T, LENGTH, DEPTH>` with rows along \
            the sum, or `Across<T, DEPTH, LENGTH>` with rows across it"
)]
pub trait Operand<T, const LENGTH: usize, const DEPTH: usize>: Tile<Element = T> + sealed::Operand {}

/// Where tiles of a stage are copied from: a [`Source`](super::Source), or an [`Im2colSource`](super::Im2colSource).
pub trait TileSource<T: Factor>: sealed::TileSource<T> {}

pub(crate) mod sealed {
    use bytemuck::Pod;

    use super::width::{Number, Width};
    use crate::device::wgmma::Order;

    pub trait Element: Pod + 'static {
        /// As `cuTensorMapEncodeTiled` counts the types.
        const DATA_TYPE: u32;
        /// `Sum` of the public trait.
        type Total: Number;
        /// Starts a product: see [`Wgmma`](crate::device::wgmma::Wgmma).
        ///
        /// # Safety
        ///
        /// As for `Wgmma`.
        #[allow(private_bounds, reason = "the instructions are not public")]
        unsafe fn multiply<W: Width, A: Order, B: Order>(
            sums: &mut <Self::Total as Number>::Of<W>,
            a: u64,
            b: u64,
            add: u32,
        );
        /// Starts four products.
        ///
        /// # Safety
        ///
        /// As for `Wgmma`.
        #[allow(private_bounds, reason = "the instructions are not public")]
        unsafe fn multiply_four<W: Width, A: Order, B: Order>(
            sums: &mut <Self::Total as Number>::Of<W>,
            a: [u64; 4],
            b: [u64; 4],
            add: u32,
        );
    }

    pub trait Stored<V>: Pod + 'static {
        /// The nearest number.
        fn round(value: V) -> Self;
        /// Packs two numbers of 16 bits into a register, the first in the lower half.
        fn pack(low: V, high: V) -> u32;
    }

    pub trait StageTile {
        /// How many blocks of the cluster have it in common, or 0 if all have, and by how much their numbers differ.
        const COMMON: (u32, u32);
    }

    pub trait Tile {
        /// The memory.
        type Memory;
        /// Bytes of the tile.
        const BYTES: u32;
        /// Bytes of a row.
        const PITCH: u32;
        /// Whether the parts that are copied are beside each other, instead of below each other.
        const PANELS: bool;
    }

    pub trait Operand {
        /// Whether rows are along the sum or across it.
        #[allow(private_bounds, reason = "the instructions are not public")]
        type Order: Order;
        /// The descriptor for `wgmma` of the 64 or more rows or columns from `first` on of the tile at `address`, for
        /// the first 32 bytes along the sum, or 16 rows.
        fn descriptor(address: u32, first: u32) -> u64;
        /// The increment of the descriptor from one step of the sum to the next.
        const STEP: u64;
        /// The number of steps of the sum in a tile.
        const STEPS: usize;
        /// Where the tile begins in memory that has `along` the product's rows or columns, and `sum` along the sum.
        fn place(along: u32, sum: u32) -> [u32; 2];
    }

    pub trait TileSource<T> {
        /// Starts to copy all of a tile that lies at `tile`, or where blocks of the cluster have it in common, this block's
        /// part of it to all of them.
        ///
        /// # Safety
        ///
        /// The tile is this thread's to fill until the phase of the barrier is over, in all blocks that it is copied to.
        unsafe fn fill<D, const CLUSTER: u32>(self, tile: u32, barrier: u32)
        where
            D: super::StageTile<Tile: super::Tile<Element = T>>;
    }
}

macro_rules! elements {
    ($($ty:ident as $factor:ty, $sum:ty, $data_type:literal;)*) => {$(
        impl Factor for $ty {
            type Sum = $sum;
        }

        impl sealed::Element for $ty {
            const DATA_TYPE: u32 = $data_type;
            type Total = $sum;

            #[inline(always)]
            unsafe fn multiply<W: width::Width, A: Order, B: Order>(
                sums: &mut <$sum as width::Number>::Of<W>, a: u64, b: u64, add: u32,
            ) {
                // SAFETY: the caller's.
                unsafe { Wgmma::<$factor>::multiply::<A, B>(sums, a, b, add) }
            }

            #[inline(always)]
            unsafe fn multiply_four<W: width::Width, A: Order, B: Order>(
                sums: &mut <$sum as width::Number>::Of<W>, a: [u64; 4], b: [u64; 4], add: u32,
            ) {
                // SAFETY: the caller's.
                unsafe { Wgmma::<$factor>::multiply_four::<A, B>(sums, a, b, add) }
            }
        }
    )*};
}

elements! {
    f16 as f16, f32, 6;
    bf16 as bf16, f32, 9;
    f32 as f32, f32, 7;
    e4m3 as wgmma::E4m3, f32, 0;
    e5m2 as wgmma::E5m2, f32, 0;
    i8 as i8, i32, 0;
}

macro_rules! stored {
    ($($ty:ident, $value:ty, |$number:ident| $round:expr, |$low:ident, $high:ident| $pack:expr;)*) => {$(
        impl Stored<$value> for $ty {}

        impl sealed::Stored<$value> for $ty {
            #[inline(always)]
            fn round($number: $value) -> Self {
                $round
            }

            #[inline(always)]
            fn pack($low: $value, $high: $value) -> u32 {
                $pack
            }
        }
    )*};
}

/// Numbers that have not 16 bits are not packed in pairs.
macro_rules! single {
    ($low:ident, $high:ident) => {{
        let _ = ($low, $high);
        unreachable!("two of these do not fit into a register as numbers of 16 bits do")
    }};
}

stored! {
    // SAFETY: for any numbers.
    f16, f32, |number| f16::from_bits(unsafe { wgmma::pack_f16(number, 0.0) } as u16), |low, high| unsafe { wgmma::pack_f16(low, high) };
    // SAFETY: for any numbers.
    bf16, f32, |number| bf16::from_bits(unsafe { wgmma::pack_bf16(number, 0.0) } as u16), |low, high| unsafe { wgmma::pack_bf16(low, high) };
    e4m3, f32, |number| Self::from_f32(number), |low, high| single!(low, high);
    e5m2, f32, |number| Self::from_f32(number), |low, high| single!(low, high);
    f32, f32, |number| number, |low, high| single!(low, high);
    i32, i32, |number| number, |low, high| single!(low, high);
}

/// Memory of a tile. Eight rows of 128 bytes are where the pattern of a swizzle begins anew.
#[derive(Debug)]
#[repr(C, align(1024))]
pub struct TileMemory<T, const ROWS: usize, const COLUMNS: usize>([[T; COLUMNS]; ROWS]);

impl<T: Factor, const ROWS: usize, const COLUMNS: usize> Tile for Swizzled<T, ROWS, COLUMNS> {
    type Element = T;
    const ROWS: usize = ROWS;
    const COLUMNS: usize = COLUMNS;
}

impl<T: Factor, const ROWS: usize, const COLUMNS: usize> sealed::Tile for Swizzled<T, ROWS, COLUMNS> {
    type Memory = TileMemory<T, ROWS, COLUMNS>;
    const BYTES: u32 = <Self as sealed::Tile>::PITCH * ROWS as u32;
    const PITCH: u32 = {
        let bytes = COLUMNS * size_of::<T>();
        assert!(
            bytes == 128 || bytes == 64 || bytes == 32,
            "a row of a swizzled tile has 128, 64 or 32 bytes: 64, 32 or 16 columns of 16 bits"
        );
        assert!(ROWS >= 8 && ROWS <= 256 && ROWS.is_multiple_of(8), "a tile has 8 to 256 rows, in steps of 8");
        assert!(
            (bytes * ROWS).is_multiple_of(1024),
            "a tile has a multiple of 1024 bytes: its pattern begins anew there"
        );
        bytes as u32
    };
    const PANELS: bool = false;
}

impl<T: Factor, const LENGTH: usize, const DEPTH: usize> Operand<T, LENGTH, DEPTH> for Swizzled<T, LENGTH, DEPTH> {}

impl<T: Factor, const LENGTH: usize, const DEPTH: usize> sealed::Operand for Swizzled<T, LENGTH, DEPTH> {
    type Order = wgmma::Along;
    const STEP: u64 = 2;
    const STEPS: usize = DEPTH * size_of::<T>() / 32;

    #[inline(always)]
    fn descriptor(address: u32, first: u32) -> u64 {
        let swizzle: u64 = match <Self as sealed::Tile>::PITCH {
            128 => 1,
            64 => 2,
            _ => 3,
        };
        let eight_rows = u64::from((8 * <Self as sealed::Tile>::PITCH) >> 4);
        let address = address + first * <Self as sealed::Tile>::PITCH;
        u64::from((address & 0x3_ffff) >> 4) | (1 << 16) | (eight_rows << 32) | (swizzle << 62)
    }

    #[inline(always)]
    fn place(along: u32, sum: u32) -> [u32; 2] {
        [along, sum]
    }
}

impl<T: Factor, const ROWS: usize, const COLUMNS: usize> Tile for Across<T, ROWS, COLUMNS> {
    type Element = T;
    const ROWS: usize = ROWS;
    const COLUMNS: usize = COLUMNS;
}

impl<T: Factor, const ROWS: usize, const COLUMNS: usize> sealed::Tile for Across<T, ROWS, COLUMNS> {
    type Memory = TileMemory<T, ROWS, COLUMNS>;
    const BYTES: u32 = (COLUMNS * size_of::<T>() * ROWS) as u32;
    const PITCH: u32 = {
        assert!(size_of::<T>() == 2, "operands across the sum have 16 bits: others lie along it");
        assert!(COLUMNS.is_multiple_of(64) && COLUMNS > 0, "panels have 64 columns of 16 bits");
        assert!(
            ROWS >= 16 && ROWS <= 256 && ROWS.is_multiple_of(16),
            "a tile across the sum has 16 to 256 rows, in steps of 16"
        );
        128
    };
    const PANELS: bool = true;
}

impl<T: Factor, const LENGTH: usize, const DEPTH: usize> Operand<T, LENGTH, DEPTH> for Across<T, DEPTH, LENGTH> {}

impl<T: Factor, const LENGTH: usize, const DEPTH: usize> sealed::Operand for Across<T, DEPTH, LENGTH> {
    type Order = wgmma::Across;
    const STEP: u64 = (16 * 128) >> 4;
    const STEPS: usize = DEPTH / 16;

    #[inline(always)]
    fn descriptor(address: u32, first: u32) -> u64 {
        let panel = DEPTH as u32 * <Self as sealed::Tile>::PITCH;
        let address = address + first / 64 * panel;
        let eight_rows = u64::from((8 * <Self as sealed::Tile>::PITCH) >> 4);
        u64::from((address & 0x3_ffff) >> 4) | (u64::from(panel >> 4) << 16) | (eight_rows << 32) | (1 << 62)
    }

    #[inline(always)]
    fn place(along: u32, sum: u32) -> [u32; 2] {
        [sum, along]
    }
}

impl<T: Factor, const ROWS: usize, const COLUMNS: usize> StageTile for Across<T, ROWS, COLUMNS> {
    type Tile = Self;
}

impl<T: Factor, const ROWS: usize, const COLUMNS: usize> sealed::StageTile for Across<T, ROWS, COLUMNS> {
    const COMMON: (u32, u32) = (1, 1);
}

impl<T: Factor, const ROWS: usize, const COLUMNS: usize> StageTile for Swizzled<T, ROWS, COLUMNS> {
    type Tile = Self;
}

impl<T: Factor, const ROWS: usize, const COLUMNS: usize> sealed::StageTile for Swizzled<T, ROWS, COLUMNS> {
    const COMMON: (u32, u32) = (1, 1);
}

impl<T: Tile, const BLOCKS: u32, const APART: u32> StageTile for Multicast<T, BLOCKS, APART> {
    type Tile = T;
}

impl<T: Tile, const BLOCKS: u32, const APART: u32> sealed::StageTile for Multicast<T, BLOCKS, APART> {
    const COMMON: (u32, u32) = {
        assert!(APART > 0, "blocks that have a tile in common have different numbers");
        (BLOCKS, APART)
    };
}

/// A tile, or some rows of a tile, that may be multiplied during `'s`.
#[derive(Debug)]
pub struct TileRef<'s, T: Tile> {
    address: u32,
    stage: PhantomData<&'s T>,
}

impl<T: Tile> Clone for TileRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Tile> Copy for TileRef<'_, T> {}

impl<'s, T: Factor, const ROWS: usize, const COLUMNS: usize> TileRef<'s, Swizzled<T, ROWS, COLUMNS>> {
    /// `PART` rows from `first` on, which is a multiple of 8.
    ///
    /// # Panics
    /// If the tile does not have them.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn rows<const PART: usize>(self, first: u32) -> TileRef<'s, Swizzled<T, PART, COLUMNS>> {
        const { assert!(PART <= ROWS, "a part has no more rows than its tile") };
        assert!(
            first.is_multiple_of(8) && first <= (ROWS - PART) as u32,
            "rows that the tile does not have, or that do not begin at a multiple of 8"
        );
        TileRef {
            address: self.address + first * <Swizzled<T, ROWS, COLUMNS> as sealed::Tile>::PITCH,
            stage: PhantomData,
        }
    }
}

impl<T: Tile> TileRef<'_, T> {
    /// # Safety
    ///
    /// The tile is at this address, and nothing writes there for as long as the lifetime.
    #[inline(always)]
    pub(super) unsafe fn new(address: u32) -> Self {
        Self { address, stage: PhantomData }
    }

    /// Where it is.
    #[inline(always)]
    pub(super) fn address(self) -> u32 {
        self.address
    }
}

/// Elements of matrices on both sides.
const _: () = {
    const fn plain<T: Pod>() {}
    plain::<f16>();
    plain::<bf16>();
};
