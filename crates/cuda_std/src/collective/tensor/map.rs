//! Tensor maps: what the device's copy engine is told of a matrix in global memory.

use core::marker::PhantomData;

use super::tile::{Element, StageTile, Swizzled, Tile, sealed};
use crate::abi::parameter::{KernelParameter, Role};
use crate::device::thread::is_first_in_block;
use crate::device::{intrinsics, wgmma};

/// A tensor map as `cuTensorMapEncodeTiled` makes it, of which only the device knows what it means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Image(pub [u64; 16]);

/// How a tensor map divides a matrix, as `cuTensorMapEncodeTiled` is told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TensorTiling {
    /// Rows and columns of a tile.
    pub tile: [u32; 2],
    /// The type of the elements, a `CUtensorMapDataType`.
    pub data_type: u32,
    /// Bytes of an element.
    pub element_bytes: u32,
    /// The pattern in which a tile lies in shared memory, a `CUtensorMapSwizzle`.
    pub swizzle: u32,
}

#[cfg(not(target_arch = "nvptx64"))]
impl TensorTiling {
    /// That of a map with tiles `T`.
    pub(crate) fn of<T: Tile>() -> Self {
        Self {
            tile: [T::ROWS as u32, T::COLUMNS as u32],
            data_type: <T::Element as sealed::Element>::DATA_TYPE,
            element_bytes: size_of::<T::Element>() as u32,
            swizzle: T::PITCH.trailing_zeros() - 4,
        }
    }
}

/// A matrix in global memory, to be copied from in tiles of type `T`. A parameter of a kernel, for which the host passes a
/// buffer and its shape: `(&buffer, [rows, columns])`.
///
/// Elements lie in row-major order. A tile may begin at any row and column; what lies beyond the matrix is zero.
#[derive(Debug)]
pub struct TensorMap<'l, T: Tile> {
    image: *const Image,
    shape: [u32; 2],
    launch: PhantomData<&'l T>,
}

impl<T: Tile> Clone for TensorMap<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Tile> Copy for TensorMap<'_, T> {}

impl<'l, T: Tile> TensorMap<'l, T> {
    /// How many rows the matrix has.
    #[inline(always)]
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.shape[0]
    }

    /// How many columns the matrix has.
    #[inline(always)]
    #[must_use]
    pub fn columns(&self) -> u32 {
        self.shape[1]
    }

    /// The tile that begins at a row and a column.
    #[inline(always)]
    #[must_use]
    pub fn at(self, [row, column]: [u32; 2]) -> Source<'l, T> {
        Source { map: self, row, column }
    }

    /// Has the device read the map before it is used, once for the block.
    ///
    /// `prefetch.tensormap`; PTX 8.0, sm_90.
    #[inline(always)]
    pub fn prefetch(&self) {
        if is_first_in_block() {
            // SAFETY: the map is a parameter of the launch.
            unsafe { wgmma::prefetch_tensormap(self.image.cast()) }
        }
    }
}

/// What the kernel does with a matrix in tiles `T`.
pub(super) const fn role<T: Tile>(writes: bool) -> Role {
    let _ = T::BYTES;
    Role::TensorMap {
        tile: [T::ROWS as u32, T::COLUMNS as u32],
        writes,
    }
}

/// Where a tile of a stage is copied from: [`TensorMap::at`].
#[derive(Debug)]
pub struct Source<'l, T: Tile> {
    map: TensorMap<'l, T>,
    row: u32,
    column: u32,
}

/// Where tiles of a stage are copied from: a [`Source`], or an [`Im2colSource`](super::Im2colSource).
pub trait TileSource<T: Element>: sealed::TileSource<T> {}

impl<T: Element, const ROWS: usize, const COLUMNS: usize> TileSource<T> for Source<'_, Swizzled<T, ROWS, COLUMNS>> {}

impl<T: Element, const ROWS: usize, const COLUMNS: usize> sealed::TileSource<T>
    for Source<'_, Swizzled<T, ROWS, COLUMNS>>
{
    #[inline(always)]
    unsafe fn fill<D, const CLUSTER: u32>(self, tile: u32, barrier: u32)
    where
        D: StageTile<Tile: Tile<Element = T>>,
    {
        const {
            assert!(
                <D::Tile as Tile>::COLUMNS == COLUMNS,
                "a tile of a stage has as many columns as those of its tensor map"
            );
            assert!(
                <D::Tile as Tile>::ROWS.is_multiple_of(ROWS),
                "a tile of a stage has the rows of one or several tiles of its tensor map"
            );
            assert!(
                !D::SHARED || (<D::Tile as Tile>::ROWS / ROWS).is_multiple_of(CLUSTER as usize),
                "blocks of a cluster share a tile out evenly: its tensor map has tiles of fewer rows"
            );
        }
        let bytes = <Swizzled<T, ROWS, COLUMNS> as sealed::Tile>::BYTES;
        let image = self.map.image.cast();
        let all = (<D::Tile as Tile>::ROWS / ROWS) as u32;
        // SAFETY: the caller's; the map is a parameter of the launch, and each copy stays inside the tile.
        unsafe {
            if D::SHARED && CLUSTER > 1 {
                let own = all / CLUSTER;
                let first = intrinsics::rank_in_cluster() * own;
                for part in first..first + own {
                    let (tile, row) = (tile + part * bytes, self.row + part * ROWS as u32);
                    wgmma::load_tile_multicast(tile, image, row, self.column, barrier, (1 << CLUSTER) - 1);
                }
            } else {
                for part in 0..all {
                    let (tile, row) = (tile + part * bytes, self.row + part * ROWS as u32);
                    wgmma::load_tile(tile, image, row, self.column, barrier);
                }
            }
        }
    }
}

// SAFETY: the structure that the host passes stays where it is, and is only read by the device; it refers to memory that
// nothing writes while the kernel runs.
unsafe impl<T: Tile> KernelParameter for TensorMap<'_, T> {
    const ROLE: Role = role::<T>(false);
    type Element = Image;
    type A = *const Image;
    type B = u32;
    type C = u32;
    type D = ();
    type Value<'l> = TensorMap<'l, T>;

    #[inline(always)]
    unsafe fn assemble(image: *const Image, rows: u32, columns: u32, (): ()) -> Self::Value<'static> {
        TensorMap {
            image,
            shape: [rows, columns],
            launch: PhantomData,
        }
    }
}

/// A matrix in global memory, to be written in tiles of type `T`, each by one block. A parameter of a kernel, for which the
/// host passes a buffer and its shape: `(&mut buffer, [rows, columns])`. What would lie beyond the matrix is not written.
///
/// [`tiles`](Self::tiles) says which block writes what.
#[derive(Debug)]
pub struct TensorOutput<'l, T: Tile> {
    map: TensorMap<'l, T>,
}

impl<'l, T: Tile> TensorOutput<'l, T> {
    /// How many rows the matrix has.
    #[inline(always)]
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.map.rows()
    }

    /// How many columns the matrix has.
    #[inline(always)]
    #[must_use]
    pub fn columns(&self) -> u32 {
        self.map.columns()
    }

    /// Has the device read the map before it is used: see [`TensorMap::prefetch`].
    #[inline(always)]
    pub fn prefetch(&self) {
        self.map.prefetch();
    }

    /// Where the matrix is written.
    #[inline(always)]
    pub(super) fn image(&self) -> *const u8 {
        self.map.image.cast()
    }
}

// SAFETY: as for `TensorMap`; the memory is borrowed mutably, and `tiles` gives each part of it to one block.
unsafe impl<T: Tile> KernelParameter for TensorOutput<'_, T> {
    const ROLE: Role = role::<T>(true);
    type Element = Image;
    type A = *const Image;
    type B = u32;
    type C = u32;
    type D = ();
    type Value<'l> = TensorOutput<'l, T>;

    #[inline(always)]
    unsafe fn assemble(image: *const Image, rows: u32, columns: u32, (): ()) -> Self::Value<'static> {
        TensorOutput {
            // SAFETY: the caller's.
            map: unsafe { TensorMap::<T>::assemble(image, rows, columns, ()) },
        }
    }
}
