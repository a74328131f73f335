//! Tensor maps for kernels of nvcc, of Triton and of the corpus, made by the driver.

use std::ffi::{c_int, c_uint};

use anyhow::{Result, bail};

/// A `CUtensorMap`.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct TensorMap([u64; 16]);

unsafe extern "C" {
    fn cuTensorMapEncodeTiled(
        map: *mut TensorMap,
        element: c_uint,
        rank: c_uint,
        address: u64,
        sizes: *const u64,
        strides: *const u64,
        extent: *const c_uint,
        steps: *const c_uint,
        interleave: c_uint,
        swizzle: c_uint,
        promotion: c_uint,
        fill: c_uint,
    ) -> c_int;
    fn cuTensorMapEncodeIm2col(
        map: *mut TensorMap,
        element: c_uint,
        rank: c_uint,
        address: u64,
        sizes: *const u64,
        strides: *const u64,
        lower: *const c_int,
        upper: *const c_int,
        channels: c_uint,
        pixels: c_uint,
        steps: *const c_uint,
        interleave: c_uint,
        swizzle: c_uint,
        promotion: c_uint,
        fill: c_uint,
    ) -> c_int;
}

/// `CUtensorMapDataType`, and the bytes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// 8 bits without a sign.
    Uint8,
    /// 32 bits without a sign.
    Uint32,
    /// binary16.
    Float16,
    /// binary32.
    Float32,
    /// bfloat16.
    Bfloat16,
}

impl Element {
    fn code(self) -> (c_uint, u64) {
        match self {
            Self::Uint8 => (0, 1),
            Self::Uint32 => (2, 4),
            Self::Float16 => (6, 2),
            Self::Float32 => (7, 4),
            Self::Bfloat16 => (9, 2),
        }
    }
}

/// Bytes of the dimensions but the first, of a tensor without gaps.
fn strides(element: Element, sizes: &[u64]) -> Vec<u64> {
    let mut stride = element.code().1;
    sizes
        .iter()
        .map(|size| {
            stride *= size;
            stride
        })
        .collect()
}

impl TensorMap {
    /// The words of the map, low halves first.
    pub fn words(self) -> Vec<u32> {
        self.0.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]).collect()
    }

    /// A map of boxes of a tensor without gaps; `swizzle` is a `CUtensorMapSwizzle`.
    ///
    /// # Errors
    /// What the driver says.
    pub fn tiled(address: u64, element: Element, sizes: &[u64], extent: &[u32], swizzle: c_uint) -> Result<Self> {
        let mut map = Self([0; 16]);
        let (steps, strides) = ([1; 5], strides(element, sizes));
        // SAFETY: the arrays have one element for each dimension.
        let code = unsafe {
            cuTensorMapEncodeTiled(
                &mut map,
                element.code().0,
                sizes.len() as c_uint,
                address,
                sizes.as_ptr(),
                strides.as_ptr(),
                extent.as_ptr(),
                steps.as_ptr(),
                0,
                swizzle,
                0,
                0,
            )
        };
        if code != 0 {
            bail!("cuTensorMapEncodeTiled: {code}");
        }
        Ok(map)
    }

    /// A map of columns of pixels with all channels, for filters that reach `margin` beyond the images.
    ///
    /// # Errors
    /// What the driver says.
    pub fn columns(address: u64, element: Element, sizes: &[u64; 4], margin: i32, pixels: u32) -> Result<Self> {
        let mut map = Self([0; 16]);
        let (steps, corner, strides) = ([1; 5], [-margin; 2], strides(element, sizes));
        // SAFETY: as above.
        let code = unsafe {
            cuTensorMapEncodeIm2col(
                &mut map,
                element.code().0,
                4,
                address,
                sizes.as_ptr(),
                strides.as_ptr(),
                corner.as_ptr(),
                corner.as_ptr(),
                sizes[0] as c_uint,
                pixels,
                steps.as_ptr(),
                0,
                0,
                0,
                0,
            )
        };
        if code != 0 {
            bail!("cuTensorMapEncodeIm2col: {code}");
        }
        Ok(map)
    }
}
