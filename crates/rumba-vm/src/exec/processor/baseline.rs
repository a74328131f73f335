//! Any processor.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::base::lanes::{GROUP, LANES};
use crate::exec::lane::F16;
use crate::exec::processor::{Processor, Raw, Work};

/// Any processor.
pub(crate) struct Baseline;

// The loops over eight numbers are out of line on x86-64: products of matrices have thousands, and only processors without AVX2
// execute them.
#[cfg_attr(target_arch = "x86_64", inline(never))]
#[cfg_attr(not(target_arch = "x86_64"), inline(always))]
fn each<A: Copy, R>(a: [A; GROUP], f: impl Fn(A) -> R) -> [R; GROUP] {
    a.map(f)
}

#[cfg_attr(target_arch = "x86_64", inline(never))]
#[cfg_attr(not(target_arch = "x86_64"), inline(always))]
fn both<A: Copy, B: Copy, R>(a: [A; GROUP], b: [B; GROUP], f: impl Fn(A, B) -> R) -> [R; GROUP] {
    std::array::from_fn(|index| f(a[index], b[index]))
}

impl Processor for Baseline {
    type Numbers = crate::arith::Native<false>;
    type Floats = [f32; GROUP];
    type Integers = [i32; GROUP];

    // On x86-64, only processors without AVX2 execute these loops: short code, quickly compiled.
    #[inline(always)]
    fn index(index: usize) -> usize {
        if cfg!(target_arch = "x86_64") { std::hint::black_box(index) } else { index }
    }

    #[inline(never)]
    unsafe fn call<W: Work>(work: W) {
        // SAFETY: as the caller promises.
        unsafe { work.run::<Self>() }
    }

    // Out of line: each of the handlers that load and store would have its own copy.
    #[inline(never)]
    unsafe fn is_affine(lanes: *const u64, stride: u64) -> bool {
        // SAFETY: as the caller promises.
        let lanes = unsafe { &*lanes.cast::<[u64; LANES]>() };
        let mut off = 0;
        for (lane, value) in lanes.iter().enumerate() {
            let (group, within) = (lane / GROUP * GROUP, lane % GROUP);
            off |= value ^ lanes[group].wrapping_add(stride.wrapping_mul(within as u64));
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

    // Out of line: each of a thousand handlers would have its own copy.
    #[inline(never)]
    unsafe fn select<R: Raw>(out: *mut R, on: *const R, off: *const R, mask: u32) {
        for lane in 0..LANES {
            // SAFETY: the caller's pointers are good for 32 lanes.
            unsafe {
                let (on, off) = (on.add(lane).read(), off.add(lane).read());
                out.add(lane).write(std::hint::select_unpredictable(mask >> lane & 1 != 0, on, off));
            }
        }
    }

    #[inline(always)]
    unsafe fn mask<R: Raw>(lanes: &[R; GROUP]) -> u32 {
        let mut mask = 0;
        for (lane, bits) in lanes.iter().enumerate() {
            mask |= u32::from(bits.is_set()) << lane;
        }
        mask
    }

    #[inline(always)]
    unsafe fn load(from: &[f32; GROUP]) -> Self::Floats {
        *from
    }

    #[inline(always)]
    unsafe fn store(x: Self::Floats, to: &mut [f32; GROUP]) {
        *to = x;
    }

    #[inline(always)]
    unsafe fn load_integers(from: &[i32; GROUP]) -> Self::Integers {
        *from
    }

    #[inline(always)]
    unsafe fn store_integers(x: Self::Integers, to: &mut [i32; GROUP]) {
        *to = x;
    }

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::Floats {
        [x; GROUP]
    }

    #[inline(always)]
    unsafe fn splat_integer(x: i32) -> Self::Integers {
        [x; GROUP]
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
    unsafe fn blend(mask: Self::Integers, a: Self::Integers, b: Self::Integers) -> Self::Integers {
        both(both(a, mask, |a, mask| a & mask), both(b, mask, |b, mask| b & !mask), |a, b| a | b)
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
    unsafe fn halves(bits: &[u16; GROUP]) -> Self::Floats {
        each(*bits, |bits| F16(bits).to_f32())
    }

    #[inline(always)]
    unsafe fn brain_floats(bits: &[u16; GROUP]) -> Self::Floats {
        each(*bits, |bits| f32::from_bits(u32::from(bits) << 16))
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    unsafe fn interleave(even: Self::Floats, odd: Self::Floats) -> [Self::Floats; 2] {
        [0, 4].map(|first| std::array::from_fn(|at| [even, odd][at % 2][first + at / 2]))
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    unsafe fn part(first: Self::Floats, second: Self::Floats) -> [Self::Floats; 2] {
        [0, 1].map(|odd| std::array::from_fn(|at| [first, second][at / 4][at % 4 * 2 + odd]))
    }

    #[cfg_attr(target_arch = "x86_64", inline(never))]
    #[cfg_attr(not(target_arch = "x86_64"), inline(always))]
    unsafe fn transpose(rows: &[[u16; GROUP]; GROUP]) -> [[u16; GROUP]; GROUP] {
        std::array::from_fn(|column| rows.map(|row| row[column]))
    }
}
