//! A processor with AVX2, FMA, F16C, BMI1, BMI2, LZCNT and POPCNT.

use std::arch::x86_64::{
    __m256, __m256i, _mm_loadu_si128, _mm_setzero_si128, _mm_unpackhi_epi16, _mm_unpacklo_epi16, _mm256_abs_epi32,
    _mm256_add_epi32, _mm256_add_epi64, _mm256_and_si256, _mm256_blendv_epi8, _mm256_castpd_ps, _mm256_castps_pd,
    _mm256_castps_si256, _mm256_castsi256_pd, _mm256_castsi256_ps, _mm256_cmpeq_epi32, _mm256_cmpeq_epi64,
    _mm256_cmpgt_epi32, _mm256_cvtepi32_ps, _mm256_cvtepu16_epi32, _mm256_cvtph_ps, _mm256_cvttps_epi32,
    _mm256_load_si256, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_max_epi32, _mm256_min_epi32, _mm256_movemask_pd,
    _mm256_movemask_ps, _mm256_mul_ps, _mm256_or_si256, _mm256_permute2f128_ps, _mm256_permute4x64_pd,
    _mm256_set1_epi32, _mm256_set1_epi64x, _mm256_set1_ps, _mm256_setr_epi32, _mm256_setr_epi64x, _mm256_setzero_si256,
    _mm256_shuffle_ps, _mm256_slli_epi32, _mm256_srli_epi32, _mm256_storeu_ps, _mm256_storeu_si256, _mm256_sub_epi32,
    _mm256_testz_si256, _mm256_unpackhi_ps, _mm256_unpacklo_ps, _mm256_xor_si256,
};

use crate::base::lanes::{GROUP, LANES};
use crate::exec::processor::{Processor, Raw, Work};

/// A processor with AVX2 and its companions.
pub(crate) struct Avx2;

// SAFETY of every function: the caller promises that the processor has these instructions; the pointers of vectors come from
// references.
#[allow(clippy::undocumented_unsafe_blocks, reason = "said once, above")]
impl Processor for Avx2 {
    type Numbers = crate::arith::Native<true>;
    type Floats = __m256;
    type Integers = __m256i;

    #[inline(always)]
    fn index(index: usize) -> usize {
        index
    }

    #[inline(always)]
    unsafe fn call<W: Work>(work: W) {
        // SAFETY: as the caller promises.
        unsafe { call(work) }
    }

    #[inline(always)]
    unsafe fn is_affine(lanes: *const u64, stride: u64) -> bool {
        // SAFETY: as the caller promises.
        unsafe { is_affine(lanes, stride) }
    }

    #[inline(always)]
    unsafe fn copy_group<const BYTES: usize>(to: *mut u8, from: *const u8) {
        for vector in 0..BYTES / 4 {
            // SAFETY: as the caller promises.
            unsafe { copy_32(to.add(vector * 32), from.add(vector * 32)) };
        }
    }

    #[inline(always)]
    unsafe fn select<R: Raw>(out: *mut R, on: *const R, off: *const R, mask: u32) {
        // SAFETY: as the caller promises.
        unsafe {
            if size_of::<R>() == 4 {
                select32(out.cast(), on.cast(), off.cast(), mask);
            } else {
                select64(out.cast(), on.cast(), off.cast(), mask);
            }
        }
    }

    #[inline(always)]
    unsafe fn mask<R: Raw>(lanes: &[R; GROUP]) -> u32 {
        // SAFETY: as the caller promises; the array is one or two vectors long.
        unsafe { if size_of::<R>() == 4 { mask32(lanes.as_ptr().cast()) } else { mask64(lanes.as_ptr().cast()) } }
    }

    #[inline(always)]
    unsafe fn load(from: &[f32; GROUP]) -> __m256 {
        unsafe { _mm256_loadu_ps(from.as_ptr()) }
    }

    #[inline(always)]
    unsafe fn store(x: __m256, to: &mut [f32; GROUP]) {
        unsafe { _mm256_storeu_ps(to.as_mut_ptr(), x) }
    }

    #[inline(always)]
    unsafe fn load_integers(from: &[i32; GROUP]) -> __m256i {
        unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline(always)]
    unsafe fn store_integers(x: __m256i, to: &mut [i32; GROUP]) {
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
    unsafe fn blend(mask: __m256i, a: __m256i, b: __m256i) -> __m256i {
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
    unsafe fn halves(bits: &[u16; GROUP]) -> __m256 {
        unsafe { _mm256_cvtph_ps(_mm_loadu_si128(bits.as_ptr().cast())) }
    }

    #[inline(always)]
    unsafe fn brain_floats(bits: &[u16; GROUP]) -> __m256 {
        unsafe {
            let bits = _mm256_cvtepu16_epi32(_mm_loadu_si128(bits.as_ptr().cast()));
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(bits))
        }
    }

    #[inline(always)]
    unsafe fn interleave(even: __m256, odd: __m256) -> [__m256; 2] {
        unsafe {
            let (low, high) = (_mm256_unpacklo_ps(even, odd), _mm256_unpackhi_ps(even, odd));
            [_mm256_permute2f128_ps::<0x20>(low, high), _mm256_permute2f128_ps::<0x31>(low, high)]
        }
    }

    #[inline(always)]
    unsafe fn part(first: __m256, second: __m256) -> [__m256; 2] {
        unsafe {
            let even = _mm256_castps_pd(_mm256_shuffle_ps::<0b10_00_10_00>(first, second));
            let odd = _mm256_castps_pd(_mm256_shuffle_ps::<0b11_01_11_01>(first, second));
            [
                _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(even)),
                _mm256_castpd_ps(_mm256_permute4x64_pd::<0b11_01_10_00>(odd)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn transpose(rows: &[[u16; GROUP]; GROUP]) -> [[u16; GROUP]; GROUP] {
        unsafe {
            // No closures: they would be compiled for any processor.
            let mut x = [_mm_setzero_si128(); GROUP];
            for (x, row) in x.iter_mut().zip(rows) {
                *x = _mm_loadu_si128(row.as_ptr().cast());
            }
            // Each step interleaves the first half with the second: three of them turn the bits of the index around.
            for _ in 0..3 {
                let y = x;
                for index in 0..GROUP / 2 {
                    x[2 * index] = _mm_unpacklo_epi16(y[index], y[index + GROUP / 2]);
                    x[2 * index + 1] = _mm_unpackhi_epi16(y[index], y[index + GROUP / 2]);
                }
            }
            std::mem::transmute(x)
        }
    }
}

/// # Safety
/// The processor is [`Avx2`].
#[inline(never)]
#[target_feature(enable = "avx2,fma,f16c,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn call<W: Work>(work: W) {
    // SAFETY: as the caller promises.
    unsafe { work.run::<Avx2>() }
}

/// # Safety
/// The pointer is good for 32 lanes of a slot.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn is_affine(lanes: *const u64, stride: u64) -> bool {
    let at = |lane: u64| stride.wrapping_mul(lane).cast_signed();
    let low = _mm256_setr_epi64x(at(0), at(1), at(2), at(3));
    let high = _mm256_add_epi64(low, _mm256_set1_epi64x(at(4)));
    let mut off = _mm256_setzero_si256();
    for group in 0..LANES / GROUP {
        // SAFETY: as the caller promises; slots are aligned to 64 bytes.
        unsafe {
            let place = lanes.add(group * GROUP);
            let first = _mm256_set1_epi64x((*place).cast_signed());
            let found = place.cast::<__m256i>();
            let low = _mm256_xor_si256(_mm256_load_si256(found), _mm256_add_epi64(first, low));
            let high = _mm256_xor_si256(_mm256_load_si256(found.add(1)), _mm256_add_epi64(first, high));
            off = _mm256_or_si256(off, _mm256_or_si256(low, high));
        }
    }
    _mm256_testz_si256(off, off) != 0
}

/// Copies 32 bytes by assembly: what it does is invisible to the compiler, like relaxed accesses of a whole vector.
///
/// # Safety
/// Both ranges are valid.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn copy_32(to: *mut u8, from: *const u8) {
    // SAFETY: the ranges are valid as the caller promises, and the processor has these instructions.
    unsafe {
        std::arch::asm!(
            "vmovdqu {vector}, [{from}]",
            "vmovdqu [{to}], {vector}",
            from = in(reg) from,
            to = in(reg) to,
            vector = out(ymm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}

/// # Safety
/// The pointers are good for 32 lanes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn select32(out: *mut u32, on: *const u32, off: *const u32, mask: u32) {
    let bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    for start in (0..LANES).step_by(8) {
        let chosen = _mm256_set1_epi32((mask >> start) as i32);
        let chosen = _mm256_cmpeq_epi32(_mm256_and_si256(chosen, bits), bits);
        // SAFETY: eight lanes from `start` are within the 32.
        unsafe { blend(out.add(start), on.add(start), off.add(start), chosen) };
    }
}

/// # Safety
/// The pointers are good for 32 lanes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn select64(out: *mut u64, on: *const u64, off: *const u64, mask: u32) {
    let bits = _mm256_setr_epi64x(1, 2, 4, 8);
    for start in (0..LANES).step_by(4) {
        let chosen = _mm256_set1_epi64x(i64::from(mask >> start));
        let chosen = _mm256_cmpeq_epi64(_mm256_and_si256(chosen, bits), bits);
        // SAFETY: four lanes from `start` are within the 32.
        unsafe { blend(out.add(start), on.add(start), off.add(start), chosen) };
    }
}

/// # Safety
/// The pointers are good for 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn blend<R>(out: *mut R, on: *const R, off: *const R, chosen: __m256i) {
    // SAFETY: as the caller promises.
    unsafe {
        let on = _mm256_loadu_si256(on.cast());
        let off = _mm256_loadu_si256(off.cast());
        _mm256_storeu_si256(out.cast(), _mm256_blendv_epi8(off, on, chosen));
    }
}

/// # Safety
/// The pointer is good for 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn mask32(lanes: *const __m256i) -> u32 {
    // SAFETY: as the caller promises.
    let lanes = unsafe { _mm256_loadu_si256(lanes) };
    _mm256_movemask_ps(_mm256_castsi256_ps(lanes)) as u32
}

/// # Safety
/// The pointer is good for 64 bytes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn mask64(lanes: *const __m256i) -> u32 {
    // SAFETY: as the caller promises.
    let (low, high) = unsafe { (_mm256_loadu_si256(lanes), _mm256_loadu_si256(lanes.add(1))) };
    let low = _mm256_movemask_pd(_mm256_castsi256_pd(low)) as u32;
    let high = _mm256_movemask_pd(_mm256_castsi256_pd(high)) as u32;
    low | high << 4
}
