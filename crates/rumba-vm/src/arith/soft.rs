//! Arithmetic on `f64` in any rounding, by integers.
//!
//! This is the plain, slow way: it serves the directed roundings of `f64`, which have no wider format to lean on, and
//! it is the reference that the fast ways of the narrower formats are tested against. Inputs are `f64`; the result is
//! rounded once, to any format up to `f64`.

use crate::arith::scalar::Rounding;

/// A binary format with subnormals, infinities and NaN.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Bits of the significand, the hidden one included.
    pub precision: i32,
    /// The exponent of the smallest normal number.
    pub least: i32,
    /// The exponent of the largest number.
    pub most: i32,
}

impl Format {
    /// IEEE double precision.
    pub const F64: Self = Self { precision: 53, least: -1022, most: 1023 };
    /// IEEE single precision.
    #[cfg(test)]
    pub const F32: Self = Self { precision: 24, least: -126, most: 127 };
    /// IEEE half precision.
    #[cfg(test)]
    pub const F16: Self = Self { precision: 11, least: -14, most: 15 };
    /// The upper half of single precision.
    #[cfg(test)]
    pub const BF16: Self = Self { precision: 8, least: -126, most: 127 };
}

/// A finite number other than zero: `significand * 2^exponent`, negated if `negative`.
#[derive(Clone, Copy, Debug)]
struct Exact {
    negative: bool,
    significand: u128,
    exponent: i32,
}

impl Exact {
    fn of(x: f64) -> Self {
        let bits = x.to_bits();
        let field = (bits >> 52 & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        let hidden = u64::from(field != 0) << 52;
        Self {
            negative: x.is_sign_negative(),
            significand: u128::from(fraction | hidden),
            exponent: field.max(1) - 1075,
        }
    }

    /// The same number with the highest bit of its significand at position 125.
    fn aligned(self) -> Self {
        let shift = self.significand.leading_zeros() as i32 - 2;
        Self { significand: self.significand << shift, exponent: self.exponent - shift, ..self }
    }

    /// Rounds to a format; the last bit of the significand may stand for whatever was below it.
    fn round(self, rounding: Rounding, format: Format) -> f64 {
        let top = 127 - self.significand.leading_zeros() as i32 + self.exponent;
        let last = (top - format.precision + 1).max(format.least - format.precision + 1);
        let shift = last - self.exponent;
        let (mut kept, rest, half) = if shift <= 0 {
            (self.significand << -shift, 0, 1)
        } else if shift < 128 {
            (self.significand >> shift, self.significand & ((1 << shift) - 1), 1 << (shift - 1))
        } else {
            (0, 1, 2)
        };
        kept += u128::from(match rounding {
            Rounding::Nearest => rest > half || (rest == half && kept & 1 == 1),
            Rounding::Zero => false,
            Rounding::Down => self.negative && rest != 0,
            Rounding::Up => !self.negative && rest != 0,
        });
        // `kept` has at most 54 bits: the conversion is exact, and so are the multiplications, done in two steps
        // because a single factor may not be representable.
        let half_way = last / 2;
        let magnitude = kept as f64 * power(half_way) * power(last - half_way);
        let limit = (2.0 - power(1 - format.precision)) * power(format.most);
        let magnitude = if magnitude <= limit {
            magnitude
        } else {
            match (rounding, self.negative) {
                (Rounding::Nearest, _) | (Rounding::Down, true) | (Rounding::Up, false) => f64::INFINITY,
                (Rounding::Zero, _) | (Rounding::Down, false) | (Rounding::Up, true) => limit,
            }
        };
        if self.negative { -magnitude } else { magnitude }
    }
}

/// `2^exponent` for exponents of normal numbers.
fn power(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// `a * b + c`, rounded once.
pub fn fma(a: f64, b: f64, c: f64, rounding: Rounding, format: Format) -> f64 {
    let product_negative = a.is_sign_negative() != b.is_sign_negative();
    if !(a.is_finite() && b.is_finite() && c.is_finite()) {
        // Exact, or invalid: the rounding does not matter. A finite product must not overflow on the way.
        let product = if a.is_finite() && b.is_finite() { 0.0 } else { a * b };
        return product + c;
    }
    let product_zero = a == 0.0 || b == 0.0;
    if product_zero && c == 0.0 {
        return zero_sum(product_negative, c.is_sign_negative(), rounding);
    }
    if product_zero {
        return Exact::of(c).round(rounding, format);
    }
    let (left, right) = (Exact::of(a), Exact::of(b));
    let product = Exact {
        negative: product_negative,
        significand: left.significand * right.significand,
        exponent: left.exponent + right.exponent,
    };
    if c == 0.0 {
        return product.round(rounding, format);
    }
    let (x, y) = (product.aligned(), Exact::of(c).aligned());
    let (big, small) = if x.exponent >= y.exponent { (x, y) } else { (y, x) };
    let distance = (big.exponent - small.exponent).min(127);
    let lost = small.significand & ((1 << distance) - 1) != 0;
    let shifted = small.significand >> distance | u128::from(lost);
    let signed = |negative, significand: u128| {
        if negative { -(significand as i128) } else { significand as i128 }
    };
    let sum = signed(big.negative, big.significand) + signed(small.negative, shifted);
    if sum == 0 {
        return zero_sum(x.negative, y.negative, rounding);
    }
    Exact { negative: sum < 0, significand: sum.unsigned_abs(), exponent: big.exponent }.round(rounding, format)
}

/// The zero that is the sum of two values of these signs.
fn zero_sum(a_negative: bool, b_negative: bool, rounding: Rounding) -> f64 {
    let negative = if rounding == Rounding::Down { a_negative || b_negative } else { a_negative && b_negative };
    if negative { -0.0 } else { 0.0 }
}

/// `a + b`, rounded once.
pub fn add(a: f64, b: f64, rounding: Rounding, format: Format) -> f64 {
    fma(a, 1.0, b, rounding, format)
}

/// `a * b`, rounded once.
pub fn mul(a: f64, b: f64, rounding: Rounding, format: Format) -> f64 {
    let product = a * b;
    if !a.is_finite() || !b.is_finite() || a == 0.0 || b == 0.0 {
        return product;
    }
    // A zero of the product's sign does not change it.
    fma(a, b, if a.is_sign_negative() == b.is_sign_negative() { 0.0 } else { -0.0 }, rounding, format)
}

/// `a / b`, rounded once.
pub fn div(a: f64, b: f64, rounding: Rounding, format: Format) -> f64 {
    if !(a.is_finite() && b.is_finite()) || a == 0.0 || b == 0.0 {
        return a / b;
    }
    let (x, y) = (Exact::of(a).aligned(), Exact::of(b));
    // Dividing 126 bits by at most 53 leaves at least 73.
    let quotient = x.significand / y.significand;
    let rest = x.significand % y.significand;
    Exact {
        negative: x.negative != y.negative,
        significand: quotient | u128::from(rest != 0),
        exponent: x.exponent - y.exponent,
    }
    .round(rounding, format)
}

/// The square root, rounded once.
pub fn sqrt(a: f64, rounding: Rounding, format: Format) -> f64 {
    if !a.is_finite() || a <= 0.0 {
        return a.sqrt();
    }
    let x = Exact::of(a).aligned();
    let odd = x.exponent & 1;
    let significand = x.significand << odd;
    let root = significand.isqrt();
    Exact {
        negative: false,
        significand: root << 1 | u128::from(root * root != significand),
        exponent: (x.exponent - odd) / 2 - 1,
    }
    .round(rounding, format)
}
