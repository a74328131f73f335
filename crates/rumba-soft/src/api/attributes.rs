//! The values of `cuDeviceGetAttribute`, as a list.
//!
//! Limits are those of an H200, whose instruction set the software device has; features that it does not
//! serve are 0. `device` has those of older generations, which a software device can have as well.

use rumba_vm::limits;

/// Value of the attribute `index + 1`.
pub(crate) const ATTRIBUTES: [i32; 147] = {
    let (mut values, mut rest) = (VALUES, LIMITS);
    while let [(number, limit), others @ ..] = rest {
        values[*number - 1] = *limit as i32;
        rest = others;
    }
    values
};

/// The limits of the machine, by the numbers of their attributes.
const LIMITS: &[(usize, u32)] = &[
    (1, limits::THREADS_PER_BLOCK),
    (2, limits::BLOCK[0]),
    (3, limits::BLOCK[1]),
    (4, limits::BLOCK[2]),
    (5, limits::GRID[0]),
    (6, limits::GRID[1]),
    (7, limits::GRID[2]),
    (10, limits::WARP),
    (12, limits::REGISTERS_PER_MULTIPROCESSOR),
    (82, limits::REGISTERS_PER_MULTIPROCESSOR),
];

/// The values of the others, with the number and the name after `CU_DEVICE_ATTRIBUTE_`.
const VALUES: [i32; 147] = [
    0,          // 1 MAX_THREADS_PER_BLOCK (a limit)
    0,          // 2 MAX_BLOCK_DIM_X (a limit)
    0,          // 3 MAX_BLOCK_DIM_Y (a limit)
    0,          // 4 MAX_BLOCK_DIM_Z (a limit)
    0,          // 5 MAX_GRID_DIM_X (a limit)
    0,          // 6 MAX_GRID_DIM_Y (a limit)
    0,          // 7 MAX_GRID_DIM_Z (a limit)
    49152,      // 8 MAX_SHARED_MEMORY_PER_BLOCK
    65536,      // 9 TOTAL_CONSTANT_MEMORY
    0,          // 10 WARP_SIZE (a limit)
    2147483647, // 11 MAX_PITCH
    0,          // 12 MAX_REGISTERS_PER_BLOCK (a limit)
    1000000,    // 13 CLOCK_RATE
    512,        // 14 TEXTURE_ALIGNMENT
    0,          // 15 GPU_OVERLAP
    0,          // 16 MULTIPROCESSOR_COUNT (the machine knows)
    0,          // 17 KERNEL_EXEC_TIMEOUT
    0,          // 18 INTEGRATED
    1,          // 19 CAN_MAP_HOST_MEMORY
    0,          // 20 COMPUTE_MODE
    131072,     // 21 MAXIMUM_TEXTURE1D_WIDTH
    131072,     // 22 MAXIMUM_TEXTURE2D_WIDTH
    65536,      // 23 MAXIMUM_TEXTURE2D_HEIGHT
    16384,      // 24 MAXIMUM_TEXTURE3D_WIDTH
    16384,      // 25 MAXIMUM_TEXTURE3D_HEIGHT
    16384,      // 26 MAXIMUM_TEXTURE3D_DEPTH
    32768,      // 27 MAXIMUM_TEXTURE2D_LAYERED_WIDTH
    32768,      // 28 MAXIMUM_TEXTURE2D_LAYERED_HEIGHT
    2048,       // 29 MAXIMUM_TEXTURE2D_LAYERED_LAYERS
    512,        // 30 SURFACE_ALIGNMENT
    1,          // 31 CONCURRENT_KERNELS
    0,          // 32 ECC_ENABLED
    0,          // 33 PCI_BUS_ID
    0,          // 34 PCI_DEVICE_ID
    0,          // 35 TCC_DRIVER
    1000000,    // 36 MEMORY_CLOCK_RATE
    6016,       // 37 GLOBAL_MEMORY_BUS_WIDTH
    62914560,   // 38 L2_CACHE_SIZE
    0,          // 39 MAX_THREADS_PER_MULTIPROCESSOR (the generation's)
    1,          // 40 ASYNC_ENGINE_COUNT
    1,          // 41 UNIFIED_ADDRESSING
    32768,      // 42 MAXIMUM_TEXTURE1D_LAYERED_WIDTH
    2048,       // 43 MAXIMUM_TEXTURE1D_LAYERED_LAYERS
    1,          // 44 CAN_TEX2D_GATHER
    32768,      // 45 MAXIMUM_TEXTURE2D_GATHER_WIDTH
    32768,      // 46 MAXIMUM_TEXTURE2D_GATHER_HEIGHT
    8192,       // 47 MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE
    8192,       // 48 MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE
    32768,      // 49 MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE
    0,          // 50 PCI_DOMAIN_ID
    32,         // 51 TEXTURE_PITCH_ALIGNMENT
    32768,      // 52 MAXIMUM_TEXTURECUBEMAP_WIDTH
    32768,      // 53 MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH
    2046,       // 54 MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS
    32768,      // 55 MAXIMUM_SURFACE1D_WIDTH
    131072,     // 56 MAXIMUM_SURFACE2D_WIDTH
    65536,      // 57 MAXIMUM_SURFACE2D_HEIGHT
    16384,      // 58 MAXIMUM_SURFACE3D_WIDTH
    16384,      // 59 MAXIMUM_SURFACE3D_HEIGHT
    16384,      // 60 MAXIMUM_SURFACE3D_DEPTH
    32768,      // 61 MAXIMUM_SURFACE1D_LAYERED_WIDTH
    2048,       // 62 MAXIMUM_SURFACE1D_LAYERED_LAYERS
    32768,      // 63 MAXIMUM_SURFACE2D_LAYERED_WIDTH
    32768,      // 64 MAXIMUM_SURFACE2D_LAYERED_HEIGHT
    2048,       // 65 MAXIMUM_SURFACE2D_LAYERED_LAYERS
    32768,      // 66 MAXIMUM_SURFACECUBEMAP_WIDTH
    32768,      // 67 MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH
    2046,       // 68 MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS
    268435456,  // 69 MAXIMUM_TEXTURE1D_LINEAR_WIDTH
    131072,     // 70 MAXIMUM_TEXTURE2D_LINEAR_WIDTH
    65000,      // 71 MAXIMUM_TEXTURE2D_LINEAR_HEIGHT
    2097120,    // 72 MAXIMUM_TEXTURE2D_LINEAR_PITCH
    32768,      // 73 MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH
    32768,      // 74 MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT
    9,          // 75 COMPUTE_CAPABILITY_MAJOR
    0,          // 76 COMPUTE_CAPABILITY_MINOR
    32768,      // 77 MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH
    1,          // 78 STREAM_PRIORITIES_SUPPORTED
    1,          // 79 GLOBAL_L1_CACHE_SUPPORTED
    1,          // 80 LOCAL_L1_CACHE_SUPPORTED
    0,          // 81 MAX_SHARED_MEMORY_PER_MULTIPROCESSOR (the generation's)
    0,          // 82 MAX_REGISTERS_PER_MULTIPROCESSOR (a limit)
    1,          // 83 MANAGED_MEMORY
    0,          // 84 MULTI_GPU_BOARD
    0,          // 85 MULTI_GPU_BOARD_GROUP_ID
    0,          // 86 HOST_NATIVE_ATOMIC_SUPPORTED
    2,          // 87 SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO
    0,          // 88 PAGEABLE_MEMORY_ACCESS
    1,          // 89 CONCURRENT_MANAGED_ACCESS
    1,          // 90 COMPUTE_PREEMPTION_SUPPORTED
    1,          // 91 CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
    0,          // 92 CAN_USE_STREAM_MEM_OPS_V1
    0,          // 93 CAN_USE_64_BIT_STREAM_MEM_OPS_V1
    0,          // 94 CAN_USE_STREAM_WAIT_VALUE_NOR_V1
    1,          // 95 COOPERATIVE_LAUNCH
    0,          // 96 COOPERATIVE_MULTI_DEVICE_LAUNCH
    0,          // 97 MAX_SHARED_MEMORY_PER_BLOCK_OPTIN (the generation's)
    0,          // 98 CAN_FLUSH_REMOTE_WRITES
    0,          // 99 HOST_REGISTER_SUPPORTED
    0,          // 100 PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES
    0,          // 101 DIRECT_MANAGED_MEM_ACCESS_FROM_HOST
    0,          // 102 VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED
    0,          // 103 HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
    0,          // 104 HANDLE_TYPE_WIN32_HANDLE_SUPPORTED
    0,          // 105 HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED
    0,          // 106 MAX_BLOCKS_PER_MULTIPROCESSOR (the generation's)
    0,          // 107 GENERIC_COMPRESSION_SUPPORTED
    0,          // 108 MAX_PERSISTING_L2_CACHE_SIZE
    0,          // 109 MAX_ACCESS_POLICY_WINDOW_SIZE
    0,          // 110 GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED
    0,          // 111 RESERVED_SHARED_MEMORY_PER_BLOCK (the generation's)
    0,          // 112 SPARSE_CUDA_ARRAY_SUPPORTED
    0,          // 113 READ_ONLY_HOST_REGISTER_SUPPORTED
    0,          // 114 TIMELINE_SEMAPHORE_INTEROP_SUPPORTED
    1,          // 115 MEMORY_POOLS_SUPPORTED
    0,          // 116 GPU_DIRECT_RDMA_SUPPORTED
    0,          // 117 GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS
    0,          // 118 GPU_DIRECT_RDMA_WRITES_ORDERING
    0,          // 119 MEMPOOL_SUPPORTED_HANDLE_TYPES
    1,          // 120 CLUSTER_LAUNCH
    0,          // 121 DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED
    0,          // 122 CAN_USE_64_BIT_STREAM_MEM_OPS
    0,          // 123 CAN_USE_STREAM_WAIT_VALUE_NOR
    0,          // 124 DMA_BUF_SUPPORTED
    0,          // 125 IPC_EVENT_SUPPORTED
    0,          // 126 MEM_SYNC_DOMAIN_COUNT
    1,          // 127 TENSOR_MAP_ACCESS_SUPPORTED
    0,          // 128 HANDLE_TYPE_FABRIC_SUPPORTED
    0,          // 129 UNIFIED_FUNCTION_POINTERS
    0,          // 130 NUMA_CONFIG
    -1,         // 131 NUMA_ID
    0,          // 132 MULTICAST_SUPPORTED
    0,          // 133 MPS_ENABLED
    0,          // 134 HOST_NUMA_ID
    0,          // 135 D3D12_CIG_SUPPORTED
    0,          // 136 MEM_DECOMPRESS_ALGORITHM_MASK
    0,          // 137 MEM_DECOMPRESS_MAXIMUM_LENGTH
    0,          // 138 VULKAN_CIG_SUPPORTED
    0,          // 139 GPU_PCI_DEVICE_ID
    0,          // 140 GPU_PCI_SUBSYSTEM_ID
    0,          // 141 HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    0,          // 142 HOST_NUMA_MEMORY_POOLS_SUPPORTED
    0,          // 143 HOST_NUMA_MULTINODE_IPC_SUPPORTED
    0,          // 144 HOST_MEMORY_POOLS_SUPPORTED
    0,          // 145 HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED
    0,          // 146 HOST_ALLOC_DMA_BUF_SUPPORTED
    0,          // 147 ONLY_PARTIAL_HOST_NATIVE_ATOMIC_SUPPORTED
];
