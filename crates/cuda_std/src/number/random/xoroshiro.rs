//! xoroshiro128+: 128 bits of state, and the streams of Numba's `cuda.random`.
//!
//! Blackman, Vigna: "Scrambled Linear Pseudorandom Number Generators", in the version with the
//! constants 55, 14, 36. Seeding, streams and conversions follow Numba's `cuda/random.py`.

use bytemuck::{Pod, Zeroable};

use super::{Generator, unit_f64};
use crate::number::float::GpuFloat;

/// The characteristic polynomial of a step over GF(2), less its leading term: bit i is xⁱ.
const CHARACTERISTIC: u128 = 0x0065_3ced_7f29_f88a_5fd6_6762_f0e1_c001;

/// A jump by 2⁶⁴ steps, then each twice as far as the one before: x to that power, modulo the
/// characteristic polynomial.
static JUMPS: [u128; 32] = {
    let mut power = 2;
    let mut doublings = 0;
    while doublings < 64 {
        power = square(power);
        doublings += 1;
    }
    let mut jumps = [power; 32];
    let mut i = 1;
    while i < jumps.len() {
        jumps[i] = square(jumps[i - 1]);
        i += 1;
    }
    jumps
};

/// The square of a polynomial over GF(2), modulo the characteristic one.
const fn square(polynomial: u128) -> u128 {
    let (mut product, mut shifted, mut left) = (0, polynomial, polynomial);
    while left != 0 {
        if left & 1 == 1 {
            product ^= shifted;
        }
        shifted = (shifted << 1) ^ if shifted >> 127 == 1 { CHARACTERISTIC } else { 0 };
        left >>= 1;
    }
    product
}

/// A generator of 64-bit numbers.
///
/// ```
/// use cuda_std::prelude::*;
/// use cuda_std::random::{Generator, Xoroshiro128Plus};
///
/// /// Adds noise; the generators go on where they stopped.
/// #[kernel]
/// pub fn noise(mut states: DisjointSlice<Xoroshiro128Plus>, mut x: DisjointSlice<f32>) {
///     let i = grid::<1>();
///     if let (Some(random), Some(x)) = (states.get_mut(i), x.get_mut(i)) {
///         *x += random.normal_f32();
///     }
/// }
///
/// fn main() {
///     // What Numba's `create_xoroshiro128p_states(4, seed=1)` has in the device's memory.
///     let mut states: Vec<_> = Xoroshiro128Plus::streams(1).take(4).collect();
///     assert_eq!(states[1].state(), [0x73c1_9a53_48fc_9098, 0x6c96_c932_f21d_71ee]);
///
///     let mut x = [0.0_f32; 4];
///     examples::launch((1, 32), noise(&mut states, &mut x));
///     // The first that Numba's `xoroshiro128p_normal_float32` gives there.
///     assert!((x[3] - 0.325_806_62).abs() < 1e-6);
///     let mut here = Xoroshiro128Plus::stream(1, 3);
///     here.normal_f32();
///     assert_eq!(states[3], here);
/// #   examples::becomes("noise", &["shf.l.wrap.b32", "cvt.rn.f64.u64"]);
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Xoroshiro128Plus {
    state: [u64; 2],
}

impl Xoroshiro128Plus {
    /// The first stream of a seed, which is scrambled by SplitMix64: Numba's
    /// `init_xoroshiro128p_state`.
    #[inline(always)]
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        let z = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        let z = z ^ (z >> 31);
        Self { state: [z, z] }
    }

    /// The stream that begins `stream` times 2⁶⁴ numbers after the first.
    ///
    /// 128 steps for each bit that is set in the number of the stream. Where that is too much for a
    /// kernel, make the [`streams`](Self::streams) on the host, once.
    #[inline(always)]
    #[must_use]
    pub fn stream(seed: u64, stream: u32) -> Self {
        let mut random = Self::new(seed);
        let mut left = stream;
        while left != 0 {
            random.advance(JUMPS[left.trailing_zeros() as usize]);
            left &= left - 1;
        }
        random
    }

    /// All streams of a seed in order: Numba's `create_xoroshiro128p_states`.
    pub fn streams(seed: u64) -> Streams {
        Streams { next: Self::new(seed) }
    }

    /// A generator with a given state, not all of it 0.
    #[must_use]
    pub const fn from_state(state: [u64; 2]) -> Self {
        Self { state }
    }

    /// The state, as Numba's `s0` and `s1`.
    #[must_use]
    pub const fn state(self) -> [u64; 2] {
        self.state
    }

    /// Goes 2⁶⁴ numbers on.
    #[inline(always)]
    pub fn jump(&mut self) {
        self.advance(JUMPS[0]);
    }

    #[inline(always)]
    fn step(&mut self) {
        let [s0, s1] = self.state;
        let s1 = s1 ^ s0;
        self.state = [s0.rotate_left(55) ^ s1 ^ (s1 << 14), s1.rotate_left(36)];
    }

    /// Applies a polynomial in the step to the state.
    #[inline(always)]
    fn advance(&mut self, polynomial: u128) {
        let mut sum = [0; 2];
        for bit in 0..128 {
            if polynomial >> bit & 1 == 1 {
                sum[0] ^= self.state[0];
                sum[1] ^= self.state[1];
            }
            self.step();
        }
        self.state = sum;
    }

    /// Numba's single precision: the double precision rounded, which gives 1 once in 2²⁵ times.
    #[inline(always)]
    fn rounded(&mut self) -> f32 {
        unit_f64(self.next_u64()) as f32
    }
}

impl Generator for Xoroshiro128Plus {
    /// The upper half of a number: the lowest bits are the weakest.
    #[inline(always)]
    fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }

    #[inline(always)]
    fn next_u64(&mut self) -> u64 {
        let sum = self.state[0].wrapping_add(self.state[1]);
        self.step();
        sum
    }

    /// A number from 0 to 1: Numba's `xoroshiro128p_uniform_float32`, which rounds the double
    /// precision and gives 1 itself once in 2²⁵ times.
    #[inline(always)]
    fn uniform_f32(&mut self) -> f32 {
        self.rounded()
    }

    /// Numba's `xoroshiro128p_normal_float32`: infinite where the first uniform number is 0.
    #[inline(always)]
    fn normal_f32(&mut self) -> f32 {
        let (u, v) = (self.rounded(), self.rounded());
        GpuFloat::sqrt(-2.0 * GpuFloat::ln(u)) * GpuFloat::cos(core::f32::consts::TAU * v)
    }

    /// Numba's `xoroshiro128p_normal_float64`, which is made of uniform numbers of single precision.
    /// [`normal_pair_f64`](Generator::normal_pair_f64) has all bits.
    #[inline(always)]
    fn normal_f64(&mut self) -> f64 {
        let (u, v) = (self.rounded(), self.rounded());
        GpuFloat::sqrt(-2.0 * f64::from(GpuFloat::ln(u))) * GpuFloat::cos(core::f64::consts::TAU * f64::from(v))
    }
}

/// The streams of a seed: see [`Xoroshiro128Plus::streams`].
#[derive(Clone, Debug)]
pub struct Streams {
    next: Xoroshiro128Plus,
}

impl Iterator for Streams {
    type Item = Xoroshiro128Plus;

    #[inline(always)]
    fn next(&mut self) -> Option<Xoroshiro128Plus> {
        let this = self.next;
        self.next.jump();
        Some(this)
    }
}

#[cfg(test)]
mod tests {
    use super::{JUMPS, Xoroshiro128Plus};
    use crate::number::random::Generator;

    #[test]
    fn the_first_jump_is_the_published_one() {
        assert_eq!(JUMPS[0], 0xd86b_048b_86aa_9922_beac_0467_eba5_facb);
    }

    #[test]
    fn a_far_jump_is_two_nearer_ones() {
        for pair in JUMPS.windows(2) {
            let (mut once, mut twice) = (Xoroshiro128Plus::new(3), Xoroshiro128Plus::new(3));
            once.advance(pair[1]);
            twice.advance(pair[0]);
            twice.advance(pair[0]);
            assert_eq!(once, twice);
        }
    }

    /// Made by Numba 0.61.2: `init_xoroshiro128p_states_cpu` and the functions that draw.
    #[test]
    fn states_are_numba_s() {
        let expected = [
            (
                1,
                0,
                [
                    [0x910a_2dec_8902_5cc1, 0x910a_2dec_8902_5cc1],
                    [0x73c1_9a53_48fc_9098, 0x6c96_c932_f21d_71ee],
                    [0x0b3d_0cd6_ddfa_7a4c, 0xd3c2_c33e_9b8e_707a],
                ],
            ),
            (
                42,
                3,
                [
                    [0xef62_61e4_4fd8_abc9, 0x0c6e_bfa4_759a_0f22],
                    [0x9657_12e7_ac28_b9b1, 0xc5fd_d9c6_a44f_58a6],
                    [0x8330_1600_d423_2c74, 0xe168_d4fc_5d8e_e374],
                ],
            ),
            (
                0xdead_beef_cafe_f00d,
                1000,
                [
                    [0x8354_4fdc_65c2_e8d6, 0x7546_5124_81cb_0733],
                    [0x57ac_b475_cc91_7c00, 0x6884_a889_eb3b_aa04],
                    [0xcc9e_9a0d_1d72_86b9, 0x729c_6490_997b_4b94],
                ],
            ),
        ];
        for (seed, start, states) in expected {
            let streams = Xoroshiro128Plus::streams(seed).skip(start as usize);
            for ((state, stream), i) in states.into_iter().zip(streams).zip(start..) {
                assert_eq!(stream.state(), state, "stream {i} of seed {seed}");
                assert_eq!(Xoroshiro128Plus::stream(seed, i).state(), state, "stream {i} of seed {seed}");
            }
        }
    }

    #[test]
    fn numbers_are_numba_s() {
        let stream = |i| Xoroshiro128Plus::stream(1, i);
        let mut random = stream(0);
        let words: [u64; 3] = core::array::from_fn(|_| random.next_u64());
        assert_eq!(words, [0x2214_5bd9_1204_b982, 0x60c8_8516_f644_812e, 0x3b05_6fab_69fc_74dd]);

        let mut random = stream(1);
        let bits: [u32; 4] = core::array::from_fn(|_| random.uniform_f32().to_bits());
        assert_eq!(bits, [1_063_278_692, 1_045_910_482, 1_054_249_426, 1_034_237_108]);

        let mut random = stream(2);
        let numbers: [f64; 4] = core::array::from_fn(|_| random.uniform_f64());
        let expected = [0x1b_dffa_02af_311d, 0x0e_881c_8c17_f28e, 0x1b_bb4c_935b_f5b7, 0x13_0844_4807_a225_u64];
        assert_eq!(numbers, expected.map(|bits| bits as f64 / (1_u64 << 53) as f64));

        let mut random = stream(3);
        for expected in [0.325_806_62_f32, 0.137_935_64, -0.424_779_1, -0.371_143_25] {
            let x = random.normal_f32();
            assert!((x - expected).abs() <= 2e-7, "{x} {expected}");
        }
        for expected in [1.006_993_265_685_527, -0.601_267_664_496_063_8, 0.428_807_223_073_179_4] {
            let x = random.normal_f64();
            // The logarithm is in single precision.
            assert!((x - expected).abs() <= 2e-7, "{x} {expected}");
        }
    }
}
