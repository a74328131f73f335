//! Outputs of several elements per thread, for kernels that do the same with each element.
//!
//! A thread that reads one `f32`, waits for it, and writes it keeps too few bytes in flight: on an H200 a copy made of
//! such threads reaches 65 % of the memory's bandwidth, and four elements per thread reach all of it.

use crate::parameter::{Element, KernelParameter, Role, start_of};
use crate::thread::{block_dim_x, block_idx_x, thread_idx_x};

/// An output with `N` elements for each thread of a 1-D launch, the same work for each element.
///
/// A thread's elements are as far apart as the block has threads, so that neighbouring threads have neighbouring
/// elements. They are read together, then worked on, then written together: `N` accesses are under way at once.
///
/// `for_each(n, …)` launches a thread for each `N` of `n` elements.
///
/// ```
/// # use cuda_std::prelude::*;
/// #[kernel]
/// pub fn saxpy_in_fours(a: f32, x: &[f32], mut y: DisjointChunks<f32>) {
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
pub struct DisjointChunks<T, const N: usize = 4> {
    start: *mut T,
    length: usize,
}

impl<T: Element + Copy, const N: usize> DisjointChunks<T, N> {
    /// How many elements there are, of all threads together.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there is no element.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Where the thread's elements are. Those of the last threads may lie beyond the end.
    ///
    /// For kernels that do more between reading and writing than [`each_with`](Self::each_with) has room for; they end
    /// with [`write`](Self::write).
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
    /// # fn kernel(x: &[u32], mut reversed: DisjointChunks<u32>) {
    /// let last = reversed.len() - 1;
    /// let values = reversed.indices().map(|i| if i <= last { x[last - i] } else { 0 });
    /// reversed.write(values);
    /// # }
    /// ```
    ///
    /// `st.global`; PTX 1.0.
    #[inline(always)]
    pub fn write(&mut self, values: [T; N]) {
        let indices = self.indices();
        if indices[N - 1] < self.length {
            for (index, value) in indices.into_iter().zip(values) {
                // SAFETY: at most the last index, which is inside. Of the elements of a block, `N` times its number of
                // threads in a row, a thread has those that leave its own index as the remainder.
                unsafe { self.start.add(index).write(value) }
            }
            return;
        }
        for (index, value) in indices.into_iter().zip(values) {
            if index < self.length {
                // SAFETY: inside, and the thread's own.
                unsafe { self.start.add(index).write(value) }
            }
        }
    }

    /// Calls `work` with each of the thread's elements.
    ///
    /// ```
    /// # use cuda_std::prelude::*;
    /// # fn kernel(mut a: DisjointChunks<f64>) {
    /// a.each(|a| *a += 1.0);
    /// # }
    /// ```
    #[inline(always)]
    pub fn each(&mut self, mut work: impl FnMut(&mut T)) {
        self.each_with((), |element, ()| work(element));
    }

    /// Calls `work` with each of the thread's elements and its index.
    ///
    /// ```
    /// # use cuda_std::prelude::*;
    /// # fn kernel(mut squares: DisjointChunks<u32>) {
    /// squares.each_indexed(|i, square| *square = (i * i) as u32);
    /// # }
    /// ```
    #[inline(always)]
    pub fn each_indexed(&mut self, mut work: impl FnMut(usize, &mut T)) {
        self.each_with(Indices, |element, index| work(index, element));
    }

    /// Calls `work` with each of the thread's elements and the elements of `inputs` at the same index: of one slice, or
    /// of a tuple of up to four.
    ///
    /// ```
    /// # use cuda_std::prelude::*;
    /// # fn kernel(a: &[f32], b: &[f32], mut sum: DisjointChunks<f32>) {
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
        if last < self.length && inputs.has(last) {
            let index = |k: usize| first + k * step;
            // SAFETY: here and below the index is at most `last`, which is inside. Of the elements of a block, `N`
            // times its number of threads in a row, a thread has those that leave its own index as the remainder.
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
        while index < self.length && index <= last {
            let item = inputs.get(index);
            // SAFETY: the index is inside and the thread's own; `self` is borrowed.
            work(unsafe { &mut *self.start.add(index) }, item);
            index += step;
        }
    }
}

// SAFETY: pointer and length of the whole slice. A thread reaches only elements of its block whose index leaves its own
// as the remainder, which are no other thread's in a launch of rank 1.
unsafe impl<T: Element, const N: usize> KernelParameter for DisjointChunks<T, N> {
    const ROLE: Role = Role::PerThread {
        rank: 1,
        elements: {
            assert!(N > 0 && N <= 64, "a thread has 1 to 64 elements");
            N as u32
        },
    };
    type Element = T;
    type A = &'static mut [T; 0];
    type B = usize;
    type C = ();
    type D = ();
    type Value<'l> = Self;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, length: usize, (): (), (): ()) -> Self {
        Self {
            start: start_of(start),
            length,
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// What [`DisjointChunks::each_with`] reads along with the elements: slices, and tuples of slices.
pub trait Inputs: Copy + sealed::Sealed {
    /// What there is at an index: an element, or a tuple of elements.
    type Item: Copy;

    /// Whether there is something at an index.
    fn has(self, index: usize) -> bool;

    /// What there is at an index.
    ///
    /// # Panics
    /// If there is nothing.
    fn get(self, index: usize) -> Self::Item;

    /// What there is at an index.
    ///
    /// # Safety
    /// There is something.
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
