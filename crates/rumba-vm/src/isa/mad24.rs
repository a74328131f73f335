//! `mad24`: a 24-bit product (see `mul24`) plus a third operand.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `mad24`
pub(super) static MAD24: Instruction = Instruction {
    name: "mad24",
    section: "9.7.1.6",
    forms: &[
        Form {
            syntax: "
                mad24.mode!.type  d, a, b, c;
                .mode = { .hi, .lo };
                .type = { .u32, .s32 };
            ",
            lower,
        },
        Form { syntax: "mad24.hi!.sat.s32  d, a, b, c;", lower: saturating },
    ],
    undefined: Undefined::Absorbs(Extremes::Bits),
    ..Instruction::NEW
};

use crate::isa::mul24::product;

fn saturating(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let sum = shape::lanes(function!(|a: i32, b: i32, c: i32| -> i32 {
        product(a, b, 16).reinterpret::<i32>().saturating_add(c)
    }));
    emit::lanes(l, sum, 0, ScalarType::S32, &[ScalarType::S32; 3])
}

fn lower(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let sum = match (m.get("mode"), ty) {
        (Some(".hi"), ScalarType::U32) => {
            shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { product(a, b, 16) + c }))
        }
        (Some(".hi"), _) => shape::lanes(function!(|a: i32, b: i32, c: u32| -> u32 { product(a, b, 16) + c })),
        (_, ScalarType::U32) => shape::lanes(function!(|a: u32, b: u32, c: u32| -> u32 { product(a, b, 0) + c })),
        (_, _) => shape::lanes(function!(|a: i32, b: i32, c: u32| -> u32 { product(a, b, 0) + c })),
    };
    emit::lanes(l, sum, 0, ty, &[ty, ty, ty])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn parts() {
        check("mad24.lo.u32 %r0, %r1, %r2, %r3", &[(&[0xff00_0002, 3, 4], 0xa)]);
        check("mad24.hi.sat.s32 %r0, %r1, %r2, %r3", &[(&[0x007f_ffff, 0x007f_ffff, 0x7fff_ffff], 0x7fff_ffff)]);
    }
}
