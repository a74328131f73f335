//! Arithmetic, comparisons and collective operations on values that are the same, or differ by a stride, in neighbouring lanes.
//!
//! Strides are those at which products with a lane's number wrap in 32 and in 64 bits. The expected results are computed here.

use std::fmt::Write;

use crate::common::compiler::native;
use crate::common::{Bench, HEADER, u64s};
use rumba_vm::{Config, Engine};

/// A computation of a thread: instructions that leave the result in `%v`, and the expected result.
struct Row {
    text: String,
    expected: Box<dyn Fn(&Thread<'_>) -> u64>,
}

impl Row {
    fn new(text: String, expected: impl Fn(&Thread<'_>) -> u64 + 'static) -> Self {
        Self { text, expected: Box::new(expected) }
    }
}

/// A thread, by its number in the block, and the numbers of its warp's threads.
struct Thread<'a> {
    number: u64,
    /// Its number in the first dimension of the block.
    x: u64,
    warp: &'a [u64],
}

impl Thread<'_> {
    fn lane(&self) -> u32 {
        self.number as u32 % 32
    }
}

/// Strides whose products with 7, 15 or 31 reach the edges of 32 and of 64 bits, and their neighbours.
const STRIDES: [i64; 23] = [
    0,
    1,
    -1,
    0x7fff_ffff / 31,
    0x7fff_ffff / 31 + 1,
    0x7fff_ffff / 7,
    0x7fff_ffff / 7 + 1,
    -0x8000_0000 / 7,
    -0x8000_0000 / 7 - 1,
    1 << 29,
    (1 << 31) - 1,
    1 << 31,
    -(1 << 31),
    -(1 << 31) - 1,
    (1 << 32) - 1,
    1 << 32,
    i64::MAX / 31 + 1,
    i64::MAX / 7,
    i64::MAX / 7 + 1,
    1 << 61,
    1 << 62,
    i64::MAX,
    i64::MIN,
];

/// Values at which arithmetic of 32 bits wraps within a warp or between warps.
const NEAR: [u32; 5] = [0, 0x7fff_fff8, 0x8000_0000, u32::MAX - 20, u32::MAX];

type Test<T> = (&'static str, fn(T, T) -> bool);

const TESTS_64: [Test<u64>; 5] = [
    ("lt.u64", |a, b| a < b),
    ("ge.u64", |a, b| a >= b),
    ("le.s64", |a, b| a.cast_signed() <= b.cast_signed()),
    ("gt.s64", |a, b| a.cast_signed() > b.cast_signed()),
    ("eq.b64", |a, b| a == b),
];

const TESTS_32: [Test<u32>; 3] =
    [("lt.u32", |a, b| a < b), ("le.s32", |a, b| a.cast_signed() <= b.cast_signed()), ("ne.b32", |a, b| a != b)];

/// Comparisons of a value with a stride with one that is the same in all lanes, and with another stride.
fn comparisons() -> Vec<Row> {
    let mut rows = Vec::new();
    for stride in STRIDES {
        let product = move |thread: &Thread<'_>| thread.number.wrapping_mul(stride.cast_unsigned());
        for (number, (test, holds)) in TESTS_64.into_iter().enumerate() {
            let bound = stride.wrapping_mul(5).wrapping_add(number as i64 - 2);
            let text = format!("mul.lo.s64 %a, %wide, {stride}; setp.{test} %p, %a, {bound}; selp.u64 %v, 1, 0, %p;");
            rows.push(Row::new(text, move |thread| holds(product(thread), bound.cast_unsigned()).into()));
            let other = STRIDES[(number * 7 + 3) % STRIDES.len()];
            let text = format!(
                "mul.lo.s64 %a, %wide, {stride}; mad.lo.s64 %b, %wide, {other}, {bound}; setp.{test} %p, %b, %a; \
                 selp.u64 %v, 1, 0, %p;"
            );
            rows.push(Row::new(text, move |thread| {
                let other = thread.number.wrapping_mul(other.cast_unsigned()).wrapping_add(bound.cast_unsigned());
                holds(other, product(thread)).into()
            }));
        }
        let (test, holds) = TESTS_32[stride.unsigned_abs() as usize % TESTS_32.len()];
        let (stride, bound) = (stride as i32, (stride as i32).wrapping_mul(5).wrapping_sub(1));
        let text = format!("mul.lo.s32 %w, %thread, {stride}; setp.{test} %p, %w, {bound}; selp.u64 %v, 1, 0, %p;");
        rows.push(Row::new(text, move |thread| {
            let product = (thread.number as u32).wrapping_mul(stride.cast_unsigned());
            holds(product, bound.cast_unsigned()).into()
        }));
    }
    // As a kernel compares where its part of an array begins with the array's end.
    for factor in [1 << 20, 1 << 28, 1 << 29, 1 << 30, u32::MAX] {
        let end = u64::from(factor) * 4 + 1;
        let text = format!("mul.wide.u32 %a, %thread, {factor}; setp.lt.u64 %p, %a, {end}; selp.u64 %v, 1, 0, %p;");
        rows.push(Row::new(text, move |thread| (thread.number * u64::from(factor) < end).into()));
    }
    rows
}

/// Sums, differences, products, shifts, extensions and selections.
fn arithmetic() -> Vec<Row> {
    let mut rows = Vec::new();
    for (index, stride) in STRIDES.into_iter().enumerate() {
        let product = move |thread: &Thread<'_>| thread.number.wrapping_mul(stride.cast_unsigned());
        let other = STRIDES[(index + 11) % STRIDES.len()].cast_unsigned();
        let mut push = |text: &str, expected: Box<dyn Fn(u64, u64) -> u64>| {
            let text = format!("mul.lo.s64 %a, %wide, {stride}; mad.lo.u64 %b, %wide, {other}, 99; {text}");
            rows.push(Row::new(text, move |thread| {
                expected(product(thread), thread.number.wrapping_mul(other).wrapping_add(99))
            }));
        };
        push("add.s64 %v, %a, %b;", Box::new(u64::wrapping_add));
        push("sub.s64 %v, %b, %a;", Box::new(|a, b| b.wrapping_sub(a)));
        push("selp.b64 %v, %a, %b, %uniform;", Box::new(|a, _| a));
        push("or.b64 %v, %a, 3; mul.lo.s64 %v, %v, -3;", Box::new(|a, _| (a | 3).wrapping_mul(-3_i64 as u64)));
        let shift = [1, 3, 31, 32, 33, 63, 64][index % 7];
        push(&format!("shl.b64 %v, %a, {shift};"), Box::new(move |a, _| a.checked_shl(shift).unwrap_or(0)));
        push(
            "cvt.u32.u64 %w, %a; add.s32 %w, %w, 7; cvt.u64.u32 %v, %w;",
            Box::new(|a, _| u64::from((a as u32).wrapping_add(7))),
        );
        let near = NEAR[index % NEAR.len()];
        let narrow = stride as i32;
        let value =
            move |thread: &Thread<'_>| (thread.number as u32).wrapping_mul(narrow.cast_unsigned()).wrapping_add(near);
        let mut push = |text: &str, expected: Box<dyn Fn(u32) -> u64>| {
            let text = format!("mad.lo.s32 %w, %thread, {narrow}, {}; {text}", near.cast_signed());
            rows.push(Row::new(text, move |thread| expected(value(thread))));
        };
        push("cvt.u64.u32 %v, %w;", Box::new(u64::from));
        push("cvt.s64.s32 %v, %w;", Box::new(|w| i64::from(w.cast_signed()).cast_unsigned()));
        push("mul.wide.u32 %v, %w, 4294967295;", Box::new(|w| u64::from(w) * u64::from(u32::MAX)));
        push("mad.wide.s32 %v, %w, -5, 1;", Box::new(|w| (i64::from(w.cast_signed()) * -5 + 1).cast_unsigned()));
        push("shl.b32 %w, %w, 30; cvt.u64.u32 %v, %w;", Box::new(|w| u64::from(w << 30)));
        push("cvt.u16.u32 %h, %w; cvt.u64.u16 %v, %h;", Box::new(|w| u64::from(w as u16)));
    }
    rows
}

/// The number of a thread or of a lane, or what is computed from it: instructions that leave it in `%w`, and its value.
type Number = (&'static str, fn(&Thread<'_>) -> u32);

const NUMBERS: [Number; 8] = [
    ("mov.u32 %w, %t0;", |thread| thread.x as u32),
    ("mov.u32 %w, %lane;", |thread| thread.lane()),
    ("shl.b32 %w, %t0, 2;", |thread| thread.x as u32 * 4),
    ("mad.lo.u32 %w, %lane, 3, 256;", |thread| thread.lane() * 3 + 256),
    // The low bits of first lanes are no zeros, or nothing is known of them.
    ("add.u32 %w, %t0, 1;", |thread| thread.x as u32 + 1),
    ("add.u32 %w, %lane, %given;", |thread| thread.lane() + 77),
    ("sub.u32 %w, 31, %lane;", |thread| 31 - thread.lane()),
    ("mul.lo.u32 %w, %lane, -1;", |thread| thread.lane().wrapping_neg()),
];

/// Parts of numbers, as tiles and rows of several lanes are numbered.
fn parts() -> Vec<Row> {
    let mut rows = Vec::new();
    for (before, value) in NUMBERS {
        let mut push = |text: String, expected: Box<dyn Fn(u32) -> u64>| {
            rows.push(Row::new(format!("{before} {text}"), move |thread| expected(value(thread))));
        };
        for amount in [1, 2, 3, 4, 5, 31] {
            let kept = move |w: u32| u64::from(w >> amount);
            push(format!("shr.u32 %w, %w, {amount}; cvt.u64.u32 %v, %w;"), Box::new(kept));
            let kept = move |w: u32| i64::from(w.cast_signed() >> amount).cast_unsigned();
            push(format!("shr.s32 %w, %w, {amount}; cvt.s64.s32 %v, %w;"), Box::new(kept));
            let kept = move |w: u32| u64::from(w) >> amount;
            push(format!("cvt.u64.u32 %a, %w; shr.u64 %v, %a, {amount};"), Box::new(kept));
            push(
                format!("bfe.u32 %w, %w, {amount}, 2; cvt.u64.u32 %v, %w;"),
                Box::new(move |w| (w >> amount & 3).into()),
            );
        }
        for mask in [7, 15, 24, 31, 64, !7, 0x8000_0000] {
            push(format!("and.b32 %w, %w, {mask}; cvt.u64.u32 %v, %w;"), Box::new(move |w| (w & mask).into()));
            push(format!("or.b32 %w, %w, {mask}; cvt.u64.u32 %v, %w;"), Box::new(move |w| (w | mask).into()));
            push(format!("xor.b32 %w, %w, {mask}; cvt.u64.u32 %v, %w;"), Box::new(move |w| (w ^ mask).into()));
        }
        for (shift, mask) in [(3, 64), (4, 16), (2, 3)] {
            // A row of a tile, and the place in the row.
            let text = format!(
                "shr.u32 %x, %w, {shift}; and.b32 %w, %w, {mask}; mad.wide.u32 %v, %x, 100, 8; cvt.u64.u32 %a, %w;"
            );
            let text = format!("{text} mad.lo.u64 %v, %a, 4, %v;");
            push(text, Box::new(move |w| u64::from(w >> shift) * 100 + 8 + u64::from(w & mask) * 4));
        }
        // What was masked and kept another part of the number out is extended.
        push(
            "and.b32 %w, %w, 7; cvt.s64.s32 %v, %w; neg.s64 %v, %v;".to_owned(),
            Box::new(|w| u64::from(w & 7).wrapping_neg()),
        );
    }
    // All lanes of a group, of a segment or of the warp read the same lane; some of them lie outside of the segment.
    for clamp in [31_u32, 0x181f, 0x1007, 0x081f, 7, 20] {
        for (before, value) in NUMBERS {
            for amount in [2, 3] {
                let text = format!(
                    "{before} mul.lo.u32 %x, %thread, %thread; shr.u32 %w, %w, {amount}; \
                     shfl.sync.idx.b32 %x|%p, %x, %w, {clamp}, -1; selp.u64 %v, 1, 0, %p; cvt.u64.u32 %a, %x; shl.b64 %a, %a, 1; or.b64 %v, %v, %a;"
                );
                rows.push(Row::new(text, move |thread| {
                    let (lane, by) = (thread.lane(), value(thread) >> amount & 31);
                    let (segment, bound) = (clamp >> 8, clamp & 31);
                    let source = lane & segment | by & !segment;
                    let is_inside = source <= lane & segment | bound & !segment;
                    let from = thread.warp.get(if is_inside { source } else { lane } as usize);
                    from.map_or(UNKNOWN, |from| (from * from * 2) | u64::from(is_inside))
                }));
            }
        }
    }
    rows
}

/// What an operand of a collective operation is: instructions that leave it in `%w`, or a constant in its place, and its value.
type Operand = (&'static str, &'static str, fn(u64) -> u32);

const OPERANDS: [Operand; 6] = [
    ("", "5", |_| 5),
    ("", "-7", |_| -7_i32 as u32),
    ("mov.u32 %w, %given;", "%w", |_| 77),
    ("add.s32 %w, %thread, -9;", "%w", |thread| (thread as u32).wrapping_sub(9)),
    ("and.b32 %w, %thread, -8; mul.lo.s32 %w, %w, 3;", "%w", |thread| (thread as u32 & !7).wrapping_mul(3)),
    ("mul.lo.u32 %w, %thread, %thread; xor.b32 %w, %w, %given;", "%w", |thread| {
        (thread as u32).wrapping_mul(thread as u32) ^ 77
    }),
];

type Reduce = fn(u32, u32) -> u32;

type Vote = fn(&[bool]) -> u64;

/// The lane that a lane reads.
type Source = fn(usize) -> usize;

/// Reductions, votes, matches and shuffles of each kind of operand.
fn collectives() -> Vec<Row> {
    let mut rows = Vec::new();
    for (before, operand, value) in OPERANDS {
        let of_warp =
            move |thread: &Thread<'_>| -> Vec<u32> { thread.warp.iter().map(|thread| value(*thread)).collect() };
        let reductions: [(&str, Reduce); 8] = [
            ("add.u32", u32::wrapping_add),
            ("min.s32", |a, b| a.cast_signed().min(b.cast_signed()).cast_unsigned()),
            ("max.s32", |a, b| a.cast_signed().max(b.cast_signed()).cast_unsigned()),
            ("min.u32", u32::min),
            ("max.u32", u32::max),
            ("and.b32", |a, b| a & b),
            ("or.b32", |a, b| a | b),
            ("xor.b32", |a, b| a ^ b),
        ];
        for (name, reduce) in reductions {
            let text = format!("{before} redux.sync.{name} %x, {operand}, -1; cvt.u64.u32 %v, %x;");
            rows.push(Row::new(text, move |thread| of_warp(thread).into_iter().reduce(reduce).unwrap().into()));
        }
        let votes: [(&str, Vote); 4] = [
            ("all", |votes| votes.iter().all(|vote| *vote).into()),
            ("any", |votes| votes.iter().any(|vote| *vote).into()),
            ("uni", |votes| votes.iter().all(|vote| *vote == votes[0]).into()),
            ("ballot", |votes| votes.iter().rev().fold(0, |all, vote| all << 1 | u64::from(*vote))),
        ];
        for (name, vote) in votes {
            let result = if name == "ballot" {
                "vote.sync.ballot.b32 %x, %p, -1; cvt.u64.u32 %v, %x;".to_owned()
            } else {
                format!("vote.sync.{name}.pred %p, %p, -1; selp.u64 %v, 1, 0, %p;")
            };
            let text = format!("{before} mov.u32 %x, {operand}; setp.gt.s32 %p, %x, 10; {result}");
            rows.push(Row::new(text, move |thread| {
                let votes: Vec<_> = of_warp(thread).into_iter().map(|value| value.cast_signed() > 10).collect();
                vote(&votes)
            }));
        }
        let text = format!("{before} match.any.sync.b32 %x, {operand}, -1; cvt.u64.u32 %v, %x;");
        rows.push(Row::new(text, move |thread| {
            let equal = of_warp(thread).into_iter().map(|other| other == value(thread.number));
            let equal: Vec<_> = equal.collect();
            equal.iter().rev().fold(0, |all, bit| all << 1 | u64::from(*bit))
        }));
        let text = format!("{before} match.all.sync.b32 %x|%p, {operand}, -1; selp.u64 %v, 1, 0, %p;");
        rows.push(Row::new(text, move |thread| {
            let all = of_warp(thread);
            all.iter().all(|value| *value == all[0]).into()
        }));
        // Each reads a lane that is there: of warps that lack lanes only the lane's own value.
        let shuffles: [(&str, &str, Source); 7] = [
            ("idx", "0", |_| 0),
            ("idx", "%given_lane", |_| 3),
            ("idx", "%reversed", |lane| 31 - lane),
            ("bfly", "9", |lane| lane ^ 9),
            ("up", "8", |lane| if lane < 8 { lane } else { lane - 8 }),
            ("down", "3", |lane| if lane > 28 { lane } else { lane + 3 }),
            ("down", "%lane", |lane| if lane > 15 { lane } else { 2 * lane }),
        ];
        for (name, by, source) in shuffles {
            let bound = if name == "up" { 0 } else { 31 };
            let text = format!("{before} shfl.sync.{name}.b32 %x, {operand}, {by}, {bound}, -1; cvt.u64.u32 %v, %x;");
            rows.push(Row::new(text, move |thread| {
                let lane = thread.number as usize % 32;
                match thread.warp.get(source(lane)) {
                    Some(source) => value(*source).into(),
                    None => UNKNOWN,
                }
            }));
        }
    }
    rows
}

/// The result of a shuffle from a lane that is not there.
const UNKNOWN: u64 = u64::MAX;

/// Rows of a kernel.
const LENGTH: usize = 64;

/// Threads of the largest block.
const THREADS: usize = 256;

const BLOCKS: [[u32; 3]; 8] =
    [[32, 1, 1], [100, 1, 1], [8, 4, 1], [16, 2, 1], [16, 16, 1], [5, 7, 1], [24, 2, 1], [8, 2, 3]];

fn kernel(name: &str, rows: &[Row]) -> String {
    let mut body = String::new();
    for (number, row) in rows.iter().enumerate() {
        let _ = writeln!(body, "{}\nst.global.u64 [%out+{}], %v;", row.text, number * THREADS * 8);
    }
    format!(
        ".visible .entry {name}(.param .u64 out, .param .u32 given)
{{
.reg .pred %p; .reg .pred %uniform; .reg .b16 %h;
.reg .b32 %thread; .reg .b32 %t<4>; .reg .b32 %w; .reg .b32 %x; .reg .b32 %given; .reg .b32 %given_lane; .reg .b32 %lane; .reg .b32 %reversed;
.reg .b64 %wide; .reg .b64 %out; .reg .b64 %a; .reg .b64 %b; .reg .b64 %v;
ld.param.u64 %out, [out];
ld.param.u32 %given, [given];
mov.u32 %t0, %tid.x; mov.u32 %t1, %tid.y; mov.u32 %t2, %tid.z;
mov.u32 %t3, %ntid.y; mad.lo.u32 %t2, %t2, %t3, %t1;
mov.u32 %t3, %ntid.x; mad.lo.u32 %thread, %t2, %t3, %t0;
mov.u32 %lane, %laneid; sub.u32 %reversed, 31, %lane; sub.u32 %given_lane, %given, 74;
setp.eq.u32 %uniform, %given, 77;
cvt.u64.u32 %wide, %thread;
mad.wide.u32 %out, %thread, 8, %out;
{body}ret;
}}
"
    )
}

/// Runs rows on all engines, in blocks of all shapes.
fn check(rows: &[Row]) {
    let kernels: Vec<&[Row]> = rows.chunks(LENGTH).collect();
    let mut module = HEADER.to_owned();
    for (number, rows) in kernels.iter().enumerate() {
        module += &kernel(&format!("k{number}"), rows);
    }
    let mut engines = vec![("interpreter", Engine::interpreter())];
    engines.extend(native().map(|native| ("compiled", native)));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (name, engine) in engines {
        let bench = Bench::on_the_engine_of(Config { engine, ..Config::default() }, &module);
        for (number, rows) in kernels.iter().enumerate() {
            for block in BLOCKS {
                let out = bench.zeros(rows.len() * THREADS * 8);
                bench.launch(&format!("k{number}"), [1, 1, 1], block, 0, &[out.into(), 77_u32.into()]).unwrap();
                let found = u64s(&bench.download(out, rows.len() * THREADS * 8));
                bench.device.free(out).unwrap();
                let threads: Vec<u64> = (0..block.iter().product::<u32>().into()).collect();
                for (row, found) in rows.iter().zip(found.chunks_exact(THREADS)) {
                    count += 1;
                    let differing = threads.iter().find_map(|number| {
                        let warp = threads.chunks(32).nth(*number as usize / 32)?;
                        let expected =
                            (row.expected)(&Thread { number: *number, x: number % u64::from(block[0]), warp });
                        let found = found[*number as usize];
                        (expected != UNKNOWN && found != expected)
                            .then(|| format!("{found:#x} is not {expected:#x} in thread {number}"))
                    });
                    if let Some(differing) = differing {
                        wrong.push(format!("{name}, block {block:?}: {differing}: {}", row.text));
                    }
                }
            }
        }
    }
    let examples = wrong[..wrong.len().min(20)].join("\n");
    assert!(wrong.is_empty(), "{} of {count} rows are wrong, such as\n{examples}", wrong.len());
    println!("{count} rows");
}

#[test]
fn comparisons_wrap_as_their_width_does() {
    check(&comparisons());
}

#[test]
fn arithmetic_wraps_as_its_width_does() {
    check(&arithmetic());
}

#[test]
fn parts_of_numbers_are_the_same_or_differ_by_a_stride() {
    check(&parts());
}

#[test]
fn collective_operations_take_any_operand() {
    check(&collectives());
}
