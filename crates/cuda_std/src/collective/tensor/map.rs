//! Tensor maps: what the device's copy engine is told of a matrix in global memory.

use core::marker::PhantomData;

use super::tile::{Factor, StageTile, Swizzled, Tile, TileSource, sealed};
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
    /// The tiling of a map with tiles `T`.
    pub(crate) fn of<T: Tile>() -> Self {
        Self {
            tile: [T::ROWS as u32, T::COLUMNS as u32],
            data_type: <T::Element as sealed::Element>::DATA_TYPE,
            element_bytes: size_of::<T::Element>() as u32,
            swizzle: T::PITCH.trailing_zeros() - 4,
        }
    }
}

/// A matrix in global memory, or several, to be copied from in tiles of type `T`. A parameter of a kernel, for which the host
/// passes a buffer and its shape, `(&buffer, [rows, columns])`, or a `TensorShape` with more.
///
/// Elements lie in row-major order. A tile may begin at any row, and at any column whose byte in the row is a multiple of 16; what lies
/// beyond the matrix is zero.
#[derive(Debug)]
pub struct TensorMap<'l, T: Tile> {
    image: *const Image,
    shape: [u32; 2],
    batches: u32,
    settled: bool,
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

    /// How many matrices there are.
    #[inline(always)]
    #[must_use]
    pub fn batches(&self) -> u32 {
        self.batches
    }

    /// Whether no launch ahead of this one that may still be running writes the matrix, says the runtime: it may be read before
    /// they are waited for.
    #[inline(always)]
    pub(super) fn is_settled(&self) -> bool {
        self.settled
    }

    /// The tile that begins at a row and a column.
    ///
    /// # Panics
    /// If the column does not begin at a multiple of 16 bytes.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn at(self, place: [u32; 2]) -> Source<'l, T> {
        self.at_batch(0, place)
    }

    /// The tile at a row and a column of one matrix of a batch. A single matrix serves every `batch`.
    ///
    /// # Panics
    /// As [`at`](Self::at).
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn at_batch(self, batch: u32, [row, column]: [u32; 2]) -> Source<'l, T> {
        assert_sixteen::<T::Element>(column);
        let batch = if self.batches == 1 { 0 } else { batch };
        Source { map: self, batch, row, column }
    }

    /// Has the device read the map before it is used, once for the block.
    ///
    /// `prefetch.tensormap`; PTX 8.0, sm_90.
    #[inline(always)]
    pub fn prefetch(&self) {
        // SAFETY: the map is a parameter of the launch.
        unsafe { prefetch(self.image) }
    }
}

/// Asserts that an element of a row begins at a multiple of 16 bytes, as the first one of a tile has to: with others, tensor copies are
/// illegal instructions, by which the context is lost. No instruction where the number is such a multiple by its making.
#[inline(always)]
#[track_caller]
pub(super) fn assert_sixteen<T>(element: u32) {
    assert!(
        element.is_multiple_of(const { 16 / size_of::<T>() as u32 }),
        "a tile that is copied begins at a multiple of 16 bytes in its row"
    );
}

/// Has the device read a map before it is used, once for the block.
///
/// # Safety
///
/// The map is a parameter of the launch.
#[inline(always)]
pub(super) unsafe fn prefetch(image: *const Image) {
    if is_first_in_block() {
        // SAFETY: the caller's.
        unsafe { wgmma::prefetch_tensormap(image.cast()) }
    }
}

/// The role of a matrix in tiles `T`.
pub(super) const fn role<T: Tile>(writes: bool) -> Role {
    let _ = T::BYTES;
    Role::TensorMap { tile: [T::ROWS as u32, T::COLUMNS as u32], writes }
}

/// Where a tile of a stage is copied from: [`TensorMap::at`].
#[derive(Debug)]
pub struct Source<'l, T: Tile> {
    map: TensorMap<'l, T>,
    batch: u32,
    row: u32,
    column: u32,
}

impl<T: Factor, const ROWS: usize, const COLUMNS: usize> TileSource<T> for Source<'_, Swizzled<T, ROWS, COLUMNS>> {}

impl<T: Factor, const ROWS: usize, const COLUMNS: usize> sealed::TileSource<T>
    for Source<'_, Swizzled<T, ROWS, COLUMNS>>
{
    #[inline(always)]
    unsafe fn fill<D, const CLUSTER: u32>(self, tile: u32, barrier: u32)
    where
        D: StageTile<Tile: Tile<Element = T>>,
    {
        let all = const {
            let (down, across) = (<D::Tile as Tile>::ROWS, <D::Tile as Tile>::COLUMNS);
            assert!(
                <D::Tile as sealed::Tile>::PANELS || across == COLUMNS,
                "a tile of a stage has as many columns as those of its tensor map"
            );
            assert!(
                !<D::Tile as sealed::Tile>::PANELS || down == ROWS && COLUMNS * size_of::<T>() == 128,
                "panels have as many rows as the tiles of their tensor map, which have 64 columns"
            );
            let (whole, part) = if <D::Tile as sealed::Tile>::PANELS { (across, COLUMNS) } else { (down, ROWS) };
            assert!(
                whole.is_multiple_of(part),
                "a tile of a stage has the rows of one or several tiles of its tensor map"
            );
            (whole / part) as u32
        };
        let (blocks, apart) = const {
            let (blocks, apart) = common::<D, CLUSTER>();
            assert!(
                (<D::Tile as Tile>::ROWS * <D::Tile as Tile>::COLUMNS / (ROWS * COLUMNS))
                    .is_multiple_of(blocks as usize),
                "blocks of a cluster share a tile out evenly: its tensor map has tiles of fewer rows"
            );
            (blocks, apart)
        };
        let bytes = <Swizzled<T, ROWS, COLUMNS> as sealed::Tile>::BYTES;
        let image = self.map.image.cast();
        let place = |part: u32| {
            if <D::Tile as sealed::Tile>::PANELS {
                (self.row, self.column + part * COLUMNS as u32)
            } else {
                (self.row + part * ROWS as u32, self.column)
            }
        };
        // SAFETY: the caller's; the map is a parameter of the launch, and each copy stays inside the tile.
        unsafe {
            if blocks > 1 {
                let own = all / blocks;
                let rank = intrinsics::rank_in_cluster();
                let number = rank / apart % blocks;
                // A bit for each block, from the first one that has the tile.
                let mask = const {
                    let (blocks, apart) = common::<D, CLUSTER>();
                    let (mut mask, mut block) = (0_u32, 0);
                    while block < blocks {
                        mask |= 1 << (block * apart);
                        block += 1;
                    }
                    mask
                } << (rank - number * apart);
                for part in number * own..(number + 1) * own {
                    let (row, column) = place(part);
                    wgmma::load_tile_multicast(
                        tile + part * bytes,
                        image,
                        self.batch,
                        row,
                        column,
                        barrier,
                        mask as u16,
                    );
                }
            } else {
                for part in 0..all {
                    let (row, column) = place(part);
                    wgmma::load_tile(tile + part * bytes, image, self.batch, row, column, barrier);
                }
            }
        }
    }
}

/// How many blocks have a tile of a stage in common, and how far apart their numbers are.
const fn common<D: StageTile, const CLUSTER: u32>() -> (u32, u32) {
    let (blocks, apart) = D::COMMON;
    let blocks = if blocks == 0 { CLUSTER } else { blocks };
    assert!(
        CLUSTER.is_multiple_of(blocks * apart),
        "the blocks of a cluster do not divide into those that have a tile in common"
    );
    (blocks, apart)
}

// SAFETY: the structure that the host passes stays where it is, and is only read by the device; it refers to memory that
// nothing writes while the kernel runs.
unsafe impl<T: Tile> KernelParameter for TensorMap<'_, T> {
    const ROLE: Role = role::<T>(false);
    type Element = Image;
    type A = *const Image;
    type B = u32;
    type C = u32;
    type D = u32;
    type Value<'l> = TensorMap<'l, T>;

    #[inline(always)]
    unsafe fn assemble(image: *const Image, rows: u32, columns: u32, batches: u32) -> Self::Value<'static> {
        TensorMap {
            image,
            shape: [rows, columns],
            batches: batches & !SETTLED,
            settled: batches & SETTLED != 0,
            launch: PhantomData,
        }
    }
}

/// The bit of a map's last PTX parameter, the number of matrices, by which the host says that the map is settled.
pub(crate) const SETTLED: u32 = 1 << 31;

/// A matrix in global memory, to be written in tiles of type `T`, each by one block. A parameter of a kernel, for which the
/// host passes a buffer and its shape: `(&mut buffer, [rows, columns])`. What would lie beyond the matrix is not written.
///
/// `O`, a [`Tiling`](super::Tiling), assigns tiles to blocks: [`tiles`](Self::tiles). The tiling is part of the
/// parameter's type, because all blocks have to agree on it.
#[derive(Debug)]
pub struct TensorOutput<'l, T: Tile, O> {
    map: TensorMap<'l, T>,
    tiles: PhantomData<O>,
}

impl<T: Tile, O> TensorOutput<'_, T, O> {
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

    /// How many matrices there are.
    #[inline(always)]
    #[must_use]
    pub fn batches(&self) -> u32 {
        self.map.batches()
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
unsafe impl<T: Tile, O: 'static> KernelParameter for TensorOutput<'_, T, O> {
    const ROLE: Role = role::<T>(true);
    type Element = Image;
    type A = *const Image;
    type B = u32;
    type C = u32;
    type D = u32;
    type Value<'l> = TensorOutput<'l, T, O>;

    #[inline(always)]
    unsafe fn assemble(image: *const Image, rows: u32, columns: u32, batches: u32) -> Self::Value<'static> {
        TensorOutput {
            // SAFETY: the caller's.
            map: unsafe { TensorMap::<T>::assemble(image, rows, columns, batches) },
            tiles: PhantomData,
        }
    }
}
