//! Forward progress: programs that hang unless every thread that can go on does so in the end, and what is said about
//! those that never end.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{Arg, Bench, kernel, run, u32s};
use rumba_vm::{Config, Fault, FaultKind, Launch, LaunchFailure, LiveThreads};

fn cooperative(grid: u32, block: u32) -> Launch<'static> {
    Launch {
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        dynamic_shared: 0,
        parameters: &[],
        cooperative: true,
        cluster: None,
        device: 0,
    }
}

#[test]
fn a_lock_that_lanes_of_one_warp_fight_for() {
    // The lane that has the lock needs its turn to give it back while the others try.
    let body = "
    TRY:
        atom.global.cas.b32 %r10, [%rd1], 0, 1;
        setp.ne.u32 %p1, %r10, 0;
        @%p1 bra TRY;
        membar.gl;
        ld.volatile.global.u32 %r11, [%rd1+4];
        add.u32 %r11, %r11, 1;
        st.volatile.global.u32 [%rd1+4], %r11;
        membar.gl;
        atom.global.exch.b32 %r12, [%rd1], 0;";
    assert_eq!(run("", body, 20, 96, 0, 2), [0, 20 * 96]);
}

#[test]
fn a_lock_whose_holder_leaves_the_loop_elsewhere() {
    // Between the branches that try and the one that succeeds, no lanes reconverge.
    let body = "
        mov.u32 %r13, 0;
    AGAIN:
        atom.global.exch.b32 %r10, [%rd1], 1;
        setp.eq.u32 %p1, %r10, 0;
        @%p1 bra TAKEN;
        bra AGAIN;
    TAKEN:
        ld.volatile.global.u32 %r11, [%rd1+4];
        add.u32 %r11, %r11, 1;
        st.volatile.global.u32 [%rd1+4], %r11;
        membar.gl;
        st.volatile.global.u32 [%rd1], 0;
        add.u32 %r13, %r13, 1;
        setp.lt.u32 %p2, %r13, 3;
        @%p2 bra AGAIN;";
    assert_eq!(run("", body, 4, 32, 0, 2), [0, 3 * 4 * 32]);
}

#[test]
fn lanes_of_a_warp_that_signal_each_other() {
    // Lane 31 waits for 30, 30 for 29 and so on, in one loop.
    let body = "
        setp.eq.u32 %p1, %r2, 0;
        @%p1 bra SIGNAL;
        sub.s64 %rd10, %rd2, 4;
    SPIN:
        ld.volatile.global.u32 %r10, [%rd10];
        setp.eq.u32 %p2, %r10, 0;
        @%p2 bra SPIN;
    SIGNAL:
        add.u32 %r11, %r2, 1;
        st.volatile.global.u32 [%rd2], %r11;";
    assert_eq!(run("", body, 1, 32, 0, 32), (1..=32).collect::<Vec<u32>>());
}

#[test]
fn a_scan_that_looks_back_over_more_blocks_than_are_resident() {
    // Each block publishes its sum and then looks back until it finds a block that knows its whole prefix; the flag
    // stands in the upper half of a word: 1 for a sum, 2 for a prefix.
    let body = "
        .reg .b64 %status<4>;
        setp.ne.u32 %p1, %r2, 0;
        @%p1 exit;
        // Blocks are numbered as they come.
        atom.global.add.u32 %r9, [%rd1], 1;
        mul.wide.u32 %rd10, %r9, 8;
        add.s64 %rd10, %rd1, %rd10;
        add.u32 %r10, %r9, 1;
        cvt.u64.u32 %rd11, %r10;
        or.b64 %status1, %rd11, 0x100000000;
        st.release.gpu.global.u64 [%rd10+8], %status1;
        mov.u32 %r11, 0;
        mov.u32 %r12, %r9;
    LOOK:
        setp.eq.u32 %p2, %r12, 0;
        @%p2 bra FOUND;
        mul.wide.u32 %rd12, %r12, 8;
        add.s64 %rd12, %rd1, %rd12;
    SPIN:
        ld.acquire.gpu.global.u64 %status2, [%rd12];
        shr.u64 %status3, %status2, 32;
        cvt.u32.u64 %r13, %status3;
        setp.eq.u32 %p3, %r13, 0;
        @%p3 bra SPIN;
        cvt.u32.u64 %r14, %status2;
        add.u32 %r11, %r11, %r14;
        sub.u32 %r12, %r12, 1;
        setp.eq.u32 %p4, %r13, 1;
        @%p4 bra LOOK;
    FOUND:
        add.u32 %r15, %r11, %r10;
        cvt.u64.u32 %rd13, %r15;
        or.b64 %status1, %rd13, 0x200000000;
        st.release.gpu.global.u64 [%rd10+8], %status1;";
    let blocks = 700;
    let out = run("", body, blocks, 64, 0, 2 + 2 * blocks as usize);
    for block in 0..blocks {
        let prefix = (block + 1) * (block + 2) / 2;
        assert_eq!(out[2 + 2 * block as usize..][..2], [prefix, 2], "block {block}");
    }
}

#[test]
fn producers_and_consumers_at_named_barriers() {
    // Warp 0 fills a buffer of one word per consumer, eight times; barrier 1 says that it is full, 2 that it is empty.
    let shared = ".shared .align 4 .b32 buffer[32];";
    let body = "
        mov.u64 %rd10, buffer;
        and.b32 %r10, %r2, 31;
        mul.wide.u32 %rd11, %r10, 4;
        add.s64 %rd10, %rd10, %rd11;
        mov.u32 %r11, 0;
        mov.u32 %r12, 0;
        setp.ge.u32 %p1, %r2, 32;
        @%p1 bra CONSUME;
    PRODUCE:
        bar.sync 2, 64;
        mad.lo.u32 %r13, %r11, 100, %r10;
        st.shared.u32 [%rd10], %r13;
        bar.arrive 1, 64;
        add.u32 %r11, %r11, 1;
        setp.lt.u32 %p2, %r11, 8;
        @%p2 bra PRODUCE;
        bra DONE;
    CONSUME:
        bar.arrive 2, 64;
        bar.sync 1, 64;
        ld.shared.u32 %r13, [%rd10];
        add.u32 %r12, %r12, %r13;
        add.u32 %r11, %r11, 1;
        setp.lt.u32 %p2, %r11, 8;
        @%p2 bra CONSUME;
    DONE:
        st.global.u32 [%rd2], %r12;";
    let out = run(shared, body, 1, 64, 0, 64);
    let expected: Vec<u32> = (0..32).map(|lane| 2800 + 8 * lane).collect();
    assert_eq!(out[32..], expected);
}

#[test]
fn persistent_blocks_with_a_queue() {
    // Blocks take numbers from a queue until it is empty; each piece of work waits for the one before it.
    let body = "
    NEXT:
        setp.ne.u32 %p1, %r2, 0;
        @%p1 bra SHARE;
        atom.global.add.u32 %r10, [%rd1], 1;
        st.shared.u32 [taken], %r10;
    SHARE:
        bar.sync 0;
        ld.shared.u32 %r10, [taken];
        bar.sync 0;
        setp.ge.u32 %p2, %r10, %r1;
        @%p2 bra DONE;
        mul.wide.u32 %rd10, %r10, 4;
        add.s64 %rd10, %rd1, %rd10;
        setp.eq.or.u32 %p3, %r10, 0, %p1;
        @%p3 bra WORK;
    SPIN:
        ld.acquire.gpu.global.u32 %r11, [%rd10+4];
        setp.lt.u32 %p4, %r11, 64;
        @%p4 bra SPIN;
    WORK:
        bar.sync 0;
        red.release.gpu.global.add.u32 [%rd10+8], 1;
        bra NEXT;
    DONE:";
    let out = run(".shared .align 4 .b32 taken;", body, 7, 64, 300, 302);
    assert_eq!(out[0], 307);
    assert!(out[2..].iter().all(|count| *count == 64), "{out:?}");
}

#[test]
fn the_barrier_of_a_grid_as_nvcc_compiles_it() {
    let bench = Bench::new(include_str!("../nvcc/grid.ptx"));
    let (blocks, threads, rounds) = (24_u32, 96_u32, 6_u32);
    let count = (blocks * threads) as usize;
    let start: Vec<u32> = (0..count as u32 + 2).collect();
    let (a, b) = (bench.upload(&start), bench.zeros(4 * count));
    let args = [a.into(), b.into(), rounds.into()];
    if let Err(error) = bench.launch_as("rounds", cooperative(blocks, threads), &args) {
        panic!("{error}");
    }
    let mut expected = start[..count].to_vec();
    for _ in 0..rounds {
        for _ in 0..2 {
            let sum = |i: usize| expected[i].wrapping_add(expected[(i + 33) % count]);
            expected = (0..count).map(sum).collect();
        }
    }
    let out = u32s(&bench.download(a, 4 * (count + 2)));
    assert_eq!(out[..count], expected);
    assert_eq!(out[count..], [count as u32, 1]);
    // A launch that is not cooperative has no such barrier, and the code traps.
    let fault = bench.fault("rounds", 2, 32, &args);
    assert_eq!(fault.kind, FaultKind::Trap);
}

/// A barrier of the grid as compiled code has it, in its workspace; `before` is done first.
fn compiled_barrier(before: &str) -> String {
    format!(
        "
        mov.u32 %r21, %envreg2;
        mov.u32 %r22, %envreg1;
        mov.b64 %rd10, {{%r21, %r22}};
        {before}
        barrier.sync 0;
        setp.ne.u32 %p1, %r2, 0;
        @%p1 bra over;
        setp.eq.u32 %p2, %r3, 0;
        mov.u32 %r23, %nctaid.x;
        sub.u32 %r24, 0x80000001, %r23;
        selp.b32 %r25, %r24, 1, %p2;
        atom.add.release.gpu.u32 %r26, [%rd10+4], %r25;
    again:
        ld.acquire.gpu.u32 %r27, [%rd10+4];
        xor.b32 %r28, %r27, %r26;
        setp.gt.s32 %p3, %r28, -1;
        @%p3 bra again;
    over:
        barrier.sync 0;
        st.global.u32 [%rd2], %r2;"
    )
}

#[test]
fn a_block_that_does_not_come_to_the_barrier_of_the_grid_is_missed_at_once() {
    let run = |before: &str, seed: Option<u64>| {
        let config = Config { seed, time_limit: Some(Duration::from_secs(120)), ..Config::default() };
        let bench = Bench::with(&kernel("", &compiled_barrier(before)), config);
        let out = bench.zeros(4 * 7 * 64);
        bench.launch_as("k", cooperative(7, 64), &[out.into(), 0u32.into()])
    };
    for seed in [None, Some(1), Some(2)] {
        // All of it exits, or the thread that counts it in.
        for before in [
            "setp.eq.u32 %p4, %r3, 3; @%p4 exit;",
            "mad.lo.u32 %r30, %r3, 64, %r2; setp.eq.u32 %p4, %r30, 192; @%p4 exit;",
        ] {
            match run(before, seed) {
                Err(LaunchFailure::Fault(fault)) => {
                    let text = fault.to_string();
                    assert_eq!(fault.kind, FaultKind::Deadlock, "{text}");
                    assert!(text.contains("waiting at the barrier of the grid"), "{text}");
                }
                other => panic!("a deadlock was expected, not {other:?}"),
            }
        }
        // The barrier waits for a thread that arrives late.
        let late = "
        setp.ne.u32 %p4, %r3, 3;
        mov.u32 %r30, 0;
    slow:
        @%p4 bra early;
        add.u32 %r30, %r30, 1;
        setp.lt.u32 %p5, %r30, 300000;
        @%p5 bra slow;
    early:";
        run(late, seed).unwrap();
    }
}

const COOPERATIVE_GROUPS: &str = "
.extern .func (.param .b64 result) cudaCGGetIntrinsicHandle(.param .b32 scope);
.extern .func (.param .b32 result) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);
.extern .func (.param .b32 result) cudaCGGetSize(.param .b64 threads, .param .b64 grids, .param .b64 handle);
.extern .func (.param .b32 result) cudaCGGetRank(.param .b64 thread, .param .b64 grid, .param .b64 handle);";

/// Two rounds through the barrier of the grid; the last warp of each block leaves before the second.
const SYNCHRONIZE: &str = "
    .local .align 8 .b8 words[8];
    .reg .b64 %handle;
    { .param .b32 p0; .param .b64 r0;
      st.param.b32 [p0], 1;
      call (r0), cudaCGGetIntrinsicHandle, (p0);
      ld.param.b64 %handle, [r0]; }
    red.global.add.u32 [%rd1], 1;
    { .param .b64 p0; .param .b32 p1; .param .b32 r0;
      st.param.b64 [p0], %handle; st.param.b32 [p1], 0;
      call (r0), cudaCGSynchronize, (p0, p1);
      ld.param.b32 %r10, [r0]; }
    ld.volatile.global.u32 %r11, [%rd1];
    add.s64 %rd10, %rd2, 16;
    st.global.u32 [%rd10], %r11;
    setp.ge.u32 %p1, %r2, 64;
    @%p1 exit;
    red.global.add.u32 [%rd1+4], 1;
    { .param .b64 p0; .param .b32 p1; .param .b32 r0;
      st.param.b64 [p0], %handle; st.param.b32 [p1], 0;
      call (r0), cudaCGSynchronize, (p0, p1);
      ld.param.b32 %r12, [r0]; }
    ld.volatile.global.u32 %r13, [%rd1+4];
    mov.u64 %rd11, words;
    cvta.local.u64 %rd12, %rd11;
    { .param .b64 p0; .param .b64 p1; .param .b64 p2; .param .b32 r0;
      st.param.b64 [p0], %rd12; st.param.b64 [p1], 0; st.param.b64 [p2], %handle;
      call (r0), cudaCGGetSize, (p0, p1, p2);
      ld.param.b32 %r14, [r0]; }
    ld.local.u32 %r15, [words];
    { .param .b64 p0; .param .b64 p1; .param .b64 p2; .param .b32 r0;
      st.param.b64 [p0], %rd12; st.param.b64 [p1], 0; st.param.b64 [p2], %handle;
      call (r0), cudaCGGetRank, (p0, p1, p2);
      ld.param.b32 %r16, [r0]; }
    ld.local.u32 %r17, [words];
    or.b32 %r10, %r10, %r12;
    or.b32 %r10, %r10, %r14;
    or.b32 %r10, %r10, %r16;
    setp.ne.u32 %p2, %r10, 0;
    @%p2 trap;
    setp.ne.u32 %p3, %r17, %r4;
    @%p3 trap;
    mul.lo.u32 %r13, %r13, 10000;
    add.u32 %r13, %r13, %r15;
    st.global.u32 [%rd10], %r13;";

#[test]
fn the_barrier_of_a_grid_by_name() {
    let bench = Bench::new(&kernel(COOPERATIVE_GROUPS, SYNCHRONIZE));
    let out = bench.zeros(16 + 4 * 16 * 96);
    let args: [Arg; 2] = [out.into(), 0u32.into()];
    if let Err(error) = bench.launch_as("k", cooperative(16, 96), &args) {
        panic!("{error}");
    }
    let seen = u32s(&bench.download(out + 16, 4 * 16 * 96));
    for (index, value) in seen.into_iter().enumerate() {
        let expected = if index % 96 >= 64 { 1536 } else { 1024 * 10_000 + 1536 };
        assert_eq!(value, expected, "thread {index}");
    }
    // Without a cooperative launch there is no handle, and the call says so.
    assert_eq!(bench.fault("k", 2, 32, &args).kind, FaultKind::Trap);
}

const ENDLESS: &str = "
    .loc 1 3 1
    st.global.u32 [%rd2], %r2;
    setp.eq.u32 %p1, %r3, 2;
    .loc 1 7 5
    @%p1 bra BARRIER;
SPIN:
    .loc 1 9 9
    ld.volatile.global.u32 %r10, [%rd1+4096];
    setp.eq.u32 %p2, %r10, 0;
    @%p2 bra SPIN;
BARRIER:
    .loc 1 12 5
    setp.lt.u32 %p3, %r2, 32;
    @%p3 bra SPIN;
    bar.sync 0;";

#[test]
fn the_report_of_a_timeout_lists_everybody_by_place() {
    // On a busy machine it takes a while until all threads are where they stay: then the limit is a longer one.
    let stopped_after = |limit: Duration| {
        let config = Config { time_limit: Some(limit), ..Config::default() };
        let bench = Bench::with(&kernel(".file 1 \"src/wait.rs\"", ENDLESS), config);
        let out = bench.zeros(8192);
        bench.fault("k", 6, 64, &[out.into(), 0u32.into()])
    };
    let is_settled = |fault: &Fault| {
        let waits = |live: &LiveThreads| live.state.starts_with("waiting");
        let spins = |live: &LiveThreads| live.location.as_ref().is_some_and(|location| location.line == 9);
        fault.live.iter().map(|live| live.count).sum::<u32>() == 6 * 64
            && fault.live.iter().all(|live| waits(live) || spins(live))
            && fault.live.iter().any(waits)
    };
    let limits = [300, 1000, 3000, 10_000, 30_000].map(Duration::from_millis);
    let (limit, fault) = limits
        .into_iter()
        .map(|limit| (limit, stopped_after(limit)))
        .find(|(limit, fault)| is_settled(fault) || *limit == limits[4])
        .expect("the last limit ends the search");
    assert_eq!(fault.kind, FaultKind::Timeout);
    let text = fault.to_string();
    let within = format!("did not end within {} seconds", limit.as_secs_f64());
    assert!(text.contains(&within), "{text}");
    assert_eq!(fault.live.iter().map(|live| live.count).sum::<u32>(), 6 * 64, "{text}");
    let spinning: Vec<_> = fault.live.iter().filter(|live| live.state == "running").collect();
    assert_eq!(spinning.iter().map(|live| live.count).sum::<u32>(), 5 * 64 + 32, "{text}");
    assert!(spinning.iter().all(|live| live.location.as_ref().is_some_and(|location| location.line == 9)), "{text}");
    assert!(spinning.iter().any(|live| live.blocks > 1 && live.warps > 1), "{text}");
    assert!(
        text.contains("block (2, 0, 0), 32 threads from (32, 0, 0): waiting at barrier 0, where 32 of 64 threads have arrived at src/wait.rs:12:5 (test.ptx line"),
        "{text}"
    );
}

#[test]
fn a_fault_ends_blocks_that_wait_for_its_block() {
    let body = "
        setp.eq.u32 %p1, %r3, 5;
        @%p1 trap;
    SPIN:
        ld.volatile.global.u32 %r10, [%rd1];
        setp.eq.u32 %p2, %r10, 0;
        @%p2 bra SPIN;";
    let bench = Bench::new(&kernel("", body));
    let out = bench.zeros(4);
    let fault = bench.fault("k", 6, 32, &[out.into(), 0u32.into()]);
    assert_eq!((fault.kind, fault.block), (FaultKind::Trap, [5, 0, 0]), "{fault}");
    // So does one while others wait at the barrier of the grid.
    let body = SYNCHRONIZE.replacen("red.global.add.u32 [%rd1], 1;", "setp.eq.u32 %p9, %r3, 1; @%p9 trap;", 1);
    let bench = Bench::new(&kernel(COOPERATIVE_GROUPS, &body));
    let out = bench.zeros(8192);
    match bench.launch_as("k", cooperative(4, 96), &[out.into(), 0u32.into()]) {
        Err(LaunchFailure::Fault(fault)) => assert_eq!((fault.kind, fault.block), (FaultKind::Trap, [1, 0, 0])),
        other => panic!("a fault was expected, not {other:?}"),
    }
}

#[test]
fn the_heap_has_a_limit() {
    let declarations = "
.extern .func (.param .b64 result) malloc(.param .b64 bytes);
.extern .func free(.param .b64 pointer);";
    // Thread 0 takes blocks of 1 MiB until there is none, counts them, and gives one back.
    let body = "
        mov.u32 %r10, 0;
    MORE:
        { .param .b64 p0; .param .b64 r0;
          st.param.b64 [p0], 1048576;
          call (r0), malloc, (p0);
          ld.param.b64 %rd10, [r0]; }
        setp.eq.u64 %p1, %rd10, 0;
        @%p1 bra FULL;
        mov.u64 %rd11, %rd10;
        add.u32 %r10, %r10, 1;
        bra MORE;
    FULL:
        st.global.u32 [%rd1], %r10;
        { .param .b64 p0;
          st.param.b64 [p0], %rd11;
          call free, (p0); }
        { .param .b64 p0; .param .b64 r0;
          st.param.b64 [p0], 1048576;
          call (r0), malloc, (p0);
          ld.param.b64 %rd12, [r0]; }
        setp.ne.u64 %p2, %rd12, 0;
        selp.u32 %r11, 1, 0, %p2;
        st.global.u32 [%rd1+4], %r11;";
    let ptx = kernel(declarations, body);
    let bench = Bench::new(&ptx);
    let out = bench.zeros(8);
    bench.run("k", 1, 1, &[out.into(), 0u32.into()]).unwrap();
    assert_eq!(u32s(&bench.download(out, 8)), [8, 1]);
    bench.device.set_heap_limit(20 << 20);
    bench.run("k", 1, 1, &[out.into(), 0u32.into()]).unwrap();
    assert_eq!(u32s(&bench.download(out, 8)), [12, 1]);
}

#[test]
fn recursion_has_the_stack_that_was_asked_for() {
    let ptx = format!(
        "{}
.func (.param .b32 result) deep(.param .b32 n)
{{
    .local .align 4 .b8 room[256];
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    ld.param.b32 %r1, [n];
    st.local.b32 [room], %r1;
    mov.b32 %r3, 0;
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    sub.u32 %r2, %r1, 1;
    {{ .param .b32 p0; .param .b32 r0;
      st.param.b32 [p0], %r2;
      call (r0), deep, (p0);
      ld.param.b32 %r3, [r0]; }}
    ld.local.b32 %r1, [room];
    add.u32 %r3, %r3, %r1;
DONE:
    st.param.b32 [result], %r3;
    ret;
}}
.visible .entry k(.param .u64 out, .param .u32 n)
{{
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    {{ .param .b32 p0; .param .b32 r0;
      st.param.b32 [p0], %r1;
      call (r0), deep, (p0);
      ld.param.b32 %r2, [r0]; }}
    st.global.u32 [%rd1], %r2;
    ret;
}}",
        crate::common::HEADER
    );
    let bench = Bench::new(&ptx);
    let out = bench.zeros(4);
    bench.device.set_stack_limit(8 * 1024);
    bench.run("k", 1, 1, &[out.into(), 20u32.into()]).unwrap();
    assert_eq!(u32s(&bench.download(out, 4)), [210]);
    let fault = bench.fault("k", 1, 1, &[out.into(), 100u32.into()]);
    assert_eq!(fault.kind, FaultKind::StackOverflow, "{fault}");
    bench.device.set_stack_limit(64 * 1024);
    bench.run("k", 1, 1, &[out.into(), 100u32.into()]).unwrap();
    assert_eq!(u32s(&bench.download(out, 4)), [5050]);
}

#[test]
fn launches_of_several_threads_that_wait_for_each_other() {
    // Launch n waits for word n and then writes word n - 1, so that all must be under way at once. What each has in shared
    // memory, on its stack and in its parameters must be its own.
    let body = "
        .shared .align 4 .b32 mine[32];
        .local .align 4 .b32 own[1];
        mov.u32 %r10, mine;
        shl.b32 %r11, %r2, 2;
        add.u32 %r10, %r10, %r11;
        st.shared.u32 [%r10], %r1;
        st.local.u32 [own], %r1;
        mov.b64 %rd10, n;
        cvta.param.u64 %rd10, %rd10;
        mul.wide.u32 %rd5, %r1, 4;
        add.s64 %rd5, %rd5, %rd1;
    AGAIN:
        ld.volatile.global.u32 %r12, [%rd5];
        setp.eq.u32 %p1, %r12, 0;
        @%p1 bra AGAIN;
        bar.sync 0;
        ld.shared.u32 %r13, [%r10];
        ld.local.u32 %r14, [own];
        ld.param.u32 %r15, [%rd10];
        or.b32 %r13, %r13, %r14;
        or.b32 %r13, %r13, %r15;
        add.u32 %r13, %r13, 100;
        st.volatile.global.u32 [%rd5+-4], %r13;";
    const LAUNCHES: u32 = 6;
    let bench = Bench::new(&kernel("", body));
    let out = bench.zeros(4 * LAUNCHES as usize + 4);
    std::thread::scope(|scope| {
        for number in 1..=LAUNCHES {
            let bench = &bench;
            scope.spawn(move || {
                if number == LAUNCHES {
                    let word = (out + 4 * u64::from(number)) as *mut u32;
                    // SAFETY: the word outlives the launches, which read it by atomic accesses.
                    unsafe { AtomicU32::from_ptr(word) }.store(1, Ordering::Relaxed);
                }
                bench.run("k", 2, 32, &[out.into(), number.into()]).expect("it ends");
            });
        }
    });
    let words = u32s(&bench.download(out, 4 * LAUNCHES as usize));
    assert_eq!(words, (1..=LAUNCHES).map(|number| 100 + number).collect::<Vec<_>>());
}

/// What an endless kernel tells of itself until it is stopped, and how often; block 0 ends at once, and `loops` is what the others
/// repeat.
fn told(declarations: &str, loops: &str) -> Vec<(String, u64, u64)> {
    let config = Config { time_limit: Some(Duration::from_millis(1500)), ..Config::default() };
    let body = format!(
        "setp.eq.u32 %p1, %r3, 0;\n@%p1 exit;\nLOOP:\n{loops}\nld.volatile.global.u32 %r10, [%rd1];\nsetp.eq.u32 %p2, %r10, 0;\n@%p2 bra LOOP;"
    );
    let bench = Bench::with(&kernel(declarations, &body), config);
    bench.device.set_output(Box::new(|_| ()));
    let told = Arc::<Mutex<Vec<_>>>::default();
    let list = Arc::clone(&told);
    bench.device.tell_of_long_launches(Duration::from_millis(100), move |running| {
        assert!(running.elapsed >= Duration::from_millis(100) && running.time_limit.is_some());
        let row = (running.kernel.to_owned(), running.ended, running.blocks);
        list.lock().expect("no test failed").push(row);
    });
    let out = bench.zeros(4);
    assert_eq!(bench.fault("k", 3, 1, &[out.into(), 0u32.into()]).kind, FaultKind::Timeout);
    let told = told.lock().expect("no test failed");
    told.clone()
}

#[test]
fn an_endless_launch_tells_of_itself_at_growing_intervals() {
    // After 100, 300 and 900 ms; on a busy machine the last one may come too late.
    let told = told("", "");
    assert!((2..=3).contains(&told.len()), "{told:?}");
    assert!(told.iter().all(|row| *row == ("k".to_owned(), 1, 3)), "{told:?}");
}

#[test]
fn a_launch_that_prints_is_alive() {
    let declarations =
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n.global .align 1 .b8 text[2] = {46, 0};";
    let print = "{ .param .b64 f; .param .b64 a; .param .b32 r; mov.u64 %rd10, text; cvta.global.u64 %rd10, %rd10; mov.u64 %rd11, 0;
        st.param.b64 [f], %rd10; st.param.b64 [a], %rd11; call.uni (r), vprintf, (f, a); }";
    assert_eq!(told(declarations, print), []);
}
