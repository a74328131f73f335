//! Operations for which a processor has vector instructions: the only file in which these are written out.
//!
//! Handlers are generic over a [`Processor`] and compiled for each. Most handlers are loops that the compiler
//! vectorizes by itself; this file has the operations that the compiler does not vectorize, or vectorizes into code
//! that is several times slower.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod baseline;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
pub(crate) use baseline::Baseline;
#[cfg(not(target_arch = "x86_64"))]
pub(crate) use baseline::Baseline as Avx2;

use crate::arith::Plain;
use crate::base::lanes::GROUP;

/// The bits of one lane.
pub trait Raw: Copy + 'static {
    /// All bits zero.
    const ZERO: Self;

    /// Whether the bits are all ones, if they are all the same.
    fn is_set(self) -> bool;

    /// All bits as `bit`.
    fn spread(bit: bool) -> Self;

    /// A lane of an affine value whose first lane this is. The product of stride and lane is as wide as the lane.
    #[must_use]
    fn affine_lane(self, stride: i64, lane: usize) -> Self;
}

impl Raw for u32 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn is_set(self) -> bool {
        self != 0
    }

    #[inline(always)]
    fn spread(bit: bool) -> Self {
        std::hint::select_unpredictable(bit, u32::MAX, 0)
    }

    #[inline(always)]
    fn affine_lane(self, stride: i64, lane: usize) -> Self {
        self.wrapping_add((stride as u32).wrapping_mul(lane as u32))
    }
}

impl Raw for u64 {
    const ZERO: Self = 0;

    #[inline(always)]
    fn is_set(self) -> bool {
        self != 0
    }

    #[inline(always)]
    fn spread(bit: bool) -> Self {
        std::hint::select_unpredictable(bit, u64::MAX, 0)
    }

    #[inline(always)]
    fn affine_lane(self, stride: i64, lane: usize) -> Self {
        self.wrapping_add(stride.cast_unsigned().wrapping_mul(lane as u64))
    }
}

/// What is compiled once for a processor and called, where [`Body`](crate::exec::body::Body)s have it in several places.
pub(crate) trait Work {
    /// # Safety
    /// The processor is `X`.
    unsafe fn run<X: Processor>(self);
}

/// A processor.
///
/// # Safety
/// For every function: the processor is this one.
pub(crate) trait Processor {
    /// The processor's arithmetic.
    type Numbers: Plain;
    /// Eight `f32`.
    type Floats: Copy;
    /// Eight `i32`.
    type Integers: Copy;

    /// The index of an iteration. The compiler vectorizes and unrolls a loop only if it sees the index; `Baseline` hides the index
    /// where there is a better processor.
    fn index(index: usize) -> usize;

    /// Does work out of line.
    ///
    /// # Safety
    /// The processor is the target.
    unsafe fn call<W: Work>(work: W);

    /// Whether within each group of [`GROUP`] lanes every lane holds `stride` more than the lane before.
    ///
    /// # Safety
    /// The pointer is good for 32 lanes, and the processor is the target.
    unsafe fn is_affine(lanes: *const u64, stride: u64) -> bool;

    /// Copies 8 lanes of `BYTES` bytes, 4, 8 or 16.
    ///
    /// # Safety
    /// Both ranges are valid, aligned to 4 bytes, and the processor is the target.
    unsafe fn copy_group<const BYTES: usize>(to: *mut u8, from: *const u8);

    /// `out = mask ? on : off`, lane by lane; `out` may be `on` or `off`.
    ///
    /// # Safety
    /// All three point to 32 lanes; the processor is the target.
    unsafe fn select<R: Raw>(out: *mut R, on: *const R, off: *const R, mask: u32);

    /// The mask of the lanes whose bits are set; each is all ones or all zeros.
    ///
    /// # Safety
    /// The processor is the target.
    unsafe fn mask<R: Raw>(lanes: &[R; GROUP]) -> u32;

    /// The numbers in memory.
    unsafe fn load(from: &[f32; GROUP]) -> Self::Floats;

    unsafe fn store(x: Self::Floats, to: &mut [f32; GROUP]);

    unsafe fn load_integers(from: &[i32; GROUP]) -> Self::Integers;

    unsafe fn store_integers(x: Self::Integers, to: &mut [i32; GROUP]);

    /// The same number eight times.
    unsafe fn splat(x: f32) -> Self::Floats;

    unsafe fn splat_integer(x: i32) -> Self::Integers;

    unsafe fn multiply(a: Self::Floats, b: Self::Floats) -> Self::Floats;

    unsafe fn add(a: Self::Integers, b: Self::Integers) -> Self::Integers;

    unsafe fn subtract(a: Self::Integers, b: Self::Integers) -> Self::Integers;

    unsafe fn max(a: Self::Integers, b: Self::Integers) -> Self::Integers;

    unsafe fn min(a: Self::Integers, b: Self::Integers) -> Self::Integers;

    unsafe fn and(a: Self::Integers, b: Self::Integers) -> Self::Integers;

    unsafe fn or(a: Self::Integers, b: Self::Integers) -> Self::Integers;

    unsafe fn xor(a: Self::Integers, b: Self::Integers) -> Self::Integers;

    /// Minus one where `a` and `b` are equal, and zero elsewhere.
    unsafe fn equal(a: Self::Integers, b: Self::Integers) -> Self::Integers;

    /// Minus one where `a` is greater, and zero elsewhere.
    unsafe fn greater(a: Self::Integers, b: Self::Integers) -> Self::Integers;

    /// Selects `a` where `mask` is minus one, and `b` where `mask` is zero.
    unsafe fn blend(mask: Self::Integers, a: Self::Integers, b: Self::Integers) -> Self::Integers;

    unsafe fn shift_left<const BITS: i32>(x: Self::Integers) -> Self::Integers;

    /// A logical shift: zeros come in from the left.
    unsafe fn shift_right<const BITS: i32>(x: Self::Integers) -> Self::Integers;

    /// The magnitudes.
    unsafe fn abs(x: Self::Integers) -> Self::Integers;

    /// The integers, rounded to nearest.
    unsafe fn to_floats(x: Self::Integers) -> Self::Floats;

    /// The numbers, truncated to integers; they must be in the range of `i32`.
    unsafe fn cut(x: Self::Floats) -> Self::Integers;

    unsafe fn bits(x: Self::Floats) -> Self::Integers;

    unsafe fn from_bits(x: Self::Integers) -> Self::Floats;

    /// Whether any of the numbers is negative.
    unsafe fn any_negative(x: Self::Integers) -> bool;

    /// The numbers of `f16`.
    unsafe fn halves(bits: &[u16; GROUP]) -> Self::Floats;

    /// The numbers of `bf16`.
    unsafe fn brain_floats(bits: &[u16; GROUP]) -> Self::Floats;

    /// Two rows from their even and odd columns: each argument has four columns of each row.
    unsafe fn interleave(even: Self::Floats, odd: Self::Floats) -> [Self::Floats; 2];

    /// The inverse of `interleave`: the even and the odd columns of two rows.
    unsafe fn part(first: Self::Floats, second: Self::Floats) -> [Self::Floats; 2];

    /// Rows as columns.
    unsafe fn transpose(rows: &[[u16; GROUP]; GROUP]) -> [[u16; GROUP]; GROUP];
}

#[cfg(test)]
mod tests {
    use super::{Avx2, Baseline, GROUP, Processor};
    use crate::machine::op::has_avx2;

    /// Two rows from their even and odd columns, and back.
    ///
    /// # Safety
    /// The processor is `X`.
    unsafe fn check_rows<X: Processor>() {
        let rows = [std::array::from_fn(|at| at as f32), std::array::from_fn(|at| (GROUP + at) as f32)];
        let parts = [0, 1].map(|odd| std::array::from_fn(|at| (2 * at + odd) as f32));
        let (mut made, mut parted) = ([[0.0; GROUP]; 2], [[0.0; GROUP]; 2]);
        // SAFETY: as the caller promises.
        unsafe {
            let [first, second] = X::interleave(X::load(&parts[0]), X::load(&parts[1]));
            X::store(first, &mut made[0]);
            X::store(second, &mut made[1]);
            let [even, odd] = X::part(X::load(&rows[0]), X::load(&rows[1]));
            X::store(even, &mut parted[0]);
            X::store(odd, &mut parted[1]);
        }
        assert_eq!((made, parted), (rows, parts));
    }

    #[test]
    fn rows_lie_in_pairs_of_registers() {
        // SAFETY: every processor has the baseline instructions.
        unsafe { check_rows::<Baseline>() };
        if has_avx2() {
            // SAFETY: the processor has AVX2, as was just tested.
            unsafe { check_rows::<Avx2>() };
        }
    }
}
