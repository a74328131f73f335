//! Modules, images, links.

use super::*;

pub fn modules() {
    primary();
    let module = kernels();
    let (mut function, mut same, mut pointer, mut bytes, mut count) = (0, 0, 0, 0, 0);
    steps! {
        500 => cuModuleGetFunction(&mut function, module, c"nope".as_ptr());
        1 => cuModuleGetFunction(&mut function, module, c"".as_ptr());
        1 => cuModuleGetFunction(&mut function, module, null());
        1 => cuModuleGetFunction(null_mut(), module, c"nothing".as_ptr());
        400 => cuModuleGetFunction(&mut function, NONE, c"nothing".as_ptr());
        // NVIDIA's driver reads at that address.
        soft { 400 => cuModuleGetFunction(&mut function, 0xdead, c"nothing".as_ptr()); }
        0 => cuModuleGetFunction(&mut function, module, c"nothing".as_ptr());
        0 => cuModuleGetFunction(&mut same, module, c"nothing".as_ptr());
        0 => cuModuleGetFunctionCount(&mut count, module);
    }
    assert_eq!((function, count), (same, 7));
    let mut data = [1_u32, 2, 3];
    steps! {
        0 => cuModuleGetGlobal_v2(&mut pointer, &mut bytes, module, c"variable".as_ptr());
        0 => cuModuleGetGlobal_v2(null_mut(), &mut bytes, module, c"variable".as_ptr());
        0 => cuModuleGetGlobal_v2(&mut pointer, null_mut(), module, c"variable".as_ptr());
        1 => cuModuleGetGlobal_v2(null_mut(), null_mut(), module, c"variable".as_ptr());
        0 => cuMemcpyHtoD_v2(pointer, data.as_ptr().cast(), 12);
        0 => cuMemsetD32_v2(pointer, 9, 1);
        0 => cuMemcpyDtoH_v2(data.as_mut_ptr().cast(), pointer, 12);
        1 => cuMemcpyDtoH_v2(data.as_mut_ptr().cast(), pointer, 4096);
        500 => cuModuleGetGlobal_v2(&mut pointer, null_mut(), module, c"nope".as_ptr());
        1 => cuModuleGetGlobal_v2(&mut pointer, null_mut(), module, null());
        400 => cuModuleGetGlobal_v2(&mut pointer, null_mut(), NONE, c"variable".as_ptr());
        0 => cuModuleUnload(module);
        400 => cuModuleUnload(module);
        400 => cuModuleUnload(NONE);
        // NVIDIA's driver reads at that address.
        soft { 400 => cuModuleUnload(0xdead); }
        400 => launch(function);
    }
    assert_eq!((bytes, data), (12, [9, 2, 3]));
}

/// Loads a text without adding anything to it.
unsafe fn load(text: &CStr) -> c_int {
    let mut module = 0;
    // SAFETY: the text is NUL-terminated.
    unsafe { cuModuleLoadData(&mut module, text.as_ptr().cast()) }
}

/// Options for an error log, and the values that hold it.
struct Log {
    text: [u8; 512],
    options: [c_int; 2],
    values: [usize; 2],
}

impl Log {
    const ERROR_LOG_BUFFER: c_int = 5;
    const ERROR_LOG_BUFFER_SIZE_BYTES: c_int = 6;

    fn new(bytes: usize) -> Box<Self> {
        let options = [Self::ERROR_LOG_BUFFER, Self::ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut log = Box::new(Self { text: [0; 512], options, values: [0, bytes] });
        log.values[0] = log.text.as_mut_ptr() as usize;
        log
    }

    fn text(&self) -> String {
        CStr::from_bytes_until_nul(&self.text).expect("the log ends").to_string_lossy().into_owned()
    }
}

pub fn images() {
    primary();
    let mut module = 0;
    let (mut option, mut value) = (9999, 0);
    let mut elf = [0_u8; 4096];
    elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    steps! {
        222 => load(c".version 99.0\n.target sm_70\n.address_size 64\n");
        200 => load(c"");
        200 => load(c"hello");
        0 => load(c".version 7.0\n.target sm_70\n.address_size 64\n");
        218 => load(c".version 6.0\n.target sm_70\n.address_size 64\n.visible .entry k(){ .reg .b64 %r; mov.u64 %r, nowhere; ret; }");
        218 => load(c".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(");
        200 => cuModuleLoadData(&mut module, elf.as_ptr().cast());
        1 => cuModuleLoadData(&mut module, null());
        1 => cuModuleLoadData(null_mut(), KERNELS.as_ptr().cast());
        1 => cuModuleLoadDataEx(&mut module, null(), 0, null_mut(), null_mut());
        1 => cuModuleLoadDataEx(&mut module, KERNELS.as_ptr().cast(), 1, null_mut(), null_mut());
        1 => cuModuleLoadDataEx(&mut module, KERNELS.as_ptr().cast(), 1, &mut option, &mut value);
        301 => cuModuleLoad(&mut module, c"/nonexistent".as_ptr());
        1 => cuModuleLoad(&mut module, null());
    }
    let bad = c".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(){ bogus.u32 %r; ret; }\n";
    let mut log = Log::new(512);
    let (options, values) = (log.options.as_mut_ptr(), log.values.as_mut_ptr());
    steps! { 218 => cuModuleLoadDataEx(&mut module, bad.as_ptr().cast(), 2, options, values); }
    assert!(log.text().contains("bogus"), "{}", log.text());
    assert_eq!(log.values[1], log.text().len());
    let mut log = Log::new(40);
    let (options, values) = (log.options.as_mut_ptr(), log.values.as_mut_ptr());
    steps! { 218 => cuModuleLoadDataEx(&mut module, bad.as_ptr().cast(), 2, options, values); }
    assert_eq!((log.text().len(), log.values[1]), (39, 40));
    let mut log = Log::new(512);
    let (options, values) = (log.options.as_mut_ptr(), log.values.as_mut_ptr());
    steps! { 0 => cuModuleLoadDataEx(&mut module, KERNELS.as_ptr().cast(), 2, options, values); }
    assert_eq!((log.text().as_str(), log.values[1]), ("", 0));
}

pub fn links() {
    const PTX: c_int = 1;
    primary();
    let (mut link, mut size, mut module, mut value) = (0, 0, 0, 0_u32);
    let mut image = null();
    let kernels = KERNELS.as_ptr().cast();
    let add = |link, kind, data: *const c_void, size| {
        // SAFETY: the text is as long as the caller says.
        unsafe { cuLinkAddData_v2(link, kind, data, size, c"text".as_ptr(), 0, null_mut(), null_mut()) }
    };
    steps! {
        0 => cuLinkCreate_v2(0, null_mut(), null_mut(), &mut link);
        0 => cuLinkComplete(link, &mut image, &mut size);
        0 => cuLinkDestroy(link);
        1 => cuLinkCreate_v2(0, null_mut(), null_mut(), null_mut());
        0 => cuLinkCreate_v2(0, null_mut(), null_mut(), &mut link);
        0 => add(link, PTX, kernels, KERNELS.len());
        200 => add(link, PTX, c"junk".as_ptr().cast(), 5);
        1 => add(link, 99, kernels, KERNELS.len());
        1 => add(link, PTX, null(), 5);
        1 => add(link, PTX, kernels, 0);
        301 => cuLinkAddFile_v2(link, PTX, c"/nonexistent".as_ptr(), 0, null_mut(), null_mut());
        0 => cuLinkComplete(link, &mut image, &mut size);
        400 => cuLinkComplete(link, &mut image, &mut size);
        1 => add(link, PTX, kernels, KERNELS.len());
        0 => cuModuleLoadData(&mut module, image);
        0 => cuLinkDestroy(link);
        400 => cuLinkDestroy(NONE);
    }
    assert!(size > 0);
    let nothing = kernel(module, c"nothing");
    steps! {
        0 => launch(nothing);
        0 => cuModuleUnload(module);
    }
    // Two texts, one of which calls a function of the other.
    let caller = c".version 7.0\n.target sm_70\n.address_size 64\n.extern .func (.param .b32 r) seven();\n\
        .visible .entry k(.param .u64 p){ .reg .b64 %p; .reg .b32 %v; ld.param.u64 %p, [p];\n\
        { .param .b32 r; call (r), seven; ld.param.b32 %v, [r]; } st.global.u32 [%p], %v; ret; }\n";
    let callee = c".version 7.0\n.target sm_70\n.address_size 64\n\
        .visible .func (.param .b32 r) seven(){ .reg .b32 %v; mov.u32 %v, 7; st.param.b32 [r], %v; ret; }\n";
    let pointer = allocate(4);
    steps! {
        0 => cuLinkCreate_v2(0, null_mut(), null_mut(), &mut link);
        0 => add(link, PTX, caller.as_ptr().cast(), caller.count_bytes() + 1);
        0 => add(link, PTX, callee.as_ptr().cast(), callee.count_bytes() + 1);
        0 => cuLinkComplete(link, &mut image, &mut size);
        0 => cuModuleLoadData(&mut module, image);
        0 => cuLinkDestroy(link);
    }
    let k = kernel(module, c"k");
    let mut parameters = [(&raw const pointer).cast()];
    steps! {
        0 => launch_with(k, [1; 3], [1; 3], 0, parameters.as_mut_ptr(), null_mut());
        0 => cuMemcpyDtoH_v2((&raw mut value).cast(), pointer, 4);
    }
    assert_eq!(value, 7);
}
