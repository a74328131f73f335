//! Operands and a result whose elements lie one after the other.

use super::{CHUNK, Value};
use crate::abi::parameter::{KernelParameter, Role};
use crate::device::thread::{block_dim_x, block_idx_x, thread_idx_x};

/// An operand that is a number, or elements one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Flat<T> {
    start: *const T,
    number: T,
    is_number: bool,
}

// SAFETY: an address of as many elements as the result has, or a number and an address that is not read.
unsafe impl<T: Value> KernelParameter for Flat<T> {
    const ROLE: Role = Role::Input;
    type Element = T;
    type A = &'static [T; 0];
    type B = T;
    type C = u32;
    type D = ();
    type Value<'l> = Self;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, number: T, is_number: u32, (): ()) -> Self {
        Self { start: start.as_ptr(), number, is_number: is_number != 0 }
    }
}

/// A result whose elements lie one after the other.
#[derive(Debug)]
pub struct FlatResult<T> {
    start: *mut T,
    length: usize,
}

impl<T: Value> FlatResult<T> {
    /// Computes the thread's elements.
    #[inline(always)]
    pub fn each<I: FlatOperands>(&mut self, operands: I, function: impl Fn(I::Item) -> T) {
        let step = block_dim_x() as usize;
        let first = block_idx_x() as usize * (step * CHUNK) + thread_idx_x() as usize;
        if first + (CHUNK - 1) * step < self.length {
            // SAFETY: here and below: inside the result and the operands, which have its length. In each run of `CHUNK`
            // times the block's threads, a thread owns the elements that leave its own index as the remainder.
            let items = unsafe { operands.load(first, step) };
            let mut index = first;
            for item in items {
                // SAFETY: as above.
                unsafe { self.start.add(index).write(function(item)) };
                index += step;
            }
            return;
        }
        let mut index = first;
        while index < self.length {
            // SAFETY: as above.
            unsafe { self.start.add(index).write(function(operands.load_one(index))) };
            index += step;
        }
    }
}

// SAFETY: address and length. A thread reaches only elements of its block whose index leaves its own as the remainder,
// which are no other thread's in a launch of rank 1.
unsafe impl<T: Value> KernelParameter for FlatResult<T> {
    const ROLE: Role = Role::PerThread { rank: 1, elements: CHUNK as u32 };
    type Element = T;
    type A = &'static mut [T; 0];
    type B = usize;
    type C = ();
    type D = ();
    type Value<'l> = Self;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, length: usize, (): (), (): ()) -> Self {
        Self { start: start.as_mut_ptr(), length }
    }
}

/// Operands that are read at an index: one, or a tuple.
pub trait FlatOperands: Copy {
    /// The arguments of the function.
    type Item: Copy;

    /// Loads the items at `first` and at every `step`-th index after `first`.
    ///
    /// # Safety
    /// The operands have these elements.
    unsafe fn load(&self, first: usize, step: usize) -> [Self::Item; CHUNK];

    /// Loads the item at an index.
    ///
    /// # Safety
    /// The operands have the element.
    unsafe fn load_one(&self, index: usize) -> Self::Item;
}

impl<T: Value> Flat<T> {
    #[inline(always)]
    unsafe fn load(&self, first: usize, step: usize) -> [T; CHUNK] {
        if self.is_number {
            [self.number; CHUNK]
        } else {
            // SAFETY: the caller's.
            core::array::from_fn(|k| unsafe { self.start.add(first + k * step).read() })
        }
    }

    #[inline(always)]
    unsafe fn load_one(&self, index: usize) -> T {
        if self.is_number {
            self.number
        } else {
            // SAFETY: the caller's.
            unsafe { self.start.add(index).read() }
        }
    }
}

macro_rules! tuples {
    ($($($name:ident $item:ident)*;)*) => {$(
        #[allow(non_snake_case, reason = "one pattern for all lengths")]
        impl<$($name: Value),*> FlatOperands for ($(Flat<$name>,)*) {
            type Item = ($($name,)*);

            #[inline(always)]
            unsafe fn load(&self, first: usize, step: usize) -> [Self::Item; CHUNK] {
                let ($($name,)*) = self;
                // SAFETY: the caller's.
                $(let $item = unsafe { $name.load(first, step) };)*
                core::array::from_fn(|k| ($($item[k],)*))
            }

            #[inline(always)]
            unsafe fn load_one(&self, index: usize) -> Self::Item {
                let ($($name,)*) = self;
                // SAFETY: the caller's.
                ($(unsafe { $name.load_one(index) },)*)
            }
        }
    )*};
}

tuples! {
    A a;
    A a B b;
    A a B b C c;
    A a B b C c D d;
    A a B b C c D d E e;
    A a B b C c D d E e F f;
    A a B b C c D d E e F f G g;
    A a B b C c D d E e F f G g H h;
}
