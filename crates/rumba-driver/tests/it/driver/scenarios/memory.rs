//! Memory of every kind.

use super::*;

pub fn device_memory() {
    primary();
    let (mut pointer, mut start, mut bytes, mut total) = (0, 0, 0, 0);
    steps! {
        1 => cuMemAlloc_v2(&mut pointer, 0);
        1 => cuMemAlloc_v2(null_mut(), 4);
        2 => cuMemAlloc_v2(&mut pointer, usize::MAX);
        2 => cuMemAlloc_v2(&mut pointer, 1 << 48);
        0 => cuMemAlloc_v2(&mut pointer, 100);
        0 => cuMemFree_v2(0);
        1 => cuMemFree_v2(pointer + 4);
        1 => cuMemFree_v2(12_345);
        0 => cuMemGetAddressRange_v2(&mut start, &mut bytes, pointer + 4);
    }
    assert_eq!((start, bytes), (pointer, 100));
    assert_eq!(pointer % 256, 0);
    steps! {
        0 => cuMemGetAddressRange_v2(null_mut(), null_mut(), pointer);
        500 => cuMemGetAddressRange_v2(&mut start, &mut bytes, 16);
        500 => cuMemGetAddressRange_v2(&mut start, &mut bytes, pointer + 100);
        0 => cuMemGetInfo_v2(&mut bytes, &mut total);
        0 => cuMemGetInfo_v2(null_mut(), null_mut());
        0 => cuMemFree_v2(pointer);
        1 => cuMemFree_v2(pointer);
    }
    assert!(0 < bytes && bytes <= total);
    steps! {
        0 => cuMemAllocPitch_v2(&mut pointer, &mut bytes, 100, 4, 4);
        1 => cuMemAllocPitch_v2(&mut start, &mut total, 100, 4, 3);
        1 => cuMemAllocPitch_v2(&mut start, &mut total, 0, 4, 4);
        0 => cuMemFree_v2(pointer);
    }
    assert_eq!(bytes, 512);
}

pub fn copies() {
    primary();
    let mut data: Vec<u8> = (0..200).collect();
    let host = data.as_mut_ptr().cast::<c_void>();
    let pointer = allocate(100);
    steps! {
        0 => cuMemcpyHtoD_v2(pointer, host, 100);
        1 => cuMemcpyHtoD_v2(pointer, host, 101);
        1 => cuMemcpyHtoD_v2(pointer, null(), 4);
        0 => cuMemcpyHtoD_v2(pointer, null(), 0);
        1 => cuMemcpyHtoD_v2(0, host, 4);
        0 => cuMemcpyHtoD_v2(0, host, 0);
        1 => cuMemcpyDtoH_v2(null_mut(), pointer, 4);
        1 => cuMemcpyDtoH_v2(host, 0, 4);
        0 => cuMemcpyDtoD_v2(pointer, pointer + 50, 50);
        1 => cuMemcpyDtoD_v2(pointer, pointer + 50, 500);
        1 => cuMemcpyDtoD_v2(host as u64, pointer, 4);
        0 => cuMemcpyDtoD_v2(pointer, pointer, 100);
        0 => cuMemcpy(pointer, host as u64, 4);
        0 => cuMemcpyHtoDAsync_v2(pointer + 4, host, 4, NONE);
        1 => cuMemcpyHtoDAsync_v2(pointer, host, 4_000_000, NONE);
        // The names only promise a direction: both sides may be device memory.
        0 => cuMemcpyHtoD_v2(pointer + 8, pointer as *const c_void, 4);
        0 => cuMemcpyDtoH_v2((pointer + 12) as *mut c_void, pointer, 4);
        0 => cuMemcpyDtoH_v2(host, pointer, 100);
    }
    assert_eq!(data[..16], [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!((data[16], data[49], data[50], data[99]), (66, 99, 50, 99));
    let mut copy = Copy2d { width: 0, height: 0, ..Copy2d::default() };
    let target = allocate(4096);
    steps! {
        0 => cuMemcpy2D_v2(&copy);
        1 => cuMemcpy2D_v2(null());
    }
    copy.source = Side { memory: 1, host: host as usize, pitch: 32, ..Side::default() };
    copy.target = Side { memory: 2, device: target, pitch: 64, ..Side::default() };
    (copy.width, copy.height) = (32, 4);
    let mut rows = [0_u8; 256];
    steps! {
        0 => cuMemsetD8_v2(target, 9, 256);
        0 => cuMemcpy2D_v2(&copy);
        0 => cuMemcpyDtoH_v2(rows.as_mut_ptr().cast(), target, 256);
    }
    assert_eq!(rows[64..96], data[32..64]);
    assert_eq!(rows[32..64], [9; 32]);
    copy.width = 33;
    steps! { 1 => cuMemcpy2D_v2(&copy); }
    (copy.width, copy.source.pitch) = (32, 0);
    steps! { 0 => cuMemcpy2D_v2(&copy); }
    (copy.source.pitch, copy.height) = (32, 1000);
    steps! { 1 => cuMemcpy2D_v2(&copy); }
    copy.height = 0;
    steps! { 0 => cuMemcpy2D_v2(&copy); }
    (copy.height, copy.source.memory) = (4, 9);
    steps! { 1 => cuMemcpy2D_v2(&copy); }
    (copy.source.memory, copy.target.x) = (1, 40);
    steps! {
        1 => cuMemcpy2D_v2(&copy);
        0 => cuMemFree_v2(pointer);
        1 => cuMemcpyHtoD_v2(pointer, host, 4);
    }
}

pub fn fills() {
    primary();
    let pointer = allocate(100);
    let mut data = [0_u8; 100];
    steps! {
        0 => cuMemsetD8_v2(pointer, 1, 100);
        0 => cuMemsetD16_v2(pointer, 0x0302, 2);
        0 => cuMemsetD32_v2(pointer + 4, 0x0706_0504, 2);
        0 => cuMemsetD32Async(pointer + 12, 0x0a09_0807, 1, NONE);
        0 => cuMemcpyDtoH_v2(data.as_mut_ptr().cast(), pointer, 100);
        1 => cuMemsetD8_v2(pointer, 1, 1000);
        1 => cuMemsetD8_v2(pointer, 1, 100_000_000);
        1 => cuMemsetD32_v2(pointer + 1, 1, 1);
        1 => cuMemsetD16_v2(pointer + 1, 1, 1);
        0 => cuMemsetD32_v2(pointer, 1, 0);
        0 => cuMemsetD8_v2(0, 1, 0);
        1 => cuMemsetD8_v2(0, 1, 1);
        // NVIDIA's driver starts, and fails with 700.
        soft { 1 => cuMemsetD8_v2(pointer, 1, usize::MAX); }
        0 => cuMemsetD2D8_v2(pointer, 10, 1, 5, 10);
        1 => cuMemsetD2D8_v2(pointer, 4, 1, 5, 10);
    }
    assert_eq!(data[..17], [2, 3, 2, 3, 4, 5, 6, 7, 4, 5, 6, 7, 7, 8, 9, 10, 1]);
}

pub fn host_memory() {
    primary();
    let (mut pointer, mut device, mut flags) = (0, 0, 0);
    let mut buffer = vec![0_u8; 8192];
    let own = buffer.as_mut_ptr() as u64;
    let store = kernel(kernels(), c"store");
    let mut parameters = [(&raw const own).cast()];
    steps! {
        0 => cuMemAllocHost_v2(&mut pointer, 0);
        1 => cuMemAllocHost_v2(null_mut(), 4);
        0 => cuMemAllocHost_v2(&mut pointer, 100);
        0 => cuMemHostGetDevicePointer_v2(&mut device, pointer, 0);
    }
    assert_eq!(device, pointer, "a kernel uses the host's address");
    // SAFETY: 100 bytes were allocated there.
    unsafe {
        assert_eq!((pointer as *mut [u8; 100]).read(), [0; 100]);
        (pointer as *mut [u8; 100]).write([5; 100]);
    }
    let target = allocate(100);
    let mut value = 0_u32;
    steps! {
        0 => cuMemcpyHtoD_v2(target, pointer as *const c_void, 100);
        0 => cuMemcpyDtoH_v2((&raw mut value).cast(), target + 96, 4);
        1 => cuMemHostGetDevicePointer_v2(&mut device, pointer, 1);
        1 => cuMemHostGetDevicePointer_v2(&mut device, own, 0);
        0 => cuMemHostGetFlags(&mut flags, pointer);
        1 => cuMemHostGetFlags(&mut flags, own);
        1 => cuMemFree_v2(pointer);
        1 => cuMemFreeHost(pointer + 4);
        1 => cuMemFreeHost(own);
        0 => cuMemFreeHost(0);
        0 => cuMemFreeHost(pointer);
        1 => cuMemFreeHost(pointer);
    }
    assert_eq!((value, flags), (0x0505_0505, 2));
    steps! {
        0 => cuMemHostAlloc(&mut pointer, 64, 3);
        0 => cuMemHostGetFlags(&mut flags, pointer);
        0 => cuMemFreeHost(pointer);
        1 => cuMemHostAlloc(&mut pointer, 64, 0xff);
        1 => cuMemHostRegister_v2(0, 10, 0);
        1 => cuMemHostRegister_v2(own, 0, 0);
        1 => cuMemHostRegister_v2(4096, 4096, 0);
        1 => cuMemHostUnregister(0);
        713 => cuMemHostUnregister(own);
        0 => cuMemHostRegister_v2(own, 4096, 0);
        712 => cuMemHostRegister_v2(own, 4096, 0);
        712 => cuMemHostRegister_v2(own + 10, 10, 0);
        0 => cuMemHostGetDevicePointer_v2(&mut device, own, 0);
        0 => launch_with(store, [1; 3], [1; 3], 0, parameters.as_mut_ptr(), null_mut());
        0 => cuCtxSynchronize();
        1 => cuMemFreeHost(own);
        1 => cuMemHostUnregister(own + 1);
        0 => cuMemHostUnregister(own);
        713 => cuMemHostUnregister(own);
        1 => cuMemHostRegister_v2(own, 100, 0x40);
    }
    assert_eq!((device, buffer[0]), (own, 7), "a kernel wrote to registered memory");
    assert_eq!(flags, 3);
}

pub fn managed_memory() {
    primary();
    let (mut pointer, mut other) = (0, 0);
    let mut value = 0_u32;
    steps! {
        0 => cuMemAllocManaged(&mut pointer, 64, 1);
        1 => cuMemAllocManaged(&mut other, 64, 0);
        1 => cuMemAllocManaged(&mut other, 64, 3);
        1 => cuMemAllocManaged(&mut other, 0, 1);
    }
    // SAFETY: 64 bytes were allocated there, and host code may use managed memory.
    unsafe {
        assert_eq!((pointer as *mut [u32; 16]).read(), [0; 16]);
        (pointer as *mut u32).write(5);
    }
    let device = allocate(64);
    steps! {
        0 => cuMemcpyDtoH_v2((&raw mut value).cast(), pointer, 4);
        0 => cuMemPrefetchAsync(pointer, 64, 0, NONE);
        0 => cuMemAdvise(pointer, 64, 1, 0);
        1 => cuMemAdvise(pointer, 64, 99, 0);
        1 => cuMemAdvise(12_345, 64, 1, 0);
        1 => cuMemPrefetchAsync(device, 64, 0, NONE);
        1 => cuMemAdvise(device, 64, 1, 0);
    }
    // A null place receives no attribute; the behavior of NVIDIA's driver is not documented.
    let (mut devices, mut place, mut size, mut accessed_by) = ([0; 2], null_mut(), 8, 3);
    steps! {
        0 => cuMemRangeGetAttribute(devices.as_mut_ptr().cast(), 8, 3, pointer, 64);
        soft { 0 => cuMemRangeGetAttributes(&mut place, &mut size, &mut accessed_by, 1, pointer, 64); }
        0 => cuMemFree_v2(pointer);
    }
    assert_eq!(value, 5);
}

pub fn pointers() {
    let context = primary();
    let device = allocate(64);
    let (mut managed, mut pinned, mut number, mut handle, mut local) = (0, 0, 0_u32, 0_u64, 0_u64);
    let (number, handle) = (&raw mut number, &raw mut handle);
    let unknown = (&raw mut local) as u64;
    steps! {
        0 => cuMemAllocManaged(&mut managed, 64, 1);
        0 => cuMemAllocHost_v2(&mut pinned, 64);
        1 => cuPointerGetAttribute(null_mut(), 1, device);
        1 => cuPointerGetAttribute(handle.cast(), 99, device);
        1 => cuPointerGetAttribute(handle.cast(), 1, unknown);
        1 => cuPointerGetAttribute(number.cast(), 2, unknown);
        1 => cuPointerGetAttribute(handle.cast(), 4, device);
    }
    let word = |attribute, address| {
        steps! { 0 => cuPointerGetAttribute(number.cast(), attribute, address); }
        // SAFETY: the variable lives until the end of the scenario.
        unsafe { *number }
    };
    let long = |attribute, address| {
        steps! { 0 => cuPointerGetAttribute(handle.cast(), attribute, address); }
        // SAFETY: the variable lives until the end of the scenario.
        unsafe { *handle }
    };
    for address in [device, managed, pinned] {
        assert_eq!(long(1, address + 8), context as u64);
        assert_eq!(long(3, address + 8), address + 8);
        assert_eq!(long(11, address + 8), address);
        assert_eq!(long(12, address), 64);
        assert_eq!(word(9, address), 0);
        assert_eq!(word(13, address), 1);
    }
    assert_eq!((word(2, device), word(2, managed), word(2, pinned)), (2, 2, 1));
    assert_eq!((word(8, device), word(8, managed), word(8, pinned)), (0, 1, 0));
    assert_eq!((long(4, managed), long(4, pinned)), (managed, pinned));
    assert_ne!(long(7, device), long(7, managed));
}

pub fn pools() {
    primary();
    let (mut pointer, mut other, mut pool, mut bytes) = (1, 1, 0, 9);
    let device = allocate(64);
    steps! {
        0 => cuMemAllocAsync(&mut pointer, 64, NONE);
        0 => cuMemAllocAsync(&mut other, 0, NONE);
        0 => cuMemFree_v2(pointer);
        0 => cuMemAllocAsync(&mut pointer, 64, NONE);
        0 => cuMemFreeAsync(pointer, NONE);
        1 => cuMemFreeAsync(pointer, NONE);
        0 => cuMemFreeAsync(0, NONE);
        0 => cuMemFreeAsync(device, NONE);
        2 => cuMemAllocAsync(&mut pointer, 1 << 50, NONE);
        1 => cuMemAllocAsync(null_mut(), 1, NONE);
        0 => cuDeviceGetDefaultMemPool(&mut pool, 0);
        0 => cuMemAllocFromPoolAsync(&mut pointer, 64, pool, NONE);
        0 => cuMemFreeAsync(pointer, NONE);
        0 => cuMemPoolGetAttribute(pool, 4, &mut bytes);
        0 => cuMemPoolTrimTo(pool, 0);
        1 => cuMemPoolGetAttribute(pool, 99, &mut bytes);
        1 => cuMemPoolDestroy(pool);
    }
    assert_eq!((other, bytes), (0, 0));
    let (mut own, mut current, mut access, mut threshold) = (0, 0, 9, 4096);
    let mut properties = PoolProperties { kind: 1, location: [1, 0], ..PoolProperties::default() };
    steps! {
        0 => cuMemPoolCreate(&mut own, &properties);
        1 => cuMemPoolCreate(null_mut(), &properties);
        1 => cuMemPoolCreate(&mut own, null());
        0 => cuMemPoolSetAttribute(own, 4, &mut threshold);
        0 => cuMemPoolGetAttribute(own, 4, &mut bytes);
        1 => cuMemPoolSetAttribute(own, 7, &mut threshold);
        1 => cuMemPoolSetAttribute(own, 99, &mut threshold);
        0 => cuMemPoolGetAccess(&mut access, own, &[1, 0]);
        0 => cuDeviceSetMemPool(0, own);
        0 => cuDeviceGetMemPool(&mut current, 0);
        0 => cuMemPoolDestroy(own);
        0 => cuDeviceGetMemPool(&mut other_pool(), 0);
        1 => { properties.kind = 9; cuMemPoolCreate(&mut own, &properties) };
    }
    assert_eq!((bytes, access), (4096, 3));
    assert_ne!(current, pool);
}

/// Room for a handle that is not used.
fn other_pool() -> usize {
    0
}

pub fn virtual_memory() {
    const UNIT: usize = 2 << 20;
    primary();
    let store = kernel(kernels(), c"store");
    let (mut pointer, mut memory, mut value) = (0, 0, 0_u32);
    let properties = PoolProperties { kind: 1, location: [1, 0], ..PoolProperties::default() };
    let access = [1, 0, 3];
    steps! {
        1 => cuMemAddressReserve(&mut pointer, 4096, 0, 0, 0);
        1 => cuMemAddressReserve(null_mut(), UNIT, 0, 0, 0);
        0 => cuMemAddressReserve(&mut pointer, 2 * UNIT, 0, 0, 0);
        1 => cuMemCreate(&mut memory, 4096, &properties, 0);
        1 => cuMemCreate(null_mut(), UNIT, &properties, 0);
        0 => cuMemCreate(&mut memory, UNIT, &properties, 0);
        0 => cuMemMap(pointer, UNIT, 0, memory, 0);
        1 => cuMemMap(pointer, UNIT, 0, memory, 0);
        1 => cuMemSetAccess(pointer, 2 * UNIT, &access, 1);
        0 => cuMemSetAccess(pointer, UNIT, &access, 1);
    }
    let mut parameters = [(&raw const pointer).cast::<c_void>()];
    steps! {
        0 => cuLaunchKernel(store, 1, 1, 1, 1, 1, 1, 0, NONE, parameters.as_mut_ptr(), null_mut());
        0 => cuMemcpyDtoH_v2((&raw mut value).cast(), pointer, 4);
        1 => cuMemFree_v2(pointer);
        0 => cuMemRelease(memory);
        0 => cuMemUnmap(pointer, UNIT);
        1 => cuMemcpyDtoH_v2((&raw mut value).cast(), pointer, 4);
        0 => cuMemAddressFree(pointer, 2 * UNIT);
        1 => cuMemAddressFree(pointer, 2 * UNIT);
    }
    assert_eq!(value, 7);
}

/// What the software device keeps for itself is not the host's memory. NVIDIA's driver takes some of these addresses for
/// those of the host, and reads what is not there.
pub fn addresses_between_allocations() {
    const UNIT: usize = 2 << 20;
    primary();
    let (mut bytes, mut reserved, mut context) = ([5_u8; 256], 0, 0);
    let host = bytes.as_mut_ptr() as u64;
    let (first, second) = (allocate(256), allocate(256));
    steps! {
        0 => cuMemsetD8_v2(first, 1, 256);
        0 => cuMemsetD8_v2(second, 2, 256);
        0 => cuMemAddressReserve(&mut reserved, UNIT, 0, 0, 0);
        // Near misses: all of an allocation, in either direction, and the host's own.
        0 => cuMemcpy(first, host, 256);
        0 => cuMemcpy(host, second, 256);
        0 => cuMemcpy(host, host + 128, 128);
        soft {
            1 => cuMemcpy(first + (1 << 29), host, 64);
            1 => cuMemcpy(host, first + (1 << 29), 64);
            1 => cuMemcpy(first - 64, first, 128);
            1 => cuMemcpy(first + 128, second - 64, 128);
            1 => cuMemcpyHtoD_v2(first, (first - 64) as *const _, 128);
            1 => cuMemcpyDtoH_v2((second - 64) as *mut _, first, 128);
            1 => cuMemcpyAsync(first - 64, host, 128, NONE);
            1 => cuMemcpy(reserved, host, 64);
            1 => cuMemcpy(host, reserved + 4096, 64);
            1 => cuMemcpy(u64::MAX - 15, first, 32);
            1 => cuMemHostRegister_v2(first + (1 << 29), 4096, 0);
            1 => cuMemHostRegister_v2(reserved, 4096, 0);
        }
        0 => cuMemHostRegister_v2(host, 256, 0);
        0 => cuMemHostUnregister(host);
        0 => cuMemAddressFree(reserved, UNIT);
        0 => cuCtxGetCurrent(&mut context);
        0 => cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), first, 256);
    }
    assert_eq!(bytes, [5; 256], "no copy that was refused has changed anything");
}

/// A word is written in the order of a stream, and its memory may be gone by then: the stream fails as a kernel would.
pub fn a_word_of_unmapped_memory() {
    const UNIT: usize = 2 << 20;
    let context = primary();
    let (mut pointer, mut memory, mut stream, mut current) = (0, 0, 0, 0);
    let word = allocate(4);
    let properties = PoolProperties { kind: 1, location: [1, 0], ..PoolProperties::default() };
    steps! {
        0 => cuMemsetD32_v2(word, 0, 1);
        0 => cuStreamCreate(&mut stream, 1);
        0 => cuMemAddressReserve(&mut pointer, UNIT, 0, 0, 0);
        0 => cuMemCreate(&mut memory, UNIT, &properties, 0);
        0 => cuMemMap(pointer, UNIT, 0, memory, 0);
        0 => cuMemSetAccess(pointer, UNIT, &[1, 0, 3], 1);
        0 => cuStreamWaitValue32_v2(stream, word, 1, 1);
        0 => cuStreamWriteValue32_v2(stream, pointer, 7, 0);
        // Without a context, nothing is waited for.
        0 => cuCtxPopCurrent_v2(&mut current);
        0 => cuMemUnmap(pointer, UNIT);
        0 => cuCtxPushCurrent_v2(context);
        0 => cuMemsetD32_v2(word, 1, 1);
        soft {
            700 => cuStreamSynchronize(stream);
            700 => cuCtxSynchronize();
            0 => cuDevicePrimaryCtxReset_v2(0);
        }
    }
}
