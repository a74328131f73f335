//! Operands and a result of a function of arrays, which is called once for each index of the axes around them.

use super::strided::offset;
use super::{AXES, Axes, Value};
use crate::abi::parameter::{KernelParameter, Role};
use crate::array::strided::{Dimensions, View, ViewMut};
use crate::device::thread::grid_stride;

/// An operand: arrays of `N` dimensions, one for each call. The strides are those of the axes around them, from the third
/// on.
#[derive(Clone, Copy, Debug)]
pub struct Looped<T, const N: usize> {
    start: *const T,
    strides: [i32; AXES],
    dimensions: Dimensions<N>,
}

// SAFETY: an address, strides and dimensions of elements that no thread writes.
unsafe impl<T: Value, const N: usize> KernelParameter for Looped<T, N> {
    const ROLE: Role = Role::Input;
    type Element = T;
    type A = &'static [T; 0];
    type B = [i32; AXES];
    type C = Dimensions<N>;
    type D = ();
    type Value<'l> = Self;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, strides: Self::B, dimensions: Self::C, (): ()) -> Self {
        Self { start: start.as_ptr(), strides, dimensions }
    }
}

/// An operand of which each call has one element, by value.
#[derive(Clone, Copy, Debug)]
pub struct Single<T>(Looped<T, 0>);

// SAFETY: as for `Looped`.
unsafe impl<T: Value> KernelParameter for Single<T> {
    const ROLE: Role = Role::Input;
    type Element = T;
    type A = &'static [T; 0];
    type B = [i32; AXES];
    type C = ();
    type D = ();
    type Value<'l> = Self;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, strides: Self::B, (): (), (): ()) -> Self {
        let dimensions = Dimensions { lengths: [], strides: [] };
        // SAFETY: the caller's.
        Self(unsafe { Looped::assemble(start, strides, dimensions, ()) })
    }
}

/// The result: arrays of `N` dimensions, one for each call.
#[derive(Debug)]
pub struct LoopedResult<T, const N: usize> {
    start: *mut T,
    strides: [i32; AXES],
    dimensions: Dimensions<N>,
    axes: Axes,
}

impl<T: Value, const N: usize> LoopedResult<T, N> {
    /// Makes the thread's calls.
    #[inline(always)]
    pub fn each<I: LoopedOperands>(&mut self, operands: I, function: impl for<'l> Fn(I::Item<'l>, ViewMut<'l, T, N>)) {
        for call in grid_stride(self.axes.outer as usize) {
            let at = self.axes.outer_index(call as u32);
            let start = self.start.wrapping_offset(offset(&self.strides, &at));
            // SAFETY: the index is within the axes, which operands and result share. Each call has elements of its own, and
            // no two threads have the same call.
            unsafe { function(operands.at(&at), ViewMut::from_parts(start, self.dimensions)) };
        }
    }
}

// SAFETY: address, strides, dimensions and axes of distinct elements. A thread reaches its own elements only: `each`.
unsafe impl<T: Value, const N: usize> KernelParameter for LoopedResult<T, N> {
    const ROLE: Role = Role::PerThread { rank: 1, elements: 1 };
    type Element = T;
    type A = &'static mut [T; 0];
    type B = [i32; AXES];
    type C = Dimensions<N>;
    type D = Axes;
    type Value<'l> = Self;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, strides: Self::B, dimensions: Self::C, axes: Axes) -> Self {
        Self { start: start.as_mut_ptr(), strides, dimensions, axes }
    }
}

/// The arguments of a call of the function: for one operand, or for a tuple.
pub trait LoopedOperands: Copy {
    /// A view, a number, or a tuple of these, in a launch that lasts for `'l`.
    type Item<'l>: Copy;

    /// The arguments of the call at an index.
    ///
    /// # Safety
    /// The operands have it.
    unsafe fn at<'l>(&self, at: &[u32; AXES]) -> Self::Item<'l>;
}

impl<T: Value, const N: usize> LoopedOperands for Looped<T, N> {
    type Item<'l> = View<'l, T, N>;

    #[inline(always)]
    unsafe fn at<'l>(&self, at: &[u32; AXES]) -> Self::Item<'l> {
        let start = self.start.wrapping_offset(offset(&self.strides, at));
        // SAFETY: the caller's; what a launch was given outlives the kernel.
        unsafe { View::from_parts(start, self.dimensions) }
    }
}

impl<T: Value> LoopedOperands for Single<T> {
    type Item<'l> = T;

    #[inline(always)]
    unsafe fn at<'l>(&self, at: &[u32; AXES]) -> Self::Item<'l> {
        let Self(Looped { start, strides, .. }) = self;
        // SAFETY: the caller's.
        unsafe { start.wrapping_offset(offset(strides, at)).read() }
    }
}

macro_rules! tuples {
    ($($($name:ident)*;)*) => {$(
        #[allow(non_snake_case, reason = "one pattern for all lengths")]
        impl<$($name: LoopedOperands),*> LoopedOperands for ($($name,)*) {
            type Item<'l> = ($($name::Item<'l>,)*);

            #[inline(always)]
            unsafe fn at<'l>(&self, at: &[u32; AXES]) -> Self::Item<'l> {
                let ($($name,)*) = self;
                // SAFETY: the caller's.
                ($(unsafe { $name.at(at) },)*)
            }
        }
    )*};
}

tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}
