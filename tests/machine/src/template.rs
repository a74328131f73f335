//! Rows of templates as text: see [`crate::tables`] for their language.

use crate::choices::Choices;

/// Constants at which code may decide otherwise: around powers of two, around what 7 and 31 strides of a group and of a warp
/// make of 32 and of 64 bits, and small numbers.
const CONSTANTS: &[u64] = &[
    0,
    1,
    2,
    3,
    4,
    5,
    7,
    8,
    12,
    16,
    24,
    31,
    32,
    33,
    64,
    100,
    255,
    256,
    1000,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    (1 << 31) / 31,
    (1 << 31) / 7,
    (1 << 31) / 7 + 1,
    (1 << 32) / 31 + 1,
    (1 << 32) / 7,
    (1 << 32) / 7 + 1,
    1 << 28,
    1 << 29,
    1 << 30,
    (1 << 31) - 1,
    1 << 31,
    (1 << 31) + 1,
    (1 << 32) - 256,
    (1 << 32) - 8,
    (1 << 32) - 4,
    (1 << 32) - 1,
];

/// Further ones of 64 bits.
const WIDE_CONSTANTS: &[u64] = &[
    1 << 32,
    (1 << 32) + 1,
    1 << 33,
    (1 << 40) / 7,
    (1 << 40) / 7 + 1,
    1 << 40,
    1 << 47,
    (1 << 63) / 31,
    (1 << 63) / 7,
    u64::MAX / 31,
    u64::MAX / 31 + 1,
    u64::MAX / 7,
    u64::MAX / 7 + 1,
    1 << 60,
    1 << 61,
    1 << 62,
    (1 << 63) - 1,
    1 << 63,
    (1 << 63) + 4,
    0u64.wrapping_sub(1 << 31),
    0u64.wrapping_sub((1 << 31) / 7),
    0u64.wrapping_sub(1 << 32),
    0u64.wrapping_sub(1000),
    0u64.wrapping_sub(64),
    0u64.wrapping_sub(8),
    0u64.wrapping_sub(4),
    u64::MAX,
];

/// Numbers of floating point.
const FLOATS: &[u32] = &[
    0,
    0x8000_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x7f80_0000,
    0x7fc0_0000,
    0x7f80_0001,
    1,
    0x4b00_0000,
    0x4f00_0000,
    0x0080_0000,
];
const DOUBLES: &[u64] = &[
    0,
    0x3ff0_0000_0000_0000,
    0xbfe0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    1,
    0x41e0_0000_0000_0000,
];

/// Special registers with one value for all lanes of a warp, and special registers that differ from lane to lane.
const UNIFORM_SPECIALS: &[&str] = &[
    "%ctaid.x",
    "%ctaid.y",
    "%ntid.x",
    "%ntid.y",
    "%ntid.z",
    "%nctaid.x",
    "%warpid",
    "%tid.w",
    "%ntid.w",
    "%total_smem_size",
];
const LANE_SPECIALS: &[&str] =
    &["%tid.x", "%tid.y", "%tid.z", "%laneid", "%lanemask_lt", "%lanemask_ge", "%lanemask_eq"];

/// How many registers of each kind there are, besides those of one purpose.
pub(crate) const REGISTERS: &[(char, &str, usize)] = &[
    ('r', "b32", 8),
    ('i', "b32", 6),
    ('u', "b32", 4),
    ('f', "b32", 4),
    ('q', "b64", 6),
    ('j', "b64", 6),
    ('d', "b64", 3),
    ('h', "b16", 4),
    ('b', "b8", 2),
    ('w', "b128", 2),
    ('p', "pred", 6),
    ('k', "pred", 2),
];

fn count(kind: char) -> usize {
    REGISTERS.iter().find(|(known, ..)| *known == kind).map_or(1, |(.., count)| *count)
}

/// The context of operands.
#[derive(Debug, Clone)]
pub(crate) struct Operands {
    /// Whether the lanes of a warp are converged, so that uniform values stay uniform.
    pub(crate) is_together: bool,
    /// The mask of the lanes that execute a statement together.
    pub(crate) mask: Option<String>,
    /// The last stride.
    stride: u64,
    /// The last register of indices.
    index: String,
}

impl Default for Operands {
    fn default() -> Self {
        Self { is_together: true, mask: None, stride: 1, index: "%i0".to_owned() }
    }
}

/// The alternatives of a text that starts behind a `<`, and what follows the `>`.
fn alternatives(text: &str) -> (Vec<&str>, &str) {
    let (mut depth, mut start, mut found) = (0, 0, Vec::new());
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' if depth == 0 => {
                found.push(&text[start..at]);
                return (found, &text[at + 1..]);
            }
            b'>' => depth -= 1,
            b'|' if depth == 0 => {
                found.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    (vec![text], "")
}

impl Operands {
    /// Writes a row with operands of choice.
    pub(crate) fn expand(&mut self, row: &str, choices: &mut Choices) -> String {
        let mut out = String::new();
        let mut rest = row;
        while let Some(at) = rest.find(['<', '$', '&']) {
            out.push_str(&rest[..at]);
            let behind = &rest[at + 1..];
            match rest.as_bytes()[at] {
                b'<' => {
                    let (all, on) = alternatives(behind);
                    let chosen = choices.of(&all);
                    out.push_str(&self.expand(chosen, choices));
                    rest = on;
                }
                b'$' => {
                    let kind = behind.chars().next().unwrap_or('r');
                    out.push_str(&self.operand(kind, choices));
                    rest = &behind[kind.len_utf8()..];
                }
                _ => {
                    out.push('|');
                    rest = behind;
                }
            }
        }
        out.push_str(rest);
        out
    }

    fn operand(&mut self, kind: char, choices: &mut Choices) -> String {
        match kind {
            // After divergence, written values are not uniform.
            'u' if !self.is_together => self.operand('r', choices),
            'k' if !self.is_together => self.operand('p', choices),
            'R' => match choices.below(20) {
                0..12 => self.operand('r', choices),
                12..15 => self.operand('i', choices),
                15 => register('u', choices),
                16 => "%ltid".to_owned(),
                _ => hexadecimal(constant(choices)),
            },
            'I' => match choices.below(12) {
                0..8 => self.operand('i', choices),
                8 => register('u', choices),
                9 => choices.of(&["%tx", "%lane", "%ltid"]).to_owned(),
                _ => hexadecimal(constant(choices)),
            },
            'U' => match choices.below(4) {
                0 | 1 => register('u', choices),
                2 => choices.of(&["%n", "%full"]).to_owned(),
                _ => hexadecimal(constant(choices)),
            },
            'Q' => match choices.below(12) {
                0..8 => self.operand('q', choices),
                8 | 9 => self.operand('j', choices),
                _ => hexadecimal(wide_constant(choices)),
            },
            'J' => match choices.below(10) {
                0..8 => self.operand('j', choices),
                _ => hexadecimal(wide_constant(choices)),
            },
            'H' => match choices.below(4) {
                0..3 => self.operand('h', choices),
                _ => choices.of(&["0", "1", "-1", "255", "32767"]).to_owned(),
            },
            'F' => match choices.below(5) {
                0..4 => self.operand('f', choices),
                _ => format!("0f{:08X}", choices.of(FLOATS)),
            },
            'D' => match choices.below(5) {
                0..4 => self.operand('d', choices),
                _ => format!("0d{:016X}", choices.of(DOUBLES)),
            },
            'P' => {
                let negation = choices.of(&["", "!"]);
                let kind = choices.of(&['p', 'p', 'k']);
                format!("{negation}{}", register(kind, choices))
            }
            'S' => {
                let specials = choices.of(&[UNIFORM_SPECIALS, LANE_SPECIALS]);
                choices.of(specials).to_owned()
            }
            'n' => match choices.below(6) {
                0 => self.operand('i', choices),
                1 => self.operand('r', choices),
                _ => choices.below(70).to_string(),
            },
            's' => choices.below(32).to_string(),
            'x' => choices.below(256).to_string(),
            'y' => choices.below(65536).to_string(),
            'c' => hexadecimal(constant(choices)),
            'C' => hexadecimal(wide_constant(choices)),
            'm' => {
                self.stride = constant(choices);
                hexadecimal(self.stride)
            }
            'M' => {
                self.stride = wide_constant(choices);
                hexadecimal(self.stride)
            }
            'N' => hexadecimal(self.multiple(choices)),
            'O' => hexadecimal(u64::from(self.multiple(choices) as u32)),
            'z' => match &self.mask {
                Some(mask) => mask.clone(),
                None => choices.of(&["-1", "-1", "0xffffffff", "%full"]).to_owned(),
            },
            'i' | 'j' => {
                self.index = register(kind, choices);
                self.index.clone()
            }
            'e' => self.index.clone(),
            'A' | 'B' => format!("%a{}", u32::from(kind == 'B')),
            '0'..='9' => format!("%t{kind}"),
            _ => register(kind, choices),
        }
    }

    /// About a multiple of the last stride.
    fn multiple(&self, choices: &mut Choices) -> u64 {
        let times = choices.below(34) as u64;
        let about = choices.of(&[0, 0, 1, u64::MAX]);
        self.stride.wrapping_mul(times).wrapping_add(about)
    }
}

/// One of the registers of a kind.
fn register(kind: char, choices: &mut Choices) -> String {
    format!("%{kind}{}", choices.below(count(kind)))
}

fn hexadecimal(value: u64) -> String {
    if value < 10 { value.to_string() } else { format!("{value:#x}") }
}

fn constant(choices: &mut Choices) -> u64 {
    match choices.below(8) {
        0 => u64::from(choices.wide() as u32),
        1 => 1 << choices.below(32),
        _ => choices.of(CONSTANTS),
    }
}

fn wide_constant(choices: &mut Choices) -> u64 {
    match choices.below(8) {
        0 => choices.wide(),
        1 => 1 << choices.below(64),
        2 | 3 => choices.of(CONSTANTS),
        _ => choices.of(WIDE_CONSTANTS),
    }
}

#[cfg(test)]
mod tests {
    use super::{Choices, Operands, alternatives};

    #[test]
    fn alternatives_may_have_alternatives() {
        assert_eq!(alternatives("a|b<c|d>|>x"), (vec!["a", "b<c|d>", ""], "x"));
    }

    #[test]
    fn rows_become_text() {
        let first = |row| Operands::default().expand(row, &mut Choices::of_bytes(&[]));
        assert_eq!(first("<add|sub>.u32 $r, $0, [$A<+4|>];"), "add.u32 %r0, %t0, [%a0+4];");
        assert_eq!(first("elect.sync $r&$p, $z;"), "elect.sync %r0|%p0, -1;");
        let mut parted = Operands { is_together: false, mask: Some("%m".to_owned()), ..Operands::default() };
        assert_eq!(parted.expand("x $u, $k, $z;", &mut Choices::of_bytes(&[])), "x %r0, %p0, %m;");
    }
}
