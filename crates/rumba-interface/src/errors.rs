//! Which errors the driver calls can return, for tests that let calls fail: the codes that the driver API's manual names and that a
//! right program can meet.
//!
//! A call that gives something back has only the errors of a lost context, with which everything in the context is given back.

use crate::calls::is_per_thread_form;
use crate::code::Code;

/// Errors of work that was enqueued before. They end the context: each later call in it returns the same code.
pub const LOST: [Code; 3] = [Code::ILLEGAL_ADDRESS, Code::LAUNCH_FAILED, Code::LAUNCH_TIMEOUT];

/// Calls, and the errors of each.
const ERRORS: &[(&[Code], &[&str])] = &[
    // Calls about devices, which need no context.
    (&[Code::NO_DEVICE, Code::OUT_OF_MEMORY], &["cuInit"]),
    (&[Code::OUT_OF_MEMORY, Code::INVALID_VALUE], &["cuDriverGetVersion", "cuGetErrorName", "cuGetErrorString"]),
    (
        &[Code::INVALID_DEVICE, Code::NOT_SUPPORTED],
        &[
            "cuDeviceGetCount",
            "cuDeviceGet",
            "cuDeviceGetName",
            "cuDeviceTotalMem_v2",
            "cuDeviceGetAttribute",
            "cuDeviceGetUuid",
            "cuDeviceGetUuid_v2",
            "cuDeviceGetPCIBusId",
            "cuDeviceCanAccessPeer",
            "cuDeviceGetP2PAttribute",
            "cuDeviceGetDefaultMemPool",
            "cuDeviceGetMemPool",
            "cuDevicePrimaryCtxGetState",
        ],
    ),
    (
        &[Code::OUT_OF_MEMORY, Code::INVALID_DEVICE],
        &["cuDevicePrimaryCtxRetain", "cuCtxCreate_v2", "cuCtxCreate_v3", "cuCtxCreate_v4"],
    ),
    // Calls that give back what belongs to no context, and those that make a living context current, do not fail.
    (
        &[],
        &[
            "cuDevicePrimaryCtxRelease_v2",
            "cuDevicePrimaryCtxReset_v2",
            "cuCtxDestroy_v2",
            "cuMemPoolDestroy",
            "cuLibraryUnload",
            "cuGraphDestroy",
            "cuGraphExecDestroy",
            "cuCtxSetCurrent",
            "cuCtxPushCurrent_v2",
            "cuCtxPopCurrent_v2",
        ],
    ),
    // This call reports a missing device by another error.
    (&[Code::NOT_SUPPORTED], &["cuDeviceGetByPCIBusId"]),
    // Calls about contexts.
    (&[Code::INVALID_CONTEXT], &["cuCtxGetCurrent"]),
    (
        &[
            Code::PEER_ACCESS_UNSUPPORTED,
            Code::PEER_ACCESS_ALREADY_ENABLED,
            Code::TOO_MANY_PEERS,
            Code::ILLEGAL_ADDRESS,
        ],
        &["cuCtxEnablePeerAccess"],
    ),
    // Calls that make something.
    (
        &[Code::OUT_OF_MEMORY, Code::NOT_SUPPORTED, Code::INVALID_VALUE, Code::ILLEGAL_ADDRESS, Code::LAUNCH_FAILED],
        &[
            "cuMemAlloc_v2",
            "cuMemAllocPitch_v2",
            "cuMemAllocManaged",
            "cuMemAllocHost_v2",
            "cuMemHostAlloc",
            "cuMemHostRegister_v2",
            "cuMemHostGetDevicePointer_v2",
            "cuMemAllocAsync",
            "cuMemAllocFromPoolAsync",
            "cuMemPoolCreate",
            "cuMemPoolSetAttribute",
            "cuMemPoolSetAccess",
            "cuMemAddressReserve",
            "cuMemCreate",
            "cuMemMap",
            "cuMemSetAccess",
            "cuArrayCreate_v2",
            "cuArray3DCreate_v2",
        ],
    ),
    (
        &[Code::OUT_OF_MEMORY, Code::INVALID_VALUE, Code::ILLEGAL_ADDRESS, Code::LAUNCH_FAILED],
        &[
            "cuStreamCreate",
            "cuStreamCreateWithPriority",
            "cuEventCreate",
            "cuGraphCreate",
            "cuGraphClone",
            "cuGraphAddKernelNode",
            "cuGraphAddKernelNode_v2",
            "cuGraphAddEmptyNode",
            "cuGraphAddMemcpyNode",
            "cuGraphAddMemsetNode",
            "cuGraphAddHostNode",
            "cuGraphAddDependencies",
            "cuGraphAddDependencies_v2",
            "cuGraphInstantiate_v2",
            "cuGraphInstantiateWithFlags",
            "cuGraphInstantiateWithParams",
            "cuGraphExecKernelNodeSetParams",
            "cuGraphExecKernelNodeSetParams_v2",
            "cuGraphExecUpdate_v2",
            "cuLinkCreate_v2",
            "cuTensorMapEncodeTiled",
            "cuTensorMapEncodeIm2col",
            "cuFuncSetAttribute",
            "cuCtxSetLimit",
        ],
    ),
    (
        &[
            Code::OUT_OF_MEMORY,
            Code::INVALID_PTX,
            Code::NO_BINARY_FOR_GPU,
            Code::UNSUPPORTED_PTX_VERSION,
            Code::ILLEGAL_ADDRESS,
        ],
        &[
            "cuModuleLoad",
            "cuModuleLoadData",
            "cuModuleLoadDataEx",
            "cuModuleLoadFatBinary",
            "cuLibraryLoadData",
            "cuLibraryLoadFromFile",
            "cuLinkAddData_v2",
            "cuLinkAddFile_v2",
            "cuLinkComplete",
        ],
    ),
    (
        &[Code::NOT_FOUND, Code::ILLEGAL_ADDRESS],
        &["cuModuleGetFunction", "cuModuleGetGlobal_v2", "cuLibraryGetKernel", "cuKernelGetFunction"],
    ),
    // Calls that enqueue work. A kernel may be loaded when it is first launched, which takes memory.
    (
        &[
            Code::OUT_OF_MEMORY,
            Code::LAUNCH_OUT_OF_RESOURCES,
            Code::INVALID_VALUE,
            Code::ILLEGAL_ADDRESS,
            Code::LAUNCH_FAILED,
            Code::LAUNCH_TIMEOUT,
        ],
        &["cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel", "cuGraphLaunch", "cuGraphUpload"],
    ),
    (
        &[Code::OUT_OF_MEMORY, Code::INVALID_VALUE, Code::NOT_SUPPORTED, Code::ILLEGAL_ADDRESS, Code::LAUNCH_FAILED],
        &[
            "cuLaunchHostFunc",
            "cuStreamAddCallback",
            "cuEventRecord",
            "cuEventRecordWithFlags",
            "cuStreamWaitEvent",
            "cuMemcpy",
            "cuMemcpyAsync",
            "cuMemcpyHtoD_v2",
            "cuMemcpyHtoDAsync_v2",
            "cuMemcpyDtoH_v2",
            "cuMemcpyDtoHAsync_v2",
            "cuMemcpyDtoD_v2",
            "cuMemcpyDtoDAsync_v2",
            "cuMemcpyPeer",
            "cuMemcpyPeerAsync",
            "cuMemcpy2D_v2",
            "cuMemcpy2DAsync_v2",
            "cuMemcpy3D_v2",
            "cuMemcpy3DAsync_v2",
            "cuMemsetD8_v2",
            "cuMemsetD16_v2",
            "cuMemsetD32_v2",
            "cuMemsetD8Async",
            "cuMemsetD16Async",
            "cuMemsetD32Async",
            "cuMemsetD2D8Async",
            "cuMemPrefetchAsync",
            "cuMemAdvise",
            "cuStreamAttachMemAsync",
        ],
    ),
    // Calls that wait can return errors of earlier work.
    (&LOST, &["cuCtxSynchronize", "cuStreamSynchronize", "cuEventSynchronize"]),
    (
        &[Code::NOT_READY, Code::ILLEGAL_ADDRESS, Code::LAUNCH_FAILED],
        &["cuStreamQuery", "cuEventQuery", "cuEventElapsedTime", "cuEventElapsedTime_v2"],
    ),
    // Calls that give something back.
    (
        &[Code::ILLEGAL_ADDRESS, Code::LAUNCH_FAILED],
        &[
            "cuMemFree_v2",
            "cuMemFreeHost",
            "cuMemHostUnregister",
            "cuMemFreeAsync",
            "cuMemPoolTrimTo",
            "cuMemUnmap",
            "cuMemRelease",
            "cuMemAddressFree",
            "cuArrayDestroy",
            "cuStreamDestroy_v2",
            "cuEventDestroy_v2",
            "cuModuleUnload",
            "cuLinkDestroy",
            "cuCtxDisablePeerAccess",
        ],
    ),
];

/// The errors of a call; an argument's of one that is not in the table.
pub fn errors_of(call: &str) -> &'static [Code] {
    let plain = match is_per_thread_form(call) {
        true => call.trim_end_matches("_ptds").trim_end_matches("_ptsz"),
        false => call,
    };
    let row = ERRORS.iter().find(|(_, calls)| calls.contains(&plain));
    row.map_or(&[Code::INVALID_VALUE], |(errors, _)| errors)
}

/// Whether a code is that of a context that is lost.
pub fn loses_context(code: Code) -> bool {
    LOST.contains(&code)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{ERRORS, errors_of};
    use crate::calls::NAMES;
    use crate::code::Code;

    #[test]
    fn calls_of_the_table_exist_and_stand_in_one_row() {
        let calls = || ERRORS.iter().flat_map(|(_, calls)| *calls);
        let distinct: BTreeSet<_> = calls().collect();
        assert_eq!(distinct.len(), calls().count());
        for call in calls() {
            assert!(NAMES.contains(call), "{call}");
        }
    }

    #[test]
    fn forms_for_the_threads_own_stream_have_the_same_errors() {
        assert_eq!(errors_of("cuStreamQuery_ptsz"), errors_of("cuStreamQuery"));
        assert_eq!(errors_of("cuStreamQuery")[0], Code::NOT_READY);
        assert_eq!(errors_of("cuFuncGetAttribute"), [Code::INVALID_VALUE]);
    }
}
