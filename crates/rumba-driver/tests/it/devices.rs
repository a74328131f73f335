//! Several software devices, and such of an older generation: `RUMBA_SOFT_DEVICES`, `RUMBA_SOFT_ARCH`.

use std::ffi::{c_char, c_int, c_uint, c_void};

use rumba_driver as _;

use test_processes::{Outcome, alone};

use crate::driver::abi::{LaunchAttribute, LaunchConfig, cuLaunchKernelEx};

unsafe extern "C" {
    fn cuInit(flags: c_uint) -> c_int;
    fn cuDeviceGetCount(count: *mut c_int) -> c_int;
    fn cuDeviceGetAttribute(value: *mut c_int, number: c_int, device: c_int) -> c_int;
    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) -> c_int;
    fn cuModuleLoadData(module: *mut usize, image: *const c_void) -> c_int;
    fn cuModuleGetFunction(function: *mut usize, module: usize, name: *const c_char) -> c_int;
    fn cuFuncSetAttribute(function: usize, number: c_int, value: c_int) -> c_int;
    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) -> c_int;
    fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, peer: c_int) -> c_int;
    fn cuDevicePrimaryCtxRetain(context: *mut usize, device: c_int) -> c_int;
    fn cuCtxSetCurrent(context: usize) -> c_int;
    fn cuCtxGetDevice(device: *mut c_int) -> c_int;
    fn cuCtxEnablePeerAccess(peer: usize, flags: c_uint) -> c_int;
    fn cuCtxDisablePeerAccess(peer: usize) -> c_int;
    fn cuMemAlloc_v2(pointer: *mut u64, bytes: usize) -> c_int;
    fn cuMemsetD32_v2(pointer: u64, value: c_uint, count: usize) -> c_int;
    fn cuMemcpyPeer(target: u64, to: usize, source: u64, from: usize, bytes: usize) -> c_int;
    fn cuMemcpyDtoH_v2(target: *mut c_void, source: u64, bytes: usize) -> c_int;
    fn cuPointerGetAttribute(data: *mut c_void, number: c_int, pointer: u64) -> c_int;
}

/// The numbers are those of the CUDA C++ Programming Guide, "Compute Capabilities", for 8.6.
#[test]
fn a_device_of_an_older_generation_has_its_limits() {
    if alone(&[("RUMBA_DEVICE", "soft"), ("RUMBA_SOFT_ARCH", "8.6")], || Ok(())).is_some() {
        return;
    }
    const KERNEL: &[u8] = b".version 7.1 .target sm_86 .address_size 64 .visible .entry k() { ret; }\0";
    let cluster = LaunchAttribute {
        id: 4,
        padding: 0,
        // Words of 32 bits: 2, 1 and 1.
        value: [1 << 32 | 2, 1, 0, 0, 0, 0, 0, 0],
    };
    let config = LaunchConfig {
        grid: [2, 1, 1],
        block: [32, 1, 1],
        shared: 0,
        stream: 0,
        attributes: &raw const cluster,
        count: 1,
    };
    let (mut major, mut minor, mut value) = (0, 0, 0);
    let (mut context, mut module, mut function) = (0, 0, 0);
    // SAFETY: the calls are declared as in cuda.h and get pointers to local variables and to text that ends with NUL.
    unsafe {
        assert_eq!(cuInit(0), 0);
        assert_eq!(cuDeviceComputeCapability(&raw mut major, &raw mut minor, 0), 0);
        assert_eq!((major, minor), (8, 6));
        for (number, expected) in
            [(39, 1536), (75, 8), (76, 6), (81, 100 << 10), (97, 99 << 10), (106, 16), (111, 1024), (120, 0)]
        {
            assert_eq!(cuDeviceGetAttribute(&raw mut value, number, 0), 0);
            assert_eq!(value, expected, "attribute {number}");
        }
        assert_eq!(cuDevicePrimaryCtxRetain(&raw mut context, 0), 0);
        assert_eq!(cuCtxSetCurrent(context), 0);
        assert_eq!(cuModuleLoadData(&raw mut module, KERNEL.as_ptr().cast()), 0);
        assert_eq!(cuModuleGetFunction(&raw mut function, module, c"k".as_ptr()), 0);
        assert_eq!(cuFuncSetAttribute(function, 8, 99 << 10), 0);
        assert_eq!(cuFuncSetAttribute(function, 8, (99 << 10) + 1), 1);
        // CUDA_ERROR_INVALID_CLUSTER_SIZE
        let launched = cuLaunchKernelEx(&raw const config, function, std::ptr::null_mut(), std::ptr::null_mut());
        assert_eq!(launched, 912);
        // CUDA_ERROR_INVALID_PTX: it is for newer devices.
        let newer = String::from_utf8_lossy(KERNEL).replace("7.1 .target sm_86", "8.0 .target sm_90");
        assert_eq!(cuModuleLoadData(&raw mut module, newer.as_ptr().cast()), 218);
    }
}

/// The numbers are those of the same table for 10.0.
#[test]
fn a_device_of_capability_10_has_its_limits() {
    newer("10.0", 10, [(39, 2048), (81, 228 << 10), (97, 227 << 10), (106, 32), (120, 1)]);
}

/// The numbers are those of the same table for 12.0.
#[test]
fn a_device_of_capability_12_has_its_limits() {
    newer("sm_120", 12, [(39, 1536), (81, 100 << 10), (97, 99 << 10), (106, 24), (120, 1)]);
}

/// Compares the attributes of a newer device, and loads texts for its architecture, for older ones and for another one.
fn newer(asked: &str, capability: c_int, limits: [(c_int, c_int); 5]) {
    alone(&[("RUMBA_DEVICE", "soft"), ("RUMBA_SOFT_ARCH", asked)], || {
        let text =
            |target: &str| format!(".version 8.8 .target {target} .address_size 64 .visible .entry k() {{ ret; }}\0");
        let (mut major, mut minor, mut value, mut context, mut module) = (0, 0, 0, 0, 0);
        // SAFETY: the calls are declared as in cuda.h and get pointers to local variables and to text that ends with NUL.
        unsafe {
            assert_eq!(cuInit(0), 0);
            assert_eq!(cuDeviceComputeCapability(&raw mut major, &raw mut minor, 0), 0);
            assert_eq!((major, minor), (capability, 0));
            for (number, expected) in limits {
                assert_eq!(cuDeviceGetAttribute(&raw mut value, number, 0), 0);
                assert_eq!(value, expected, "attribute {number}");
            }
            assert_eq!(cuDevicePrimaryCtxRetain(&raw mut context, 0), 0);
            assert_eq!(cuCtxSetCurrent(context), 0);
            let own = ["", "a", "f"].map(|variant| format!("sm_{capability}0{variant}"));
            for target in own.iter().map(String::as_str).chain(["sm_90", "sm_100"]) {
                assert_eq!(cuModuleLoadData(&raw mut module, text(target).as_ptr().cast()), 0, "{target}");
            }
            assert_eq!(cuModuleLoadData(&raw mut module, text("sm_90a").as_ptr().cast()), 218);
        }
        Ok(())
    });
}

#[test]
fn devices_have_an_identity_and_contexts_of_their_own() {
    alone(&[("RUMBA_DEVICE", "soft"), ("RUMBA_SOFT_DEVICES", "3")], identities_and_contexts);
}

fn identities_and_contexts() -> Outcome {
    let (mut count, mut can, mut device, mut value) = (0, 0, 0, 0_u32);
    let (mut contexts, mut pointers, mut ids) = ([0; 3], [0; 3], [[0; 16]; 3]);
    // SAFETY: the calls are declared as in cuda.h and get pointers to local variables.
    unsafe {
        assert_eq!((cuInit(0), cuDeviceGetCount(&raw mut count), count), (0, 0, 3));
        for index in 0..3 {
            assert_eq!(cuDeviceGetUuid_v2(&raw mut ids[index], index as c_int), 0);
            assert_eq!(cuDevicePrimaryCtxRetain(&raw mut contexts[index], index as c_int), 0);
            assert_eq!(cuCtxSetCurrent(contexts[index]), 0);
            assert_eq!((cuCtxGetDevice(&raw mut device), device), (0, index as c_int));
            assert_eq!(cuMemAlloc_v2(&raw mut pointers[index], 4), 0);
            assert_eq!(cuMemsetD32_v2(pointers[index], index as c_uint, 1), 0);
        }
        assert_eq!(cuDevicePrimaryCtxRetain(&raw mut contexts[0], 3), 101);
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && contexts[0] != contexts[1]);
        assert_eq!((cuDeviceCanAccessPeer(&raw mut can, 0, 1), can), (0, 1));
        assert_eq!((cuDeviceCanAccessPeer(&raw mut can, 1, 1), can), (0, 0));
        // The last context is current.
        assert_eq!(cuCtxDisablePeerAccess(contexts[0]), 705);
        assert_eq!(cuCtxEnablePeerAccess(contexts[0], 0), 0);
        assert_eq!(cuCtxEnablePeerAccess(contexts[0], 0), 704);
        assert_eq!(cuCtxEnablePeerAccess(contexts[2], 0), 101);
        assert_eq!(cuCtxDisablePeerAccess(contexts[0]), 0);
        assert_eq!(cuMemcpyPeer(pointers[0], contexts[0], pointers[2], contexts[2], 4), 0);
        assert_eq!(cuMemcpyDtoH_v2((&raw mut value).cast(), pointers[0], 4), 0);
        assert_eq!(cuPointerGetAttribute((&raw mut device).cast(), 9, pointers[1]), 0);
    }
    assert_eq!((value, device), (2, 1));
    Ok(())
}
