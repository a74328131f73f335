//! Launches that begin while the one ahead of them on the stream ends: CUDA C++ Programming Guide, "Programmatic Dependent Launch
//! and Synchronization". cust has no call for them.

use std::ffi::c_void;

use cust::sys;

use crate::base::error::{Code, answer};

/// `CUlaunchAttribute`.
#[repr(C)]
struct Attribute {
    id: u32,
    padding: u32,
    value: [u64; 8],
}

/// `CUlaunchConfig`.
#[repr(C)]
struct Config {
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    stream: sys::CUstream,
    attributes: *const Attribute,
    attribute_count: u32,
}

unsafe extern "C" {
    /// cuda.h's.
    fn cuLaunchKernelEx(
        config: *const Config,
        function: sys::CUfunction,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> sys::CUresult;
}

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`.
const PROGRAMMATIC_STREAM_SERIALIZATION: u32 = 6;

/// Puts a kernel on a stream that waits itself for what is ahead.
///
/// # Safety
///
/// As for `cuLaunchKernel`. Each block of the kernel executes `griddepcontrol.wait` before it accesses memory that what is ahead may
/// use, and before it ends.
pub(super) unsafe fn launch(
    function: sys::CUfunction,
    (grid, block, shared): ([u32; 3], [u32; 3], u32),
    stream: sys::CUstream,
    parameters: &mut [*mut c_void],
) -> Result<(), Code> {
    let attribute = Attribute {
        id: PROGRAMMATIC_STREAM_SERIALIZATION,
        padding: 0,
        value: [1, 0, 0, 0, 0, 0, 0, 0],
    };
    let config = Config {
        grid,
        block,
        shared,
        stream,
        attributes: &raw const attribute,
        attribute_count: 1,
    };
    // SAFETY: the caller's; the driver keeps neither configuration nor attribute.
    answer(unsafe {
        cuLaunchKernelEx(
            &raw const config,
            function,
            parameters.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    })
}
