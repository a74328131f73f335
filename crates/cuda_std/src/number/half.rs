//! Numbers of 16 bits: `f16` (IEEE 754's binary16) and `bf16` (the upper half of an `f32`), alone and
//! in pairs.
//!
//! [`struct@f16`] and [`bf16`] are the types of the crate `half`, so host code passes its values without
//! conversion. In a kernel their arithmetic is the machine's: the link stage replaces the crate's
//! conversions, and `a * b + c` becomes `fma.rn.f16`. A pair ([`F16x2`], [`Bf16x2`]) fills a register,
//! and its arithmetic is one instruction for both.
//!
//! | | `f16` | `bf16` |
//! |---|---|---|
//! | `+`, `-`, `*`, [`mul_add`](Half::mul_add) | `add.f16`, `fma.rn.f16`; PTX 4.2, sm_53 | `fma.rn.bf16`, PTX 7.0, sm_80; `add.bf16`, PTX 7.8, sm_90 |
//! | [`min`](Half::minimum_number), [`max`](Half::maximum_number) | `min.f16`; PTX 7.0, sm_80 | `min.bf16`; PTX 7.0, sm_80 |
//! | pairs | the same with `x2` | the same with `x2` |
//! | conversions | `cvt.rn.f16.f32`; PTX 4.2, sm_53 | `cvt.rn.bf16.f32`, PTX 7.0, sm_80; a shift back |
//!
//! Where the architecture that is built for is older (by default the oldest one that the rest of the
//! module allows), LLVM computes with `f32` and rounds. That gives the same numbers, but for
//! [`mul_add`](Half::mul_add) of `bf16`, which is then rounded twice.
//!
//! ```
//! use cuda_std::half::{Bf16x2, F16x2, Half, bf16, f16};
//! use cuda_std::prelude::*;
//!
//! /// Each thread's polynomial, of a number and of two at once.
//! #[kernel]
//! pub fn cubes(x: &[f16], mut y: DisjointSlice<f16>, pairs: &[F16x2], mut z: DisjointSlice<F16x2>) {
//!     let i = grid::<1>();
//!     if let (Some(y), Some(z)) = (y.get_mut(i), z.get_mut(i)) {
//!         *y = x[i] * x[i] + x[i];
//!         *z = pairs[i].mul_add(pairs[i], -F16x2::ONE) + pairs[i];
//!     }
//! }
//!
//! /// The same of `bf16`.
//! #[kernel]
//! pub fn bf16_cubes(x: &[bf16], mut y: DisjointSlice<bf16>, pairs: &[Bf16x2], mut z: DisjointSlice<Bf16x2>) {
//!     let i = grid::<1>();
//!     if let (Some(y), Some(z)) = (y.get_mut(i), z.get_mut(i)) {
//!         *y = x[i].mul_add(x[i], x[i]).minimum_number(bf16::from_f32(10.0));
//!         *z = (pairs[i] * pairs[i]).maximum_number(pairs[i]).abs();
//!     }
//! }
//!
//! fn main() {
//!     let (x, pairs) = ([1.5, -3.0, 100.0], [(1.0, 2.0), (0.5, -1.0), (300.0, 4.0)]);
//!     let (singles, doubles) = (x.map(f16::from_f32), pairs.map(|(a, b)| F16x2::from_f32(a, b)));
//!     let (mut y, mut z) = ([f16::ZERO; 3], [F16x2::ZERO; 3]);
//!     examples::launch((1, 3), cubes(&singles, &mut y, &doubles, &mut z));
//!     assert_eq!(y.map(f16::to_f32), [3.75, 6.0, 10_096.0]);
//!     assert_eq!(z.map(F16x2::to_f32), [(1.0, 5.0), (-0.25, -1.0), (f32::INFINITY, 19.0)]);
//!
//!     let (singles, doubles) = (x.map(bf16::from_f32), pairs.map(|(a, b)| Bf16x2::from_f32(a, b)));
//!     let (mut y, mut z) = ([bf16::ZERO; 3], [Bf16x2::ZERO; 3]);
//!     examples::launch((1, 3), bf16_cubes(&singles, &mut y, &doubles, &mut z));
//!     assert_eq!(y.map(bf16::to_f32), [3.75, 6.0, 10.0]);
//!     assert_eq!(z.map(Bf16x2::to_f32), [(1.0, 4.0), (0.5, 1.0), (90_112.0, 16.0)]);
//! #   examples::becomes("cubes", &["fma.rn.f16", "fma.rn.f16x2", "add.f16x2"]);
//! #   examples::avoids("cubes", &["cvt.f32", "cvt.rn", "mul.f32"]);
//! }
//! ```

use core::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use bytemuck::{Pod, Zeroable};

pub use ::half::{bf16, f16};

pub use super::float8::{e4m3, e5m2};

/// Instructions for numbers of 16 bits beyond the operators.
///
/// ```
/// use cuda_std::half::{Half, bf16};
///
/// let x = bf16::from_f32(3.0);
/// assert_eq!(x.mul_add(x, bf16::ONE).to_f32(), 10.0);
/// assert_eq!(x.minimum_number(bf16::NAN), x);
/// ```
pub trait Half: Copy + PartialOrd + Pod {
    /// `self * a + b`, rounded once. `fma.rn.f16`; PTX 4.2, sm_53. `fma.rn.bf16`; PTX 7.0, sm_80.
    #[must_use]
    fn mul_add(self, a: Self, b: Self) -> Self;
    /// The smaller; the number, if one is NaN. `min.f16`, `min.bf16`; PTX 7.0, sm_80.
    #[must_use]
    fn minimum_number(self, other: Self) -> Self;
    /// The larger; the number, if one is NaN. `max.f16`, `max.bf16`; PTX 7.0, sm_80.
    #[must_use]
    fn maximum_number(self, other: Self) -> Self;
}

/// A product plus a number such that rounding it once more, to at most 22 bits, is the rounding of the
/// exact sum: what is not exact is made odd in its last bit (Boldo, Melquiond, "Emulation of FMA and
/// Correctly Rounded Sums: Proved Algorithms Using Rounding to Odd").
#[cfg(not(target_arch = "nvptx64"))]
fn odd_sum(product: f64, number: f64) -> f32 {
    let sum = product + number;
    let rounded = sum - product;
    let error = (product - (sum - rounded)) + (number - rounded);
    let sum = if error == 0.0 || !sum.is_finite() || sum.to_bits() & 1 == 1 {
        sum
    } else if (error > 0.0) == (sum > 0.0) {
        f64::from_bits(sum.to_bits() + 1)
    } else {
        f64::from_bits(sum.to_bits() - 1)
    };
    let single = sum as f32;
    if f64::from(single) == sum || !single.is_finite() || single.to_bits() & 1 == 1 {
        single
    } else if f64::from(single.abs()) < sum.abs() {
        f32::from_bits(single.to_bits() + 1)
    } else {
        f32::from_bits(single.to_bits() - 1)
    }
}

/// A builtin on the device, of bits that `from` takes; an expression on the host.
macro_rules! operation {
    ($builtin:tt($($argument:expr),+) -> $bits:ident as $from:expr, $host:expr) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            device!($builtin($($argument),+) -> $bits as $from)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            $host
        }
    }};
}

#[cfg(target_arch = "nvptx64")]
macro_rules! device {
    ($builtin:tt($a:expr) -> $bits:ident as $from:expr) => {{
        unsafe extern "C" {
            #[link_name = $builtin]
            fn operation(a: $bits) -> $bits;
        }
        // SAFETY: arithmetic, defined for all bits.
        $from(unsafe { operation($a) })
    }};
    ($builtin:tt($a:expr, $b:expr) -> $bits:ident as $from:expr) => {{
        unsafe extern "C" {
            #[link_name = $builtin]
            fn operation(a: $bits, b: $bits) -> $bits;
        }
        // SAFETY: arithmetic, defined for all bits.
        $from(unsafe { operation($a, $b) })
    }};
    ($builtin:tt($a:expr, $b:expr, $c:expr) -> $bits:ident as $from:expr) => {{
        unsafe extern "C" {
            #[link_name = $builtin]
            fn operation(a: $bits, b: $bits, c: $bits) -> $bits;
        }
        // SAFETY: arithmetic, defined for all bits.
        $from(unsafe { operation($a, $b, $c) })
    }};
}

/// Implements [`Half`] for a type and declares the pair of it, from the names of the builtins of the
/// link stage.
macro_rules! halves {
    (
        $half:ident: fma $fma:literal min $min:literal max $max:literal;
        $(#[$doc:meta])*
        $pair:ident: add $add:literal sub $sub:literal mul $mul:literal fma $fma2:literal
            min $min2:literal max $max2:literal neg $neg:literal abs $abs:literal;
    ) => {
        impl Half for $half {
            #[inline(always)]
            fn mul_add(self, a: Self, b: Self) -> Self {
                operation!(
                    $fma(self.to_bits(), a.to_bits(), b.to_bits()) -> u16 as Self::from_bits,
                    Self::from_f32(odd_sum(self.to_f64() * a.to_f64(), b.to_f64()))
                )
            }

            #[inline(always)]
            fn minimum_number(self, other: Self) -> Self {
                operation!(
                    $min(self.to_bits(), other.to_bits()) -> u16 as Self::from_bits,
                    Self::from_f32(self.to_f32().min(other.to_f32()))
                )
            }

            #[inline(always)]
            fn maximum_number(self, other: Self) -> Self {
                operation!(
                    $max(self.to_bits(), other.to_bits()) -> u16 as Self::from_bits,
                    Self::from_f32(self.to_f32().max(other.to_f32()))
                )
            }
        }

        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
        #[repr(C, align(4))]
        pub struct $pair {
            /// The one in the lower half of the register.
            pub low: $half,
            /// The one in the upper half.
            pub high: $half,
        }

        impl $pair {
            /// Two zeros.
            pub const ZERO: Self = Self::splat($half::ZERO);
            /// Two ones.
            pub const ONE: Self = Self::splat($half::ONE);

            /// Two numbers.
            #[inline(always)]
            #[must_use]
            pub const fn new(low: $half, high: $half) -> Self {
                Self { low, high }
            }

            /// The same number twice.
            #[inline(always)]
            #[must_use]
            pub const fn splat(both: $half) -> Self {
                Self { low: both, high: both }
            }

            /// Two numbers, rounded.
            #[inline(always)]
            #[must_use]
            pub fn from_f32(low: f32, high: f32) -> Self {
                Self::new($half::from_f32(low), $half::from_f32(high))
            }

            /// The low and the high number.
            #[inline(always)]
            #[must_use]
            pub fn to_f32(self) -> (f32, f32) {
                (self.low.to_f32(), self.high.to_f32())
            }

            /// The register: the low number in the lower half.
            #[inline(always)]
            #[must_use]
            pub const fn to_bits(self) -> u32 {
                self.low.to_bits() as u32 | (self.high.to_bits() as u32) << 16
            }

            /// The inverse of [`to_bits`](Self::to_bits).
            #[inline(always)]
            #[must_use]
            pub const fn from_bits(bits: u32) -> Self {
                Self::new($half::from_bits(bits as u16), $half::from_bits((bits >> 16) as u16))
            }

            /// `self * a + b`, each rounded once: see [`Half::mul_add`].
            #[inline(always)]
            #[must_use]
            pub fn mul_add(self, a: Self, b: Self) -> Self {
                operation!(
                    $fma2(self.to_bits(), a.to_bits(), b.to_bits()) -> u32 as Self::from_bits,
                    Self::new(self.low.mul_add(a.low, b.low), self.high.mul_add(a.high, b.high))
                )
            }

            /// The smaller of each: see [`Half::minimum_number`].
            #[inline(always)]
            #[must_use]
            pub fn minimum_number(self, other: Self) -> Self {
                operation!(
                    $min2(self.to_bits(), other.to_bits()) -> u32 as Self::from_bits,
                    Self::new(self.low.minimum_number(other.low), self.high.minimum_number(other.high))
                )
            }

            /// The larger of each: see [`Half::maximum_number`].
            #[inline(always)]
            #[must_use]
            pub fn maximum_number(self, other: Self) -> Self {
                operation!(
                    $max2(self.to_bits(), other.to_bits()) -> u32 as Self::from_bits,
                    Self::new(self.low.maximum_number(other.low), self.high.maximum_number(other.high))
                )
            }

            /// The absolute values.
            #[inline(always)]
            #[must_use]
            pub fn abs(self) -> Self {
                operation!(
                    $abs(self.to_bits()) -> u32 as Self::from_bits,
                    Self::from_bits(self.to_bits() & 0x7fff_7fff)
                )
            }
        }

        impl Add for $pair {
            type Output = Self;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                operation!(
                    $add(self.to_bits(), other.to_bits()) -> u32 as Self::from_bits,
                    Self::new(self.low + other.low, self.high + other.high)
                )
            }
        }

        impl Sub for $pair {
            type Output = Self;

            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                operation!(
                    $sub(self.to_bits(), other.to_bits()) -> u32 as Self::from_bits,
                    Self::new(self.low - other.low, self.high - other.high)
                )
            }
        }

        impl Mul for $pair {
            type Output = Self;

            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                operation!(
                    $mul(self.to_bits(), other.to_bits()) -> u32 as Self::from_bits,
                    Self::new(self.low * other.low, self.high * other.high)
                )
            }
        }

        impl Neg for $pair {
            type Output = Self;

            #[inline(always)]
            fn neg(self) -> Self {
                operation!($neg(self.to_bits()) -> u32 as Self::from_bits, Self::new(-self.low, -self.high))
            }
        }

        impl AddAssign for $pair {
            #[inline(always)]
            fn add_assign(&mut self, other: Self) {
                *self = *self + other;
            }
        }

        impl SubAssign for $pair {
            #[inline(always)]
            fn sub_assign(&mut self, other: Self) {
                *self = *self - other;
            }
        }

        impl MulAssign for $pair {
            #[inline(always)]
            fn mul_assign(&mut self, other: Self) {
                *self = *self * other;
            }
        }
    };
}

halves! {
    f16: fma "__rumba_fma_f16" min "__rumba_min_f16" max "__rumba_max_f16";
    /// Two [`struct@f16`] in one register: operators work on both.
    F16x2: add "__rumba_add_f16x2" sub "__rumba_sub_f16x2" mul "__rumba_mul_f16x2" fma "__rumba_fma_f16x2"
        min "__rumba_min_f16x2" max "__rumba_max_f16x2" neg "__rumba_neg_f16x2" abs "__rumba_abs_f16x2";
}

halves! {
    bf16: fma "__rumba_fma_bf16" min "__rumba_min_bf16" max "__rumba_max_bf16";
    /// Two [`bf16`] in one register: operators work on both.
    Bf16x2: add "__rumba_add_bf16x2" sub "__rumba_sub_bf16x2" mul "__rumba_mul_bf16x2" fma "__rumba_fma_bf16x2"
        min "__rumba_min_bf16x2" max "__rumba_max_bf16x2" neg "__rumba_neg_bf16x2" abs "__rumba_abs_bf16x2";
}

#[cfg(test)]
mod tests {
    use super::{Bf16x2, F16x2, Half, bf16, f16};

    #[test]
    fn fused_sums_are_rounded_once() {
        // 2049 lies between 2048 and 2050; the small number decides.
        let (x, y, tiny) = (f16::from_f32(3.0), f16::from_f32(683.0), f16::from_bits(1));
        assert_eq!(x.mul_add(y, f16::ZERO).to_f32(), 2048.0);
        assert_eq!(x.mul_add(y, tiny).to_f32(), 2050.0);
        // 259 lies between 258 and 260, and the small number is far below the last bit of an `f64`.
        let (x, y, tiny) = (bf16::from_f32(7.0), bf16::from_f32(37.0), bf16::from_f32(1e-30));
        assert_eq!(x.mul_add(y, bf16::ZERO).to_f32(), 260.0);
        assert_eq!(x.mul_add(y, tiny).to_f32(), 260.0);
        assert_eq!(x.mul_add(y, -tiny).to_f32(), 258.0);
        assert!(x.mul_add(bf16::INFINITY, bf16::NEG_INFINITY).is_nan());
    }

    #[test]
    fn pairs_are_two_numbers() {
        let (x, y) = (F16x2::from_f32(1.0, -2.0), F16x2::from_f32(0.5, 4.0));
        assert_eq!((x + y).to_f32(), (1.5, 2.0));
        assert_eq!((x - y).to_f32(), (0.5, -6.0));
        assert_eq!((x * y).to_f32(), (0.5, -8.0));
        assert_eq!((-x).to_f32(), (-1.0, 2.0));
        assert_eq!(x.abs().to_f32(), (1.0, 2.0));
        assert_eq!(x.minimum_number(y).to_f32(), (0.5, -2.0));
        assert_eq!(x.maximum_number(y).to_f32(), (1.0, 4.0));
        assert_eq!(F16x2::from_bits(x.to_bits()), x);
        assert_eq!(bytemuck::cast::<_, u32>(x), x.to_bits());
        let mut z = Bf16x2::splat(bf16::from_f32(3.0));
        z *= Bf16x2::from_f32(1.0, 2.0);
        z += Bf16x2::ONE;
        z -= Bf16x2::ZERO;
        assert_eq!(z.to_f32(), (4.0, 7.0));
    }
}
