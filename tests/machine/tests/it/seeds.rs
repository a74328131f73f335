//! Runs with a seed: repeatable, and free to take any order that the program does not forbid.

use std::collections::HashSet;
use std::sync::Arc;

use crate::common::broken::Broken;
use crate::common::{Bench, compiler, kernel, u32s};
use rumba_vm::{Check, CheckSet, Config, Engine, FaultKind, FindingKind, LaunchFailure};

fn seeded(seed: u64) -> Config {
    Config { memory_bytes: 64 << 20, seed: Some(seed), ..Config::default() }
}

/// The contents of `out` after a kernel.
fn run(declarations: &str, body: &str, grid: u32, block: u32, seed: u64) -> Vec<u32> {
    let bench = Bench::with(&kernel(declarations, body), seeded(seed));
    let bytes = 4 * (grid * block + 64) as usize;
    let out = bench.zeros(bytes);
    if let Err(error) = bench.run("k", grid, block, &[out.into(), 0_u32.into()]) {
        panic!("seed {seed}: {error}");
    }
    u32s(&bench.download(out, bytes))
}

/// How many different results 20 seeds have; each seed has one.
#[track_caller]
fn results(declarations: &str, body: &str, grid: u32, block: u32) -> usize {
    let all: HashSet<Vec<u32>> = (0..20).map(|seed| run(declarations, body, grid, block, seed)).collect();
    for seed in [3, 17] {
        let again = run(declarations, body, grid, block, seed);
        assert_eq!(run(declarations, body, grid, block, seed), again);
        assert!(all.contains(&again));
    }
    all.len()
}

/// Each thread stores the next number of a counter at the end of `out`.
const TICKET: &str = "
    mov.u32 %r20, %nctaid.x;
    mul.lo.u32 %r20, %r20, %r5;
    mul.wide.u32 %rd20, %r20, 4;
    add.u64 %rd20, %rd1, %rd20;
    atom.global.add.u32 %r21, [%rd20], 1;
    st.global.u32 [%rd2], %r21;";

#[test]
fn blocks_and_warps_come_in_any_order() {
    assert!(results("", TICKET, 10, 1) > 10);
    assert!(results("", TICKET, 1, 256) > 10);
    let sum = "atom.global.add.u32 %r21, [%rd1], %r4;";
    assert_eq!(results("", sum, 10, 64), 1);
}

#[test]
fn either_side_of_a_branch_comes_first() {
    let body = format!("setp.lt.u32 %p1, %r2, 1;\n @%p1 bra low;\n {TICKET}\n bra.uni done;\nlow:\n {TICKET}\ndone:");
    let first: HashSet<u32> = (0..20).map(|seed| run("", &body, 1, 2, seed)[0]).collect();
    assert_eq!(first, HashSet::from([0, 1]));
}

const TILE: &str = ".shared .align 4 .b8 tile[256];";

#[test]
fn the_lockstep_of_a_warp_shows() {
    let exchange = |between: &str| {
        format!(
            "
    mov.u32 %r9, tile;
    shl.b32 %r10, %r2, 2;
    add.u32 %r10, %r9, %r10;
    st.shared.u32 [%r10], 0;
    bar.warp.sync 0xffffffff;
    bra.uni go;
go:
    st.shared.u32 [%r10], %r2;
    {between}
    xor.b32 %r11, %r10, 4;
    ld.shared.u32 %r12, [%r11];
    st.global.u32 [%rd2], %r12;"
        )
    };
    assert!(results(TILE, &exchange(""), 1, 32) > 3);
    assert_eq!(results(TILE, &exchange("bar.warp.sync 0xffffffff;"), 1, 32), 1);
    assert_eq!(results(TILE, &exchange("bar.sync 0;"), 1, 32), 1);
}

#[test]
fn what_wants_all_lanes_gets_them() {
    // Loads and stores before, after and in between, in a loop.
    let body = "
    mov.u32 %r10, 0;
    mov.u32 %r13, 0;
again:
    ld.global.u32 %r11, [%rd2];
    add.u32 %r11, %r11, %r2;
    st.global.u32 [%rd2], %r11;
    setp.lt.u32 %p2, %r11, 40;
    @%p2 bra small;
    ld.global.u32 %r14, [%rd2];
small:
    activemask.b32 %r15;
    popc.b32 %r12, %r15;
    add.u32 %r13, %r13, %r12;
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p1, %r10, 4;
    @%p1 bra again;
    st.global.u32 [%rd2], %r13;";
    for seed in 0..20 {
        assert_eq!(run("", body, 1, 64, seed)[..64], [4 * 32; 64], "seed {seed}");
    }
}

#[test]
fn reports_carry_the_seed() {
    let config = Config { checks: CheckSet::default().with(Check::Race), ..seeded(7) };
    let bench = Bench::with(&kernel("", "st.global.u32 [%rd1], %r4;"), config);
    let out = bench.zeros(256);
    bench.run("k", 1, 64, &[out.into(), 0_u32.into()]).unwrap();
    let found = bench.device.take_findings();
    assert_eq!((found[0].kind, found[0].seed), (FindingKind::DataRace, Some(7)));
    assert!(found[0].to_string().ends_with("in the schedule of seed 7"), "{}", found[0]);
    // As do faults.
    let bench = Bench::with(&kernel("", "bar.sync 1, 64;"), seeded(8));
    let Err(LaunchFailure::Fault(fault)) = bench.run("k", 1, 32, &[0_u64.into(), 0_u32.into()]) else {
        panic!("a fault was expected");
    };
    assert_eq!((fault.kind, fault.seed), (FaultKind::Synchronisation, Some(8)));
    assert!(fault.to_string().ends_with("in the schedule of seed 8"), "{fault}");
}

#[test]
fn reports_name_the_blocks_as_the_kernel_does() {
    // Blocks 3 and 5 write to the same place.
    let body = "
    or.b32 %r10, %r3, 6;
    setp.eq.u32 %p1, %r10, 7;
    setp.ne.and.u32 %p1, %r3, 1, %p1;
    setp.ne.and.u32 %p1, %r3, 7, %p1;
    @%p1 st.global.u32 [%rd1], %r3;";
    for seed in 0..10 {
        let config = Config { checks: CheckSet::default().with(Check::Race), ..seeded(seed) };
        let bench = Bench::with(&kernel("", body), config);
        let out = bench.zeros(256);
        bench.run("k", 8, 1, &[out.into(), 0_u32.into()]).unwrap();
        let found = bench.device.take_findings();
        let mut blocks: Vec<u32> = found[0].sides.iter().map(|side| side.block[0]).collect();
        blocks.sort_unstable();
        assert_eq!(blocks, [3, 5], "seed {seed}");
    }
}

#[test]
fn blocks_may_look_back() {
    // Each block waits for the one before it.
    let body = "
    setp.eq.u32 %p1, %r3, 0;
    @%p1 bra go;
again:
    ld.acquire.gpu.u32 %r10, [%rd2+-4];
    setp.eq.u32 %p2, %r10, 0;
    @%p2 bra again;
go:
    add.u32 %r11, %r3, 1;
    st.release.gpu.u32 [%rd2], %r11;";
    for seed in 0..5 {
        let expected: Vec<u32> = (1..=50).collect();
        assert_eq!(run("", body, 50, 1, seed)[..50], expected);
    }
}

/// Loops, then stores the lane's number plus 1 and loads the number of a neighbour, without a barrier in between: a lane
/// that has run ahead finds 0.
const EXCHANGE: &str = "
    mov.u32 %r10, 0;
again:
    add.u32 %r10, %r10, 1;
    setp.lt.u32 %p1, %r10, 1000;
    @%p1 bra again;
    add.u32 %r11, %r2, 1;
    st.global.u32 [%rd2], %r11;
    xor.b64 %rd10, %rd2, 4;
    ld.global.u32 %r12, [%rd10];
    cvt.u64.u32 %rd11, %r1;
    add.u64 %rd11, %rd2, %rd11;
    st.global.u32 [%rd11], %r12;";

/// The blocks of [`EXCHANGE`], and the first and the last of these blocks that are compared.
const BLOCKS: u32 = 4000;
const PART: usize = 300;

/// For each block of [`EXCHANGE`], whether a lane has run ahead.
fn ran_ahead(seed: u64, engine: &Engine) -> Vec<bool> {
    let bench = Bench::with(&kernel("", EXCHANGE), Config { engine: engine.clone(), ..seeded(seed) });
    let bytes = 4 * 32 * BLOCKS;
    let out = bench.zeros(2 * bytes as usize);
    bench.run("k", BLOCKS, 32, &[out.into(), bytes.into()]).unwrap();
    let all = u32s(&bench.download(out, 2 * bytes as usize));
    all[bytes as usize / 4..].chunks(32).map(|lanes| lanes.contains(&0)).collect()
}

#[test]
fn most_blocks_of_long_launches_have_native_code() {
    let Some(engine) = compiler::native() else { return };
    let count = |blocks: &[bool]| blocks.iter().filter(|ahead| **ahead).count();
    for seed in [1, 2] {
        let interpreted = ran_ahead(seed, &Engine::interpreter());
        let mixed = ran_ahead(seed, &engine);
        // The choice does not depend on when the code is ready.
        assert_eq!(mixed, ran_ahead(seed, &engine), "seed {seed}");
        assert_eq!(mixed[..PART], interpreted[..PART], "seed {seed}");
        let last = BLOCKS as usize / 2;
        let (many, few) = (count(&interpreted[last..]), count(&mixed[last..]));
        assert!(few > 0 && few * 8 < many && many < few * 32, "seed {seed}: {few} of {many}");
    }
    assert_ne!(ran_ahead(1, &engine), ran_ahead(2, &engine));
}

#[test]
fn kernels_without_code_are_interpreted() {
    let interpreted = ran_ahead(3, &Engine::interpreter());
    for forgets in [false, true] {
        assert_eq!(ran_ahead(3, &Engine::compiled(Arc::new(Broken { forgets }))), interpreted);
    }
}

#[test]
fn races_of_blocks_with_native_code_are_found() {
    let Some(engine) = compiler::native() else { return };
    // Two blocks of the last part write to the same place, after their loops.
    let body = format!(
        "{EXCHANGE}
    or.b32 %r20, %r3, 1;
    setp.eq.u32 %p2, %r20, {};
    @%p2 st.global.u32 [%rd1+{}], %r3;",
        BLOCKS - 1,
        3 * 4 * 32 * BLOCKS
    );
    for seed in 0..3 {
        let checks = CheckSet::default().with(Check::Race);
        let bench = Bench::with(&kernel("", &body), Config { engine: engine.clone(), checks, ..seeded(seed) });
        let bytes = 4 * 32 * BLOCKS;
        let out = bench.zeros(3 * bytes as usize + 4);
        bench.run("k", BLOCKS, 32, &[out.into(), bytes.into()]).unwrap();
        let found = bench.device.take_findings();
        let is_of_blocks = |finding: &rumba_vm::Finding| {
            finding.sides.iter().all(|side| side.block[0] | 1 == BLOCKS - 1) && finding.seed == Some(seed)
        };
        assert!(found.iter().any(is_of_blocks), "seed {seed}: {found:?}");
    }
}
