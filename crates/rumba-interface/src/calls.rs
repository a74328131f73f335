//! Every call of the driver API, by name: the exported symbols, and the library that serves each.
//!
//! A name under `served` is a function of that name in that file of `rumba-soft/src/api` (or the one after `=`,
//! for the forms of a call that differ only in their default stream or their age). A name under `unserved`
//! returns `CUDA_ERROR_NOT_SUPPORTED` on the software device. With NVIDIA's driver each name is forwarded.

use std::ffi::c_int;

/// The CUDA version whose driver API is served: 13.0, the first with PTX 9.0.
pub const CUDA_VERSION: c_int = 13_000;

macro_rules! names {
    (
        served { $($file:ident: $($name:ident $(= $target:ident)?),*;)* }
        unserved { $($missing:ident),* }
    ) => {
        /// The number of each call.
        #[expect(non_camel_case_types, reason = "these are NVIDIA's names")]
        #[expect(missing_docs, reason = "cuda.h documents them")]
        #[derive(Clone, Copy)]
        #[repr(usize)]
        pub enum Call {
            $($($name,)*)*
            $($missing,)*
        }

        /// The names of all calls, in the order of [`Call`].
        pub const NAMES: &[&str] = &[$($(stringify!($name),)*)* $(stringify!($missing),)*];
    };
}

/// Families of calls that are not served, by how the calls' names begin.
const FAMILIES: &[(&str, &str)] = &[
    ("cuTex", "textures"),
    ("cuModuleGetTexRef", "textures"),
    ("cuParamSetTexRef", "textures"),
    ("cuDeviceGetTexture", "textures"),
    ("cuMipmapped", "mipmapped arrays, which are for textures,"),
    ("cuSurf", "surfaces"),
    ("cuModuleGetSurfRef", "surfaces"),
    ("cuGraphics", "resources of graphics libraries"),
    ("cuGL", "resources of graphics libraries"),
    ("cuEGL", "resources of graphics libraries"),
    ("cuVDPAU", "resources of graphics libraries"),
    ("cuImportExternal", "resources of other libraries"),
    ("cuIpc", "handles for other processes"),
    ("cuMulticast", "multicast objects"),
    ("cuGreenCtx", "green contexts"),
    ("cuCheckpoint", "checkpoints of processes"),
];

/// The family of calls that a call belongs to, if the whole family is not served.
///
/// # Examples
///
/// ```
/// use rumba_interface::calls::family;
///
/// assert_eq!(family("cuTexObjectCreate"), Some("textures"));
/// assert_eq!(family("cuMemAlloc_v2"), None);
/// ```
pub fn family(call: &str) -> Option<&'static str> {
    FAMILIES.iter().find(|(start, _)| call.starts_with(start)).map(|(_, family)| *family)
}

/// Whether a name is that of a form which means the thread's own default stream.
pub fn is_per_thread_form(name: &str) -> bool {
    name.ends_with("_ptds") || name.ends_with("_ptsz")
}

/// The result of [`find`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// The call of this number.
    At(usize),
    /// The call came with a later version.
    Later,
    /// There is no such call.
    Nowhere,
}

/// The newest form of a call that CUDA `version` (as `cuDriverGetVersion` counts) already had. With `own_stream`, the
/// form that means the thread's default stream, where there is one.
pub fn find(name: &str, version: c_int, own_stream: bool) -> Found {
    let mut best: Option<((u32, bool), usize)> = None;
    let mut later = false;
    for (index, candidate) in NAMES.iter().enumerate() {
        let Some(form) = form_of(candidate, name) else { continue };
        if form.1 && !own_stream {
            continue;
        }
        let plain = candidate.trim_end_matches("_ptds").trim_end_matches("_ptsz");
        if since(plain, form.0) > version {
            later = true;
        } else if best.is_none_or(|(other, _)| form > other) {
            best = Some((form, index));
        }
    }
    match best {
        Some((_, index)) => Found::At(index),
        None if later => Found::Later,
        None => Found::Nowhere,
    }
}

/// The form that `candidate` is of the call `name`: 1, or N for `_vN`, and whether it means the thread's default stream.
fn form_of(candidate: &str, name: &str) -> Option<(u32, bool)> {
    let suffix = candidate.strip_prefix(name)?;
    let plain = suffix.strip_suffix("_ptds").or_else(|| suffix.strip_suffix("_ptsz")).unwrap_or(suffix);
    let own_stream = plain.len() < suffix.len();
    match plain {
        "" => Some((1, own_stream)),
        plain => Some((plain.strip_prefix("_v")?.parse().ok()?, own_stream)),
    }
}

/// The CUDA version that brought a form of a call; most second forms came with 64-bit addresses in 3.2.
fn since(name: &str, form: u32) -> c_int {
    const LATER: &[(&str, c_int)] = &[
        ("cuCtxCreate_v3", 11_040),
        ("cuCtxCreate_v4", 12_050),
        ("cuCtxDestroy_v2", 4_000),
        ("cuCtxGetDevice_v2", 13_000),
        ("cuCtxPopCurrent_v2", 4_000),
        ("cuCtxPushCurrent_v2", 4_000),
        ("cuCtxSynchronize_v2", 13_000),
        ("cuDeviceGetUuid_v2", 11_040),
        ("cuDevicePrimaryCtxRelease_v2", 11_000),
        ("cuDevicePrimaryCtxReset_v2", 11_000),
        ("cuDevicePrimaryCtxSetFlags_v2", 11_000),
        ("cuEventDestroy_v2", 4_000),
        ("cuEventElapsedTime_v2", 12_080),
        ("cuGetProcAddress_v2", 12_000),
        ("cuLinkAddData_v2", 6_050),
        ("cuLinkAddFile_v2", 6_050),
        ("cuLinkCreate_v2", 6_050),
        ("cuMemAdvise_v2", 12_020),
        ("cuMemHostRegister_v2", 6_050),
        ("cuMemPrefetchAsync_v2", 12_020),
        ("cuStreamBeginCapture_v2", 10_010),
        ("cuStreamDestroy_v2", 4_000),
        ("cuStreamGetCaptureInfo_v2", 11_030),
        ("cuStreamGetCaptureInfo_v3", 12_030),
        ("cuStreamGetCtx_v2", 12_050),
        ("cuStreamUpdateCaptureDependencies_v2", 12_030),
    ];
    match LATER.iter().find(|(known, _)| *known == name) {
        Some((_, version)) => *version,
        None if form == 1 => 0,
        None if name.starts_with("cuGraph") || name.starts_with("cuStream") => 12_000,
        None => 3_020,
    }
}

/// Expands a macro of the caller's with the list of all calls.
#[macro_export]
macro_rules! with_calls {
    ($callback:ident) => {
        $callback! {
    served {
        init: cuInit, cuDriverGetVersion, cuGetErrorName, cuGetErrorString, cuGetProcAddress, cuGetProcAddress_v2,
            cuGetExportTable;
        device: cuDeviceGetCount, cuDeviceGet, cuDeviceGetName, cuDeviceTotalMem_v2, cuDeviceGetAttribute,
            cuDeviceComputeCapability, cuDeviceGetUuid, cuDeviceGetPCIBusId, cuDeviceGetByPCIBusId,
            cuDeviceGetExecAffinitySupport, cuDeviceGetUuid_v2 = cuDeviceGetUuid;
        primary: cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxReset_v2,
            cuDevicePrimaryCtxSetFlags_v2, cuDevicePrimaryCtxGetState,
            cuDevicePrimaryCtxRelease = cuDevicePrimaryCtxRelease_v2,
            cuDevicePrimaryCtxReset = cuDevicePrimaryCtxReset_v2,
            cuDevicePrimaryCtxSetFlags = cuDevicePrimaryCtxSetFlags_v2;
        ctx: cuCtxCreate_v2, cuCtxCreate_v3, cuCtxCreate_v4, cuCtxDestroy_v2, cuCtxPushCurrent_v2,
            cuCtxPopCurrent_v2, cuCtxSetCurrent, cuCtxGetCurrent, cuCtxGetDevice, cuCtxGetDevice_v2,
            cuCtxGetFlags, cuCtxSetFlags, cuCtxGetId, cuCtxGetApiVersion, cuCtxSynchronize, cuCtxSynchronize_v2,
            cuCtxGetLimit, cuCtxSetLimit, cuCtxGetCacheConfig, cuCtxSetCacheConfig, cuCtxGetSharedMemConfig,
            cuCtxSetSharedMemConfig, cuCtxGetStreamPriorityRange, cuCtxResetPersistingL2Cache, cuCtxGetExecAffinity,
            cuCtxDestroy = cuCtxDestroy_v2, cuCtxPopCurrent = cuCtxPopCurrent_v2,
            cuCtxPushCurrent = cuCtxPushCurrent_v2;
        module: cuModuleLoad, cuModuleLoadData, cuModuleLoadFatBinary, cuModuleLoadDataEx, cuModuleUnload,
            cuModuleGetFunction, cuModuleGetFunctionCount, cuModuleEnumerateFunctions, cuModuleGetGlobal_v2, cuModuleGetLoadingMode;
        library: cuLibraryLoadData, cuLibraryLoadFromFile, cuLibraryUnload, cuLibraryGetKernel,
            cuLibraryGetKernelCount, cuLibraryEnumerateKernels, cuLibraryGetModule, cuLibraryGetGlobal,
            cuLibraryGetManaged, cuKernelGetFunction, cuKernelGetLibrary, cuKernelGetName, cuKernelGetParamInfo,
            cuKernelGetAttribute, cuKernelSetAttribute, cuKernelSetCacheConfig;
        link: cuLinkCreate_v2, cuLinkAddData_v2, cuLinkAddFile_v2, cuLinkComplete, cuLinkDestroy,
            cuLinkAddData = cuLinkAddData_v2, cuLinkAddFile = cuLinkAddFile_v2, cuLinkCreate = cuLinkCreate_v2;
        func: cuFuncGetAttribute, cuFuncSetAttribute, cuFuncSetCacheConfig, cuFuncSetSharedMemConfig,
            cuFuncGetModule, cuFuncGetName, cuFuncGetParamInfo, cuFuncIsLoaded, cuFuncLoad;
        launch: cuLaunchKernel, cuLaunchCooperativeKernel, cuLaunchKernelEx,
            cuLaunchCooperativeKernel_ptsz = cuLaunchCooperativeKernel, cuLaunchKernelEx_ptsz = cuLaunchKernelEx,
            cuLaunchKernel_ptsz = cuLaunchKernel;
        occupancy: cuOccupancyMaxActiveBlocksPerMultiprocessor,
            cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, cuOccupancyMaxPotentialBlockSize,
            cuOccupancyMaxPotentialBlockSizeWithFlags, cuOccupancyAvailableDynamicSMemPerBlock,
            cuOccupancyMaxActiveClusters, cuOccupancyMaxPotentialClusterSize;
        mem: cuMemAlloc_v2, cuMemAllocManaged, cuMemAllocPitch_v2, cuMemFree_v2, cuMemGetInfo_v2,
            cuMemGetAddressRange_v2, cuMemPrefetchAsync, cuMemPrefetchAsync_v2, cuMemAdvise, cuMemAdvise_v2,
            cuMemPrefetchAsync_ptsz = cuMemPrefetchAsync, cuMemPrefetchAsync_v2_ptsz = cuMemPrefetchAsync_v2;
        host: cuMemAllocHost_v2, cuMemHostAlloc, cuMemFreeHost, cuMemHostGetDevicePointer_v2, cuMemHostGetFlags,
            cuMemHostRegister_v2, cuMemHostUnregister, cuStreamAttachMemAsync,
            cuMemHostRegister = cuMemHostRegister_v2, cuStreamAttachMemAsync_ptsz = cuStreamAttachMemAsync;
        memcpy: cuMemcpy, cuMemcpyAsync, cuMemcpyHtoD_v2, cuMemcpyHtoDAsync_v2, cuMemcpyDtoH_v2,
            cuMemcpyDtoHAsync_v2, cuMemcpyDtoD_v2, cuMemcpyDtoDAsync_v2, cuMemcpyPeer, cuMemcpyPeerAsync,
            cuMemcpyAsync_ptsz = cuMemcpyAsync, cuMemcpyDtoDAsync_v2_ptsz = cuMemcpyDtoDAsync_v2,
            cuMemcpyDtoD_v2_ptds = cuMemcpyDtoD_v2, cuMemcpyDtoHAsync_v2_ptsz = cuMemcpyDtoHAsync_v2,
            cuMemcpyDtoH_v2_ptds = cuMemcpyDtoH_v2, cuMemcpyHtoDAsync_v2_ptsz = cuMemcpyHtoDAsync_v2,
            cuMemcpyHtoD_v2_ptds = cuMemcpyHtoD_v2, cuMemcpyPeerAsync_ptsz = cuMemcpyPeerAsync,
            cuMemcpyPeer_ptds = cuMemcpyPeer, cuMemcpy_ptds = cuMemcpy;
        rectangle: cuMemcpy2D_v2, cuMemcpy2DAsync_v2, cuMemcpy3D_v2, cuMemcpy3DAsync_v2,
            cuMemcpy2DAsync_v2_ptsz = cuMemcpy2DAsync_v2, cuMemcpy2DUnaligned_v2 = cuMemcpy2D_v2,
            cuMemcpy2DUnaligned_v2_ptds = cuMemcpy2D_v2, cuMemcpy2D_v2_ptds = cuMemcpy2D_v2,
            cuMemcpy3DAsync_v2_ptsz = cuMemcpy3DAsync_v2, cuMemcpy3DPeer = cuMemcpy3D_v2,
            cuMemcpy3DPeerAsync = cuMemcpy3DAsync_v2, cuMemcpy3DPeerAsync_ptsz = cuMemcpy3DAsync_v2,
            cuMemcpy3DPeer_ptds = cuMemcpy3D_v2, cuMemcpy3D_v2_ptds = cuMemcpy3D_v2;
        array: cuArrayCreate_v2, cuArray3DCreate_v2, cuArrayDestroy, cuArrayGetDescriptor_v2,
            cuArray3DGetDescriptor_v2, cuMemcpyHtoA_v2, cuMemcpyHtoAAsync_v2, cuMemcpyAtoH_v2,
            cuMemcpyAtoHAsync_v2, cuMemcpyDtoA_v2, cuMemcpyAtoD_v2, cuMemcpyAtoA_v2,
            cuMemcpyAtoA_v2_ptds = cuMemcpyAtoA_v2, cuMemcpyAtoD_v2_ptds = cuMemcpyAtoD_v2,
            cuMemcpyAtoHAsync_v2_ptsz = cuMemcpyAtoHAsync_v2, cuMemcpyAtoH_v2_ptds = cuMemcpyAtoH_v2,
            cuMemcpyDtoA_v2_ptds = cuMemcpyDtoA_v2, cuMemcpyHtoAAsync_v2_ptsz = cuMemcpyHtoAAsync_v2,
            cuMemcpyHtoA_v2_ptds = cuMemcpyHtoA_v2;
        memset: cuMemsetD8_v2, cuMemsetD16_v2, cuMemsetD32_v2, cuMemsetD8Async, cuMemsetD16Async,
            cuMemsetD32Async, cuMemsetD2D8_v2, cuMemsetD2D16_v2, cuMemsetD2D32_v2, cuMemsetD2D8Async,
            cuMemsetD2D16Async, cuMemsetD2D32Async, cuMemsetD16Async_ptsz = cuMemsetD16Async,
            cuMemsetD16_v2_ptds = cuMemsetD16_v2, cuMemsetD2D16Async_ptsz = cuMemsetD2D16Async,
            cuMemsetD2D16_v2_ptds = cuMemsetD2D16_v2, cuMemsetD2D32Async_ptsz = cuMemsetD2D32Async,
            cuMemsetD2D32_v2_ptds = cuMemsetD2D32_v2, cuMemsetD2D8Async_ptsz = cuMemsetD2D8Async,
            cuMemsetD2D8_v2_ptds = cuMemsetD2D8_v2, cuMemsetD32Async_ptsz = cuMemsetD32Async,
            cuMemsetD32_v2_ptds = cuMemsetD32_v2, cuMemsetD8Async_ptsz = cuMemsetD8Async,
            cuMemsetD8_v2_ptds = cuMemsetD8_v2;
        pool: cuMemAllocAsync, cuMemAllocFromPoolAsync, cuMemFreeAsync, cuDeviceGetDefaultMemPool,
            cuDeviceGetMemPool, cuDeviceSetMemPool, cuMemPoolCreate, cuMemPoolDestroy, cuMemPoolTrimTo,
            cuMemPoolGetAttribute, cuMemPoolSetAttribute, cuMemPoolSetAccess,
            cuMemPoolGetAccess, cuDeviceGetGraphMemAttribute, cuDeviceGraphMemTrim, cuMemAllocAsync_ptsz = cuMemAllocAsync,
            cuMemAllocFromPoolAsync_ptsz = cuMemAllocFromPoolAsync, cuMemFreeAsync_ptsz = cuMemFreeAsync;
        pointer: cuPointerGetAttribute, cuPointerGetAttributes, cuPointerSetAttribute;
        tensor: cuTensorMapEncodeIm2col, cuTensorMapEncodeIm2colWide, cuTensorMapEncodeTiled, cuTensorMapReplaceAddress;
        stream: cuStreamCreate, cuStreamCreateWithPriority, cuStreamDestroy_v2, cuStreamSynchronize,
            cuStreamQuery, cuStreamWaitEvent, cuStreamGetFlags, cuStreamGetPriority, cuStreamGetCtx,
            cuStreamGetDevice, cuStreamGetId, cuLaunchHostFunc, cuStreamAddCallback,
            cuLaunchHostFunc_ptsz = cuLaunchHostFunc, cuStreamAddCallback_ptsz = cuStreamAddCallback,
            cuStreamDestroy = cuStreamDestroy_v2, cuStreamGetCtx_ptsz = cuStreamGetCtx,
            cuStreamGetDevice_ptsz = cuStreamGetDevice, cuStreamGetFlags_ptsz = cuStreamGetFlags,
            cuStreamGetId_ptsz = cuStreamGetId, cuStreamGetPriority_ptsz = cuStreamGetPriority,
            cuStreamQuery_ptsz = cuStreamQuery,
            cuStreamSynchronize_ptsz = cuStreamSynchronize, cuStreamWaitEvent_ptsz = cuStreamWaitEvent;
        capture: cuStreamBeginCapture, cuStreamBeginCapture_v2, cuStreamBeginCaptureToGraph,
            cuStreamEndCapture, cuStreamIsCapturing, cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2,
            cuStreamGetCaptureInfo_v3, cuStreamUpdateCaptureDependencies,
            cuStreamUpdateCaptureDependencies_v2, cuThreadExchangeStreamCaptureMode,
            cuStreamBeginCapture_ptsz = cuStreamBeginCapture, cuStreamBeginCaptureToGraph_ptsz =
            cuStreamBeginCaptureToGraph, cuStreamBeginCapture_v2_ptsz = cuStreamBeginCapture_v2,
            cuStreamEndCapture_ptsz = cuStreamEndCapture, cuStreamGetCaptureInfo_ptsz =
            cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2_ptsz = cuStreamGetCaptureInfo_v2,
            cuStreamGetCaptureInfo_v3_ptsz = cuStreamGetCaptureInfo_v3,
            cuStreamUpdateCaptureDependencies_ptsz = cuStreamUpdateCaptureDependencies,
            cuStreamUpdateCaptureDependencies_v2_ptsz = cuStreamUpdateCaptureDependencies_v2,
            cuStreamIsCapturing_ptsz = cuStreamIsCapturing;
        graph: cuGraphCreate, cuGraphDestroy, cuGraphClone, cuGraphNodeFindInClone, cuGraphGetNodes,
            cuGraphGetRootNodes, cuGraphGetEdges, cuGraphGetEdges_v2, cuGraphAddDependencies,
            cuGraphAddDependencies_v2, cuGraphRemoveDependencies, cuGraphRemoveDependencies_v2,
            cuGraphInstantiate_v2, cuGraphInstantiateWithFlags, cuGraphInstantiateWithParams,
            cuGraphExecGetFlags, cuGraphExecDestroy, cuGraphUpload, cuGraphLaunch, cuGraphExecUpdate,
            cuGraphExecUpdate_v2, cuGraphDebugDotPrint, cuGraphInstantiate = cuGraphInstantiate_v2,
            cuGraphInstantiateWithParams_ptsz = cuGraphInstantiateWithParams, cuGraphLaunch_ptsz =
            cuGraphLaunch, cuGraphUpload_ptsz = cuGraphUpload;
        node: cuGraphAddEmptyNode, cuGraphAddKernelNode, cuGraphAddKernelNode_v2,
            cuGraphKernelNodeGetParams, cuGraphKernelNodeGetParams_v2, cuGraphKernelNodeSetParams,
            cuGraphKernelNodeSetParams_v2, cuGraphKernelNodeSetAttribute, cuGraphExecKernelNodeSetParams,
            cuGraphExecKernelNodeSetParams_v2, cuGraphAddMemcpyNode, cuGraphMemcpyNodeGetParams,
            cuGraphMemcpyNodeSetParams, cuGraphExecMemcpyNodeSetParams, cuGraphAddMemsetNode,
            cuGraphMemsetNodeGetParams, cuGraphMemsetNodeSetParams, cuGraphExecMemsetNodeSetParams,
            cuGraphAddHostNode, cuGraphHostNodeGetParams, cuGraphHostNodeSetParams,
            cuGraphExecHostNodeSetParams, cuGraphAddChildGraphNode, cuGraphChildGraphNodeGetGraph,
            cuGraphExecChildGraphNodeSetParams, cuGraphAddEventRecordNode, cuGraphAddEventWaitNode,
            cuGraphEventRecordNodeGetEvent, cuGraphEventWaitNodeGetEvent, cuGraphEventRecordNodeSetEvent,
            cuGraphEventWaitNodeSetEvent, cuGraphExecEventRecordNodeSetEvent,
            cuGraphExecEventWaitNodeSetEvent, cuGraphAddMemAllocNode, cuGraphMemAllocNodeGetParams,
            cuGraphAddMemFreeNode, cuGraphMemFreeNodeGetParams,
            cuGraphNodeGetType, cuGraphNodeGetDependencies, cuGraphNodeGetDependencies_v2,
            cuGraphNodeGetDependentNodes, cuGraphNodeGetDependentNodes_v2, cuGraphDestroyNode,
            cuGraphNodeSetEnabled, cuGraphNodeGetEnabled;
        memop: cuStreamWaitValue32, cuStreamWaitValue64, cuStreamWriteValue32, cuStreamWriteValue64,
            cuStreamBatchMemOp, cuStreamBatchMemOp_ptsz = cuStreamBatchMemOp, cuStreamBatchMemOp_v2 =
            cuStreamBatchMemOp, cuStreamBatchMemOp_v2_ptsz = cuStreamBatchMemOp, cuStreamWaitValue32_ptsz =
            cuStreamWaitValue32, cuStreamWaitValue32_v2 = cuStreamWaitValue32, cuStreamWaitValue32_v2_ptsz =
            cuStreamWaitValue32, cuStreamWaitValue64_ptsz = cuStreamWaitValue64, cuStreamWaitValue64_v2 =
            cuStreamWaitValue64, cuStreamWaitValue64_v2_ptsz = cuStreamWaitValue64,
            cuStreamWriteValue32_ptsz = cuStreamWriteValue32, cuStreamWriteValue32_v2 =
            cuStreamWriteValue32, cuStreamWriteValue32_v2_ptsz = cuStreamWriteValue32,
            cuStreamWriteValue64_ptsz = cuStreamWriteValue64, cuStreamWriteValue64_v2 =
            cuStreamWriteValue64, cuStreamWriteValue64_v2_ptsz = cuStreamWriteValue64;
        vmm: cuMemGetAllocationGranularity, cuMemAddressReserve, cuMemAddressFree, cuMemCreate,
            cuMemRelease, cuMemMap, cuMemUnmap, cuMemSetAccess, cuMemGetAccess,
            cuMemGetAllocationPropertiesFromHandle, cuMemRetainAllocationHandle, cuMemRangeGetAttribute,
            cuMemRangeGetAttributes;
        event: cuEventCreate, cuEventDestroy_v2, cuEventRecord, cuEventRecordWithFlags, cuEventQuery,
            cuEventSynchronize, cuEventElapsedTime, cuEventDestroy = cuEventDestroy_v2,
            cuEventElapsedTime_v2 = cuEventElapsedTime, cuEventRecord_ptsz = cuEventRecord,
            cuEventRecordWithFlags_ptsz = cuEventRecordWithFlags;
        peer: cuDeviceCanAccessPeer, cuDeviceGetP2PAttribute, cuCtxEnablePeerAccess, cuCtxDisablePeerAccess;
        profiler: cuProfilerStart, cuProfilerStop;
    }
    unserved {
        cuArray3DCreate, cuArray3DGetDescriptor, cuArrayCreate, cuArrayGetDescriptor,
        cuArrayGetMemoryRequirements, cuArrayGetPlane, cuArrayGetSparseProperties,
        cuCheckpointProcessCheckpoint, cuCheckpointProcessGetRestoreThreadId, cuCheckpointProcessGetState,
        cuCheckpointProcessLock, cuCheckpointProcessRestore, cuCheckpointProcessUnlock,
        cuCoredumpGetAttribute, cuCoredumpGetAttributeGlobal, cuCoredumpSetAttribute,
        cuCoredumpSetAttributeGlobal, cuCtxAttach, cuCtxCreate, cuCtxDetach, cuCtxFromGreenCtx,
        cuCtxGetDevResource, cuCtxRecordEvent, cuCtxWaitEvent, cuDestroyExternalMemory,
        cuDestroyExternalSemaphore, cuDeviceGetDevResource,
        cuDeviceGetHostAtomicCapabilities, cuDeviceGetLuid, cuDeviceGetNvSciSyncAttributes,
        cuDeviceGetP2PAtomicCapabilities, cuDeviceGetProperties, cuDeviceGetTexture1DLinearMaxWidth,
        cuDeviceRegisterAsyncNotification, cuDeviceSetGraphMemAttribute,
        cuDeviceTotalMem, cuDeviceUnregisterAsyncNotification, cuDevResourceGenerateDesc,
        cuDevSmResourceSplitByCount, cuEGLApiInit, cuEGLStreamConsumerAcquireFrame,
        cuEGLStreamConsumerConnect, cuEGLStreamConsumerConnectWithFlags, cuEGLStreamConsumerDisconnect,
        cuEGLStreamConsumerReleaseFrame, cuEGLStreamProducerConnect, cuEGLStreamProducerDisconnect,
        cuEGLStreamProducerPresentFrame, cuEGLStreamProducerReturnFrame, cuExternalMemoryGetMappedBuffer,
        cuExternalMemoryGetMappedMipmappedArray, cuFlushGPUDirectRDMAWrites, cuFuncSetBlockShape,
        cuFuncSetSharedSize, cuGLCtxCreate, cuGLCtxCreate_v2, cuGLGetDevices, cuGLGetDevices_v2, cuGLInit,
        cuGLMapBufferObject, cuGLMapBufferObjectAsync, cuGLMapBufferObjectAsync_v2,
        cuGLMapBufferObjectAsync_v2_ptsz, cuGLMapBufferObject_v2, cuGLMapBufferObject_v2_ptds,
        cuGLRegisterBufferObject, cuGLSetBufferObjectMapFlags, cuGLUnmapBufferObject,
        cuGLUnmapBufferObjectAsync, cuGLUnregisterBufferObject, cuGraphAddBatchMemOpNode,
        cuGraphAddExternalSemaphoresSignalNode, cuGraphAddExternalSemaphoresWaitNode,
        cuGraphAddNode, cuGraphAddNode_v2, cuGraphBatchMemOpNodeGetParams,
        cuGraphBatchMemOpNodeSetParams, cuGraphConditionalHandleCreate, cuGraphExecBatchMemOpNodeSetParams,
        cuGraphExecExternalSemaphoresSignalNodeSetParams, cuGraphExecExternalSemaphoresWaitNodeSetParams,
        cuGraphExecNodeSetParams, cuGraphExternalSemaphoresSignalNodeGetParams,
        cuGraphExternalSemaphoresSignalNodeSetParams, cuGraphExternalSemaphoresWaitNodeGetParams,
        cuGraphExternalSemaphoresWaitNodeSetParams, cuGraphicsEGLRegisterImage, cuGraphicsGLRegisterBuffer,
        cuGraphicsGLRegisterImage, cuGraphicsMapResources, cuGraphicsMapResources_ptsz,
        cuGraphicsResourceGetMappedEglFrame, cuGraphicsResourceGetMappedMipmappedArray,
        cuGraphicsResourceGetMappedPointer, cuGraphicsResourceGetMappedPointer_v2,
        cuGraphicsResourceSetMapFlags, cuGraphicsResourceSetMapFlags_v2,
        cuGraphicsSubResourceGetMappedArray, cuGraphicsUnmapResources, cuGraphicsUnmapResources_ptsz,
        cuGraphicsUnregisterResource, cuGraphicsVDPAURegisterOutputSurface,
        cuGraphicsVDPAURegisterVideoSurface, cuGraphKernelNodeCopyAttributes, cuGraphKernelNodeGetAttribute,
        cuGraphNodeSetParams,
        cuGraphReleaseUserObject, cuGraphRetainUserObject, cuGreenCtxCreate, cuGreenCtxDestroy,
        cuGreenCtxGetDevResource, cuGreenCtxGetId, cuGreenCtxRecordEvent, cuGreenCtxStreamCreate,
        cuGreenCtxWaitEvent, cuImportExternalMemory, cuImportExternalSemaphore, cuIpcCloseMemHandle,
        cuIpcGetEventHandle, cuIpcGetMemHandle, cuIpcOpenEventHandle, cuIpcOpenMemHandle,
        cuIpcOpenMemHandle_v2, cuLaunch, cuLaunchCooperativeKernelMultiDevice, cuLaunchGrid,
        cuLaunchGridAsync, cuLibraryGetUnifiedFunction, cuLogsCurrent, cuLogsDumpToFile, cuLogsDumpToMemory,
        cuLogsRegisterCallback, cuLogsUnregisterCallback, cuMemAlloc, cuMemAllocHost, cuMemAllocPitch,
        cuMemBatchDecompressAsync, cuMemBatchDecompressAsync_ptsz, cuMemcpy2D, cuMemcpy2DAsync,
        cuMemcpy2DUnaligned, cuMemcpy3D, cuMemcpy3DAsync, cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_ptsz,
        cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync_v2_ptsz, cuMemcpyAtoA, cuMemcpyAtoD, cuMemcpyAtoH,
        cuMemcpyAtoHAsync, cuMemcpyBatchAsync, cuMemcpyBatchAsync_ptsz, cuMemcpyBatchAsync_v2,
        cuMemcpyBatchAsync_v2_ptsz, cuMemcpyDtoA, cuMemcpyDtoD, cuMemcpyDtoDAsync, cuMemcpyDtoH,
        cuMemcpyDtoHAsync, cuMemcpyHtoA, cuMemcpyHtoAAsync, cuMemcpyHtoD, cuMemcpyHtoDAsync,
        cuMemDiscardAndPrefetchBatchAsync, cuMemDiscardAndPrefetchBatchAsync_ptsz, cuMemDiscardBatchAsync,
        cuMemDiscardBatchAsync_ptsz, cuMemExportToShareableHandle, cuMemFree, cuMemGetAddressRange,
        cuMemGetAttribute, cuMemGetAttribute_v2, cuMemGetDefaultMemPool, cuMemGetHandleForAddressRange,
        cuMemGetInfo, cuMemGetMemPool, cuMemHostGetDevicePointer, cuMemImportFromShareableHandle,
        cuMemMapArrayAsync, cuMemMapArrayAsync_ptsz, cuMemPoolExportPointer,
        cuMemPoolExportToShareableHandle, cuMemPoolImportFromShareableHandle,
        cuMemPoolImportPointer, cuMemPrefetchBatchAsync, cuMemPrefetchBatchAsync_ptsz,
        cuMemsetD16, cuMemsetD2D16, cuMemsetD2D32, cuMemsetD2D8, cuMemsetD32, cuMemsetD8, cuMemSetMemPool,
        cuMipmappedArrayCreate, cuMipmappedArrayDestroy, cuMipmappedArrayGetLevel,
        cuMipmappedArrayGetMemoryRequirements, cuMipmappedArrayGetSparseProperties, cuModuleGetGlobal,
        cuModuleGetSurfRef, cuModuleGetTexRef, cuMulticastAddDevice, cuMulticastBindAddr,
        cuMulticastBindMem, cuMulticastCreate, cuMulticastGetGranularity, cuMulticastUnbind,
        cuParamSetf, cuParamSeti,
        cuParamSetSize, cuParamSetTexRef, cuParamSetv, cuProfilerInitialize,
        cuSignalExternalSemaphoresAsync, cuSignalExternalSemaphoresAsync_ptsz, cuStreamCopyAttributes,
        cuStreamCopyAttributes_ptsz, cuStreamGetAttribute, cuStreamGetAttribute_ptsz, cuStreamGetCtx_v2,
        cuStreamGetCtx_v2_ptsz, cuStreamGetGreenCtx, cuStreamSetAttribute, cuStreamSetAttribute_ptsz,
        cuSurfObjectCreate, cuSurfObjectDestroy, cuSurfObjectGetResourceDesc, cuSurfRefGetArray,
        cuSurfRefSetArray, cuTexObjectCreate, cuTexObjectDestroy, cuTexObjectGetResourceDesc,
        cuTexObjectGetResourceViewDesc, cuTexObjectGetTextureDesc, cuTexRefCreate, cuTexRefDestroy,
        cuTexRefGetAddress, cuTexRefGetAddressMode, cuTexRefGetAddress_v2, cuTexRefGetArray,
        cuTexRefGetBorderColor, cuTexRefGetFilterMode, cuTexRefGetFlags, cuTexRefGetFormat,
        cuTexRefGetMaxAnisotropy, cuTexRefGetMipmapFilterMode, cuTexRefGetMipmapLevelBias,
        cuTexRefGetMipmapLevelClamp, cuTexRefGetMipmappedArray, cuTexRefSetAddress, cuTexRefSetAddress2D,
        cuTexRefSetAddress2D_v2, cuTexRefSetAddress2D_v3, cuTexRefSetAddressMode, cuTexRefSetAddress_v2,
        cuTexRefSetArray, cuTexRefSetBorderColor, cuTexRefSetFilterMode, cuTexRefSetFlags,
        cuTexRefSetFormat, cuTexRefSetMaxAnisotropy, cuTexRefSetMipmapFilterMode,
        cuTexRefSetMipmapLevelBias, cuTexRefSetMipmapLevelClamp, cuTexRefSetMipmappedArray,
        cuUserObjectCreate, cuUserObjectRelease, cuUserObjectRetain, cuVDPAUCtxCreate, cuVDPAUCtxCreate_v2,
        cuVDPAUGetDevice, cuWaitExternalSemaphoresAsync, cuWaitExternalSemaphoresAsync_ptsz
    }
        }
    };
}

with_calls!(names);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newer_forms_need_newer_versions() {
        let name = |found| match found {
            Found::At(index) => NAMES[index],
            Found::Later => "later",
            Found::Nowhere => "nowhere",
        };
        assert_eq!(name(find("cuMemAlloc", 12_000, false)), "cuMemAlloc_v2");
        assert_eq!(name(find("cuGetProcAddress", 11_030, false)), "cuGetProcAddress");
        assert_eq!(name(find("cuGetProcAddress", 12_000, false)), "cuGetProcAddress_v2");
        assert_eq!(name(find("cuMemAllocate", 12_000, false)), "nowhere");
        assert_eq!(name(find("cuMem", 12_000, false)), "nowhere");
        assert_eq!(name(find("cuMemcpyHtoD", 12_000, true)), "cuMemcpyHtoD_v2_ptds");
        assert_eq!(name(find("cuStreamQuery", 12_000, true)), "cuStreamQuery_ptsz");
        assert_eq!(name(find("cuMemAlloc", 12_000, true)), "cuMemAlloc_v2");
    }

    #[test]
    fn families_are_of_calls_that_are_not_served() {
        macro_rules! served {
            (served { $($file:ident: $($name:ident $(= $target:ident)?),*;)* } unserved { $($missing:ident),* }) => {
                [$($(stringify!($name),)*)*]
            };
        }
        for call in with_calls!(served) {
            assert_eq!(family(call), None, "{call}");
        }
        for (start, _) in FAMILIES {
            assert!(NAMES.iter().any(|call| call.starts_with(start)), "{start}");
        }
    }

    #[test]
    fn names_are_unique() {
        let names: std::collections::BTreeSet<_> = NAMES.iter().collect();
        assert_eq!(names.len(), NAMES.len());
    }
}
