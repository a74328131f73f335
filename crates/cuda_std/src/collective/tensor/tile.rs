//! Tiles of matrices in shared memory, as tensor copies write them and products read them.

use core::marker::PhantomData;

use ::half::{bf16, f16};
use bytemuck::Pod;

use super::accumulator::sealed::Width;
use crate::device::wgmma::{self, Wgmma};

/// Numbers that warp groups multiply: `f16` and `bf16`.
#[diagnostic::on_unimplemented(
    message = "warp groups do not multiply elements `{Self}`",
    note = "they multiply `f16` and `bf16` of `cuda_std::half`"
)]
pub trait Element: sealed::Element {}

/// A tile of `ROWS` by `COLUMNS` elements in shared memory, of which the 16 bytes at a column of a row lie so that eight rows
/// of a column are in different banks. A row has 128, 64 or 32 bytes, and tells the pattern: PTX ISA, "Swizzling Modes".
///
/// No thread has a reference to its elements: tensor copies write them, and products read them.
#[derive(Debug)]
pub struct Swizzled<T, const ROWS: usize, const COLUMNS: usize>(PhantomData<[[T; COLUMNS]; ROWS]>);

/// A tile of a stage that the blocks of a cluster have in common: each copies a part of it, to all of them.
#[derive(Debug)]
pub struct Multicast<T>(PhantomData<T>);

/// What a tensor map copies: a [`Swizzled`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no tile that a tensor map copies",
    note = "write `Swizzled<f16, ROWS, COLUMNS>`, with rows of 128, 64 or 32 bytes"
)]
pub trait Tile: sealed::Tile + 'static {
    /// A number.
    type Element: Element;
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

pub(crate) mod sealed {
    use bytemuck::Pod;

    use super::Width;

    pub trait Element: Pod + 'static {
        /// As `cuTensorMapEncodeTiled` counts the types.
        const DATA_TYPE: u32;
        /// Two numbers in a register, the first in the lower half.
        fn pack(low: f32, high: f32) -> u32;
        /// Starts a product: see [`Wgmma`].
        ///
        /// # Safety
        ///
        /// As for `Wgmma`.
        unsafe fn multiply<W: Width>(sums: &mut W::Sums, a: u64, b: u64, add: u32);
    }

    pub trait StageTile {
        /// Whether the blocks of a cluster have it in common.
        const SHARED: bool;
    }

    pub trait TileSource<T> {
        /// Starts to copy all of a tile that lies at `tile`, or where the blocks of a cluster have it in common, this block's
        /// part of it to all of them.
        ///
        /// # Safety
        ///
        /// The tile is this thread's to fill until the phase of the barrier is over, in all blocks that it is copied to.
        unsafe fn fill<D, const CLUSTER: u32>(self, tile: u32, barrier: u32)
        where
            D: super::StageTile<Tile: super::Tile<Element = T>>;
    }

    pub trait Tile {
        /// The memory.
        type Memory;
        /// Bytes of the tile.
        const BYTES: u32;
        /// Bytes of a row.
        const PITCH: u32;
    }
}

macro_rules! elements {
    ($($ty:ident, $data_type:literal, $pack:ident;)*) => {$(
        impl Element for $ty {}

        impl sealed::Element for $ty {
            const DATA_TYPE: u32 = $data_type;

            #[inline(always)]
            fn pack(low: f32, high: f32) -> u32 {
                // SAFETY: for any numbers.
                unsafe { wgmma::$pack(low, high) }
            }

            #[inline(always)]
            unsafe fn multiply<W: Width>(sums: &mut W::Sums, a: u64, b: u64, add: u32) {
                // SAFETY: the caller's.
                unsafe { Wgmma::<$ty>::multiply(sums, a, b, add) }
            }
        }
    )*};
}

elements! {
    f16, 6, pack_f16;
    bf16, 9, pack_bf16;
}

/// Memory of a tile. Eight rows of 128 bytes are where the pattern of a swizzle begins anew.
#[derive(Debug)]
#[repr(C, align(1024))]
pub struct TileMemory<T, const ROWS: usize, const COLUMNS: usize>([[T; COLUMNS]; ROWS]);

impl<T: Element, const ROWS: usize, const COLUMNS: usize> Tile for Swizzled<T, ROWS, COLUMNS> {
    type Element = T;
    const ROWS: usize = ROWS;
    const COLUMNS: usize = COLUMNS;
}

impl<T: Element, const ROWS: usize, const COLUMNS: usize> sealed::Tile for Swizzled<T, ROWS, COLUMNS> {
    type Memory = TileMemory<T, ROWS, COLUMNS>;
    const BYTES: u32 = Self::PITCH * ROWS as u32;
    const PITCH: u32 = {
        let bytes = COLUMNS * size_of::<T>();
        assert!(
            bytes == 128 || bytes == 64 || bytes == 32,
            "a row of a swizzled tile has 128, 64 or 32 bytes: 64, 32 or 16 columns of 16 bits"
        );
        assert!(
            ROWS >= 8 && ROWS <= 256 && ROWS.is_multiple_of(8),
            "a tile has 8 to 256 rows, in steps of 8"
        );
        assert!(
            (bytes * ROWS).is_multiple_of(1024),
            "a tile has a multiple of 1024 bytes: its pattern begins anew there"
        );
        bytes as u32
    };
}

impl<T: Element, const ROWS: usize, const COLUMNS: usize> StageTile for Swizzled<T, ROWS, COLUMNS> {
    type Tile = Self;
}

impl<T: Element, const ROWS: usize, const COLUMNS: usize> sealed::StageTile for Swizzled<T, ROWS, COLUMNS> {
    const SHARED: bool = false;
}

impl<T: Tile> StageTile for Multicast<T> {
    type Tile = T;
}

impl<T: Tile> sealed::StageTile for Multicast<T> {
    const SHARED: bool = true;
}

/// A tile, or some rows of one, that is there to be multiplied for as long as `'s`.
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

impl<'s, T: Element, const ROWS: usize, const COLUMNS: usize> TileRef<'s, Swizzled<T, ROWS, COLUMNS>> {
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
        Self {
            address,
            stage: PhantomData,
        }
    }

    /// What `wgmma` takes for a tile whose rows are along the sum: PTX ISA, "Matrix Descriptor". Further 32 bytes along the
    /// rows are 2 more.
    #[inline(always)]
    pub(super) fn descriptor(self) -> u64 {
        let swizzle: u64 = match T::PITCH {
            128 => 1,
            64 => 2,
            _ => 3,
        };
        let eight_rows = u64::from((8 * T::PITCH) >> 4);
        u64::from((self.address & 0x3_ffff) >> 4) | (1 << 16) | (eight_rows << 32) | (swizzle << 62)
    }
}

/// Elements of matrices on both sides.
const _: () = {
    const fn plain<T: Pod>() {}
    plain::<f16>();
    plain::<bf16>();
};
