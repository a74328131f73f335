//! Device memory as a matrix that kernels copy in tiles: tensor maps.

use bytemuck::Pod;
use cuda_std::launch::{Borrowed, Strided, TensorMemory, TensorMemoryMut, TensorShape};
use cuda_std::tensor::{Image, TensorTiling};
use std::ffi::c_void;

use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::view::{DeviceSlice, DeviceSliceMut};

unsafe extern "C" {
    /// cuda.h's.
    fn cuTensorMapEncodeTiled(
        map: *mut Image,
        data_type: u32,
        rank: u32,
        address: *mut c_void,
        lengths: *const u64,
        strides: *const u64,
        tile: *const u32,
        steps: *const u32,
        interleave: u32,
        swizzle: u32,
        l2_promotion: u32,
        beyond: u32,
    ) -> u32;
}

// Parameters of all tensor maps, with cuda.h's numbers.
pub(super) const NO_INTERLEAVE: u32 = 0;
pub(super) const L2_256_BYTES: u32 = 3;
pub(super) const ZEROS: u32 = 0;

/// A tensor map of matrices in row-major order. Elements outside a matrix read as zero.
fn encode(address: u64, shape: TensorShape, tiling: TensorTiling) -> Result<Image, u32> {
    let mut image = Image::default();
    // The fastest dimension first.
    let lengths = [shape.columns, shape.rows, shape.batches].map(|length| length as u64);
    let strides = [shape.row_stride, shape.batch_stride].map(|stride| stride as u64 * u64::from(tiling.element_bytes));
    let tile = [tiling.tile[1], tiling.tile[0], 1];
    // SAFETY: the map is aligned to 64 bytes, and the lists have as many numbers as three dimensions need; the driver keeps none.
    let result = unsafe {
        cuTensorMapEncodeTiled(
            &raw mut image,
            tiling.data_type,
            3,
            std::ptr::without_provenance_mut(address as usize),
            lengths.as_ptr(),
            strides.as_ptr(),
            tile.as_ptr(),
            [1, 1, 1].as_ptr(),
            NO_INTERLEAVE,
            tiling.swizzle,
            L2_256_BYTES,
            ZEROS,
        )
    };
    if result == 0 { Ok(image) } else { Err(result) }
}

/// A tensor map of an array with four dimensions. Elements outside the array read as zero.
pub(crate) fn encode_strided(array: Strided, tiling: TensorTiling) -> Result<Image, u32> {
    let mut image = Image::default();
    let Strided { address, shape, strides } = array;
    // The fastest dimension first.
    let lengths = [3, 2, 1, 0].map(|axis| shape[axis] as u64);
    let strides = [2, 1, 0].map(|axis| strides[axis] as u64 * u64::from(tiling.element_bytes));
    let tile = [tiling.tile[1], tiling.tile[0], 1, 1];
    // SAFETY: the map is aligned to 64 bytes, and the lists have as many numbers as four dimensions need; the driver keeps none.
    let result = unsafe {
        cuTensorMapEncodeTiled(
            &raw mut image,
            tiling.data_type,
            4,
            std::ptr::without_provenance_mut(address as usize),
            lengths.as_ptr(),
            strides.as_ptr(),
            tile.as_ptr(),
            [1; 4].as_ptr(),
            NO_INTERLEAVE,
            tiling.swizzle,
            L2_256_BYTES,
            ZEROS,
        )
    };
    if result == 0 { Ok(image) } else { Err(result) }
}

fn borrowed<T: Pod>(view: DeviceSlice<'_, T>, writes: bool) -> (Borrowed<'_>, usize) {
    let memory = Borrowed { owner: view.memory(), address: view.address(), bytes: view.bytes() as u64, writes };
    (memory, view.len())
}

macro_rules! tensors {
    ($($memory:ident, $ty:ty, |$view:ident| $slice:expr, $writes:literal;)*) => {$(
        // SAFETY: the view is of device memory that is borrowed for `'a`, mutably where the kernel writes; what a launch that
        // outlasts `'a` still uses is kept until its stream is done. The driver encodes.
        unsafe impl<'a, T: Pod> $memory<'a, T> for $ty {
            fn place(self) -> (Borrowed<'a>, usize) {
                let $view = self;
                borrowed($slice, $writes)
            }

            fn encode(address: u64, shape: TensorShape, tiling: TensorTiling) -> Result<Image, u32> {
                encode(address, shape, tiling)
            }
        }
    )*};
}

tensors! {
    TensorMemory, &'a DeviceBuffer<T>, |buffer| buffer.as_slice(), false;
    TensorMemory, DeviceSlice<'a, T>, |view| view, false;
    TensorMemoryMut, &'a mut DeviceBuffer<T>, |buffer| buffer.as_slice_mut().into_view(), true;
    TensorMemoryMut, DeviceSliceMut<'a, T>, |view| view.into_view(), true;
}
