//! Numbers that many threads change at once.
//!
//! A kernel takes `&[Atomic<u32>]` where threads meet in the same element, as in a histogram; the
//! host passes ordinary memory of `u32`. In shared memory a `Tile<Atomic<u32>, N>` serves.
//!
//! The operations of [`Atomic`] itself are relaxed and of the device's scope, as CUDA's `atomicAdd` and its
//! kin are: each is indivisible, and orders nothing else. Where a thread must see what another wrote before,
//! choose a scope and an ordering ([`Atomic::nearest`], [`Atomic::device`], [`Atomic::system`]), or put a
//! [fence](crate::sync::device_fence) or a barrier between.
//!
//! ```
//! use cuda_std::prelude::*;
//!
//! /// Counts how often each byte occurs: first in each block's own bins, then in all.
//! #[kernel]
//! pub fn count_bytes(text: &[u8], counts: &[Atomic<u32>], mut bins: Shared<Table<Atomic<u32>, 256>>) {
//!     bins.part().each(|_, bin| *bin.get_mut() = 0);
//!     let bins = bins.sync();
//!     for i in grid_stride(text.len()) {
//!         bins[text[i] as usize].fetch_add(1);
//!     }
//!     let mut bins = bins.sync();
//!     bins.part().each(|byte, bin| {
//!         counts[byte].fetch_add(*bin.get_mut());
//!     });
//! }
//!
//! # fn main() {
//! let mut counts = vec![0; 256];
//! examples::launch((3, 64), count_bytes(b"abracadabra", &mut counts));
//! assert_eq!([b'a', b'b', b'r', b'z'].map(|byte| counts[byte as usize]), [5, 2, 2, 0]);
//! # examples::becomes("count_bytes", &["atom.shared.add.u32", "atom.global.add.u32"]);
//! # }
//! ```
//!
//! Results that are not used cost nothing: the assembler then makes the operation a reduction.

#[macro_use]
mod scoped;
mod floats;

pub use scoped::Scoped;

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering::Relaxed;
#[cfg(not(target_arch = "nvptx64"))]
use core::sync::atomic::{AtomicI32, AtomicI64, AtomicU16, AtomicU32, AtomicU64};

use bytemuck::Pod;

use crate::abi::parameter::{Element, Role};
pub use crate::device::scope::{Block, Device, Nearest, Scope, System};

/// A number that threads change indivisibly: `u32`, `i32`, `u64`, `i64`, `f32`, `f64`, [`f16`](struct@crate::half::f16),
/// [`bf16`](crate::half::bf16), [`F16x2`](crate::half::F16x2), [`Bf16x2`](crate::half::Bf16x2), and `u16` with fewer
/// operations.
///
/// ```
/// use core::sync::atomic::Ordering::Relaxed;
/// use cuda_std::half::{Bf16x2, F16x2, f16};
/// use cuda_std::prelude::*;
///
/// /// Sums of pairs, two at a time, of their lower halves, and of all in `bf16`; and the largest and the smallest number.
/// #[kernel]
/// pub fn sums_of_halves(
///     x: &[F16x2],
///     pairs: &[Atomic<F16x2>],
///     lower: &[Atomic<f16>],
///     rough: &[Atomic<Bf16x2>],
///     bounds: &[Atomic<f32>],
///     least: &[Atomic<f16>],
/// ) {
///     for i in grid_stride(x.len()) {
///         let (low, high) = x[i].to_f32();
///         pairs[0].fetch_add(x[i]);
///         lower[0].system().fetch_add(x[i].low, Relaxed);
///         rough[0].fetch_add(Bf16x2::from_f32(low, high));
///         bounds[0].fetch_max(low.max(high));
///         bounds[1].system().fetch_min(low.min(high), Relaxed);
///         least[0].fetch_min(x[i].high);
///     }
/// }
///
/// # fn main() {
/// let x: Vec<F16x2> = (0..100).map(|i| F16x2::from_f32((i % 3) as f32, -((i % 5) as f32))).collect();
/// let (mut pairs, mut lower, mut rough) = ([F16x2::ZERO], [f16::ZERO], [Bf16x2::ZERO]);
/// let (mut bounds, mut least) = ([0.0_f32; 2], [f16::ZERO]);
/// examples::launch((2, 32), sums_of_halves(&x, &mut pairs, &mut lower, &mut rough, &mut bounds, &mut least));
/// assert_eq!(pairs[0].to_f32(), (99.0, -200.0));
/// assert_eq!(lower[0].to_f32(), 99.0);
/// assert_eq!(rough[0].to_f32(), (99.0, -200.0));
/// assert_eq!((bounds, least[0].to_f32()), ([2.0, -4.0], -4.0));
/// # let pairs = ["atom.relaxed.gpu.global.add.noftz.f16x2", "atom.relaxed.sys.global.add.noftz.f16"];
/// # examples::becomes("sums_of_halves", &pairs);
/// # examples::becomes("sums_of_halves", &["atom.relaxed.gpu.global.cas.b32", "atom.relaxed.sys.global.cas.b32"]);
/// # examples::becomes("sums_of_halves", &["atom.relaxed.gpu.cas.b16"]);
/// # }
/// ```
#[derive(Debug)]
#[repr(transparent)]
pub struct Atomic<T>(UnsafeCell<T>);

// SAFETY: shared access is by atomic operations only.
unsafe impl<T: Send> Sync for Atomic<T> {}

// SAFETY: the layout is the number's; the role says that it changes.
unsafe impl<T: Pod> Element for Atomic<T> {
    const ROLE: Role = Role::Atomic;
}

impl<T> Atomic<T> {
    /// A new number.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// A mutable reference to the number, which no other thread accesses.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self) -> &mut T {
        self.0.get_mut()
    }
}

/// An operation as both sides have it: on the device of the device's scope, on the host the core library's.
macro_rules! relaxed {
    ($cell:expr, $self:ident.$method:ident($($argument:expr)?)) => {{
        #[cfg(target_arch = "nvptx64")]
        {
            $self.device().$method($($argument,)? Relaxed)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            $cell.$method($($argument,)? Relaxed)
        }
    }};
}

/// The operations on integers, by the core library's atomic of the same size.
macro_rules! integers {
    ($($ty:ident by $atomic:ident, $bits:literal;)*) => {$(
        impl Atomic<$ty> {
            #[cfg(not(target_arch = "nvptx64"))]
            fn cell(&self) -> &$atomic {
                // SAFETY: aligned (device memory is, and so are its elements), valid as long as
                // `self`, and never accessed otherwise while shared.
                unsafe { $atomic::from_ptr(self.0.get()) }
            }

            /// Reads the number.
            ///
            #[doc = concat!("`ld.relaxed.gpu.b", $bits, "`; PTX 6.0, sm_70.")]
            #[inline(always)]
            #[must_use]
            pub fn load(&self) -> $ty {
                relaxed!(self.cell(), self.load())
            }

            /// Writes the number.
            ///
            #[doc = concat!("`st.relaxed.gpu.b", $bits, "`; PTX 6.0, sm_70.")]
            #[inline(always)]
            pub fn store(&self, value: $ty) {
                relaxed!(self.cell(), self.store(value))
            }

            /// Adds, wrapping around, and returns what was there.
            ///
            #[doc = concat!("`atom.add.u", $bits, "`; PTX 1.1, sm_20.")]
            #[inline(always)]
            pub fn fetch_add(&self, value: $ty) -> $ty {
                relaxed!(self.cell(), self.fetch_add(value))
            }

            /// Subtracts, wrapping around, and returns what was there.
            ///
            #[doc = concat!("`atom.add.u", $bits, "` of the negative; PTX 1.1, sm_20.")]
            #[inline(always)]
            pub fn fetch_sub(&self, value: $ty) -> $ty {
                self.fetch_add(value.wrapping_neg())
            }

            /// Keeps the smaller, and returns what was there.
            ///
            #[doc = concat!("`atom.min`, ", $bits, " bits; PTX 1.1, sm_32.")]
            #[inline(always)]
            pub fn fetch_min(&self, value: $ty) -> $ty {
                relaxed!(self.cell(), self.fetch_min(value))
            }

            /// Keeps the larger, and returns what was there.
            ///
            #[doc = concat!("`atom.max`, ", $bits, " bits; PTX 1.1, sm_32.")]
            #[inline(always)]
            pub fn fetch_max(&self, value: $ty) -> $ty {
                relaxed!(self.cell(), self.fetch_max(value))
            }

            /// Replaces the number by the bitwise AND with the operand, and returns the previous number.
            ///
            #[doc = concat!("`atom.and.b", $bits, "`; PTX 1.1, sm_32.")]
            #[inline(always)]
            pub fn fetch_and(&self, value: $ty) -> $ty {
                relaxed!(self.cell(), self.fetch_and(value))
            }

            /// Replaces the number by the bitwise OR with the operand, and returns the previous number.
            ///
            #[doc = concat!("`atom.or.b", $bits, "`; PTX 1.1, sm_32.")]
            #[inline(always)]
            pub fn fetch_or(&self, value: $ty) -> $ty {
                relaxed!(self.cell(), self.fetch_or(value))
            }

            /// Flips bits, and returns what was there.
            ///
            #[doc = concat!("`atom.xor.b", $bits, "`; PTX 1.1, sm_32.")]
            #[inline(always)]
            pub fn fetch_xor(&self, value: $ty) -> $ty {
                relaxed!(self.cell(), self.fetch_xor(value))
            }

            /// Replaces the number, and returns what was there: CUDA's `atomicExch`.
            ///
            #[doc = concat!("`atom.exch.b", $bits, "`; PTX 1.1, sm_20.")]
            #[inline(always)]
            pub fn swap(&self, value: $ty) -> $ty {
                relaxed!(self.cell(), self.swap(value))
            }

            /// Replaces the number if it is `current`, and returns what was there, in `Ok` if it was
            /// replaced: CUDA's `atomicCAS`.
            ///
            /// # Errors
            ///
            /// The number that was there instead.
            ///
            #[doc = concat!("`atom.relaxed.gpu.cas.b", $bits, "`; PTX 6.0, sm_70.")]
            #[inline(always)]
            pub fn compare_exchange(&self, current: $ty, new: $ty) -> Result<$ty, $ty> {
                #[cfg(target_arch = "nvptx64")]
                {
                    self.device().compare_exchange(current, new, Relaxed)
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    self.cell().compare_exchange(current, new, Relaxed, Relaxed)
                }
            }
        }
    )*};
}

integers! {
    u32 by AtomicU32, 32;
    i32 by AtomicI32, 32;
    u64 by AtomicU64, 64;
    i64 by AtomicI64, 64;
}

impl Atomic<u32> {
    /// Counts up to `limit` and then starts at 0 again, and returns the previous number: CUDA's `atomicInc`. A number
    /// above the limit becomes 0 too.
    ///
    /// `atom.inc.u32`; PTX 1.1, sm_20.
    #[inline(always)]
    pub fn fetch_inc(&self, limit: u32) -> u32 {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the address is this number's.
        unsafe {
            builtin::increment(self.0.get(), limit)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        self.update(|old| if old >= limit { 0 } else { old + 1 })
    }

    /// Counts down to 0 and then starts at `limit` again, and returns the previous number: CUDA's `atomicDec`. A number
    /// above the limit becomes `limit` too.
    ///
    /// `atom.dec.u32`; PTX 1.1, sm_20.
    #[inline(always)]
    pub fn fetch_dec(&self, limit: u32) -> u32 {
        #[cfg(target_arch = "nvptx64")]
        // SAFETY: the address is this number's.
        unsafe {
            builtin::decrement(self.0.get(), limit)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        self.update(|old| if old == 0 || old > limit { limit } else { old - 1 })
    }

    #[cfg(not(target_arch = "nvptx64"))]
    fn update(&self, next: impl Fn(u32) -> u32) -> u32 {
        let cell = self.cell();
        let mut old = cell.load(Relaxed);
        while let Err(now) = cell.compare_exchange_weak(old, next(old), Relaxed, Relaxed) {
            old = now;
        }
        old
    }
}

impl Atomic<u16> {
    #[cfg(not(target_arch = "nvptx64"))]
    fn cell(&self) -> &AtomicU16 {
        // SAFETY: as for the other integers.
        unsafe { AtomicU16::from_ptr(self.0.get()) }
    }

    /// Reads the number.
    ///
    /// `ld.relaxed.gpu.b16`; PTX 6.0, sm_70.
    #[inline(always)]
    #[must_use]
    pub fn load(&self) -> u16 {
        relaxed!(self.cell(), self.load())
    }

    /// Writes the number.
    ///
    /// `st.relaxed.gpu.b16`; PTX 6.0, sm_70.
    #[inline(always)]
    pub fn store(&self, value: u16) {
        relaxed!(self.cell(), self.store(value));
    }

    /// Replaces the number if it is `current`, and returns what was there, in `Ok` if it was replaced: CUDA's `atomicCAS`
    /// of `unsigned short`.
    ///
    /// # Errors
    ///
    /// The number that was there instead.
    ///
    /// `atom.relaxed.gpu.cas.b16`; PTX 6.3, sm_70.
    #[inline(always)]
    pub fn compare_exchange(&self, current: u16, new: u16) -> Result<u16, u16> {
        #[cfg(target_arch = "nvptx64")]
        {
            self.device().compare_exchange(current, new, Relaxed)
        }
        #[cfg(not(target_arch = "nvptx64"))]
        {
            self.cell().compare_exchange(current, new, Relaxed, Relaxed)
        }
    }
}

/// Atomic operations that Rust has no name for. The link stage of `cuda_builder` defines them, as
/// LLVM's `atomicrmw` of device scope, so that they find out by themselves which memory they are on.
#[cfg(target_arch = "nvptx64")]
mod builtin {
    unsafe extern "C" {
        #[link_name = "__rumba_atomic_inc_u32_relaxed_device"]
        pub(super) fn increment(address: *mut u32, limit: u32) -> u32;
        #[link_name = "__rumba_atomic_dec_u32_relaxed_device"]
        pub(super) fn decrement(address: *mut u32, limit: u32) -> u32;
    }
}

#[cfg(test)]
mod tests {
    use super::Atomic;

    #[test]
    fn counting_wraps_as_ptx_says() {
        let n = Atomic::new(1);
        assert_eq!((n.fetch_inc(2), n.load()), (1, 2));
        assert_eq!((n.fetch_inc(2), n.load()), (2, 0));
        assert_eq!((n.fetch_dec(2), n.load()), (0, 2));
        n.store(7);
        assert_eq!((n.fetch_dec(2), n.load()), (7, 2));
    }
}
