//! Device memory as images that kernels copy as the left operand of a convolution: im2col maps.

use bytemuck::Pod;
use cuda_std::launch::ImageMemory;
use cuda_std::tensor::{Im2colTiling, Image};
use std::ffi::c_void;

use crate::buffers::buffer::DeviceBuffer;
use crate::buffers::tensor::{L2_256_BYTES, NO_INTERLEAVE, ZEROS};
use crate::buffers::view::DeviceSlice;

unsafe extern "C" {
    /// cuda.h's.
    fn cuTensorMapEncodeIm2col(
        map: *mut Image,
        data_type: u32,
        rank: u32,
        address: *mut c_void,
        lengths: *const u64,
        strides: *const u64,
        lower: *const i32,
        upper: *const i32,
        channels: u32,
        pixels: u32,
        steps: *const u32,
        interleave: u32,
        swizzle: u32,
        l2_promotion: u32,
        beyond: u32,
    ) -> u32;
}

/// An im2col map of images. Pixels outside an image read as zero.
fn encode(address: u64, Im2colTiling { tiling, window, .. }: Im2colTiling) -> Result<Image, u32> {
    let mut image = Image::default();
    // The fastest dimension first.
    let [images, rows, columns, channels] = window.images.map(|length| length as u64);
    let lengths = [channels, columns, rows, images];
    let pixel = channels * u64::from(tiling.element_bytes);
    let strides = [pixel, pixel * columns, pixel * columns * rows];
    let steps = [1, window.stride[1] as u32, window.stride[0] as u32, 1];
    // The filter's first tap is from the lower corner to the upper one, which is counted from the end of the image.
    let lower = [1, 0].map(|axis| -(window.padding[axis] as i32));
    let upper = [1, 0].map(|axis| window.padding[axis] as i32 - (window.taps[axis] as i32 - 1));
    // SAFETY: the map is aligned to 64 bytes, and the lists have as many numbers as four dimensions need; the driver keeps none.
    let result = unsafe {
        cuTensorMapEncodeIm2col(
            &raw mut image,
            tiling.data_type,
            4,
            std::ptr::without_provenance_mut(address as usize),
            lengths.as_ptr(),
            strides.as_ptr(),
            lower.as_ptr(),
            upper.as_ptr(),
            tiling.tile[1],
            tiling.tile[0],
            steps.as_ptr(),
            NO_INTERLEAVE,
            tiling.swizzle,
            L2_256_BYTES,
            ZEROS,
        )
    };
    if result == 0 { Ok(image) } else { Err(result) }
}

macro_rules! images {
    ($($ty:ty),*) => {$(
        // SAFETY: the driver encodes.
        unsafe impl<'a, T: Pod> ImageMemory<'a, T> for $ty {
            fn encode_im2col(address: u64, tiling: Im2colTiling) -> Result<Image, u32> {
                encode(address, tiling)
            }
        }
    )*};
}

images!(&'a DeviceBuffer<T>, DeviceSlice<'a, T>);
