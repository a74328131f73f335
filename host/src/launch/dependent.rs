//! Launches that begin while the one ahead of them on the stream, or in a graph, ends: CUDA C++ Programming Guide, "Programmatic
//! Dependent Launch and Synchronization".

use std::ffi::c_void;

use crate::cuda::sys;

use crate::base::error::{Code, answer};

/// `CUlaunchAttribute`.
#[repr(C)]
struct Attribute {
    id: u32,
    padding: u32,
    value: sys::CUlaunchAttributeValue,
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

    /// cuda.h's, since CUDA 12.3.
    fn cuGraphAddDependencies_v2(
        graph: sys::CUgraph,
        from: *const sys::CUgraphNode,
        to: *const sys::CUgraphNode,
        data: *const EdgeData,
        count: usize,
    ) -> sys::CUresult;
}

/// `CUgraphEdgeData`.
#[repr(C)]
struct EdgeData {
    from_port: u8,
    to_port: u8,
    kind: u8,
    reserved: [u8; 5],
}

/// `CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC`, from `CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC`.
const PROGRAMMATIC: EdgeData = EdgeData { from_port: 1, to_port: 0, kind: 1, reserved: [0; 5] };

/// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`.
const PROGRAMMATIC_STREAM_SERIALIZATION: u32 = 6;

/// Lets a kernel node of a graph depend on the one before it as a launch on a stream does that waits itself for what is ahead.
///
/// # Safety
///
/// Both are kernel nodes of the graph, in a context that is current, and the kernel of `to` is as for [`launch`].
pub(super) unsafe fn follow(graph: sys::CUgraph, from: sys::CUgraphNode, to: sys::CUgraphNode) -> Result<(), Code> {
    let depend = |data: *const EdgeData| {
        // SAFETY: the caller's; the driver keeps none of what the pointers lead to.
        answer(unsafe { cuGraphAddDependencies_v2(graph, &raw const from, &raw const to, data, 1) })
    };
    match depend(&PROGRAMMATIC) {
        // Older drivers lack programmatic edges, so the graph gets a full dependency.
        Err(Code::NOT_SUPPORTED | Code::NOT_FOUND) => {
            // SAFETY: as above.
            answer(unsafe { sys::cuGraphAddDependencies(graph, &raw const from, &raw const to, 1) })
        }
        done => done,
    }
}

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
    let value = sys::CUlaunchAttributeValue::TRUE;
    let attribute = Attribute { id: PROGRAMMATIC_STREAM_SERIALIZATION, padding: 0, value };
    let config = Config { grid, block, shared, stream, attributes: &raw const attribute, attribute_count: 1 };
    // SAFETY: the caller's; the driver keeps neither configuration nor attribute.
    answer(unsafe { cuLaunchKernelEx(&raw const config, function, parameters.as_mut_ptr(), std::ptr::null_mut()) })
}
