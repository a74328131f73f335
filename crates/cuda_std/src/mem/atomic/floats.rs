//! Atomic operations on floating-point numbers. Operations without an instruction are compare-exchange loops.

use core::sync::atomic::Ordering::{self, AcqRel, Relaxed};
#[cfg(target_arch = "nvptx64")]
use core::sync::atomic::Ordering::{Acquire, Release};

use super::scoped::weaker;
use super::{Atomic, Scope, Scoped};
#[cfg(target_arch = "nvptx64")]
use crate::device::scope::sealed;
use crate::number::half::{Bf16x2, F16x2, Half, bf16, f16};

/// Operations on the bits of a number, with scope and ordering, and relaxed at device scope.
macro_rules! floats {
    ($($ty:ident by $word:ident, $bits:literal, min $min:ident, max $max:ident, $floor:literal, $add:literal;)*) => {$(
        impl Atomic<$ty> {
            /// The bits of the number.
            #[inline(always)]
            fn bits(&self) -> &Atomic<$word> {
                // SAFETY: both are a number of the same size and alignment, changed by atomic operations only.
                unsafe { &*core::ptr::from_ref(self).cast() }
            }

            /// Reads the number.
            ///
            #[doc = concat!("`ld.relaxed.gpu.b", $bits, "`; PTX 6.0, sm_70.")]
            #[inline(always)]
            #[must_use]
            pub fn load(&self) -> $ty {
                $ty::from_bits(self.bits().load())
            }

            /// Writes the number.
            ///
            #[doc = concat!("`st.relaxed.gpu.b", $bits, "`; PTX 6.0, sm_70.")]
            #[inline(always)]
            pub fn store(&self, value: $ty) {
                self.bits().store(value.to_bits());
            }

            /// Adds, and returns what was there. The order in which threads add is not fixed, so neither is the rounding
            /// of the sum.
            ///
            #[doc = $add]
            #[inline(always)]
            pub fn fetch_add(&self, value: $ty) -> $ty {
                #[cfg(target_arch = "nvptx64")]
                {
                    self.device().fetch_add(value, Relaxed)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    self.device().update(Relaxed, |old| old + value)
                }
            }

            /// Subtracts, and returns what was there.
            ///
            /// [`fetch_add`](Self::fetch_add) of the negative.
            #[inline(always)]
            pub fn fetch_sub(&self, value: $ty) -> $ty {
                self.fetch_add(-value)
            }

            /// Keeps the smaller, and returns what was there. A NaN loses against a number.
            ///
            #[doc = concat!("A loop of `atom.relaxed.gpu.cas.b", $bits, "`; ", $floor, ".")]
            #[inline(always)]
            pub fn fetch_min(&self, value: $ty) -> $ty {
                self.device().fetch_min(value, Relaxed)
            }

            /// Keeps the larger, and returns what was there. A NaN loses against a number.
            ///
            #[doc = concat!("A loop of `atom.relaxed.gpu.cas.b", $bits, "`; ", $floor, ".")]
            #[inline(always)]
            pub fn fetch_max(&self, value: $ty) -> $ty {
                self.device().fetch_max(value, Relaxed)
            }

            /// Replaces the number if its bits are those of `current`, and returns what was there, in `Ok` if it was
            /// replaced. So a NaN can be replaced, and 0 is not -0.
            ///
            /// # Errors
            /// The number that was there instead.
            ///
            #[doc = concat!("`atom.relaxed.gpu.cas.b", $bits, "`; ", $floor, ".")]
            #[inline(always)]
            pub fn compare_exchange(&self, current: $ty, new: $ty) -> Result<$ty, $ty> {
                self.device().compare_exchange(current, new, Relaxed)
            }
        }

        impl<'a, S: Scope> Scoped<'a, $ty, S> {
            #[inline(always)]
            fn bits(self) -> Scoped<'a, $word, S> {
                self.cell.bits().scoped()
            }

            /// Keeps the smaller, and returns what was there. A NaN loses against a number.
            ///
            #[doc = concat!("A loop of `atom.ORDER.SCOPE.cas.b", $bits, "`; ", $floor, ".")]
            #[inline(always)]
            pub fn fetch_min(self, value: $ty, order: Ordering) -> $ty {
                self.update(order, |old| old.$min(value))
            }

            /// Keeps the larger, and returns what was there. A NaN loses against a number.
            ///
            #[doc = concat!("A loop of `atom.ORDER.SCOPE.cas.b", $bits, "`; ", $floor, ".")]
            #[inline(always)]
            pub fn fetch_max(self, value: $ty, order: Ordering) -> $ty {
                self.update(order, |old| old.$max(value))
            }

            /// Replaces the number if its bits are those of `current`: see [`Atomic::compare_exchange`]. A failed exchange
            /// orders as a load: if `order` acquires, so does it.
            ///
            /// # Errors
            /// The number that was there instead.
            ///
            #[doc = concat!("`atom.ORDER.SCOPE.cas.b", $bits, "`; ", $floor, ".")]
            #[inline(always)]
            pub fn compare_exchange(self, current: $ty, new: $ty, order: Ordering) -> Result<$ty, $ty> {
                match self.bits().compare_exchange(current.to_bits(), new.to_bits(), order) {
                    Ok(old) => Ok($ty::from_bits(old)),
                    Err(old) => Err($ty::from_bits(old)),
                }
            }

            /// Replaces the number by what `next` makes of it, and returns what was there.
            #[inline(always)]
            fn update(self, order: Ordering, next: impl Fn($ty) -> $ty) -> $ty {
                let order = weaker::<S>(order, AcqRel);
                let cell = self.bits();
                let mut old = cell.load(Relaxed);
                loop {
                    let new = next($ty::from_bits(old)).to_bits();
                    // An unchanged value has to be written only for its ordering.
                    if new == old && matches!(order, Relaxed) {
                        return $ty::from_bits(old);
                    }
                    match cell.compare_exchange(old, new, order) {
                        Ok(_) => return $ty::from_bits(old),
                        Err(now) => old = now,
                    }
                }
            }
        }
    )*};
}

floats! {
    f32 by u32, 32, min min, max max, "PTX 6.0, sm_70", "`atom.add.f32`; PTX 2.0, sm_20.";
    f64 by u64, 64, min min, max max, "PTX 6.0, sm_70", "`atom.add.f64`; PTX 5.0, sm_60.";
    f16 by u16, 16, min minimum_number, max maximum_number, "PTX 6.3, sm_70", "`atom.add.noftz.f16`; PTX 6.3, sm_70.";
    F16x2 by u32, 32, min minimum_number, max maximum_number, "PTX 6.0, sm_70",
        "`atom.add.noftz.f16x2`; PTX 6.2, sm_60. Each of the two sums is indivisible, the pair is not.";
    bf16 by u16, 16, min minimum_number, max maximum_number, "PTX 6.3, sm_70",
        "`atom.add.noftz.bf16`, PTX 7.8, in builds for sm_90 or newer; else a loop of `cas.b16`, PTX 6.3, sm_70.";
    Bf16x2 by u32, 32, min minimum_number, max maximum_number, "PTX 6.0, sm_70",
        "`atom.add.noftz.bf16x2`, PTX 7.8, in builds for sm_90 or newer, where each of the two sums is indivisible and the \
         pair is not; else a loop of `cas.b32`, PTX 6.0, sm_70.";
}

impl Atomic<f32> {
    /// Replaces the number, and returns what was there.
    ///
    /// `atom.exch.b32`; PTX 1.1, sm_20.
    #[inline(always)]
    pub fn swap(&self, value: f32) -> f32 {
        f32::from_bits(self.bits().swap(value.to_bits()))
    }
}

impl Atomic<f64> {
    /// Replaces the number, and returns what was there.
    ///
    /// `atom.exch.b64`; PTX 1.1, sm_20.
    #[inline(always)]
    pub fn swap(&self, value: f64) -> f64 {
        f64::from_bits(self.bits().swap(value.to_bits()))
    }
}

/// Operations on numbers of 16 bits with scope and ordering: each with the oldest architecture (ten times the
/// capability) that can add such numbers.
macro_rules! halves {
    ($($ty:ident = $name:literal by $word:ident, $bits:literal, $arch:literal, $add:literal;)*) => {$(
        impl<S: Scope> Scoped<'_, $ty, S> {
            /// Reads the number. `order` is `Relaxed`, `Acquire` or `SeqCst`.
            ///
            #[doc = concat!("`ld.relaxed.SCOPE.b", $bits, "`, `ld.acquire`; PTX 6.0, sm_70.")]
            ///
            /// # Panics
            /// For other orderings.
            #[inline(always)]
            #[must_use]
            pub fn load(self, order: Ordering) -> $ty {
                $ty::from_bits(self.bits().load(order))
            }

            /// Writes the number. `order` is `Relaxed`, `Release` or `SeqCst`.
            ///
            #[doc = concat!("`st.relaxed.SCOPE.b", $bits, "`, `st.release`; PTX 6.0, sm_70.")]
            ///
            /// # Panics
            /// For other orderings.
            #[inline(always)]
            pub fn store(self, value: $ty, order: Ordering) {
                self.bits().store(value.to_bits(), order);
            }

            /// Adds, and returns what was there: see [`Atomic::fetch_add`].
            ///
            #[doc = $add]
            #[inline(always)]
            pub fn fetch_add(self, value: $ty, order: Ordering) -> $ty {
                #[cfg(target_arch = "nvptx64")]
                if crate::device::intrinsics::arch() >= $arch {
                    let order = weaker::<S>(order, AcqRel);
                    let cell = self.cell.0.get().cast::<$word>();
                    return $ty::from_bits(provided!(
                        S::at(cell.cast()), order, [Relaxed = "relaxed", Acquire = "acquire", Release = "release", AcqRel = "acqrel"],
                        "add", $name, [(cell => *mut $word, value.to_bits() => $word) -> $word]
                    ));
                }
                self.update(order, |old| old + value)
            }
        }
    )*};
}

halves! {
    f16 = "f16" by u16, 16, 700, "`atom.ORDER.SCOPE.add.noftz.f16`; PTX 6.3, sm_70.";
    F16x2 = "f16x2" by u32, 32, 700, "`atom.ORDER.SCOPE.add.noftz.f16x2`; PTX 6.2, sm_70.";
    bf16 = "bf16" by u16, 16, 900,
        "`atom.ORDER.SCOPE.add.noftz.bf16`, PTX 7.8, in builds for sm_90 or newer; else a loop of `cas.b16`, PTX 6.3, sm_70.";
    Bf16x2 = "bf16x2" by u32, 32, 900,
        "`atom.ORDER.SCOPE.add.noftz.bf16x2`, PTX 7.8, in builds for sm_90 or newer; else a loop of `cas.b32`, PTX 6.0, sm_70.";
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering::{AcqRel, Acquire, Release, SeqCst};

    use super::{Atomic, Bf16x2, F16x2, bf16, f16};

    #[test]
    fn floats_add_and_compare() {
        let x = Atomic::new(1.5_f32);
        assert_eq!((x.fetch_add(2.0), x.load()), (1.5, 3.5));
        assert_eq!((x.fetch_min(-1.0), x.load()), (3.5, -1.0));
        assert_eq!((x.fetch_max(f32::NAN), x.load()), (-1.0, -1.0));
        assert_eq!(x.nearest().fetch_max(7.0, SeqCst), -1.0);
        assert_eq!(x.system().compare_exchange(7.0, -0.0, AcqRel), Ok(7.0));
        assert!(x.compare_exchange(0.0, 1.0).is_err_and(f32::is_sign_negative));
        assert!(x.compare_exchange(-0.0, 1.0).is_ok());
    }

    #[test]
    fn halves_add_and_compare() {
        let x = Atomic::new(f16::from_f32(2048.0));
        // Rounded to even.
        assert_eq!(x.fetch_add(f16::ONE).to_f32(), 2048.0);
        assert_eq!(x.device().fetch_add(f16::from_f32(2.0), Release).to_f32(), 2048.0);
        assert_eq!(x.fetch_min(f16::NAN).to_f32(), 2050.0);
        assert_eq!(x.load().to_f32(), 2050.0);

        let pair = Atomic::new(F16x2::from_f32(1.0, -1.0));
        pair.fetch_add(F16x2::from_f32(0.5, 2.0));
        pair.fetch_max(F16x2::from_f32(-9.0, 9.0));
        assert_eq!(pair.nearest().load(Acquire).to_f32(), (1.5, 9.0));

        let pair = Atomic::new(Bf16x2::ZERO);
        pair.fetch_sub(Bf16x2::from_f32(3.0, 4.0));
        pair.device().fetch_min(Bf16x2::splat(bf16::from_f32(-3.5)), Acquire);
        assert_eq!(pair.load().to_f32(), (-3.5, -4.0));
    }
}
