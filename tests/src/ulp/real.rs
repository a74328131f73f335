//! Real numbers with far more digits than are asked for: arithmetic, and what is made of it.
//!
//! Elementary functions are those of the crate `astro-float-num`. The others follow the formulas of the Digital Library of
//! Mathematical Functions (DLMF), whose numbers they carry; nothing here is fast.

use astro_float_num::{BigFloat, Consts, Exponent, RoundingMode, Sign};
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Bits. Sums below lose up to 120 of them.
const PRECISION: usize = 320;
const ROUNDING: RoundingMode = RoundingMode::ToEven;

thread_local! {
    static CONSTANTS: RefCell<Consts> = RefCell::new(Consts::new().expect("there is memory for constants"));
}

/// A number.
#[derive(Clone, Debug)]
pub(crate) struct Real(BigFloat);

impl From<f64> for Real {
    fn from(x: f64) -> Self {
        if x.is_subnormal() {
            // The crate's conversion gives half of these.
            const UP: f64 = (1_u64 << 60) as f64;
            return Self::from(x * UP) / Self::from(UP);
        }
        Self(BigFloat::from_f64(x, PRECISION))
    }
}

macro_rules! operators {
    ($($trait:ident $function:ident;)*) => {$(
        impl $trait for Real {
            type Output = Real;

            fn $function(self, other: Real) -> Real {
                Real(self.0.$function(&other.0, PRECISION, ROUNDING))
            }
        }

        impl $trait for &Real {
            type Output = Real;

            fn $function(self, other: &Real) -> Real {
                Real(self.0.$function(&other.0, PRECISION, ROUNDING))
            }
        }

        impl $trait<f64> for Real {
            type Output = Real;

            fn $function(self, other: f64) -> Real {
                Real(self.0.$function(&Real::from(other).0, PRECISION, ROUNDING))
            }
        }
    )*};
}

operators! {
    Add add;
    Sub sub;
    Mul mul;
    Div div;
}

impl Neg for Real {
    type Output = Real;

    fn neg(self) -> Real {
        Real(self.0.neg())
    }
}

macro_rules! elementary {
    ($($function:ident)*) => {$(
        pub(crate) fn $function(&self) -> Real {
            CONSTANTS.with_borrow_mut(|constants| Real(self.0.$function(PRECISION, ROUNDING, constants)))
        }
    )*};
}

impl Real {
    elementary! { ln log2 log10 exp sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh }

    pub(crate) fn sqrt(&self) -> Real {
        Real(self.0.sqrt(PRECISION, ROUNDING))
    }

    pub(crate) fn cbrt(&self) -> Real {
        Real(self.0.cbrt(PRECISION, ROUNDING))
    }

    pub(crate) fn pow(&self, exponent: &Real) -> Real {
        CONSTANTS.with_borrow_mut(|constants| Real(self.0.pow(&exponent.0, PRECISION, ROUNDING, constants)))
    }

    pub(crate) fn pi() -> Real {
        CONSTANTS.with_borrow_mut(|constants| Real(constants.pi(PRECISION, ROUNDING)))
    }

    fn abs(&self) -> Real {
        Real(self.0.abs())
    }

    fn square(&self) -> Real {
        self * self
    }

    pub(crate) fn is_nan(&self) -> bool {
        self.0.is_nan()
    }

    pub(crate) fn is_negative(&self) -> bool {
        self.0.is_negative()
    }

    /// The exponent of the power of 2 at or below the magnitude; none for zero, infinity and NaN.
    pub(crate) fn exponent(&self) -> Option<i32> {
        self.0.exponent().filter(|_| !self.0.is_zero()).map(|exponent| exponent - 1)
    }

    /// The magnitude as a multiple of a power of 2, to 50 bits or so.
    fn magnitude_over(&self, exponent: i32) -> f64 {
        match self.0.as_raw_parts() {
            Some((words, _, _, own, _)) if !self.0.is_zero() => {
                let top = words.last().copied().unwrap_or(0) as f64 / 2.0_f64.powi(64);
                let distance: Exponent = own - exponent;
                top * 2.0_f64.powi(distance)
            }
            Some(_) => 0.0,
            None if self.0.is_nan() => f64::NAN,
            None => f64::INFINITY,
        }
    }

    /// The distance of a result from this number, in units in the last place of a type with so many bits of mantissa
    /// and this least exponent. Numbers below `2^floor` count as if they were as large. Numbers beyond the type's range
    /// are infinite, and infinity counts as the next power of 2 after the type's largest number.
    pub(crate) fn ulps(&self, result: f64, digits: i32, exponents: [i32; 2], floor: i32) -> f64 {
        if result.is_nan() || self.is_nan() {
            return if result.is_nan() == self.is_nan() { 0.0 } else { f64::INFINITY };
        }
        let infinity = |negative| {
            let magnitude = Real::from(2.0).pow(&Real::from(f64::from(exponents[1] + 1)));
            if negative { -magnitude } else { magnitude }
        };
        let limited = match self.exponent() {
            Some(exponent) if exponent > exponents[1] => infinity(self.is_negative()),
            None if self.0.is_inf() => infinity(self.0.is_inf_neg()),
            _ => self.clone(),
        };
        let result = if result.is_infinite() { infinity(result < 0.0) } else { Real::from(result) };
        let exponent = limited.exponent().unwrap_or(i32::MIN).clamp(exponents[0].max(floor), exponents[1]);
        (result - limited).magnitude_over(exponent - digits + 1)
    }

    /// DLMF 7.6.2: a sum without cancellation.
    pub(crate) fn erf(&self) -> Real {
        if self.abs().exponent().is_some_and(|exponent| exponent >= 3) {
            return Real::from(if self.is_negative() { -1.0 } else { 1.0 }) - self.abs().erfc_far() * sign(self);
        }
        let square = self.square();
        let (mut term, mut sum, mut n) = (self.clone(), self.clone(), 1.0);
        while is_relevant(&term, &sum) {
            term = term * square.clone() * 2.0 / Real::from(2.0 * n + 1.0);
            sum = sum + term.clone();
            n += 1.0;
        }
        sum * 2.0 * (-square).exp() / Real::pi().sqrt()
    }

    pub(crate) fn erfc(&self) -> Real {
        if !self.is_negative() && self.exponent().is_some_and(|exponent| exponent >= 1) {
            self.erfc_far()
        } else {
            Real::from(1.0) - self.erf()
        }
    }

    /// DLMF 7.9.1, a continued fraction: for numbers from 2 on.
    fn erfc_far(&self) -> Real {
        const TERMS: u32 = 1000;
        let mut fraction = self.clone();
        for k in (1..=TERMS).rev() {
            fraction = self.clone() + Real::from(f64::from(k) / 2.0) / fraction;
        }
        (-self.square()).exp() / fraction / Real::pi().sqrt()
    }

    pub(crate) fn norm_cdf(&self) -> Real {
        (-self.clone() / Real::from(2.0).sqrt()).erfc() / Real::from(2.0)
    }

    /// The logarithm of the gamma function of a positive number. DLMF 5.11.1, after steps up by DLMF 5.5.1.
    fn ln_gamma_positive(&self) -> Real {
        const ENOUGH: i32 = 6;
        let (mut x, mut product) = (self.clone(), Real::from(1.0));
        while x.exponent().is_none_or(|exponent| exponent < ENOUGH) {
            product = product * x.clone();
            x = x + 1.0;
        }
        let mut sum = (x.clone() - 0.5) * x.ln() - x.clone() + (Real::pi() * 2.0).ln() / Real::from(2.0);
        let square = x.square();
        let mut power = x;
        for (i, (numerator, denominator)) in BERNOULLI.into_iter().enumerate() {
            let k = 2.0 * (i as f64 + 1.0);
            let number = Real::parse(numerator) / Real::from(denominator);
            sum = sum + number / (power.clone() * (k * (k - 1.0)));
            power = power * square.clone();
        }
        sum - product.ln()
    }

    /// The logarithm of the gamma function's absolute value. DLMF 5.5.3.
    pub(crate) fn ln_gamma(&self) -> Real {
        if !self.is_negative() {
            return self.ln_gamma_positive();
        }
        let sine = (Real::pi() * self.clone()).sin().abs();
        (Real::pi() / sine).ln() - (Real::from(1.0) - self.clone()).ln_gamma_positive()
    }

    /// The gamma function.
    pub(crate) fn gamma(&self) -> Real {
        if !self.is_negative() {
            return self.ln_gamma_positive().exp();
        }
        let sine = (Real::pi() * self.clone()).sin();
        Real::pi() / (sine * (Real::from(1.0) - self.clone()).ln_gamma_positive().exp())
    }

    /// The Bessel function of the first kind. DLMF 10.2.2.
    pub(crate) fn bessel_j(&self, order: u32) -> Real {
        let half = self.clone() / Real::from(2.0);
        let square = half.square();
        let mut term = Real::from(1.0);
        for k in 1..=order {
            term = term * half.clone() / Real::from(f64::from(k));
        }
        let (mut sum, mut k) = (term.clone(), 1.0);
        while is_relevant(&term, &Real::from(1e-60)) {
            term = -(term * square.clone()) / Real::from(k * (k + f64::from(order)));
            sum = sum + term.clone();
            k += 1.0;
        }
        sum
    }

    /// The Bessel function of the second kind, of order 0 or 1. DLMF 10.8.1 and 10.8.2.
    pub(crate) fn bessel_y(&self, order: u32) -> Real {
        if self.is_negative() {
            return Real::from(f64::NAN);
        }
        let euler = Real::parse(EULER);
        let half = self.clone() / Real::from(2.0);
        let square = half.square();
        // The digamma function of k + 1 and of k + 1 + order.
        let (mut low, mut high) = (-euler.clone(), -euler);
        for k in 1..=order {
            high = high + Real::from(1.0) / Real::from(f64::from(k));
        }
        let mut term = if order == 0 { Real::from(1.0) } else { half.clone() };
        let (mut sum, mut k) = (term.clone() * (low.clone() + high.clone()), 1.0);
        while is_relevant(&term, &Real::from(1e-60)) {
            let next = k + f64::from(order);
            term = -(term * square.clone()) / Real::from(k * next);
            low = low + Real::from(1.0) / Real::from(k);
            high = high + Real::from(1.0) / Real::from(next);
            sum = sum + term.clone() * (low.clone() + high.clone());
            k += 1.0;
        }
        let mut y = half.ln() * 2.0 * self.bessel_j(order) - sum;
        if order == 1 {
            y = y - Real::from(1.0) / half;
        }
        y / Real::pi()
    }

    fn parse(digits: &str) -> Real {
        CONSTANTS.with_borrow_mut(|constants| {
            Real(BigFloat::parse(digits, astro_float_num::Radix::Dec, PRECISION, ROUNDING, constants))
        })
    }
}

/// Whether a term still changes a sum.
fn is_relevant(term: &Real, sum: &Real) -> bool {
    match (term.exponent(), sum.exponent()) {
        (Some(term), Some(sum)) => term > sum - PRECISION as i32,
        _ => false,
    }
}

/// 1 or -1.
fn sign(x: &Real) -> Real {
    Real::from(if x.0.sign() == Some(Sign::Neg) { -1.0 } else { 1.0 })
}

/// DLMF 5.2.3.
const EULER: &str = "0.57721566490153286060651209008240243104215933593992359880576723488486772677766467093694706329174674951463144724980708";

/// The numbers of even index from 2 on. DLMF Table 24.2.1.
const BERNOULLI: [(&str, f64); 20] = [
    ("1", 6.0),
    ("-1", 30.0),
    ("1", 42.0),
    ("-1", 30.0),
    ("5", 66.0),
    ("-691", 2730.0),
    ("7", 6.0),
    ("-3617", 510.0),
    ("43867", 798.0),
    ("-174611", 330.0),
    ("854513", 138.0),
    ("-236364091", 2730.0),
    ("8553103", 6.0),
    ("-23749461029", 870.0),
    ("8615841276005", 14322.0),
    ("-7709321041217", 510.0),
    ("2577687858367", 6.0),
    ("-26315271553053477373", 1_919_190.0),
    ("2929993913841559", 6.0),
    ("-261082718496449122051", 13530.0),
];

#[cfg(test)]
mod tests {
    use super::Real;

    /// Figures from the literature, to the 30 digits given: errors in units of the last place of an `f64` stay tiny.
    #[test]
    fn known_values() {
        let known = [
            (Real::from(0.5).erf(), "0.520499877813046537682746653891964528736451575757"),
            (Real::from(5.0).erfc(), "0.000000000001537459794428034850188343485383378890118"),
            (Real::from(1.5).gamma(), "0.886226925452758013649083741670572591398774728061"),
            (Real::from(-1.5).gamma(), "2.36327180120735470306422331112152691039673260816"),
            (Real::from(0.5).ln_gamma(), "0.572364942924700087071713675676529355823647406457"),
            (Real::from(1.0).bessel_j(0), "0.765197686557966551449717526102663220909274289755"),
            (Real::from(30.0).bessel_j(1), "-0.118751062616622936520234269240362891196521820228"),
            (Real::from(1.0).bessel_y(0), "0.088256964215676957982926766023515162827817523090"),
            (Real::from(1.0).bessel_y(1), "-0.781212821300288716547150000047964820549906390716"),
        ];
        for (value, digits) in known {
            let expected: f64 = digits.parse().unwrap();
            let ulps = value.ulps(expected, 53, [-1022, 1023], i32::MIN);
            assert!(ulps <= 0.51, "{digits}: {ulps}");
            let error = (value - Real::parse(digits)).magnitude_over(0);
            assert!(error < 1e-17, "{digits}: {error}");
        }
    }

    #[test]
    fn errors_count_in_last_places() {
        let third = Real::from(1.0) / Real::from(3.0);
        let nearest = 1.0 / 3.0_f64;
        let ulps = |result| third.ulps(result, 53, [-1022, 1023], i32::MIN);
        assert!((ulps(nearest) - 1.0 / 3.0).abs() < 1e-9);
        assert!((ulps(nearest.next_up()) - 2.0 / 3.0).abs() < 1e-9);
        assert_eq!(ulps(f64::NAN), f64::INFINITY);
        // The largest number is next to infinity.
        let beyond = Real::from(f64::MAX) * 4.0;
        assert_eq!(beyond.ulps(f64::INFINITY, 53, [-1022, 1023], i32::MIN), 0.0);
        assert_eq!(beyond.ulps(f64::MAX, 53, [-1022, 1023], i32::MIN), 1.0);
        assert_eq!(Real::from(0.0).ulps(5e-324, 53, [-1022, 1023], i32::MIN), 1.0);
        assert_eq!(Real::from(0.0).ulps(f64::EPSILON, 53, [-1022, 1023], 0), 1.0);
    }
}
