//! References: for each function its exact value, the sampled inputs, and the floor of small results.

use super::real::Real;
use cuda_std::float::GpuFloat;

/// A function of one number.
pub(crate) struct One {
    pub(crate) name: &'static str,
    /// Numbers outside are not tried.
    pub(crate) domain: [f64; 2],
    /// Half of the samples are taken evenly from here, the others from all numbers of the domain.
    pub(crate) near: [f64; 2],
    /// Results below `2^floor` count errors as if they were as large: for functions with zeros that no argument hits.
    pub(crate) floor: Option<i32>,
    pub(crate) exact: fn(f64) -> Real,
}

/// A function of two numbers.
pub(crate) struct Two {
    pub(crate) name: &'static str,
    /// The first number is taken from 2 to the powers between these.
    pub(crate) powers: [f64; 2],
    /// The second likewise.
    pub(crate) other: [f64; 2],
    /// Whether the numbers may be negative.
    pub(crate) negative: [bool; 2],
    pub(crate) exact: fn(f64, f64) -> Real,
}

const ALL: [f64; 2] = [f64::NEG_INFINITY, f64::INFINITY];

const fn one(name: &'static str, near: [f64; 2], exact: fn(f64) -> Real) -> One {
    One { name, domain: ALL, near, floor: None, exact }
}

impl One {
    const fn within(self, domain: [f64; 2]) -> Self {
        Self { domain, ..self }
    }

    const fn with_zeros(self) -> Self {
        Self { floor: Some(0), ..self }
    }
}

/// The functions of one number, in the order of the kernels.
pub(crate) const ONE: &[One] = &[
    one("sqrt", [0.0, 4.0], |x| Real::from(x).sqrt()),
    one("rsqrt", [0.0, 4.0], |x| Real::from(1.0) / Real::from(x).sqrt()),
    one("cbrt", [-8.0, 8.0], |x| Real::from(x).cbrt()),
    one("rcbrt", [-8.0, 8.0], |x| Real::from(1.0) / Real::from(x).cbrt()),
    one("sin", [-10.0, 10.0], |x| Real::from(x).sin()),
    one("cos", [-10.0, 10.0], |x| Real::from(x).cos()),
    one("tan", [-10.0, 10.0], |x| Real::from(x).tan()),
    one("sin_pi", [-4.0, 4.0], sin_pi),
    one("cos_pi", [-4.0, 4.0], cos_pi),
    one("asin", [-1.0, 1.0], |x| Real::from(x).asin()),
    one("acos", [-1.0, 1.0], |x| Real::from(x).acos()),
    one("atan", [-4.0, 4.0], |x| Real::from(x).atan()),
    one("sinh", [-10.0, 10.0], |x| Real::from(x).sinh()),
    one("cosh", [-10.0, 10.0], |x| Real::from(x).cosh()),
    one("tanh", [-4.0, 4.0], |x| Real::from(x).tanh()),
    one("asinh", [-10.0, 10.0], |x| Real::from(x).asinh()),
    one("acosh", [1.0, 10.0], |x| Real::from(x).acosh()),
    one("atanh", [-1.0, 1.0], |x| Real::from(x).atanh()),
    one("exp", [-20.0, 20.0], |x| Real::from(x).exp()).within([-800.0, 800.0]),
    one("exp2", [-20.0, 20.0], |x| Real::from(2.0).pow(&Real::from(x))).within([-1200.0, 1200.0]),
    one("exp10", [-20.0, 20.0], |x| Real::from(10.0).pow(&Real::from(x))).within([-400.0, 400.0]),
    one("exp_m1", [-2.0, 2.0], exp_m1).within([-800.0, 800.0]),
    one("ln", [0.0, 4.0], |x| Real::from(x).ln()),
    one("ln_1p", [-1.0, 4.0], ln_1p),
    one("log2", [0.0, 4.0], |x| Real::from(x).log2()),
    one("log10", [0.0, 4.0], |x| Real::from(x).log10()),
    one("erf", [-4.0, 4.0], |x| Real::from(x).erf()),
    one("erfc", [-4.0, 26.0], |x| Real::from(x).erfc()).within([-30.0, 30.0]),
    one("erf_inv", [-1.0, 1.0], erf_inv).within([-1.0, 1.0]),
    one("erfc_inv", [0.0, 2.0], erfc_inv).within([f64::MIN_POSITIVE, 2.0]),
    one("norm_cdf", [-37.0, 8.0], |x| Real::from(x).norm_cdf()).within([-40.0, 40.0]),
    one("norm_cdf_inv", [0.0, 1.0], norm_cdf_inv).within([f64::MIN_POSITIVE, 1.0]),
    one("tgamma", [-10.0, 30.0], |x| Real::from(x).gamma()).within([-160.0, 180.0]),
    one("lgamma", [-10.0, 30.0], |x| Real::from(x).ln_gamma()).within([-1000.0, 1e300]).with_zeros(),
    one("bessel_j0", [-40.0, 40.0], |x| Real::from(x).bessel_j(0)).within([-40.0, 40.0]).with_zeros(),
    one("bessel_j1", [-40.0, 40.0], |x| Real::from(x).bessel_j(1)).within([-40.0, 40.0]).with_zeros(),
    one("bessel_y0", [0.0, 40.0], |x| Real::from(x).bessel_y(0)).within([f64::MIN_POSITIVE, 40.0]).with_zeros(),
    one("bessel_y1", [0.0, 40.0], |x| Real::from(x).bessel_y(1)).within([f64::MIN_POSITIVE, 40.0]).with_zeros(),
];

/// The functions of two numbers, in the order of the kernels.
pub(crate) const TWO: &[Two] = &[
    Two {
        name: "powf",
        powers: [-4.0, 4.0],
        other: [-8.0, 5.0],
        negative: [false, true],
        exact: |x, y| Real::from(x).pow(&Real::from(y)),
    },
    Two { name: "atan2", powers: [-30.0, 30.0], other: [-30.0, 30.0], negative: [true, true], exact: atan2 },
    Two { name: "hypot", powers: [-20.0, 20.0], other: [-20.0, 20.0], negative: [true, true], exact: hypot },
    Two {
        name: "rhypot",
        powers: [-20.0, 20.0],
        other: [-20.0, 20.0],
        negative: [true, true],
        exact: |x, y| Real::from(1.0) / hypot(x, y),
    },
    Two {
        name: "fmod",
        powers: [-100.0, 100.0],
        other: [-100.0, 100.0],
        negative: [true, true],
        exact: |x, y| Real::from(x % y),
    },
    Two {
        name: "remainder",
        powers: [-100.0, 100.0],
        other: [-100.0, 100.0],
        negative: [true, true],
        exact: |x, y| Real::from(remainder(x, y)),
    },
];

/// The sine of half turns: exactly 0 at whole numbers.
fn sin_pi(x: f64) -> Real {
    match x % 1.0 == 0.0 {
        true => Real::from(0.0),
        false => (Real::pi() * Real::from(x % 2.0)).sin(),
    }
}

/// The cosine of half turns: exactly 0 at odd halves.
fn cos_pi(x: f64) -> Real {
    match (x % 1.0).abs() == 0.5 {
        true => Real::from(0.0),
        false => (Real::pi() * Real::from(x % 2.0)).cos(),
    }
}

/// Below, two terms of the series have all digits.
const TINY: f64 = 1e-40;

fn exp_m1(x: f64) -> Real {
    let real = Real::from(x);
    if x.abs() < TINY {
        return &real + &(&real * &real * 0.5);
    }
    real.exp() - 1.0
}

fn ln_1p(x: f64) -> Real {
    let real = Real::from(x);
    if x.abs() < TINY {
        return &real - &(&real * &real * 0.5);
    }
    (real + 1.0).ln()
}

/// Two steps of Newton's method from an approximation, each of which doubles its digits: the value less the argument,
/// over the derivative.
fn newton(start: f64, step: impl Fn(&Real) -> Real) -> Real {
    let mut y = Real::from(start);
    if start != 0.0 && start.is_finite() {
        for _ in 0..2 {
            y = &y - &step(&y);
        }
    }
    y
}

fn erf_inv(x: f64) -> Real {
    let per_slope = |y: &Real| (y * y).exp() * Real::pi().sqrt() * 0.5;
    newton(x.erf_inv(), |y| (y.erf() - Real::from(x)) * per_slope(y))
}

fn erfc_inv(x: f64) -> Real {
    let per_slope = |y: &Real| (y * y).exp() * Real::pi().sqrt() * -0.5;
    newton(x.erfc_inv(), |y| (y.erfc() - Real::from(x)) * per_slope(y))
}

fn norm_cdf_inv(p: f64) -> Real {
    let per_slope = |y: &Real| (y * y * 0.5).exp() * (Real::pi() * 2.0).sqrt();
    newton(p.norm_cdf_inv(), |y| (y.norm_cdf() - Real::from(p)) * per_slope(y))
}

fn atan2(y: f64, x: f64) -> Real {
    let angle = (Real::from(y) / Real::from(x)).atan();
    match (x < 0.0, y < 0.0) {
        (false, _) => angle,
        (true, false) => angle + Real::pi(),
        (true, true) => angle - Real::pi(),
    }
}

fn hypot(x: f64, y: f64) -> Real {
    (Real::from(x) * x + Real::from(y) * y).sqrt()
}

/// IEEE 754's remainder, from the exact one of twice the divisor.
fn remainder(x: f64, y: f64) -> f64 {
    let divisor = y.abs();
    let rest = x.abs() % (2.0 * divisor);
    let rest = if 2.0 * rest <= divisor {
        rest
    } else if rest < 1.5 * divisor {
        rest - divisor
    } else {
        rest - divisor - divisor
    };
    if x < 0.0 { -rest } else { rest }
}
