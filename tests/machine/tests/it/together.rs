//! Native code of what lanes do one after the other, or together: atomic operations, votes, shuffles, and their own stacks.
//!
//! Kernels are made from a seed, with branches and guards around all of it. The same launch runs on both engines, and every byte
//! of memory must agree, or the faults.

use std::fmt::Write;

use crate::common::{Bench, Random, compiler, kernel};
use rumba_vm::{Config, LaunchFailure};

/// Random parts of kernels.
trait Choose {
    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str;
    fn r(&mut self) -> String;
    fn rd(&mut self) -> String;
}

impl Choose for Random {
    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len() as u64) as usize]
    }

    fn r(&mut self) -> String {
        format!("%r{}", 10 + self.below(6))
    }

    fn rd(&mut self) -> String {
        format!("%rd{}", 10 + self.below(3))
    }
}

/// How deep branches lie within others.
const DEPTH: u32 = 2;

const DECLARATIONS: &str = ".shared .align 8 .b8 bins[512];\n.global .align 8 .b8 counters[512];";

/// Puts the address of an atomic operation's target into `%rd30`.
fn address(random: &mut Random, body: &mut String, space: &str) {
    let name = if space == "shared" { "bins" } else { "counters" };
    let index = random.r();
    match random.below(4) {
        // The same in all lanes.
        0 => writeln!(body, "mov.u64 %rd30, {name}; add.u64 %rd30, %rd30, {};", random.below(63) * 8),
        1 => writeln!(body, "mov.u64 %rd30, {name}; mad.wide.u32 %rd30, %r2, 8, %rd30;"),
        2 => writeln!(body, "and.b32 %r30, {index}, 7; mov.u64 %rd30, {name}; mad.wide.u32 %rd30, %r30, 8, %rd30;"),
        _ => writeln!(body, "and.b32 %r30, {index}, 63; mov.u64 %rd30, {name}; mad.wide.u32 %rd30, %r30, 8, %rd30;"),
    }
    .unwrap();
}

fn atomic(random: &mut Random, body: &mut String, one_warp: bool) {
    let space = random.of(&["shared", "global"]);
    address(random, body, space);
    let (to, b, c) = (random.r(), random.r(), random.r());
    let (wide_to, wide_b, wide_c) = (random.rd(), random.rd(), random.rd());
    let narrow = random.of(&[
        "add.u32", "add.s32", "min.u32", "max.u32", "min.s32", "max.s32", "inc.u32", "dec.u32", "and.b32", "or.b32",
        "xor.b32", "exch.b32", "add.f32",
    ]);
    let wide = random.of(&[
        "add.u64", "min.u64", "max.u64", "min.s64", "max.s64", "and.b64", "or.b64", "xor.b64", "exch.b64", "add.f64",
    ]);
    // Operations of other warps interleave at any time.
    let commuting = if space == "shared" { random.of(&["xor.b32", "xor.b64"]) } else { "add.u64" };
    let operand = if commuting == "xor.b32" { &b } else { &wide_b };
    if !one_warp {
        writeln!(body, "red.{space}.{commuting} [%rd30], {operand};").unwrap();
        return;
    }
    match random.below(6) {
        0 if !narrow.starts_with("exch") => writeln!(body, "red.{space}.{narrow} [%rd30], {b};"),
        1 if !wide.starts_with("exch") => writeln!(body, "red.{space}.{wide} [%rd30], {wide_b};"),
        2 => writeln!(body, "atom.{space}.cas.b32 {to}, [%rd30], {b}, {c};"),
        3 => writeln!(body, "atom.{space}.cas.b64 {wide_to}, [%rd30], {wide_b}, {wide_c};"),
        4 => writeln!(body, "atom.{space}.{narrow} {to}, [%rd30], {b};"),
        _ => writeln!(body, "atom.{space}.{wide} {wide_to}, [%rd30], {wide_b};"),
    }
    .unwrap();
}

/// Operations of lanes together, for lanes that arrive together.
fn together(random: &mut Random, body: &mut String, all_are_here: bool) {
    let (to, a, b) = (random.r(), random.r(), random.r());
    let all = if all_are_here && random.below(2) == 0 { "mov.u32 %r31, %r32;" } else { "activemask.b32 %r31;" };
    writeln!(body, "{all}").unwrap();
    match random.below(9) {
        0 => writeln!(body, "setp.lt.u32 %p5, {a}, {b}; vote.sync.ballot.b32 {to}, %p5, %r31;"),
        1 => {
            let mode = random.of(&["all", "any", "uni"]);
            writeln!(
                body,
                "setp.lt.u32 %p5, {a}, {b}; vote.sync.{mode}.pred %p6, !%p5, %r31; selp.b32 {to}, {a}, {b}, %p6;"
            )
        }
        2 => writeln!(body, "match.any.sync.b32 {to}, {a}, %r31;"),
        3 => writeln!(body, "match.all.sync.b32 {to}|%p6, {a}, %r31; @%p6 add.u32 {to}, {to}, 3;"),
        4 => {
            let operation = random.of(&["add.u32", "min.s32", "max.u32", "and.b32", "xor.b32"]);
            writeln!(body, "redux.sync.{operation} {to}, {a}, %r31;")
        }
        5 => {
            let mode = random.of(&["up", "down", "bfly", "idx"]);
            let clamp = if mode == "up" { 0 } else { 31 };
            writeln!(body, "shfl.sync.{mode}.b32 {to}|%p6, {a}, {}, {clamp}, %r31;", random.below(32))
        }
        6 => {
            let mode = random.of(&["up", "down", "bfly", "idx"]);
            writeln!(body, "and.b32 %r30, {b}, 31; shfl.sync.{mode}.b32 {to}, {a}, %r30, 0x1c1f, %r31;")
        }
        7 => writeln!(body, "bar.warp.sync %r31;"),
        _ => writeln!(body, "shfl.sync.idx.b32 {to}, {a}, 0, 31, %r31;"),
    }
    .unwrap();
}

/// An access to the thread's stack, by its own address or by a generic one.
fn local(random: &mut Random, body: &mut String) {
    let (value, index) = (random.r(), random.r());
    let place = match random.below(3) {
        0 => format!("and.b32 %r30, {index}, 15; mov.u64 %rd31, stack; mad.wide.u32 %rd31, %r30, 4, %rd31;"),
        1 => format!("mov.u64 %rd31, stack; add.u64 %rd31, %rd31, {};", random.below(16) * 4),
        _ => format!("and.b32 %r30, {index}, 7; mov.u64 %rd31, stack; mad.wide.u32 %rd31, %r30, 4, %rd31;"),
    };
    writeln!(body, "{place}").unwrap();
    match random.below(4) {
        0 => writeln!(body, "st.local.u32 [%rd31], {value};"),
        1 => writeln!(body, "ld.local.u32 {value}, [%rd31];"),
        2 => writeln!(body, "cvta.local.u64 %rd31, %rd31; st.u32 [%rd31], {value};"),
        _ => writeln!(
            body,
            "cvta.local.u64 %rd31, %rd31; cvta.to.local.u64 %rd31, %rd31; ld.local.u8 {value}, [%rd31+1];"
        ),
    }
    .unwrap();
}

fn shared(random: &mut Random, body: &mut String) {
    let value = random.r();
    address(random, body, "shared");
    match random.below(2) {
        0 => writeln!(body, "cvta.shared.u64 %rd30, %rd30; ld.u32 {value}, [%rd30];"),
        _ => writeln!(
            body,
            "cvta.shared.u64 %rd30, %rd30; cvta.to.shared.u64 %rd30, %rd30; ld.relaxed.cta.shared.u32 {value}, [%rd30];"
        ),
    }
    .unwrap();
}

fn steps(random: &mut Random, body: &mut String, count: u64, depth: u32, labels: &mut u32, one_warp: bool) {
    for _ in 0..count {
        let (to, a, b) = (random.r(), random.r(), random.r());
        match random.below(10) {
            0..3 => atomic(random, body, one_warp),
            3..5 => together(random, body, depth == DEPTH),
            5 => local(random, body),
            6 if one_warp => shared(random, body),
            7 if depth > 0 => {
                *labels += 1;
                let label = *labels;
                let test = random.of(&["lt.u32", "eq.s32", "gt.s32"]);
                writeln!(body, "setp.{test} %p{depth}, {a}, {b};\n@%p{depth} bra ELSE{label};").unwrap();
                steps(random, body, 3, depth - 1, labels, one_warp);
                writeln!(body, "bra END{label};\nELSE{label}:").unwrap();
                steps(random, body, 2, depth - 1, labels, one_warp);
                writeln!(body, "END{label}:").unwrap();
            }
            8 => {
                let wide = random.rd();
                writeln!(body, "mad.wide.u32 {wide}, {a}, 77, {wide}; xor.b32 {to}, {a}, {b};").unwrap();
            }
            _ => {
                let operation = random.of(&["add.u32", "div.u32", "rem.s32", "mul.lo.u32", "min.s32"]);
                writeln!(body, "{operation} {to}, {a}, {b};").unwrap();
            }
        }
    }
}

fn random_kernel(seed: u64, one_warp: bool, count: u64) -> String {
    let mut random = Random(0x9e37_79b9_7f4a_7c15 ^ seed.wrapping_mul(0xbf58_476d_1ce4_e5b9));
    random.below(2);
    let mut body = ".local .align 8 .b8 stack[64];\n".to_owned();
    for offset in (0..64).step_by(8) {
        writeln!(body, "st.local.u64 [stack+{offset}], {offset};").unwrap();
    }
    // The threads of the block clear the shared bins.
    body.push_str("mov.u32 %r40, %r2;\nCLEAR:\nmov.u64 %rd30, bins; mad.wide.u32 %rd30, %r40, 8, %rd30; st.shared.u64 [%rd30], 0;\n");
    body.push_str("add.u32 %r40, %r40, %r5; setp.lt.u32 %p1, %r40, 64; @%p1 bra CLEAR;\nbar.sync 0;\n");
    writeln!(body, "activemask.b32 %r32;").unwrap();
    for number in 10..16 {
        writeln!(
            body,
            "mul.lo.u32 %r{number}, %r2, {}; add.u32 %r{number}, %r{number}, {};",
            random.below(9),
            random.below(40)
        )
        .unwrap();
    }
    for number in 10..13 {
        writeln!(body, "mul.wide.u32 %rd{number}, %r2, {};", random.below(1 << 31)).unwrap();
    }
    // Twice, with what the first round left.
    body.push_str("mov.u32 %r41, 0;\nAGAIN:\n");
    steps(&mut random, &mut body, count, DEPTH, &mut 0, one_warp);
    body.push_str("add.u32 %r41, %r41, 1; setp.lt.u32 %p1, %r41, %r1; @%p1 bra AGAIN;\nbar.sync 0;\n");
    body.push_str("mul.wide.u32 %rd40, %r4, 64; add.u64 %rd40, %rd1, %rd40;\n");
    if one_warp {
        for number in 10..16 {
            writeln!(body, "st.global.u32 [%rd40+{}], %r{number};", 4 * (number - 10)).unwrap();
        }
        for number in 10..13 {
            writeln!(body, "st.global.u64 [%rd40+{}], %rd{number};", 8 * (number - 7)).unwrap();
        }
    }
    body.push_str("mov.u64 %rd41, bins; mad.wide.u32 %rd41, %r2, 8, %rd41; ld.shared.u64 %rd42, [%rd41];\n");
    body.push_str("st.global.u64 [%rd40+56], %rd42;\n");
    kernel(DECLARATIONS, &body)
}

/// The memory after a launch, or the fault.
fn result(ptx: &str, config: &Config, grid: u32, block: u32) -> Result<Vec<u8>, String> {
    let config = Config { workers: 1, ..config.clone() };
    let bench = Bench::with(ptx, config);
    let bytes = 64 * (grid * block) as usize;
    let out = bench.zeros(bytes);
    match bench.run("k", grid, block, &[out.into(), 2_u32.into()]) {
        Ok(_) => {
            let (counters, length) = bench.module.global("counters").expect("the module declares it");
            Ok([bench.download(out, bytes), bench.download(counters, length)].concat())
        }
        Err(LaunchFailure::Fault(fault)) => Err(format!("{:?} {:?} {}", fault.kind, fault.thread, fault.ptx_line)),
        Err(other) => panic!("{other}\n{ptx}"),
    }
}

#[test]
fn random_kernels_compute_the_same() {
    let Some(engine) = compiler::native() else { return };
    let native = Config { engine, ..Config::default() };
    let mut good = 0;
    for seed in 1..=40 {
        let (one_warp, grid, block) = match seed % 4 {
            0 => (false, 3, 64),
            1 => (true, 1, 20),
            _ => (true, 1, 32),
        };
        let ptx = random_kernel(seed, one_warp, 14);
        let [interpreted, compiled] = [&Config::default(), &native].map(|config| result(&ptx, config, grid, block));
        assert!(interpreted == compiled, "seed {seed}: {interpreted:?}\n{compiled:?}\n{ptx}");
        good += usize::from(interpreted.is_ok());
    }
    // Kernels that end with a fault on both engines prove little.
    assert!(good > 30, "only {good} kernels came to their end");
}

/// The texts of kernels that are too long with copies for any lanes: three have those for lanes while others wait, two of them
/// with registers that are stored when they are written, and the last has none.
#[test]
fn long_kernels_compute_the_same() {
    let Some(engine) = compiler::native() else { return };
    let native = Config { engine, ..Config::default() };
    let sums = "add.u32 %r10, %r10, 3;\nxor.b32 %r10, %r10, 5;\n".repeat(2100);
    let sums = format!(
        "mul.lo.u32 %r10, %r2, %r2;\nsetp.gt.u32 %p1, %r2, 7;\n@%p1 bra SKIP;\n{sums}SKIP:\nst.global.u32 [%rd2], %r10;"
    );
    // A barrier that has a result ends its block.
    let counted = "setp.gt.u32 %p1, %r2, 7;\nbar.red.popc.u32 %r10, 0, %p1;\nst.global.u32 [%rd2], %r10;\n    ret;";
    let counted = random_kernel(5, true, 200).replace("    ret;", counted);
    let texts = [
        (random_kernel(5, true, 130), true),
        (random_kernel(5, true, 200), true),
        (counted, true),
        (kernel(DECLARATIONS, &sums), false),
    ];
    for (ptx, lanes_wait) in texts {
        let bench = Bench::with(&ptx, native.clone());
        let function = bench.module.function("k").expect("the module has it");
        let text = bench.device.native_text(&function, [32, 1, 1]);
        let text = text.expect("it is not too long for any copies");
        assert!(!text.contains("entry0.Masked:"), "there are copies for any lanes");
        assert_eq!(text.contains("%wait"), lanes_wait);
        for block in [32, 20] {
            let [interpreted, compiled] = [&Config::default(), &native].map(|config| result(&ptx, config, 1, block));
            assert!(interpreted.is_ok(), "{interpreted:?}");
            assert!(interpreted == compiled, "{interpreted:?}\n{compiled:?}");
        }
    }
}

#[test]
fn faults_of_atomic_operations_are_the_interpreters() {
    let Some(engine) = compiler::native() else { return };
    let native = Config { engine, ..Config::default() };
    for (address, access) in [
        ("add.u64 %rd30, %rd2, 2;", "atom.global.add.u32 %r10, [%rd30], 1;"),
        ("mad.wide.u32 %rd30, %r2, 4096, %rd1;", "red.global.add.u32 [%rd30], 1;"),
        ("mov.u64 %rd30, 0;", "atom.global.exch.b32 %r10, [%rd30], 1;"),
        ("mov.u64 %rd30, bins; mad.wide.u32 %rd30, %r2, 32, %rd30;", "atom.shared.add.u32 %r10, [%rd30], 1;"),
        ("mov.u64 %rd30, bins;", "red.shared.add.u64 [%rd30+4], 1;"),
        ("mov.u64 %rd30, 16384; mad.wide.u32 %rd30, %r2, 4, %rd30;", "st.local.u32 [%rd30], 1;"),
        ("mov.u64 %rd30, 1;", "ld.local.u32 %r10, [%rd30];"),
    ] {
        let body = format!("{address}\nsetp.gt.u32 %p1, %r2, 3;\n@%p1 {access}\nst.global.u32 [%rd2], %r2;");
        let ptx = kernel(DECLARATIONS, &body);
        let [interpreted, compiled] = [&Config::default(), &native].map(|config| result(&ptx, config, 1, 32));
        assert!(interpreted.is_err(), "{access}");
        assert_eq!(interpreted, compiled, "{access}");
    }
}
