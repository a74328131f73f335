//! Memory accesses with a hint to the caches, volatile ones, and wide ones.
//!
//! Ordinary loads of a kernel's inputs already go through the read-only cache (`ld.global.nc`), so none of these is needed
//! for that. The hints are for data that is used once, or that should not displace other data in the cache. A hint
//! never changes the values that are read or written.
//!
//! ```
//! use cuda_std::memory::{F32x4, in_vectors, load_streaming, store_streaming};
//! use cuda_std::prelude::*;
//!
//! /// y = 2 x, four numbers at a time, past the first cache.
//! #[kernel]
//! pub fn double_streaming(x: &[f32], mut y: DisjointSlice<F32x4>) {
//!     let (x, _) = in_vectors::<F32x4>(x);
//!     let i = grid::<1>();
//!     if let (Some(y), Some(x)) = (y.get_mut(i), x.get(i.get())) {
//!         store_streaming(y, F32x4(load_streaming(x).0.map(|x| 2.0 * x)));
//!     }
//! }
//!
//! # fn main() {
//! let mut y = [F32x4([0.0; 4]); 8];
//! examples::launch((1, 32), double_streaming(&[1.5; 32], &mut y));
//! assert_eq!(y, [F32x4([3.0; 4]); 8]);
//! # examples::becomes("double_streaming", &["ld.global.cs.v4.b32", "st.global.cs.v4.b32"]);
//! # examples::avoids("double_streaming", &["isspacep", "ld.v4", "st.v4"]);
//! # }
//! ```

use bytemuck::{Pod, Zeroable};

#[cfg(target_arch = "nvptx64")]
use crate::device::intrinsics;

/// Vectors: numbers that are loaded and stored together.
macro_rules! vectors {
    ($($(#[$doc:meta])* $vector:ident = [$ty:ty; $n:literal], $align:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
        #[repr(C, align($align))]
        pub struct $vector(pub [$ty; $n]);

        impl sealed::Vector for $vector {}
        impl Vector for $vector {
            type Number = $ty;
        }
    )*};
}

/// Numbers that are loaded and stored together: aligned to their whole size. The types of this module, and no others.
pub trait Vector: sealed::Vector + Pod {
    /// The type of a number.
    type Number: Pod;
}

mod sealed {
    /// An array of numbers, without padding.
    pub trait Vector {}
}

vectors! {
    /// Two `f32`. `ld.global.v2.b32`; PTX 1.0.
    F32x2 = [f32; 2], 8;
    /// Four `f32`. `ld.global.v4.b32`; PTX 1.0.
    F32x4 = [f32; 4], 16;
    /// Two `f64`. `ld.global.v2.b64`; PTX 1.0.
    F64x2 = [f64; 2], 16;
    /// Two `u32`. `ld.global.v2.b32`; PTX 1.0.
    U32x2 = [u32; 2], 8;
    /// Four `u32`. `ld.global.v4.b32`; PTX 1.0.
    U32x4 = [u32; 4], 16;
    /// Two `i32`. `ld.global.v2.b32`; PTX 1.0.
    I32x2 = [i32; 2], 8;
    /// Four `i32`. `ld.global.v4.b32`; PTX 1.0.
    I32x4 = [i32; 4], 16;
    /// Two `u64`. `ld.global.v2.b64`; PTX 1.0.
    U64x2 = [u64; 2], 16;
    /// Sixteen bytes. `ld.global.v4.b32`; PTX 1.0.
    U8x16 = [u8; 16], 16;
}

/// The numbers of a slice as vectors, and what is left at the end. A slice that is not aligned to vectors is all left; device
/// memory is, from its start.
#[inline(always)]
#[must_use]
pub fn in_vectors<V: Vector>(numbers: &[V::Number]) -> (&[V], &[V::Number]) {
    let each = size_of::<V>() / size_of::<V::Number>();
    let vectors = numbers.len() / each;
    if !numbers.as_ptr().addr().is_multiple_of(align_of::<V>()) {
        return (&[], numbers);
    }
    let (whole, rest) = numbers.split_at(vectors * each);
    // SAFETY: aligned, as long as the numbers are, and plain data.
    (unsafe { core::slice::from_raw_parts(whole.as_ptr().cast(), vectors) }, rest)
}

/// Accesses by the operation for their size.
#[cfg(target_arch = "nvptx64")]
macro_rules! access {
    ($address:expr, $other:expr, $four:ident, $eight:ident, $sixteen:ident) => {
        // SAFETY: the address is of a live value in global memory, of this size and aligned to it; the other is a place for
        // as many bytes.
        unsafe {
            match size_of::<T>() {
                4 => intrinsics::$four($address, $other),
                8 => intrinsics::$eight($address, $other),
                _ => intrinsics::$sixteen($address, $other),
            }
        }
    };
}

/// Loads and stores with a hint.
macro_rules! hinted {
    ($($(#[$load_doc:meta])* $load:ident($l4:ident, $l8:ident, $l16:ident);
       $(#[$store_doc:meta])* $store:ident($s4:ident, $s8:ident, $s16:ident);)*) => {$(
        $(#[$load_doc])*
        #[inline(always)]
        #[must_use]
        pub fn $load<T: Pod>(from: &T) -> T {
            const { assert!(fits::<T>(), "values of 4, 8 or 16 bytes, aligned to as many") };
            #[cfg(target_arch = "nvptx64")]
            {
                let address = core::ptr::from_ref(from).cast::<u8>();
                if intrinsics::is_global(address) {
                    let mut value = T::zeroed();
                    access!(address, (&raw mut value).cast::<u8>(), $l4, $l8, $l16);
                    return value;
                }
            }
            *from
        }

        $(#[$store_doc])*
        #[inline(always)]
        pub fn $store<T: Pod>(to: &mut T, value: T) {
            const { assert!(fits::<T>(), "values of 4, 8 or 16 bytes, aligned to as many") };
            #[cfg(target_arch = "nvptx64")]
            {
                let address = core::ptr::from_mut(to).cast::<u8>();
                if intrinsics::is_global(address) {
                    access!(address, (&raw const value).cast::<u8>(), $s4, $s8, $s16);
                    return;
                }
            }
            *to = value;
        }
    )*};
}

const fn fits<T>() -> bool {
    matches!(size_of::<T>(), 4 | 8 | 16) && align_of::<T>() == size_of::<T>()
}

hinted! {
    /// Loads data that is used once: CUDA's `__ldcs`.
    ///
    /// `ld.global.cs`; PTX 2.0, sm_20. Outside global memory, an ordinary load.
    load_streaming(ld_cs_4, ld_cs_8, ld_cs_16);
    /// Stores data that is not used again soon: CUDA's `__stcs`.
    ///
    /// `st.global.cs`; PTX 2.0, sm_20. Outside global memory, an ordinary store.
    store_streaming(st_cs_4, st_cs_8, st_cs_16);
    /// Loads past the multiprocessor's own cache: CUDA's `__ldcg`.
    ///
    /// `ld.global.cg`; PTX 2.0, sm_20. Outside global memory, an ordinary load.
    load_cached_global(ld_cg_4, ld_cg_8, ld_cg_16);
    /// Stores past the multiprocessor's own cache: CUDA's `__stcg`.
    ///
    /// `st.global.cg`; PTX 2.0, sm_20. Outside global memory, an ordinary store.
    store_cached_global(st_cg_4, st_cg_8, st_cg_16);
}

/// Reads memory at each call, even if the same memory was read before. For memory that other threads change, use
/// [`Atomic`](crate::atomic::Atomic)s instead.
///
/// `ld.volatile`; PTX 1.0.
#[inline(always)]
#[must_use]
pub fn load_volatile<T: Pod>(from: &T) -> T {
    // SAFETY: a reference is valid to read.
    unsafe { core::ptr::from_ref(from).read_volatile() }
}

/// Writes memory at each call, even if the same memory is written again later. `st.volatile`; PTX 1.0.
#[inline(always)]
pub fn store_volatile<T: Pod>(to: &mut T, value: T) {
    // SAFETY: a mutable reference is valid to write.
    unsafe { core::ptr::from_mut(to).write_volatile(value) }
}

#[cfg(test)]
mod tests {
    use super::{F32x4, in_vectors};

    #[test]
    fn vectors_are_whole_and_aligned() {
        let numbers = [F32x4([1.0, 2.0, 3.0, 4.0]); 3];
        let numbers: &[f32] = bytemuck::cast_slice(&numbers);
        let (vectors, rest) = in_vectors::<F32x4>(&numbers[..11]);
        assert_eq!((vectors.len(), rest), (2, &[1.0, 2.0, 3.0][..]));
        let (vectors, rest) = in_vectors::<F32x4>(&numbers[1..]);
        assert_eq!((vectors.len(), rest.len()), (0, 11));
    }
}
