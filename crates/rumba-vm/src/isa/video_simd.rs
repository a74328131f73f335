//! The video instructions on two halves or four bytes at once, each of them taken from either operand.

use rumba_ptx::ast::{Operand, OperandKind};

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::video;
use crate::isa::video::selected;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::{VReg, VirtualOp};

macro_rules! simd {
    ($($name:ident $mnemonic:literal $count:literal $operation:expr;)*) => {$(
        #[doc = concat!("`", $mnemonic, "`")]
        pub(super) static $name: Instruction = Instruction {
            name: $mnemonic,
            section: "9.7.19",
            forms: &[Form {
                syntax: concat!("
                    ", $mnemonic, ".dtype.atype.btype{.sat}  d, a, b, c;
                    ", $mnemonic, ".dtype.atype.btype.add    d, a, b, c;
                    .dtype = { .u32, .s32 };
                    .atype = { .u32, .s32 };
                    .btype = { .u32, .s32 };
                "),
                lower: |l, m| lower::<$count>(l, m, $operation),
            }],
            ..Instruction::NEW
        };
    )*};
}

simd! {
    VADD2 "vadd2" 2 Operation::Add;
    VSUB2 "vsub2" 2 Operation::Subtract;
    VAVRG2 "vavrg2" 2 Operation::Average;
    VABSDIFF2 "vabsdiff2" 2 Operation::Difference;
    VMIN2 "vmin2" 2 Operation::Min;
    VMAX2 "vmax2" 2 Operation::Max;
    VADD4 "vadd4" 4 Operation::Add;
    VSUB4 "vsub4" 4 Operation::Subtract;
    VAVRG4 "vavrg4" 4 Operation::Average;
    VABSDIFF4 "vabsdiff4" 4 Operation::Difference;
    VMIN4 "vmin4" 4 Operation::Min;
    VMAX4 "vmax4" 4 Operation::Max;
}

macro_rules! set {
    ($($name:ident $mnemonic:literal $count:literal;)*) => {$(
        #[doc = concat!("`", $mnemonic, "`")]
        pub(super) static $name: Instruction = Instruction {
            name: $mnemonic,
            section: "9.7.19",
            forms: &[Form {
                syntax: concat!("
                    ", $mnemonic, ".atype.btype.cmp{.add}  d, a, b, c;
                    .atype = { .u32, .s32 };
                    .btype = { .u32, .s32 };
                    .cmp = { .eq, .ne, .lt, .le, .gt, .ge };
                "),
                lower: |l, m| {
                    let comparisons = [
                        (".eq", Operation::Equal),
                        (".ne", Operation::NotEqual),
                        (".lt", Operation::Less),
                        (".le", Operation::LessOrEqual),
                        (".gt", Operation::Greater),
                        (".ge", Operation::GreaterOrEqual),
                    ];
                    lower::<$count>(l, m, m.choose("cmp", &comparisons)?)
                },
            }],
            ..Instruction::NEW
        };
    )*};
}

set! {
    VSET2 "vset2" 2;
    VSET4 "vset4" 4;
}

/// The operation on each pair of elements.
#[derive(Clone, Copy)]
enum Operation {
    Add,
    Subtract,
    Average,
    Difference,
    Min,
    Max,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operation {
    const ALL: [Self; 12] = [
        Self::Add,
        Self::Subtract,
        Self::Average,
        Self::Difference,
        Self::Min,
        Self::Max,
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::LessOrEqual,
        Self::Greater,
        Self::GreaterOrEqual,
    ];
}

/// Bits of `extra` for [`combine`], above the number of the operation.
const SIGNED_A: u16 = 1 << 4;
const SIGNED_B: u16 = 1 << 5;
const SIGNED_D: u16 = 1 << 6;
const SATURATE: u16 = 1 << 7;
const ADD: u16 = 1 << 8;
/// Four bits: the elements of the result that count.
const MASK: u32 = 9;

fn apply(operation: Operation, a: i32, b: i32) -> i32 {
    match operation {
        Operation::Add => a + b,
        Operation::Subtract => a - b,
        Operation::Average if a + b >= 0 => (a + b + 1) >> 1,
        Operation::Average => (a + b) >> 1,
        Operation::Difference => (a - b).abs(),
        Operation::Min => a.min(b),
        Operation::Max => a.max(b),
        Operation::Equal => i32::from(a == b),
        Operation::NotEqual => i32::from(a != b),
        Operation::Less => i32::from(a < b),
        Operation::LessOrEqual => i32::from(a <= b),
        Operation::Greater => i32::from(a > b),
        Operation::GreaterOrEqual => i32::from(a >= b),
    }
}

/// The results of `COUNT` elements, added to `c` or put in place of its elements.
fn combine<const COUNT: u32>(extra: u16, a: u32, b: u32, c: u32) -> u32 {
    let bits = 32 / COUNT;
    let ones = (1_u32 << bits) - 1;
    let number = |packed: u32, element: u32, sign: u16| {
        let value = packed >> (element * bits) & ones;
        if extra & sign == 0 { value as i32 } else { (value << (32 - bits)) as i32 >> (32 - bits) }
    };
    let operation = Operation::ALL[usize::from(extra & 15) % Operation::ALL.len()];
    let mut result = c;
    for element in 0..COUNT {
        if extra >> MASK >> element & 1 == 0 {
            continue;
        }
        let mut value = apply(operation, number(a, element, SIGNED_A), number(b, element, SIGNED_B));
        if extra & SATURATE != 0 {
            let span = 1_i32 << bits;
            value = if extra & SIGNED_D != 0 { value.clamp(-span / 2, span / 2 - 1) } else { value.clamp(0, span - 1) };
        }
        result = if extra & ADD != 0 {
            result.wrapping_add(value as u32)
        } else {
            let place = element * bits;
            result & !(ones << place) | (value as u32 & ones) << place
        };
    }
    result
}

/// The elements of `a` and `b`, one after the other, that four bits each of `extra` name, lowest first.
fn gather<const COUNT: u32>(extra: u16, a: u32, b: u32) -> u32 {
    let (bits, both) = (32 / COUNT, u64::from(b) << 32 | u64::from(a));
    let ones = (1_u64 << bits) - 1;
    let mut packed = 0;
    for element in 0..COUNT {
        let from = u32::from(extra >> (4 * element) & 7) % (2 * COUNT);
        packed |= (both >> (from * bits) & ones) << (element * bits);
    }
    packed as u32
}

/// The elements that a selector such as `.b7654` names, lowest first.
fn elements(selector: &str, count: usize) -> Option<Vec<u16>> {
    let digits = selector.strip_prefix(if count == 2 { ".h" } else { ".b" })?;
    let digits: Option<Vec<u16>> =
        digits.chars().rev().map(|digit| digit.to_digit(10).map(|digit| digit as u16)).collect();
    digits.filter(|digits| !digits.is_empty())
}

/// An operand's register, and what follows it.
fn operand<'m>(l: &mut Lowering<'m>, operand: &'m Operand<'m>) -> Result<(VReg, Option<&'m str>), LowerError> {
    Ok(match selected(l, operand)? {
        Some((place, selector)) => (place, Some(selector)),
        None if matches!(operand.kind, OperandKind::Literal(_)) => {
            return Err(LowerError::new("a register is needed here").at(operand.span));
        }
        None => (l.source_operand(operand, ScalarType::U32, false)?, None),
    })
}

fn lower<const COUNT: u32>(l: &mut Lowering<'_>, m: &Matched<'_>, operation: Operation) -> Result<(), LowerError> {
    let mnemonic = l.instruction.map_or("", |instruction| instruction.opcode.mnemonic);
    let count = COUNT as usize;
    let wrong = |selector: &str, at: &Operand<'_>| {
        LowerError::new(format!("`{selector}` does not select the elements of `{mnemonic}`")).at(at.span)
    };
    let (a, b) = (operand(l, l.operand(1)?)?, operand(l, l.operand(2)?)?);
    let mut packed = [VReg::None; 2];
    for (index, (slot, selector)) in packed.iter_mut().zip([a.1, b.1]).enumerate() {
        let at = l.operand(index + 1)?;
        let chosen = match selector {
            // The first operand's elements are numbered first.
            None => (0..count as u16).map(|element| element + (index * count) as u16).collect(),
            Some(text) => elements(text, count)
                .filter(|list| list.len() == count && list.iter().all(|element| *element < 2 * count as u16))
                .ok_or_else(|| wrong(text, at))?,
        };
        let extra = chosen.iter().rev().fold(0, |bits, element| bits << 4 | element);
        *slot = l.scratch(ScalarType::U32);
        l.emit(VirtualOp { extra, ..VirtualOp::binary(shape::called(gather::<COUNT>), *slot, a.0, b.0) });
    }
    let c = operand(l, l.operand(3)?)?.0;
    let target = l.operand(0)?;
    let (dst, selector) = video::target(l)?;
    let mask = match selector {
        None => (1 << count) - 1,
        Some(text) => {
            let list = elements(text, count).ok_or_else(|| wrong(text, target))?;
            let rising = list.windows(2).all(|pair| pair[0] < pair[1]);
            if !rising || list.iter().any(|element| *element >= count as u16) {
                return Err(wrong(text, target));
            }
            list.iter().fold(0_u16, |mask, element| mask | 1 << element)
        }
    };
    let signed = |placeholder, bit| if m.get(placeholder) == Some(".s32") { bit } else { 0 };
    let flag = |literal, bit| if m.has(literal) { bit } else { 0 };
    let extra = operation as u16
        | signed("atype", SIGNED_A)
        | signed("btype", SIGNED_B)
        | signed("dtype", SIGNED_D)
        | flag(".sat", SATURATE)
        | flag(".add", ADD)
        | mask << MASK;
    l.emit(VirtualOp { extra, ..VirtualOp::ternary(shape::called(combine::<COUNT>), dst, packed[0], packed[1], c) });
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn halves() {
        check(
            "vadd2.s32.s32.s32.sat %r0, %r1, %r2, %r3",
            &[(&[0x7fff_8000, 0x0001_ffff, 0], 0x7fff_8000), (&[0x0001_0002, 0x0003_0004, 9], 0x0004_0006)],
        );
        check(
            "vsub2.u32.u32.u32 %r0.h1, %r1.h01, %r2.h32, %r3",
            &[(&[0x0001_0005, 0x0002_0003, 0x1234_5678], 0x0003_5678)],
        );
        check("vmin2.s32.u32.s32.add %r0, %r1, %r2, %r3", &[(&[0x0001_ffff, 0x0002_fffe, 10], 9)]);
        check("vavrg2.s32.s32.s32 %r0, %r1, %r2, %r3", &[(&[0x0001_ffff, 0x0002_fffe, 0], 0x0002_fffe)]);
    }

    #[test]
    fn bytes() {
        check(
            "vabsdiff4.u32.u32.u32.add %r0, %r1, %r2, %r3",
            &[(&[0x0102_0304, 0x0400_0403, 100], 100 + 3 + 2 + 1 + 1)],
        );
        check(
            "vadd4.u32.u32.u32.sat %r0.b30, %r1, %r2, %r3",
            &[(&[0xff00_00ff, 0x0101_0101, 0x55aa_55aa], 0xffaa_55ff)],
        );
        check("vmax4.s32.s32.s32 %r0, %r1.b0123, %r2, %r3", &[(&[0x8001_02ff, 0x0000_0000, 0], 0x0002_0100)]);
        check("vset4.s32.u32.lt %r0, %r1, %r2.b7777, %r3", &[(&[0xff00_01ff, 0x0100_0000, 0], 0x0101_0001)]);
    }
}
