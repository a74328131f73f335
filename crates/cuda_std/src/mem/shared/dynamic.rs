//! Shared memory whose size the launch decides: slices with a length that the host passes, and the raw memory.

use core::marker::PhantomData;

use super::{Layout, Shared, Storage};
use crate::abi::parameter::{Element, KernelParameter, Role, demand};
use crate::device::intrinsics;
use crate::device::thread::{index_in_block, threads_in_block};

/// A slice of shared memory. The host passes its length in the parameter's place, as `Elements(256)`; a kernel may have
/// several, and each has its own part of the launch's dynamic shared memory, which grows to what they need together.
///
/// It is used as any other [`Shared`] memory, with the ownership of a [`Table`](super::Table).
///
/// ```
/// use cuda_std::prelude::*;
///
/// /// Sorts each block's keys by counting the smaller ones, and takes the values along.
/// #[kernel]
/// pub fn rank_sort(
///     keys: &[u32],
///     mut sorted: DisjointSlice<u32>,
///     mut places: DisjointSlice<u8>,
///     mut key: SharedSlice<u32>,
///     mut place: SharedSlice<u8>,
/// ) {
///     let i = grid::<1>();
///     if let Some(key) = key.own() {
///         *key = keys[i];
///     }
///     let key = key.sync();
///     let mine = thread::thread_idx_x() as usize;
///     let before = |&(i, other): &(usize, &u32)| (*other, i) < (key[mine], mine);
///     let rank = key.iter().enumerate().filter(before).count();
///     if let Some(place) = place.own() {
///         *place = rank as u8;
///     }
///     let place = place.sync();
///     if let Some(own) = places.own() {
///         *own = place[mine];
///     }
///     if let (Some(own), Some(from)) = (sorted.own(), place.iter().position(|&rank| rank as usize == mine)) {
///         *own = key[from];
///     }
/// }
///
/// # fn main() {
/// let (mut sorted, mut places) = ([0_u32; 5], [0_u8; 5]);
/// examples::launch((1, 5), rank_sort(&[30, 10, 50, 20, 40], &mut sorted, &mut places, Elements(5), Elements(5)));
/// assert_eq!(sorted, [10, 20, 30, 40, 50]);
/// assert_eq!(places, [2, 0, 4, 1, 3]);
/// # examples::becomes("rank_sort", &["st.shared.b32", "st.shared.b8"]);
/// # }
/// ```
pub type SharedSlice<'l, T> = Shared<'l, Slice<T>>;

/// The layout of a [`SharedSlice`].
#[derive(Debug)]
pub struct Slice<T>(PhantomData<T>);

// SAFETY: the elements whose index leaves the thread's number when divided by the number of threads.
unsafe impl<T: Element> Layout for Slice<T> {
    type Memory = [T];
    const BLOCK: [u32; 3] = [1024, 1024, 64];
    type Own<'a> = Option<&'a mut T>;
    type Part<'a> = super::Part<'a, Self>;
    type View<'a> = &'a [T];

    #[inline(always)]
    unsafe fn own<'a>(memory: *mut [T]) -> Option<&'a mut T> {
        let index = index_in_block() as usize;
        // SAFETY: below the length; the caller's for the rest.
        (index < memory.len()).then(|| unsafe { &mut *memory.cast::<T>().add(index) })
    }

    #[inline(always)]
    unsafe fn part<'a>(memory: *mut [T]) -> super::Part<'a, Self> {
        // SAFETY: the caller's.
        unsafe { super::Part::new(memory) }
    }

    #[inline(always)]
    unsafe fn view<'a>(memory: *mut [T]) -> &'a [T] {
        // SAFETY: no thread writes in this phase; elements are valid for any bits.
        unsafe { &*memory }
    }
}

impl<T: Element> super::Part<'_, Slice<T>> {
    /// Calls `work` with the index of each of the thread's elements and the element.
    #[inline(always)]
    pub fn each(&mut self, mut work: impl FnMut(usize, &mut T)) {
        let (memory, length) = (self.memory.cast::<T>(), self.memory.len());
        let mut index = index_in_block() as usize;
        while index < length {
            // SAFETY: below the length, and the thread's own by the remainder.
            work(index, unsafe { &mut *memory.add(index) });
            index += threads_in_block() as usize;
        }
    }

    /// The thread's element number `k`, which lies `k` whole blocks behind its first.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, k: usize) -> Option<&mut T> {
        let length = self.memory.len();
        let index = k.wrapping_mul(threads_in_block() as usize) + index_in_block() as usize;
        // SAFETY: below the length, and the thread's own by the remainder: a length has 32 bits, so the product does not wrap.
        (k < length && index < length).then(|| unsafe { &mut *self.memory.cast::<T>().add(index) })
    }
}

// SAFETY: where the slice starts in the dynamic shared memory, and its length. The launcher lays the slices of a call
// out one after the other and asks for as much memory as they take; all threads get the same numbers.
unsafe impl<T: Element> KernelParameter for Shared<'_, Slice<T>> {
    const BARRIERS: u32 = 1;
    const ROLE: Role = {
        demand(size_of::<T>() > 0, "elements of shared memory have a size");
        demand(
            align_of::<T>() <= 16,
            "dynamic shared memory is aligned to 16 bytes: an element cannot ask for more by `repr(align(..))`",
        );
        Role::Shared
    };
    type Element = T;
    type A = u32;
    type B = u32;
    type C = ();
    type D = ();
    type Value<'l> = Shared<'l, Slice<T>>;

    #[inline(always)]
    unsafe fn assemble(offset: u32, length: u32, (): (), (): ()) -> Self::Value<'static> {
        let _ = Self::ROLE;
        // SAFETY: inside the memory that the launch asked for.
        let start = unsafe { dynamic_shared_mem::<u8>().add(offset as usize) };
        Shared {
            memory: core::ptr::slice_from_raw_parts_mut(start.cast(), length as usize),
            barrier: 0,
            launch: PhantomData,
        }
    }

    #[inline(always)]
    unsafe fn with_barrier<const BARRIER: u32>(value: Self::Value<'static>) -> Self::Value<'static> {
        const {
            assert!(0 < BARRIER && BARRIER < 16, "a barrier of the block, less that of `sync_threads`");
        };
        Shared { barrier: BARRIER, ..value }
    }
}

/// The shared memory that the launch asked for, as a raw pointer: aligned to 16 bytes, not
/// initialised, and the same for each call.
///
/// Following the pointer is `unsafe`: it must stay inside [`dynamic_shared_bytes`], and no thread
/// may write an element that another reads or writes before both have passed a
/// [`sync_threads`](crate::sync::sync_threads).
///
/// `.extern .shared`; PTX 1.0.
#[inline(always)]
#[must_use]
pub fn dynamic_shared_mem<T>() -> *mut T {
    const { assert!(align_of::<T>() <= 16, "dynamic shared memory is aligned to 16 bytes") };
    #[repr(C, align(16))]
    struct Aligned([u8; 16]);
    #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = ".shared.dynamic"))]
    static DYNAMIC: Storage<Aligned> = Storage::uninit();
    DYNAMIC.as_mut_ptr().cast()
}

/// The same memory, aligned to 1024 bytes for the layouts of swizzled tiles.
#[inline(always)]
pub(crate) fn dynamic_shared_tensors() -> *const u8 {
    #[repr(C, align(1024))]
    struct Aligned([u8; 1024]);
    #[cfg_attr(target_arch = "nvptx64", unsafe(link_section = ".shared.dynamic"))]
    static DYNAMIC: Storage<Aligned> = Storage::uninit();
    DYNAMIC.as_mut_ptr().cast::<u8>().cast_const()
}

/// How many bytes of dynamic shared memory the launch asked for. `%dynamic_smem_size`; PTX 4.1,
/// sm_20.
#[inline(always)]
#[must_use]
pub fn dynamic_shared_bytes() -> usize {
    intrinsics::dynamic_shared_bytes() as usize
}

/// The dynamic shared memory as a raw slice of as many `T` as fit. See [`dynamic_shared_mem`].
#[inline(always)]
#[must_use]
pub fn dynamic_shared_slice<T>() -> *mut [T] {
    const { assert!(size_of::<T>() > 0, "elements have a size") };
    core::ptr::slice_from_raw_parts_mut(dynamic_shared_mem(), dynamic_shared_bytes() / size_of::<T>())
}
