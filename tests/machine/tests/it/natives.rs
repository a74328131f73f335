//! Functions that the machine provides: `vprintf`, `malloc`, `free`.

use std::sync::{Arc, Mutex};

use crate::common::{Bench, kernel, u32s};
use rumba_vm::{AllocationKind, FaultKind};

/// A string as PTX bytes.
fn bytes(text: &str) -> String {
    text.bytes().map(|byte| byte.to_string()).chain(["0".to_owned()]).collect::<Vec<_>>().join(", ")
}

fn printed(ptx: &str, grid: u32, block: u32) -> String {
    let bench = Bench::new(ptx);
    let text = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&text);
    bench.device.set_output(Box::new(move |part| sink.lock().unwrap().extend_from_slice(part)));
    let out = bench.zeros(4096);
    bench.run("k", grid, block, &[out.into(), 0u32.into()]).unwrap();
    let text = text.lock().unwrap();
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn vprintf_formats_packed_arguments() {
    let format = "thread %d: %s %c %5.2f 0x%llx|%%\n";
    let declarations = format!(
        ".extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);
.global .align 1 .b8 format[{}] = {{{}}};
.global .align 1 .b8 name[4] = {{{}}};",
        format.len() + 1,
        bytes(format),
        bytes("abc")
    );
    let body = "
        .local .align 8 .b8 depot[40];
        .reg .b64 %SP;
        mov.b64 %rd10, depot;
        cvta.local.u64 %SP, %rd10;
        st.b32 [%SP], %r2;
        mov.u64 %rd11, name;
        cvta.global.u64 %rd11, %rd11;
        st.b64 [%SP+8], %rd11;
        st.b32 [%SP+16], 65;
        mov.f64 %fd1, 0d3FF8000000000000;
        st.f64 [%SP+24], %fd1;
        mov.u64 %rd12, 0x123456789ab;
        st.b64 [%SP+32], %rd12;
        mov.u64 %rd13, format;
        { .param .b64 param0; .param .b64 param1; .param .b32 retval0;
          st.param.b64 [param0], %rd13;
          st.param.b64 [param1], %SP;
          call.uni (retval0), vprintf, (param0, param1);
          ld.param.b32 %r10, [retval0]; }
        st.global.u32 [%rd2], %r10;";
    let text = printed(&kernel(&declarations, body), 1, 3);
    assert_eq!(
        text,
        "thread 0: abc A  1.50 0x123456789ab|%\nthread 1: abc A  1.50 0x123456789ab|%\nthread 2: abc A  1.50 \
         0x123456789ab|%\n"
    );
}

const HEAP: &str = "
.extern .func (.param .b64 result) malloc(.param .b64 bytes);
.extern .func free(.param .b64 pointer);";

const ALLOCATE: &str = "
    { .param .b64 param0; .param .b64 retval0;
      st.param.b64 [param0], 16;
      call.uni (retval0), malloc, (param0);
      ld.param.b64 %rd10, [retval0]; }
    st.u32 [%rd10+12], %r4;";

#[test]
fn kernels_allocate_and_free() {
    let body = format!(
        "{ALLOCATE}
        ld.u32 %r10, [%rd10+12];
        st.global.u32 [%rd2], %r10;
        {{ .param .b64 param0;
          st.param.b64 [param0], %rd10;
          call.uni free, (param0); }}"
    );
    let bench = Bench::new(&kernel(HEAP, &body));
    let out = bench.zeros(4 * 640);
    let before = bench.device.memory_info();
    bench.run("k", 10, 64, &[out.into(), 0u32.into()]).unwrap();
    assert_eq!(u32s(&bench.download(out, 4 * 640)), (0..640).collect::<Vec<u32>>());
    assert_eq!(bench.device.memory_info(), before);
}

#[test]
fn misuse_of_the_heap() {
    let free = "
        { .param .b64 param0;
          st.param.b64 [param0], %rd10;
          call.uni free, (param0); }";
    let bench = Bench::new(&kernel(HEAP, &format!("{ALLOCATE}{free}{free}")));
    let out = bench.zeros(4);
    let fault = bench.fault("k", 1, 1, &[out.into(), 0u32.into()]);
    assert!(fault.message.contains("cannot be freed"), "{fault}");
    let bench = Bench::new(&kernel(HEAP, &format!("{ALLOCATE}{free} ld.u32 %r10, [%rd10];")));
    let fault = bench.fault("k", 1, 1, &[out.into(), 0u32.into()]);
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    assert!(fault.message.contains("a block of 16 bytes allocated by a kernel, which was freed"), "{fault}");
    let bench = Bench::new(&kernel(HEAP, &format!("{ALLOCATE} st.global.u64 [%rd1], %rd10;")));
    let out = bench.zeros(8);
    bench.run("k", 1, 1, &[out.into(), 0u32.into()]).unwrap();
    let address = u64::from_le_bytes(bench.download(out, 8).try_into().unwrap());
    assert_eq!(bench.device.allocation(address).unwrap().kind, AllocationKind::Device);
}
