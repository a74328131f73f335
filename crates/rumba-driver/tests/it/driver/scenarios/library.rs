//! Libraries and their kernels.

use super::*;

pub fn libraries() {
    let context = primary();
    let (mut library, mut count, mut one, mut same, mut function, mut module) = (0, 0, 0, 0, 0, 0);
    let none = null_mut();
    steps! {
        0 => cuLibraryLoadData(&mut library, KERNELS.as_ptr().cast(), null_mut(), null_mut(), 0, null_mut(), null_mut(), 0);
        1 => cuLibraryLoadData(none, KERNELS.as_ptr().cast(), null_mut(), null_mut(), 0, null_mut(), null_mut(), 0);
        1 => cuLibraryLoadData(&mut same, null(), null_mut(), null_mut(), 0, null_mut(), null_mut(), 0);
        0 => cuLibraryGetKernelCount(&mut count, library);
        0 => cuLibraryGetKernel(&mut one, library, c"two".as_ptr());
        0 => cuLibraryGetKernel(&mut same, library, c"two".as_ptr());
        500 => cuLibraryGetKernel(&mut function, library, c"three".as_ptr());
    }
    assert_eq!((count, one), (7, same));
    let mut kernels = [0; 7];
    let (mut name, mut offset, mut bytes, mut number, mut owner) = (null(), 0, 0, 0, 0);
    steps! {
        0 => cuLibraryEnumerateKernels(kernels.as_mut_ptr(), 7, library);
        0 => cuKernelGetName(&mut name, one);
        0 => cuKernelGetParamInfo(one, 1, &mut offset, &mut bytes);
        1 => cuKernelGetParamInfo(one, 2, &mut offset, &mut bytes);
        0 => cuKernelGetAttribute(&mut number, 0, one, 0);
        101 => cuKernelGetAttribute(&mut number, 0, one, 9);
        0 => cuKernelSetAttribute(8, 60_000, one, 0);
        0 => cuKernelGetLibrary(&mut owner, one);
        0 => cuKernelGetFunction(&mut function, one);
        0 => cuLibraryGetModule(&mut module, library);
    }
    // SAFETY: the call gave a string.
    assert_eq!(unsafe { CStr::from_ptr(name) }, c"two");
    assert_eq!((offset, bytes, number, owner), (8, 8, 1024, library));
    assert!(kernels.contains(&one));
    let mut listed = [0; 7];
    let mut variable = 0;
    steps! {
        0 => cuModuleEnumerateFunctions(listed.as_mut_ptr(), 7, module);
        0 => cuLibraryGetGlobal(&mut variable, &mut bytes, library, c"variable".as_ptr());
        500 => cuLibraryGetGlobal(&mut variable, &mut bytes, library, c"nothing here".as_ptr());
    }
    assert_eq!(bytes, 12);
    assert!(listed.contains(&function));
    // A kernel can be launched without asking for its function.
    let (value, mut result) = (3_u32, 0_u32);
    let pointer = allocate(4);
    let mut parameters = [(&raw const value).cast::<c_void>(), (&raw const pointer).cast()];
    steps! {
        0 => cuLaunchKernel(one, 1, 1, 1, 1, 1, 1, 0, NONE, parameters.as_mut_ptr(), null_mut());
        0 => cuMemcpyDtoH_v2((&raw mut result).cast(), pointer, 4);
    }
    assert_eq!(result, 3);
    // In another context it is another function.
    let mut created = 0;
    steps! {
        0 => cuCtxCreate_v2(&mut created, 0, 0);
        0 => cuKernelGetFunction(&mut same, one);
        0 => cuCtxDestroy_v2(created);
        0 => cuCtxSetCurrent(context);
        0 => cuLibraryUnload(library);
        // NVIDIA's driver reads memory of the library after freeing it.
        soft { 400 => cuLibraryUnload(library); }
    }
    assert_ne!(same, function);
}
