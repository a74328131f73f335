//! Random numbers, and how far results are from exact ones.

use cuda_std::half::{bf16, e4m3, e5m2, f16};

/// Elements of matrices.
pub trait Number: bytemuck::Pod {
    /// The nearest one.
    fn rounded(value: f64) -> Self;
    /// Itself.
    fn exact(self) -> f64;
}

macro_rules! numbers {
    ($($ty:ty: $from:expr, $into:expr;)*) => {$(
        impl Number for $ty {
            fn rounded(value: f64) -> Self {
                $from(value)
            }

            fn exact(self) -> f64 {
                $into(self)
            }
        }
    )*};
}

numbers! {
    f16: f16::from_f64, f16::to_f64;
    bf16: bf16::from_f64, bf16::to_f64;
    f32: |value| value as f32, f64::from;
    f64: |value| value, |value| value;
    e4m3: |value| e4m3::from_f32(value as f32), |value: e4m3| f64::from(value.to_f32());
    e5m2: |value| e5m2::from_f32(value as f32), |value: e5m2| f64::from(value.to_f32());
    i8: |value: f64| (32.0 * value) as i8, f64::from;
    i32: |value| value as i32, f64::from;
}

/// A sequence of 64-bit numbers: SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next one.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        (self.bits() % end as u64) as usize
    }

    /// Normally distributed numbers: Box and Muller's method.
    pub fn normal<T: Number>(&mut self, count: usize) -> Vec<T> {
        let mut uniform = || (self.bits() >> 11) as f64 / (1_u64 << 53) as f64;
        let mut numbers = Vec::with_capacity(count + 1);
        while numbers.len() < count {
            let (radius, angle) = ((-2.0 * (1.0 - uniform()).ln()).sqrt(), core::f64::consts::TAU * uniform());
            numbers.push(T::rounded(radius * angle.cos()));
            numbers.push(T::rounded(radius * angle.sin()));
        }
        numbers.truncate(count);
        numbers
    }
}

/// The largest difference of pairs `(result, exact)`, relative to the root of the mean square of the exact ones.
pub fn relative_error(pairs: &[(f64, f64)]) -> f64 {
    let square = pairs.iter().map(|(_, exact)| exact * exact).sum::<f64>() / pairs.len() as f64;
    let largest = pairs.iter().map(|(result, exact)| (result - exact).abs());
    largest.fold(0.0, |a, b| if b > a || b.is_nan() { b } else { a }) / square.sqrt().max(f64::MIN_POSITIVE)
}
