//! Mistakes of kernels, modules and launches, and their reports.

use crate::common::{Bench, kernel};
use rumba_vm::{Config, Device, FaultKind, Launch, LaunchError, LaunchFailure, MemoryError, Source};

/// A report without what changes from run to run: addresses, which have more digits than sets of lanes.
fn stable(text: &str) -> String {
    let mut parts = text.split("0x");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(part.len());
        match end > 8 {
            true => out.push_str("ADDRESS"),
            false => out.extend(["0x", &part[..end]]),
        }
        out.push_str(&part[end..]);
    }
    out
}

fn report(declarations: &str, body: &str, n: u32) -> (FaultKind, String) {
    let bench = Bench::new(&kernel(declarations, body));
    let out = bench.device.allocate_named(400, Some("src/main.rs:12:5".into())).unwrap();
    let fault = bench.fault("k", 4, 64, &[out.into(), n.into()]);
    (fault.kind, stable(&fault.to_string()))
}

#[test]
fn out_of_bounds() {
    let (kind, text) = report(".file 1 \"src/kernel.rs\"", "\n.loc 1 7 9\n st.global.u32 [%rd2], %r2;", 0);
    assert_eq!(kind, FaultKind::IllegalAddress);
    assert_eq!(
        text,
        "illegal memory access: write of 4 bytes of global memory at ADDRESS: 0 bytes after the end of a block of 400 \
         bytes allocated at src/main.rs:12:5\n  in kernel `k`, block (1, 0, 0), thread (36, 0, 0)\n  at \
         src/kernel.rs:7:9\n  test.ptx line 24"
    );
}

#[test]
fn a_location_that_was_inlined() {
    let declarations = "
.file 1 \"src/kernel.rs\"
.file 2 \"src/library.rs\"
.section .debug_str
{
info0:
.b8 97,100,100,0
}";
    let body = "
.loc 1 7 9
.loc 2 3 4, function_name info0, inlined_at 1 7 9
    ld.global.u32 %r10, [%rd2+0x10000];";
    let (_, text) = report(declarations, body, 0);
    assert!(
        text.contains("\n  at src/library.rs:3:4 in `add`\n     inlined at src/kernel.rs:7:9\n  test.ptx line"),
        "{text}"
    );
}

#[test]
fn misaligned() {
    let (kind, text) = report("", "ld.global.u32 %r10, [%rd1+2];", 0);
    assert_eq!(kind, FaultKind::MisalignedAddress);
    assert!(
        text.starts_with(
            "misaligned memory access: read of 4 bytes of global memory at ADDRESS, which is not a multiple of 4: 2 bytes \
             into a block of 400 bytes allocated at src/main.rs:12:5\n  in kernel `k`, block (0, 0, 0), thread (0, 0, 0)"
        ),
        "{text}"
    );
    let (kind, _) = report("", "ld.global.v4.u32 {%r10, %r11, %r12, %r13}, [%rd1+8];", 0);
    assert_eq!(kind, FaultKind::MisalignedAddress);
}

#[test]
fn misaligned_and_out_of_bounds() {
    for body in [
        "ld.global.u32 %r10, [%rd1+0x10002];",
        "mov.u64 %rd10, 2; st.u32 [%rd10], %r10;",
        "ld.shared.u32 %r10, [%rd1+1];",
        // One lane is out of bounds, a later one misaligned.
        "setp.eq.u32 %p1, %r2, 5; selp.u64 %rd10, 2, 0x100000, %p1; add.u64 %rd10, %rd10, %rd1; ld.global.u32 %r10, [%rd10];",
    ] {
        let (kind, text) = report("", body, 0);
        assert_eq!(kind, FaultKind::MisalignedAddress, "{body}: {text}");
        assert!(text.contains("which is not a multiple of 4"), "{text}");
    }
    let (kind, _) = report("", "ld.global.u32 %r10, [%rd1+0x10004];", 0);
    assert_eq!(kind, FaultKind::IllegalAddress);
}

#[test]
fn null_and_wild_pointers() {
    let (kind, text) = report("", "mov.u64 %rd10, 0; ld.global.u32 %r10, [%rd10+8];", 0);
    assert_eq!(kind, FaultKind::IllegalAddress);
    assert!(text.contains("at 0x8: that is a null pointer"), "{text}");
    let (_, text) = report("", "mov.u64 %rd10, 0x123456789000; st.u32 [%rd10], %r10;", 0);
    assert!(text.contains("write of 4 bytes of memory at ADDRESS: "), "{text}");
    let (_, text) = report("", "mov.u64 %rd10, 0xfffffffffffffffc; ld.global.u64 %rd11, [%rd10];", 0);
    assert!(text.contains("read of 8 bytes"), "{text}");
}

#[test]
fn use_after_free() {
    let bench = Bench::new(&kernel("", "st.global.u32 [%rd2], %r2;"));
    let out = bench.device.allocate_named(4096, Some("here".into())).unwrap();
    bench.device.free(out).unwrap();
    let fault = bench.fault("k", 1, 32, &[out.into(), 0u32.into()]);
    assert_eq!(fault.kind, FaultKind::IllegalAddress);
    assert!(
        fault.message.ends_with("0 bytes into a block of 4096 bytes allocated at here, which was freed"),
        "{fault}"
    );
}

#[test]
fn the_first_block_that_fails_is_reported() {
    let body = "
        setp.lt.u32 %p1, %r3, 50;
        @%p1 bra DONE;
        trap;
    DONE:";
    for _ in 0..20 {
        let bench = Bench::new(&kernel("", body));
        let out = bench.zeros(4);
        let fault = bench.fault("k", 1000, 32, &[out.into(), 0u32.into()]);
        assert_eq!((fault.kind, fault.block), (FaultKind::Trap, [50, 0, 0]));
    }
}

#[test]
fn writes_to_what_is_read_only() {
    let constant = ".const .align 4 .u32 table[4] = {1, 2, 3, 4};";
    let (_, text) = report(constant, "mov.u64 %rd10, table; st.global.u32 [%rd10+4], 1;", 0);
    assert!(
        text.contains("kernels cannot write to constants; that is 4 bytes into the constant `table` of 16 bytes"),
        "{text}"
    );
    let (_, text) = report("", "mov.u64 %rd10, out; cvta.param.u64 %rd11, %rd10; st.u32 [%rd11], 1;", 0);
    assert!(text.contains("kernels cannot write to parameters"), "{text}");
}

#[test]
fn shared_and_local_bounds() {
    let shared = ".shared .align 4 .b32 values[64];";
    let body = "
        mov.u64 %rd10, values;
        mul.wide.u32 %rd11, %r4, 4;
        add.s64 %rd11, %rd10, %rd11;
        st.shared.u32 [%rd11], 0;";
    let (kind, text) = report(shared, body, 0);
    assert_eq!(kind, FaultKind::IllegalAddress);
    assert!(
        text.contains("write of 4 bytes of shared memory at 0x500: it ends 4 bytes after the end of `values`"),
        "{text}"
    );
    let (_, text) = report(".global .align 4 .u32 x;", "ld.shared.u32 %r10, [%rd1];", 0);
    assert!(text.contains("the kernel has no shared memory"), "{text}");
    let (_, text) = report("", ".local .align 4 .b32 own[4]; mov.u64 %rd10, own; st.local.u32 [%rd10+0x4000], 0;", 0);
    assert!(text.contains("write of 4 bytes of local memory at 0x4100: the thread's stack has"), "{text}");
    let (_, text) =
        report(shared, "mov.u64 %rd10, values; cvta.shared.u64 %rd11, %rd10; ld.global.u32 %r10, [%rd11];", 0);
    assert!(text.contains("that is an address in shared memory"), "{text}");
}

#[test]
fn assertions() {
    let declarations = "
.extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line, .param .b64 function, .param .b64 size);
.global .align 1 .b8 message[6] = {120, 32, 62, 32, 48};
.global .align 1 .b8 file[8] = {97, 46, 114, 115};
.global .align 1 .b8 function[8] = {99, 104, 101, 99, 107};";
    let body = "
        setp.ne.u32 %p1, %r4, 77;
        @%p1 bra DONE;
        mov.u64 %rd10, message;
        mov.u64 %rd11, file;
        mov.u64 %rd12, function;
        { .param .b64 param0; .param .b64 param1; .param .b32 param2; .param .b64 param3; .param .b64 param4;
          st.param.b64 [param0], %rd10;
          st.param.b64 [param1], %rd11;
          st.param.b32 [param2], 33;
          st.param.b64 [param3], %rd12;
          st.param.b64 [param4], 1;
          call.uni __assertfail, (param0, param1, param2, param3, param4); }
    DONE:";
    let (kind, text) = report(declarations, body, 0);
    assert_eq!(kind, FaultKind::Assert);
    assert!(
        text.starts_with(
            "assertion failed: x > 0 (in `check`)\n  in kernel `k`, block (1, 0, 0), thread (13, 0, 0)\n  at a.rs:33"
        ),
        "{text}"
    );
}

#[test]
fn endless_loops_run_into_the_limit() {
    let body = "
    setp.ne.u32 %p1, %r3, 1;
    @%p1 bra DONE;
.loc 1 5 3
LOOP:
    bra LOOP;
DONE:";
    let bench = Bench::with(
        &kernel(".file 1 \"src/kernel.rs\"", body),
        Config { instruction_limit: 10_000_000, ..Config::default() },
    );
    let out = bench.zeros(4);
    let fault = bench.fault("k", 4, 64, &[out.into(), 0u32.into()]);
    assert_eq!(fault.kind, FaultKind::Timeout);
    let text = fault.to_string();
    assert!(text.contains("at most 10000000 are allowed"), "{text}");
    assert!(
        text.contains("block (1, 0, 0), 64 threads of 2 warps from (0, 0, 0): running at src/kernel.rs:5:3"),
        "{text}"
    );
}

#[test]
fn after_a_stopped_launch_each_block_runs_once() {
    let body = "
        atom.global.add.u32 %r10, [%rd1], 1;
        setp.eq.u32 %p1, %r1, 0;
    LOOP:
        @%p1 bra LOOP;";
    let config = Config { instruction_limit: 10_000, workers: 1, ..Config::default() };
    let bench = Bench::with(&kernel("", body), config);
    let out = bench.zeros(4);
    let endless = bench.fault("k", 4, 1, &[out.into(), 0u32.into()]);
    assert_eq!(endless.kind, FaultKind::Timeout);
    bench.fill(out, &[0], 4).unwrap();
    if let Err(error) = bench.run("k", 10, 1, &[out.into(), 1u32.into()]) {
        panic!("{error}");
    }
    assert_eq!(crate::common::u32s(&bench.download(out, 4)), [10]);
}

#[test]
fn threads_of_a_deadlock_are_listed() {
    let body = "
        shr.u32 %r10, %r2, 5;
        setp.eq.u32 %p1, %r10, 0;
        @%p1 bra FIRST;
        bar.sync 2;
        bra DONE;
    FIRST:
        bar.sync 1;
    DONE:";
    let (kind, text) = report("", body, 0);
    assert_eq!(kind, FaultKind::Deadlock);
    assert_eq!(
        text,
        "deadlock: every thread of the block waits for others, and none of them can go on\n  in kernel `k`, block (0, 0, \
         0)\n  block (0, 0, 0), 32 threads from (0, 0, 0): waiting at barrier 1, where 32 of 64 threads have arrived \
         (test.ptx line 29, pc 14)\n  block (0, 0, 0), 32 threads from (32, 0, 0): waiting at barrier 2, where 32 of 64 threads \
         have arrived (test.ptx line 26, pc 12)"
    );
    let body = "
        setp.eq.u32 %p1, %r2, 0;
        @%p1 bra DONE;
        bra WAIT;
    WAIT:
        shfl.sync.idx.b32 %r10, %r2, 0, 31, -1;
        ret;
    DONE:
        bar.sync 0;";
    let (kind, text) = report("", body, 0);
    assert_eq!(kind, FaultKind::Deadlock);
    assert!(text.contains("waiting for lanes 0x00000001 of the warp (mask 0xffffffff)"), "{text}");
}

#[test]
fn misuse_of_barriers_and_masks() {
    let (kind, text) = report("", "mov.u32 %r10, 16; bar.sync %r10;", 0);
    assert_eq!(kind, FaultKind::Synchronisation);
    assert!(text.contains("barrier 16 does not exist"), "{text}");
    let (_, text) = report("", "mov.u32 %r10, 33; bar.sync 0, %r10;", 0);
    assert!(text.contains("must be a multiple of 32"), "{text}");
    let (_, text) = report("", "bar.sync 0, 128;", 0);
    assert!(text.contains("can never complete in a block of 64"), "{text}");
}

#[test]
fn endless_recursion() {
    let declarations = "
.func (.param .b32 result) again(.param .b32 x)
{
    .reg .b32 %r<4>;
    .local .align 4 .b32 own[8];
    ld.param.b32 %r1, [x];
    { .param .b32 param0; .param .b32 retval0;
      st.param.b32 [param0], %r1;
      call (retval0), again, (param0);
      ld.param.b32 %r2, [retval0]; }
    add.s32 %r2, %r2, 1;
    st.param.b32 [result], %r2;
    ret;
}";
    let body = "
        { .param .b32 param0; .param .b32 retval0;
          st.param.b32 [param0], %r2;
          call (retval0), again, (param0);
          ld.param.b32 %r10, [retval0]; }
        st.global.u32 [%rd2], %r10;";
    let (kind, text) = report(declarations, body, 0);
    assert_eq!(kind, FaultKind::StackOverflow);
    assert!(text.contains("a thread's stack has 65792 bytes, and this call needs"), "{text}");
}

#[test]
fn calls_of_what_is_no_function() {
    let body = "
        prototype_0 : .callprototype _ ();
        call %rd1, prototype_0;";
    let (kind, text) = report("", body, 0);
    assert_eq!(kind, FaultKind::InvalidInstruction);
    assert!(text.contains("is not the address of a function of this kernel's module"), "{text}");
}

#[test]
fn launches_that_are_impossible() {
    let ptx = format!(
        "{}.visible .entry small() .maxntid 64 {{ ret; }}\n.visible .entry exact() .reqntid 8, 4 {{ ret; }}\n\
         .visible .entry big() {{ .shared .b8 room[40000]; .reg .b64 %rd<3>; mov.u64 %rd1, room; ret; }}",
        kernel("", "")
    );
    let bench = Bench::new(&ptx);
    let refused = |name: &str, grid: [u32; 3], block: [u32; 3], shared: u32| {
        let args: &[crate::common::Arg] =
            if name == "k" { &[crate::common::Arg::U64(0), crate::common::Arg::U32(0)] } else { &[] };
        match bench.launch(name, grid, block, shared, args) {
            Err(LaunchFailure::Refused(error)) => error.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        refused("k", [1; 3], [2048, 1, 1], 0),
        "a block of 2048 threads was asked for, and the device allows at most 1024"
    );
    assert_eq!(
        refused("k", [0, 1, 1], [32, 1, 1], 0),
        "the grid is empty: (0, 1, 1); every dimension must be at least 1"
    );
    assert_eq!(
        refused("k", [1, 65536, 1], [1; 3], 0),
        "the grid (1, 65536, 1) is too large: the device allows at most (2147483647, 65535, 65535)"
    );
    assert_eq!(
        refused("small", [1; 3], [65, 1, 1], 0),
        "a block of 65 threads was asked for, and the kernel allows (.maxntid) at most 64"
    );
    assert_eq!(
        refused("exact", [1; 3], [32, 1, 1], 0),
        "the kernel requires blocks of (8, 4, 1), and (32, 1, 1) was asked for (.reqntid)"
    );
    assert!(refused("big", [1; 3], [1; 3], 200_000).starts_with("240000 bytes of shared memory per block"));
    let function = bench.module.function("k").unwrap();
    let launch = Launch {
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared: 0,
        parameters: &[],
        cooperative: false,
        cluster: None,
        device: 0,
    };
    let error = bench.device.launch(&function, &launch).unwrap_err();
    assert_eq!(error, LaunchFailure::Refused(LaunchError::Parameters { expected: 12, given: 0 }));
    assert!(bench.module.function("missing").is_none());
}

#[test]
fn misuse_of_memory_by_the_host() {
    let device = Device::new(Config { workers: 1, memory_bytes: 1 << 20, ..Config::default() }).unwrap();
    assert_eq!(device.allocate(0), Err(MemoryError::Empty));
    assert!(matches!(device.allocate(2 << 20), Err(MemoryError::OutOfMemory { .. })));
    assert!(matches!(device.allocate(usize::MAX), Err(MemoryError::OutOfMemory { .. })));
    let block = device.allocate(100).unwrap();
    assert_eq!(block % 256, 0);
    let mut bytes = [0; 101];
    // SAFETY: the launches have ended, and nothing else uses the device.
    unsafe { device.read(block, &mut bytes[..100]) }.unwrap();
    assert!(bytes[..100].iter().all(|byte| *byte == 0xcd));
    // SAFETY: as above.
    let error = unsafe { device.read(block, &mut bytes) }.unwrap_err().to_string();
    assert!(error.contains("it starts 0 bytes into a block of 100 bytes and ends 1 bytes after its end"), "{error}");
    // SAFETY: as above.
    assert!(unsafe { device.write(0x10, &[1]) }.is_err());
    // SAFETY: as above.
    assert!(unsafe { device.copy(block, block + 60, 41) }.is_err());
    // SAFETY: as above.
    assert!(unsafe { device.fill(block, &[1, 2, 3, 4], 26) }.is_err());
    assert!(device.free(block + 1).is_err());
    let info = device.memory_info();
    assert_eq!(info, ((1 << 20) - 100, 1 << 20));
    device.free(block).unwrap();
    assert!(device.free(block).unwrap_err().to_string().contains("which was freed"));
    // SAFETY: as above.
    assert!(unsafe { device.read(block, &mut bytes[..1]) }.is_err());
    for _ in 0..1000 {
        let block = device.allocate(900_000).unwrap();
        device.free(block).unwrap();
    }
}

pub(crate) fn load_error(ptx: &str) -> String {
    let device = Device::new(Config { workers: 1, memory_bytes: 1 << 20, ..Config::default() }).unwrap();
    device.load(&[Source { name: "bad.ptx", ptx }]).expect_err("the module is wrong").to_string()
}

#[test]
fn modules_that_are_wrong() {
    let check = |body: &str, expected: &str| {
        let text = load_error(&kernel("", body));
        assert!(text.contains(expected), "{body}: {text}");
        assert!(text.contains("bad.ptx:"), "{text}");
    };
    check("add.s32 %r10, %r2, %undeclared;", "`%undeclared` is not declared");
    check("add.s32 %r10, %r2, %r999;", "`%r999` is not declared");
    check("add.s32 %r10, %r2, %rd2;", "`%rd2` is declared as .b64, which does not fit an operand of type .s32");
    check("add.s32 5, %r2, %r2;", "a register is needed here, for the result");
    check("frobnicate.s32 %r10, %r2;", "`frobnicate` is not an instruction that this device executes");
    check("add.s33 %r10, %r2, %r2;", "`add.s33` with 3 operand(s) is not a form of `add`");
    check("bra NOWHERE;", "the label `NOWHERE` is not defined");
    check("@%r2 bra L; L:", "`%r2` is not a predicate register");
    check("L: L:", "is defined twice");
    check("ld.global.u32 %r10, %rd2;", "an address in brackets is needed here");
    check("ld.shared.u32 %r10, [out];", "another state space");
    check("ld.global.v2.u32 {%r10}, [%rd2];", "2 element(s) are needed here, not 1");
    check("call missing, (%r2);", "`missing` is not a function");
    check(".reg .b32 %x; .reg .b32 %x;", "`%x` is declared twice");
    check("mov.u32 %r10, %tid.q;", "`%tid` is not known");
    check("ld.param.u32 %r10, [nothing];", "`nothing` is not declared");
    check("ld.param.u64 %r10, [out];", "does not fit an operand of type .u64");
    check("setp.eq.s32 %r10, %r2, %r2;", "`%r10` is declared as .b32, which does not fit an operand of type .pred");
    let text = load_error(".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k( { ret; }");
    assert!(text.contains("bad.ptx:4"), "{text}");
    let functions = "
.func (.param .b32 result) one(.param .b32 x) { ret; }";
    let text = load_error(&kernel(functions, "call (%r10), one, (%r2, %r2);"));
    assert!(text.contains("`one` takes 1 parameter(s), and 2 argument(s) are given"), "{text}");
}
