//! The types, constants and functions of cuda.h that the runtime uses, by their names there ("CUDA Driver API").
//!
//! `rumba-driver` defines the functions. Enumerations are numbers with constants: a newer driver may give a value that is not in
//! the list, which a Rust enumeration must never hold.
#![expect(non_camel_case_types, reason = "these are NVIDIA's names")]

use rumba_driver as _;
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

macro_rules! handles {
    ($($name:ident = $of:ident;)*) => {
        $(
            #[repr(C)]
            pub(crate) struct $of {
                _opaque: [u8; 0],
            }
            pub(crate) type $name = *mut $of;
        )*
    };
}

handles! {
    CUcontext = CUctx_st;
    CUevent = CUevent_st;
    CUfunction = CUfunc_st;
    CUgraph = CUgraph_st;
    CUgraphExec = CUgraphExec_st;
    CUgraphNode = CUgraphNode_st;
    CUlinkState = CUlinkState_st;
    CUmemoryPool = CUmemPoolHandle_st;
    CUmodule = CUmod_st;
    CUstream = CUstream_st;
}

pub(crate) type CUdevice = c_int;
pub(crate) type CUdeviceptr = u64;
pub(crate) type CUhostFn = Option<unsafe extern "C" fn(*mut c_void)>;
pub(crate) type CUstreamCallback = Option<unsafe extern "C" fn(CUstream, CUresult, *mut c_void)>;

macro_rules! enumerations {
    ($($name:ident { $($value:ident = $number:literal,)* })*) => {
        $(
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            #[repr(transparent)]
            pub(crate) struct $name(pub(crate) c_uint);

            impl $name {
                $(pub(crate) const $value: Self = Self($number);)*
            }
        )*
    };
}

enumerations! {
    CUresult {
        CUDA_SUCCESS = 0,
        CUDA_ERROR_INVALID_VALUE = 1,
        CUDA_ERROR_OUT_OF_MEMORY = 2,
        CUDA_ERROR_INVALID_DEVICE = 101,
        CUDA_ERROR_INVALID_IMAGE = 200,
        CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
        CUDA_ERROR_ECC_UNCORRECTABLE = 214,
        CUDA_ERROR_INVALID_PTX = 218,
        CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
        CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
        CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
        CUDA_ERROR_JIT_COMPILATION_DISABLED = 223,
        CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC = 226,
        CUDA_ERROR_INVALID_SOURCE = 300,
        CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND = 302,
        CUDA_ERROR_SHARED_OBJECT_INIT_FAILED = 303,
        CUDA_ERROR_NOT_FOUND = 500,
        CUDA_ERROR_NOT_READY = 600,
        CUDA_ERROR_ILLEGAL_ADDRESS = 700,
        CUDA_ERROR_LAUNCH_TIMEOUT = 702,
        CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
        CUDA_ERROR_ASSERT = 710,
        CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
        CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
        CUDA_ERROR_MISALIGNED_ADDRESS = 716,
        CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
        CUDA_ERROR_INVALID_PC = 718,
        CUDA_ERROR_LAUNCH_FAILED = 719,
        CUDA_ERROR_NOT_SUPPORTED = 801,
        CUDA_ERROR_UNKNOWN = 999,
    }
    CUjitInputType {
        CU_JIT_INPUT_PTX = 1,
    }
    CUjit_option {
        CU_JIT_ERROR_LOG_BUFFER = 5,
        CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
    }
    CUmemAllocationHandleType {
        CU_MEM_HANDLE_TYPE_NONE = 0,
    }
    CUmemAllocationType {
        CU_MEM_ALLOCATION_TYPE_PINNED = 1,
    }
    CUmemLocationType {
        CU_MEM_LOCATION_TYPE_DEVICE = 1,
    }
    CUmemPool_attribute {
        CU_MEMPOOL_ATTR_RELEASE_THRESHOLD = 4,
        CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT = 5,
        CU_MEMPOOL_ATTR_USED_MEM_CURRENT = 7,
    }
    CUstreamCaptureStatus {
        CU_STREAM_CAPTURE_STATUS_NONE = 0,
    }
}

pub(crate) const CU_EVENT_DISABLE_TIMING: c_uint = 2;
pub(crate) const CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;
pub(crate) const CU_MEMHOSTALLOC_PORTABLE: c_uint = 1;
pub(crate) const CU_MEMHOSTALLOC_DEVICEMAP: c_uint = 2;
pub(crate) const CU_MEM_ATTACH_GLOBAL: c_uint = 1;
pub(crate) const CU_POINTER_ATTRIBUTE_CONTEXT: c_int = 1;
#[cfg(feature = "python")]
pub(crate) const CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: c_int = 9;
pub(crate) const CU_STREAM_NON_BLOCKING: c_uint = 1;

#[derive(Default)]
#[repr(C)]
pub(crate) struct CUuuid {
    pub(crate) bytes: [u8; 16],
}

/// The value of a launch's attribute, as numbers.
#[repr(C)]
pub(crate) struct CUlaunchAttributeValue([u64; 8]);

impl CUlaunchAttributeValue {
    /// That of an attribute that holds.
    pub(crate) const TRUE: Self = Self([1, 0, 0, 0, 0, 0, 0, 0]);
}

/// A handle of device memory for other processes.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub(crate) struct CUipcMemHandle {
    pub(crate) reserved: [u8; 64],
}

#[expect(non_snake_case, reason = "these are NVIDIA's names")]
#[repr(C)]
pub(crate) struct CUDA_KERNEL_NODE_PARAMS {
    pub(crate) func: CUfunction,
    pub(crate) gridDimX: c_uint,
    pub(crate) gridDimY: c_uint,
    pub(crate) gridDimZ: c_uint,
    pub(crate) blockDimX: c_uint,
    pub(crate) blockDimY: c_uint,
    pub(crate) blockDimZ: c_uint,
    pub(crate) sharedMemBytes: c_uint,
    pub(crate) kernelParams: *mut *mut c_void,
    pub(crate) extra: *mut *mut c_void,
}

#[repr(C)]
pub(crate) struct CUmemLocation {
    pub(crate) type_: CUmemLocationType,
    pub(crate) id: c_int,
}

#[expect(non_snake_case, reason = "these are NVIDIA's names")]
#[repr(C)]
pub(crate) struct CUmemPoolProps {
    pub(crate) allocType: CUmemAllocationType,
    pub(crate) handleTypes: CUmemAllocationHandleType,
    pub(crate) location: CUmemLocation,
    pub(crate) win32SecurityAttributes: *mut c_void,
    pub(crate) reserved: [c_uchar; 64],
}

unsafe extern "C" {
    pub(crate) fn cuInit(flags: c_uint) -> CUresult;
    pub(crate) fn cuDriverGetVersion(driver_version: *mut c_int) -> CUresult;
    pub(crate) fn cuDeviceGet(device: *mut CUdevice, ordinal: c_int) -> CUresult;
    pub(crate) fn cuDeviceGetCount(count: *mut c_int) -> CUresult;
    pub(crate) fn cuDeviceGetName(name: *mut c_char, len: c_int, device: CUdevice) -> CUresult;
    pub(crate) fn cuDeviceTotalMem_v2(bytes: *mut usize, device: CUdevice) -> CUresult;
    pub(crate) fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: CUdevice) -> CUresult;
    pub(crate) fn cuDeviceGetUuid(uuid: *mut CUuuid, device: CUdevice) -> CUresult;
    pub(crate) fn cuDeviceGetPCIBusId(pci_bus_id: *mut c_char, len: c_int, device: CUdevice) -> CUresult;
    pub(crate) fn cuDeviceGetByPCIBusId(device: *mut CUdevice, pci_bus_id: *const c_char) -> CUresult;
    pub(crate) fn cuDeviceCanAccessPeer(can_access_peer: *mut c_int, device: CUdevice, peer_dev: CUdevice) -> CUresult;
    pub(crate) fn cuDevicePrimaryCtxRetain(context: *mut CUcontext, device: CUdevice) -> CUresult;
    pub(crate) fn cuDevicePrimaryCtxRelease_v2(device: CUdevice) -> CUresult;
    pub(crate) fn cuDevicePrimaryCtxReset_v2(device: CUdevice) -> CUresult;
    pub(crate) fn cuCtxSetCurrent(context: CUcontext) -> CUresult;
    pub(crate) fn cuCtxGetCurrent(context: *mut CUcontext) -> CUresult;
    pub(crate) fn cuCtxGetDevice(device: *mut CUdevice) -> CUresult;
    pub(crate) fn cuCtxSynchronize() -> CUresult;
    pub(crate) fn cuCtxGetStreamPriorityRange(least_priority: *mut c_int, greatest_priority: *mut c_int) -> CUresult;
    pub(crate) fn cuCtxEnablePeerAccess(peer_context: CUcontext, flags: c_uint) -> CUresult;
    pub(crate) fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) -> CUresult;
    pub(crate) fn cuMemAlloc_v2(address: *mut CUdeviceptr, bytes: usize) -> CUresult;
    pub(crate) fn cuMemFree_v2(address: CUdeviceptr) -> CUresult;
    pub(crate) fn cuIpcGetMemHandle(handle: *mut CUipcMemHandle, address: CUdeviceptr) -> CUresult;
    pub(crate) fn cuIpcOpenMemHandle_v2(address: *mut CUdeviceptr, handle: CUipcMemHandle, flags: c_uint) -> CUresult;
    pub(crate) fn cuIpcCloseMemHandle(address: CUdeviceptr) -> CUresult;
    pub(crate) fn cuMemcpyHtoD_v2(destination: CUdeviceptr, source: *const c_void, bytes: usize) -> CUresult;
    pub(crate) fn cuMemcpyDtoH_v2(destination: *mut c_void, source: CUdeviceptr, bytes: usize) -> CUresult;
    pub(crate) fn cuMemcpyDtoDAsync_v2(
        destination: CUdeviceptr,
        source: CUdeviceptr,
        bytes: usize,
        stream: CUstream,
    ) -> CUresult;
    pub(crate) fn cuMemcpyHtoDAsync_v2(
        destination: CUdeviceptr,
        source: *const c_void,
        bytes: usize,
        stream: CUstream,
    ) -> CUresult;
    pub(crate) fn cuMemcpyDtoHAsync_v2(
        destination: *mut c_void,
        source: CUdeviceptr,
        bytes: usize,
        stream: CUstream,
    ) -> CUresult;
    pub(crate) fn cuMemcpyPeerAsync(
        destination: CUdeviceptr,
        destination_context: CUcontext,
        source: CUdeviceptr,
        source_context: CUcontext,
        bytes: usize,
        stream: CUstream,
    ) -> CUresult;
    pub(crate) fn cuMemsetD8_v2(destination: CUdeviceptr, value: c_uchar, count: usize) -> CUresult;
    pub(crate) fn cuStreamCreate(stream: *mut CUstream, flags: c_uint) -> CUresult;
    pub(crate) fn cuStreamCreateWithPriority(stream: *mut CUstream, flags: c_uint, priority: c_int) -> CUresult;
    pub(crate) fn cuStreamGetPriority(stream: CUstream, priority: *mut c_int) -> CUresult;
    pub(crate) fn cuStreamQuery(stream: CUstream) -> CUresult;
    pub(crate) fn cuStreamIsCapturing(stream: CUstream, capture_status: *mut CUstreamCaptureStatus) -> CUresult;
    pub(crate) fn cuStreamAddCallback(
        stream: CUstream,
        callback: CUstreamCallback,
        user_data: *mut c_void,
        flags: c_uint,
    ) -> CUresult;
    pub(crate) fn cuStreamSynchronize(stream: CUstream) -> CUresult;
    pub(crate) fn cuStreamDestroy_v2(stream: CUstream) -> CUresult;
    pub(crate) fn cuStreamWaitEvent(stream: CUstream, event: CUevent, flags: c_uint) -> CUresult;
    pub(crate) fn cuEventCreate(event: *mut CUevent, flags: c_uint) -> CUresult;
    pub(crate) fn cuEventRecord(event: CUevent, stream: CUstream) -> CUresult;
    pub(crate) fn cuEventQuery(event: CUevent) -> CUresult;
    pub(crate) fn cuEventSynchronize(event: CUevent) -> CUresult;
    pub(crate) fn cuEventDestroy_v2(event: CUevent) -> CUresult;
    pub(crate) fn cuEventElapsedTime(milliseconds: *mut f32, start: CUevent, end: CUevent) -> CUresult;
    pub(crate) fn cuModuleLoadDataEx(
        module: *mut CUmodule,
        image: *const c_void,
        num_options: c_uint,
        options: *mut CUjit_option,
        option_values: *mut *mut c_void,
    ) -> CUresult;
    pub(crate) fn cuModuleGetFunction(function: *mut CUfunction, module: CUmodule, name: *const c_char) -> CUresult;
    pub(crate) fn cuModuleGetGlobal_v2(
        address: *mut CUdeviceptr,
        bytes: *mut usize,
        module: CUmodule,
        name: *const c_char,
    ) -> CUresult;
    pub(crate) fn cuModuleUnload(module: CUmodule) -> CUresult;
    pub(crate) fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: CUfunction) -> CUresult;
    pub(crate) fn cuFuncSetAttribute(function: CUfunction, attribute: c_int, value: c_int) -> CUresult;
    pub(crate) fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        num_blocks: *mut c_int,
        func: CUfunction,
        block_size: c_int,
        dynamic_smem_size: usize,
    ) -> CUresult;
    pub(crate) fn cuLaunchKernel(
        function: CUfunction,
        grid_dim_x: c_uint,
        grid_dim_y: c_uint,
        grid_dim_z: c_uint,
        block_dim_x: c_uint,
        block_dim_y: c_uint,
        block_dim_z: c_uint,
        shared_mem_bytes: c_uint,
        stream: CUstream,
        kernel_params: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) -> CUresult;
    pub(crate) fn cuLaunchCooperativeKernel(
        function: CUfunction,
        grid_dim_x: c_uint,
        grid_dim_y: c_uint,
        grid_dim_z: c_uint,
        block_dim_x: c_uint,
        block_dim_y: c_uint,
        block_dim_z: c_uint,
        shared_mem_bytes: c_uint,
        stream: CUstream,
        kernel_params: *mut *mut c_void,
    ) -> CUresult;
    pub(crate) fn cuLaunchHostFunc(stream: CUstream, function: CUhostFn, user_data: *mut c_void) -> CUresult;
    pub(crate) fn cuProfilerStart() -> CUresult;
    pub(crate) fn cuProfilerStop() -> CUresult;
    pub(crate) fn cuMemPoolTrimTo(pool: CUmemoryPool, min_bytes_to_keep: usize) -> CUresult;
    pub(crate) fn cuMemPoolSetAttribute(
        pool: CUmemoryPool,
        attribute: CUmemPool_attribute,
        value: *mut c_void,
    ) -> CUresult;
    pub(crate) fn cuMemPoolGetAttribute(
        pool: CUmemoryPool,
        attribute: CUmemPool_attribute,
        value: *mut c_void,
    ) -> CUresult;
    pub(crate) fn cuMemPoolDestroy(pool: CUmemoryPool) -> CUresult;
    pub(crate) fn cuMemPoolCreate(pool: *mut CUmemoryPool, pool_props: *const CUmemPoolProps) -> CUresult;
    pub(crate) fn cuMemHostUnregister(memory: *mut c_void) -> CUresult;
    pub(crate) fn cuMemHostRegister_v2(memory: *mut c_void, bytes: usize, flags: c_uint) -> CUresult;
    pub(crate) fn cuStreamWriteValue32_v2(
        stream: CUstream,
        address: CUdeviceptr,
        value: c_uint,
        flags: c_uint,
    ) -> CUresult;
    pub(crate) fn cuMemHostAlloc(memory: *mut *mut c_void, bytes: usize, flags: c_uint) -> CUresult;
    pub(crate) fn cuMemFreeHost(memory: *mut c_void) -> CUresult;
    pub(crate) fn cuMemHostGetDevicePointer_v2(
        address: *mut CUdeviceptr,
        memory: *mut c_void,
        flags: c_uint,
    ) -> CUresult;
    pub(crate) fn cuMemFreeAsync(address: CUdeviceptr, stream: CUstream) -> CUresult;
    pub(crate) fn cuMemAllocManaged(address: *mut CUdeviceptr, bytes: usize, flags: c_uint) -> CUresult;
    pub(crate) fn cuMemAllocHost_v2(memory: *mut *mut c_void, bytes: usize) -> CUresult;
    pub(crate) fn cuMemAllocFromPoolAsync(
        address: *mut CUdeviceptr,
        bytes: usize,
        pool: CUmemoryPool,
        stream: CUstream,
    ) -> CUresult;
    pub(crate) fn cuLinkDestroy(state: CUlinkState) -> CUresult;
    pub(crate) fn cuLinkCreate_v2(
        num_options: c_uint,
        options: *mut CUjit_option,
        option_values: *mut *mut c_void,
        state_out: *mut CUlinkState,
    ) -> CUresult;
    pub(crate) fn cuLinkComplete(state: CUlinkState, cubin_out: *mut *mut c_void, size_out: *mut usize) -> CUresult;
    pub(crate) fn cuLinkAddData_v2(
        state: CUlinkState,
        ty: CUjitInputType,
        data: *mut c_void,
        size: usize,
        name: *const c_char,
        num_options: c_uint,
        options: *mut CUjit_option,
        option_values: *mut *mut c_void,
    ) -> CUresult;
    pub(crate) fn cuGraphLaunch(graph_exec: CUgraphExec, stream: CUstream) -> CUresult;
    pub(crate) fn cuGraphInstantiateWithFlags(
        graph_exec: *mut CUgraphExec,
        graph: CUgraph,
        flags: c_ulonglong,
    ) -> CUresult;
    pub(crate) fn cuGraphExecKernelNodeSetParams(
        graph_exec: CUgraphExec,
        node: CUgraphNode,
        node_params: *const CUDA_KERNEL_NODE_PARAMS,
    ) -> CUresult;
    pub(crate) fn cuGraphExecDestroy(graph_exec: CUgraphExec) -> CUresult;
    pub(crate) fn cuGraphDestroy(graph: CUgraph) -> CUresult;
    pub(crate) fn cuGraphCreate(graph: *mut CUgraph, flags: c_uint) -> CUresult;
    pub(crate) fn cuGraphKernelNodeSetAttribute(
        node: CUgraphNode,
        attribute: c_uint,
        value: *const CUlaunchAttributeValue,
    ) -> CUresult;
    pub(crate) fn cuGraphAddKernelNode(
        graph_node: *mut CUgraphNode,
        graph: CUgraph,
        dependencies: *const CUgraphNode,
        num_dependencies: usize,
        node_params: *const CUDA_KERNEL_NODE_PARAMS,
    ) -> CUresult;
    #[cfg(test)]
    pub(crate) fn cuGraphGetEdges(
        graph: CUgraph,
        from: *mut CUgraphNode,
        to: *mut CUgraphNode,
        num_edges: *mut usize,
    ) -> CUresult;
    pub(crate) fn cuGraphAddDependencies(
        graph: CUgraph,
        from: *const CUgraphNode,
        to: *const CUgraphNode,
        num_dependencies: usize,
    ) -> CUresult;
    #[cfg(feature = "cust")]
    pub(crate) fn cuStreamGetCtx(stream: CUstream, context: *mut CUcontext) -> CUresult;
    #[cfg(feature = "cust")]
    pub(crate) fn cuStreamGetFlags(stream: CUstream, flags: *mut c_uint) -> CUresult;
    pub(crate) fn cuPointerGetAttribute(data: *mut c_void, attribute: c_int, address: CUdeviceptr) -> CUresult;
    pub(crate) fn cuGetErrorString(error: CUresult, text: *mut *const c_char) -> CUresult;
    pub(crate) fn cuGetErrorName(error: CUresult, text: *mut *const c_char) -> CUresult;
}
