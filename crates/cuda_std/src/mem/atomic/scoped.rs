//! Atomic operations with an ordering and a scope, as C++'s `cuda::atomic_ref` has them.

use core::marker::PhantomData;
use core::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};

use super::Atomic;
#[cfg(target_arch = "nvptx64")]
use crate::device::scope::sealed;
use crate::device::scope::{Block, Device, Nearest, Scope, System};
use crate::device::sync::fence;

/// Calls the builder's function for an operation, for each ordering and scope. Ordering and scope
/// are constants after inlining, so that one call remains.
#[cfg(target_arch = "nvptx64")]
macro_rules! provided {
    ($scope:expr, $order:expr, [$($ordering:ident = $word:literal),*], $operation:literal, $ty:literal, $call:tt) => {
        match ($order, $scope) {
            $(
                ($ordering, sealed::Which::Block) => provided!(@ $operation, $ty, $word, "block", $call),
                ($ordering, sealed::Which::Device) => provided!(@ $operation, $ty, $word, "device", $call),
                ($ordering, sealed::Which::System) => provided!(@ $operation, $ty, $word, "system", $call),
            )*
            _ => panic!("this operation has no such ordering"),
        }
    };
    (@ $operation:literal, $ty:literal, $word:literal, $scope:literal,
     [($($argument:expr => $argument_ty:ty),*) $(-> $result:ty)?]) => {{
        unsafe extern "C" {
            #[link_name = concat!("__rumba_atomic_", $operation, "_", $ty, "_", $word, "_", $scope)]
            fn operation($(_: $argument_ty),*) $(-> $result)?;
        }
        // SAFETY: the address is of a live number, which is shared by atomic operations only.
        unsafe { operation($($argument),*) }
    }};
}

/// A number with the scope that its orderings hold in: what [`Atomic::nearest`], [`Atomic::device`], [`Atomic::system`] and
/// [`Atomic::block`] give.
///
/// ```
/// use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
/// use cuda_std::prelude::*;
///
/// /// The sums of all blocks' elements up to each block, which blocks hand on from one to the next.
/// #[kernel]
/// pub fn sums_handed_on(x: &[u32], sums: &[Atomic<u32>], flags: &[Atomic<u32>]) {
///     let block = thread::block_idx_x() as usize;
///     if thread::is_first_in_block() {
///         let mut sum = x[block];
///         if block > 0 {
///             while flags[block - 1].device().load(Acquire) == 0 {}
///             sum += sums[block - 1].device().load(Relaxed);
///         }
///         sums[block].device().store(sum, Relaxed);
///         flags[block].device().store(1, Release);
///     }
/// }
///
/// # fn main() {
/// let (mut sums, mut flags) = (vec![0; 40], vec![0; 40]);
/// examples::launch((40, 32), sums_handed_on(&[2; 40], &mut sums, &mut flags));
/// assert!(sums.into_iter().eq((1..=40).map(|n| 2 * n)));
/// # let opcodes = ["ld.acquire.gpu.global.b32", "ld.relaxed.gpu.global.b32", "st.relaxed.gpu", "st.release.gpu"];
/// # examples::becomes("sums_handed_on", &opcodes);
/// # }
/// ```
#[derive(Debug)]
pub struct Scoped<'a, T, S> {
    pub(super) cell: &'a Atomic<T>,
    scope: PhantomData<S>,
}

impl<T, S> Clone for Scoped<'_, T, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S> Copy for Scoped<'_, T, S> {}

impl<T> Atomic<T> {
    /// The number, for operations that order among all threads that can reach it: those of the block if it is in shared
    /// memory, and those of the device elsewhere.
    #[inline(always)]
    #[must_use]
    pub fn nearest(&self) -> Scoped<'_, T, Nearest> {
        self.scoped()
    }

    /// The number, for operations that order within the block, wherever the number is. In shared memory
    /// [`nearest`](Self::nearest) is the same.
    ///
    /// # Safety
    ///
    /// No thread of another block uses the number in the launch. Operations of threads that are not in each other's scope are
    /// not even indivisible to each other: they are a data race (PTX ISA, "Memory Consistency Model", "Morally Strong
    /// Operations"). `rumba::check` finds it.
    #[inline(always)]
    #[must_use]
    pub unsafe fn block(&self) -> Scoped<'_, T, Block> {
        self.scoped()
    }

    /// The number, for operations that order within the device.
    #[inline(always)]
    #[must_use]
    pub fn device(&self) -> Scoped<'_, T, Device> {
        self.scoped()
    }

    /// The number, for operations that order between devices and the host.
    #[inline(always)]
    #[must_use]
    pub fn system(&self) -> Scoped<'_, T, System> {
        self.scoped()
    }

    #[inline(always)]
    pub(super) fn scoped<S>(&self) -> Scoped<'_, T, S> {
        Scoped { cell: self, scope: PhantomData }
    }
}

/// An ordering of everything comes down to a fence before an operation that acquires and releases:
/// PTX ISA, "Memory Consistency Model", and its mapping of C++'s orderings.
#[inline(always)]
pub(super) fn weaker<S: Scope>(order: Ordering, weaker: Ordering) -> Ordering {
    match order {
        SeqCst => {
            fence::<S>(SeqCst);
            weaker
        }
        order => order,
    }
}

/// Operations that read, change and write, of one type.
macro_rules! changes {
    ($ty:ident, $name:literal: $($(#[$doc:meta])* $method:ident = $operation:literal;)*) => {
        impl<S: Scope> Scoped<'_, $ty, S> {
            $(
                $(#[$doc])*
                #[inline(always)]
                pub fn $method(self, value: $ty, order: Ordering) -> $ty {
                    let order = weaker::<S>(order, AcqRel);
                    #[cfg(target_arch = "nvptx64")]
                    {
                        provided!(S::at(self.cell.0.get().cast()), order, [Relaxed = "relaxed", Acquire = "acquire", Release = "release", AcqRel = "acqrel"],
                            $operation, $name, [(self.cell.0.get() => *mut $ty, value => $ty) -> $ty])
                    }
                    #[cfg(not(target_arch = "nvptx64"))]
                    {
                        // On the host, accesses are ordered more strongly.
                        let _ = order;
                        self.cell.$method(value)
                    }
                }
            )*
        }
    };
}

/// Reading and writing.
macro_rules! words {
    ($($ty:ident, $name:literal, $bits:literal;)*) => {$(
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
                let order = weaker::<S>(order, Acquire);
                #[cfg(target_arch = "nvptx64")]
                {
                    provided!(S::at(self.cell.0.get().cast()), order, [Relaxed = "relaxed", Acquire = "acquire"], "load", $name,
                        [(self.cell.0.get() => *mut $ty) -> $ty])
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    assert!(matches!(order, Relaxed | Acquire), "a load has no such ordering");
                    self.cell.load()
                }
            }

            /// Writes the number. `order` is `Relaxed`, `Release` or `SeqCst`.
            ///
            #[doc = concat!("`st.relaxed.SCOPE.b", $bits, "`, `st.release`; PTX 6.0, sm_70.")]
            ///
            /// # Panics
            /// For other orderings.
            #[inline(always)]
            pub fn store(self, value: $ty, order: Ordering) {
                let order = weaker::<S>(order, Release);
                #[cfg(target_arch = "nvptx64")]
                {
                    provided!(S::at(self.cell.0.get().cast()), order, [Relaxed = "relaxed", Release = "release"], "store", $name,
                        [(self.cell.0.get() => *mut $ty, value => $ty)])
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    assert!(matches!(order, Relaxed | Release), "a store has no such ordering");
                    self.cell.store(value);
                }
            }
        }

    )*};
}

words! {
    u16, "u16", 16;
    u32, "u32", 32;
    i32, "i32", 32;
    u64, "u64", 64;
    i64, "i64", 64;
    f32, "f32", 32;
    f64, "f64", 64;
}

/// Operations on all types of 32 and 64 bits.
macro_rules! common {
    ($($ty:ident, $name:literal;)*) => {$(
        changes! {
            $ty, $name:
            /// Adds (integers wrap around), and returns what was there.
            ///
            /// `atom.ORDER.SCOPE.add`; PTX 6.0, sm_70.
            fetch_add = "add";
            /// Replaces the number, and returns what was there.
            ///
            /// `atom.ORDER.SCOPE.exch`; PTX 6.0, sm_70.
            swap = "swap";
        }
    )*};
}

common! {
    u32, "u32";
    i32, "i32";
    u64, "u64";
    i64, "i64";
    f32, "f32";
    f64, "f64";
}

/// Operations on integers.
macro_rules! integers {
    ($($ty:ident, $name:literal;)*) => {$(
        changes! {
            $ty, $name:
            /// Keeps the smaller, and returns what was there.
            ///
            /// `atom.ORDER.SCOPE.min`; PTX 6.0, sm_70.
            fetch_min = "min";
            /// Keeps the larger, and returns what was there.
            ///
            /// `atom.ORDER.SCOPE.max`; PTX 6.0, sm_70.
            fetch_max = "max";
            /// Replaces the number by the bitwise AND with the operand, and returns the previous number.
            ///
            /// `atom.ORDER.SCOPE.and`; PTX 6.0, sm_70.
            fetch_and = "and";
            /// Replaces the number by the bitwise OR with the operand, and returns the previous number.
            ///
            /// `atom.ORDER.SCOPE.or`; PTX 6.0, sm_70.
            fetch_or = "or";
            /// Flips bits, and returns what was there.
            ///
            /// `atom.ORDER.SCOPE.xor`; PTX 6.0, sm_70.
            fetch_xor = "xor";
        }
    )*};
}

integers! {
    u32, "u32";
    i32, "i32";
    u64, "u64";
    i64, "i64";
}

/// Compare and exchange.
macro_rules! exchanges {
    ($($ty:ident, $name:literal, $bits:literal, $floor:literal;)*) => {$(
        impl<S: Scope> Scoped<'_, $ty, S> {
            /// Replaces the number if it is `current`, and returns what was there, in `Ok` if it was replaced. A
            /// failed exchange orders as a load: if `order` acquires, so does it.
            ///
            /// # Errors
            /// The number that was there instead.
            ///
            #[doc = concat!("`atom.ORDER.SCOPE.cas.b", $bits, "`; ", $floor, ".")]
            #[inline(always)]
            pub fn compare_exchange(self, current: $ty, new: $ty, order: Ordering) -> Result<$ty, $ty> {
                let order = weaker::<S>(order, AcqRel);
                #[cfg(target_arch = "nvptx64")]
                {
                    let old = provided!(S::at(self.cell.0.get().cast()), order,
                        [Relaxed = "relaxed", Acquire = "acquire", Release = "release", AcqRel = "acqrel"],
                        "cas", $name, [(self.cell.0.get() => *mut $ty, current => $ty, new => $ty) -> $ty]);
                    if old == current { Ok(old) } else { Err(old) }
                }
                #[cfg(not(target_arch = "nvptx64"))]
                {
                    let _ = order;
                    self.cell.compare_exchange(current, new)
                }
            }
        }
    )*};
}

exchanges! {
    u16, "u16", 16, "PTX 6.3, sm_70";
    u32, "u32", 32, "PTX 6.0, sm_70";
    i32, "i32", 32, "PTX 6.0, sm_70";
    u64, "u64", 64, "PTX 6.0, sm_70";
    i64, "i64", 64, "PTX 6.0, sm_70";
}
