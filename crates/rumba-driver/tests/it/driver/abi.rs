//! The calls as cuda.h declares them, with handles and addresses as plain numbers.

use std::ffi::{c_char, c_int, c_uint, c_void};

macro_rules! declare {
    ($($name:ident($($kind:ty),*);)*) => {
        unsafe extern "C" {
            $(pub fn $name($(_: $kind),*) -> c_int;)*
        }
    };
}

type P<T> = *mut T;
type Text = *const c_char;

declare! {
    cuInit(c_uint);
    cuDriverGetVersion(P<c_int>);
    cuGetErrorName(c_int, P<Text>);
    cuGetErrorString(c_int, P<Text>);
    cuGetProcAddress_v2(Text, P<P<c_void>>, c_int, u64, P<c_int>);
    cuDeviceGetCount(P<c_int>);
    cuDeviceGet(P<c_int>, c_int);
    cuDeviceGetName(P<c_char>, c_int, c_int);
    cuDeviceTotalMem_v2(P<usize>, c_int);
    cuDeviceGetAttribute(P<c_int>, c_int, c_int);
    cuDeviceComputeCapability(P<c_int>, P<c_int>, c_int);
    cuDeviceGetUuid_v2(P<[u8; 16]>, c_int);
    cuDeviceCanAccessPeer(P<c_int>, c_int, c_int);
    cuDevicePrimaryCtxRetain(P<usize>, c_int);
    cuDevicePrimaryCtxRelease_v2(c_int);
    cuDevicePrimaryCtxReset_v2(c_int);
    cuDevicePrimaryCtxSetFlags_v2(c_int, c_uint);
    cuDevicePrimaryCtxGetState(c_int, P<c_uint>, P<c_int>);
    cuCtxCreate_v2(P<usize>, c_uint, c_int);
    cuCtxDestroy_v2(usize);
    cuCtxPushCurrent_v2(usize);
    cuCtxPopCurrent_v2(P<usize>);
    cuCtxSetCurrent(usize);
    cuCtxGetCurrent(P<usize>);
    cuCtxGetDevice(P<c_int>);
    cuCtxGetFlags(P<c_uint>);
    cuCtxGetApiVersion(usize, P<c_uint>);
    cuCtxSynchronize();
    cuCtxGetLimit(P<usize>, c_int);
    cuCtxSetLimit(c_int, usize);
    cuCtxGetCacheConfig(P<c_int>);
    cuCtxSetCacheConfig(c_int);
    cuCtxGetSharedMemConfig(P<c_int>);
    cuCtxSetSharedMemConfig(c_int);
    cuCtxGetStreamPriorityRange(P<c_int>, P<c_int>);
    cuCtxEnablePeerAccess(usize, c_uint);
    cuCtxDisablePeerAccess(usize);
    cuModuleLoad(P<usize>, Text);
    cuModuleLoadData(P<usize>, *const c_void);
    cuModuleLoadDataEx(P<usize>, *const c_void, c_uint, P<c_int>, P<usize>);
    cuModuleUnload(usize);
    cuModuleGetFunction(P<usize>, usize, Text);
    cuModuleGetFunctionCount(P<c_uint>, usize);
    cuModuleGetGlobal_v2(P<u64>, P<usize>, usize, Text);
    cuLinkCreate_v2(c_uint, P<c_int>, P<usize>, P<usize>);
    cuLinkAddData_v2(usize, c_int, *const c_void, usize, Text, c_uint, P<c_int>, P<usize>);
    cuLinkAddFile_v2(usize, c_int, Text, c_uint, P<c_int>, P<usize>);
    cuLinkComplete(usize, P<*const c_void>, P<usize>);
    cuLinkDestroy(usize);
    cuFuncGetAttribute(P<c_int>, c_int, usize);
    cuFuncSetAttribute(usize, c_int, c_int);
    cuFuncSetCacheConfig(usize, c_int);
    cuFuncSetSharedMemConfig(usize, c_int);
    cuFuncGetModule(P<usize>, usize);
    cuFuncGetParamInfo(usize, usize, P<usize>, P<usize>);
    cuLaunchKernel(
        usize, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, usize, P<*const c_void>, P<*const c_void>
    );
    cuLaunchKernelEx(*const LaunchConfig, usize, P<*const c_void>, P<*const c_void>);
    cuLaunchCooperativeKernel(
        usize, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, usize, P<*const c_void>
    );
    cuLaunchHostFunc(usize, Option<extern "C" fn(P<c_void>)>, P<c_void>);
    cuOccupancyMaxActiveBlocksPerMultiprocessor(P<c_int>, usize, c_int, usize);
    cuOccupancyMaxPotentialBlockSize(
        P<c_int>, P<c_int>, usize, Option<extern "C" fn(c_int) -> usize>, usize, c_int
    );
    cuOccupancyAvailableDynamicSMemPerBlock(P<usize>, usize, c_int, c_int);
    cuOccupancyMaxActiveClusters(P<c_int>, usize, *const LaunchConfig);
    cuOccupancyMaxPotentialClusterSize(P<c_int>, usize, *const LaunchConfig);
    cuMemAlloc_v2(P<u64>, usize);
    cuMemAllocPitch_v2(P<u64>, P<usize>, usize, usize, c_uint);
    cuMemAllocManaged(P<u64>, usize, c_uint);
    cuMemFree_v2(u64);
    cuMemGetInfo_v2(P<usize>, P<usize>);
    cuMemGetAddressRange_v2(P<u64>, P<usize>, u64);
    cuMemPrefetchAsync(u64, usize, c_int, usize);
    cuMemAdvise(u64, usize, c_int, c_int);
    cuMemRangeGetAttribute(P<c_void>, usize, c_int, u64, usize);
    cuMemRangeGetAttributes(P<P<c_void>>, P<usize>, P<c_int>, usize, u64, usize);
    cuMemAllocHost_v2(P<u64>, usize);
    cuMemHostAlloc(P<u64>, usize, c_uint);
    cuMemFreeHost(u64);
    cuMemHostGetDevicePointer_v2(P<u64>, u64, c_uint);
    cuMemHostGetFlags(P<c_uint>, u64);
    cuMemHostRegister_v2(u64, usize, c_uint);
    cuTensorMapEncodeTiled(
        P<TensorMap>, c_uint, c_uint, u64, *const u64, *const u64, *const c_uint, *const c_uint, c_uint, c_uint, c_uint, c_uint
    );
    cuTensorMapEncodeIm2col(
        P<TensorMap>, c_uint, c_uint, u64, *const u64, *const u64, *const c_int, *const c_int, c_uint, c_uint,
        *const c_uint, c_uint, c_uint, c_uint, c_uint
    );
    cuTensorMapEncodeIm2colWide(
        P<TensorMap>, c_uint, c_uint, u64, *const u64, *const u64, c_int, c_int, c_uint, c_uint, *const c_uint, c_uint, c_uint, c_uint,
        c_uint, c_uint
    );
    cuTensorMapReplaceAddress(P<TensorMap>, u64);
    cuMemHostUnregister(u64);
    cuMemAllocAsync(P<u64>, usize, usize);
    cuMemFreeAsync(u64, usize);
    cuMemAllocFromPoolAsync(P<u64>, usize, usize, usize);
    cuDeviceGetDefaultMemPool(P<usize>, c_int);
    cuMemPoolGetAttribute(usize, c_int, P<u64>);
    cuMemPoolTrimTo(usize, usize);
    cuMemPoolCreate(P<usize>, *const PoolProperties);
    cuMemPoolSetAttribute(usize, c_int, P<u64>);
    cuMemPoolGetAccess(P<c_int>, usize, *const [c_int; 2]);
    cuDeviceGetMemPool(P<usize>, c_int);
    cuDeviceSetMemPool(c_int, usize);
    cuMemAddressReserve(P<u64>, usize, usize, u64, u64);
    cuMemAddressFree(u64, usize);
    cuMemCreate(P<u64>, usize, *const PoolProperties, u64);
    cuMemMap(u64, usize, usize, u64, u64);
    cuMemSetAccess(u64, usize, *const [c_int; 3], usize);
    cuMemUnmap(u64, usize);
    cuMemRelease(u64);
    cuMemPoolDestroy(usize);
    cuMemcpy(u64, u64, usize);
    cuMemcpyAsync(u64, u64, usize, usize);
    cuMemcpyHtoD_v2(u64, *const c_void, usize);
    cuMemcpyHtoDAsync_v2(u64, *const c_void, usize, usize);
    cuMemcpyDtoH_v2(P<c_void>, u64, usize);
    cuMemcpyDtoD_v2(u64, u64, usize);
    cuMemcpy2D_v2(*const Copy2d);
    cuMemcpy3D_v2(*const Copy3d);
    cuMemcpyHtoA_v2(usize, usize, *const c_void, usize);
    cuMemcpyAtoH_v2(P<c_void>, usize, usize, usize);
    cuMemcpyAtoD_v2(u64, usize, usize, usize);
    cuMemcpyDtoA_v2(usize, usize, u64, usize);
    cuMemcpyAtoA_v2(usize, usize, usize, usize, usize);
    cuArrayCreate_v2(P<usize>, *const Flat);
    cuArray3DCreate_v2(P<usize>, *const Deep);
    cuArrayDestroy(usize);
    cuArrayGetDescriptor_v2(P<Flat>, usize);
    cuArray3DGetDescriptor_v2(P<Deep>, usize);
    cuMemsetD8_v2(u64, u8, usize);
    cuMemsetD16_v2(u64, u16, usize);
    cuMemsetD32_v2(u64, c_uint, usize);
    cuMemsetD32Async(u64, c_uint, usize, usize);
    cuMemsetD2D8_v2(u64, usize, u8, usize, usize);
    cuPointerGetAttribute(P<c_void>, c_int, u64);
    cuStreamCreate(P<usize>, c_uint);
    cuStreamCreateWithPriority(P<usize>, c_uint, c_int);
    cuStreamDestroy_v2(usize);
    cuStreamSynchronize(usize);
    cuStreamQuery(usize);
    cuStreamWaitEvent(usize, usize, c_uint);
    cuStreamGetFlags(usize, P<c_uint>);
    cuStreamGetPriority(usize, P<c_int>);
    cuStreamGetCtx(usize, P<usize>);
    cuStreamAddCallback(usize, Option<extern "C" fn(usize, c_int, P<c_void>)>, P<c_void>, c_uint);
    cuStreamAttachMemAsync(usize, u64, usize, c_uint);
    cuStreamIsCapturing(usize, P<c_int>);
    cuEventCreate(P<usize>, c_uint);
    cuEventRecord(usize, usize);
    cuEventQuery(usize);
    cuEventSynchronize(usize);
    cuEventElapsedTime(P<f32>, usize, usize);
    cuEventDestroy_v2(usize);
    cuGraphCreate(P<usize>, c_uint);
    cuGraphDestroy(usize);
    cuGraphAddKernelNode_v2(P<usize>, usize, *const usize, usize, *const KernelNode);
    cuGraphKernelNodeGetParams_v2(usize, P<KernelNode>);
    cuGraphKernelNodeSetAttribute(usize, u32, *const [u32; 16]);
    cuGraphExecKernelNodeSetParams_v2(usize, usize, *const KernelNode);
    cuGraphAddEmptyNode(P<usize>, usize, *const usize, usize);
    cuGraphAddMemsetNode(P<usize>, usize, *const usize, usize, *const FillNode, usize);
    cuGraphAddHostNode(P<usize>, usize, *const usize, usize, *const HostNode);
    cuGraphAddChildGraphNode(P<usize>, usize, *const usize, usize, usize);
    cuMemcpyDtoDAsync_v2(u64, u64, usize, usize);
    cuGraphAddMemAllocNode(P<usize>, usize, *const usize, usize, P<AllocationNode>);
    cuGraphMemAllocNodeGetParams(usize, P<AllocationNode>);
    cuGraphAddMemFreeNode(P<usize>, usize, *const usize, usize, u64);
    cuDeviceGetGraphMemAttribute(c_int, c_int, P<u64>);
    cuDeviceGraphMemTrim(c_int);
    cuTexObjectCreate(P<u64>, *const c_void, *const c_void, *const c_void);
    cuGraphAddDependencies_v2(usize, *const usize, *const usize, *const u64, usize);
    cuGraphRemoveDependencies_v2(usize, *const usize, *const usize, *const u64, usize);
    cuGraphGetNodes(usize, P<usize>, P<usize>);
    cuGraphGetRootNodes(usize, P<usize>, P<usize>);
    cuGraphGetEdges_v2(usize, P<usize>, P<usize>, P<u64>, P<usize>);
    cuGraphNodeGetDependencies_v2(usize, P<usize>, P<u64>, P<usize>);
    cuGraphNodeGetType(usize, P<c_int>);
    cuGraphDestroyNode(usize);
    cuGraphClone(P<usize>, usize);
    cuGraphNodeFindInClone(P<usize>, usize, usize);
    cuGraphInstantiateWithFlags(P<usize>, usize, u64);
    cuGraphLaunch(usize, usize);
    cuGraphExecUpdate_v2(usize, usize, P<UpdateInfo>);
    cuGraphExecDestroy(usize);
    cuGraphDebugDotPrint(usize, Text, c_uint);
    cuStreamBeginCapture_v2(usize, c_int);
    cuStreamEndCapture(usize, P<usize>);
    cuStreamGetCaptureInfo_v2(usize, P<c_int>, P<u64>, P<usize>, P<*const usize>, P<usize>);
    cuThreadExchangeStreamCaptureMode(P<c_int>);
    cuMemcpyDtoHAsync_v2(P<c_void>, u64, usize, usize);
    cuStreamWaitValue32_v2(usize, u64, c_uint, c_uint);
    cuStreamWriteValue32_v2(usize, u64, c_uint, c_uint);
    cuLibraryLoadData(P<usize>, *const c_void, P<c_int>, P<usize>, c_uint, P<c_int>, P<usize>, c_uint);
    cuLibraryUnload(usize);
    cuLibraryGetKernel(P<usize>, usize, Text);
    cuLibraryGetKernelCount(P<c_uint>, usize);
    cuLibraryEnumerateKernels(P<usize>, c_uint, usize);
    cuLibraryGetModule(P<usize>, usize);
    cuLibraryGetGlobal(P<u64>, P<usize>, usize, Text);
    cuKernelGetFunction(P<usize>, usize);
    cuKernelGetLibrary(P<usize>, usize);
    cuKernelGetName(P<Text>, usize);
    cuKernelGetParamInfo(usize, usize, P<usize>, P<usize>);
    cuKernelGetAttribute(P<c_int>, c_int, usize, c_int);
    cuKernelSetAttribute(c_int, c_int, usize, c_int);
    cuModuleEnumerateFunctions(P<usize>, c_uint, usize);
}

/// `CUDA_MEMCPY2D`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Copy2d {
    pub source: Side,
    pub target: Side,
    pub width: usize,
    pub height: usize,
}

/// One side of [`Copy2d`].
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Side {
    pub x: usize,
    pub y: usize,
    pub memory: u32,
    pub host: usize,
    pub device: u64,
    pub array: usize,
    pub pitch: usize,
}

/// `CUDA_MEMCPY3D`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Copy3d {
    pub source: Side3d,
    pub target: Side3d,
    pub width: usize,
    pub height: usize,
    pub depth: usize,
}

/// One side of [`Copy3d`].
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Side3d {
    pub x: usize,
    pub y: usize,
    pub z: usize,
    pub level: usize,
    pub memory: u32,
    pub host: usize,
    pub device: u64,
    pub array: usize,
    pub reserved: usize,
    pub pitch: usize,
    pub height: usize,
}

/// `CUDA_ARRAY_DESCRIPTOR`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Flat {
    pub width: usize,
    pub height: usize,
    pub format: c_int,
    pub channels: c_uint,
}

/// `CUDA_ARRAY3D_DESCRIPTOR`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Deep {
    pub width: usize,
    pub height: usize,
    pub depth: usize,
    pub format: c_int,
    pub channels: c_uint,
    pub flags: c_uint,
}

/// `CUlaunchConfig`.
#[repr(C)]
pub struct LaunchConfig {
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared: c_uint,
    pub stream: usize,
    pub attributes: *const LaunchAttribute,
    pub count: c_uint,
}

/// `CUlaunchAttribute`.
#[repr(C)]
pub struct LaunchAttribute {
    pub id: c_uint,
    pub padding: c_uint,
    pub value: [u64; 8],
}

/// `CUDA_MEM_ALLOC_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AllocationNode {
    pub kind: c_int,
    pub handle_types: c_int,
    pub location: [c_int; 2],
    pub security: usize,
    pub maximum: usize,
    pub usage: [u16; 28],
    pub access: usize,
    pub access_count: usize,
    pub bytes: usize,
    pub pointer: u64,
}

/// `CUDA_KERNEL_NODE_PARAMS_v2`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelNode {
    pub function: usize,
    pub grid: [c_uint; 3],
    pub block: [c_uint; 3],
    pub shared: c_uint,
    pub parameters: *mut *const c_void,
    pub extra: *mut *const c_void,
    pub kernel: usize,
    pub context: usize,
}

/// `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct FillNode {
    pub target: u64,
    pub pitch: usize,
    pub value: c_uint,
    pub element: c_uint,
    pub width: usize,
    pub height: usize,
}

/// `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct HostNode {
    pub function: Option<extern "C" fn(P<c_void>)>,
    pub argument: P<c_void>,
}

/// `CUgraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub struct UpdateInfo {
    pub result: c_int,
    pub node: usize,
    pub from: usize,
}

/// `CUmemPoolProps`, which begins like `CUmemAllocationProp`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct PoolProperties {
    pub kind: c_int,
    pub handle_types: c_int,
    pub location: [c_int; 2],
    pub rest: [u64; 9],
}

/// A `CUtensorMap`.
#[repr(C, align(64))]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TensorMap(pub [u64; 16]);

/// The arguments of `cuTensorMapEncodeTiled`.
#[derive(Debug, Clone, Copy)]
pub struct Tile {
    pub element: c_uint,
    pub rank: c_uint,
    pub address: u64,
    pub sizes: [u64; 5],
    pub strides: [u64; 4],
    pub extent: [c_uint; 5],
    pub steps: [c_uint; 5],
    pub interleave: c_uint,
    pub swizzle: c_uint,
    pub promotion: c_uint,
    pub fill: c_uint,
}

/// Boxes of 32 by 8 floats of a matrix.
pub const TILE: Tile = Tile {
    element: 7,
    rank: 2,
    address: 0x7f00_0000_0000,
    sizes: [64, 48, 8, 4, 2],
    strides: [256, 256 * 48, 256 * 48 * 8, 256 * 48 * 8 * 4],
    extent: [32, 8, 4, 2, 1],
    steps: [1; 5],
    interleave: 0,
    swizzle: 3,
    promotion: 2,
    fill: 0,
};

/// `cuTensorMapEncodeTiled` with these arguments.
pub fn tiled(map: P<TensorMap>, tile: &Tile) -> c_int {
    // SAFETY: the arrays have as many elements as a tensor can have dimensions.
    unsafe {
        cuTensorMapEncodeTiled(
            map,
            tile.element,
            tile.rank,
            tile.address,
            tile.sizes.as_ptr(),
            tile.strides.as_ptr(),
            tile.extent.as_ptr(),
            tile.steps.as_ptr(),
            tile.interleave,
            tile.swizzle,
            tile.promotion,
            tile.fill,
        )
    }
}

/// `cuTensorMapEncodeIm2col` with these arguments, corners that are the same everywhere, and the box's channels.
pub fn columns(map: P<TensorMap>, tile: &Tile, lower: c_int, upper: c_int, pixels: c_uint) -> c_int {
    // SAFETY: as above.
    unsafe {
        cuTensorMapEncodeIm2col(
            map,
            tile.element,
            tile.rank,
            tile.address,
            tile.sizes.as_ptr(),
            tile.strides.as_ptr(),
            [lower; 3].as_ptr(),
            [upper; 3].as_ptr(),
            tile.extent[0],
            pixels,
            tile.steps.as_ptr(),
            tile.interleave,
            tile.swizzle,
            tile.promotion,
            tile.fill,
        )
    }
}

/// `cuTensorMapEncodeIm2colWide` with these arguments, the corners along the width, and the mode.
pub fn along_width(
    map: P<TensorMap>,
    tile: &Tile,
    (lower, upper): (c_int, c_int),
    pixels: c_uint,
    mode: c_uint,
) -> c_int {
    // SAFETY: as above.
    unsafe {
        cuTensorMapEncodeIm2colWide(
            map,
            tile.element,
            tile.rank,
            tile.address,
            tile.sizes.as_ptr(),
            tile.strides.as_ptr(),
            lower,
            upper,
            tile.extent[0],
            pixels,
            tile.steps.as_ptr(),
            tile.interleave,
            mode,
            tile.swizzle,
            tile.promotion,
            tile.fill,
        )
    }
}
