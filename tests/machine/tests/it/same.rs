//! Kernels compute the same under a configuration of the machine as on the interpreter.
//!
//! Kernels are made from a seed: addresses and counters that are the same or neighbouring in a group of lanes, values that
//! are neither, loops, guards and branches on all of them, shared memory, barriers, shuffles. The same launch runs on both,
//! in blocks of several shapes, and every byte of memory must agree.

use std::fmt::Write;

use crate::common::compiler::native;
use crate::common::{Arg, Bench, HEADER, Random, u32s};
use rumba_vm::Config;

/// The registers that kernels compute with.
trait Registers {
    fn r(&mut self) -> String;
    fn rd(&mut self) -> String;
    fn p(&mut self) -> String;
}

impl Registers for Random {
    fn r(&mut self) -> String {
        format!("%r{}", 10 + self.below(8))
    }

    fn rd(&mut self) -> String {
        format!("%rd{}", 10 + self.below(5))
    }

    fn p(&mut self) -> String {
        format!("%p{}", 1 + self.below(3))
    }
}

/// Elements of the buffer that kernels read and write.
const WORDS: usize = 4096;

/// An address in the buffer, in `%rd30`, from a register: sometimes only correct because it is cut to the buffer, often
/// affine.
fn address(random: &mut Random, body: &mut String) {
    match random.below(4) {
        0 => writeln!(body, "mul.wide.u32 %rd30, %r1, 4; add.s64 %rd30, %rd1, %rd30;"),
        1 => writeln!(
            body,
            "cvt.u64.u32 %rd30, %r1; add.s64 %rd30, %rd30, {}; shl.b64 %rd30, %rd30, 2; add.s64 %rd30, %rd1, %rd30;",
            random.below(64)
        ),
        2 => {
            let index = random.r();
            writeln!(body, "and.b32 %r30, {index}, 1023; mad.wide.u32 %rd30, %r30, 4, %rd1;")
        }
        _ => writeln!(body, "mov.u64 %rd30, %rd1; add.s64 %rd30, %rd30, {};", random.below(1024) * 4),
    }
    .unwrap();
}

fn statement(random: &mut Random, body: &mut String) {
    let (d, a, b) = (random.r(), random.r(), random.r());
    let (wide, other) = (random.rd(), random.rd());
    let p = random.p();
    let text = match random.below(24) {
        0 => format!("add.s32 {d}, {a}, {b};"),
        1 => format!("sub.s32 {d}, {a}, {b};"),
        2 => format!("mul.lo.s32 {d}, {a}, {};", random.below(9)),
        3 => format!("mad.lo.s32 {d}, {}, {a}, {b};", random.below(5)),
        4 => format!("shl.b32 {d}, {a}, {};", random.below(34)),
        5 => format!("mov.u32 {d}, {};", random.below(1 << 32)),
        6 => format!("xor.b32 {d}, {a}, {b};"),
        7 => format!("mul.wide.u32 {wide}, {a}, {}; cvt.u32.u64 {d}, {wide};", random.below(1 << 32)),
        8 => format!("mul.wide.s32 {wide}, {a}, -3; add.s64 {wide}, {wide}, {other}; shr.u64 {other}, {wide}, 3;"),
        9 => format!("cvt.s64.s32 {wide}, {a}; mad.wide.s32 {other}, {b}, 5, {wide};"),
        10 => format!("cvt.u64.u32 {wide}, {a}; sub.s64 {other}, {wide}, {other}; cvt.u32.u64 {d}, {other};"),
        11 => format!("setp.lt.u32 {p}, {a}, {b};"),
        12 => format!("setp.ge.s64 {p}, {wide}, {other};"),
        13 => format!("setp.eq.u32 {p}, {a}, {a};"),
        14 => format!("selp.b32 {d}, {a}, {b}, {p};"),
        15 => format!("@{p} add.s32 {d}, {a}, 7;"),
        16 => format!("@!{p} mad.lo.s32 {d}, {a}, 3, {b};"),
        17 => format!("add.u16 %h1, %h1, 3; cvt.u32.u16 {d}, %h1;"),
        18 => format!("cvt.rn.f32.u32 %f1, {a}; fma.rn.f32 %f2, %f1, %f1, %f2; cvt.rzi.u32.f32 {d}, %f2;"),
        19 => "bar.sync 0;".to_owned(),
        20 => format!("shfl.sync.bfly.b32 {d}, {a}, {}, 31, -1;", random.below(32)),
        21 => {
            address(random, body);
            match random.below(4) {
                0 => format!("ld.global.u32 {d}, [%rd30];"),
                1 => format!("ld.global.u8 {d}, [%rd30+{}];", random.below(8)),
                2 => format!("and.b64 %rd31, %rd30, -16; ld.global.v4.u32 {{{d}, %r31, %r32, {b}}}, [%rd31];"),
                _ => format!("@{p} ld.global.nc.u32 {d}, [%rd30+16];"),
            }
        }
        22 => {
            // A place of the thread's own.
            let value = random.r();
            format!("mad.wide.u32 %rd30, %r1, 4, %rd2; st.global.u32 [%rd30+{}], {value};", 4096 * random.below(4))
        }
        _ => format!(
            "shl.b32 %r30, %r3, 2; mov.u32 %r31, tile; add.s32 %r31, %r31, %r30; st.shared.u32 [%r31], {a}; \
             ld.shared.u32 {d}, [%r31]; ld.shared.u32 {b}, [tile+2048];"
        ),
    };
    writeln!(body, "{text}").unwrap();
}

/// Statements for places that not all threads come to, or not as often: none of them wait for each other.
fn statements(random: &mut Random, limit: u64, body: &mut String) {
    let mut block = String::new();
    for _ in 0..random.below(limit) {
        statement(random, &mut block);
    }
    for line in block.lines().filter(|line| !line.contains("sync")) {
        writeln!(body, "{line}").unwrap();
    }
}

fn kernel(seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut body = String::new();
    let loops = 1 + random.below(3);
    for number in 0..loops {
        for _ in 0..random.below(6) {
            statement(&mut random, &mut body);
        }
        // Some loops are as long for all threads, some are not.
        let bound = match random.below(3) {
            0 => format!("mov.u32 %r{}, {};", 40 + number, 1 + random.below(6)),
            1 => format!("and.b32 %r{}, {}, 7;", 40 + number, random.r()),
            _ => format!("and.b32 %r{}, %r3, 3;", 40 + number),
        };
        writeln!(body, "{bound} mov.u32 %r{}, 0;\nHEAD{number}:", 50 + number).unwrap();
        for part in 0..1 + random.below(3) {
            statements(&mut random, 6, &mut body);
            if random.below(3) == 0 {
                let p = random.p();
                writeln!(body, "@{p} bra PART{number}_{part};").unwrap();
                statements(&mut random, 4, &mut body);
                writeln!(body, "PART{number}_{part}:").unwrap();
            }
        }
        writeln!(
            body,
            "add.u32 %r{0}, %r{0}, 1; setp.lt.u32 %p5, %r{0}, %r{1}; @%p5 bra HEAD{number};",
            50 + number,
            40 + number
        )
        .unwrap();
    }
    format!(
        "{HEADER}
.visible .entry k(.param .u64 in, .param .u64 out, .param .u32 near)
{{
    .reg .pred %p<10>;
    .reg .b16 %h<4>;
    .reg .f32 %f<4>;
    .reg .b32 %r<60>;
    .reg .b64 %rd<40>;
    .shared .align 4 .b8 tile[4096];
    ld.param.u64 %rd1, [in];
    ld.param.u64 %rd2, [out];
    mov.u32 %r3, %tid.x;
    mov.u32 %r4, %tid.y;
    mov.u32 %r5, %ntid.x;
    mad.lo.s32 %r3, %r4, %r5, %r3;
    mov.u32 %r6, %ctaid.x;
    mov.u32 %r7, %ntid.y;
    mul.lo.s32 %r7, %r5, %r7;
    mad.lo.s32 %r1, %r6, %r7, %r3;
    ld.param.u32 %r10, [near];
    mov.u32 %r11, %laneid;
    mov.u32 %r12, %tid.x;
    mov.u32 %r13, %tid.y;
    add.s32 %r14, %r10, %r1;
    mov.u32 %r15, %ctaid.x;
    mul.lo.s32 %r16, %r1, 2654435761;
    mov.u32 %r17, 100;
    mov.u16 %h1, 65530;
    mov.f32 %f2, 0f3F800000;
    cvt.u64.u32 %rd10, %r1;
    mov.u64 %rd11, 12345;
    mul.wide.u32 %rd12, %r16, %r16;
    cvt.s64.s32 %rd13, %r14;
    mov.u64 %rd14, %rd1;
    sub.s64 %rd14, %rd14, %rd1;
    shl.b32 %r30, %r3, 2;
    mov.u32 %r31, tile;
    add.s32 %r31, %r31, %r30;
    st.shared.u32 [%r31], %r16;
    st.shared.u32 [%r31+1024], %r16;
    st.shared.u32 [tile+2048], %r15;
    setp.lt.u32 %p1, %r1, 40;
    setp.eq.u32 %p2, %r3, 5;
    setp.ge.u32 %p3, %r6, 1;
    bar.sync 0;
{body}
    mad.wide.u32 %rd30, %r1, 64, %rd2;
    add.s64 %rd30, %rd30, 16384;
    st.global.v4.u32 [%rd30], {{%r10, %r11, %r12, %r13}};
    st.global.v4.u32 [%rd30+16], {{%r14, %r15, %r16, %r17}};
    st.global.v2.u64 [%rd30+32], {{%rd10, %rd11}};
    st.global.u64 [%rd30+48], %rd12;
    st.global.u64 [%rd30+56], %rd13;
    ret;
}}
"
    )
}

/// How many launches of a seed came to their end, unless any differs from what the interpreter does.
pub(crate) fn compare(seed: u64, config: &Config) -> Result<u32, String> {
    let mut ended = 0;
    let ptx = kernel(seed);
    let values: Vec<u32> = (0..WORDS as u32).map(|i| i.wrapping_mul(2_246_822_519) >> (i % 23)).collect();
    // Indices that wrap around within a group of lanes among them.
    let near = [0, u32::MAX - 50, i32::MAX as u32 - 20][seed as usize % 3];
    for block in [[64, 1, 1], [16, 4, 1], [8, 8, 1], [5, 13, 1], [33, 1, 1], [4, 4, 4]] {
        let results = [config.clone(), Config::default()].map(|config| {
            let bench = Bench::on_the_engine_of(config, &ptx);
            let bytes = 16384 + 64 * 3 * 128;
            let (input, out) = (bench.upload(&values), bench.zeros(bytes));
            let args = [input.into(), out.into(), near.into()];
            let outcome = bench.launch("k", [3, 1, 1], block, 0, &args);
            (outcome.map_err(|error| error.to_string()), u32s(&bench.download(out, bytes)))
        });
        let [(outcome, memory), (expected_outcome, expected)] = &results;
        match (outcome, expected_outcome) {
            (Ok(_), Ok(_)) => ended += 1,
            (Err(a), Err(b)) if a.lines().next() == b.lines().next() => continue,
            other => return Err(format!("seed {seed}, block {block:?}: {other:?}\n{ptx}")),
        }
        if let Some(index) = memory.iter().zip(expected).position(|(a, b)| a != b) {
            return Err(format!(
                "seed {seed}, block {block:?}: word {index} is {:#x} and {:#x} when interpreted\n{ptx}",
                memory[index], expected[index]
            ));
        }
    }
    Ok(ended)
}

#[test]
fn processors_without_vector_instructions_compute_the_same() {
    let config = Config { vector_instructions: false, ..Config::default() };
    let mut ended = 0;
    for seed in 1..200 {
        match compare(seed, &config) {
            Ok(count) => ended += count,
            Err(message) => panic!("{message}"),
        }
    }
    // Launches that end with a fault in both runs prove little.
    assert!(ended > 1000, "only {ended} launches came to their end");
}

/// The guarded operation does not wrap, wraps in the first group of lanes, or is behind an operation that has been executed. All lanes,
/// some lanes or no lanes of a warp pass the guard.
#[test]
fn guarded_arithmetic_wraps_as_its_width_does() {
    let Some(native) = native() else { return };
    let native = Config { engine: native, ..Config::default() };
    const SETUP: &str = "mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 8; ld.param.u64 %rd1, [out]; add.s64 %rd1, %rd1, %rd2; mov.u64 %rd3, 77;";
    for predicate in ["setp.lt.u32 %p1, %r9, 3;", "setp.ge.u32 %p1, %r9, 3;", "setp.lt.u32 %p1, %r1, 9;"] {
        for guarded in [
            "add.u32 %r2, %r1, 5; @%p1 mul.wide.u32 %rd3, %r2, 4;",
            "sub.u32 %r2, 5, %r1; @%p1 mul.wide.u32 %rd3, %r2, 4;",
            "sub.u32 %r2, 5, %r1; @!%p1 mul.wide.u32 %rd3, %r2, 4;",
            "sub.u32 %r2, 5, %r1; cvt.u64.u32 %rd4, %r1; @%p1 mad.wide.u32 %rd3, %r2, 4, %rd4;",
            "sub.u32 %r2, 5, %r1; @%p1 cvt.u64.u32 %rd3, %r2; @%p1 add.u32 %r1, %r1, 1;",
            "sub.u32 %r2, 5, %r1; mul.wide.u32 %rd3, %r2, 4;",
        ] {
            let ptx = format!(
                "{HEADER}.visible .entry k(.param .u64 out)\n{{\n.reg .b32 %r<10>; .reg .b64 %rd<6>; .reg .pred %p<2>;\n{SETUP}\n\
                 mov.u32 %r9, %ctaid.x; {predicate}\n{guarded}\ncvt.u64.u32 %rd4, %r1; add.s64 %rd3, %rd3, %rd4;\n\
                 st.global.u64 [%rd1], %rd3;\nret;\n}}\n"
            );
            let [found, expected] = [native.clone(), Config::default()].map(|config| {
                let bench = Bench::on_the_engine_of(config, &ptx);
                let out = bench.zeros(8 * 64);
                bench.launch("k", [1, 1, 1], [64, 1, 1], 0, &[out.into()]).expect(guarded);
                u32s(&bench.download(out, 8 * 64))
            });
            assert_eq!(found, expected, "{predicate} {guarded}");
        }
    }
}

/// A kernel of the gallery, the shape of its launch and its arguments, of which the buffers are compared afterwards.
type Run = (&'static str, [u32; 3], [u32; 3], fn(&Bench) -> (Vec<Arg>, Vec<(u64, usize)>));

const GALLERY: &[Run] = &[
    ("increment_f64", [4, 1, 1], [256, 1, 1], |bench| {
        let a = bench.upload(&(0..1000).map(f64::from).collect::<Vec<_>>());
        (vec![a.into(), 1000_u64.into()], vec![(a, 8000)])
    }),
    ("saxpy", [4, 1, 1], [256, 1, 1], |bench| {
        let x = bench.upload(&(0..1000).map(|i| i as f32).collect::<Vec<_>>());
        let y = bench.upload(&[1_f32; 1000]);
        let length = Arg::U64(1000);
        (vec![2_f32.into(), x.into(), length, y.into(), length], vec![(y, 4000)])
    }),
    ("matmul", [4, 8, 1], [16, 8, 1], |bench| matrices(bench, 61)),
    ("matmul", [2, 16, 1], [32, 4, 1], |bench| matrices(bench, 64)),
    ("matmul", [9, 9, 1], [7, 7, 1], |bench| matrices(bench, 61)),
    ("matmul_tiled", [4, 4, 1], [16, 16, 1], |bench| matrices(bench, 61)),
    ("mandelbrot", [4, 4, 1], [16, 16, 1], |bench| {
        let out = bench.zeros(4 * 64 * 64);
        let [left, top, step] = [-2_f32, 1.25, 2.5 / 64.0].map(Arg::F32);
        let size = Arg::U32(64);
        (vec![left, top, step, Arg::U32(256), out.into(), size, size], vec![(out, 4 * 64 * 64)])
    }),
    ("reduce", [6, 1, 1], [256, 1, 1], |bench| {
        let x = bench.upload(&(0..10_000).map(|i| i as f32 / 7.0).collect::<Vec<_>>());
        let sums = bench.zeros(24);
        (vec![x.into(), 10_000_u64.into(), sums.into(), 6_u64.into()], vec![(sums, 24)])
    }),
];

fn matrices(bench: &Bench, size: u32) -> (Vec<Arg>, Vec<(u64, usize)>) {
    let count = (size * size) as usize;
    let a = bench.upload(&(0..count).map(|i| (i % 7) as f32 / 3.0).collect::<Vec<_>>());
    let b = bench.upload(&(0..count).map(|i| (i % 5) as f32 / 3.0).collect::<Vec<_>>());
    let c = bench.zeros(4 * count);
    let length = Arg::U64(count as u64);
    let args = vec![a.into(), length, b.into(), length, size.into(), c.into(), size.into(), size.into()];
    (args, vec![(c, 4 * count)])
}

#[test]
fn processors_without_vector_instructions_run_the_gallery() {
    compare_gallery(&Config { vector_instructions: false, ..Config::default() });
}

pub(crate) fn compare_gallery(config: &Config) {
    for (name, grid, block, prepare) in GALLERY {
        let results = [config.clone(), Config::default()].map(|config| {
            let bench = Bench::on_the_engine_of(config, include_str!("../../examples/speed.ptx"));
            let (args, buffers) = prepare(&bench);
            if let Err(error) = bench.launch(name, *grid, *block, 0, &args) {
                panic!("{name}: {error}");
            }
            let contents = buffers.into_iter().map(|(address, bytes)| bench.download(address, bytes));
            contents.collect::<Vec<_>>()
        });
        assert!(results[0] == results[1], "{name} in blocks of {block:?} differs from what is interpreted");
        assert!(results[0].iter().any(|bytes| bytes.iter().any(|byte| *byte != 0)), "{name} did nothing");
    }
}
