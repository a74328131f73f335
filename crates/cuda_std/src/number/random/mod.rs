//! Random numbers: the same streams on the device and on the host.
//!
//! | generator | state | seeding a thread | for |
//! |---|---|---|---|
//! | [`Philox4x32`] | 44 bytes, or none: [`philox4x32_10`] is a function of a counter | free | new kernels |
//! | [`Xoroshiro128Plus`] | 16 bytes | a jump on the host, or a loop on the device | the streams of Numba's `cuda.random` |
//!
//! Each thread has a stream of its own, by its number, so that the result of a launch depends neither
//! on the order of threads nor on the device. Both generators are plain data: a kernel that goes on
//! where the last launch stopped keeps them in a slice.
//!
//! ```
//! use cuda_std::prelude::*;
//! use cuda_std::random::{Generator, Philox4x32};
//!
//! /// How many of a thread's points lie in the quarter of a circle.
//! fn hits(seed: u64, thread: u64, points: u32) -> u32 {
//!     let mut random = Philox4x32::new(seed, thread);
//!     (0..points)
//!         .filter(|_| {
//!             let (x, y) = (random.uniform_f32(), random.uniform_f32());
//!             x * x + y * y < 1.0
//!         })
//!         .count() as u32
//! }
//!
//! #[kernel]
//! pub fn quarter_circle(seed: u64, points: u32, mut counts: DisjointSlice<u32>) {
//!     let i = grid::<1>();
//!     if let Some(count) = counts.get_mut(i) {
//!         *count = hits(seed, i.get() as u64, points);
//!     }
//! }
//!
//! fn main() {
//!     let mut counts = [0; 100];
//!     examples::launch((4, 32), quarter_circle(1, 1000, &mut counts));
//!     let pi = 4.0 * f64::from(counts.iter().sum::<u32>()) / 100_000.0;
//!     assert!((pi - std::f64::consts::PI).abs() < 0.02);
//!     // The same function gives the same numbers here.
//!     assert_eq!(counts.map(u64::from), std::array::from_fn(|thread| u64::from(hits(1, thread as u64, 1000))));
//! #   examples::becomes("quarter_circle", &["mul.hi.u32"]);
//! #   examples::avoids("quarter_circle", &["mul.lo.s64", "ld.local", "st.local"]);
//! }
//! ```
//!
//! Integers and uniform numbers are equal bit for bit everywhere. Normal numbers take a logarithm and
//! a cosine of [`GpuFloat`], whose last bits differ between libraries.
//!
//! These generators are not for secrets.

mod philox;
mod xoroshiro;

pub use philox::{Philox4x32, philox4x32_10};
pub use xoroshiro::{Streams, Xoroshiro128Plus};

use crate::number::float::GpuFloat;

/// A stream of random numbers.
///
/// ```
/// use cuda_std::random::{Generator, Philox4x32};
///
/// let mut random = Philox4x32::new(42, 0);
/// let x = random.uniform_f64();
/// assert!((0.0..1.0).contains(&x));
/// ```
pub trait Generator {
    /// The next 32 random bits.
    fn next_u32(&mut self) -> u32;

    /// The next 64 random bits.
    fn next_u64(&mut self) -> u64;

    /// A number from 0 to below 1, in steps of 2⁻²⁴. `cvt.rn.f32.u32` and a product; PTX 1.0.
    #[inline(always)]
    fn uniform_f32(&mut self) -> f32 {
        (self.next_u32() >> 8) as f32 * (1.0 / (1 << 24) as f32)
    }

    /// A number from 0 to below 1, in steps of 2⁻⁵³. `cvt.rn.f64.u64` and a product; PTX 1.4, sm_13.
    #[inline(always)]
    fn uniform_f64(&mut self) -> f64 {
        unit_f64(self.next_u64())
    }

    /// Two independent numbers of the normal distribution of mean 0 and variance 1, by the
    /// transformation of Box and Muller.
    #[inline(always)]
    fn normal_pair_f32(&mut self) -> (f32, f32) {
        let (u, v) = (self.uniform_f32(), self.uniform_f32());
        // From above 0 to 1, which has a logarithm.
        let radius = GpuFloat::sqrt(-2.0 * GpuFloat::ln(1.0 - u));
        let (sin, cos) = GpuFloat::sin_cos(core::f32::consts::TAU * v);
        (radius * cos, radius * sin)
    }

    /// [`normal_pair_f32`](Self::normal_pair_f32) in double precision.
    #[inline(always)]
    fn normal_pair_f64(&mut self) -> (f64, f64) {
        let (u, v) = (self.uniform_f64(), self.uniform_f64());
        let radius = GpuFloat::sqrt(-2.0 * GpuFloat::ln(1.0 - u));
        let (sin, cos) = GpuFloat::sin_cos(core::f64::consts::TAU * v);
        (radius * cos, radius * sin)
    }

    /// A number of the normal distribution of mean 0 and variance 1: the first of a pair.
    #[inline(always)]
    fn normal_f32(&mut self) -> f32 {
        self.normal_pair_f32().0
    }

    /// [`normal_f32`](Self::normal_f32) in double precision.
    #[inline(always)]
    fn normal_f64(&mut self) -> f64 {
        self.normal_pair_f64().0
    }
}

/// The upper 53 bits as a fraction.
#[inline(always)]
fn unit_f64(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
}

#[cfg(test)]
mod tests {
    use super::{Generator, Philox4x32, Xoroshiro128Plus};

    /// Mean and variance of many numbers.
    fn moments(mut next: impl FnMut() -> f64) -> (f64, f64) {
        const N: u32 = 200_000;
        let (mut sum, mut squares) = (0.0, 0.0);
        for _ in 0..N {
            let x = next();
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(N);
        (mean, squares / f64::from(N) - mean * mean)
    }

    fn check(mut random: impl Generator) {
        let near = |(mean, variance): (f64, f64), expected: (f64, f64)| {
            assert!((mean - expected.0).abs() < 0.01, "mean {mean}");
            assert!((variance - expected.1).abs() < 0.02, "variance {variance}");
        };
        near(moments(|| f64::from(random.uniform_f32())), (0.5, 1.0 / 12.0));
        near(moments(|| random.uniform_f64()), (0.5, 1.0 / 12.0));
        near(moments(|| f64::from(random.normal_f32())), (0.0, 1.0));
        near(moments(|| random.normal_f64()), (0.0, 1.0));
        near(moments(|| f64::from(random.normal_pair_f32().1)), (0.0, 1.0));
        near(moments(|| random.normal_pair_f64().1), (0.0, 1.0));
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        check(Philox4x32::new(7, 3));
        check(Xoroshiro128Plus::new(7));
    }
}
