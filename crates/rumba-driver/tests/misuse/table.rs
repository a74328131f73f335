//! The table. A row: what is wrong in words, the call, the code that it answers. `w` is the world that the row finds.
//!
//! Some rows succeed, where one could expect that they do not.

use std::ptr::{null, null_mut};

use crate::abi::*;
use crate::world::{self, BYTES, KERNELS, UNIT, World, half_mapped, launch, launch_attribute, launch_with, load};
use crate::world::{cuDeviceGetByPCIBusId, cuDeviceGetPCIBusId, cuStreamWaitValue64_v2};
use crate::{Case, Setting};

/// No function, stream, event, context or other object.
const NONE: usize = 0;

macro_rules! codes {
    ($($name:ident = $code:literal;)*) => {
        $(const $name: i32 = $code;)*
    };
}

codes! {
    SUCCESS = 0;
    INVALID_VALUE = 1;
    OUT_OF_MEMORY = 2;
    INVALID_DEVICE = 101;
    INVALID_IMAGE = 200;
    INVALID_CONTEXT = 201;
    UNSUPPORTED_LIMIT = 215;
    PEER_ACCESS_UNSUPPORTED = 217;
    INVALID_PTX = 218;
    UNSUPPORTED_PTX_VERSION = 222;
    FILE_NOT_FOUND = 301;
    INVALID_HANDLE = 400;
    ILLEGAL_STATE = 401;
    NOT_FOUND = 500;
    LAUNCH_OUT_OF_RESOURCES = 701;
    PEER_ACCESS_NOT_ENABLED = 705;
    CONTEXT_IS_DESTROYED = 709;
    HOST_MEMORY_ALREADY_REGISTERED = 712;
    HOST_MEMORY_NOT_REGISTERED = 713;
    LAUNCH_FAILED = 719;
    COOPERATIVE_LAUNCH_TOO_LARGE = 720;
    NOT_SUPPORTED = 801;
    STREAM_CAPTURE_UNSUPPORTED = 900;
    STREAM_CAPTURE_INVALIDATED = 901;
    STREAM_CAPTURE_ISOLATION = 905;
    CAPTURED_EVENT = 907;
    INVALID_CLUSTER_SIZE = 912;
}

macro_rules! settings {
    ($($name:ident: $make:path, $prepare:expr, |$w:ident| {
        $($words:literal $call:ident($($argument:expr),* $(,)?) => $code:ident;)*
    })*) => {
        pub const SETTINGS: &[Setting] = &[$(Setting {
            name: stringify!($name),
            make: $make,
            prepare: $prepare,
            cases: &[$(Case {
                call: stringify!($call),
                words: $words,
                expected: (stringify!($code), $code),
                #[allow(unused_unsafe, reason = "some rows call a function of the world, which is safe")]
                #[allow(unused_variables, reason = "some rows need nothing of the world")]
                // SAFETY: the call is declared as in cuda.h; pointers lead to what the world owns, or are such as the
                // driver has to recognise.
                run: |$w| unsafe { $call($($argument),*) },
            },)*],
        },)*];
    };
}

settings! {
    no_context: world::bare, |_| (), |w| {
        "no context is current"         cuCtxSynchronize() => INVALID_CONTEXT;
        "no context is current"         cuCtxGetDevice(&mut w.number) => INVALID_CONTEXT;
        "no context is current"         cuCtxPopCurrent_v2(&mut w.handle) => INVALID_CONTEXT;
        "no context is current"         cuCtxGetLimit(&mut w.bytes, 0) => INVALID_CONTEXT;
        "of none"                        cuCtxDestroy_v2(NONE) => INVALID_VALUE;
        "of none"                        cuCtxPushCurrent_v2(NONE) => INVALID_VALUE;
        "in none"                        cuMemAlloc_v2(&mut w.address, 4) => INVALID_CONTEXT;
        "in none, for nowhere"           cuMemAlloc_v2(null_mut(), 4) => INVALID_CONTEXT;
        "in none"                        cuMemAllocManaged(&mut w.address, 4, 1) => INVALID_CONTEXT;
        "in none"                        cuMemAllocHost_v2(&mut w.address, 4) => INVALID_CONTEXT;
        "in none"                        cuMemAllocAsync(&mut w.address, 4, NONE) => INVALID_CONTEXT;
        "in none"                        cuMemGetInfo_v2(&mut w.bytes, null_mut()) => INVALID_CONTEXT;
        "an address of none"             cuMemFree_v2(4096) => INVALID_VALUE;
        "in none"                        cuMemcpyHtoD_v2(4096, w.host.as_ptr().cast(), 4) => INVALID_CONTEXT;
        "in none"                        cuMemsetD8_v2(4096, 0, 4) => INVALID_CONTEXT;
        "in none"                        cuMemHostRegister_v2(w.host.as_ptr() as u64, 4096, 0) => INVALID_CONTEXT;
        "in none"                        cuModuleLoadData(&mut w.handle, KERNELS.as_ptr().cast()) => INVALID_CONTEXT;
        "in none"                        cuLinkCreate_v2(0, null_mut(), null_mut(), &mut w.handle) => INVALID_CONTEXT;
        "in none"                        cuStreamCreate(&mut w.handle, 0) => INVALID_CONTEXT;
        "in none"                        cuStreamQuery(NONE) => INVALID_CONTEXT;
        "in none"                        cuEventCreate(&mut w.handle, 0) => INVALID_CONTEXT;
        "in none"                        cuArrayCreate_v2(&mut w.handle, &Flat { width: 1, height: 0, format: 1, channels: 1 }) => INVALID_CONTEXT;
        "in none"                        launch(NONE, [1; 3], [1; 3], 0) => INVALID_CONTEXT;
        "never retained"                 cuDevicePrimaryCtxRelease_v2(0) => INVALID_CONTEXT;
    }

    working_context: world::working, |_| (), |w| {
        "an ordinal too high"            cuDeviceGet(&mut w.number, 99) => INVALID_DEVICE;
        "a negative ordinal"             cuDeviceGet(&mut w.number, -1) => INVALID_DEVICE;
        "into nowhere"                   cuDeviceGet(null_mut(), 0) => INVALID_VALUE;
        "into nowhere"                   cuDeviceGetCount(null_mut()) => INVALID_VALUE;
        "into nowhere"                   cuDeviceGetName(null_mut(), 10, 0) => INVALID_VALUE;
        "of no device"                   cuDeviceGetName(w.text.as_mut_ptr(), 64, 9) => INVALID_DEVICE;
        "of no device"                   cuDeviceTotalMem_v2(&mut w.bytes, 9) => INVALID_DEVICE;
        "number 0"                       cuDeviceGetAttribute(&mut w.number, 0, 0) => INVALID_VALUE;
        "a number too high"              cuDeviceGetAttribute(&mut w.number, 9999, 0) => INVALID_VALUE;
        "of no device"                   cuDeviceGetAttribute(&mut w.number, 1, 9) => INVALID_DEVICE;
        "of no device"                   cuDeviceComputeCapability(&mut w.number, &mut w.time.to_bits().cast_signed(), 9) => INVALID_DEVICE;
        "of no device"                   cuDeviceCanAccessPeer(&mut w.number, 0, 9) => INVALID_DEVICE;
        "of no device"                   cuDeviceGetPCIBusId(w.text.as_mut_ptr(), 64, 9) => INVALID_DEVICE;
        "a text that is none"            cuDeviceGetByPCIBusId(&mut w.number, c"nonsense".as_ptr()) => INVALID_VALUE;
        "a bus without a device"         cuDeviceGetByPCIBusId(&mut w.number, c"ffff:ff:1f.0".as_ptr()) => INVALID_DEVICE;
        "a number that is no code"       cuGetErrorName(35, &mut w.text.as_ptr()) => INVALID_VALUE;
        "unknown flags"                  cuGetProcAddress_v2(c"cuInit".as_ptr(), &mut null_mut(), 12_000, 77, null_mut()) => INVALID_VALUE;

        "of no device"                   cuDevicePrimaryCtxRetain(&mut w.handle, 9) => INVALID_DEVICE;
        "into nowhere"                   cuDevicePrimaryCtxRetain(null_mut(), 0) => INVALID_VALUE;
        "unknown flags"                  cuDevicePrimaryCtxSetFlags_v2(0, 0xffff) => INVALID_VALUE;
        "unknown flags"                  cuCtxCreate_v2(&mut w.handle, 0xffff, 0) => INVALID_VALUE;
        "on no device"                   cuCtxCreate_v2(&mut w.handle, 0, 9) => INVALID_DEVICE;
        "into nowhere"                   cuCtxCreate_v2(null_mut(), 0, 0) => INVALID_VALUE;
        "the primary context"            cuCtxDestroy_v2(w.context) => INVALID_CONTEXT;
        "an unknown limit"               cuCtxGetLimit(&mut w.bytes, 99) => INVALID_VALUE;
        "a limit that the device lacks"  cuCtxGetLimit(&mut w.bytes, 3) => UNSUPPORTED_LIMIT;
        "an unknown limit"               cuCtxSetLimit(99, 1) => INVALID_VALUE;
        "stacks of 1 GiB"                cuCtxSetLimit(0, 1 << 30) => INVALID_VALUE;
        "an unknown preference"          cuCtxSetCacheConfig(9) => INVALID_VALUE;
        "an unknown width of banks"      cuCtxSetSharedMemConfig(9) => INVALID_VALUE;
        "a context of the same device"   cuCtxEnablePeerAccess(w.other_context, 0) => PEER_ACCESS_UNSUPPORTED;
        "flags, which there are none of" cuCtxEnablePeerAccess(w.other_context, 1) => INVALID_VALUE;
        "that was not enabled"           cuCtxDisablePeerAccess(w.other_context) => PEER_ACCESS_NOT_ENABLED;

        "no bytes"                       cuMemAlloc_v2(&mut w.address, 0) => INVALID_VALUE;
        "into nowhere"                   cuMemAlloc_v2(null_mut(), 4) => INVALID_VALUE;
        "all addresses"                  cuMemAlloc_v2(&mut w.address, usize::MAX) => OUT_OF_MEMORY;
        "256 TiB"                        cuMemAlloc_v2(&mut w.address, 1 << 48) => OUT_OF_MEMORY;
        "elements of 3 bytes"            cuMemAllocPitch_v2(&mut w.address, &mut w.bytes, 100, 4, 3) => INVALID_VALUE;
        "rows of no bytes"               cuMemAllocPitch_v2(&mut w.address, &mut w.bytes, 0, 4, 4) => INVALID_VALUE;
        "no bytes"                       cuMemAllocManaged(&mut w.address, 0, 1) => INVALID_VALUE;
        "attached to no one"             cuMemAllocManaged(&mut w.address, 64, 0) => INVALID_VALUE;
        "attached to all and the host"   cuMemAllocManaged(&mut w.address, 64, 3) => INVALID_VALUE;
        "the middle of an allocation"    cuMemFree_v2(w.device + 4) => INVALID_VALUE;
        "an unallocated address"         cuMemFree_v2(12_345) => INVALID_VALUE;
        "page-locked memory"             cuMemFree_v2(w.pinned) => INVALID_VALUE;
        "freed already"                  cuMemFree_v2({ cuMemAlloc_v2(&mut w.address, 64); cuMemFree_v2(w.address); w.address }) => INVALID_VALUE;
        "an unallocated address"         cuMemGetAddressRange_v2(&mut w.address, &mut w.bytes, 16) => NOT_FOUND;
        "behind an allocation"           cuMemGetAddressRange_v2(&mut w.address, &mut w.bytes, w.device + BYTES as u64) => NOT_FOUND;
        "into nowhere"                   cuMemAllocHost_v2(null_mut(), 4) => INVALID_VALUE;
        "unknown flags"                  cuMemHostAlloc(&mut w.address, 64, 0xff) => INVALID_VALUE;
        "device memory"                  cuMemFreeHost(w.device) => INVALID_VALUE;
        "the middle of an allocation"    cuMemFreeHost(w.pinned + 4) => INVALID_VALUE;
        "memory of the host's own"       cuMemFreeHost(w.host.as_ptr() as u64) => INVALID_VALUE;
        "unknown flags"                  cuMemHostGetDevicePointer_v2(&mut w.address, w.pinned, 1) => INVALID_VALUE;
        "memory of the host's own"       cuMemHostGetDevicePointer_v2(&mut w.address, w.host.as_ptr() as u64, 0) => INVALID_VALUE;
        "memory of the host's own"       cuMemHostGetFlags(&mut w.word, w.host.as_ptr() as u64) => INVALID_VALUE;
        "at no address"                  cuMemHostRegister_v2(0, 10, 0) => INVALID_VALUE;
        "no bytes"                       cuMemHostRegister_v2(w.host.as_ptr() as u64, 0, 0) => INVALID_VALUE;
        "unknown flags"                  cuMemHostRegister_v2(w.host.as_ptr() as u64, 100, 0x40) => INVALID_VALUE;
        "page-locked memory"             cuMemHostRegister_v2(w.pinned, 64, 0) => INVALID_VALUE;
        "where nothing is mapped"        cuMemHostRegister_v2(4096, 4096, 0) => INVALID_VALUE;
        "of which a part is mapped"      cuMemHostRegister_v2(half_mapped(4096), 8192, 0) => INVALID_VALUE;
        "large, of which a part is mapped" cuMemHostRegister_v2(half_mapped(1 << 30), 2 << 30, 0) => INVALID_VALUE;
        "more than any machine has"      cuMemHostRegister_v2(w.host.as_ptr() as u64, 1 << 46, 0) => OUT_OF_MEMORY;
        "behind the last address"        cuMemHostRegister_v2(u64::MAX - 4095, 8192, 0) => INVALID_VALUE;
        "registered already"             cuMemHostRegister_v2({ cuMemHostRegister_v2(w.host.as_ptr() as u64, 8192, 0); w.host.as_ptr() as u64 }, 8192, 0) => HOST_MEMORY_ALREADY_REGISTERED;
        "the middle of what is registered" cuMemHostUnregister(w.host.as_ptr() as u64 + 64) => INVALID_VALUE;
        "registered no more"             cuMemHostUnregister({ cuMemHostUnregister(w.host.as_ptr() as u64); w.host.as_ptr() as u64 }) => HOST_MEMORY_NOT_REGISTERED;
        "at no address"                  cuMemHostUnregister(0) => INVALID_VALUE;
        "never registered"               cuMemHostUnregister(w.host.as_ptr() as u64) => HOST_MEMORY_NOT_REGISTERED;

        "one byte too many"              cuMemcpyHtoD_v2(w.device, w.host.as_ptr().cast(), BYTES + 1) => INVALID_VALUE;
        "from nowhere"                   cuMemcpyHtoD_v2(w.device, null(), 4) => INVALID_VALUE;
        "to nowhere"                     cuMemcpyHtoD_v2(0, w.host.as_ptr().cast(), 4) => INVALID_VALUE;
        "to nowhere"                     cuMemcpyDtoH_v2(null_mut(), w.device, 4) => INVALID_VALUE;
        "from nowhere"                   cuMemcpyDtoH_v2(w.host.as_mut_ptr().cast(), 0, 4) => INVALID_VALUE;
        "one byte too many"              cuMemcpyDtoH_v2(w.host.as_mut_ptr().cast(), w.device, BYTES + 1) => INVALID_VALUE;
        "more than there is behind"      cuMemcpyDtoD_v2(w.device, w.device + 4000, 500) => INVALID_VALUE;
        "to memory of the host's own"    cuMemcpyDtoD_v2(w.host.as_ptr() as u64, w.device, 4) => INVALID_VALUE;
        "one byte too many"              cuMemcpyHtoDAsync_v2(w.device, w.host.as_ptr().cast(), BYTES + 1, w.stream) => INVALID_VALUE;
        "one byte too many"              cuMemsetD8_v2(w.device, 1, BYTES + 1) => INVALID_VALUE;
        "an odd address"                 cuMemsetD16_v2(w.device + 1, 1, 1) => INVALID_VALUE;
        "an address not of words"        cuMemsetD32_v2(w.device + 2, 1, 1) => INVALID_VALUE;
        "at no address"                  cuMemsetD8_v2(0, 1, 1) => INVALID_VALUE;
        "an address not of words"        cuMemsetD32Async(w.device + 1, 1, 1, w.stream) => INVALID_VALUE;
        "rows wider than their distance" cuMemsetD2D8_v2(w.device, 4, 1, 5, 10) => INVALID_VALUE;
        "no description"                 cuMemcpy2D_v2(null()) => INVALID_VALUE;
        "rows wider than their distance" cuMemcpy2D_v2(&rows(w, 33, 4)) => INVALID_VALUE;
        "more rows than there are"       cuMemcpy2D_v2(&rows(w, 32, 1000)) => INVALID_VALUE;
        "an unknown kind of memory"      cuMemcpy2D_v2(&Copy2d { source: Side { memory: 9, ..rows(w, 8, 1).source }, ..rows(w, 8, 1) }) => INVALID_VALUE;
        "no description"                 cuMemcpy3D_v2(null()) => INVALID_VALUE;
        "an unknown kind of memory"      cuMemcpy3D_v2(&Copy3d { width: 1, height: 1, depth: 1, ..Copy3d::default() }) => INVALID_VALUE;

        "of no dimensions"               tiled(&mut w.map, &Tile { rank: 0, ..TILE }) => INVALID_VALUE;
        "of six dimensions"              tiled(&mut w.map, &Tile { rank: 6, ..TILE }) => INVALID_VALUE;
        "an unknown type"                tiled(&mut w.map, &Tile { element: 16, ..TILE }) => INVALID_VALUE;
        "at no address"                  tiled(&mut w.map, &Tile { address: 0, ..TILE }) => SUCCESS;
        "an address not of 16 bytes"     tiled(&mut w.map, &Tile { address: TILE.address + 8, ..TILE }) => INVALID_VALUE;
        "a dimension of no elements"     tiled(&mut w.map, &Tile { sizes: [64, 0, 1, 1, 1], ..TILE }) => INVALID_VALUE;
        "a dimension of 2^32 + 1"        tiled(&mut w.map, &Tile { sizes: [64, (1 << 32) + 1, 1, 1, 1], ..TILE }) => INVALID_VALUE;
        "rows not of 16 bytes"           tiled(&mut w.map, &Tile { strides: [264, 0, 0, 0], ..TILE }) => INVALID_VALUE;
        "rows of 2^40 bytes"             tiled(&mut w.map, &Tile { strides: [1 << 40, 0, 0, 0], ..TILE }) => INVALID_VALUE;
        "a box of no elements"           tiled(&mut w.map, &Tile { extent: [32, 0, 1, 1, 1], ..TILE }) => INVALID_VALUE;
        "a box of 257 rows"              tiled(&mut w.map, &Tile { extent: [32, 257, 1, 1, 1], ..TILE }) => INVALID_VALUE;
        "a box with rows of 8 bytes"     tiled(&mut w.map, &Tile { extent: [2, 8, 1, 1, 1], ..TILE }) => INVALID_VALUE;
        "wider than it is swizzled"      tiled(&mut w.map, &Tile { swizzle: 2, ..TILE }) => INVALID_VALUE;
        "an unknown swizzle"             tiled(&mut w.map, &Tile { swizzle: 7, ..TILE }) => INVALID_VALUE;
        "every 0th element"              tiled(&mut w.map, &Tile { steps: [1, 0, 1, 1, 1], ..TILE }) => INVALID_VALUE;
        "every 9th element"              tiled(&mut w.map, &Tile { steps: [1, 9, 1, 1, 1], ..TILE }) => INVALID_VALUE;
        "an unknown interleave"          tiled(&mut w.map, &Tile { interleave: 3, ..TILE }) => INVALID_VALUE;
        "interleaved in two dimensions"  tiled(&mut w.map, &Tile { interleave: 1, swizzle: 0, ..TILE }) => INVALID_VALUE;
        "an unknown promotion"           tiled(&mut w.map, &Tile { promotion: 4, ..TILE }) => INVALID_VALUE;
        "an unknown fill"                tiled(&mut w.map, &Tile { fill: 2, ..TILE }) => INVALID_VALUE;
        "NaN for integers"               tiled(&mut w.map, &Tile { element: 2, fill: 1, ..TILE }) => INVALID_VALUE;
        "a box of 256 rows"              tiled(&mut w.map, &Tile { extent: [32, 256, 1, 1, 1], ..TILE }) => SUCCESS;
        "NaN for floats"                 tiled(&mut w.map, &Tile { fill: 1, ..TILE }) => SUCCESS;
        "columns in two dimensions"      columns(&mut w.map, &TILE, -1, -1, 32) => INVALID_VALUE;
        "a corner beyond 8 bits"         columns(&mut w.map, &Tile { rank: 4, ..TILE }, -1, 128, 32) => INVALID_VALUE;
        "columns of no pixels"           columns(&mut w.map, &Tile { rank: 4, ..TILE }, -1, -1, 0) => INVALID_VALUE;
        "columns of 1025 pixels"         columns(&mut w.map, &Tile { rank: 4, ..TILE }, -1, -1, 1025) => INVALID_VALUE;
        "pixels of 257 channels"         columns(&mut w.map, &Tile { rank: 4, swizzle: 0, extent: [257, 1, 1, 1, 1], ..TILE }, -1, -1, 32) => INVALID_VALUE;
        "an address not of 16 bytes"     cuTensorMapReplaceAddress({ tiled(&mut w.map, &TILE); &mut w.map }, TILE.address + 8) => INVALID_VALUE;

        "memory that is not managed"     cuMemPrefetchAsync(w.device, 64, 0, NONE) => INVALID_VALUE;
        "memory that is not managed"     cuMemAdvise(w.device, 64, 1, 0) => INVALID_VALUE;
        "unknown advice"                 cuMemAdvise(w.managed, 64, 99, 0) => INVALID_VALUE;
        "memory that is not managed"     cuStreamAttachMemAsync(w.stream, w.device, 0, 1) => INVALID_VALUE;
        "into nowhere"                   cuPointerGetAttribute(null_mut(), 1, w.device) => INVALID_VALUE;
        "an unknown attribute"           cuPointerGetAttribute((&raw mut w.wide).cast(), 99, w.device) => INVALID_VALUE;
        "memory of the host's own"       cuPointerGetAttribute((&raw mut w.wide).cast(), 1, w.host.as_ptr() as u64) => INVALID_VALUE;
        "not seen by the host"           cuPointerGetAttribute((&raw mut w.wide).cast(), 4, w.device) => INVALID_VALUE;

        "more than there is"             cuMemAllocAsync(&mut w.address, 1 << 50, NONE) => OUT_OF_MEMORY;
        "freed already"                  cuMemFreeAsync({ cuMemAllocAsync(&mut w.address, 64, NONE); cuMemFreeAsync(w.address, NONE); w.address }, NONE) => INVALID_VALUE;
        "the device's own pool"          cuMemPoolDestroy({ cuDeviceGetDefaultMemPool(&mut w.handle, 0); w.handle }) => INVALID_VALUE;
        "no properties"                  cuMemPoolCreate(&mut w.handle, null()) => INVALID_VALUE;
        "an unknown kind of memory"      cuMemPoolCreate(&mut w.handle, &PoolProperties { kind: 9, location: [1, 0], ..PoolProperties::default() }) => INVALID_VALUE;
        "on no device"                   cuMemPoolCreate(&mut w.handle, &PoolProperties { kind: 1, location: [1, 9], ..PoolProperties::default() }) => INVALID_VALUE;
        "an unknown attribute"           cuMemPoolGetAttribute(w.pool, 99, &mut w.wide) => INVALID_VALUE;
        "an attribute to be read only"   cuMemPoolSetAttribute(w.pool, 5, &mut 1) => INVALID_VALUE;
        "a mark set to a number"         cuMemPoolSetAttribute(w.pool, 6, &mut 1) => INVALID_VALUE;

        "a size not of whole units"      cuMemAddressReserve(&mut w.address, 4096, 0, 0, 0) => INVALID_VALUE;
        "into nowhere"                   cuMemAddressReserve(null_mut(), UNIT, 0, 0, 0) => INVALID_VALUE;
        "unknown flags"                  cuMemAddressReserve(&mut w.address, UNIT, 0, 0, 1) => INVALID_VALUE;
        "a size not of whole units"      cuMemCreate(&mut w.wide, 4096, &PoolProperties { kind: 1, location: [1, 0], ..PoolProperties::default() }, 0) => INVALID_VALUE;
        "no properties"                  cuMemCreate(&mut w.wide, UNIT, null(), 0) => INVALID_VALUE;
        "on no device"                   cuMemCreate(&mut w.wide, UNIT, &PoolProperties { kind: 1, location: [1, 9], ..PoolProperties::default() }, 0) => INVALID_DEVICE;
        "unallocated addresses"          cuMemMap(UNIT as u64, UNIT, 0, w.physical, 0) => INVALID_VALUE;
        "an offset"                      cuMemMap(w.reserved, UNIT, 4096, w.physical, 0) => NOT_SUPPORTED;
        "more than the memory has"       cuMemMap(w.reserved, 2 * UNIT, 0, w.physical, 0) => NOT_SUPPORTED;
        "what is not mapped"             cuMemSetAccess(w.reserved, UNIT, &[1, 0, 3], 1) => INVALID_VALUE;
        "what is not mapped"             cuMemUnmap(w.reserved, UNIT) => SUCCESS;
        "what is not mapped"             cuMemcpyHtoD_v2(w.reserved, w.host.as_ptr().cast(), 64) => INVALID_VALUE;
        "what is not mapped"             cuMemsetD8_v2(w.reserved, 0, 64) => INVALID_VALUE;
        "what is not mapped"             cuStreamWriteValue32_v2(w.stream, w.reserved, 1, 0) => INVALID_VALUE;
        "what is not mapped"             cuStreamWaitValue32_v2(w.stream, w.reserved, 1, 0) => INVALID_VALUE;
        "half of a reservation"          cuMemAddressFree(w.reserved, UNIT / 2) => INVALID_VALUE;
        "what was not reserved"          cuMemAddressFree(w.device & !(UNIT as u64 - 1), UNIT) => INVALID_VALUE;

        "a name that the module lacks"   cuModuleGetFunction(&mut w.handle, w.module, c"nope".as_ptr()) => NOT_FOUND;
        "an empty name"                  cuModuleGetFunction(&mut w.handle, w.module, c"".as_ptr()) => INVALID_VALUE;
        "no name"                        cuModuleGetFunction(&mut w.handle, w.module, null()) => INVALID_VALUE;
        "of no module"                   cuModuleGetFunction(&mut w.handle, NONE, c"nothing".as_ptr()) => INVALID_HANDLE;
        "a name that the module lacks"   cuModuleGetGlobal_v2(&mut w.address, &mut w.bytes, w.module, c"nope".as_ptr()) => NOT_FOUND;
        "the name of a kernel"           cuModuleGetGlobal_v2(&mut w.address, &mut w.bytes, w.module, c"nothing".as_ptr()) => INVALID_VALUE;
        "a file that there is not"       cuModuleLoad(&mut w.handle, c"/nonexistent".as_ptr()) => FILE_NOT_FOUND;
        "no image"                       cuModuleLoadData(&mut w.handle, null()) => INVALID_VALUE;
        "an empty text"                  load(c"") => INVALID_IMAGE;
        "a text that is no PTX"          load(c"hello") => INVALID_IMAGE;
        "PTX of a version to come"       load(c".version 99.0\n.target sm_90\n.address_size 64\n") => UNSUPPORTED_PTX_VERSION;
        "PTX for a device to come"       load(c".version 8.0\n.target sm_999\n.address_size 64\n") => INVALID_PTX;
        "PTX that ends early"            load(c".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(") => INVALID_PTX;
        "PTX with an unknown name"       load(c".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(){ .reg .b64 %r; mov.u64 %r, nowhere; ret; }") => INVALID_PTX;
        "PTX with two kernels of a name" load(c".version 8.0\n.target sm_90\n.address_size 64\n.entry k(){ ret; }\n.entry k(){ ret; }\n") => INVALID_PTX;
        "an undefined function"          load(c".version 8.0\n.target sm_90\n.address_size 64\n.extern .func f();\n.entry k(){ call f; ret; }\n") => INVALID_PTX;
        "an unknown option"              cuModuleLoadDataEx(&mut w.handle, KERNELS.as_ptr().cast(), 1, &mut 9999, &mut 0) => INVALID_VALUE;
        "options that are not there"     cuModuleLoadDataEx(&mut w.handle, KERNELS.as_ptr().cast(), 1, null_mut(), null_mut()) => INVALID_VALUE;
        "of none"                        cuModuleUnload(NONE) => INVALID_HANDLE;
        "an unknown kind of input"       cuLinkAddData_v2(w.link, 99, KERNELS.as_ptr().cast_mut().cast(), KERNELS.len(), null(), 0, null_mut(), null_mut()) => INVALID_VALUE;
        "no input"                       cuLinkAddData_v2(w.link, 1, null_mut(), 5, null(), 0, null_mut(), null_mut()) => INVALID_VALUE;
        "a text that is no PTX"          cuLinkAddData_v2(w.link, 1, c"junk".as_ptr().cast_mut().cast(), 5, null(), 0, null_mut(), null_mut()) => INVALID_IMAGE;
        "a file that there is not"       cuLinkAddFile_v2(w.link, 1, c"/nonexistent".as_ptr(), 0, null_mut(), null_mut()) => FILE_NOT_FOUND;
        "of none"                        cuLinkDestroy(NONE) => INVALID_HANDLE;
        "a name that the library lacks"  cuLibraryGetKernel(&mut w.handle, w.library, c"nope".as_ptr()) => NOT_FOUND;
        "a name that the library lacks"  cuLibraryGetGlobal(&mut w.address, &mut w.bytes, w.library, c"nope".as_ptr()) => NOT_FOUND;

        "an unknown attribute"           cuFuncGetAttribute(&mut w.number, 99, w.nothing) => INVALID_VALUE;
        "into nowhere"                   cuFuncGetAttribute(null_mut(), 0, w.nothing) => INVALID_VALUE;
        "of none"                        cuFuncGetAttribute(&mut w.number, 0, NONE) => INVALID_HANDLE;
        "an attribute to be read only"   cuFuncSetAttribute(w.nothing, 0, 1) => INVALID_VALUE;
        "more shared memory than there is" cuFuncSetAttribute(w.nothing, 8, 300_000) => INVALID_VALUE;
        "negative shared memory"         cuFuncSetAttribute(w.nothing, 8, -1) => INVALID_VALUE;
        "a share above 100 %"            cuFuncSetAttribute(w.nothing, 9, 101) => INVALID_VALUE;
        "an unknown preference"          cuFuncSetCacheConfig(w.nothing, 9) => INVALID_VALUE;
        "a parameter too many"           cuFuncGetParamInfo(w.store, 1, &mut w.bytes, &mut w.handle) => INVALID_VALUE;

        "of none"                        launch(NONE, [1; 3], [1; 3], 0) => INVALID_HANDLE;
        "an empty grid"                  launch(w.nothing, [0, 1, 1], [1; 3], 0) => INVALID_VALUE;
        "an empty block"                 launch(w.nothing, [1; 3], [1, 0, 1], 0) => INVALID_VALUE;
        "a block too wide"               launch(w.nothing, [1; 3], [1025, 1, 1], 0) => INVALID_VALUE;
        "a block too deep"               launch(w.nothing, [1; 3], [1, 1, 65], 0) => INVALID_VALUE;
        "2048 threads"                   launch(w.nothing, [1; 3], [64, 32, 1], 0) => INVALID_VALUE;
        "a grid too wide"                launch(w.nothing, [0x8000_0000, 1, 1], [1; 3], 0) => INVALID_VALUE;
        "a grid too high"                launch(w.nothing, [1, 65_536, 1], [1; 3], 0) => INVALID_VALUE;
        "shared memory that was not asked for" launch(w.nothing, [1; 3], [1; 3], 48 * 1024 + 1) => INVALID_VALUE;
        "more threads than .maxntid"     launch(w.at_most_64, [1; 3], [65, 1, 1], 0) => INVALID_VALUE;
        "other threads than .reqntid"    launch(w.exactly_32, [1; 3], [16, 1, 1], 0) => INVALID_VALUE;
        "more threads than .reqntid"     launch(w.exactly_32, [1; 3], [64, 1, 1], 0) => INVALID_VALUE;
        "a function of another context"  launch(w.foreign_function, [1; 3], [1; 3], 0) => INVALID_HANDLE;
        "no parameters"                  launch_with(w.store, null_mut(), null_mut()) => INVALID_VALUE;
        "parameters in both forms"       launch_with(w.store, parameters(w), extra(w, 1, 8)) => INVALID_VALUE;
        "extra with an unknown key"      launch_with(w.store, null_mut(), extra(w, 9, 8)) => INVALID_VALUE;
        "extra that is empty"            launch_with(w.store, null_mut(), extra(w, 0, 8)) => INVALID_VALUE;
        "extra with too many bytes"      launch_with(w.store, null_mut(), extra(w, 1, 16)) => LAUNCH_OUT_OF_RESOURCES;
        "extra with no bytes"            launch_with(w.store, null_mut(), extra(w, 1, 0)) => INVALID_VALUE;
        "a million blocks at once"       cuLaunchCooperativeKernel(w.nothing, 1_000_000, 1, 1, 32, 1, 1, 0, NONE, null_mut()) => COOPERATIVE_LAUNCH_TOO_LARGE;
        "a grid that no clusters fill"   launch_attribute(w.nothing, 4, CLUSTER, [3, 1, 1]) => INVALID_CLUSTER_SIZE;
        "a cluster of no blocks"         launch_attribute(w.nothing, 4, CLUSTER, [0, 1, 1]) => INVALID_CLUSTER_SIZE;
        "a cluster of 16 blocks"         launch_attribute(w.nothing, 16, CLUSTER, [16, 1, 1]) => INVALID_CLUSTER_SIZE;
        "a cluster of 32 blocks"         launch_attribute(w.nothing, 32, CLUSTER, [32, 1, 1]) => INVALID_CLUSTER_SIZE;
        "other clusters than the kernel's" launch_attribute(w.pairs, 4, CLUSTER, [4, 1, 1]) => INVALID_CLUSTER_SIZE;
        "a grid that its clusters do not fill" launch(w.pairs, [3, 1, 1], [32, 1, 1], 0) => INVALID_CLUSTER_SIZE;
        "an unknown attribute"           launch_attribute(w.nothing, 1, 999, [1; 3]) => INVALID_VALUE;
        "no function"                    cuLaunchHostFunc(w.stream, None, null_mut()) => INVALID_VALUE;
        "no function"                    cuStreamAddCallback(w.stream, None, null_mut(), 0) => INVALID_VALUE;
        "blocks of no threads"           cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut w.number, w.nothing, 0, 0) => INVALID_VALUE;
        "into nowhere"                   cuOccupancyMaxActiveBlocksPerMultiprocessor(null_mut(), w.nothing, 32, 0) => INVALID_VALUE;
        "of none"                        cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut w.number, NONE, 32, 0) => INVALID_HANDLE;
        "more blocks than fit"           cuOccupancyAvailableDynamicSMemPerBlock(&mut w.bytes, w.nothing, 99, 128) => INVALID_VALUE;

        "unknown flags"                  cuStreamCreate(&mut w.handle, 8) => INVALID_VALUE;
        "into nowhere"                   cuStreamCreate(null_mut(), 0) => INVALID_VALUE;
        "of none"                        cuStreamDestroy_v2(NONE) => INVALID_HANDLE;
        "the default stream"             cuStreamDestroy_v2(1) => INVALID_HANDLE;
        "for no event"                   cuStreamWaitEvent(w.stream, NONE, 0) => INVALID_HANDLE;
        "unknown flags"                  cuStreamWaitEvent(w.stream, w.event, 9) => INVALID_VALUE;
        "into nowhere"                   cuStreamGetFlags(w.stream, null_mut()) => INVALID_VALUE;
        "an unallocated address"         cuStreamWaitValue32_v2(w.stream, 16, 1, 0) => INVALID_VALUE;
        "an address not of words"        cuStreamWriteValue32_v2(w.stream, w.device + 2, 1, 0) => INVALID_VALUE;
        "an address not of wide words"   cuStreamWaitValue64_v2(w.stream, w.device + 4, 0, 0) => INVALID_VALUE;
        "unknown flags"                  cuEventCreate(&mut w.handle, 0xff) => INVALID_VALUE;
        "timed, for other processes"     cuEventCreate(&mut w.handle, 4) => INVALID_VALUE;
        "of none"                        cuEventRecord(NONE, w.stream) => INVALID_HANDLE;
        "an event of another context"    cuEventRecord(w.foreign_event, w.stream) => INVALID_HANDLE;
        "of none"                        cuEventQuery(NONE) => INVALID_HANDLE;
        "of none"                        cuEventDestroy_v2(NONE) => INVALID_HANDLE;
        "from an event never recorded"   cuEventElapsedTime(&mut w.time, w.event, w.recorded) => INVALID_HANDLE;
        "from an event without time"     cuEventElapsedTime(&mut w.time, w.untimed, w.recorded) => INVALID_HANDLE;

        "an array of no width"           cuArrayCreate_v2(&mut w.handle, &Flat { width: 0, ..FLAT }) => INVALID_VALUE;
        "an array of 3 channels"         cuArrayCreate_v2(&mut w.handle, &Flat { channels: 3, ..FLAT }) => INVALID_VALUE;
        "an array of no format"          cuArrayCreate_v2(&mut w.handle, &Flat { format: 0, ..FLAT }) => INVALID_VALUE;
        "an array too wide"              cuArrayCreate_v2(&mut w.handle, &Flat { width: 1 << 40, ..FLAT }) => INVALID_VALUE;
        "no description"                 cuArrayCreate_v2(&mut w.handle, null()) => INVALID_VALUE;
        "a cube that is none"            cuArray3DCreate_v2(&mut w.handle, &Deep { height: 5, ..CUBE }) => INVALID_VALUE;
        "a cube of five faces"           cuArray3DCreate_v2(&mut w.handle, &Deep { depth: 5, ..CUBE }) => INVALID_VALUE;
        "depth without height"           cuArray3DCreate_v2(&mut w.handle, &Deep { height: 0, flags: 0, ..CUBE }) => INVALID_VALUE;
        "a layered array of no layers"   cuArray3DCreate_v2(&mut w.handle, &Deep { depth: 0, flags: 1, ..CUBE }) => INVALID_VALUE;
        "unknown flags"                  cuArray3DCreate_v2(&mut w.handle, &Deep { flags: 0x8000, ..CUBE }) => INVALID_VALUE;
        "of none"                        cuArrayDestroy(NONE) => INVALID_HANDLE;
        "of none"                        cuArrayGetDescriptor_v2(&mut Flat::default(), NONE) => INVALID_HANDLE;
        "behind its end"                 cuMemcpyHtoA_v2(w.line, 4, w.host.as_ptr().cast(), 64) => INVALID_VALUE;
        "from nowhere"                   cuMemcpyHtoA_v2(w.line, 0, null(), 64) => INVALID_VALUE;
        "behind its end"                 cuMemcpyAtoH_v2(w.host.as_mut_ptr().cast(), w.line, 64, 4) => INVALID_VALUE;
        "wider than the array"           cuMemcpy2D_v2(&out_of(w, w.plane, 36, 1)) => INVALID_VALUE;
        "higher than the array"          cuMemcpy2D_v2(&out_of(w, w.plane, 32, 9)) => INVALID_VALUE;
        "of no array"                    cuMemcpy2D_v2(&out_of(w, NONE, 4, 1)) => INVALID_VALUE;

        "unknown flags"                  cuGraphCreate(&mut w.handle, 1) => INVALID_VALUE;
        "into nowhere"                   cuGraphCreate(null_mut(), 0) => INVALID_VALUE;
        "of none"                        cuGraphDestroy(NONE) => INVALID_VALUE;
        "unknown flags"                  cuGraphInstantiateWithFlags(&mut w.handle, w.graph, 0x100) => INVALID_VALUE;
        "for kernels, and freeing"       cuGraphInstantiateWithFlags(&mut w.handle, w.graph, 1 | 4) => INVALID_VALUE;
        "of none"                        cuGraphLaunch(NONE, w.stream) => INVALID_VALUE;
        "a node behind itself"           cuGraphAddDependencies_v2(w.graph, &w.node, &w.node, null(), 1) => INVALID_VALUE;
        "a node of another graph"        cuGraphAddDependencies_v2(w.other_graph, &w.node, &w.node, null(), 1) => INVALID_VALUE;
        "an edge that there is not"      cuGraphRemoveDependencies_v2(w.graph, &w.node, &w.node, null(), 1) => INVALID_VALUE;
        "behind a node of another graph" cuGraphAddEmptyNode(&mut w.handle, w.other_graph, &w.node, 1) => INVALID_VALUE;
        "in none"                        cuGraphAddEmptyNode(&mut w.handle, NONE, null(), 0) => INVALID_VALUE;
        "no description"                 cuGraphAddKernelNode_v2(&mut w.handle, w.other_graph, null(), 0, null()) => INVALID_VALUE;
        "elements of 3 bytes"            cuGraphAddMemsetNode(&mut w.handle, w.other_graph, null(), 0, &FillNode { target: w.device, pitch: 0, value: 1, element: 3, width: 1, height: 1 }, w.context) => INVALID_VALUE;
        "that was never cloned"          cuGraphNodeFindInClone(&mut w.handle, w.node, w.other_graph) => INVALID_VALUE;
        "of none"                        cuGraphNodeGetType(NONE, &mut w.number) => INVALID_VALUE;
        "of none"                        cuGraphDestroyNode(NONE) => INVALID_VALUE;
        "the default stream"             cuStreamBeginCapture_v2(NONE, 0) => STREAM_CAPTURE_UNSUPPORTED;
        "an unknown mode"                cuStreamBeginCapture_v2(w.stream, 9) => INVALID_VALUE;
        "that was not begun"             cuStreamEndCapture(w.stream, &mut w.handle) => ILLEGAL_STATE;
    }

    capturing_stream: world::working, world::begin_capture, |w| {
        "in the capture"                 cuStreamSynchronize(w.stream) => STREAM_CAPTURE_UNSUPPORTED;
        "in the capture"                 cuStreamQuery(w.stream) => STREAM_CAPTURE_UNSUPPORTED;
        "in the capture already"         cuStreamBeginCapture_v2(w.stream, 0) => ILLEGAL_STATE;
        "in an invalidated capture"      cuMemsetD32Async({ cuStreamSynchronize(w.stream); w.device }, 1, 1, w.stream) => STREAM_CAPTURE_INVALIDATED;
        "of an invalidated capture"      cuStreamEndCapture({ cuStreamSynchronize(w.stream); w.stream }, &mut w.handle) => STREAM_CAPTURE_INVALIDATED;
        "during a capture"               cuMemAlloc_v2(&mut w.address, 64) => STREAM_CAPTURE_UNSUPPORTED;
        "during a capture"               cuMemFree_v2(w.managed) => STREAM_CAPTURE_UNSUPPORTED;
        "during a capture"               cuCtxSynchronize() => STREAM_CAPTURE_UNSUPPORTED;
        "during a capture"               cuMemcpyHtoD_v2(w.device, w.host.as_ptr().cast(), 4) => SUCCESS;
        "during a capture"               cuMemcpyDtoH_v2(w.host.as_mut_ptr().cast(), w.device, 4) => SUCCESS;
        "during a capture"               cuMemcpyDtoD_v2(w.device, w.device + 64, 4) => SUCCESS;
        "during a capture, from page-locked memory" cuMemcpyHtoD_v2(w.device, w.pinned as *const _, 4) => SUCCESS;
        "during a capture"               cuMemsetD8_v2(w.device, 1, 4) => SUCCESS;
        "during a capture"               cuMemAllocHost_v2(&mut w.address, 64) => STREAM_CAPTURE_UNSUPPORTED;
        "during a capture"               cuMemAllocManaged(&mut w.address, 64, 1) => STREAM_CAPTURE_UNSUPPORTED;
        "during a capture"               cuMemFreeHost(w.pinned) => STREAM_CAPTURE_UNSUPPORTED;
        "during a capture"               cuArrayDestroy(w.line) => STREAM_CAPTURE_UNSUPPORTED;
        "during a capture"               cuMemHostRegister_v2(w.host.as_ptr() as u64, 4096, 0) => STREAM_CAPTURE_UNSUPPORTED;
        "during a capture"               cuModuleLoadData(&mut w.handle, KERNELS.as_ptr().cast()) => SUCCESS;
        "during a capture"               cuModuleUnload(w.module) => STREAM_CAPTURE_UNSUPPORTED;
        "recorded in the capture"        cuEventQuery({ cuEventRecord(w.event, w.stream); w.event }) => CAPTURED_EVENT;
        "recorded in the capture"        cuEventSynchronize({ cuEventRecord(w.event, w.stream); w.event }) => CAPTURED_EVENT;
        "recorded outside the capture"   cuStreamWaitEvent(w.stream, w.recorded, 0) => STREAM_CAPTURE_ISOLATION;
        "to nowhere"                     cuStreamEndCapture(w.stream, null_mut()) => SUCCESS;
        "a callback"                     cuStreamAddCallback(w.stream, Some(world::ignore), null_mut(), 0) => STREAM_CAPTURE_UNSUPPORTED;
    }

    failed_kernel: world::failed, |_| (), |w| {
        "after a kernel has failed"      cuCtxSynchronize() => LAUNCH_FAILED;
        "after a kernel has failed"      cuMemAlloc_v2(&mut w.address, 16) => LAUNCH_FAILED;
        "after a kernel has failed"      cuMemFree_v2(w.device) => LAUNCH_FAILED;
        "after a kernel has failed"      cuMemcpyDtoH_v2(w.host.as_mut_ptr().cast(), w.device, 4) => LAUNCH_FAILED;
        "after a kernel has failed"      cuMemsetD8_v2(w.device, 0, 4) => LAUNCH_FAILED;
        "after a kernel has failed"      cuModuleLoadData(&mut w.handle, KERNELS.as_ptr().cast()) => LAUNCH_FAILED;
        "after a kernel has failed"      cuModuleUnload(w.module) => LAUNCH_FAILED;
        "after a kernel has failed"      launch(w.nothing, [1; 3], [1; 3], 0) => LAUNCH_FAILED;
        "after a kernel has failed"      cuStreamQuery(w.stream) => LAUNCH_FAILED;
        "after a kernel has failed"      cuEventQuery(w.recorded) => LAUNCH_FAILED;
        "after a kernel has failed"      cuArrayDestroy(w.line) => LAUNCH_FAILED;
        "after a kernel has failed"      cuMemAllocManaged(&mut w.address, 16, 1) => LAUNCH_FAILED;
    }

    released_context: world::released, |_| (), |w| {
        "current, though gone"           cuCtxSynchronize() => CONTEXT_IS_DESTROYED;
        "in a context that is gone"      cuMemAlloc_v2(&mut w.address, 16) => CONTEXT_IS_DESTROYED;
        "in a context that is gone"      cuStreamCreate(&mut w.handle, 0) => CONTEXT_IS_DESTROYED;
        "in a context that is gone"      cuEventCreate(&mut w.handle, 0) => CONTEXT_IS_DESTROYED;
        "in a context that is gone"      cuModuleLoadData(&mut w.handle, KERNELS.as_ptr().cast()) => CONTEXT_IS_DESTROYED;
        "memory of a context that is gone" cuMemFree_v2(w.device) => CONTEXT_IS_DESTROYED;
        "retained no more"               cuDevicePrimaryCtxRelease_v2(0) => INVALID_CONTEXT;
    }
}

const FLAT: Flat = Flat { width: 10, height: 0, format: 0x20, channels: 1 };

const CUBE: Deep = Deep { width: 4, height: 4, depth: 6, format: 1, channels: 1, flags: 4 };

/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
const CLUSTER: u32 = 4;

/// A copy of rows, 32 bytes apart, of the host to the device.
fn rows(w: &World, width: usize, height: usize) -> Copy2d {
    Copy2d {
        source: Side { memory: 1, host: w.host.as_ptr() as usize, pitch: 32, ..Side::default() },
        target: Side { memory: 2, device: w.device, pitch: 64, ..Side::default() },
        width,
        height,
    }
}

/// A copy of the corner of an array to the host.
fn out_of(w: &World, array: usize, width: usize, height: usize) -> Copy2d {
    Copy2d {
        source: Side { memory: 3, array, ..Side::default() },
        target: Side { memory: 1, host: w.host.as_ptr() as usize, pitch: 64, ..Side::default() },
        width,
        height,
    }
}

/// The parameters of [`World::store`].
fn parameters(w: &mut World) -> *mut *const std::ffi::c_void {
    w.parameters[0] = (&raw const w.device).cast();
    w.parameters.as_mut_ptr()
}

/// The parameters of [`World::store`] in a block of `bytes` bytes, given by `key`.
fn extra(w: &mut World, key: usize, bytes: usize) -> *mut *const std::ffi::c_void {
    w.host[..8].copy_from_slice(&w.device.to_ne_bytes());
    w.bytes = bytes;
    w.extra = [
        std::ptr::without_provenance(key),
        w.host.as_ptr().cast(),
        std::ptr::without_provenance(2),
        (&raw const w.bytes).cast(),
        null(),
    ];
    w.extra.as_mut_ptr()
}
