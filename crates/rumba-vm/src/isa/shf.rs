//! `shf`: shift of a pair of registers, which keeps one half: the upper half for `.l`, the lower half for `.r`.

use crate::arith::select;
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
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
    // A shift by 32, which a clamped amount may ask for, gives all of the other operand.
    let shift = match (m.get("dir"), m.get("mode")) {
        (Some(".l"), Some(".clamp")) => {
            shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { select(c.gt(31), a, b.funnel_left(a, c)) }))
        }
        (Some(".l"), _) => shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { b.funnel_left(a, c) })),
        (_, Some(".clamp")) => {
            shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { select(c.gt(31), b, b.funnel_right(a, c)) }))
        }
        (_, _) => shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { b.funnel_right(a, c) })),
    };
    emit::lanes(l, shift, 0, ScalarType::B32, &[ScalarType::B32, ScalarType::B32, ScalarType::U32])
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
