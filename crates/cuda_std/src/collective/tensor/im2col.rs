//! Images to be copied as the left operand of a convolution: `im2col`, done by the device's copy engine.
//!
//! A convolution is a product: a row of its left operand is what the filter sees at one place, tap by tap and channel by
//! channel. Nothing makes that matrix: tensor copies in the mode `im2col` gather its tiles from the image itself, with zeros
//! for what is beyond it (PTX ISA, "im2col mode").

use core::marker::PhantomData;

use bytemuck::{Pod, Zeroable};

use super::map::{Image, TensorTiling, assert_sixteen, prefetch};
use super::tile::{Factor, StageTile, Swizzled, Tile, TileSource, sealed};
use crate::abi::parameter::{KernelParameter, Role};
use crate::device::wgmma;

/// Images, and how a filter goes over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How many images there are, and the rows, columns and channels of each: elements lie in this order, the channels of a pixel
    /// one after the other (NHWC).
    pub images: [usize; 4],
    /// Rows and columns of the filter: its taps.
    pub taps: [usize; 2],
    /// How many rows and columns the filter moves from one place to the next.
    pub stride: [usize; 2],
    /// Rows above and below the image and columns beside it that the filter sees as zeros.
    pub padding: [usize; 2],
}

impl Window {
    /// Rows and columns of the output: how many places there are for the filter. None, if an image is smaller than the filter.
    #[must_use]
    pub fn places(&self) -> [usize; 2] {
        let along = |axis: usize| {
            let padded = self.images[axis + 1].saturating_add(self.padding[axis].saturating_mul(2));
            match padded.checked_sub(self.taps[axis]) {
                Some(room) => (room / self.stride[axis].max(1)).saturating_add(1),
                None => 0,
            }
        };
        [along(0), along(1)]
    }

    /// Whether tensor copies can do it: there is a place, the corners of the box of pixels have 8 bits, strides 3.
    #[cfg(not(target_arch = "nvptx64"))]
    pub(crate) fn is_encodable(&self) -> bool {
        let places = self.places();
        (0..2).all(|axis| {
            places[axis] > 0
                && (1..=127).contains(&self.taps[axis])
                && self.padding[axis] <= 127
                && (1..=8).contains(&self.stride[axis])
        })
    }
}

/// The fields of a [`Window`] that a kernel uses.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub struct Geometry {
    /// Rows and columns of the output.
    pub places: [u32; 2],
    pub channels: u32,
    pub taps: [u16; 2],
    pub stride: [u16; 2],
    pub padding: [u16; 2],
}

/// Images in global memory, to be copied as a matrix with a row for each place of a filter, in tiles of type `T`. A parameter of
/// a kernel, for which the host passes a buffer and a [`Window`]: `(&buffer, window)`.
///
/// The rows of the matrix are the pixels of the output, one image after the other. A row has the channels that one tap of the
/// filter sees, first tap first; a tile belongs to one tap. Pixels outside the image are zero.
#[derive(Debug)]
pub struct Im2colMap<'l, T: Tile> {
    image: *const Image,
    geometry: Geometry,
    launch: PhantomData<&'l T>,
}

impl<T: Tile> Clone for Im2colMap<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Tile> Copy for Im2colMap<'_, T> {}

impl<'l, T: Tile> Im2colMap<'l, T> {
    /// How many channels a pixel has.
    #[inline(always)]
    #[must_use]
    pub fn channels(&self) -> u32 {
        self.geometry.channels
    }

    /// Rows and columns of the filter.
    #[inline(always)]
    #[must_use]
    pub fn taps(&self) -> [u32; 2] {
        self.geometry.taps.map(u32::from)
    }

    /// The rows from the given one on: it is a pixel of the output, counted through all images.
    #[inline(always)]
    #[must_use]
    pub fn at(self, row: u32) -> Im2colRows<'l, T> {
        let Geometry { places: [rows, columns], stride, padding, .. } = self.geometry;
        // Without places the launch is refused; `max` spares the check for a division by zero.
        let (line, column) = (row / columns.max(1), row % columns.max(1));
        let (image, line) = (line / rows.max(1), line % rows.max(1));
        let first =
            |place: u32, axis: usize| place.wrapping_mul(stride[axis].into()).wrapping_sub(padding[axis].into());
        Im2colRows { map: self, first: [first(column, 1), first(line, 0), image] }
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

/// Rows of an [`Im2colMap`]: [`Im2colMap::at`].
#[derive(Debug)]
pub struct Im2colRows<'l, T: Tile> {
    map: Im2colMap<'l, T>,
    /// Column, row and number of the image that the filter's first tap sees at the first place.
    first: [u32; 3],
}

impl<T: Tile> Clone for Im2colRows<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Tile> Copy for Im2colRows<'_, T> {}

impl<'l, T: Tile> Im2colRows<'l, T> {
    /// The tile of a tap of the filter, its row and its column, from the given channel on.
    ///
    /// # Panics
    /// If the channel does not begin at a multiple of 16 bytes.
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn tap(self, [row, column]: [u32; 2], channel: u32) -> Im2colSource<'l, T> {
        assert_sixteen::<T::Element>(channel);
        Im2colSource {
            rows: self,
            // Clamps taps beyond any filter to 255, one beyond the largest.
            tap: [column.min(255) as u16, row.min(255) as u16],
            channel,
        }
    }
}

/// Where a tile of a stage is copied from: [`Im2colRows::tap`].
#[derive(Debug)]
pub struct Im2colSource<'l, T: Tile> {
    rows: Im2colRows<'l, T>,
    tap: [u16; 2],
    channel: u32,
}

impl<T: Factor, const ROWS: usize, const COLUMNS: usize> TileSource<T>
    for Im2colSource<'_, Swizzled<T, ROWS, COLUMNS>>
{
}

impl<T: Factor, const ROWS: usize, const COLUMNS: usize> sealed::TileSource<T>
    for Im2colSource<'_, Swizzled<T, ROWS, COLUMNS>>
{
    #[inline(always)]
    unsafe fn fill<D, const CLUSTER: u32>(self, tile: u32, barrier: u32)
    where
        D: StageTile<Tile: Tile<Element = T>>,
    {
        const {
            assert!(
                <D::Tile as Tile>::COLUMNS == COLUMNS && <D::Tile as Tile>::ROWS == ROWS,
                "a tile of a stage has the rows and columns of those of its im2col map"
            );
            assert!(
                D::COMMON.0 == 1,
                "blocks of a cluster do not share out tiles of images: only the filter's are `Multicast<..>`"
            );
        }
        let [column, row, image] = self.rows.first;
        let [right, down] = self.tap;
        let map = self.rows.map.image.cast();
        // SAFETY: the caller's; the map is a parameter of the launch, and the copy is of the whole tile.
        unsafe { wgmma::load_pixels(tile, map, self.channel, column, row, image, barrier, right, down) }
    }
}

/// How an im2col map divides images, as `cuTensorMapEncodeIm2col` is told it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Im2colTiling {
    /// Pixels and channels of a tile, and how they lie there.
    pub tiling: TensorTiling,
    /// The images and the filter.
    pub window: Window,
}

#[cfg(not(target_arch = "nvptx64"))]
impl Im2colTiling {
    /// The tiling of a map with tiles `T`.
    pub(crate) fn of<T: Tile>(window: Window) -> Self {
        Self { tiling: TensorTiling::of::<T>(), window }
    }
}

// SAFETY: as for `TensorMap`.
unsafe impl<T: Tile> KernelParameter for Im2colMap<'_, T> {
    const ROLE: Role = super::map::role::<T>(false);
    type Element = Image;
    type A = *const Image;
    type B = Geometry;
    type C = ();
    type D = ();
    type Value<'l> = Im2colMap<'l, T>;

    #[inline(always)]
    unsafe fn assemble(image: *const Image, geometry: Geometry, (): (), (): ()) -> Self::Value<'static> {
        Im2colMap { image, geometry, launch: PhantomData }
    }
}
