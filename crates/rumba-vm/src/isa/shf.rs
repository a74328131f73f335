//! `shf`: shift of a pair of registers, which keeps one half: the upper half for `.l`, the lower half for `.r`.

use crate::base::ir::{Value, Writer};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `shf`
pub(super) static SHF: Instruction = Instruction {
    name: "shf",
    section: "9.7.8.7",
    forms: &[Form {
        syntax: "
            shf.dir!.mode.b32  d, a, b, c;
            .dir = { .l, .r };
            .mode = { .clamp, .wrap };
        ",
        lower,
    }],
    undefined: Undefined::Absorbs(Extremes::Bits),
    ..Instruction::NEW
};

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let shift =
        match (m.get("dir"), m.get("mode")) {
            (Some(".l"), Some(".clamp")) => shape::ternary(|a: u32, b: u32, c: u32| left(a, b, c.min(32)))
                .form(|w, _, x| form_of_clamped(w, x, true)),
            (Some(".l"), _) => shape::ternary(|a: u32, b: u32, c: u32| left(a, b, c & 31))
                .form(|w, _, x| w.intrinsic("fshl", &[&x[1], &x[0], &x[2]])),
            (_, Some(".clamp")) => shape::ternary(|a: u32, b: u32, c: u32| right(a, b, c.min(32)))
                .form(|w, _, x| form_of_clamped(w, x, false)),
            (_, _) => shape::ternary(|a: u32, b: u32, c: u32| right(a, b, c & 31))
                .form(|w, _, x| w.intrinsic("fshr", &[&x[1], &x[0], &x[2]])),
        };
    emit::lanes(l, shift, 0, ScalarType::B32, &[ScalarType::B32, ScalarType::B32, ScalarType::U32])
}

/// Writes the native code for an amount that may be 32: all of the other operand.
fn form_of_clamped(w: &mut Writer, x: &[Value], to_left: bool) -> Value {
    let shifted = w.intrinsic(if to_left { "fshl" } else { "fshr" }, &[&x[1], &x[0], &x[2]]);
    let beyond = w.compare_with("icmp ugt", &x[2], 31);
    w.select(&beyond, &x[usize::from(!to_left)], &shifted)
}

#[inline(always)]
fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

#[inline(always)]
fn left(a: u32, b: u32, count: u32) -> u32 {
    ((pair(a, b) << count) >> 32) as u32
}

#[inline(always)]
fn right(a: u32, b: u32, count: u32) -> u32 {
    (pair(a, b) >> count) as u32
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn modes() {
        check("shf.l.wrap.b32 %r0, %r1, %r2, %r3", &[(&[0x8000_0000, 1, 1], 3), (&[7, 9, 0x20], 9)]);
        check("shf.l.clamp.b32 %r0, %r1, %r2, %r3", &[(&[7, 9, 0x28], 7)]);
        check("shf.r.wrap.b32 %r0, %r1, %r2, %r3", &[(&[2, 1, 1], 0x8000_0001)]);
        check("shf.r.clamp.b32 %r0, %r1, %r2, %r3", &[(&[7, 9, 0x28], 9)]);
    }
}
