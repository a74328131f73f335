//! Launches that run on both engines: what is found where compilers do something wrong, which they do here on purpose, and that
//! nothing is found where results depend on what both runs have in common.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::broken::Broken;
use crate::common::{Bench, compiler, kernel, u32s};
use rumba_vm::{Comparisons, Config, Device, Engine, FaultKind, HostWaits, Launch, LaunchFailure, Reason, Source};

/// A device that compares, with native code of edited texts.
fn bench(ptx: &str, edit: fn(&str) -> String) -> Option<Bench> {
    let config = Config { engine: Engine::compared(compiler::of(Some(edit))?), ..Config::default() };
    Some(Bench::with(ptx, config))
}

/// Launches that were left out for one reason.
fn left_out(reason: Reason) -> Comparisons {
    let mut counts = Comparisons::default();
    counts.left_out[reason as usize] = 1;
    counts
}

const SAME: Comparisons = Comparisons { same: 1, different: 0, left_out: [0; Reason::ALL.len()] };

const DIFFERENT: Comparisons = Comparisons { same: 0, different: 1, left_out: [0; Reason::ALL.len()] };

/// A number that the wrong compilers of this file replace by the number before it.
const N: u32 = 1_193_047;

fn off_by_one(text: &str) -> String {
    text.replace("1193047", "1193046")
}

/// Leaves out the stores of all lanes, but not those to registers.
fn without_stores(text: &str) -> String {
    let is_store = |line: &&str| line.trim_start().starts_with("store <32 x i32>") && line.ends_with(", align 4");
    text.lines().filter(|line| !is_store(line)).map(|line| format!("{line}\n")).collect()
}

/// Negates the number of the thread in its address.
fn elsewhere(text: &str) -> String {
    text.replace("add i64 %g0.0, ", "sub i64 %g0.0, ")
}

const DECLARATIONS: &str = "
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 arguments);
.extern .func (.param .b64 result) malloc(.param .b64 bytes);
.extern .func free(.param .b64 pointer);
.global .align 4 .b32 counter;
.global .align 1 .b8 format[4] = {104, 105, 10, 0};";

const ALLOCATE: &str = "
    { .param .b64 param0; .param .b64 retval0;
      st.param.b64 [param0], 16;
      call.uni (retval0), malloc, (param0);
      ld.param.b64 %rd10, [retval0]; }";

const PRINT: &str = "
    mov.u64 %rd13, format;
    mov.u64 %rd14, 0;
    { .param .b64 param0; .param .b64 param1; .param .b32 retval0;
      st.param.b64 [param0], %rd13;
      st.param.b64 [param1], %rd14;
      call.uni (retval0), vprintf, (param0, param1);
      ld.param.b32 %r10, [retval0]; }";

/// A wrong compiler, a kernel, how many blocks of 64 threads are launched with `n = N`, and what is said.
type Wrong<'a> = (fn(&str) -> String, String, u32, &'a [&'a str]);

#[test]
fn wrong_code_is_found() {
    let store = "xor.b32 %r10, %r2, 1193047; st.global.u32 [%rd2], %r10;";
    let if_n = |body: &str| format!("setp.ne.u32 %p1, %r1, 1193047; @%p1 bra DONE;\n{body}\nDONE:");
    let unless_n = |body: &str| format!("setp.eq.u32 %p1, %r1, 1193047; @%p1 bra DONE;\n{body}\nDONE:");
    let wrong: &[Wrong<'_>] = &[
        (
            off_by_one,
            store.into(),
            1,
            &[
                "difference between the engines: 4 bytes of memory at ",
                " differ: 0 bytes into a block of 1024 bytes",
                "the interpreter left 0x00123457, stored by block (0, 0, 0), thread (0, 0, 0)",
                "the compiled code left 0x00123456, stored by block (0, 0, 0), warp 0",
                "in kernel `k`, block (0, 0, 0), thread (0, 0, 0)",
                "test.ptx line",
            ],
        ),
        // The first warp learns where the memory is, and stores as the interpreter does.
        (
            without_stores,
            store.into(),
            2,
            &[
                ": 128 bytes into a block of 1024 bytes",
                "the interpreter left 0x00123477, stored by block (0, 0, 0), thread (32, 0, 0)",
                "the compiled code left 0x00000000, unchanged",
                "in kernel `k`, block (0, 0, 0), thread (32, 0, 0)",
            ],
        ),
        (
            elsewhere,
            store.into(),
            2,
            &[
                "the runs end in different ways",
                "the interpreter came to its end",
                "the compiled code ended with a fault: illegal memory access: write of 4 bytes of global memory",
                "before a block of 1024 bytes",
            ],
        ),
        (
            off_by_one,
            if_n("trap;"),
            1,
            &[
                "the runs end in different ways",
                "the interpreter ended with a fault: trap",
                "the compiled code came to its end",
            ],
        ),
        (
            off_by_one,
            unless_n("trap;"),
            1,
            &[
                "the interpreter came to its end",
                "the compiled code ended with a fault: trap",
            ],
        ),
        (
            off_by_one,
            if_n("mov.u64 %rd20, 2; st.global.u32 [%rd20], %r1;") + "trap;",
            1,
            &[
                "ended with a fault: misaligned memory access",
                "ended with a fault: trap",
            ],
        ),
        (
            off_by_one,
            unless_n("st.global.u32 [%rd2], %r3;"),
            3,
            &[
                ": 256 bytes into a block of 1024 bytes",
                "the interpreter left 0x00000000, unchanged",
                "the compiled code left 0x00000001, stored by block (1, 0, 0), warp 0",
                "in kernel `k`, block (1, 0, 0), thread (0, 0, 0)",
            ],
        ),
        (
            off_by_one,
            "mov.u64 %rd10, counter; atom.global.add.u32 %r10, [%rd10], 1193047;".into(),
            2,
            &[
                "0 bytes into the variable `counter` of 4 bytes",
                // The first warp learns where the memory is.
                "the interpreter left 0x091a2b80, stored by block (1, 0, 0), thread (63, 0, 0)",
                "the compiled code left 0x091a2b20, stored by block (1, 0, 0), warp 1",
            ],
        ),
        (
            off_by_one,
            "xor.b32 %r10, %r2, 1193047; cvt.u64.u32 %rd20, %r2; add.s64 %rd20, %rd20, %rd1; st.global.u8 [%rd20], %r10;".into(),
            1,
            &[
                "1 byte of memory at",
                "the interpreter left 0x57, ",
                "the compiled code left 0x56, ",
            ],
        ),
        (
            off_by_one,
            if_n(PRINT),
            1,
            &[r#"the interpreter prints "hi\n" where the compiled code prints """#],
        ),
        (
            off_by_one,
            if_n(ALLOCATE),
            1,
            &["the interpreter leaves 67 allocations and the compiled code 3, "],
        ),
        (
            off_by_one,
            format!("{ALLOCATE}\nxor.b32 %r10, %r2, 1193047; st.u32 [%rd10+8], %r10;"),
            1,
            &[
                "8 bytes into a block of 16 bytes allocated by a kernel",
                "the interpreter left 0x00123457, stored by block (0, 0, 0), thread (0, 0, 0)",
                "the compiled code left 0x00123456, stored by block (0, 0, 0), warp 0",
            ],
        ),
    ];
    for (edit, body, grid, said) in wrong {
        let Some(bench) = bench(&kernel(DECLARATIONS, body), *edit) else {
            return;
        };
        let out = bench.zeros(4 * 256);
        let fault = bench.fault("k", *grid, 64, &[out.into(), N.into()]);
        assert_eq!(fault.kind, FaultKind::EngineDifference, "{body}\n{fault}");
        let text = fault.to_string();
        for part in *said {
            assert!(text.contains(part), "{body}\n{text}\nlacks: {part}");
        }
        assert_eq!(bench.device.comparisons(), Some(DIFFERENT), "{body}");
    }
}

#[test]
fn right_code_is_the_same() {
    let right: &[(&str, &str)] = &[
        ("the order of threads", "atom.global.add.u32 %r10, [counter], 1; st.global.u32 [%rd2], %r10;"),
        (
            "the order of a sum",
            "cvt.rn.f32.u32 %f1, %r4; div.rn.f32 %f1, 0f3F800000, %f1; max.f32 %f1, %f1, 0f00000000; min.f32 %f1, %f1, 0f3F800000;
             atom.global.add.f32 %f2, [counter], %f1; st.global.f32 [%rd2], %f2;",
        ),
        (
            "shared memory that nothing has written",
            ".shared .align 4 .b32 own[64]; mov.u32 %r10, own; shl.b32 %r11, %r2, 2; add.s32 %r10, %r10, %r11;
             ld.shared.u32 %r12, [%r10]; st.shared.u32 [%r10], %r4; st.global.u32 [%rd2], %r12;",
        ),
        (
            "a stack that nothing has written",
            ".local .align 4 .b8 depot[16]; ld.local.u32 %r12, [depot+8]; st.local.u32 [depot+8], %r4; st.global.u32 [%rd2], %r12;",
        ),
        ("a register that nothing has written", "st.global.u32 [%rd2], %r50;"),
        (
            "an address",
            "mov.u64 %rd10, counter; xor.b64 %rd10, %rd10, %rd2; cvt.u32.u64 %r10, %rd10; st.global.u32 [%rd2], %r10;",
        ),
        ("the number of the launch", "mov.u64 %rd10, %gridid; cvt.u32.u64 %r10, %rd10; st.global.u32 [%rd2], %r10;"),
        ("text", PRINT),
        ("a clock that does not matter", "mov.u64 %rd10, %globaltimer; shr.u64 %rd10, %rd10, 63; st.global.u32 [%rd2], 1;"),
        (
            "a block that waits for one before it",
            "setp.ne.u32 %p1, %r2, 0; @%p1 bra DONE;
             WAIT: ld.acquire.gpu.global.u32 %r10, [%rd1]; setp.lt.u32 %p2, %r10, %r3; @%p2 bra WAIT;
             add.u32 %r10, %r3, 1; st.release.gpu.global.u32 [%rd1], %r10; DONE:",
        ),
        (
            "a block that waits for one behind it",
            "setp.ne.u32 %p1, %r2, 0; @%p1 bra DONE; mov.u32 %r11, %nctaid.x; sub.u32 %r11, %r11, 1; sub.u32 %r11, %r11, %r3;
             WAIT: ld.acquire.gpu.global.u32 %r10, [%rd1]; setp.lt.u32 %p2, %r10, %r11; @%p2 bra WAIT;
             add.u32 %r10, %r11, 1; st.release.gpu.global.u32 [%rd1], %r10; DONE:",
        ),
        (
            "a lock",
            "TRY: atom.global.cas.b32 %r10, [%rd1], 0, 1; setp.ne.u32 %p1, %r10, 0; @%p1 bra TRY; membar.gl;
             ld.volatile.global.u32 %r11, [%rd1+4]; add.u32 %r11, %r11, 1; st.volatile.global.u32 [%rd1+4], %r11; membar.gl;
             atom.global.exch.b32 %r12, [%rd1], 0;",
        ),
    ];
    for (what, body) in right {
        let Some(bench) = bench(&kernel(DECLARATIONS, body), str::to_owned) else {
            return;
        };
        let text = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&text);
        let output = move |part: &[u8]| sink.lock().unwrap().extend_from_slice(part);
        bench.device.set_output(Box::new(output));
        let out = bench.zeros(4 * 256);
        if let Err(error) = bench.run("k", 4, 64, &[out.into(), N.into()]) {
            panic!("{what}: {error}");
        }
        assert_eq!(bench.device.comparisons(), Some(SAME), "{what}");
        let printed = if *what == "text" { "hi\n".repeat(256) } else { String::new() };
        assert_eq!(String::from_utf8_lossy(&text.lock().unwrap()), printed, "{what}");
    }
}

#[test]
fn memory_of_kernels_is_the_same_in_both_runs() {
    // Each thread allocates and stores the address; every other thread frees its memory.
    let body = format!(
        "{ALLOCATE}
        st.u32 [%rd10+12], %r4; cvt.u32.u64 %r10, %rd10; st.global.u32 [%rd2], %r10;
        and.b32 %r11, %r2, 1; setp.eq.u32 %p1, %r11, 0; @%p1 bra DONE;
        {{ .param .b64 param0; st.param.b64 [param0], %rd10; call.uni free, (param0); }}
        DONE:"
    );
    let Some(bench) = bench(&kernel(DECLARATIONS, &body), str::to_owned) else {
        return;
    };
    let out = bench.zeros(4 * 256);
    for _ in 0..2 {
        bench.run("k", 4, 64, &[out.into(), N.into()]).unwrap();
    }
    assert_eq!(bench.device.comparisons(), Some(Comparisons { same: 2, ..SAME }));
    // The memory is allocated once, and the host can allocate behind it.
    let free = bench.device.memory_info().0;
    bench.device.allocate(1000).unwrap();
    assert_eq!(bench.device.memory_info().0, free - 1000);
}

#[test]
fn a_fault_of_both_is_the_kernel_s() {
    for body in ["trap;", "setp.eq.u32 %p1, %r4, 100; @%p1 trap;", "ld.global.u32 %r10, [%rd1+2];"] {
        for grid in [1, 4] {
            let Some(bench) = bench(&kernel("", body), str::to_owned) else {
                return;
            };
            let out = bench.zeros(4 * 256);
            match bench.run("k", grid, 64, &[out.into(), N.into()]) {
                Err(LaunchFailure::Fault(fault)) => assert_ne!(fault.kind, FaultKind::EngineDifference, "{fault}"),
                other => assert!(other.is_ok() && grid == 1, "{body}: {other:?}"),
            }
            assert_eq!(bench.device.comparisons(), Some(SAME), "{body}");
        }
    }
}

#[test]
fn what_cannot_be_compared_is_counted() {
    let timer = "mov.u64 %rd10, %globaltimer; cvt.u32.u64 %r10, %rd10; st.global.u32 [%rd2], %r10;";
    let for_ever = "AGAIN: bra AGAIN;";
    // Warps take turns after so many operations; who is last depends on where they are counted.
    let turns = "mov.u32 %r11, 0; AGAIN: atom.global.exch.b32 %r10, [counter], %r4; add.u32 %r11, %r11, 1;
        setp.lt.u32 %p1, %r11, 40000; @%p1 bra AGAIN; st.global.u32 [%rd2], %r10;";
    let limited = Config { instruction_limit: 100_000, ..Config::default() };
    let seeded = Config { seed: Some(7), ..Config::default() };
    let plain = Config::default();
    let cases: &[(&str, &Config, &[Comparisons])] = &[
        (timer, &plain, &[left_out(Reason::Clock)]),
        (for_ever, &limited, &[left_out(Reason::Limit)]),
        (timer, &seeded, &[left_out(Reason::Watched)]),
        (turns, &plain, &[SAME, left_out(Reason::Turns)]),
    ];
    for (body, config, expected) in cases {
        let Some(compiler) = compiler::of(None) else {
            return;
        };
        let config = Config { engine: Engine::compared(compiler), ..(*config).clone() };
        let bench = Bench::with(&kernel(DECLARATIONS, body), config);
        let out = bench.zeros(4 * 256);
        let _ = bench.run("k", 4, 64, &[out.into(), N.into()]);
        let counts = bench.device.comparisons().unwrap_or_default();
        assert!(expected.contains(&counts), "{body}: {counts:?}");
    }
}

#[test]
fn a_kernel_that_has_no_code_is_counted() {
    let config = Config { engine: Engine::compared(Arc::new(Broken { forgets: false })), ..Config::default() };
    let bench = Bench::with(&kernel("", "st.global.u32 [%rd2], %r4;"), config);
    let out = bench.zeros(4 * 256);
    bench.run("k", 4, 64, &[out.into(), N.into()]).unwrap();
    assert_eq!(bench.device.comparisons(), Some(left_out(Reason::NoCode)));
    assert_eq!(u32s(&bench.download(out, 8)), [0, 1]);
}

#[test]
fn more_memory_than_can_be_copied_is_counted() {
    let Some(compiler) = compiler::of(None) else {
        return;
    };
    let device = Device::new(Config {
        engine: Engine::compared(compiler),
        memory_bytes: 4 << 30,
        workers: 1,
        ..Config::default()
    })
    .unwrap();
    device.allocate(3 << 30).unwrap();
    let ptx = kernel("", "");
    let module = device.load(&[Source { name: "test.ptx", ptx: &ptx }]).unwrap();
    let launch = Launch {
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared: 0,
        parameters: &[0; 12],
        cooperative: false,
        cluster: None,
        device: 0,
    };
    device.launch(&module.function("k").unwrap(), &launch).unwrap();
    assert_eq!(device.comparisons(), Some(left_out(Reason::Memory)));
}

#[test]
fn kernels_that_wait_for_the_host_or_for_each_other_are_not_compared() {
    // Each of two kernels says that it is there, and waits for the other one or for the host.
    let body = "shl.b32 %r10, %r1, 2; cvt.u64.u32 %rd10, %r10; add.s64 %rd10, %rd1, %rd10; mov.u32 %r13, 1;
        st.release.sys.global.u32 [%rd10], %r13; sub.u32 %r11, 1, %r1; shl.b32 %r11, %r11, 2; cvt.u64.u32 %rd11, %r11;
        add.s64 %rd11, %rd1, %rd11;
        WAIT: ld.acquire.sys.global.u32 %r12, [%rd11]; setp.eq.u32 %p1, %r12, 0; @%p1 bra WAIT;";
    let Some(bench) = bench(&kernel("", body), str::to_owned) else {
        return;
    };
    let run = |flags: u64, n: u32, host: &HostWaits| {
        let mut parameters = flags.to_le_bytes().to_vec();
        parameters.extend(n.to_le_bytes());
        let launch = Launch {
            grid: [1; 3],
            block: [1; 3],
            dynamic_shared: 0,
            parameters: &parameters,
            cooperative: false,
            cluster: None,
            device: 0,
        };
        let function = bench.module.function("k").unwrap();
        bench.device.launch_for(host, &function, &launch).unwrap();
    };
    let count = |reason: Reason| bench.device.comparisons().map_or(0, |counts| counts.left_out[reason as usize]);
    // The kernel is compiled once.
    run(bench.upload(&[1_u32; 2]), 0, &HostWaits::default());
    // Two kernels.
    let flags = bench.zeros(8);
    std::thread::scope(|scope| {
        scope.spawn(|| run(flags, 0, &HostWaits::default()));
        scope.spawn(|| run(flags, 1, &HostWaits::default()));
    });
    assert_eq!(count(Reason::Beside), 2);
    // A kernel and a copy.
    let flags = bench.zeros(8);
    std::thread::scope(|scope| {
        scope.spawn(|| run(flags, 0, &HostWaits::default()));
        std::thread::sleep(Duration::from_millis(50));
        bench.write(flags + 4, &[1, 0, 0, 0]).unwrap();
    });
    assert_eq!(count(Reason::Beside), 3);
    // A kernel and the host, which writes to the memory itself.
    let flags = bench.zeros(8);
    let host = HostWaits::default();
    std::thread::scope(|scope| {
        scope.spawn(|| run(flags, 0, &host));
        std::thread::sleep(Duration::from_millis(50));
        assert!(host.go_on());
        // SAFETY: the word is allocated, and the kernel's accesses to it are atomic.
        unsafe { std::sync::atomic::AtomicU32::from_ptr((flags + 4) as *mut u32) }
            .store(1, std::sync::atomic::Ordering::Release);
    });
    assert_eq!(count(Reason::Host), 1);
    // A copy at the same time waits for both runs, and is not lost.
    let out = bench.zeros(8);
    let done = Mutex::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            bench.write(flags, &[1; 8]).unwrap();
            run(flags, 1, &HostWaits::default());
            *done.lock().unwrap() = true;
        });
        while !*done.lock().unwrap() {
            bench.fill(out, &[5], 8).unwrap();
        }
    });
    assert_eq!(bench.download(out, 8), [5; 8]);
}
