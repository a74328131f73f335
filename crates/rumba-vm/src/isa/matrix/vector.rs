//! Eight numbers at a time: what the sums of products need of a processor's vector instructions.
//!
//! Written out because the compiler, given loops, arranges these sums in ways that take several times as long. What is
//! computed is told in [`super::dot`].

/// Numbers in a vector.
pub(super) const WIDTH: usize = 8;

/// A processor.
///
/// # Safety
/// Whoever calls one of the functions knows that the processor is this one.
pub(super) trait Vectors {
    /// Eight `f32`.
    type Floats: Copy;
    /// Eight `i32`.
    type Integers: Copy;

    /// The numbers in memory.
    unsafe fn load(from: &[f32; WIDTH]) -> Self::Floats;

    unsafe fn store(x: Self::Floats, to: &mut [f32; WIDTH]);

    unsafe fn load_integers(from: &[i32; WIDTH]) -> Self::Integers;

    unsafe fn store_integers(x: Self::Integers, to: &mut [i32; WIDTH]);

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

    /// Minus one where they are equal, and zero elsewhere.
    unsafe fn equal(a: Self::Integers, b: Self::Integers) -> Self::Integers;

    /// Minus one where `a` is greater, and zero elsewhere.
    unsafe fn greater(a: Self::Integers, b: Self::Integers) -> Self::Integers;

    /// `mask` is minus one where `a` is wanted, and zero where `b` is.
    unsafe fn choose(mask: Self::Integers, a: Self::Integers, b: Self::Integers) -> Self::Integers;

    unsafe fn shift_left<const BITS: i32>(x: Self::Integers) -> Self::Integers;

    /// Zeros come from the left.
    unsafe fn shift_right<const BITS: i32>(x: Self::Integers) -> Self::Integers;

    /// The magnitudes.
    unsafe fn abs(x: Self::Integers) -> Self::Integers;

    /// The integers, rounded to nearest.
    unsafe fn to_floats(x: Self::Integers) -> Self::Floats;

    /// The numbers, cut; they fit.
    unsafe fn cut(x: Self::Floats) -> Self::Integers;

    unsafe fn bits(x: Self::Floats) -> Self::Integers;

    unsafe fn from_bits(x: Self::Integers) -> Self::Floats;

    /// Whether one of them is negative.
    unsafe fn any_negative(x: Self::Integers) -> bool;

    /// The numbers of `f16`.
    unsafe fn halves(bits: &[u16; WIDTH]) -> Self::Floats;

    /// The numbers of `bf16`.
    unsafe fn brain_floats(bits: &[u16; WIDTH]) -> Self::Floats;

    /// Rows as columns.
    unsafe fn transpose(rows: &[[u16; WIDTH]; WIDTH]) -> [[u16; WIDTH]; WIDTH];
}

/// Any processor.
pub(super) struct Baseline;

#[inline(always)]
fn each<A: Copy, R>(a: [A; WIDTH], f: impl Fn(A) -> R) -> [R; WIDTH] {
    a.map(f)
}

#[inline(always)]
fn both<A: Copy, B: Copy, R>(a: [A; WIDTH], b: [B; WIDTH], f: impl Fn(A, B) -> R) -> [R; WIDTH] {
    std::array::from_fn(|index| f(a[index], b[index]))
}

impl Vectors for Baseline {
    type Floats = [f32; WIDTH];
    type Integers = [i32; WIDTH];

    #[inline(always)]
    unsafe fn load(from: &[f32; WIDTH]) -> Self::Floats {
        *from
    }

    #[inline(always)]
    unsafe fn store(x: Self::Floats, to: &mut [f32; WIDTH]) {
        *to = x;
    }

    #[inline(always)]
    unsafe fn load_integers(from: &[i32; WIDTH]) -> Self::Integers {
        *from
    }

    #[inline(always)]
    unsafe fn store_integers(x: Self::Integers, to: &mut [i32; WIDTH]) {
        *to = x;
    }

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::Floats {
        [x; WIDTH]
    }

    #[inline(always)]
    unsafe fn splat_integer(x: i32) -> Self::Integers {
        [x; WIDTH]
    }

    #[inline(always)]
    unsafe fn multiply(a: Self::Floats, b: Self::Floats) -> Self::Floats {
        both(a, b, |a, b| a * b)
    }

    #[inline(always)]
    unsafe fn add(a: Self::Integers, b: Self::Integers) -> Self::Integers {
        both(a, b, i32::wrapping_add)
    }

    #[inline(always)]
    unsafe fn subtract(a: Self::Integers, b: Self::Integers) -> Self::Integers {
        both(a, b, i32::wrapping_sub)
    }

    #[inline(always)]
    unsafe fn max(a: Self::Integers, b: Self::Integers) -> Self::Integers {
        both(a, b, Ord::max)
    }

    #[inline(always)]
    unsafe fn min(a: Self::Integers, b: Self::Integers) -> Self::Integers {
        both(a, b, Ord::min)
    }

    #[inline(always)]
    unsafe fn and(a: Self::Integers, b: Self::Integers) -> Self::Integers {
        both(a, b, |a, b| a & b)
    }

    #[inline(always)]
    unsafe fn or(a: Self::Integers, b: Self::Integers) -> Self::Integers {
        both(a, b, |a, b| a | b)
    }

    #[inline(always)]
    unsafe fn xor(a: Self::Integers, b: Self::Integers) -> Self::Integers {
        both(a, b, |a, b| a ^ b)
    }

    #[inline(always)]
    unsafe fn equal(a: Self::Integers, b: Self::Integers) -> Self::Integers {
        both(a, b, |a, b| -i32::from(a == b))
    }

    #[inline(always)]
    unsafe fn greater(a: Self::Integers, b: Self::Integers) -> Self::Integers {
        both(a, b, |a, b| -i32::from(a > b))
    }

    #[inline(always)]
    unsafe fn choose(mask: Self::Integers, a: Self::Integers, b: Self::Integers) -> Self::Integers {
        std::array::from_fn(|index| a[index] & mask[index] | b[index] & !mask[index])
    }

    #[inline(always)]
    unsafe fn shift_left<const BITS: i32>(x: Self::Integers) -> Self::Integers {
        each(x, |x| x << BITS)
    }

    #[inline(always)]
    unsafe fn shift_right<const BITS: i32>(x: Self::Integers) -> Self::Integers {
        each(x, |x| (x.cast_unsigned() >> BITS).cast_signed())
    }

    #[inline(always)]
    unsafe fn abs(x: Self::Integers) -> Self::Integers {
        each(x, i32::wrapping_abs)
    }

    #[inline(always)]
    unsafe fn to_floats(x: Self::Integers) -> Self::Floats {
        each(x, |x| x as f32)
    }

    #[inline(always)]
    unsafe fn cut(x: Self::Floats) -> Self::Integers {
        each(x, |x| x as i32)
    }

    #[inline(always)]
    unsafe fn bits(x: Self::Floats) -> Self::Integers {
        each(x, |x| x.to_bits().cast_signed())
    }

    #[inline(always)]
    unsafe fn from_bits(x: Self::Integers) -> Self::Floats {
        each(x, |x| f32::from_bits(x.cast_unsigned()))
    }

    #[inline(always)]
    unsafe fn any_negative(x: Self::Integers) -> bool {
        x.into_iter().fold(0, |all, x| all | x) < 0
    }

    #[inline(always)]
    unsafe fn halves(bits: &[u16; WIDTH]) -> Self::Floats {
        use crate::isa::half::{F16, Half};
        each(*bits, |bits| F16(bits).widen())
    }

    #[inline(always)]
    unsafe fn brain_floats(bits: &[u16; WIDTH]) -> Self::Floats {
        each(*bits, |bits| f32::from_bits(u32::from(bits) << 16))
    }

    #[inline(always)]
    unsafe fn transpose(rows: &[[u16; WIDTH]; WIDTH]) -> [[u16; WIDTH]; WIDTH] {
        std::array::from_fn(|column| rows.map(|row| row[column]))
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) use Baseline as Avx2;

/// A processor with AVX2 and F16C.
#[cfg(target_arch = "x86_64")]
pub(super) struct Avx2;

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256, __m256i, _mm_loadu_si128, _mm_setzero_si128, _mm_unpackhi_epi16, _mm_unpacklo_epi16, _mm256_abs_epi32,
        _mm256_add_epi32, _mm256_and_si256, _mm256_blendv_epi8, _mm256_castps_si256, _mm256_castsi256_ps,
        _mm256_cmpeq_epi32, _mm256_cmpgt_epi32, _mm256_cvtepi32_ps, _mm256_cvtepu16_epi32, _mm256_cvtph_ps,
        _mm256_cvttps_epi32, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_max_epi32, _mm256_min_epi32,
        _mm256_movemask_ps, _mm256_mul_ps, _mm256_or_si256, _mm256_set1_epi32, _mm256_set1_ps, _mm256_slli_epi32,
        _mm256_srli_epi32, _mm256_storeu_ps, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_xor_si256,
    };

    use super::{Avx2, Vectors, WIDTH};

    // SAFETY of every function: the caller promises that the processor has AVX2 and F16C; pointers come from references.
    #[allow(clippy::undocumented_unsafe_blocks, reason = "said once, above")]
    impl Vectors for Avx2 {
        type Floats = __m256;
        type Integers = __m256i;

        #[inline(always)]
        unsafe fn load(from: &[f32; WIDTH]) -> __m256 {
            unsafe { _mm256_loadu_ps(from.as_ptr()) }
        }

        #[inline(always)]
        unsafe fn store(x: __m256, to: &mut [f32; WIDTH]) {
            unsafe { _mm256_storeu_ps(to.as_mut_ptr(), x) }
        }

        #[inline(always)]
        unsafe fn load_integers(from: &[i32; WIDTH]) -> __m256i {
            unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
        }

        #[inline(always)]
        unsafe fn store_integers(x: __m256i, to: &mut [i32; WIDTH]) {
            unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), x) }
        }

        #[inline(always)]
        unsafe fn splat(x: f32) -> __m256 {
            unsafe { _mm256_set1_ps(x) }
        }

        #[inline(always)]
        unsafe fn splat_integer(x: i32) -> __m256i {
            unsafe { _mm256_set1_epi32(x) }
        }

        #[inline(always)]
        unsafe fn multiply(a: __m256, b: __m256) -> __m256 {
            unsafe { _mm256_mul_ps(a, b) }
        }

        #[inline(always)]
        unsafe fn add(a: __m256i, b: __m256i) -> __m256i {
            unsafe { _mm256_add_epi32(a, b) }
        }

        #[inline(always)]
        unsafe fn subtract(a: __m256i, b: __m256i) -> __m256i {
            unsafe { _mm256_sub_epi32(a, b) }
        }

        #[inline(always)]
        unsafe fn max(a: __m256i, b: __m256i) -> __m256i {
            unsafe { _mm256_max_epi32(a, b) }
        }

        #[inline(always)]
        unsafe fn min(a: __m256i, b: __m256i) -> __m256i {
            unsafe { _mm256_min_epi32(a, b) }
        }

        #[inline(always)]
        unsafe fn and(a: __m256i, b: __m256i) -> __m256i {
            unsafe { _mm256_and_si256(a, b) }
        }

        #[inline(always)]
        unsafe fn or(a: __m256i, b: __m256i) -> __m256i {
            unsafe { _mm256_or_si256(a, b) }
        }

        #[inline(always)]
        unsafe fn xor(a: __m256i, b: __m256i) -> __m256i {
            unsafe { _mm256_xor_si256(a, b) }
        }

        #[inline(always)]
        unsafe fn equal(a: __m256i, b: __m256i) -> __m256i {
            unsafe { _mm256_cmpeq_epi32(a, b) }
        }

        #[inline(always)]
        unsafe fn greater(a: __m256i, b: __m256i) -> __m256i {
            unsafe { _mm256_cmpgt_epi32(a, b) }
        }

        #[inline(always)]
        unsafe fn choose(mask: __m256i, a: __m256i, b: __m256i) -> __m256i {
            unsafe { _mm256_blendv_epi8(b, a, mask) }
        }

        #[inline(always)]
        unsafe fn shift_left<const BITS: i32>(x: __m256i) -> __m256i {
            unsafe { _mm256_slli_epi32::<BITS>(x) }
        }

        #[inline(always)]
        unsafe fn shift_right<const BITS: i32>(x: __m256i) -> __m256i {
            unsafe { _mm256_srli_epi32::<BITS>(x) }
        }

        #[inline(always)]
        unsafe fn abs(x: __m256i) -> __m256i {
            unsafe { _mm256_abs_epi32(x) }
        }

        #[inline(always)]
        unsafe fn to_floats(x: __m256i) -> __m256 {
            unsafe { _mm256_cvtepi32_ps(x) }
        }

        #[inline(always)]
        unsafe fn cut(x: __m256) -> __m256i {
            unsafe { _mm256_cvttps_epi32(x) }
        }

        #[inline(always)]
        unsafe fn bits(x: __m256) -> __m256i {
            unsafe { _mm256_castps_si256(x) }
        }

        #[inline(always)]
        unsafe fn from_bits(x: __m256i) -> __m256 {
            unsafe { _mm256_castsi256_ps(x) }
        }

        #[inline(always)]
        unsafe fn any_negative(x: __m256i) -> bool {
            unsafe { _mm256_movemask_ps(_mm256_castsi256_ps(x)) != 0 }
        }

        #[inline(always)]
        unsafe fn halves(bits: &[u16; WIDTH]) -> __m256 {
            unsafe { _mm256_cvtph_ps(_mm_loadu_si128(bits.as_ptr().cast())) }
        }

        #[inline(always)]
        unsafe fn brain_floats(bits: &[u16; WIDTH]) -> __m256 {
            unsafe {
                let bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(bits.as_ptr().cast()));
                _mm256_castsi256_ps(_mm256_slli_epi32::<16>(bits))
            }
        }

        #[inline(always)]
        unsafe fn transpose(rows: &[[u16; WIDTH]; WIDTH]) -> [[u16; WIDTH]; WIDTH] {
            unsafe {
                // No closures: they would be compiled for any processor.
                let mut x = [_mm_setzero_si128(); WIDTH];
                for (x, row) in x.iter_mut().zip(rows) {
                    *x = _mm_loadu_si128(row.as_ptr().cast());
                }
                // Each step interleaves the first half with the second: three of them turn the bits of the index around.
                for _ in 0..3 {
                    let y = x;
                    for index in 0..WIDTH / 2 {
                        x[2 * index] = _mm_unpacklo_epi16(y[index], y[index + WIDTH / 2]);
                        x[2 * index + 1] = _mm_unpackhi_epi16(y[index], y[index + WIDTH / 2]);
                    }
                }
                std::mem::transmute(x)
            }
        }
    }
}
