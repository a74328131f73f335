//! A device of the driver, its attributes, and the driver's version.

use super::{Code, answer, stored, sys};

/// A device by the number that the driver gave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Device(sys::CUdevice);

impl Device {
    /// The device of an ordinal (`cuDeviceGet`).
    pub(crate) fn get(ordinal: u32) -> Result<Self, Code> {
        let ordinal = i32::try_from(ordinal).map_err(|_| Code::INVALID_DEVICE)?;
        // SAFETY: the place is valid.
        stored(|device| unsafe { sys::cuDeviceGet(device, ordinal) }).map(Self)
    }

    /// The device of the current context (`cuCtxGetDevice`).
    pub(crate) fn current() -> Result<Self, Code> {
        // SAFETY: the place is valid.
        stored(|device| unsafe { sys::cuCtxGetDevice(device) }).map(Self)
    }

    /// How many devices there are (`cuDeviceGetCount`).
    pub(crate) fn count() -> Result<u32, Code> {
        // SAFETY: the place is valid.
        let count = stored(|count| unsafe { sys::cuDeviceGetCount(count) })?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    pub(crate) fn raw(self) -> sys::CUdevice {
        self.0
    }

    /// The name (`cuDeviceGetName`).
    pub(crate) fn name(self) -> Result<String, Code> {
        let mut name = [0_u8; 256];
        // SAFETY: the buffer has as many bytes as the call is told.
        answer(unsafe { sys::cuDeviceGetName(name.as_mut_ptr().cast(), name.len() as i32, self.0) })?;
        Ok(text(&name))
    }

    /// Bytes of memory (`cuDeviceTotalMem`).
    pub(crate) fn total_memory(self) -> Result<usize, Code> {
        // SAFETY: the place is valid.
        stored(|bytes| unsafe { sys::cuDeviceTotalMem_v2(bytes, self.0) })
    }

    /// An attribute (`cuDeviceGetAttribute`).
    pub(crate) fn attribute(self, attribute: DeviceAttribute) -> Result<i32, Code> {
        // SAFETY: the place is valid.
        stored(|value| unsafe { sys::cuDeviceGetAttribute(value, attribute as i32, self.0) })
    }

    /// Ends the primary context, with all that is in it (`cuDevicePrimaryCtxReset`).
    ///
    /// # Safety
    /// No other thread is using the context, and nothing uses a handle into it afterwards.
    pub(crate) unsafe fn reset(self) -> Result<(), Code> {
        // SAFETY: the caller's promise.
        answer(unsafe { sys::cuDevicePrimaryCtxReset_v2(self.0) })
    }
}

/// The text of a buffer that ends at its first zero.
fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// The version of CUDA that the driver is for, major and minor (`cuDriverGetVersion`).
pub(crate) fn version() -> Result<(u32, u32), Code> {
    // SAFETY: the place is valid.
    let version = stored(|version| unsafe { sys::cuDriverGetVersion(version) })?;
    let version = u32::try_from(version).unwrap_or(0);
    Ok((version / 1000, version % 1000 / 10))
}

macro_rules! attributes {
    ($($name:ident = $number:literal, $symbol:ident;)*) => {
        /// An attribute of a device, by the name of a `CUdevice_attribute` of the CUDA Driver API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        #[repr(i32)]
        pub enum DeviceAttribute {
            $(#[doc = concat!("`", stringify!($symbol), "`.")] $name = $number,)*
        }
    };
}

attributes! {
    MaxThreadsPerBlock = 1, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
    MaxBlockDimX = 2, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X;
    MaxBlockDimY = 3, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y;
    MaxBlockDimZ = 4, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z;
    MaxGridDimX = 5, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X;
    MaxGridDimY = 6, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y;
    MaxGridDimZ = 7, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z;
    MaxSharedMemoryPerBlock = 8, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK;
    TotalConstantMemory = 9, CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY;
    WarpSize = 10, CU_DEVICE_ATTRIBUTE_WARP_SIZE;
    MaxPitch = 11, CU_DEVICE_ATTRIBUTE_MAX_PITCH;
    MaxRegistersPerBlock = 12, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK;
    ClockRate = 13, CU_DEVICE_ATTRIBUTE_CLOCK_RATE;
    TextureAlignment = 14, CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT;
    GpuOverlap = 15, CU_DEVICE_ATTRIBUTE_GPU_OVERLAP;
    MultiprocessorCount = 16, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
    KernelExecTimeout = 17, CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT;
    Integrated = 18, CU_DEVICE_ATTRIBUTE_INTEGRATED;
    CanMapHostMemory = 19, CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY;
    ComputeMode = 20, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE;
    MaximumTexture1DWidth = 21, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH;
    MaximumTexture2DWidth = 22, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH;
    MaximumTexture2DHeight = 23, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT;
    MaximumTexture3DWidth = 24, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH;
    MaximumTexture3DHeight = 25, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT;
    MaximumTexture3DDepth = 26, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH;
    MaximumTexture2DLayeredWidth = 27, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH;
    MaximumTexture2DLayeredHeight = 28, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT;
    MaximumTexture2DLayeredLayers = 29, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS;
    SurfaceAlignment = 30, CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT;
    ConcurrentKernels = 31, CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS;
    EccEnabled = 32, CU_DEVICE_ATTRIBUTE_ECC_ENABLED;
    PciBusId = 33, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID;
    PciDeviceId = 34, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID;
    TccDriver = 35, CU_DEVICE_ATTRIBUTE_TCC_DRIVER;
    MemoryClockRate = 36, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE;
    GlobalMemoryBusWidth = 37, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH;
    L2CacheSize = 38, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE;
    MaxThreadsPerMultiprocessor = 39, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR;
    AsyncEngineCount = 40, CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT;
    UnifiedAddressing = 41, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING;
    MaximumTexture1DLayeredWidth = 42, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH;
    MaximumTexture1DLayeredLayers = 43, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS;
    MaximumTexture2DGatherWidth = 45, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH;
    MaximumTexture2DGatherHeight = 46, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT;
    MaximumTexture3DWidthAlternate = 47, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE;
    MaximumTexture3DHeightAlternate = 48, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE;
    MaximumTexture3DDepthAlternate = 49, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE;
    PciDomainId = 50, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID;
    TexturePitchAlignment = 51, CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT;
    MaximumTextureCubemapWidth = 52, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH;
    MaximumTextureCubemapLayeredWidth = 53, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH;
    MaximumTextureCubemapLayeredLayers = 54, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS;
    MaximumSurface1DWidth = 55, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH;
    MaximumSurface2DWidth = 56, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH;
    MaximumSurface2DHeight = 57, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT;
    MaximumSurface3DWidth = 58, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH;
    MaximumSurface3DHeight = 59, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT;
    MaximumSurface3DDepth = 60, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH;
    MaximumSurface1DLayeredWidth = 61, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_WIDTH;
    MaximumSurface1DLayeredLayers = 62, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_LAYERED_LAYERS;
    MaximumSurface2DLayeredWidth = 63, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_WIDTH;
    MaximumSurface2DLayeredHeight = 64, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_HEIGHT;
    MaximumSurface2DLayeredLayers = 65, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_LAYERED_LAYERS;
    MaximumSurfacecubemapWidth = 66, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_WIDTH;
    MaximumSurfacecubemapLayeredWidth = 67, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH;
    MaximumSurfacecubemapLayeredLayers = 68, CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS;
    MaximumTexture1DLinearWidth = 69, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH;
    MaximumTexture2DLinearWidth = 70, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH;
    MaximumTexture2DLinearHeight = 71, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT;
    MaximumTexture2DLinearPitch = 72, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH;
    MaximumTexture2DMipmappedWidth = 73, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH;
    MaximumTexture2DMipmappedHeight = 74, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT;
    ComputeCapabilityMajor = 75, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;
    ComputeCapabilityMinor = 76, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR;
    MaximumTexture1DMipmappedWidth = 77, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH;
    StreamPrioritiesSupported = 78, CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED;
    GlobalL1CacheSupported = 79, CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED;
    LocalL1CacheSupported = 80, CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED;
    MaxSharedMemoryPerMultiprocessor = 81, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR;
    MaxRegistersPerMultiprocessor = 82, CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR;
    ManagedMemory = 83, CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY;
    MultiGpuBoard = 84, CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD;
    MultiGpuBoardGroupId = 85, CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID;
    HostNativeAtomicSupported = 86, CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED;
    SingleToDoublePrecisionPerfRatio = 87, CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO;
    PageableMemoryAccess = 88, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS;
    ConcurrentManagedAccess = 89, CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS;
    ComputePreemptionSupported = 90, CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED;
    CanUseHostPointerForRegisteredMem = 91, CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM;
    CanUseStreamMemOps = 92, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS;
    CooperativeLaunch = 95, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH;
    MaxSharedMemoryPerBlockOptin = 97, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN;
    HostRegisterSupported = 99, CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED;
    MaxBlocksPerMultiprocessor = 106, CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR;
    MaxPersistingL2CacheSize = 108, CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE;
    ReservedSharedMemoryPerBlock = 111, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK;
    MemoryPoolsSupported = 115, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
    ClusterLaunch = 120, CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH;
}

#[cfg(test)]
mod tests {
    use super::text;

    #[test]
    fn names_end_at_the_first_zero() {
        assert_eq!(text(b"device\0rest"), "device");
        assert_eq!(text(b"device"), "device");
        assert_eq!(text(b""), "");
    }
}
