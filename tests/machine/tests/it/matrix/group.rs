//! Kernels for products of warp groups. What a line says behind the instruction: how the first factor lies (`rs`: in
//! registers; otherwise the bytes that are swizzled as one, 16 for none, and `t` if it is transposed), how the second one lies,
//! and words such as `fresh` (the accumulator does not count), `minus` (the first factor is negated), `next` (both factors
//! start 32 bytes into their rows). Shared memory is filled with elements throughout, wherever the factors may lie.

use std::fmt::Write;

use super::form::{Element, Form};
use super::warp::Kernel;

/// Bytes of shared memory for the first factor, and for each column of the second one.
const A_BYTES: usize = 8 << 10;
const COLUMN_BYTES: usize = 128;

/// Threads of a warp group.
pub(crate) const THREADS: usize = 128;

/// How a factor lies in shared memory.
struct Place {
    width: usize,
    transposed: bool,
}

impl Place {
    fn parse(word: &str) -> Self {
        let digits = word.trim_end_matches('t');
        Self { width: digits.parse().unwrap(), transposed: digits.len() < word.len() }
    }

    /// The descriptor of a factor of `lines` rows or columns, without its start.
    fn descriptor(&self, lines: usize) -> u64 {
        let width = self.width;
        let mode = [(16, 0), (128, 1), (64, 2), (32, 3)].iter().find(|(w, _)| *w == width).unwrap().1;
        let (leading, stride) = match (self.transposed, width) {
            (_, 16) => (lines * 16, 128),
            (false, _) => (16, 8 * width),
            (true, _) => (16 * width, 8 * width),
        };
        (leading as u64 >> 4) << 16 | (stride as u64 >> 4) << 32 | mode << 62
    }
}

/// The kernel of a line.
pub(crate) fn kernel(line: &str) -> Kernel {
    let words: Vec<&str> = line.split(' ').collect();
    let form = Form::parse(words[0]);
    let [_, n, _] = form.shape;
    let [d, a, b] = form.types[..] else { panic!("{line} has not three types") };
    let (in_registers, has) = (words[1] == "rs", |word: &str| words[3..].contains(&word));
    let results = n / 2 * d.bits / 32;
    let image = A_BYTES + n * COLUMN_BYTES;
    let input_bytes = image + THREADS * 4 * (4 + 1 + results);
    let list = |name: &str, count: usize| {
        let names: Vec<String> = (0..count).map(|index| format!("%{name}{index}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    let places = [Place::parse(if in_registers { "16" } else { words[1] }), Place::parse(words[2])];
    let mut operands = list("d", results);
    operands += &if in_registers { format!(", {}", list("a", 4)) } else { ", %da".to_owned() };
    operands += ", %db";
    if words[0].contains(".sp.") {
        operands += ", %meta, 0";
    }
    operands += if has("fresh") { ", 0" } else { ", 1" };
    if !matches!(a.name, "s8" | "u8" | "b1") {
        write!(operands, ", {}, 1", if has("minus") { -1 } else { 1 }).unwrap();
    }
    if a.bits == 16 {
        let first = usize::from(in_registers);
        for place in &places[first..] {
            write!(operands, ", {}", u8::from(place.transposed)).unwrap();
        }
    }
    let into = if has("next") { 2 } else { 0 };
    let mut text = format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 in, .param .u64 out)
{{
.shared .align 1024 .b8 memory[{image}];
.reg .pred %p; .reg .b64 %in, %out, %t, %da, %db; .reg .b32 %thread, %block, %s, %i, %w<4>, %a<4>, %meta, %d<128>;
ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %thread, %tid.x; mov.u32 %block, %ctaid.x;
mad.wide.u32 %in, %block, {input_bytes}, %in; mad.wide.u32 %out, %block, {}, %out;
mov.u32 %i, %thread;
COPY:
mad.wide.u32 %t, %i, 16, %in; ld.global.v4.b32 {{%w0, %w1, %w2, %w3}}, [%t];
mov.u32 %s, memory; mad.lo.u32 %s, %i, 16, %s; st.shared.v4.b32 [%s], {{%w0, %w1, %w2, %w3}};
add.u32 %i, %i, {THREADS}; setp.lt.u32 %p, %i, {}; @%p bra COPY;
add.u64 %in, %in, {image}; mad.wide.u32 %t, %thread, 4, %in;
",
        results * 4 * THREADS,
        image / 16,
    );
    let mut at = 0;
    let names = [("a", 4), ("meta", 1), ("d", results)];
    for (name, count) in names {
        for register in 0..count {
            let register = if name == "meta" { "%meta".to_owned() } else { format!("%{name}{register}") };
            writeln!(text, "ld.global.b32 {register}, [%t+{at}];").unwrap();
            at += 4 * THREADS;
        }
    }
    write!(
        text,
        "mov.u32 %s, memory; shr.u32 %s, %s, 4; cvt.u64.u32 %t, %s;
add.u64 %da, %t, {}; add.u64 %db, %t, {};
fence.proxy.async; bar.sync 0;
wgmma.fence.sync.aligned;
{} {operands};
wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
mad.wide.u32 %t, %thread, 4, %out;
",
        places[0].descriptor(64) + into,
        places[1].descriptor(n) + (A_BYTES as u64 >> 4) + into,
        words[0],
    )
    .unwrap();
    for register in 0..results {
        writeln!(text, "st.global.b32 [%t+{}], %d{register};", register * 4 * THREADS).unwrap();
    }
    text.push_str("ret;\n}\n");
    let of = |element: Element, bytes: usize| (element, 8 * bytes / element.bits);
    Kernel {
        ptx: text,
        threads: THREADS,
        // A product has as many results as many of a warp.
        tiles: 1,
        input_bytes,
        output_bytes: results * 4 * THREADS,
        elements: vec![
            of(a, A_BYTES),
            of(b, n * COLUMN_BYTES),
            of(a, 16 * THREADS),
            of(Element::metadata(a), 4 * THREADS),
            of(d, results * 4 * THREADS),
        ],
    }
}

/// The lines whose results are worth keeping: every type and layout, and some of the widths.
pub(crate) fn lines() -> Vec<String> {
    let mut lines = Vec::new();
    let mut add = |sparse: &str, n: usize, k: usize, types: &str, words: &str| {
        lines.push(format!("wgmma.mma_async{sparse}.sync.aligned.m64n{n}k{k}.{types} {words}"));
    };
    let halves = ["f32.f16.f16", "f16.f16.f16", "f32.bf16.bf16"];
    let whole = ["16", "32", "64", "128", "16t", "32t", "64t", "128t"];
    for types in halves {
        for a in ["rs", "16", "32", "64", "128", "16t", "32t", "64t", "128t"] {
            add("", 64, 16, types, &format!("{a} 128"));
        }
        for b in whole {
            add("", 64, 16, types, &format!("128 {b}"));
        }
        for n in [8, 24, 104, 136, 256] {
            add("", n, 16, types, "128 128");
        }
        for words in ["128 128 fresh", "128 128 minus", "128 128 next", "64 64 next", "rs 128t fresh minus"] {
            add("", 64, 16, types, words);
        }
        for words in ["rs 128", "64 64", "128t 128t"] {
            add(".sp", 64, 32, types, words);
        }
    }
    let small = ["f32.e4m3.e4m3", "f32.e5m2.e4m3", "f32.e4m3.e5m2", "f16.e4m3.e4m3", "f16.e5m2.e5m2"];
    for (k, list) in [(8, &["f32.tf32.tf32"][..]), (32, &small)] {
        for types in list {
            for words in ["rs 128", "128 128", "64 32", "16 16", "128 128 fresh", "128 128 minus", "128 128 next"] {
                add("", 64, k, types, words);
            }
            add("", 8, k, types, "128 128");
            add("", 256, k, types, "128 128");
            add(".sp", 64, 2 * k, types, "128 128");
            add(".sp", 64, 2 * k, types, "rs 64");
        }
    }
    for types in ["s32.s8.s8", "s32.u8.u8", "s32.s8.u8"] {
        for words in ["rs 128", "128 128", "64 32", "16 16", "128 128 fresh"] {
            add("", 64, 32, types, words);
        }
        add("", 256, 32, types, "128 128");
        add(".sp", 64, 64, types, "128 128");
    }
    for words in ["rs 128", "128 128", "16 16"] {
        add("", 64, 256, "s32.b1.b1.and.popc", words);
    }
    lines
}
