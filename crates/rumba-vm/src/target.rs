//! What a processor does better with instructions of its own: wide copies and comparisons of addresses.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::op::Handler;
use crate::warp::LANES;

/// Lanes that are looked at together: rows of a two-dimensional block are often that short.
pub(crate) const GROUP: usize = 8;

/// A processor.
pub(crate) trait Target {
    /// The handler for the target.
    fn choose(baseline: Handler, avx2: Handler) -> Handler;

    /// Whether within each group of [`GROUP`] lanes every lane holds `step` more than the lane before.
    ///
    /// # Safety
    /// The pointer is good for 32 lanes, and the processor is the target.
    unsafe fn is_stepped(lanes: *const u64, step: u64) -> bool;

    /// Copies 8 lanes of `BYTES` bytes, 4, 8 or 16.
    ///
    /// # Safety
    /// Both ranges are valid, aligned to 4 bytes, and the processor is the target.
    unsafe fn copy_group<const BYTES: usize>(to: *mut u8, from: *const u8);
}

/// Any processor.
pub(crate) struct Baseline;

impl Target for Baseline {
    #[inline(always)]
    fn choose(baseline: Handler, _: Handler) -> Handler {
        baseline
    }

    #[inline(always)]
    unsafe fn is_stepped(lanes: *const u64, step: u64) -> bool {
        // SAFETY: as the caller promises.
        let lanes = unsafe { &*lanes.cast::<[u64; LANES]>() };
        let mut off = 0;
        for (lane, value) in lanes.iter().enumerate() {
            let (group, within) = (lane / GROUP * GROUP, lane % GROUP);
            off |= value ^ lanes[group].wrapping_add(step.wrapping_mul(within as u64));
        }
        off == 0
    }

    #[inline(always)]
    unsafe fn copy_group<const BYTES: usize>(to: *mut u8, from: *const u8) {
        for word in 0..GROUP * BYTES / 4 {
            // SAFETY: as the caller promises.
            unsafe {
                let value = AtomicU32::from_ptr(from.add(word * 4).cast_mut().cast()).load(Ordering::Relaxed);
                AtomicU32::from_ptr(to.add(word * 4).cast()).store(value, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
/// A processor with AVX2.
pub(crate) struct Avx2;

#[cfg(target_arch = "x86_64")]
impl Target for Avx2 {
    #[inline(always)]
    fn choose(_: Handler, avx2: Handler) -> Handler {
        avx2
    }

    #[inline(always)]
    unsafe fn is_stepped(lanes: *const u64, step: u64) -> bool {
        // SAFETY: as the caller promises.
        unsafe { avx2::is_stepped(lanes, step) }
    }

    #[inline(always)]
    unsafe fn copy_group<const BYTES: usize>(to: *mut u8, from: *const u8) {
        for vector in 0..BYTES / 4 {
            // SAFETY: as the caller promises.
            unsafe { avx2::copy_32(to.add(vector * 32), from.add(vector * 32)) };
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use std::arch::x86_64::{
        __m256i, _mm256_add_epi64, _mm256_load_si256, _mm256_or_si256, _mm256_set1_epi64x, _mm256_setr_epi64x,
        _mm256_setzero_si256, _mm256_testz_si256, _mm256_xor_si256,
    };

    use super::GROUP;
    use crate::warp::LANES;

    /// # Safety
    /// The pointer is good for 32 lanes of a slot.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn is_stepped(lanes: *const u64, step: u64) -> bool {
        let at = |lane: u64| step.wrapping_mul(lane).cast_signed();
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
    pub(super) unsafe fn copy_32(to: *mut u8, from: *const u8) {
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
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use Baseline as Avx2;
