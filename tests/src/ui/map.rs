//! Tensor maps for kernels of the corpus, made by the driver.

use std::ffi::{c_int, c_uint};

use anyhow::{Result, ensure};

/// Words of a row of the tensor, and rows of a box.
const ROW: u64 = 16;
const ROWS: c_uint = 4;

/// A `CUtensorMap`.
#[repr(C, align(64))]
struct TensorMap([u32; 32]);

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
}

/// The map of so many words in rows of 16, for boxes of 4 rows.
pub(super) fn encode(address: u64, words: u64) -> Result<[u32; 32]> {
    /// `CU_TENSOR_MAP_DATA_TYPE_UINT32`
    const WORD: c_uint = 2;
    let (sizes, strides, extent, steps) = ([ROW, words / ROW], [4 * ROW], [ROW as c_uint, ROWS], [1; 2]);
    let mut map = TensorMap([0; 32]);
    // SAFETY: all arrays are as long as the rank asks for.
    let code = unsafe {
        cuTensorMapEncodeTiled(
            &raw mut map,
            WORD,
            2,
            address,
            sizes.as_ptr(),
            strides.as_ptr(),
            extent.as_ptr(),
            steps.as_ptr(),
            0,
            0,
            0,
            0,
        )
    };
    ensure!(code == 0, "cuTensorMapEncodeTiled returns {code}");
    Ok(map.0)
}
