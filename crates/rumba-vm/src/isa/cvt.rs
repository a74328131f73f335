//! `cvt`: conversion between types, with rounding and saturation.
//!
//! A conversion to an integer clamps to its range, with or without `.sat`.

use crate::arith::float::{Mode, flush, propagate, saturate, to_odd_f32};
use crate::arith::half::Half;
use crate::arith::{Arith, Bool, F32, F64, U32, V, half, select};
use crate::base::types::ScalarType;
use crate::exec::lane::{Bf16, F16, Lane};
use crate::exec::shape;
use crate::exec::shape::{by_extra, function, pack};
use crate::isa::emit;
use crate::isa::emit::by_type;
use crate::lower::availability::Availability;
use crate::lower::error::LowerError;
use crate::lower::instruction::{Carries, Form, Instruction, Names, Undefined};
use crate::lower::lowering::Lowering;
use crate::lower::notation::Matched;
use crate::lower::virtual_op::VReg;
use crate::machine::op::Handlers;

/// `cvt`
pub(super) static CVT: Instruction = Instruction {
    name: "cvt",
    section: "9.7.9.21, 9.7.9.22",
    forms: &[
        Form {
            syntax: "
                cvt{.rnd}{.ftz}{.sat}.dtype.atype  d, a;
                .rnd = { .rni, .rzi, .rmi, .rpi, .rn, .rz, .rm, .rp };
                .dtype = { .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f16, .bf16, .f32, .f64 };
                .atype = { .u8, .u16, .u32, .u64, .s8, .s16, .s32, .s64, .f16, .bf16, .f32, .f64 };
            ",
            lower: general,
        },
        Form {
            syntax: "
                cvt.rnd.relu{.satfinite}.htype.f32  d, a;
                cvt.rnd.satfinite{.relu}.htype.f32  d, a;
                .rnd = { .rn, .rz };
                .htype = { .f16, .bf16 };
            ",
            lower: to_one_half,
        },
        Form {
            syntax: "
                cvt.rnd{.relu}{.satfinite}.h2type.f32  d, a, b;
                .rnd = { .rn, .rz };
                .h2type = { .f16x2, .bf16x2 };
            ",
            lower: to_halves,
        },
        Form {
            syntax: "cvt.rna{.satfinite}.tf32.f32  d, a;",
            lower: |l, m| to_tf32(l, m, shape::lanes(function!(flags; |x: f32| -> u32 { tf32_away(flags, x) }))),
        },
        Form {
            syntax: "
                cvt.rnd{.relu}{.satfinite}.tf32.f32  d, a;
                .rnd = { .rn, .rz };
            ",
            lower: |l, m| to_tf32(l, m, shape::lanes(function!(flags; |x: f32| -> u32 { tf32(flags, x) }))),
        },
        Form {
            syntax: "
                cvt.rn{.satfinite}{.relu}.small.f32  d, a, b;
                .small = { .e4m3x2, .e5m2x2, .e2m1x2, .e2m3x2, .e3m2x2 };
            ",
            lower: cvt_small::from_f32,
        },
        Form {
            syntax: "
                cvt.rn{.satfinite}{.relu}.small.f16x2  d, a;
                .small = { .e4m3x2, .e5m2x2, .e2m1x2, .e2m3x2, .e3m2x2 };
            ",
            lower: cvt_small::from_halves,
        },
        Form {
            syntax: "
                cvt.rn{.relu}.f16x2.small  d, a;
                .small = { .e4m3x2, .e5m2x2, .e2m1x2, .e2m3x2, .e3m2x2 };
            ",
            lower: cvt_small::to_halves,
        },
        Form {
            syntax: "
                cvt.rnd{.satfinite}.ue8m0x2.f32  d, a, b;
                .rnd = { .rz, .rp };
            ",
            lower: cvt_small::to_exponents,
        },
        Form {
            syntax: "
                cvt.rnd{.satfinite}.ue8m0x2.bf16x2  d, a;
                .rnd = { .rz, .rp };
            ",
            lower: cvt_small::to_exponents_of_halves,
        },
        Form { syntax: "cvt.rn.bf16x2.ue8m0x2  d, a;", lower: cvt_small::from_exponents },
        Form {
            syntax: "
                cvt.pack!.sat.half.s32      d, a, b;
                cvt.pack!.sat.part.s32.b32  d, a, b, c;
                .half = { .u16, .s16 };
                .part = { .u8, .s8, .u4, .s4, .u2, .s2 };
            ",
            lower: cvt_integer::pack,
        },
        Form {
            syntax: "
                cvt.rs{.relu}{.satfinite}.h2type.f32  d, a, b, rbits;
                .h2type = { .f16x2, .bf16x2 };
            ",
            lower: cvt_stochastic::halves,
        },
        Form {
            syntax: "
                cvt.rs{.relu}.satfinite.small4.f32  d, abef, rbits;
                .small4 = { .e4m3x4, .e5m2x4, .e2m3x4, .e3m2x4, .e2m1x4 };
            ",
            lower: cvt_stochastic::fours,
        },
    ],
    availability: &[
        Availability::since((7, 0), 80).with(&[".tf32"]),
        Availability::since((7, 0), 80).with(&[".bf16"]),
        Availability::since((7, 0), 80).with(&[".bf16x2"]),
        Availability::since((7, 8), 89).with(&[".e4m3x2"]),
        Availability::since((7, 8), 89).with(&[".e5m2x2"]),
        Availability::specific((8, 6), 100).with(&[".e2m1x2"]),
        Availability::specific((8, 6), 100).with(&[".e2m3x2"]),
        Availability::specific((8, 6), 100).with(&[".e3m2x2"]),
        Availability::specific((8, 6), 100).with(&[".ue8m0x2"]),
        Availability::specific((8, 7), 100).with(&[".rs"]),
    ],
    names: Names::Specials,
    carries: Carries::ValueAndAddress,
    undefined: Undefined::Selects,
    ..Instruction::NEW
};

use crate::isa::{cvt_integer, cvt_small, cvt_stochastic};

fn to_one_half(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("htype")?;
    let handlers = match ty {
        ScalarType::F16 => shape::lanes(function!(flags; |a: f32| -> F16 { finite_half(flags, a) })),
        _ => shape::lanes(function!(flags; |a: f32| -> Bf16 { finite_half(flags, a) })),
    };
    emit::lanes(l, handlers, flags(m), ty, &[ScalarType::F32])
}

fn to_halves(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let ty = m.ty("h2type")?;
    // The first source becomes the upper half.
    let f16 = function!(flags; |a: f32, b: f32| -> u32 {
        pack::<_, F16>(finite_half(flags, b), finite_half(flags, a))
    });
    let bf16 = function!(flags; |a: f32, b: f32| -> u32 {
        pack::<_, Bf16>(finite_half(flags, b), finite_half(flags, a))
    });
    let handlers = match ty {
        ScalarType::F16x2 => by_extra!(flags(m), f16; 0),
        _ => by_extra!(flags(m), bf16; 0),
    };
    emit::lanes(l, handlers, flags(m), ty, &[ScalarType::F32; 2])
}

fn to_tf32(l: &mut Lowering<'_>, m: &Matched<'_>, handlers: Handlers) -> Result<(), LowerError> {
    emit::lanes(l, handlers, flags(m), ScalarType::B32, &[ScalarType::F32])
}

/// Whether each integer of type `from` is one of type `to`.
fn holds_all(to: ScalarType, from: ScalarType) -> bool {
    match (to.is_signed(), from.is_signed()) {
        (true, false) => to.bits() > from.bits(),
        (false, true) => false,
        (true, true) | (false, false) => to.bits() >= from.bits(),
    }
}

/// Bit of `extra` for `.satfinite`, beside those of [`Mode`].
pub(super) const SATFINITE: u16 = 32;

/// The modifiers as bits of `extra`.
pub(super) fn flags(m: &Matched<'_>) -> u16 {
    emit::mode(m).0 | if m.has(".satfinite") { SATFINITE } else { 0 }
}

/// A half, rounded, with `.satfinite` (no infinities) and `.relu` (no negative numbers).
#[inline(always)]
fn finite_half<A: Arith, T: Half>(flags: u16, x: F32<A>) -> V<A, T> {
    let bits = half::round::<A, T>(Mode(flags), x).bits();
    let infinite = Bool::from(flags & SATFINITE != 0) & (bits & 0x7fff).eq(T::INFINITY);
    // The largest finite number lies just below infinity.
    let bits = select(infinite, bits - 1, bits);
    bits.reinterpret::<T>().finish(Mode(flags & Mode::RELU))
}

/// `f32` with 10 fraction bits, rounded to nearest, ties away from zero.
///
/// NaN is merely cut short, and `.satfinite` steps down from it as from infinity, as on an H200.
#[inline(always)]
fn tf32_away<A: Arith>(flags: u16, x: F32<A>) -> U32<A> {
    let bits = x.to_bits();
    let rounded = select(x.is_nan(), bits, bits + 0x1000) & !0x1fff;
    finite_tf32(flags, rounded)
}

/// `f32` with 10 fraction bits, rounded to nearest even or towards zero.
#[inline(always)]
fn tf32<A: Arith>(flags: u16, x: F32<A>) -> U32<A> {
    let bits = x.to_bits();
    let nearest = bits + 0xfff + (bits >> 13 & 1);
    let rounded = select(Mode(flags).is_nearest(), nearest, bits) & !0x1fff;
    let r = finite_tf32(flags, rounded);
    let r = select(Bool::from(flags & Mode::RELU != 0) & x.le(0.0), 0, r);
    select(x.is_nan(), 0x7fff_e000, r)
}

#[inline(always)]
fn finite_tf32<A: Arith>(flags: u16, rounded: U32<A>) -> U32<A> {
    let beyond = (rounded & 0x7fff_ffff).ge(0x7f80_0000);
    select(beyond & Bool::from(flags & SATFINITE != 0), rounded - 0x2000, rounded)
}

fn general(l: &mut Lowering<'_>, m: &Matched<'_>) -> Result<(), LowerError> {
    let (to, from) = (m.ty("dtype")?, m.ty("atype")?);
    let rounding = m.get("rnd");
    let integral = rounding.is_some_and(|text| text.ends_with('i'));
    let mode = emit::mode(m);
    let wanted = match (to.is_float(), from.is_float()) {
        (false, false) => "",
        (false, true) => "an integer rounding (`.rni`, `.rzi`, `.rmi` or `.rpi`)",
        (true, false) => "a rounding (`.rn`, `.rz`, `.rm` or `.rp`)",
        (true, true) if to.bits() < from.bits() || (to != from && to.bits() == 16) => {
            "a rounding (`.rn`, `.rz`, `.rm` or `.rp`)"
        }
        (true, true) => "",
    };
    if !wanted.is_empty() && (rounding.is_none() || integral != wanted.starts_with("an integer")) {
        return Err(LowerError::new(format!("a conversion from {from} to {to} needs {wanted}")));
    }
    if wanted.is_empty() && rounding.is_some() && !(to == from && to.is_float() && integral) {
        return Err(LowerError::new(format!("a conversion from {from} to {to} does not round")));
    }
    if m.has(".ftz") && to != ScalarType::F32 && from != ScalarType::F32 {
        return Err(LowerError::new("`.ftz` goes with conversions from or to .f32"));
    }
    let handlers = match (to.is_float(), from.is_float()) {
        (false, false) if m.has(".sat") && holds_all(to, from) => {
            return Err(LowerError::new(format!("`.sat` has no meaning where every {from} is a {to}")));
        }
        (false, false) if m.has(".sat") => cvt_integer::saturating(to, from)?,
        (false, false) => cvt_integer::wrapping(to, from)?,
        (false, true) => {
            let a = l.wide_source(1, from)?;
            let dst = l.wide_destination(0, to)?;
            return cvt_integer::from_float(l, (dst, to), (a, from), mode);
        }
        (true, false) => cvt_integer::to_float(to, from, mode)?,
        (true, true) if to == from => same_format(to, mode, integral)?,
        (true, true) => between_floats(to, from, mode)?,
    };
    let a = l.wide_source(1, from)?;
    let dst = l.wide_destination(0, to)?;
    emit::emit(l, handlers, mode.0, dst, [a, VReg::None, VReg::None, VReg::None]);
    Ok(())
}

/// A floating-point format, converted to and from `f64`, which represents every number of the format exactly.
trait Format: Lane {
    /// The number as an operand: subnormals are flushed if the mode says so and the format is `f32`.
    fn to_f64<A: Arith>(x: V<A, Self>, mode: Mode) -> F64<A>;

    /// The number rounded by the mode, as a result; NaN becomes canonical.
    fn from_f64<A: Arith>(mode: Mode, x: F64<A>) -> V<A, Self>;

    /// A quiet NaN with the sign and the leading fraction bits of this NaN.
    fn of_nan<A: Arith>(x: F64<A>) -> V<A, Self>;
}

impl Format for f32 {
    #[inline(always)]
    fn to_f64<A: Arith>(x: F32<A>, mode: Mode) -> F64<A> {
        select(mode.has(Mode::FTZ), flush(x).canonical(), x).widen()
    }

    #[inline(always)]
    fn from_f64<A: Arith>(mode: Mode, x: F64<A>) -> F32<A> {
        mode.narrow(x)
    }

    #[inline(always)]
    fn of_nan<A: Arith>(x: F64<A>) -> F32<A> {
        let bits = x.to_bits();
        let sign = (bits >> 32).cast::<u32>() & 0x8000_0000;
        F32::from_bits(sign | 0x7fc0_0000 | ((bits >> 29).cast::<u32>() & 0x7f_ffff))
    }
}

impl Format for f64 {
    #[inline(always)]
    fn to_f64<A: Arith>(x: F64<A>, _: Mode) -> F64<A> {
        x
    }

    #[inline(always)]
    fn from_f64<A: Arith>(mode: Mode, x: F64<A>) -> F64<A> {
        select(mode.has(Mode::SAT), saturate(x), propagate(x, x, x))
    }

    #[inline(always)]
    fn of_nan<A: Arith>(x: F64<A>) -> F64<A> {
        propagate(x, x, x)
    }
}

macro_rules! half_formats {
    ($($half:ty)*) => {$(
        impl Format for $half {
            #[inline(always)]
            fn to_f64<A: Arith>(x: V<A, Self>, _: Mode) -> F64<A> {
                x.single().widen()
            }

            #[inline(always)]
            fn from_f64<A: Arith>(mode: Mode, x: F64<A>) -> V<A, Self> {
                to_half(mode, to_odd_f32(x))
            }

            #[inline(always)]
            fn of_nan<A: Arith>(x: F64<A>) -> V<A, Self> {
                let bits = x.to_bits();
                let fraction = (bits << 12 >> (65 - Self::PRECISION)).cast::<u16>();
                let sign = (bits >> 48).cast::<u16>() & 0x8000;
                (sign | Self::QUIET | fraction).reinterpret()
            }
        }
    )*};
}

half_formats!(F16 Bf16);

/// A half of an exact or round-to-odd value.
#[inline(always)]
pub(super) fn to_half<A: Arith, T: Half>(mode: Mode, x: F32<A>) -> V<A, T> {
    half::round::<A, T>(mode, x).finish(Mode(mode.0 & Mode::SAT))
}

/// A conversion from `f64`, which keeps the leading bits of a NaN.
#[inline(always)]
fn from_double<A: Arith, T: Format>(mode: Mode, a: F64<A>) -> V<A, T> {
    let keep = a.is_nan() & Bool::from(!mode.has(Mode::SAT));
    select(keep, T::of_nan(a), T::from_f64(mode, a))
}

fn between_floats(to: ScalarType, from: ScalarType, mode: Mode) -> Result<Handlers, LowerError> {
    use ScalarType as S;
    let plain = mode.0 == 0;
    Ok(match (to, from) {
        (S::F32, S::F16) => by_extra!(mode.0, function!(mode; |a: F16| -> f32 { Mode(mode).output(a.single()) }); 0),
        (S::F32, S::Bf16) if plain => shape::lanes(function!(|a: u32| -> u32 { a << 16 })),
        (S::F32, S::Bf16) => shape::lanes(function!(mode; |a: Bf16| -> f32 { Mode(mode).output(a.single()) })),
        // Flushing the operand is not part of a conversion to a half.
        (S::F16, S::F32) => by_extra!(mode.0, function!(mode; |a: f32| -> F16 { to_half(Mode(mode), a) }); 0),
        (S::F16, S::Bf16) => shape::lanes(function!(mode; |a: Bf16| -> F16 { to_half(Mode(mode), a.single()) })),
        (S::Bf16, S::F32) => by_extra!(mode.0, function!(mode; |a: f32| -> Bf16 { to_half(Mode(mode), a) }); 0),
        (S::Bf16, S::F16) => shape::lanes(function!(mode; |a: F16| -> Bf16 { to_half(Mode(mode), a.single()) })),
        (S::F32, S::F64) if plain => shape::lanes(function!(|a: f64| -> u32 {
            select(a.is_nan(), f32::of_nan(a).to_bits(), a.narrow().to_bits())
        })),
        (_, S::F64) => by_type!(to, D: F32 F16 Bf16 => {
            shape::lanes(function!(mode; |a: f64| -> D { from_double(Mode(mode), a) }))
        }),
        (_, _) => by_type!(from, A: F32 F16 Bf16 => shape::lanes(function!(mode; |a: A| -> f64 {
            f64::from_f64(Mode(mode), A::to_f64(a, Mode(mode)))
        }))),
    })
}

/// A conversion of a format to itself: a copy, saturated or rounded to an integer.
fn same_format(ty: ScalarType, mode: Mode, integral: bool) -> Result<Handlers, LowerError> {
    Ok(match (ty, integral) {
        (ScalarType::F32, false) if mode.0 & !3 == 0 => shape::lanes(function!(|a: u32| -> u32 { a })),
        (ScalarType::F64, false) if mode.0 & !3 == 0 => shape::lanes(function!(|a: u64| -> u64 { a })),
        (ScalarType::F32, false) => {
            shape::lanes(function!(mode; |a: f32| -> f32 { Mode(mode).output(Mode(mode).input(a)) }))
        }
        (ScalarType::F32, true) => shape::by_integral(
            mode,
            function!(mode; |a: f32| -> f32 {
                let mode = Mode(mode);
                mode.output(mode.input(a).round(mode.get_rounding()))
            }),
        ),
        (_, true) => by_type!(ty, T: F16 Bf16 F64 => shape::by_integral(mode, function!(mode; |a: T| -> T {
            let mode = Mode(mode);
            T::from_f64(mode, T::to_f64(a, mode).round(mode.get_rounding()))
        }))),
        (_, false) => by_type!(ty, T: F16 Bf16 F64 => shape::lanes(function!(mode; |a: T| -> T {
            T::from_f64(Mode(mode), T::to_f64(a, Mode(mode)))
        }))),
    })
}

#[cfg(test)]
mod tests {
    use crate::isa::testing::check;

    #[test]
    fn integers() {
        check("cvt.s64.s32 %rd0, %r1", &[(&[0xffff_ffff], 0xffff_ffff_ffff_ffff)]);
        check("cvt.u64.u32 %rd0, %r1", &[(&[0xffff_ffff], 0xffff_ffff)]);
        check("cvt.u32.u64 %r0, %rd1", &[(&[0x0001_2345_6789], 0x2345_6789)]);
        check("cvt.s32.s8 %r0, %r1", &[(&[0x180], 0xffff_ff80)]);
        check("cvt.sat.s8.s32 %r0, %r1", &[(&[0x12c], 0x7f), (&[0xffff_fe00], 0xffff_ff80)]);
        check("cvt.sat.u8.s32 %r0, %r1", &[(&[0xffff_ffff], 0), (&[0x12c], 0xff)]);
    }

    #[test]
    fn float_to_integer() {
        check(
            "cvt.rzi.s32.f32 %r0, %r1",
            &[
                (&[0xbff3_3333], 0xffff_ffff),
                (&[0x7fc0_0000], 0),
                (&[0x4f32_d05e], 0x7fff_ffff),
                (&[0xff80_0000], 0x8000_0000),
                (&[0x4eff_ffff], 0x7fff_ff80),
            ],
        );
        check(
            "cvt.rzi.u32.f32 %r0, %r1",
            &[(&[0xbf80_0000], 0), (&[0x4f32_d05e], 0xb2d0_5e00), (&[0x4f95_02f9], 0xffff_ffff)],
        );
        check("cvt.rni.s32.f32 %r0, %r1", &[(&[0x4020_0000], 2), (&[0x4060_0000], 4)]);
        check(
            "cvt.rmi.s32.f64 %r0, %rd1",
            &[(&[0xbfe0_0000_0000_0000], 0xffff_ffff), (&[0x7ff8_0000_0000_0000], 0x8000_0000)],
        );
        check("cvt.rpi.u64.f32 %rd0, %r1", &[(&[0x3f00_0000], 1), (&[0x7fc0_0000], 0x8000_0000_0000_0000)]);
        check("cvt.rzi.u16.f32 %h0, %r1", &[(&[0x4788_b800], 0xffff)]);
    }

    #[test]
    fn integer_to_float() {
        check("cvt.rn.f32.s32 %r0, %r1", &[(&[0x7fff_ffff], 0x4f00_0000)]);
        check("cvt.rz.f32.s32 %r0, %r1", &[(&[0x7fff_ffff], 0x4eff_ffff)]);
        check(
            "cvt.rp.f32.u64 %r0, %rd1",
            &[(&[0xffff_ffff_ffff_ffff], 0x5f80_0000), (&[0x4000_0000_0000_0001], 0x5e80_0001)],
        );
        check("cvt.rm.f64.s64 %rd0, %rd1", &[(&[0x7fff_ffff_ffff_ffff], 0x43df_ffff_ffff_ffff)]);
        check("cvt.rn.f16.s32 %h0, %r1", &[(&[0xfff0], 0x7c00), (&[0xffef], 0x7bff)]);
    }

    #[test]
    fn between_floats() {
        check(
            "cvt.rn.f16.f32 %h0, %r1",
            &[(&[0x477f_f000], 0x7c00), (&[0x3300_0000], 0), (&[0x3300_0001], 1), (&[0x7fc0_0000], 0x7fff)],
        );
        check("cvt.rz.f16.f32 %h0, %r1", &[(&[0x4974_2400], 0x7bff)]);
        check("cvt.f32.f16 %r0, %h1", &[(&[1], 0x3380_0000), (&[0x7c01], 0x7fff_ffff)]);
        check("cvt.rn.bf16.f32 %h0, %r1", &[(&[0x3f80_8000], 0x3f80), (&[0x3f81_8000], 0x3f82)]);
        check("cvt.f64.f32 %rd0, %r1", &[(&[1], 0x36a0_0000_0000_0000)]);
        check("cvt.rp.f32.f64 %r0, %rd1", &[(&[0x3ff0_0000_0000_0001], 0x3f80_0001)]);
        check("cvt.rn.f32.f64 %r0, %rd1", &[(&[0xfff8_2468_a000_0000], 0xffc1_2345)]);
        check("cvt.sat.f32.f32 %r0, %r1", &[(&[0x3fc0_0000], 0x3f80_0000), (&[0x7fc0_0000], 0), (&[0x8000_0000], 0)]);
        check("cvt.rmi.f32.f32 %r0, %r1", &[(&[0xbf00_0000], 0xbf80_0000)]);
        check("cvt.rni.f64.f64 %rd0, %rd1", &[(&[0x3fe0_0000_0000_0000], 0)]);
    }

    #[test]
    fn packed_integers() {
        check("cvt.pack.sat.s16.s32 %r0, %r1, %r2", &[(&[0x0001_0000, 0xffff_0000], 0x7fff_8000)]);
        check("cvt.pack.sat.u8.s32.b32 %r0, %r1, %r2, %r3", &[(&[0xffff_ffff, 300, 0x1234_5678], 0x5678_00ff)]);
        check("cvt.pack.sat.s4.s32.b32 %r0, %r1, %r2, %r3", &[(&[100, 0xffff_ff00, 0x12], 0x1278)]);
    }

    #[test]
    fn packed_and_small() {
        check("cvt.rn.f16x2.f32 %r0, %r1, %r2", &[(&[0x3f80_0000, 0x4000_0000], 0x3c00_4000)]);
        check("cvt.rn.relu.bf16x2.f32 %r0, %r1, %r2", &[(&[0xbf80_0000, 0x3f80_0000], 0x3f80)]);
        check("cvt.rna.tf32.f32 %r0, %r1", &[(&[0x3f80_1000], 0x3f80_2000)]);
        check(
            "cvt.rn.satfinite.e4m3x2.f32 %h0, %r1, %r2",
            &[(&[0x3f80_0000, 0x447a_0000], 0x387e), (&[0xbb00_0000, 0x7fc0_0000], 0x817f)],
        );
        check("cvt.rn.satfinite.e5m2x2.f32 %h0, %r1, %r2", &[(&[0x3f80_0000, 0xce6e_6b28], 0x3cfb)]);
        check("cvt.rn.f16x2.e4m3x2 %r0, %h1", &[(&[0x387e], 0x3c00_5f00)]);
    }
}
