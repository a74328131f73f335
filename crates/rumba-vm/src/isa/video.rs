//! The scalar video instructions: arithmetic on a part of each operand, then a second operation or a merge with a third.
//!
//! They fall into the selection of parts, which become signed numbers of 64 bits, the operation itself, and what is done
//! with its result. Two and four elements at once are in [`crate::isa::video_simd`].

use rumba_ptx::ast::{Operand, OperandKind};

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Form, Instruction};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::scope::Binding;
use crate::lower::virtual_op::{VReg, VirtualOp};
use crate::machine::op::Handlers;

macro_rules! scalar {
    ($($name:ident $mnemonic:literal ($($operation:tt)*);)*) => {$(
        #[doc = concat!("`", $mnemonic, "`")]
        pub(super) static $name: Instruction = Instruction {
            name: $mnemonic,
            section: "9.7.18.1",
            forms: &[Form {
                syntax: concat!("
                    ", $mnemonic, ".dtype.atype.btype{.sat}      d, a, b;
                    ", $mnemonic, ".dtype.atype.btype{.sat}{.op2}  d, a, b, c;
                    .dtype = { .u32, .s32 };
                    .atype = { .u32, .s32 };
                    .btype = { .u32, .s32 };
                    .op2 = { .add, .min, .max };
                "),
                lower: |l, m| lower(l, m, shape::lanes(function!($($operation)*))),
            }],
            ..Instruction::NEW
        };
    )*};
}

scalar! {
    VADD "vadd" (|a: i64, b: i64| -> i64 { a + b });
    VSUB "vsub" (|a: i64, b: i64| -> i64 { a - b });
    VABSDIFF "vabsdiff" (|a: i64, b: i64| -> i64 { (a - b).max(b - a) });
    VMIN "vmin" (|a: i64, b: i64| -> i64 { a.min(b) });
    VMAX "vmax" (|a: i64, b: i64| -> i64 { a.max(b) });
}

macro_rules! shift {
    ($($name:ident $mnemonic:literal ($($clamp:tt)*), ($($wrap:tt)*);)*) => {$(
        #[doc = concat!("`", $mnemonic, "`")]
        pub(super) static $name: Instruction = Instruction {
            name: $mnemonic,
            section: "9.7.18.2",
            forms: &[Form {
                syntax: concat!("
                    ", $mnemonic, ".dtype.atype.btype{.sat}.mode      d, a, b;
                    ", $mnemonic, ".dtype.atype.btype{.sat}.mode{.op2}  d, a, b, c;
                    .dtype = { .u32, .s32 };
                    .atype = { .u32, .s32 };
                    .btype = { .u32 };
                    .mode = { .clamp, .wrap };
                    .op2 = { .add, .min, .max };
                "),
                lower: |l, m| {
                    let modes = [(".clamp", shape::lanes(function!($($clamp)*))), (".wrap", shape::lanes(function!($($wrap)*)))];
                    lower(l, m, m.choose("mode", &modes)?)
                },
            }],
            ..Instruction::NEW
        };
    )*};
}

shift! {
    VSHL "vshl"
        (|a: i64, b: i64| -> i64 { a << b.min(32).cast::<u32>() }),
        (|a: i64, b: i64| -> i64 { a << (b & 31).cast::<u32>() });
    VSHR "vshr"
        (|a: i64, b: i64| -> i64 { a >> b.min(32).cast::<u32>() }),
        (|a: i64, b: i64| -> i64 { a >> (b & 31).cast::<u32>() });
}

/// `vset`
pub(super) static VSET: Instruction = Instruction {
    name: "vset",
    section: "9.7.18.4",
    forms: &[Form {
        syntax: "
            vset.atype.btype.cmp        d, a, b;
            vset.atype.btype.cmp{.op2}  d, a, b, c;
            .atype = { .u32, .s32 };
            .btype = { .u32, .s32 };
            .cmp = { .eq, .ne, .lt, .le, .gt, .ge };
            .op2 = { .add, .min, .max };
        ",
        lower: |l, m| {
            let comparisons = [
                (".eq", shape::lanes(function!(|a: i64, b: i64| -> i64 { a.eq(b).to_integer() }))),
                (".ne", shape::lanes(function!(|a: i64, b: i64| -> i64 { a.ne(b).to_integer() }))),
                (".lt", shape::lanes(function!(|a: i64, b: i64| -> i64 { a.lt(b).to_integer() }))),
                (".le", shape::lanes(function!(|a: i64, b: i64| -> i64 { a.le(b).to_integer() }))),
                (".gt", shape::lanes(function!(|a: i64, b: i64| -> i64 { a.gt(b).to_integer() }))),
                (".ge", shape::lanes(function!(|a: i64, b: i64| -> i64 { a.ge(b).to_integer() }))),
            ];
            lower(l, m, m.choose("cmp", &comparisons)?)
        },
    }],
    ..Instruction::NEW
};

/// `vmad`
pub(super) static VMAD: Instruction = Instruction {
    name: "vmad",
    section: "9.7.18.3",
    forms: &[Form {
        syntax: "
            vmad.dtype.atype.btype{.po}{.sat}{.scale}  d, a, b, c;
            .dtype = { .u32, .s32 };
            .atype = { .u32, .s32 };
            .btype = { .u32, .s32 };
            .scale = { .shr7, .shr15 };
        ",
        lower: lower_vmad,
    }],
    ..Instruction::NEW
};

/// A part of a 32-bit register.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Part {
    shift: u16,
    bits: u16,
}

impl Part {
    const WHOLE: Self = Self { shift: 0, bits: 32 };

    /// The part that a selector names.
    fn find(selector: &str) -> Option<Self> {
        Some(match selector {
            ".b0" => Self { shift: 0, bits: 8 },
            ".b1" => Self { shift: 8, bits: 8 },
            ".b2" => Self { shift: 16, bits: 8 },
            ".b3" => Self { shift: 24, bits: 8 },
            ".h0" => Self { shift: 0, bits: 16 },
            ".h1" => Self { shift: 16, bits: 16 },
            _ => return None,
        })
    }

    /// As a number of 11 bits.
    fn code(self) -> u16 {
        self.shift << 6 | self.bits
    }

    fn of_code(code: u16) -> Self {
        Self { shift: code >> 6 & 31, bits: code & 63 }
    }
}

/// The register that an operand names before a selector, and the selector.
pub(super) fn selected<'m>(
    l: &mut Lowering<'m>,
    operand: &'m Operand<'m>,
) -> Result<Option<(VReg, &'m str)>, LowerError> {
    let OperandKind::Member(name, selector) = operand.kind else {
        return Ok(None);
    };
    let Some(Binding::Register(index)) = l.lookup(name) else {
        return Ok(None);
    };
    let register = &mut l.function.registers[index];
    register.used = true;
    if register.ty.bits() != 32 {
        let message = format!("`{name}` has {} bits; parts are those of a 32-bit register", register.ty.bits());
        return Err(LowerError::new(message).at(operand.span));
    }
    Ok(Some((register.place, selector)))
}

/// The destination, operand 0, and the selector behind it.
pub(super) fn target<'m>(l: &mut Lowering<'m>) -> Result<(VReg, Option<&'m str>), LowerError> {
    let operand = l.operand(0)?;
    match selected(l, operand)? {
        None => Ok((l.destination(0, ScalarType::U32)?, None)),
        Some((place, _)) if place.is_fixed() => {
            Err(LowerError::new("the register is written twice, in a way that was not foreseen").at(operand.span))
        }
        Some((place, selector)) => Ok((place, Some(selector))),
    }
}

/// Set in `extra` if the type is signed, beside [`Part::code`].
const SIGNED: u16 = 1 << 11;

fn signed(m: &Matched<'_>, placeholder: &str) -> u16 {
    if m.get(placeholder) == Some(".s32") { SIGNED } else { 0 }
}

/// Emits operand `index`, or the part of it that it names, as a number of 64 bits.
fn number<'m>(l: &mut Lowering<'m>, operand: &'m Operand<'m>, sign: u16) -> Result<VReg, LowerError> {
    let (place, part) = match selected(l, operand)? {
        Some((place, selector)) => {
            let part = Part::find(selector)
                .ok_or_else(|| LowerError::new(format!("`{selector}` selects no byte or half")).at(operand.span))?;
            (place, part)
        }
        None => (l.source_operand(operand, ScalarType::U32, false)?, Part::WHOLE),
    };
    let value = l.scratch(ScalarType::S64);
    let select = shape::lanes(function!(extra; |a: u32| -> i64 {
        let part = Part::of_code(extra);
        let above = 64 - u32::from(part.bits);
        let bits = a.cast::<u64>() >> u32::from(part.shift) << above;
        if extra & SIGNED == 0 { (bits >> above).reinterpret() } else { bits.reinterpret::<i64>() >> above }
    }));
    l.emit(VirtualOp { extra: part.code() | sign, ..VirtualOp::unary(select, value, place) });
    Ok(value)
}

/// Bits of `extra` for [`finish`], beside [`Part::code`] and [`SIGNED`].
const SATURATE: u16 = 1 << 12;
const ADD: u16 = 1 << 13;
const MIN: u16 = 2 << 13;
const MAX: u16 = 3 << 13;

/// Finishes a result: saturates it, then combines it with `c` or puts it into a part of `c`.
fn finish(extra: u16, result: i64, c: u32) -> u32 {
    let part = Part::of_code(extra);
    let is_signed = extra & SIGNED != 0;
    let result = if extra & SATURATE == 0 {
        result
    } else {
        let span = 1_i64 << part.bits;
        if is_signed { result.clamp(-span / 2, span / 2 - 1) } else { result.clamp(0, span - 1) }
    };
    let result = result as u32;
    match extra & MAX {
        ADD => result.wrapping_add(c),
        MIN if is_signed => (result as i32).min(c as i32) as u32,
        MIN => result.min(c),
        MAX if is_signed => (result as i32).max(c as i32) as u32,
        MAX => result.max(c),
        _ if part == Part::WHOLE => result,
        _ => {
            let mask = ((1_u32 << part.bits) - 1) << part.shift;
            result << part.shift & mask | c & !mask
        }
    }
}

/// Lowers all but `vmad`.
fn lower(l: &mut Lowering<'_>, m: &Matched<'_>, operation: Handlers) -> Result<(), LowerError> {
    let a = number(l, l.operand(1)?, signed(m, "atype"))?;
    let b = number(l, l.operand(2)?, signed(m, "btype"))?;
    let result = l.scratch(ScalarType::S64);
    l.emit(VirtualOp::binary(operation, result, a, b));
    let has_third = l.operand_count() == 4;
    let c = if has_third { l.source(3, ScalarType::U32)? } else { l.constant(ScalarType::U32, 0) };
    let operand = l.operand(0)?;
    let (dst, selector) = target(l)?;
    let part = selector.map_or(Some(Part::WHOLE), Part::find);
    let second = match m.get("op2") {
        None => 0,
        Some(_) => m.choose("op2", &[(".add", ADD), (".min", MIN), (".max", MAX)])?,
    };
    let part = part
        .filter(|part| has_third || (*part == Part::WHOLE && second == 0))
        .filter(|part| *part == Part::WHOLE || second == 0)
        .ok_or_else(|| {
            let message = "a third source goes with a second operation, or with the part of the result that replaces \
                           a part of it";
            LowerError::new(message).at(operand.span)
        })?;
    let saturate = if m.has(".sat") { SATURATE } else { 0 };
    l.emit(VirtualOp {
        extra: part.code() | signed(m, "dtype") | saturate | second,
        ..VirtualOp::binary(shape::called(finish), dst, result, c)
    });
    Ok(())
}

/// Bits of `extra` for [`multiply`].
const PLUS_ONE: u16 = 1;
const MINUS_PRODUCT: u16 = 2;
const MINUS_C: u16 = 4;
const CLAMP: u16 = 8;
const IS_SIGNED: u16 = 16;
const SHIFT: u16 = 5;

/// `±(a·b) ± c`, shifted and saturated.
fn multiply(extra: u16, a: i64, b: i64, c: u32) -> u32 {
    let mut sum = i128::from(a) * i128::from(b);
    let mut c = c;
    let mut one = 0;
    if extra & PLUS_ONE != 0 {
        one = 1;
    } else if extra & MINUS_PRODUCT != 0 {
        (sum, one) = (!sum, 1);
    } else if extra & MINUS_C != 0 {
        (c, one) = (!c, 1);
    }
    let is_signed = extra & IS_SIGNED != 0;
    sum += if is_signed { i128::from(c as i32) } else { i128::from(c) } + one;
    let result = (sum >> (extra >> SHIFT)) as u64;
    if extra & CLAMP == 0 {
        return result as u32;
    }
    if is_signed {
        (result as i64).clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as u32
    } else {
        result.min(u64::from(u32::MAX)) as u32
    }
}

/// The operand behind a minus sign, if there is one.
fn negated<'m>(l: &Lowering<'m>, index: usize) -> Result<(&'m Operand<'m>, bool), LowerError> {
    let operand = l.operand(index)?;
    Ok(match &operand.kind {
        OperandKind::Negative(inner) => (inner, true),
        _ => (operand, false),
    })
}

fn lower_vmad(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ((a, minus_a), (b, minus_b), (c, minus_c)) = (negated(l, 1)?, negated(l, 2)?, negated(l, 3)?);
    let (sign_a, sign_b) = (signed(m, "atype"), signed(m, "btype"));
    let minus_product = minus_a != minus_b;
    let plus_one = m.has(".po");
    if (plus_one && (minus_a || minus_b || minus_c)) || (minus_product && minus_c) {
        let message = "only one of the product and the third operand can be negated, and neither with `.po`";
        return Err(LowerError::new(message));
    }
    let is_signed = sign_a | sign_b != 0 || minus_product || minus_c;
    let flag = |bit: u16, on: bool| if on { bit } else { 0 };
    let shift = match m.get("scale") {
        None => 0,
        Some(_) => m.choose("scale", &[(".shr7", 7), (".shr15", 15)])?,
    };
    let extra = flag(PLUS_ONE, plus_one)
        | flag(MINUS_PRODUCT, minus_product)
        | flag(MINUS_C, minus_c)
        | flag(CLAMP, m.has(".sat"))
        | flag(IS_SIGNED, is_signed)
        | shift << SHIFT;
    let (a, b) = (number(l, a, sign_a)?, number(l, b, sign_b)?);
    let c = l.source_operand(c, ScalarType::U32, false)?;
    let dst = l.destination(0, ScalarType::U32)?;
    l.emit(VirtualOp { extra, ..VirtualOp::ternary(shape::called(multiply), dst, a, b, c) });
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn parts_extend_and_saturate() {
        check(
            "vadd.s32.u32.s32.sat %r0, %r1.b0, %r2.h0",
            &[(&[0x1234_56ff, 0xffff_8000], 0xffff_80ff), (&[0, 0xffff], 0xffff_ffff)],
        );
        check("vsub.u32.u32.u32.sat %r0, %r1, %r2", &[(&[1, 2], 0), (&[0xffff_ffff, 1], 0xffff_fffe)]);
        check("vsub.s32.s32.s32 %r0, %r1, %r2", &[(&[0x8000_0000, 1], 0x7fff_ffff)]);
        check("vabsdiff.u32.s32.s32 %r0, %r1, %r2", &[(&[0x8000_0000, 0x7fff_ffff], 0xffff_ffff)]);
        check("vmax.s32.s32.u32 %r0, %r1, %r2", &[(&[0xffff_ffff, 1], 1)]);
    }

    #[test]
    fn second_operations() {
        check("vmin.s32.s32.s32.add %r0, %r1, %r2, %r3", &[(&[5, 0xffff_fffe, 10], 8)]);
        check("vadd.u32.u32.u32.min %r0, %r1, %r2, %r3", &[(&[1, 2, 2], 2), (&[1, 2, 0x8000_0000], 3)]);
        check("vadd.s32.s32.s32.max %r0, %r1, %r2, %r3", &[(&[1, 2, 0x8000_0000], 3)]);
        check("vadd.s32.s32.s32.sat %r0.h1, %r1, %r2, %r3", &[(&[0x7000, 0x7000, 0x1234_5678], 0x7fff_5678)]);
        check("vset.s32.u32.lt %r0.b2, %r1, %r2, %r3", &[(&[0xffff_ffff, 0, 0], 0x0001_0000)]);
    }

    #[test]
    fn shifts() {
        check(
            "vshl.u32.u32.u32.clamp %r0, %r1, %r2",
            &[(&[1, 31], 0x8000_0000), (&[1, 32], 0), (&[3, 0xffff_ffff], 0)],
        );
        check("vshl.u32.u32.u32.wrap %r0, %r1, %r2", &[(&[1, 33], 2)]);
        check("vshr.s32.s32.u32.clamp %r0, %r1, %r2", &[(&[0x8000_0000, 40], 0xffff_ffff)]);
        check("vshr.u32.u32.u32.wrap %r0, %r1, %r2", &[(&[0x8000_0000, 63], 1)]);
        check("vshl.u32.u32.u32.sat.clamp %r0, %r1, %r2", &[(&[3, 31], 0xffff_ffff)]);
    }

    #[test]
    fn products() {
        check("vmad.s32.s32.u32 %r0, %r1.b0, -%r2.b0, %r3", &[(&[0xff, 3, 10], 13)]);
        check("vmad.u32.u32.u32.po %r0, %r1, %r2, %r3", &[(&[2, 3, 4], 11)]);
        check("vmad.s32.u32.u32.sat.shr7 %r0, %r1, %r2, -%r3", &[(&[0, 0, 128], 0xffff_ffff)]);
        check(
            "vmad.u32.u32.u32.sat %r0, %r1, %r2, %r3",
            &[(&[0xffff_ffff, 0xffff_ffff, 0xffff_ffff], 0xffff_ffff), (&[2, 3, 4], 10)],
        );
    }
}
