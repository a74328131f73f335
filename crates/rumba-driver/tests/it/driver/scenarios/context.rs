//! Initialisation, devices and contexts.

use super::*;

pub fn before_a_context() {
    let (mut number, mut handle, mut current, mut pointer, mut bytes, mut flags) = (0, 0, 9, 0, 0, 0);
    let mut byte = 0_u8;
    steps! {
        1 => cuDriverGetVersion(null_mut());
        400 => cuEventDestroy_v2(NONE);
        400 => cuLinkDestroy(NONE);
        // NVIDIA's driver, called directly, answers the same; here choosing the device has initialised it.
        soft {
            3 => cuDeviceGetCount(&mut number);
            3 => cuDeviceGetCount(null_mut());
            3 => cuDeviceGet(&mut number, 0);
            3 => cuCtxGetCurrent(&mut handle);
            3 => cuCtxGetCurrent(null_mut());
            3 => cuMemAlloc_v2(&mut pointer, 4);
            3 => cuMemAlloc_v2(null_mut(), 4);
            3 => cuCtxSynchronize();
            3 => cuStreamSynchronize(NONE);
            3 => cuMemFree_v2(0);
            3 => cuMemFreeHost(0);
            3 => cuModuleLoadData(&mut handle, KERNELS.as_ptr().cast());
            3 => launch(NONE);
            3 => cuDevicePrimaryCtxRetain(&mut handle, 0);
            3 => cuCtxSetCurrent(NONE);
            3 => cuCtxPopCurrent_v2(null_mut());
            3 => cuPointerGetAttribute((&raw mut pointer).cast(), 1, 16);
            3 => cuCtxGetApiVersion(NONE, &mut flags);
            3 => cuDevicePrimaryCtxGetState(0, &mut flags, &mut number);
            3 => cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut number, NONE, 32, 0);
        }
        1 => cuInit(7);
        0 => cuInit(0);
        0 => cuInit(0);
        0 => cuCtxGetCurrent(&mut current);
        1 => cuCtxGetCurrent(null_mut());
        201 => cuCtxGetDevice(&mut number);
        201 => cuCtxSynchronize();
        201 => cuMemAlloc_v2(&mut pointer, 4);
        201 => cuMemAlloc_v2(null_mut(), 4);
        0 => cuMemFree_v2(0);
        0 => cuMemFreeHost(0);
        1 => cuMemFree_v2(4096);
        201 => cuModuleLoadData(&mut handle, KERNELS.as_ptr().cast());
        201 => cuModuleLoadData(null_mut(), KERNELS.as_ptr().cast());
        201 => cuModuleLoadData(&mut handle, null());
        201 => cuStreamCreate(&mut handle, 0);
        201 => cuEventCreate(&mut handle, 0);
        201 => cuStreamSynchronize(NONE);
        201 => cuStreamQuery(NONE);
        201 => cuCtxPopCurrent_v2(&mut handle);
        201 => cuCtxPopCurrent_v2(null_mut());
        1 => cuCtxPushCurrent_v2(NONE);
        0 => cuCtxSetCurrent(NONE);
        201 => cuCtxGetLimit(&mut bytes, 0);
        201 => cuCtxGetFlags(&mut flags);
        201 => cuCtxGetStreamPriorityRange(null_mut(), null_mut());
        201 => cuMemGetInfo_v2(&mut bytes, null_mut());
        201 => cuCtxGetApiVersion(NONE, &mut flags);
        1 => cuCtxDestroy_v2(NONE);
        201 => cuCtxGetCacheConfig(&mut number);
        201 => cuCtxSetCacheConfig(0);
        201 => cuMemAllocHost_v2(&mut pointer, 16);
        201 => cuMemAllocManaged(&mut pointer, 16, 1);
        201 => cuLinkCreate_v2(0, null_mut(), null_mut(), &mut handle);
        1 => cuPointerGetAttribute((&raw mut pointer).cast(), 1, 16);
        201 => launch(NONE);
        201 => cuMemcpyHtoD_v2(0, (&raw mut byte).cast(), 1);
        201 => cuMemcpyHtoD_v2(0, (&raw mut byte).cast(), 0);
        400 => cuEventDestroy_v2(NONE);
        400 => cuStreamDestroy_v2(NONE);
        400 => cuModuleUnload(NONE);
    }
    assert_eq!(current, 0, "no context is current");
}

pub fn devices() {
    let (mut count, mut device, mut major, mut minor, mut bytes) = (0, 9, 0, 0, 0_usize);
    let (mut uuid, mut name) = ([0; 16], [1; 64]);
    steps! {
        0 => cuInit(0);
        0 => cuDeviceGetCount(&mut count);
        1 => cuDeviceGetCount(null_mut());
        0 => cuDeviceGet(&mut device, 0);
        101 => cuDeviceGet(&mut device, 99);
        101 => cuDeviceGet(&mut device, -1);
        1 => cuDeviceGet(null_mut(), 0);
        0 => cuDeviceGetName(name.as_mut_ptr(), 64, 0);
        1 => cuDeviceGetName(null_mut(), 64, 0);
        101 => cuDeviceGetName(name.as_mut_ptr(), 64, 9);
        101 => cuDeviceTotalMem_v2(&mut bytes, 9);
        1 => cuDeviceTotalMem_v2(null_mut(), 0);
        0 => cuDeviceTotalMem_v2(&mut bytes, 0);
        1 => cuDeviceGetAttribute(&mut count, 0, 0);
        1 => cuDeviceGetAttribute(&mut count, 9999, 0);
        1 => cuDeviceGetAttribute(null_mut(), 1, 0);
        101 => cuDeviceGetAttribute(&mut count, 1, 5);
        0 => cuDeviceGetAttribute(&mut count, 1, 0);
        0 => cuDeviceComputeCapability(&mut major, &mut minor, 0);
        0 => cuDeviceGetUuid_v2(&mut uuid, 0);
        0 => cuDeviceCanAccessPeer(&mut minor, 0, 0);
    }
    assert_eq!((device, count), (0, 1024));
    assert!(major >= 5, "{major}");
    assert!(bytes > 1 << 28, "{bytes}");
    assert_ne!(uuid, [0; 16]);
    assert!(name.contains(&0) && name[0] > 1, "{name:?}");
    let (mut warp, mut threads, mut multiprocessors) = (0, 0, 0);
    steps! {
        0 => cuDeviceGetAttribute(&mut warp, 10, 0);
        0 => cuDeviceGetAttribute(&mut threads, 1, 0);
        0 => cuDeviceGetAttribute(&mut multiprocessors, 16, 0);
        // NVIDIA's driver crashes on a buffer without room.
        soft { 1 => cuDeviceGetName(name.as_mut_ptr(), 0, 0); }
        0 => cuDeviceGetName(name.as_mut_ptr(), 4, 0);
    }
    assert_eq!((warp, threads, name[3]), (32, 1024, 0));
    assert!(multiprocessors >= 1);
}

pub fn contexts() {
    let context = primary();
    let (mut created, mut other, mut current, mut flags, mut device) = (0, 0, 0, 0, 9);
    steps! {
        201 => cuCtxDestroy_v2(context);
        1 => cuCtxDestroy_v2(NONE);
        0 => cuCtxCreate_v2(&mut created, 0, 0);
        0 => cuCtxGetCurrent(&mut current);
    }
    assert_eq!(current, created, "a new context is current");
    steps! {
        0 => cuCtxPopCurrent_v2(&mut other);
        0 => cuCtxGetCurrent(&mut current);
    }
    assert_eq!((other, current), (created, context));
    steps! {
        0 => cuCtxGetDevice(&mut device);
        1 => cuCtxGetDevice(null_mut());
        1 => cuCtxGetFlags(null_mut());
        0 => cuCtxGetApiVersion(NONE, &mut flags);
        1 => cuCtxGetApiVersion(context, null_mut());
        1 => cuCtxCreate_v2(&mut other, 0xffff, 0);
        1 => cuCtxCreate_v2(null_mut(), 0, 0);
        101 => cuCtxCreate_v2(&mut other, 0, 5);
        0 => cuCtxCreate_v2(&mut other, 4 | 8, 0);
        0 => cuCtxGetFlags(&mut flags);
        0 => cuCtxSetCurrent(context);
        217 => cuCtxEnablePeerAccess(created, 0);
        705 => cuCtxDisablePeerAccess(created);
        // NVIDIA's driver takes any number for a context, and reads it.
        soft {
            201 => cuCtxSetCurrent(0xdead);
            201 => cuCtxPushCurrent_v2(0xdead);
            201 => cuCtxDestroy_v2(0xdead);
        }
        0 => cuCtxDestroy_v2(created);
        0 => cuCtxDestroy_v2(other);
    }
    assert_eq!((device, flags), (0, 12));
}

pub fn destroyed_contexts() {
    let context = primary();
    let (mut created, mut current, mut event, mut module, mut function, mut pointer) = (0, 0, 0, 0, 0, 0);
    let mut byte = 0_u8;
    steps! {
        0 => cuCtxCreate_v2(&mut created, 0, 0);
        0 => cuMemAlloc_v2(&mut pointer, 64);
        0 => cuEventCreate(&mut event, 0);
        0 => cuModuleLoadData(&mut module, KERNELS.as_ptr().cast());
        0 => cuModuleGetFunction(&mut function, module, c"nothing".as_ptr());
        0 => cuCtxDestroy_v2(created);
        0 => cuCtxGetCurrent(&mut current);
    }
    assert_eq!(current, context, "destroying the current context uncovers the one below");
    steps! {
        1 => cuMemFree_v2(pointer);
        1 => cuMemcpyHtoD_v2(pointer, (&raw mut byte).cast(), 1);
        0 => cuCtxSynchronize();
        400 => launch(function);
        400 => cuModuleUnload(module);
        709 => cuEventQuery(event);
        709 => cuEventDestroy_v2(event);
        // NVIDIA's driver reads freed memory.
        soft {
            201 => cuCtxDestroy_v2(created);
            201 => cuCtxGetApiVersion(created, &mut 0);
        }
    }
    // A destroyed context may stay on the stack of a thread.
    steps! {
        0 => cuCtxCreate_v2(&mut created, 0, 0);
        0 => cuCtxPushCurrent_v2(context);
        0 => cuCtxDestroy_v2(created);
        0 => cuCtxPopCurrent_v2(&mut current);
        0 => cuCtxGetCurrent(&mut current);
    }
    assert_eq!(current, created);
    steps! {
        709 => cuMemAlloc_v2(&mut pointer, 64);
        709 => cuCtxSynchronize();
        0 => cuCtxGetDevice(&mut 0);
        0 => cuCtxSetCurrent(context);
        0 => cuMemAlloc_v2(&mut pointer, 64);
        0 => cuMemFree_v2(pointer);
        // NVIDIA's driver reads freed memory.
        soft {
            0 => cuCtxSetCurrent(created);
            0 => cuCtxSetCurrent(context);
            709 => cuCtxPushCurrent_v2(created);
        }
    }
}

pub fn primary_context() {
    let (mut context, mut again, mut flags, mut active, mut pointer, mut stream, mut event) = (0, 0, 9, 9, 0, 0, 0);
    steps! {
        0 => cuInit(0);
        201 => cuDevicePrimaryCtxRelease_v2(0);
        101 => cuDevicePrimaryCtxRelease_v2(5);
        0 => cuDevicePrimaryCtxReset_v2(0);
        101 => cuDevicePrimaryCtxReset_v2(5);
        0 => cuDevicePrimaryCtxSetFlags_v2(0, 0);
        1 => cuDevicePrimaryCtxSetFlags_v2(0, 0xffff);
        1 => cuDevicePrimaryCtxRetain(null_mut(), 0);
        101 => cuDevicePrimaryCtxRetain(&mut context, 3);
        0 => cuDevicePrimaryCtxGetState(0, &mut flags, &mut active);
    }
    assert_eq!((flags, active), (0, 0));
    steps! {
        0 => cuDevicePrimaryCtxRetain(&mut context, 0);
        0 => cuCtxSetCurrent(context);
        0 => cuDevicePrimaryCtxGetState(0, &mut flags, &mut active);
    }
    assert_eq!((flags, active), (0, 1));
    steps! {
        0 => cuDevicePrimaryCtxSetFlags_v2(0, 4);
        0 => cuDevicePrimaryCtxGetState(0, &mut flags, &mut active);
        0 => cuMemAlloc_v2(&mut pointer, 64);
        0 => cuStreamCreate(&mut stream, 0);
        0 => cuEventCreate(&mut event, 0);
    }
    assert_eq!((flags, active), (4, 1));
    steps! {
        0 => cuCtxGetFlags(&mut flags);
        0 => cuDevicePrimaryCtxRelease_v2(0);
        0 => cuCtxGetCurrent(&mut again);
    }
    assert_eq!((flags, again), (12, context));
    steps! {
        709 => cuMemAlloc_v2(&mut pointer, 64);
        709 => cuCtxSynchronize();
        0 => cuCtxGetDevice(&mut 0);
        0 => cuCtxGetFlags(&mut flags);
        0 => cuCtxSetCurrent(context);
        201 => cuCtxGetApiVersion(context, &mut flags);
        709 => cuMemFree_v2(pointer);
        201 => cuDevicePrimaryCtxRelease_v2(0);
        0 => cuDevicePrimaryCtxRetain(&mut again, 0);
    }
    assert_eq!(again, context, "the primary context keeps its handle");
    let old = pointer;
    steps! {
        0 => cuMemAlloc_v2(&mut pointer, 64);
        0 => cuStreamCreate(&mut stream, 0);
        0 => cuEventCreate(&mut event, 0);
        0 => cuDevicePrimaryCtxReset_v2(0);
        0 => cuDevicePrimaryCtxGetState(0, &mut flags, &mut active);
        709 => cuMemAlloc_v2(&mut pointer, 64);
        709 => cuMemFree_v2(pointer);
        709 => cuCtxSynchronize();
        // NVIDIA's driver answers the same where the freed memory still holds what it held.
        soft {
            709 => cuStreamSynchronize(stream);
            709 => cuEventQuery(event);
            709 => cuEventDestroy_v2(event);
            709 => cuStreamDestroy_v2(stream);
        }
        0 => cuDevicePrimaryCtxRelease_v2(0);
        201 => cuDevicePrimaryCtxRelease_v2(0);
    }
    assert_eq!(active, 0, "{old:#x}");
}

pub fn threads() {
    let context = primary();
    let module = kernels();
    let store = kernel(module, c"store");
    let pointers: Vec<u64> = (0..4).map(|_| allocate(4)).collect();
    std::thread::scope(|scope| {
        for pointer in &pointers {
            scope.spawn(move || {
                let (mut current, mut value, mut stream) = (9, 0_u32, 0);
                let mut parameters = [(&raw const *pointer).cast::<c_void>()];
                steps! {
                    0 => cuCtxGetCurrent(&mut current);
                    201 => cuCtxSynchronize();
                    0 => cuCtxSetCurrent(context);
                    0 => cuStreamCreate(&mut stream, 0);
                    0 => cuLaunchKernel(store, 1, 1, 1, 32, 1, 1, 0, stream, parameters.as_mut_ptr(), null_mut());
                    0 => cuStreamSynchronize(stream);
                    0 => cuMemcpyDtoH_v2((&raw mut value).cast(), *pointer, 4);
                    0 => cuStreamDestroy_v2(stream);
                }
                assert_eq!((current, value), (0, 7), "a new thread has no context");
            });
        }
    });
}

pub fn function_addresses() {
    let mut function = null_mut();
    let (mut status, mut version) = (9, 0);
    steps! {
        // The first call of the process: its arguments outlive the choice of the device.
        0 => cuGetProcAddress_v2(c"cuDriverGetVersion".as_ptr(), &mut function, 12_000, 0, &mut status);
        0 => cuDriverGetVersion(&mut version);
    }
    assert_eq!(status, 0);
    assert!(version >= 12_000 && !function.is_null());
    // SAFETY: this is the call's declaration in cuda.h.
    let get_version: extern "C" fn(*mut c_int) -> c_int = unsafe { std::mem::transmute(function) };
    let mut same = 0;
    steps! {
        0 => get_version(&mut same);
        0 => cuGetProcAddress_v2(c"cuNoSuchCall".as_ptr(), &mut function, 12_000, 0, &mut status);
    }
    assert_eq!((same, status), (version, 1));
    assert!(function.is_null());
    steps! {
        0 => cuGetProcAddress_v2(c"cuMemAlloc".as_ptr(), &mut function, 12_000, 0, null_mut());
        1 => cuGetProcAddress_v2(c"cuInit".as_ptr(), &mut function, 12_000, 77, null_mut());
        // NVIDIA's driver crashes.
        soft {
            1 => cuGetProcAddress_v2(c"cuInit".as_ptr(), null_mut(), 12_000, 0, null_mut());
            1 => cuGetProcAddress_v2(null(), &mut function, 12_000, 0, null_mut());
        }
    }
}

pub fn error_texts() {
    let mut text = null();
    for (code, name, sentence) in [
        (0, c"CUDA_SUCCESS", c"no error"),
        (1, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
        (700, c"CUDA_ERROR_ILLEGAL_ADDRESS", c"an illegal memory access was encountered"),
        (999, c"CUDA_ERROR_UNKNOWN", c"unknown error"),
    ] {
        steps! { 0 => cuGetErrorName(code, &mut text); }
        // SAFETY: the call succeeded, so it gave a string.
        assert_eq!(unsafe { CStr::from_ptr(text) }, name);
        steps! { 0 => cuGetErrorString(code, &mut text); }
        // SAFETY: the call succeeded, so it gave a string.
        assert_eq!(unsafe { CStr::from_ptr(text) }, sentence);
    }
    steps! { 1 => cuGetErrorString(35, &mut text); }
    assert!(text.is_null());
    // NVIDIA's driver crashes.
    steps! { soft { 1 => cuGetErrorName(0, null_mut()); } }
}
