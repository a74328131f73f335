//! Kernels and operands for one matrix instruction: raw registers in, raw registers out, so that what is compared is the
//! place of every element as well as its value.
//!
//! Nothing here knows what the instructions compute; the operands are random, of several kinds.

use std::fmt::Write;

/// How every module starts.
pub(crate) const HEADER: &str = ".version 8.8\n.target sm_90\n.address_size 64\n";

/// Warps that run each instruction for each kind of operands.
pub(crate) const TILES: usize = 12;

/// Kinds of operands.
///
/// `sparse`: few elements that are not zero, all small integers. `small`: small integers. `real`: numbers of similar
/// size. `wide`: numbers of all sizes. `any`: those and infinities, NaN, subnormals, extremes. `edge`: zeros of both signs,
/// the smallest and largest numbers. Operands of integer types are sparse once and any bits otherwise.
pub(crate) const KINDS: [&str; 6] = ["sparse", "small", "real", "wide", "any", "edge"];

/// The finalizer of SplitMix64.
pub(crate) fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// A type of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: &'static str,
    pub(crate) bits: usize,
    /// Bits of exponent and fraction; none for integers.
    float: Option<(u32, u32)>,
}

const fn integer(name: &'static str, bits: usize) -> Element {
    Element { name, bits, float: None }
}

const fn float(name: &'static str, bits: usize, exponent: u32, fraction: u32) -> Element {
    Element { name, bits, float: Some((exponent, fraction)) }
}

const ELEMENTS: [Element; 17] = [
    float("f64", 64, 11, 52),
    float("f32", 32, 8, 23),
    float("tf32", 32, 8, 10),
    float("bf16", 16, 8, 7),
    float("f16", 16, 5, 10),
    float("e5m2", 8, 5, 2),
    float("e4m3", 8, 4, 3),
    float("e3m2", 8, 3, 2),
    float("e2m3", 8, 2, 3),
    float("e2m1", 8, 2, 1),
    integer("s32", 32),
    integer("s8", 8),
    integer("u8", 8),
    integer("s4", 4),
    integer("u4", 4),
    integer("b1", 1),
    integer("b16", 16),
];

impl Element {
    pub(crate) fn named(name: &str) -> Self {
        match ELEMENTS.iter().find(|element| element.name == name) {
            Some(element) => *element,
            None => panic!("no element is called {name}"),
        }
    }

    /// The metadata of a sparse factor: fields of four bits.
    pub(crate) fn metadata(of: Self) -> Self {
        integer(if of.name == "tf32" { "one of two" } else { "two of four" }, 4)
    }

    /// Bits of the register that holds it.
    pub(crate) fn register_bits(self) -> usize {
        self.bits.max(32)
    }

    fn mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// A small integer.
    fn small(self, value: i64) -> u64 {
        let Some((exponent, fraction)) = self.float else {
            return value as u64 & self.mask();
        };
        if value == 0 {
            return 0;
        }
        let bias = (1 << (exponent - 1)) - 1;
        let magnitude = value.unsigned_abs();
        let log = 63 - u64::from(magnitude.leading_zeros());
        // tf32 has its fraction in the upper bits of 23.
        let (shift, sign) = if self.name == "tf32" { (23, 31) } else { (fraction, exponent + fraction) };
        let bits = (log + bias) << shift | (magnitude ^ 1 << log) << shift >> log;
        bits | u64::from(value < 0) << sign
    }

    /// An element of a kind, made from a random number.
    pub(crate) fn random(self, kind: &str, seed: u64) -> u64 {
        let random = mix(seed);
        // The patterns that structured sparsity knows; with `tf32` there are only two.
        let patterns: &[u64] = match self.name {
            "one of two" => &[0x4, 0xe],
            "two of four" => &[0x4, 0x8, 0x9, 0xc, 0xd, 0xe],
            _ => &[],
        };
        if !patterns.is_empty() {
            return patterns[random as usize % patterns.len()];
        }
        match kind {
            "sparse" if !seed.is_multiple_of(8) => 0,
            "sparse" | "small" if self.float.is_some() => {
                let limit = if self.bits == 8 && self.float.unwrap_or_default().1 < 3 { 5 } else { 9 };
                self.small((random % (2 * limit - 1)) as i64 - limit as i64 + 1)
            }
            _ => {
                let Some((exponent, fraction)) = self.float else {
                    let edges = [0, 1, self.mask(), self.mask() >> 1, (self.mask() >> 1) + 1];
                    let edge = kind == "any" && seed.is_multiple_of(4);
                    return if edge { edges[(random % 5) as usize] } else { random & self.mask() };
                };
                let (shift, sign) = if self.name == "tf32" { (23, 31) } else { (fraction, exponent + fraction) };
                let top = (1_u64 << exponent) - 1;
                let bias = top >> 1;
                if kind == "edge" {
                    let fields = [0, 0, 0, 0, 0, 1, bias, top - 1];
                    let field = fields[(random >> 40) as usize % 8];
                    let fractions = [0, 0, (1 << shift) - 1, random & ((1 << shift) - 1)];
                    let zero = field == 0 && (random >> 50).is_multiple_of(2);
                    let fraction = if zero { 0 } else { fractions[(random >> 44) as usize % 4] };
                    return field << shift | fraction | (random >> 33 & 1) << sign;
                }
                let specials = [0, top, 0, top, bias];
                let spread = match kind {
                    "real" => 3,
                    _ if exponent == 8 => 24,
                    _ => bias - 1,
                };
                let field = if kind == "any" && seed.is_multiple_of(24) {
                    specials[(seed >> 20) as usize % 5]
                } else {
                    bias - spread + (random >> 40) % (2 * spread + 1)
                };
                let fraction = if kind == "any" && seed.is_multiple_of(48) { 0 } else { random & ((1 << shift) - 1) };
                field << shift | fraction | (random >> 33 & 1) << sign
            }
        }
    }
}

/// An operand: registers of one width that hold elements.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Operand {
    pub(crate) element: Element,
    pub(crate) registers: usize,
}

/// The parsed name of an instruction.
#[derive(Debug, Clone)]
pub(crate) struct Form<'t> {
    /// The instruction and what follows the operands `d, a, b, c` of `mma`: ` 1` is the selector of metadata.
    pub(crate) text: &'t str,
    pub(crate) shape: [usize; 3],
    pub(crate) types: Vec<Element>,
}

impl<'t> Form<'t> {
    pub(crate) fn parse(text: &'t str) -> Self {
        let name = text.split(' ').next().unwrap();
        let mut shape = [1; 3];
        let mut types = Vec::new();
        for modifier in name.split('.') {
            if let Some(rest) = modifier.strip_prefix('m').filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            {
                for (index, size) in rest.split(['n', 'k']).enumerate() {
                    shape[index] = size.parse().unwrap();
                }
            } else if ELEMENTS.iter().any(|element| element.name == modifier) {
                types.push(Element::named(modifier));
            }
        }
        Self { text, shape, types }
    }

    fn name(&self) -> &'t str {
        self.text.split(' ').next().unwrap()
    }

    fn has(&self, modifier: &str) -> bool {
        self.name().split('.').any(|found| found.starts_with(modifier))
    }

    /// Destination and sources of an `mma`.
    pub(crate) fn operands(&self) -> [Operand; 4] {
        let [m, n, k] = self.shape;
        let [d, a, b, c] = self.types[..] else { panic!("{} has not four types", self.text) };
        let copies = if self.shape == [8, 8, 4] && a.name == "f16" { 4 } else { 1 };
        let kept = if self.has("sp") { k / 2 } else { k };
        let operand = |element: Element, elements: usize| Operand {
            element,
            registers: copies * elements * element.bits / (32 * element.register_bits()),
        };
        [operand(d, m * n), operand(a, m * kept), operand(b, k * n), operand(c, m * n)]
    }

    /// A kernel of an `mma` in which every warp reads its registers, executes the instruction and writes the result.
    pub(crate) fn kernel(&self) -> String {
        let operands = self.operands();
        let mut text = format!("{HEADER}.visible .entry k(.param .u64 in, .param .u64 out)\n{{\n");
        text.push_str(".reg .b64 %in, %out, %t; .reg .b32 %lane, %meta, %warp;\n");
        let names = ["d", "a", "b", "c"];
        for (name, operand) in names.iter().zip(operands) {
            writeln!(text, ".reg .b{} %{name}<16>;", operand.element.register_bits()).unwrap();
        }
        text.push_str(
            "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %lane, %tid.x; mov.u32 %warp, %ctaid.x;\n",
        );
        writeln!(text, "mad.wide.u32 %in, %warp, {}, %in;", self.input_bytes()).unwrap();
        writeln!(text, "mad.wide.u32 %out, %warp, {}, %out;", self.output_bytes()).unwrap();
        let mut at = 0;
        let mut lists = Vec::new();
        for (index, (name, operand)) in names.iter().zip(operands).enumerate() {
            let bits = operand.element.register_bits();
            let registers: Vec<String> = (0..operand.registers).map(|register| format!("%{name}{register}")).collect();
            lists.push(format!("{{{}}}", registers.join(", ")));
            if index == 0 {
                continue;
            }
            writeln!(text, "mad.wide.u32 %t, %lane, {}, %in;", bits / 8).unwrap();
            for register in registers {
                writeln!(text, "ld.global.b{bits} {register}, [%t+{at}];").unwrap();
                at += 4 * bits;
            }
        }
        writeln!(text, "mad.wide.u32 %t, %lane, 4, %in; ld.global.b32 %meta, [%t+{at}];").unwrap();
        let metadata = match self.text.split_once(' ') {
            Some((_, selector)) => format!(", %meta, {selector}"),
            None => String::new(),
        };
        writeln!(text, "{} {}{metadata};", self.name(), lists.join(", ")).unwrap();
        let bits = operands[0].element.register_bits();
        writeln!(text, "mad.wide.u32 %t, %lane, {}, %out;", bits / 8).unwrap();
        for register in 0..operands[0].registers {
            writeln!(text, "st.global.b{bits} [%t+{}], %d{register};", register * 4 * bits).unwrap();
        }
        text.push_str("ret;\n}\n");
        text
    }

    /// Bytes that a warp reads: registers and metadata.
    pub(crate) fn input_bytes(&self) -> usize {
        let sources = &self.operands()[1..];
        sources.iter().map(|operand| operand.registers * 4 * operand.element.register_bits()).sum::<usize>() + 128
    }

    /// Bytes that a warp writes.
    pub(crate) fn output_bytes(&self) -> usize {
        let operand = self.operands()[0];
        operand.registers * 4 * operand.element.register_bits()
    }

    /// The input of the warps for a kind of operands.
    pub(crate) fn input(&self, kind: &str, tiles: usize) -> Vec<u8> {
        let seed = self.text.bytes().chain(kind.bytes()).fold(17, |seed, byte| mix(seed ^ u64::from(byte)));
        let mut bytes = Vec::new();
        let mut count = 0;
        let mut next = move || {
            count += 1;
            mix(seed ^ count)
        };
        for _ in 0..tiles {
            for operand in &self.operands()[1..] {
                let bits = operand.element.register_bits();
                for _ in 0..operand.registers * 32 {
                    let register = (0..bits / operand.element.bits).fold(0, |register, position| {
                        register | operand.element.random(kind, next()) << (position * operand.element.bits)
                    });
                    bytes.extend_from_slice(&register.to_le_bytes()[..bits / 8]);
                }
            }
            for _ in 0..32 {
                // The patterns that structured sparsity knows; with `tf32` there are only two.
                let patterns: &[u64] = match self.types[1].name {
                    "tf32" => &[0x4, 0xe],
                    _ => &[0x4, 0x8, 0x9, 0xc, 0xd, 0xe],
                };
                let metadata = (0..8)
                    .fold(0, |metadata, nibble| metadata | patterns[next() as usize % patterns.len()] << (4 * nibble));
                bytes.extend_from_slice(&(metadata as u32).to_le_bytes());
            }
        }
        bytes
    }
}
