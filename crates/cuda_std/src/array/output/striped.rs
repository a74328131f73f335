//! Outputs of several elements per thread, for kernels that do the same with each element.
//!
//! A thread that reads one `f32`, waits for it, and writes it keeps too few bytes in flight: on an H200 a copy made of
//! such threads reaches 65 % of the memory's bandwidth, and four elements per thread reach all of it.

use super::{Disjoint, Layout, Reach, Sealed};
use crate::abi::parameter::{Element, Role, demand};
use crate::device::thread::{block_dim_x, block_idx_x, thread_idx_x};

/// The layout in which each thread of a 1-D launch has `N` elements, the same work for each.
///
/// A thread's elements are as far apart as the block has threads, so that neighbouring threads have neighbouring
/// elements: CUB's "striped arrangement". They are read together, then worked on, then written together: `N` accesses are under way at once.
///
/// `for_each(n, …)` launches a thread for each `N` of `n` elements.
///
/// ```
/// # use cuda_std::prelude::*;
/// #[kernel]
/// pub fn saxpy_in_fours(a: f32, x: &[f32], mut y: Disjoint<f32, Striped<4>>) {
///     y.each_with(x, |y, x| *y += a * x);
/// }
///
/// # fn main() {
/// let mut y = vec![1.0_f32; 1000];
/// examples::launch((1, 256), saxpy_in_fours(2.0, &vec![3.0; 1000], &mut y));
/// assert_eq!(y, [7.0; 1000]);
/// # examples::becomes("saxpy_in_fours", &["ld.global.nc", "fma.rn.f32"]);
/// # }
/// ```
#[derive(Debug)]
pub enum Striped<const N: usize> {}

impl<const N: usize> Sealed for Striped<N> {}

impl<const N: usize> Layout for Striped<N> {
    type Shape = usize;
    const ROLE: Role = Role::PerThread {
        rank: 1,
        elements: {
            demand(N > 0 && N <= 64, "a thread has 1 to 64 elements");
            N as u32
        },
    };
    const REACH: Reach = Reach::Thread([N, 1, 1]);
}

impl<T: Element + Copy, const N: usize> Disjoint<'_, T, Striped<N>> {
    /// The positions of the thread's elements. Elements of the last threads may lie beyond the end.
    ///
    /// For kernels that do more between reading and writing than [`each_with`](Self::each_with) has room for; they end
    /// with [`store`](Self::store).
    #[inline(always)]
    #[must_use]
    pub fn indices(&self) -> [usize; N] {
        let step = block_dim_x() as usize;
        let first = block_idx_x() as usize * (step * N) + thread_idx_x() as usize;
        core::array::from_fn(|k| first + k * step)
    }

    /// Writes the thread's elements, less those beyond the end.
    ///
    /// ```
    /// # use cuda_std::prelude::*;
    /// # fn kernel(x: &[u32], mut reversed: Disjoint<u32, Striped<4>>) {
    /// let last = reversed.len() - 1;
    /// let values = reversed.indices().map(|i| if i <= last { x[last - i] } else { 0 });
    /// reversed.store(values);
    /// # }
    /// ```
    ///
    /// `st.global`; PTX 1.0.
    #[inline(always)]
    pub fn store(&mut self, values: [T; N]) {
        let indices = self.indices();
        if indices[N - 1] < self.shape {
            for (index, value) in indices.into_iter().zip(values) {
                // SAFETY: the index is at most the last index, which is inside. In each run of `N` times the block's
                // threads, a thread owns the elements that leave its own index as the remainder.
                unsafe { self.start.add(index).write(value) }
            }
            return;
        }
        for (index, value) in indices.into_iter().zip(values) {
            if index < self.shape {
                // SAFETY: inside, and the thread's own.
                unsafe { self.start.add(index).write(value) }
            }
        }
    }

    /// Calls `work` with the index of each of the thread's elements and the element.
    ///
    /// ```
    /// # use cuda_std::prelude::*;
    /// # fn kernel(mut squares: Disjoint<u32, Striped<4>>) {
    /// squares.each(|i, square| *square = (i * i) as u32);
    /// # }
    /// ```
    #[inline(always)]
    pub fn each(&mut self, mut work: impl FnMut(usize, &mut T)) {
        self.each_with(Indices, |element, index| work(index, element));
    }

    /// Calls `work` with each of the thread's elements and the elements of `inputs` at the same index: of one slice, or
    /// of a tuple of up to four.
    ///
    /// ```
    /// # use cuda_std::prelude::*;
    /// # fn kernel(a: &[f32], b: &[f32], mut sum: Disjoint<f32, Striped<4>>) {
    /// sum.each_with((a, b), |sum, (a, b)| *sum = a + b);
    /// # }
    /// ```
    ///
    /// # Panics
    /// If an input is shorter than the index of an element, as indexing does.
    #[inline(always)]
    #[track_caller]
    pub fn each_with<I: Inputs>(&mut self, inputs: I, mut work: impl FnMut(&mut T, I::Item)) {
        let step = block_dim_x() as usize;
        let first = block_idx_x() as usize * (step * N) + thread_idx_x() as usize;
        let last = first + (N - 1) * step;
        if last < self.shape && inputs.has(last) {
            let index = |k: usize| first + k * step;
            // SAFETY: here and below the index is at most `last`, which is inside. In each run of `N` times the block's
            // threads, a thread owns the elements that leave its own index as the remainder.
            let elements: [T; N] = core::array::from_fn(|k| unsafe { self.start.add(index(k)).read() });
            // SAFETY: `has(last)`, so each of the inputs has them all.
            let items: [I::Item; N] = core::array::from_fn(|k| unsafe { inputs.get_unchecked(index(k)) });
            for (k, (mut element, item)) in elements.into_iter().zip(items).enumerate() {
                work(&mut element, item);
                // Written at once, so that it does not stay in a register. SAFETY: as above.
                unsafe { self.start.add(index(k)).write(element) }
            }
            return;
        }
        // The last threads, and those whose inputs are too short.
        let mut index = first;
        while index < self.shape && index <= last {
            let item = inputs.get(index);
            // SAFETY: the index is inside and the thread's own; `self` is borrowed.
            work(unsafe { &mut *self.start.add(index) }, item);
            index += step;
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// The inputs that [`Disjoint::each_with`] reads with the elements: slices, and tuples of slices.
pub trait Inputs: Copy + sealed::Sealed {
    /// The item at an index: an element, or a tuple of elements.
    type Item: Copy;

    /// Whether an index is in bounds.
    fn has(self, index: usize) -> bool;

    /// Returns the item at an index.
    ///
    /// # Panics
    /// If the index is out of bounds.
    fn get(self, index: usize) -> Self::Item;

    /// Returns the item at an index.
    ///
    /// # Safety
    /// The index is in bounds.
    unsafe fn get_unchecked(self, index: usize) -> Self::Item;
}

impl<T: Copy> sealed::Sealed for &[T] {}

impl<T: Copy> Inputs for &[T] {
    type Item = T;

    #[inline(always)]
    fn has(self, index: usize) -> bool {
        index < self.len()
    }

    #[inline(always)]
    #[track_caller]
    fn get(self, index: usize) -> T {
        self[index]
    }

    #[inline(always)]
    unsafe fn get_unchecked(self, index: usize) -> T {
        // SAFETY: the caller's.
        unsafe { *<[T]>::get_unchecked(self, index) }
    }
}

/// The indices themselves.
#[derive(Clone, Copy)]
struct Indices;

impl sealed::Sealed for Indices {}

impl Inputs for Indices {
    type Item = usize;

    #[inline(always)]
    fn has(self, _: usize) -> bool {
        true
    }

    #[inline(always)]
    fn get(self, index: usize) -> usize {
        index
    }

    #[inline(always)]
    unsafe fn get_unchecked(self, index: usize) -> usize {
        index
    }
}

/// Tuples of inputs: there is something where all of them have something.
macro_rules! tuples {
    ($($($name:ident)*;)*) => {$(
        impl<$($name: Inputs),*> sealed::Sealed for ($($name,)*) {}

        #[allow(non_snake_case, clippy::unused_unit, reason = "one pattern for all lengths, 0 included")]
        impl<$($name: Inputs),*> Inputs for ($($name,)*) {
            type Item = ($($name::Item,)*);

            #[inline(always)]
            fn has(self, _index: usize) -> bool {
                let ($($name,)*) = self;
                true $(&& $name.has(_index))*
            }

            #[inline(always)]
            #[track_caller]
            fn get(self, _index: usize) -> Self::Item {
                let ($($name,)*) = self;
                ($($name.get(_index),)*)
            }

            #[inline(always)]
            unsafe fn get_unchecked(self, _index: usize) -> Self::Item {
                let ($($name,)*) = self;
                // SAFETY: the caller's.
                ($(unsafe { $name.get_unchecked(_index) },)*)
            }
        }
    )*};
}

tuples! {
    ;
    A;
    A B;
    A B C;
    A B C D;
}
