//! Products of warp groups: every type, layout and option, with numbers whose products and sums are exact, and misuse.

use std::fmt::Write;

use crate::common::{Bench, HEADER, f32s, u32s};
use rumba_vm::{Check, CheckSet, Config, FaultKind, Finding, FindingKind, LaunchFailure};

/// Shared memory of a kernel; the first factor starts at [`A`], the second one at [`B`].
const SHARED: usize = 48 << 10;
const A: usize = 1024;
const B: usize = 12 << 10;

/// How a factor lies in shared memory, or that it lies in registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Registers,
    /// Bytes that are swizzled as one (16: none), whether it is transposed, and how far into a row it starts.
    Shared {
        width: usize,
        transposed: bool,
        into: usize,
    },
}

const fn shared(width: usize) -> Place {
    Place::Shared { width, transposed: false, into: 0 }
}

const fn transposed(width: usize) -> Place {
    Place::Shared { width, transposed: true, into: 0 }
}

#[derive(Debug, Clone, Copy)]
struct Case {
    /// Types of `d`, `a`, `b`.
    types: [&'static str; 3],
    n: usize,
    k: usize,
    a: Place,
    b: Place,
    /// Whether the accumulator counts, and by which signs the factors are multiplied.
    adds: bool,
    signs: [i32; 2],
    sparse: bool,
}

fn bits(ty: &str) -> usize {
    match ty {
        "b1" => 1,
        "s8" | "u8" | "e4m3" | "e5m2" => 8,
        "f16" | "bf16" => 16,
        _ => 32,
    }
}

/// A small integer as an element.
fn encode(ty: &str, x: i32) -> u32 {
    let float = (x as f32).to_bits();
    // The sign, and exponent and mantissa moved to the place and bias of a smaller format.
    let small = |mantissa: u32, bias: u32, sign: u32| {
        if x == 0 {
            return 0;
        }
        let magnitude = (float & 0x7fff_ffff) >> (23 - mantissa);
        (magnitude - ((127 - bias) << mantissa)) | (u32::from(x < 0) << sign)
    };
    match ty {
        "f32" | "tf32" => float,
        "bf16" => float >> 16,
        "f16" => small(10, 15, 15),
        "e5m2" => small(2, 15, 7),
        "e4m3" => small(3, 7, 7),
        "s8" | "u8" => x as u32 & 0xff,
        _ => x as u32,
    }
}

/// Element `index` of a factor: an integer that every format has.
fn element(ty: &str, index: usize) -> i32 {
    let x = (index.wrapping_mul(2_654_435_761) >> 7) as i32 & 0xffff;
    match ty {
        "b1" => x & 1,
        "u8" => x & 0xff,
        "s8" => x as i8 as i32,
        _ => x % 4 - 1,
    }
}

/// The descriptor of a factor, and where the element at a row (or column) and a depth lies, in bits.
fn layout(start: usize, place: Place, bits: usize, lines: usize) -> (u64, impl Fn(usize, usize) -> usize) {
    let (width, transposed, into) = match place {
        Place::Shared { width, transposed, into } => (width, transposed, into),
        Place::Registers => (16, false, 0),
    };
    let mode = [(16, 0), (128, 1), (64, 2), (32, 3)].iter().find(|(w, _)| *w == width).unwrap().1;
    // Distances between core matrices along the depth, and across it.
    let (leading, stride) = match (transposed, width) {
        (false, 16) => (lines * 16, 128),
        (false, _) => (16, 8 * width),
        // Eight rows of depth are 128 bytes; the second eight come behind all of the first.
        (true, 16) => (lines * 16, 128),
        (true, _) => (16 * width, 8 * width),
    };
    let address = (start + into) as u64;
    let descriptor = address >> 4 | (leading as u64 >> 4) << 16 | (stride as u64 >> 4) << 32 | mode << 62;
    let place = move |index: usize, depth: usize| {
        let (index, depth) = if transposed { (depth, index) } else { (index, depth) };
        // Within a row of the swizzle: bytes.
        let bit = depth * bits;
        let (line, inner) = (bit / 128, bit % 128);
        let offset = match (transposed, width) {
            (false, 16) => index % 8 * 16 + index / 8 * stride + line * leading,
            (false, _) => index % 8 * width + index / 8 * stride + line * 16,
            (true, 16) => index % 8 * 16 + index / 8 * leading + line * stride,
            (true, _) => {
                index % 8 * width + index / 8 * stride + line % (width / 16) * 16 + line / (width / 16) * leading
            }
        };
        let address = start + into + offset;
        let swizzled = address ^ (address >> 7 & (width / 16 - 1)) << 4;
        8 * swizzled + inner
    };
    (descriptor, place)
}

fn put(image: &mut [u8], bit: usize, bits: usize, value: u32) {
    if bits < 8 {
        image[bit / 8] |= (value as u8) << (bit % 8);
    } else {
        image[bit / 8..][..bits / 8].copy_from_slice(&value.to_le_bytes()[..bits / 8]);
    }
}

/// The index in a row of a kept element, as tests choose them: one of two for `tf32`, two of four for other types.
fn kept(ty: &str, row: usize, index: usize) -> usize {
    if ty == "tf32" {
        2 * index + (row + index) % 2
    } else {
        let pattern = [(0, 1), (0, 3), (1, 2), (2, 3), (0, 2), (1, 3)][(row + index / 2) % 6];
        index / 2 * 4 + if index.is_multiple_of(2) { pattern.0 } else { pattern.1 }
    }
}

/// The metadata of a thread of the warp that has rows from `first` on, for the selector 0.
fn metadata(ty: &str, first: usize, lane: usize) -> u32 {
    let mut word = 0;
    for field in 0..8 {
        // Of numbers of eight bits a thread has eight fields of a row, of others four of two rows.
        let (row, group) = if bits(ty) == 8 {
            (lane / 4 + lane % 2 * 8, lane % 4 / 2 * 8 + field)
        } else {
            (lane / 4 + field / 4 * 8, lane % 4 * 4 + field % 4)
        };
        if bits(ty) != 8 && lane % 4 > 1 {
            continue;
        }
        let (row, code) = (first + row, |position: usize| (position % 4) as u32);
        let bits = if ty == "tf32" {
            // The positions of both halves.
            if kept(ty, row, group).is_multiple_of(2) { 0b0100 } else { 0b1110 }
        } else {
            code(kept(ty, row, 2 * group)) | code(kept(ty, row, 2 * group + 1)) << 2
        };
        word |= bits << (4 * field);
    }
    word
}

impl Case {
    fn stored(&self) -> usize {
        if self.sparse { self.k / 2 } else { self.k }
    }

    fn a(&self, row: usize, index: usize) -> i32 {
        element(self.types[1], row * 331 + index * 17 + 5)
    }

    fn b(&self, column: usize, depth: usize) -> i32 {
        element(self.types[2], column * 577 + depth * 29 + 11)
    }

    /// The initial value of the accumulator.
    fn c(&self, row: usize, column: usize) -> i32 {
        (row * 7 + column * 3) as i32 % 50 - 20
    }

    fn expected(&self, row: usize, column: usize) -> i32 {
        let sum: i32 = (0..self.stored())
            .map(|index| {
                let depth = if self.sparse { kept(self.types[1], row, index) } else { index };
                self.a(row, index) * self.b(column, depth)
            })
            .sum();
        sum * self.signs[0] * self.signs[1] + if self.adds { self.c(row, column) } else { 0 }
    }

    /// The instruction, the image of shared memory, and what threads take with them: registers of the first factor, metadata.
    fn check(&self) {
        let [d, a, b] = self.types;
        let (in_registers, is_float) = (self.a == Place::Registers, !matches!(a, "s8" | "u8" | "b1"));
        let mut image = vec![0; SHARED];
        let (a_descriptor, place) = layout(A, self.a, bits(a), 64);
        if !in_registers {
            for row in 0..64 {
                for index in 0..self.stored() {
                    put(&mut image, place(row, index), bits(a), encode(a, self.a(row, index)));
                }
            }
        }
        let (b_descriptor, place) = layout(B, self.b, bits(b), self.n);
        for column in 0..self.n {
            for depth in 0..self.k {
                put(&mut image, place(column, depth), bits(b), encode(b, self.b(column, depth)));
            }
        }
        // Of each thread: four registers of the first factor, the metadata, the accumulator.
        let packed = if d == "f16" { 2 } else { 1 };
        let results = self.n / 2 / packed;
        let place = |thread: usize, index: usize| {
            (thread / 32 * 16 + thread % 32 / 4 + index % 4 / 2 * 8, index / 4 * 8 + thread % 4 * 2 + index % 2)
        };
        let mut words = Vec::new();
        for thread in 0..128 {
            let (first, lane) = (thread / 32 * 16, thread % 32);
            let per_word = 32 / bits(a);
            for register in 0..4 {
                let (row, start) = (first + lane / 4 + register % 2 * 8, (lane % 4 + register / 2 * 4) * per_word);
                let parts = (0..per_word).map(|part| {
                    let mask = u32::MAX >> (32 - bits(a));
                    (encode(a, self.a(row, start + part)) & mask) << (part * bits(a))
                });
                words.push(parts.fold(0, |word, part| word | part));
            }
            words.push(metadata(a, first, lane));
            for register in 0..results {
                let parts = (0..packed).map(|part| {
                    let (row, column) = place(thread, register * packed + part);
                    encode(d, self.c(row, column)) << (16 * part)
                });
                words.push(parts.fold(0, |word, part| word | part));
            }
        }
        let sparse = if self.sparse { ".sp" } else { "" };
        let popc = if a == "b1" { ".and.popc" } else { "" };
        let list = |prefix: &str, count: usize| {
            let names: Vec<String> = (0..count).map(|index| format!("%{prefix}{index}")).collect();
            names.join(", ")
        };
        let (d_list, a_list) = (list("d", results), list("a", 4));
        let (factor, first) = if in_registers { (format!("{{{a_list}}}"), "") } else { ("%rd10".to_owned(), "t") };
        let mut operands = format!("{{{d_list}}}, {factor}, %rd11");
        if self.sparse {
            operands += ", %m, 0";
        }
        operands += ", %p1";
        if is_float {
            write!(operands, ", {}, {}", self.signs[0], self.signs[1]).unwrap();
        }
        if bits(a) == 16 {
            let is_transposed = |place| i32::from(matches!(place, Place::Shared { transposed: true, .. }));
            if first == "t" {
                write!(operands, ", {}", is_transposed(self.a)).unwrap();
            }
            write!(operands, ", {}", is_transposed(self.b)).unwrap();
        }
        let instruction =
            format!("wgmma.mma_async{sparse}.sync.aligned.m64n{}k{}.{d}.{a}.{b}{popc} {operands};", self.n, self.k);
        let stride = 4 * (5 + results);
        let mut body = String::new();
        for register in 0..4 {
            writeln!(body, "ld.global.u32 %a{register}, [%rd5+{}];", 4 * register).unwrap();
        }
        writeln!(body, "ld.global.u32 %m, [%rd5+16];").unwrap();
        for register in 0..results {
            writeln!(body, "ld.global.u32 %d{register}, [%rd5+{}];", 20 + 4 * register).unwrap();
        }
        let adds = i32::from(self.adds);
        writeln!(
            body,
            "mov.b32 %r9, {adds}; setp.ne.b32 %p1, %r9, 0; mov.b64 %rd10, {a_descriptor}; mov.b64 %rd11, {b_descriptor};
            fence.proxy.async; bar.sync 0; wgmma.fence.sync.aligned;
            {instruction}
            wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;"
        )
        .unwrap();
        for register in 0..results {
            writeln!(body, "st.global.u32 [%rd5+{}], %d{register};", 20 + 4 * register).unwrap();
        }
        let ptx = format!(
            "{}
            .visible .entry k(.param .u64 image, .param .u64 words) {{
                .shared .align 1024 .b8 memory[{SHARED}];
                .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b32 %a<4>; .reg .b32 %m; .reg .b32 %d<128>; .reg .b64 %rd<20>;
                ld.param.u64 %rd1, [image]; ld.param.u64 %rd2, [words];
                mov.u32 %r1, %tid.x; mov.u32 %r2, memory; mov.u32 %r3, %r1;
            COPY:
                mul.wide.u32 %rd3, %r3, 16; add.u64 %rd4, %rd1, %rd3; cvt.u32.u64 %r4, %rd3; add.u32 %r4, %r4, %r2;
                ld.global.v4.u32 {{%r5, %r6, %r7, %r8}}, [%rd4]; sub.u32 %r4, %r4, 1024;
                setp.lt.u32 %p1, %r3, 64;
                @!%p1 st.shared.v4.u32 [%r4], {{%r5, %r6, %r7, %r8}};
                add.u32 %r3, %r3, 128; setp.lt.u32 %p1, %r3, {}; @%p1 bra COPY;
                mul.wide.u32 %rd4, %r1, {stride}; add.u64 %rd5, %rd2, %rd4;
                {body}
                ret;
            }}",
            HEADER.replace("sm_100a", "sm_90a"),
            SHARED / 16,
        );
        let bench = Bench::new(&ptx);
        let (image, data) = (bench.upload(&image), bench.upload(&words));
        bench.run("k", 1, 128, &[image.into(), data.into()]).unwrap_or_else(|error| panic!("{self:?}: {error}"));
        let out = u32s(&bench.download(data, 4 * words.len()));
        for (thread, words) in out.chunks(5 + results).enumerate() {
            for (register, word) in words[5..].iter().enumerate() {
                for part in 0..packed {
                    let (row, column) = place(thread, register * packed + part);
                    let found = if packed == 2 { word >> (16 * part) & 0xffff } else { *word };
                    let expected = self.expected(row, column);
                    assert_eq!(
                        found,
                        encode(d, expected),
                        "{self:?}: row {row}, column {column} is {found:#x} instead of {expected}"
                    );
                }
            }
        }
    }
}

const PLAIN: Case = Case {
    types: ["f32", "f16", "f16"],
    n: 64,
    k: 16,
    a: shared(128),
    b: shared(128),
    adds: true,
    signs: [1, 1],
    sparse: false,
};

#[test]
fn factors_of_sixteen_bits_lie_in_every_way() {
    for types in [["f32", "f16", "f16"], ["f16", "f16", "f16"], ["f32", "bf16", "bf16"]] {
        for a in [Place::Registers, shared(16), shared(64), transposed(128), transposed(16), transposed(32)] {
            let b = if types[1] == "bf16" { transposed(64) } else { shared(32) };
            Case { types, a, b, ..PLAIN }.check();
        }
        for b in [shared(16), shared(32), shared(64), shared(128), transposed(16), transposed(32), transposed(128)] {
            Case { types, b, ..PLAIN }.check();
        }
    }
}

#[test]
fn every_width_multiplies() {
    for n in (8..=256).step_by(8) {
        Case { n, ..PLAIN }.check();
    }
    for n in [8, 24, 112, 256] {
        let types = ["f16", "f16", "f16"];
        Case { types, n, a: Place::Registers, ..PLAIN }.check();
        let types = ["s32", "u8", "s8"];
        Case { types, n, k: 32, ..PLAIN }.check();
    }
}

#[test]
fn the_other_types_lie_along_the_depth() {
    let cases = [
        (["f32", "tf32", "tf32"], 8),
        (["f32", "e4m3", "e5m2"], 32),
        (["f16", "e5m2", "e4m3"], 32),
        (["f16", "e4m3", "e4m3"], 32),
        (["s32", "s8", "s8"], 32),
        (["s32", "u8", "s8"], 32),
        (["s32", "u8", "u8"], 32),
        (["s32", "b1", "b1"], 256),
    ];
    for (types, k) in cases {
        for place in [shared(16), shared(32), shared(64), shared(128)] {
            Case { types, k, a: place, b: place, ..PLAIN }.check();
            Case { types, k, a: Place::Registers, b: place, ..PLAIN }.check();
        }
    }
}

#[test]
fn accumulators_and_signs_count_as_asked() {
    for adds in [true, false] {
        for signs in [[1, -1], [-1, 1], [-1, -1]] {
            Case { adds, signs, ..PLAIN }.check();
            let types = ["f16", "f16", "f16"];
            Case { types, adds, signs, a: Place::Registers, ..PLAIN }.check();
        }
    }
}

#[test]
fn the_next_depth_starts_within_a_swizzled_row() {
    for (width, into) in [(64, 32), (128, 32), (128, 64), (128, 96)] {
        let place = Place::Shared { width, transposed: false, into };
        Case { a: place, b: place, ..PLAIN }.check();
    }
}

#[test]
fn sparse_factors_choose_among_the_depth() {
    let cases = [
        (["f32", "f16", "f16"], 32),
        (["f16", "f16", "f16"], 32),
        (["f32", "bf16", "bf16"], 32),
        (["f32", "tf32", "tf32"], 16),
        (["f32", "e4m3", "e4m3"], 64),
        (["f16", "e5m2", "e4m3"], 64),
        (["s32", "s8", "u8"], 64),
    ];
    for (types, k) in cases {
        for a in [Place::Registers, shared(64)] {
            Case { types, k, a, sparse: true, ..PLAIN }.check();
        }
    }
    let b = transposed(128);
    Case { k: 32, b, sparse: true, ..PLAIN }.check();
}

/// The fault of a kernel of `threads` threads that executes `body`.
#[track_caller]
fn fault(body: &str, threads: u32, kind: FaultKind, message: &str) {
    let ptx = format!(
        "{}
        .visible .entry k() {{
            .shared .align 1024 .b8 memory[1024];
            .reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<20>;
            mov.u32 %r1, %tid.x; mov.u32 %r2, memory; mov.b64 %rd1, 64; mov.b64 %rd2, 0;
            {body}
            ret;
        }}",
        HEADER.replace("sm_100a", "sm_90a")
    );
    match Bench::new(&ptx).run("k", 1, threads, &[]) {
        Err(LaunchFailure::Fault(fault)) => {
            assert_eq!(fault.kind, kind, "{fault}");
            assert!(fault.message.contains(message), "{fault}");
        }
        other => panic!("a fault was expected, not {other:?}"),
    }
}

#[test]
fn misuse_is_told() {
    let product = "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r4, %r5, %r6, %r7}, %rd1, %rd1, 0, 1, 1, 0, 0;";
    fault(product, 96, FaultKind::Synchronisation, "four whole warps");
    fault(product, 160, FaultKind::Synchronisation, "warp 4 is in none, as the block has 160 threads");
    fault("wgmma.fence.sync.aligned;", 32, FaultKind::Synchronisation, "four whole warps");
    let exits = format!("setp.eq.u32 %p1, %r1, 70; @%p1 exit; bar.warp.sync -1; {product}");
    fault(&exits, 128, FaultKind::Synchronisation, "");
    let outside = product.replace("%rd1, %rd1", "%rd1, %rd2");
    fault(&outside, 128, FaultKind::IllegalAddress, "of shared memory at 0x0");
    let differing = format!("cvt.u64.u32 %rd1, %r1; {product}");
    fault(&differing, 128, FaultKind::InvalidInstruction, "the descriptor of a matrix differs");
    let decided = product.replace("%rd1, 0, 1", "%rd1, %p1, 1");
    let differing = format!("setp.lt.u32 %p1, %r1, 5; {decided}");
    fault(&differing, 128, FaultKind::InvalidInstruction, "the predicate scale-d differs");
}

/// The findings in a kernel whose accumulator is initially undefined.
fn findings(a: &str, scale_d: &str) -> Vec<Finding> {
    let config = Config { checks: CheckSet::default().with(Check::Init), ..Config::default() };
    let ptx = format!(
        "{}
        .visible .entry k(.param .u64 out) {{
            .shared .align 1024 .b8 memory[1024];
            .reg .pred %p<4>; .reg .b32 %r<30>; .reg .b64 %rd<20>;
            ld.param.u64 %rd1, [out];
            mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
            mul.lo.u32 %r2, %r1, 4; mov.u32 %r3, memory; add.u32 %r3, %r3, %r2;
            mov.u32 %r4, 0x3c003c00; st.shared.u32 [%r3], %r4; st.shared.u32 [%r3+512], %r4;
            setp.eq.u32 %p1, %r1, 777; mov.b64 %rd3, 64;
            @%p1 bra OVER;
            mov.u32 %r10, %r4; mov.u32 %r11, %r4; mov.u32 %r12, %r4; mov.u32 %r13, %r4;
            @%p1 mov.u32 %r14, %r4;
            @!%p1 mov.u32 %r15, %r4;
        OVER:
            bar.sync 0;
            wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16
                {{%r20, %r21, %r22, %r23}}, {{%r10, %r11, %r12, {a}}}, %rd3, {scale_d}, 1, 1, 0;
            st.global.u32 [%rd1], %r20;
            ret;
        }}",
        HEADER.replace("sm_100a", "sm_90a")
    );
    let bench = Bench::with(&ptx, config);
    let out = bench.zeros(512);
    bench.run("k", 1, 128, &[out.into()]).unwrap();
    let sums = f32s(&bench.download(out, 512));
    let found = bench.device.take_findings();
    assert!(!found.is_empty() || sums == [16.0; 128], "{sums:?}");
    found
}

#[test]
fn an_accumulator_that_does_not_count_may_hold_nothing() {
    for scale_d in ["0", "%p1"] {
        for a in ["%r13", "%r15"] {
            let found = findings(a, scale_d);
            assert!(found.is_empty(), "{}", found[0]);
        }
    }
    let found = findings("%r14", "0");
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!((found[0].kind, found[0].count), (FindingKind::UnwrittenRegister, 128));
}

/// Five warps: four multiply factors of ones, the fourth of them last, and the fifth overwrites the factors with twos as soon as
/// one thread says that its wait is over.
fn late(body: &str) -> String {
    format!(
        "{}
        .visible .entry k(.param .u64 out) {{
            .shared .align 1024 .b8 memory[4096];
            .shared .align 8 .b64 over;
            .reg .pred %p<4>; .reg .b32 %r<30>; .reg .b64 %rd<20>;
            ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
            mov.u32 %r2, memory; shl.b32 %r3, %r1, 2; add.u32 %r3, %r3, %r2; mov.u32 %r4, 0x3c003c00; mov.u32 %r5, %r3;
        FILL:
            st.shared.u32 [%r5], %r4; add.u32 %r5, %r5, 640; add.u32 %r6, %r2, 4096;
            setp.lt.u32 %p1, %r5, %r6; @%p1 bra FILL;
            setp.eq.u32 %p2, %r1, 0; mov.u32 %r7, over;
            @%p2 mbarrier.init.shared.b64 [%r7], 1;
            fence.proxy.async; bar.sync 0;
            setp.ge.u32 %p1, %r1, 128; @%p1 bra OVERWRITE;
            shr.u32 %r8, %r1, 5; mul.lo.u32 %r8, %r8, 20000;
        DELAY:
            setp.eq.u32 %p1, %r8, 0; @!%p1 sub.u32 %r8, %r8, 1; @!%p1 bra DELAY;
            mov.b64 %rd3, {}; mov.u32 %r20, 0;
            {body}
        OVERWRITE:
            mbarrier.try_wait.parity.shared.b64 %p1, [%r7], 0; @!%p1 bra OVERWRITE;
            mov.u32 %r4, 0x40004000; sub.u32 %r5, %r1, 128; shl.b32 %r5, %r5, 2; add.u32 %r5, %r5, %r2;
        AGAIN:
            st.shared.u32 [%r5], %r4; add.u32 %r5, %r5, 128; setp.lt.u32 %p1, %r5, %r6; @%p1 bra AGAIN;
            ret;
        }}",
        HEADER.replace("sm_100a", "sm_90a"),
        64_u64 | 8 << 32,
    )
}

const PRODUCT: &str = "wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r20, %r21, %r22, %r23}, %rd3, %rd3, 0, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";

#[test]
fn a_wait_is_for_the_whole_group() {
    let ptx = late(&format!("{PRODUCT} @%p2 mbarrier.arrive.shared.b64 _, [%r7]; st.global.u32 [%rd1], %r20; ret;"));
    for (seed, racecheck) in [(None, false), (None, true), (Some(1), true), (Some(2), true)] {
        let checks = CheckSet::default();
        let config =
            Config { seed, checks: if racecheck { checks.with(Check::Race) } else { checks }, ..Config::default() };
        let bench = Bench::with(&ptx, config);
        let out = bench.zeros(512);
        bench.run("k", 1, 160, &[out.into()]).unwrap();
        assert_eq!(f32s(&bench.download(out, 512)), [16.0; 128]);
        let found = bench.device.take_findings();
        assert!(found.is_empty(), "{}", found[0]);
    }
}

#[test]
fn a_warp_that_never_comes_is_missed() {
    let ptx = late(&format!("setp.lt.u32 %p1, %r1, 96; @!%p1 bra OUT; {PRODUCT} OUT: ret;"));
    let config = Config::default();
    let bench = Bench::with(&ptx.replace("OVERWRITE:", "OVERWRITE: ret;"), config);
    let out = bench.zeros(512);
    match bench.run("k", 1, 160, &[out.into()]) {
        Err(LaunchFailure::Fault(fault)) => {
            assert_eq!(fault.kind, FaultKind::Deadlock, "{fault}");
            let text = fault.to_string();
            assert!(text.contains("waiting for the other warps of the warp group to commit products"), "{text}");
        }
        other => panic!("a fault was expected, not {other:?}"),
    }
}
