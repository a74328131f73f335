//! `max`: the larger of two operands, or of three.

use crate::arith::float::{Extremum, extremum};
use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::exec::shape::function;
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;

/// `max`
pub(super) static MAX: Instruction = Instruction {
    name: "max",
    section: "9.7.1.13, 9.7.3.12, 9.7.4.8",
    forms: &[
        Form {
            syntax: "
                max.type  d, a, b;
                .type = { .u16, .u32, .u64, .u16x2, .s16, .s64 };

                max{.relu}.type  d, a, b;
                .type = { .s16x2, .s32 };
            ",
            lower: integers,
        },
        Form {
            syntax: "
                max{.ftz}{.NaN}{.xorsign.abs}.type  d, a, b;
                .type = { .f32, .f16, .f16x2 };

                max{.NaN}{.xorsign.abs}.type  d, a, b;
                .type = { .bf16, .bf16x2 };
            ",
            lower: |l, m| mixed::extremum::<true>(l, m, m.ty("type")?),
        },
        Form { syntax: "max{.ftz}{.NaN}{.abs}.f32  d, a, b, c;", lower: mixed::extremum_of_three::<true> },
        Form { syntax: "max.f64  d, a, b;", lower: double },
    ],
    availability: &[
        Availability::since((8, 8), 100).operands(4),
        Availability::since((7, 0), 80).with(&[".NaN"]),
        Availability::since((7, 2), 86).with(&[".xorsign"]),
        Availability::since((8, 0), 90).with(&[".s16x2"]),
        Availability::since((8, 0), 90).with(&[".u16x2"]),
        Availability::since((8, 0), 90).with(&[".relu"]),
        Availability::since((7, 0), 80).with(&[".f16"]),
        Availability::since((7, 0), 80).with(&[".bf16"]),
    ],
    undefined: Undefined::Absorbs(Extremes::Numbers),
    is_idempotent: true,
    ..Instruction::NEW
};

use crate::isa::mixed;

fn integers(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let result = match (ty, m.has(".relu")) {
        (ScalarType::S32, true) => shape::lanes(function!(|a: i32, b: i32| -> i32 { a.max(b).max(0) })),
        (ScalarType::S16x2, true) => shape::halves(function!(|a: i16, b: i16| -> i16 { a.max(b).max(0) })),
        (ScalarType::S16x2, false) => shape::halves(function!(|a: i16, b: i16| -> i16 { a.max(b) })),
        (ScalarType::U16x2, _) => shape::halves(function!(|a: u16, b: u16| -> u16 { a.max(b) })),
        _ => by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::lanes(function!(|a: T, b: T| -> T { a.max(b) }))),
    };
    emit::lanes(l, result, 0, ty, &[ty, ty])
}

fn double(l: &mut Lowering<'_>, _: &Matched<'_>) -> Result<(), LowerError> {
    let which = shape::lanes(function!(|a: f64, b: f64| -> f64 { extremum(Extremum { max: true, nan: false }, a, b) }));
    emit::lanes(l, which, 0, ScalarType::F64, &[ScalarType::F64; 2])
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn integers() {
        check("max.s32 %r0, %r1, %r2", &[(&[0xffff_ffff, 1], 1)]);
        check("max.u32 %r0, %r1, %r2", &[(&[0xffff_ffff, 1], 0xffff_ffff)]);
        check("max.relu.s32 %r0, %r1, %r2", &[(&[0xffff_fffe, 0xffff_ffff], 0)]);
        check("max.s16x2 %r0, %r1, %r2", &[(&[0xffff_0001, 0x0001_0002], 0x0001_0002)]);
    }

    #[test]
    fn zeros_and_nan() {
        check(
            "max.f32 %r0, %r1, %r2",
            &[
                (&[0x8000_0000, 0], 0),
                (&[0, 0x8000_0000], 0),
                (&[0x7fc0_0000, 0x3f80_0000], 0x3f80_0000),
                (&[0x3f80_0000, 0xffc0_0000], 0x3f80_0000),
                (&[0x7fc0_0000, 0xffc0_0000], 0x7fff_ffff),
            ],
        );
        check("max.NaN.f32 %r0, %r1, %r2", &[(&[0x7fc0_0000, 0x3f80_0000], 0x7fff_ffff)]);
        check(
            "max.xorsign.abs.f32 %r0, %r1, %r2",
            &[(&[0xbf80_0000, 0x4000_0000], 0xc000_0000), (&[0x7fc0_0000, 0xffc0_0000], 0x7fff_ffff)],
        );
        check("max.ftz.f32 %r0, %r1, %r2", &[(&[1, 0x8000_0001], 0)]);
        check("max.f16 %h0, %h1, %h2", &[(&[0x7e00, 0x3c00], 0x3c00), (&[0x8000, 0], 0)]);
        check("max.f64 %rd0, %rd1, %rd2", &[(&[0x3ff0_0000_0000_0000, 0xbff0_0000_0000_0000], 0x3ff0_0000_0000_0000)]);
        check("max.abs.f32 %r0, %r1, %r2, %r3", &[(&[0xc040_0000, 0x4000_0000, 0xbf80_0000], 0x4040_0000)]);
    }
}
