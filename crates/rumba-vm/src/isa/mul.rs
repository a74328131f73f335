//! `mul`: product: its low half, its high half, all of it, or rounded.

use crate::base::types::ScalarType;
use crate::exec::shape;
use crate::isa::emit::by_type;
use crate::isa::float::{Mode, SCALE, by_mode, propagate};
use crate::isa::{emit, form, soft};
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Extremes, Form, Instruction, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::machine::op::{Handlers, Linear};

/// `mul`
pub(super) static MUL: Instruction = Instruction {
    name: "mul",
    section: "9.7.1.3, 9.7.3.5, 9.7.4.3",
    forms: &[
        Form {
            syntax: "
                mul.half!.type  d, a, b;
                .half = { .hi, .lo };
                .type = { .u16, .u32, .u64, .s16, .s32, .s64 };
            ",
            lower: one_half,
        },
        Form {
            syntax: "
                mul.wide!.type  d, a, b;
                .type = { .u16, .u32, .s16, .s32 };
            ",
            lower: whole,
        },
        Form {
            syntax: "
                mul{.rnd}{.ftz}{.sat}.f32  d, a, b;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: single,
        },
        Form {
            syntax: "
                mul{.rnd}.f64  d, a, b;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: double,
        },
        Form {
            syntax: "
                mul{.rnd}{.ftz}{.sat}.type  d, a, b;
                .rnd = { .rn };
                .type = { .f16, .f16x2 };

                mul{.rnd}.type  d, a, b;
                .rnd = { .rn };
                .type = { .bf16, .bf16x2 };
            ",
            lower: halves,
        },
        Form {
            syntax: "
                mul{.rnd}{.ftz}.f32x2  d, a, b;
                .rnd = { .rn, .rz, .rm, .rp };
            ",
            lower: |l, m| f32x2::product(l, Mode::of(m)),
        },
    ],
    availability: &[
        Availability::since((4, 2), 53).with(&[".f16"]),
        Availability::since((4, 2), 53).with(&[".f16x2"]),
        Availability::since((7, 8), 90).with(&[".bf16"]),
        Availability::since((7, 8), 90).with(&[".bf16x2"]),
        Availability::since((8, 6), 100).with(&[".f32x2"]),
    ],
    undefined: Undefined::Absorbs(Extremes::Bits),
    ..Instruction::NEW
};

use crate::isa::{f32x2, mixed};

fn one_half(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let product = if m.get("half") == Some(".hi") { high(ty)? } else { low(ty)? };
    emit::lanes(l, product, 0, ty, &[ty, ty])
}

fn whole(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("type")?;
    let product =
        match ty {
            ScalarType::U16 => shape::binary(|a: u16, b: u16| u32::from(a) * u32::from(b))
                .form(|w, _, x| form::wide_product(w, "zext", x)),
            ScalarType::S16 => shape::binary(|a: i16, b: i16| i32::from(a) * i32::from(b))
                .form(|w, _, x| form::wide_product(w, "sext", x)),
            ScalarType::U32 => shape::binary(|a: u32, b: u32| u64::from(a) * u64::from(b))
                .linear(Linear::WideProduct)
                .form(|w, _, x| form::wide_product(w, "zext", x)),
            _ => shape::binary(|a: i32, b: i32| i64::from(a) * i64::from(b))
                .linear(Linear::SignedWideProduct)
                .form(|w, _, x| form::wide_product(w, "sext", x)),
        };
    emit::lanes(l, product, 0, wide(ty), &[ty, ty])
}

fn single(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = Mode::of(m);
    let product = by_mode!(
        mode,
        M => shape::binary(|a: f32, b: f32| {
            let (a, b) = (M.input(a), M.input(b));
            M.flushed(a * b, (a * SCALE) * (b * SCALE))
        })
        .form(|w, mode, x| {
            let [a, b] = [&x[0], &x[1]].map(|x| form::input(w, mode, x));
            let product = w.binary("fmul", &a, &b);
            form::flushed(w, mode, &product, |w| {
                let [a, b] = [&a, &b].map(|x| form::scaled(w, x, 1));
                w.binary("fmul", &a, &b)
            })
        }),
        D => shape::binary_with(|mode: u16, a: f32, b: f32| {
            let mode = D.unwrap_or(Mode(mode));
            mode.narrow(f64::from(mode.input(a)) * f64::from(mode.input(b)))
        })
        .form(|w, mode, x| {
            let [a, b] = [&x[0], &x[1]].map(|x| form::input(w, mode, x));
            let [a, b] = [&a, &b].map(|x| form::wide(w, x));
            let product = w.binary("fmul", &a, &b);
            form::narrow(w, mode, &product)
        })
    );
    emit::lanes(l, product, mode.0, ScalarType::F32, &[ScalarType::F32; 2])
}

fn double(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let mode = Mode::of(m);
    let product = if mode.is_nearest() {
        shape::binary(|a: f64, b: f64| propagate(a * b, a, b)).form(|w, _, x| {
            let product = w.binary("fmul", &x[0], &x[1]);
            form::propagate(w, &product, &x[0], &x[1])
        })
    } else {
        shape::binary_with(|mode: u16, a: f64, b: f64| {
            propagate(soft::mul(a, b, Mode(mode).get_rounding(), soft::Format::F64), a, b)
        })
    };
    emit::lanes(l, product, mode.0, ScalarType::F64, &[ScalarType::F64; 2])
}

fn halves(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let (mode, ty) = (Mode::of(m), m.ty("type")?);
    let product = mixed::halves::<'*', _, _>(ty, mode, |a, b| a * b, |a, b| a * b)?;
    emit::lanes(l, product, mode.0, ty, &[ty, ty])
}

/// The type of twice the width.
pub(super) fn wide(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        _ => ScalarType::S64,
    }
}

fn low(ty: ScalarType) -> Result<Handlers, LowerError> {
    Ok(
        by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::binary(|a: T, b: T| a.wrapping_mul(b)).linear(Linear::Product.of_bits(T::BITS)))
            .form(|w, _, x| w.binary("mul", &x[0], &x[1])),
    )
}

fn high(ty: ScalarType) -> Result<Handlers, LowerError> {
    let high = by_type!(ty, T: U16 S16 U32 S32 U64 S64 => shape::binary(|a: T, b: T| T::high(a, b)));
    Ok(if ty.is_signed() {
        high.form(|w, _, x| form::high(w, "sext", x))
    } else {
        high.form(|w, _, x| form::high(w, "zext", x))
    })
}

/// Integers that have a product of twice their width.
pub(super) trait High {
    /// The upper half of the product.
    fn high(a: Self, b: Self) -> Self;
}

macro_rules! high {
    ($($narrow:ty, $wide:ty;)*) => {$(
        impl High for $narrow {
            #[inline(always)]
            fn high(a: Self, b: Self) -> Self {
                ((<$wide>::from(a) * <$wide>::from(b)) >> Self::BITS) as Self
            }
        }
    )*};
}

high! {
    u16, u32;
    i16, i32;
    u32, u64;
    i32, i64;
    u64, u128;
    i64, i128;
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn halves() {
        check("mul.lo.s32 %r0, %r1, %r2", &[(&[0x0001_0000, 0x0001_0000], 0), (&[0xffff_ffff, 5], 0xffff_fffb)]);
        check("mul.hi.s32 %r0, %r1, %r2", &[(&[0xffff_ffff, 5], 0xffff_ffff)]);
        check("mul.hi.u32 %r0, %r1, %r2", &[(&[0xffff_ffff, 0xffff_ffff], 0xffff_fffe)]);
        check(
            "mul.hi.u64 %rd0, %rd1, %rd2",
            &[(&[0xffff_ffff_ffff_ffff, 0xffff_ffff_ffff_ffff], 0xffff_ffff_ffff_fffe)],
        );
        check("mul.hi.s64 %rd0, %rd1, %rd2", &[(&[0xffff_ffff_ffff_ffff, 2], 0xffff_ffff_ffff_ffff)]);
        check("mul.wide.s32 %rd0, %r1, %r2", &[(&[0xffff_ffff, 2], 0xffff_ffff_ffff_fffe)]);
        check("mul.wide.u16 %r0, %h1, %h2", &[(&[0xffff, 0xffff], 0xfffe_0001)]);
    }

    #[test]
    fn floats() {
        check("mul.f32 %r0, %r1, %r2", &[(&[0x4040_0000, 0xc000_0000], 0xc0c0_0000), (&[0, 0x7f80_0000], 0x7fff_ffff)]);
        check(
            "mul.rn.ftz.f32 %r0, %r1, %r2",
            &[(&[0x8080_0000, 0x3f7f_ffff], 0x8000_0000), (&[0x0080_0000, 0x3f80_0000], 0x0080_0000)],
        );
        check(
            "mul.rz.f32 %r0, %r1, %r2",
            &[(&[0x7f7f_ffff, 0x4000_0000], 0x7f7f_ffff), (&[0x3f80_0001, 0x3f80_0001], 0x3f80_0002)],
        );
        check("mul.rp.f32 %r0, %r1, %r2", &[(&[0x3f80_0001, 0x3f80_0001], 0x3f80_0003), (&[1, 0x3e80_0000], 1)]);
        check("mul.f16 %h0, %h1, %h2", &[(&[0x4200, 0xc000], 0xc600)]);
        check(
            "mul.rz.f64 %rd0, %rd1, %rd2",
            &[(&[0x3ff0_0000_0000_0001, 0x3ff0_0000_0000_0001], 0x3ff0_0000_0000_0002)],
        );
    }
}
