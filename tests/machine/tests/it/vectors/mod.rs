//! The instructions of `h200.txt` as kernels, with their operands: shared by the test and the program that makes the file.

#![allow(dead_code, reason = "each user needs a part of it")]

pub(crate) mod errors;

use rumba_vm::isa;
use std::fmt::Write;

/// Combinations of operands.
pub(crate) const COUNT: usize = 2048;

/// Edge values of `f32` operands.
const F32: [u32; 67] = [
    0x0000_0000,
    0x8000_0000,
    0x0000_0001,
    0x8000_0001,
    0x007f_ffff,
    0x807f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x0080_0001,
    0x3f80_0000,
    0xbf80_0000,
    0x3f7f_ffff,
    0x3f80_0001,
    0x4000_0000,
    0xc000_0000,
    0x3f00_0000,
    0xbf00_0000,
    0x3eff_ffff,
    0x3fc0_0000,
    0x4020_0000,
    0x4060_0000,
    0xbfc0_0000,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7fc0_0000,
    0xffc0_0000,
    0x7fff_ffff,
    0x7f80_0001,
    0xff81_2345,
    0x4b00_0000,
    0x4b7f_ffff,
    0x4b80_0000,
    0x4f00_0000,
    0xcf00_0000,
    0x4eff_ffff,
    0x4f7f_ffff,
    0x4f80_0000,
    0x5f00_0000,
    0xdf00_0000,
    0x5f80_0000,
    0x4780_0000,
    0x477f_e000,
    0x477f_f000,
    0x3380_0000,
    0x3300_0000,
    0x3880_0000,
    0x387f_e000,
    0x387f_f000,
    0x4300_0000,
    0x437f_0000,
    0x42fe_0000,
    0xc300_0000,
    0x7e80_0000,
    0x7e80_0001,
    0x7f00_0000,
    0x2000_0000,
    0xa000_0000,
    0x3400_0000,
    0x4049_0fdb,
    0x3fc9_0fdb,
    0xc2fc_0000,
    0x42fc_0000,
    0xc316_0000,
    0xc315_0000,
    0x42b1_7218,
];

/// Edge values of `f64` operands, in addition to those of `f32`.
const F64: [u64; 28] = [
    0x0000_0000_0000_0000,
    0x8000_0000_0000_0000,
    0x0000_0000_0000_0001,
    0x8000_0000_0000_0001,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x8010_0000_0000_0000,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0xfff8_0000_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0x7ff0_0000_0000_0001,
    0xfff0_0000_1234_5678,
    0x43e0_0000_0000_0000,
    0xc3e0_0000_0000_0000,
    0x43f0_0000_0000_0000,
    0x41df_ffff_ffc0_0000,
    0x41ef_ffff_ffe0_0000,
    0xc1e0_0000_0000_0000,
    0x3810_0000_0000_0000,
    0x380f_ffff_ffff_ffff,
    0x47ef_ffff_e000_0000,
    0x47ef_ffff_f000_0000,
    0x36a0_0000_0000_0000,
    0x3690_0000_0000_0000,
];

/// Operands that are interesting as `f16`.
const F16: [u16; 33] = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x83ff, 0x0400, 0x8400, 0x0401, 0x3c00, 0xbc00, 0x3bff, 0x3c01, 0x4000,
    0xc000, 0x3800, 0xb800, 0x3e00, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0xfe00, 0x7fff, 0x7c01, 0xfd12, 0x6400,
    0x57f8, 0x5bf8, 0xd800, 0x0200, 0x1400,
];

/// The finalizer of SplitMix64.
fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// An operand of a type, made from a random number: an interesting one, one of moderate size, or any.
fn operand(ty: &str, seed: u64) -> u64 {
    let kind = seed % 100;
    let random = mix(seed);
    let choose = |count: usize| (seed >> 40) as usize % count;
    let moderate = |exponents: u64, least: u64, shift: u32, keep: u64| {
        random & keep | ((random >> 40) % exponents + least) << shift
    };
    match ty {
        "f32" => match kind {
            0..50 => F32[choose(F32.len())].into(),
            50..75 => moderate(40, 107, 23, 0x807f_ffff),
            _ => random & 0xffff_ffff,
        },
        "f64" => match kind {
            0..40 => f64::from(f32::from_bits(F32[choose(F32.len())])).to_bits() ^ u64::from(random & 7 == 0),
            40..55 => F64[choose(F64.len())],
            55..80 => random & 0x800f_ffff_ffff_ffff | ((random >> 3) % 90 + 978) << 52,
            _ => random,
        },
        "f16" => match kind {
            0..50 => F16[choose(F16.len())].into(),
            _ => random & 0xffff,
        },
        "bf16" => match kind {
            0..50 => (F32[choose(F32.len())] >> 16).into(),
            50..75 => moderate(24, 115, 7, 0x807f),
            _ => random & 0xffff,
        },
        "f32x2" => operand("f32", seed) << 32 | operand("f32", mix(seed ^ 77)),
        "f16x2" => operand("f16", seed) << 16 | operand("f16", mix(seed ^ 77)),
        "bf16x2" => operand("bf16", seed) << 16 | operand("bf16", mix(seed ^ 77)),
        "pred" => seed >> 17 & 1,
        _ => {
            let width = bits(ty);
            let top = 1 << (width - 1);
            let edges = [0, 1, 2, u64::MAX, u64::MAX - 1, top, top - 1, top + 1, 31, 32, 33, 63, 64, 65, 255, 256];
            let value = match kind {
                0..30 => edges[choose(16)],
                30..50 => random >> (random & 63),
                50..60 => random & 0x3f,
                _ => random,
            };
            value & (u64::MAX >> (64 - width))
        }
    }
}

/// Bits of a type; predicates have one.
fn bits(ty: &str) -> u32 {
    match ty {
        "pred" => 1,
        "f32x2" => 64,
        _ if ty.ends_with("x2") => 32,
        _ => ty.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).parse().unwrap(),
    }
}

/// The register of a number that holds an operand, with what the line says before and behind its type (`-u32.h1`).
fn register(operand: &str, index: usize) -> String {
    let (sign, operand) = operand.strip_prefix('-').map_or(("", operand), |rest| ("-", rest));
    let (ty, selector) = operand.split_at(operand.find('.').unwrap_or(operand.len()));
    match bits(ty) {
        1 => format!("%p{index}"),
        64 => format!("%rd{index}"),
        32 => format!("{sign}%r{index}{selector}"),
        _ => format!("%h{index}"),
    }
}

/// The type in an operand.
fn type_of(operand: &str) -> &str {
    let operand = operand.trim_start_matches('-');
    &operand[..operand.find('.').unwrap_or(operand.len())]
}

/// One line of the file: an instruction, the type of its result, those of its operands. In `sub.cc.u32+addc.u32` the first
/// instruction sets the carry flag for the second, which the destination belongs to; the operands of both follow it.
pub(crate) struct Line<'t> {
    pub(crate) text: &'t str,
    pub(crate) destination: &'t str,
    /// `-` where the operand is the truth table of `lop3`.
    sources: Vec<&'t str>,
}

impl<'t> Line<'t> {
    /// A line without its hash.
    pub(crate) fn parse(line: &'t str) -> Self {
        let words: Vec<&str> = line.split(' ').collect();
        Self { text: words[0], destination: words[1], sources: words[2..].to_vec() }
    }

    fn starts_with(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.text.starts_with(name))
    }

    /// Whether the lanes that execute it are named by its last operand.
    fn takes_membermask(&self) -> bool {
        let mnemonic = self.text.split('.').next().unwrap_or_default();
        let takes = |form: &isa::Form| form.syntax.contains("membermask");
        isa::find(mnemonic).is_some_and(|instruction| instruction.forms.iter().any(takes))
    }

    /// The instructions that put the operands into registers, and the operands.
    fn operands_in_registers(&self) -> (String, Vec<String>) {
        let mut body = String::new();
        let mut operands = Vec::new();
        for (index, operand) in self.sources.iter().enumerate() {
            let number = index + 1;
            if *operand == "-" {
                operands.push("0x6b".to_owned());
                continue;
            }
            writeln!(body, "ld.global.u64 %rd{number}, [%rd10+{}];", index * COUNT * 8).unwrap();
            match bits(type_of(operand)) {
                1 => writeln!(body, "cvt.u32.u64 %r{number}, %rd{number}; setp.ne.u32 %p{number}, %r{number}, 0;"),
                64 => Ok(()),
                32 => writeln!(body, "cvt.u32.u64 %r{number}, %rd{number};"),
                _ => writeln!(body, "cvt.u16.u64 %h{number}, %rd{number};"),
            }
            .unwrap();
            operands.push(register(operand, number));
        }
        (body, operands)
    }

    /// The instruction with its operands, and what makes `%t` of the carry flag or of its second destination.
    fn instruction(&self, mut operands: Vec<String>) -> String {
        if self.starts_with(&["atom", "red."]) {
            return self.on_memory(operands);
        }
        if let Some((first, second)) = self.text.split_once('+') {
            return self.chain(first, second, &operands);
        }
        let dst = register(self.destination, 0);
        let second = "selp.u32 %t, 1, 0, %p9;\n";
        if self.takes_membermask() {
            operands.push("-1".to_owned());
        }
        let (dst, after) = match self.text {
            text if text.starts_with("setp") && !matches!(self.sources[0], "f16" | "bf16") => {
                (format!("{dst}|%p9"), second)
            }
            text if text.starts_with("shfl") || text.starts_with("match.all") => (format!("{dst}|%p9"), second),
            text if text.contains(".cc") && text.starts_with("sub") => (dst, "subc.u32 %t, 0, 0; and.b32 %t, %t, 1;\n"),
            text if text.contains(".cc") => (dst, "addc.u32 %t, 0, 0;\n"),
            _ => (dst, "mov.u32 %t, 0;\n"),
        };
        let before = if self.starts_with(&["subc"]) {
            "and.b32 %t, %r10, 1; sub.cc.u32 %t, 0, %t;\n"
        } else if self.starts_with(&["addc", "madc"]) {
            "and.b32 %t, %r10, 1; add.cc.u32 %t, %t, 0xffffffff;\n"
        } else {
            ""
        };
        operands.insert(0, dst);
        format!("{before}{} {};\n{after}", self.text, operands.join(", "))
    }

    /// An instruction that sets the carry flag, an instruction that reads it, and the resulting flag. The flag is also
    /// set beforehand: an instruction that does not read the flag must ignore it.
    fn chain(&self, first: &str, second: &str, operands: &[String]) -> String {
        let count = if first.starts_with("mad") { 3 } else { 2 };
        let (of_first, of_second) = operands.split_at(count);
        format!(
            "and.b32 %t, %r10, 1; add.cc.u32 %t, %t, 0xffffffff;
{first} {}, {};
{second} {}, {};
addc.u32 %t, 0, 0;
",
            register(self.sources[0], 7),
            of_first.join(", "),
            register(self.destination, 0),
            of_second.join(", ")
        )
    }

    /// An atomic operation: the first source is what the memory holds before, the destination what it holds afterwards,
    /// and `%t` the lower half of what the instruction gives.
    fn on_memory(&self, operands: Vec<String>) -> String {
        let width = bits(type_of(self.destination));
        let (place, space) = if self.text.contains(".shared") { ("[%r15]", "shared") } else { ("[%rd10]", "global") };
        let result = register(self.destination, 9);
        let mut list = vec![place.to_owned()];
        list.extend(operands[1..].iter().cloned());
        let mut after = "mov.u32 %t, 0;";
        if self.text.starts_with("atom") {
            list.insert(0, result.clone());
            after = match width {
                64 => "cvt.u32.u64 %t, %rd9;",
                32 => "mov.b32 %t, %r9;",
                _ => "cvt.u32.u16 %t, %h9;",
            };
        }
        format!(
            "mov.u32 %r15, smem; mad.lo.u32 %r15, %r12, 8, %r15;
st.{space}.b{width} {place}, {};
{} {};
ld.{space}.b{width} {}, {place};
{after}
",
            operands[0],
            self.text,
            list.join(", "),
            register(self.destination, 0)
        )
    }

    /// A kernel that writes the result, and behind all results the carry flag or the second destination.
    pub(crate) fn kernel(&self) -> String {
        let (load, operands) = self.operands_in_registers();
        let instruction = self.instruction(operands);
        let widen = match bits(type_of(self.destination)) {
            1 => "selp.u64 %rd0, 1, 0, %p0;\n",
            64 => "",
            32 => "cvt.u64.u32 %rd0, %r0;\n",
            _ => "cvt.u64.u16 %rd0, %h0;\n",
        };
        format!(
            ".version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 in, .param .u64 out)
{{
.reg .b64 %rd<20>; .reg .b32 %r<20>; .reg .b16 %h<20>; .reg .pred %p<20>; .reg .b32 %t; .reg .b64 %a;
.shared .align 8 .b8 smem[2048];
ld.param.u64 %rd10, [in]; ld.param.u64 %rd11, [out];
mov.u32 %r10, %ctaid.x; mov.u32 %r11, %ntid.x; mov.u32 %r12, %tid.x; mad.lo.s32 %r10, %r10, %r11, %r12;
mul.wide.u32 %rd12, %r10, 8; add.u64 %rd10, %rd10, %rd12; add.u64 %rd11, %rd11, %rd12;
{load}{instruction}{widen}st.global.u64 [%rd11], %rd0; cvt.u64.u32 %a, %t; st.global.u64 [%rd11+{}], %a;
ret;
}}
",
            COUNT * 8
        )
    }

    /// The operands of all sources, source by source.
    pub(crate) fn operands(&self) -> Vec<u64> {
        let seed = self.text.bytes().fold(17, |seed, byte| mix(seed ^ u64::from(byte)));
        let mut operands = Vec::new();
        for (index, source) in self.sources.iter().enumerate() {
            operands.extend((0..COUNT as u64).map(|count| match *source {
                "-" => 0,
                _ => operand(type_of(source), mix(seed ^ (index as u64 + 1) << 32 ^ count)),
            }));
        }
        operands
    }

    /// FNV-1a over the results.
    pub(crate) fn hash(&self, results: &[u64]) -> u64 {
        let mask = u64::MAX >> (64 - bits(type_of(self.destination)));
        let values = results[..COUNT].iter().map(|value| value & mask).chain(results[COUNT..].iter().copied());
        values
            .flat_map(u64::to_le_bytes)
            .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}
