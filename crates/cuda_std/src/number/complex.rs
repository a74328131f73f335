//! Complex numbers, on the device and on the host: [`Complex`] is num-complex's, which the host's libraries take, so arrays of them
//! are passed as they are.
//!
//! Arithmetic, `conj`, `norm_sqr`, `scale` and so on are its own. Operations that need functions of real numbers are in
//! [`GpuComplex`], based on [`GpuFloat`](crate::GpuFloat), on the device and on the host.
//!
//! ```
//! use cuda_std::complex::{Complex32, GpuComplex};
//! use cuda_std::prelude::*;
//!
//! /// A signal of which each sample is turned by its own angle, and the sum of each 32.
//! #[kernel]
//! pub fn turn(x: &[Complex32], angle: &[f32], mut y: DisjointSlice<Complex32>, mut sums: Disjoint<Complex32, PerBlock>) {
//!     let i = grid::<1>();
//!     let turned = x[i] * Complex32::from_polar(1.0, angle[i]);
//!     if let Some(y) = y.own() {
//!         *y = turned;
//!     }
//!     let sum = warp::reduce_sum(turned);
//!     if let Some(own) = sums.own() {
//!         *own = sum;
//!     }
//! }
//!
//! # fn main() {
//! let x: Vec<_> = (0..64).map(|i| Complex32::new(i as f32, 1.0)).collect();
//! let angle = vec![core::f32::consts::FRAC_PI_2; 64];
//! let (mut y, mut sums) = (vec![Complex32::ZERO; 64], vec![Complex32::ZERO; 2]);
//! examples::launch((2, 32), turn(&x, &angle, &mut y, &mut sums));
//! for (x, y) in x.iter().zip(&y) {
//!     assert!((*y - x * Complex32::I).norm() < 1e-5);
//! }
//! assert!((sums[1] - Complex32::new(-32.0, 1520.0)).norm() < 1e-2);
//! # }
//! ```

pub use num_complex::{Complex, Complex32, Complex64};

use crate::number::float::GpuFloat;

/// Functions of complex numbers that need functions of real ones. Branch cuts are those of C and of num-complex: along the negative
/// real axis.
pub trait GpuComplex: Sized {
    /// The type of both parts.
    type Real;

    /// The absolute value, without overflow between: [`GpuFloat::hypot`].
    #[must_use]
    fn norm(self) -> Self::Real;
    /// The angle, between minus and plus half a turn: [`GpuFloat::atan2`].
    #[must_use]
    fn arg(self) -> Self::Real;
    /// Absolute value and angle.
    #[must_use]
    fn to_polar(self) -> (Self::Real, Self::Real);
    /// The number with this absolute value and angle: [`GpuFloat::sin_cos`].
    #[must_use]
    fn from_polar(norm: Self::Real, angle: Self::Real) -> Self;
    /// e to this power.
    #[must_use]
    fn exp(self) -> Self;
    /// The natural logarithm.
    #[must_use]
    fn ln(self) -> Self;
    /// The square root whose real part is not negative.
    #[must_use]
    fn sqrt(self) -> Self;
}

macro_rules! complex {
    ($($real:ident)*) => {$(
        impl GpuComplex for Complex<$real> {
            type Real = $real;

            #[inline]
            fn norm(self) -> $real {
                GpuFloat::hypot(self.re, self.im)
            }

            #[inline]
            fn arg(self) -> $real {
                GpuFloat::atan2(self.im, self.re)
            }

            #[inline]
            fn to_polar(self) -> ($real, $real) {
                (GpuComplex::norm(self), GpuComplex::arg(self))
            }

            #[inline]
            fn from_polar(norm: $real, angle: $real) -> Self {
                let (sine, cosine) = GpuFloat::sin_cos(angle);
                Self::new(norm * cosine, norm * sine)
            }

            #[inline]
            fn exp(self) -> Self {
                let size = GpuFloat::exp(self.re);
                // For these numbers the product with a sine would be NaN (C, annex G.6.3.1).
                if self.im == 0.0 {
                    return Self::new(size, self.im);
                }
                if size == 0.0 && !self.im.is_finite() {
                    return Self::new(0.0, 0.0);
                }
                if size.is_infinite() && !self.im.is_finite() {
                    return Self::new(size, <$real>::NAN);
                }
                GpuComplex::from_polar(size, self.im)
            }

            #[inline]
            fn ln(self) -> Self {
                let (norm, angle) = GpuComplex::to_polar(self);
                Self::new(GpuFloat::ln(norm), angle)
            }

            #[inline]
            fn sqrt(self) -> Self {
                if self.im == 0.0 {
                    let root = GpuFloat::sqrt(self.re.abs());
                    return if self.re < 0.0 {
                        Self::new(0.0, GpuFloat::copysign(root, self.im))
                    } else {
                        Self::new(root, self.im)
                    };
                }
                // The larger part has no cancellation, and the other follows from their product. A quarter keeps sums finite.
                let quarter = Self::new(self.re / 4.0, self.im / 4.0);
                let larger = 2.0 * GpuFloat::sqrt((quarter.re.abs() + GpuComplex::norm(quarter)) / 2.0);
                let smaller = self.im / (2.0 * larger);
                if self.re < 0.0 {
                    Self::new(smaller.abs(), GpuFloat::copysign(larger, self.im))
                } else {
                    Self::new(larger, smaller)
                }
            }
        }
    )*};
}

complex! { f32 f64 }

#[cfg(all(test, not(target_arch = "nvptx64")))]
mod tests {
    use super::{Complex64, GpuComplex};

    const NUMBERS: [Complex64; 8] = [
        Complex64::new(3.0, 4.0),
        Complex64::new(-3.0, 4.0),
        Complex64::new(-3.0, -4.0),
        Complex64::new(0.0, -2.0),
        Complex64::new(1e-9, 2.5),
        Complex64::new(-7.0, 1e-9),
        Complex64::new(2.0, 0.0),
        Complex64::new(-2.0, 0.0),
    ];

    fn close(a: Complex64, b: Complex64) -> bool {
        GpuComplex::norm(a - b) <= 1e-14 * (1.0 + GpuComplex::norm(b))
    }

    #[test]
    fn functions_undo_each_other() {
        for z in NUMBERS {
            let root = GpuComplex::sqrt(z);
            assert!(root.re >= 0.0 && close(root * root, z), "{z}");
            assert!(close(GpuComplex::exp(GpuComplex::ln(z)), z), "{z}");
            let (norm, angle) = GpuComplex::to_polar(z);
            assert!(close(GpuComplex::from_polar(norm, angle), z), "{z}");
        }
        assert_eq!(GpuComplex::norm(Complex64::new(3.0, 4.0)), 5.0);
        let large = GpuComplex::norm(Complex64::new(3e300, 4e300));
        assert!((large / 5e300 - 1.0).abs() < 1e-15);
        let turned = GpuComplex::exp(Complex64::new(0.0, core::f64::consts::PI));
        assert!(close(turned, Complex64::new(-1.0, 0.0)));
        // The cut: above and below the negative real axis.
        assert_eq!(GpuComplex::sqrt(Complex64::new(-4.0, 0.0)), Complex64::new(0.0, 2.0));
        assert_eq!(GpuComplex::sqrt(Complex64::new(-4.0, -0.0)).im, -2.0);
        // No overflow between.
        assert!(GpuComplex::sqrt(Complex64::new(1.5e308, 1.5e308)).re.is_finite());
    }

    #[test]
    fn infinities_have_exponentials() {
        let (infinity, nan) = (f64::INFINITY, f64::NAN);
        assert_eq!(GpuComplex::exp(Complex64::new(-infinity, nan)), Complex64::new(0.0, 0.0));
        assert_eq!(GpuComplex::exp(Complex64::new(infinity, 0.0)), Complex64::new(infinity, 0.0));
        let lost = GpuComplex::exp(Complex64::new(infinity, infinity));
        assert!(lost.re.is_infinite() && lost.im.is_nan());
    }
}
