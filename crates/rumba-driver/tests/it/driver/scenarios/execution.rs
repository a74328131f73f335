//! Functions, launches, occupancy.

use super::*;

pub fn functions() {
    primary();
    let module = kernels();
    let (nothing, sharing, two) = (kernel(module, c"nothing"), kernel(module, c"sharing"), kernel(module, c"two"));
    let (mut number, mut offset, mut bytes, mut same) = (0, 9, 9, 0);
    let attribute = |number, function| {
        let mut value = -99;
        steps! { 0 => cuFuncGetAttribute(&mut value, number, function); }
        value
    };
    assert_eq!(attribute(0, nothing), 1024);
    assert_eq!(attribute(0, kernel(module, c"limited")), 64);
    assert_eq!((attribute(1, nothing), attribute(1, sharing)), (0, 1024));
    assert_eq!(attribute(3, nothing), 0);
    assert!((1..=255).contains(&attribute(4, two)));
    assert_eq!((attribute(5, nothing), attribute(6, nothing)), (70, 90));
    // The version of PTX is that of the target, not that of the language.
    for (ptx, version) in [
        (c".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k() { ret; }", 80),
        (c".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }", 90),
    ] {
        let mut module = 0;
        steps! { 0 => cuModuleLoadData(&mut module, ptx.as_ptr().cast()); }
        assert_eq!(attribute(5, kernel(module, c"k")), version, "{ptx:?}");
        steps! { 0 => cuModuleUnload(module); }
    }
    assert_eq!((attribute(8, nothing), attribute(9, nothing)), (48 << 10, -1));
    assert_eq!(attribute(8, sharing), 47 << 10);
    steps! {
        1 => cuFuncGetAttribute(null_mut(), 0, nothing);
        1 => cuFuncGetAttribute(&mut number, 99, nothing);
        400 => cuFuncGetAttribute(&mut number, 0, NONE);
        0 => cuFuncSetAttribute(nothing, 8, 60_000);
        1 => cuFuncSetAttribute(nothing, 8, 300_000);
        1 => cuFuncSetAttribute(sharing, 8, 232_448);
        0 => cuFuncSetAttribute(sharing, 8, 232_448 - 1024);
        1 => cuFuncSetAttribute(nothing, 8, -1);
        1 => cuFuncSetAttribute(nothing, 0, 1);
        0 => cuFuncSetAttribute(nothing, 9, 50);
        1 => cuFuncSetAttribute(nothing, 9, 101);
        0 => cuFuncSetAttribute(nothing, 9, -1);
        0 => cuFuncSetCacheConfig(nothing, 1);
        1 => cuFuncSetCacheConfig(nothing, 9);
        0 => cuFuncSetSharedMemConfig(nothing, 1);
        1 => cuFuncSetSharedMemConfig(nothing, 7);
        0 => cuFuncGetModule(&mut same, nothing);
        0 => cuFuncGetParamInfo(two, 1, &mut offset, &mut bytes);
        1 => cuFuncGetParamInfo(two, 2, &mut offset, &mut bytes);
    }
    assert_eq!((same, offset, bytes), (module, 8, 8));
}

pub fn launches() {
    let context = primary();
    let module = kernels();
    let (nothing, sharing, limited) =
        (kernel(module, c"nothing"), kernel(module, c"sharing"), kernel(module, c"limited"));
    let run = |function, grid, block, shared| {
        // SAFETY: these kernels take no parameters.
        unsafe { launch_with(function, grid, block, shared, null_mut(), null_mut()) }
    };
    steps! {
        400 => launch(NONE);
        // NVIDIA's driver reads at that address.
        soft { 400 => launch(0xdead); }
        0 => run(nothing, [1, 1, 1], [1, 1, 1], 0);
        0 => run(nothing, [3, 2, 2], [8, 8, 16], 0);
        1 => run(nothing, [0, 1, 1], [1, 1, 1], 0);
        1 => run(nothing, [1, 1, 1], [0, 1, 1], 0);
        1 => run(nothing, [1, 1, 1], [1025, 1, 1], 0);
        1 => run(nothing, [1, 1, 1], [2048, 1, 1], 0);
        1 => run(nothing, [1, 1, 1], [64, 32, 1], 0);
        1 => run(nothing, [1, 1, 1], [1, 1, 65], 0);
        1 => run(nothing, [1, 65_536, 1], [1, 1, 1], 0);
        1 => run(nothing, [1, 1, 65_536], [1, 1, 1], 0);
        1 => run(nothing, [0x8000_0000, 1, 1], [1, 1, 1], 0);
        1 => run(nothing, [1, 1, 1], [1, 1, 1], 48 * 1024 + 1);
        0 => cuFuncSetAttribute(nothing, 8, 60_000);
        0 => run(nothing, [1, 1, 1], [1, 1, 1], 60_000);
        1 => run(nothing, [1, 1, 1], [1, 1, 1], 60_001);
        1 => run(nothing, [1, 1, 1], [1, 1, 1], 300_000);
        0 => run(sharing, [1, 1, 1], [1, 1, 1], 47 * 1024);
        1 => run(sharing, [1, 1, 1], [1, 1, 1], 47 * 1024 + 1);
        1 => run(limited, [1, 1, 1], [65, 1, 1], 0);
        0 => run(limited, [1, 1, 1], [64, 1, 1], 0);
        0 => cuLaunchCooperativeKernel(nothing, 1, 1, 1, 32, 1, 1, 0, NONE, null_mut());
        720 => cuLaunchCooperativeKernel(nothing, 1_000_000, 1, 1, 32, 1, 1, 0, NONE, null_mut());
        1 => cuLaunchCooperativeKernel(nothing, 1, 1, 1, 2048, 1, 1, 0, NONE, null_mut());
        0 => cuCtxSynchronize();
    }
    // A function runs in streams of its own context only.
    let (mut created, mut foreign, mut stream, mut event) = (0, 0, 0, 0);
    steps! {
        0 => cuCtxCreate_v2(&mut created, 0, 0);
        0 => cuStreamCreate(&mut stream, 0);
        0 => cuEventCreate(&mut event, 0);
        0 => cuModuleLoadData(&mut foreign, KERNELS.as_ptr().cast());
    }
    let foreign = kernel(foreign, c"nothing");
    steps! {
        0 => cuCtxSetCurrent(context);
        400 => launch(foreign);
        0 => cuLaunchKernel(foreign, 1, 1, 1, 1, 1, 1, 0, stream, null_mut(), null_mut());
        400 => cuEventRecord(event, NONE);
        0 => cuEventRecord(event, stream);
        0 => cuStreamSynchronize(stream);
        0 => cuCtxDestroy_v2(created);
    }
}

pub fn parameters() {
    const END: *const c_void = std::ptr::null();
    const BUFFER_POINTER: *const c_void = std::ptr::without_provenance(1);
    const BUFFER_SIZE: *const c_void = std::ptr::without_provenance(2);
    primary();
    let module = kernels();
    let (store, two) = (kernel(module, c"store"), kernel(module, c"two"));
    let pointer = allocate(4);
    let mut value = 0_u32;
    let run = |function, parameters: *mut *const c_void, extra: *mut *const c_void| {
        // SAFETY: the scenario passes what the kernel takes, or what has to be refused.
        unsafe { launch_with(function, [1; 3], [1; 3], 0, parameters, extra) }
    };
    let mut read = || {
        steps! {
            0 => cuMemcpyDtoH_v2((&raw mut value).cast(), pointer, 4);
            0 => cuMemsetD32_v2(pointer, 0, 1);
        }
        value
    };
    let (number, mut size) = (5_u32, 8_usize);
    let mut parameters = [(&raw const pointer).cast()];
    let mut both = [(&raw const number).cast(), (&raw const pointer).cast()];
    let block = [pointer, 0];
    let size_at = &raw mut size;
    let mut extra = [BUFFER_POINTER, block.as_ptr().cast(), BUFFER_SIZE, size_at.cast_const().cast(), END];
    steps! { 0 => run(store, parameters.as_mut_ptr(), null_mut()); }
    assert_eq!(read(), 7);
    steps! { 0 => run(two, both.as_mut_ptr(), null_mut()); }
    assert_eq!(read(), 5);
    steps! { 0 => run(store, null_mut(), extra.as_mut_ptr()); }
    assert_eq!(read(), 7);
    steps! {
        1 => run(store, null_mut(), null_mut());
        1 => run(store, parameters.as_mut_ptr(), extra.as_mut_ptr());
    }
    // SAFETY: the variable lives until the end of the scenario.
    let set_size = |bytes| unsafe { size_at.write(bytes) };
    set_size(16);
    steps! { 701 => run(store, null_mut(), extra.as_mut_ptr()); }
    set_size(0);
    steps! {
        1 => run(store, null_mut(), extra.as_mut_ptr());
        // NVIDIA's driver reads the parameters although the size given is 0.
        soft {
            1 => { set_size(4); run(store, null_mut(), extra.as_mut_ptr()) };
            1 => { parameters[0] = END; run(store, parameters.as_mut_ptr(), null_mut()) };
        }
    }
    extra[0] = std::ptr::without_provenance(9);
    steps! { 1 => run(store, null_mut(), extra.as_mut_ptr()); }
    extra[0] = END;
    steps! {
        1 => run(store, null_mut(), extra.as_mut_ptr());
        0 => cuCtxSynchronize();
    }
}

pub fn occupancy() {
    primary();
    let module = kernels();
    let (nothing, sharing) = (kernel(module, c"nothing"), kernel(module, c"sharing"));
    let (mut blocks, mut grid, mut block, mut bytes, mut multiprocessors) = (0, 0, 0, 0, 0);
    let mut resident = |function, threads, shared| {
        steps! { 0 => cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut blocks, function, threads, shared); }
        blocks
    };
    assert_eq!(resident(nothing, 128, 0), 16);
    assert_eq!(resident(nothing, 2048, 0), 0);
    assert_eq!(resident(nothing, 1, 0), 32);
    assert_eq!(resident(nothing, 1, 300_000), 0);
    assert_eq!(resident(sharing, 1024, 40_000), 2);
    steps! {
        1 => cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut grid, nothing, 0, 0);
        1 => cuOccupancyMaxActiveBlocksPerMultiprocessor(null_mut(), nothing, 32, 0);
        400 => cuOccupancyMaxActiveBlocksPerMultiprocessor(&mut grid, NONE, 32, 0);
        0 => cuDeviceGetAttribute(&mut multiprocessors, 16, 0);
        0 => cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, nothing, None, 0, 0);
        1 => cuOccupancyMaxPotentialBlockSize(null_mut(), &mut block, nothing, None, 0, 0);
    }
    assert_eq!((grid, block), (2 * multiprocessors, 1024));
    steps! { 0 => cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, nothing, None, 0, 200); }
    assert_eq!((grid, block), (16 * multiprocessors, 128));
    extern "C" fn shared_of_block(threads: c_int) -> usize {
        if threads > 256 { 300_000 } else { 0 }
    }
    steps! { 0 => cuOccupancyMaxPotentialBlockSize(&mut grid, &mut block, nothing, Some(shared_of_block), 0, 0); }
    assert_eq!((grid, block), (8 * multiprocessors, 256));
    for (count, expected) in [(1, 49_152), (4, 49_152), (16, 14_592)] {
        steps! { 0 => cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, nothing, count, 128); }
        assert_eq!(bytes, expected, "{count}");
    }
    steps! {
        1 => cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, nothing, 99, 128);
        1 => cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, nothing, 0, 128);
        1 => cuOccupancyAvailableDynamicSMemPerBlock(&mut bytes, nothing, 1, 0);
    }
    let attribute = |blocks| LaunchAttribute { id: 4, padding: 0, value: [blocks | 1 << 32, 1, 0, 0, 0, 0, 0, 0] };
    let clusters = |blocks: u64| {
        let (attribute, mut clusters, mut size) = (attribute(blocks), 0, 0);
        let config = LaunchConfig {
            grid: [blocks as u32, 1, 1],
            block: [1024, 1, 1],
            shared: 0,
            stream: NONE,
            attributes: &raw const attribute,
            count: 1,
        };
        steps! {
            0 => cuOccupancyMaxActiveClusters(&mut clusters, nothing, &config);
            0 => cuOccupancyMaxPotentialClusterSize(&mut size, nothing, &config);
            1 => cuOccupancyMaxActiveClusters(null_mut(), nothing, &config);
            1 => cuOccupancyMaxActiveClusters(&mut size, NONE, &config);
            1 => cuOccupancyMaxPotentialClusterSize(&mut size, NONE, &config);
        }
        (clusters, size)
    };
    // Two blocks of 1024 threads for each multiprocessor. How many of these are in reach of each other depends on the device.
    assert_eq!(clusters(1), (2 * multiprocessors, 8));
    assert!(multiprocessors >= 100);
    for blocks in [2, 4, 8] {
        let (found, _) = clusters(blocks);
        let most = 2 * multiprocessors / blocks as c_int;
        assert!((most * 3 / 4..=most).contains(&found), "{found} clusters of {blocks}");
    }
    let mut size = 0;
    let attribute = attribute(16);
    let config = LaunchConfig {
        grid: [16, 1, 1],
        block: [1024, 1, 1],
        shared: 0,
        stream: NONE,
        attributes: &raw const attribute,
        count: 1,
    };
    steps! {
        912 => cuOccupancyMaxActiveClusters(&mut grid, nothing, &config);
        0 => cuFuncSetAttribute(nothing, 14, 1);
        0 => cuOccupancyMaxActiveClusters(&mut grid, nothing, &config);
        0 => cuOccupancyMaxPotentialClusterSize(&mut size, nothing, &config);
    }
    assert!(grid > 0 && size == 16, "{grid} clusters of 16, and {size} blocks in one");
    let config = LaunchConfig { count: 0, ..config };
    steps! { 0 => cuOccupancyMaxActiveClusters(&mut grid, nothing, &config); }
    assert_eq!(grid, 0, "clusters of a launch without clusters");
}
