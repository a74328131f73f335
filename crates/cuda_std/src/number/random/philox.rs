//! Philox4x32-10: random numbers as a function of a counter and a key.
//!
//! Salmon, Moraes, Dror, Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3" (SC11). The layout of
//! counter and key is cuRAND's, so the streams are those of its `curandStatePhilox4_32_10_t`.

use bytemuck::{Pod, Zeroable};

use super::Generator;
#[cfg(target_arch = "nvptx64")]
use crate::device::intrinsics;

const ROUNDS: u32 = 10;
const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
/// The golden ratio and the square root of 3, less 1.
const WEYL: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// Four random words for a counter and a key.
///
/// No state at all: where a number belongs to a place (thread, step, use), make the place the counter.
///
/// ```
/// use cuda_std::random::philox4x32_10;
///
/// assert_eq!(philox4x32_10([0; 4], [0; 2]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
/// ```
///
/// Ten rounds of two `mul.hi.u32` and two `mul.lo.s32` each; PTX 1.0.
#[inline(always)]
#[must_use]
pub fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..ROUNDS {
        let (high0, low0) = wide_product(MULTIPLIERS[0], c0);
        let (high1, low1) = wide_product(MULTIPLIERS[1], c2);
        (c0, c1, c2, c3) = (high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0);
        (k0, k1) = (k0.wrapping_add(WEYL[0]), k1.wrapping_add(WEYL[1]));
    }
    [c0, c1, c2, c3]
}

/// The halves of a product, the upper one first.
#[inline(always)]
fn wide_product(a: u32, b: u32) -> (u32, u32) {
    // As a product of 64 bits the optimiser would keep both halves together, and multiply 64 bits again.
    #[cfg(target_arch = "nvptx64")]
    {
        (intrinsics::mul_hi(a, b), a.wrapping_mul(b))
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        let product = u64::from(a) * u64::from(b);
        ((product >> 32) as u32, product as u32)
    }
}

/// A generator on [`philox4x32_10`]: 2⁶⁴ seeds, each with 2⁶⁴ streams of 2⁶⁶ words.
///
/// ```
/// use cuda_std::random::{Generator, Philox4x32};
///
/// let mut random = Philox4x32::new(42, 7);
/// let first: [u32; 6] = core::array::from_fn(|_| random.next_u32());
/// // Any place of a stream is as near as its beginning.
/// let mut there = Philox4x32::new(42, 7).at(5);
/// assert_eq!(there.next_u32(), first[5]);
/// // Another stream is another generator.
/// assert_ne!(Philox4x32::new(42, 8).next_u32(), first[0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Philox4x32 {
    /// The counter of the next block: its number in the stream, low word first, and the stream.
    counter: [u32; 4],
    key: [u32; 2],
    /// The block that words are taken from.
    block: [u32; 4],
    /// How many have been taken.
    taken: u32,
}

impl Philox4x32 {
    /// The beginning of a stream. Give each thread its own, by its number.
    #[inline(always)]
    #[must_use]
    pub const fn new(seed: u64, stream: u64) -> Self {
        Self {
            counter: [0, 0, stream as u32, (stream >> 32) as u32],
            key: [seed as u32, (seed >> 32) as u32],
            block: [0; 4],
            taken: 4,
        }
    }

    /// This stream with `offset` words taken from its beginning.
    #[inline(always)]
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.counter[0] = (offset >> 2) as u32;
        self.counter[1] = (offset >> 34) as u32;
        self.taken = 4;
        if offset & 3 != 0 {
            self.block = self.next_block();
            self.taken = (offset & 3) as u32;
        }
        self
    }

    /// The next four words that no earlier call has begun with: the cheapest way to have many.
    #[inline(always)]
    pub fn next_block(&mut self) -> [u32; 4] {
        let block = philox4x32_10(self.counter, self.key);
        self.counter[0] = self.counter[0].wrapping_add(1);
        if self.counter[0] == 0 {
            self.counter[1] = self.counter[1].wrapping_add(1);
        }
        self.taken = 4;
        block
    }
}

impl Generator for Philox4x32 {
    #[inline(always)]
    fn next_u32(&mut self) -> u32 {
        if self.taken >= 4 {
            self.block = self.next_block();
            self.taken = 0;
        }
        let [a, b, c, d] = self.block;
        // Not by an index: registers have none, and the block would move to memory.
        let word = match self.taken {
            0 => a,
            1 => b,
            2 => c,
            _ => d,
        };
        self.taken += 1;
        word
    }

    /// Two words, the lower half first.
    #[inline(always)]
    fn next_u64(&mut self) -> u64 {
        let low = self.next_u32();
        u64::from(low) | u64::from(self.next_u32()) << 32
    }
}

#[cfg(test)]
mod tests {
    use super::{Philox4x32, philox4x32_10};
    use crate::number::random::Generator;

    /// `philox4x32 10` in the file `kat_vectors` of Random123.
    #[test]
    fn known_answers_of_random123() {
        let vectors = [
            ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
            (
                [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
                [0xa409_3822, 0x299f_31d0],
                [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
            ),
        ];
        for (counter, key, expected) in vectors {
            assert_eq!(philox4x32_10(counter, key), expected, "{counter:x?} {key:x?}");
        }
    }

    #[test]
    fn counter_and_key_lie_as_in_curand() {
        let mut random = Philox4x32::new(0x1111_2222_3333_4444, 0x5555_6666_7777_8888).at(4 << 32 | 8);
        let expected = philox4x32_10([2, 1, 0x7777_8888, 0x5555_6666], [0x3333_4444, 0x1111_2222]);
        assert_eq!(random.next_block(), expected);
    }

    /// Made by cuRAND of CUDA 13 on an H200: `curand_init(0x1111222233334444, 0x5555666677778888, 5, &state)`.
    #[test]
    fn numbers_are_curand_s() {
        let mut random = Philox4x32::new(0x1111_2222_3333_4444, 0x5555_6666_7777_8888).at(5);
        let words: [u32; 8] = core::array::from_fn(|_| random.next_u32());
        let expected =
            [0x4aea_15bc, 0xf7f6_b1e0, 0xd5b7_8737, 0xdcc9_490b, 0xeccf_ef2e, 0x32cf_d610, 0x6b2e_803c, 0x4727_13bb];
        assert_eq!(words, expected);
    }

    #[test]
    fn places_of_a_stream_agree() {
        let mut random = Philox4x32::new(1, 2);
        let words: [u32; 12] = core::array::from_fn(|_| random.next_u32());
        for offset in 0..11 {
            let mut there = Philox4x32::new(1, 2).at(offset as u64);
            assert_eq!([there.next_u32(), there.next_u32()], words[offset..offset + 2], "{offset}");
            // The next whole block is the one after the block of the second word.
            let next = (offset as u64 + 1) / 4 * 4 + 4;
            assert_eq!(there.next_block(), Philox4x32::new(1, 2).at(next).next_block());
        }
    }

    #[test]
    fn the_counter_carries() {
        let mut random = Philox4x32::new(0, 0).at((1 << 34) - 2);
        let words: [u32; 3] = core::array::from_fn(|_| random.next_u32());
        assert_eq!(words[2], philox4x32_10([0, 1, 0, 0], [0, 0])[0]);
    }
}
