//! Kernels that fail, and what works afterwards; handles that mean nothing any more.

use super::*;

/// Launches a kernel that fails with `code`, and walks through what a failed context answers.
fn fails_with(code: c_int, name: &CStr, parameter: impl FnOnce(u64) -> Option<u64>) {
    let context = primary();
    let module = kernels();
    let function = kernel(module, name);
    let pointer = allocate(64);
    let (mut event, mut handle, mut other, mut number, mut flags, mut bytes) = (0, 0, 0, 0, 0, 0);
    let mut data = 0_u32;
    let value = parameter(pointer);
    let mut parameters = [value.as_ref().map_or(null(), |value| (&raw const *value).cast())];
    steps! {
        0 => cuEventCreate(&mut event, 0);
        0 => launch_with(function, [1; 3], [1; 3], 0, parameters.as_mut_ptr(), null_mut());
        code => cuCtxSynchronize();
        code => cuCtxSynchronize();
        0 => cuCtxGetCurrent(&mut handle);
        0 => cuCtxGetDevice(&mut number);
        0 => cuDeviceGetCount(&mut number);
        code => cuMemAlloc_v2(&mut other, 16);
        code => cuMemFree_v2(pointer);
        code => cuMemGetInfo_v2(&mut bytes, &mut bytes);
        code => cuMemcpyDtoH_v2((&raw mut data).cast(), pointer, 4);
        code => cuMemcpyHtoD_v2(pointer, (&raw const data).cast(), 0);
        code => cuMemsetD8_v2(pointer, 0, 4);
        code => cuModuleLoadData(&mut handle, KERNELS.as_ptr().cast());
        code => cuModuleGetFunction(&mut handle, module, c"nothing".as_ptr());
        code => cuModuleUnload(module);
        code => cuStreamCreate(&mut handle, 0);
        code => cuStreamQuery(NONE);
        code => cuStreamSynchronize(NONE);
        code => cuEventCreate(&mut handle, 0);
        code => cuEventQuery(event);
        code => cuEventRecord(event, NONE);
        code => launch(function);
        code => cuCtxGetLimit(&mut bytes, 0);
        code => cuCtxSetLimit(0, 1024);
        0 => cuCtxGetFlags(&mut flags);
        0 => cuCtxGetApiVersion(context, &mut flags);
        code => cuCtxGetCacheConfig(&mut number);
        code => cuCtxGetStreamPriorityRange(&mut number, &mut number);
        0 => cuDeviceGetAttribute(&mut number, 1, 0);
        0 => cuPointerGetAttribute((&raw mut handle).cast(), 1, pointer);
        code => cuMemGetAddressRange_v2(&mut other, &mut bytes, pointer);
        code => cuMemAllocHost_v2(&mut other, 16);
        0 => cuCtxPushCurrent_v2(context);
        0 => cuCtxPopCurrent_v2(&mut handle);
        0 => cuCtxSetCurrent(context);
        0 => cuDevicePrimaryCtxRetain(&mut handle, 0);
        0 => cuDevicePrimaryCtxRelease_v2(0);
        code => cuEventDestroy_v2(event);
        0 => cuDevicePrimaryCtxReset_v2(0);
        0 => cuCtxGetCurrent(&mut handle);
        709 => cuCtxSynchronize();
        709 => cuMemAlloc_v2(&mut other, 16);
        // With NVIDIA's driver nothing works again in this process.
        soft {
            0 => cuDevicePrimaryCtxRetain(&mut handle, 0);
            0 => cuMemAlloc_v2(&mut other, 16);
            1 => cuMemFree_v2(pointer);
            0 => cuMemFree_v2(other);
            0 => launch(kernel(kernels(), c"nothing"));
            0 => cuCtxSynchronize();
        }
    }
    assert_eq!(handle, context);
    if crate::driver::walk::is_soft() {
        let report = rumba_driver::last_report().expect("a failed kernel leaves a report");
        assert!(report.contains(&*name.to_string_lossy()), "{report}");
    } else {
        assert_eq!(rumba_driver::last_report(), None);
    }
}

pub fn illegal_address() {
    fails_with(700, c"store", |_| Some(0x10));
}

pub fn misaligned_address() {
    fails_with(716, c"store", |pointer| Some(pointer + 1));
}

pub fn trap() {
    fails_with(719, c"trapping", |_| None);
}

pub fn assertion() {
    fails_with(710, c"asserting", |_| None);
}

/// What other streams do when a context fails ends before any call says so: the memory that they write belongs to its
/// owner from then on.
pub fn work_in_progress_of_a_lost_context() {
    const BYTES: usize = 256 << 20;
    primary();
    let (mut copying, mut failing, mut pinned) = (0, 0, 0);
    let device = allocate(BYTES);
    let trapping = kernel(kernels(), c"trapping");
    steps! {
        0 => cuMemsetD8_v2(device, 1, BYTES);
        0 => cuMemHostAlloc(&mut pinned, BYTES, 0);
        0 => cuStreamCreate(&mut copying, 1);
        0 => cuStreamCreate(&mut failing, 1);
    }
    // SAFETY: the memory was just allocated, and nothing writes to it yet.
    unsafe { std::slice::from_raw_parts_mut(pinned as *mut u8, BYTES) }.fill(0);
    // SAFETY: as above; nothing is written any more when this is called.
    let last = || unsafe { ((pinned + BYTES as u64 - 1) as *const u8).read_volatile() };
    steps! {
        0 => cuCtxSynchronize();
        0 => cuMemcpyDtoHAsync_v2(pinned as *mut _, device, BYTES, copying);
        0 => cuLaunchKernel(trapping, 1, 1, 1, 1, 1, 1, 0, failing, null_mut(), null_mut());
        719 => cuStreamSynchronize(failing);
    }
    let before = last();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(last(), before, "the copy went on after the failure was told");
    steps! { soft { 0 => cuDevicePrimaryCtxReset_v2(0); } }
}

pub fn stale_handles() {
    primary();
    let (mut stream, mut event) = (0, 0);
    steps! {
        0 => cuStreamCreate(&mut stream, 0);
        0 => cuEventCreate(&mut event, 0);
        0 => cuStreamDestroy_v2(stream);
        0 => cuEventDestroy_v2(event);
        // NVIDIA's driver reads freed memory here.
        soft {
            400 => cuStreamSynchronize(stream);
            400 => cuStreamDestroy_v2(stream);
            400 => cuEventQuery(event);
            400 => cuEventDestroy_v2(event);
            400 => cuStreamQuery(event);
            400 => cuEventQuery(0xdead);
            400 => cuStreamSynchronize(0xdead);
            400 => cuLinkDestroy(0xdead);
        }
    }
}
