//! Operands and a result of any strides.

use super::{AXES, CHUNK, Value};
use crate::parameter::{KernelParameter, Role};
use crate::thread::{
    block_dim_x, block_dim_y, block_idx_x, block_idx_y, block_idx_z, grid_dim_y, grid_dim_z, thread_idx_x, thread_idx_y,
};

/// An operand of any strides, or a number.
#[derive(Clone, Copy, Debug)]
pub struct Strided<T> {
    start: *const T,
    strides: [i32; AXES],
    number: T,
    is_number: bool,
}

// SAFETY: an address and a stride for each axis of the result, or a number and an address that nobody reads.
unsafe impl<T: Value> KernelParameter for Strided<T> {
    const ROLE: Role = Role::Input;
    type A = &'static [T; 0];
    type B = [i32; AXES];
    type C = T;
    type D = u32;
    type Value = Self;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, strides: Self::B, number: T, is_number: u32) -> Self {
        Self {
            start: start.as_ptr(),
            strides,
            number,
            is_number: is_number != 0,
        }
    }
}

/// The axes of a strided result, the fastest first.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Axes {
    /// How long each is: at most 2³¹ - 1. Those that are not there have length 1.
    pub(crate) lengths: [u32; AXES],
    /// How many there are.
    pub(crate) count: u32,
    /// The product of the lengths of all but the first two: at most 2³¹ - 1.
    pub(crate) outer: u32,
}

/// A result of any strides.
#[derive(Debug)]
pub struct StridedResult<T> {
    start: *mut T,
    strides: [i32; AXES],
    axes: Axes,
}

impl<T: Value> StridedResult<T> {
    /// Computes the thread's elements.
    #[inline(always)]
    pub fn each<I: StridedOperands>(&mut self, operands: I, function: impl Fn(I::Item) -> T) {
        let (columns, rows) = (self.axes.lengths[0], self.axes.lengths[1]);
        let column = block_idx_x().wrapping_mul(block_dim_x()).wrapping_add(thread_idx_x());
        if column >= columns {
            return;
        }
        let down = block_dim_y();
        let first = block_idx_y()
            .wrapping_mul(down * CHUNK as u32)
            .wrapping_add(thread_idx_y());
        let mut layer = block_idx_z();
        while layer < self.axes.outer {
            let at = self.axes.outer_index(layer);
            let mut row = first;
            while row < rows {
                // SAFETY: here and below: inside the axes, which operands and result share. Each thread of the grid has
                // columns, rows and layers that no other has.
                let line = operands.line(column, row, down, &at);
                let place = offset(&self.strides, column, row, &at);
                let step = between(self.strides[1], down);
                let mut result = self.start.wrapping_offset(place);
                if row.wrapping_add(down * (CHUNK as u32 - 1)) < rows {
                    // SAFETY: as above.
                    let items = unsafe { I::load(&line) };
                    for item in items {
                        // SAFETY: as above.
                        unsafe { result.write(function(item)) };
                        result = result.wrapping_offset(step);
                    }
                } else {
                    for k in 0..CHUNK as u32 {
                        if row.wrapping_add(k * down) < rows {
                            // SAFETY: as above.
                            unsafe { result.write(function(I::load_one(&line, k))) };
                        }
                        result = result.wrapping_offset(step);
                    }
                }
                // Below 2³²: `rows` is below 2³¹, and a grid has fewer threads.
                row = row.wrapping_add(grid_dim_y().wrapping_mul(down * CHUNK as u32));
            }
            layer = layer.wrapping_add(grid_dim_z());
        }
    }
}

/// Repeats a statement for each axis from the third on, so that no array is indexed by a variable: that would put it into
/// local memory.
macro_rules! for_outer_axes {
    (|$axis:ident| $body:expr) => {
        for_outer_axes!(|$axis| $body; 2 3 4 5 6 7)
    };
    (|$axis:ident| $body:expr; $($number:literal)*) => {
        $({
            const $axis: usize = $number;
            $body
        })*
    };
}

impl Axes {
    /// The index along the axes from the third on, of a number that counts through them.
    #[inline(always)]
    pub(super) fn outer_index(&self, number: u32) -> [u32; AXES] {
        let (mut at, mut rest) = ([0; AXES], number);
        for_outer_axes!(|AXIS| if (AXIS as u32) < self.count {
            let length = self.lengths[AXIS];
            // SAFETY: an axis of no elements is not launched.
            unsafe { core::hint::assert_unchecked(length != 0) };
            at[AXIS] = rest % length;
            rest /= length;
        });
        let _ = rest;
        at
    }
}

// SAFETY: address, strides and axes of elements that are there once. What a thread reaches is its own: see `each`.
unsafe impl<T: Value> KernelParameter for StridedResult<T> {
    const ROLE: Role = Role::PerThread { rank: 3, elements: 1 };
    type A = &'static mut [T; 0];
    type B = [i32; AXES];
    type C = Axes;
    type D = ();
    type Value = Self;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, strides: Self::B, axes: Axes, (): ()) -> Self {
        Self {
            start: start.as_mut_ptr(),
            strides,
            axes,
        }
    }
}

/// How far an element is from the start.
#[inline(always)]
pub(super) fn offset(strides: &[i32; AXES], column: u32, row: u32, outer: &[u32; AXES]) -> isize {
    let mut offset = between(strides[0], column).wrapping_add(between(strides[1], row));
    for_outer_axes!(|AXIS| offset = offset.wrapping_add(between(strides[AXIS], outer[AXIS])));
    offset
}

/// How far elements are from each other that are some steps apart along an axis.
#[inline(always)]
fn between(stride: i32, steps: u32) -> isize {
    i64::from(steps as i32).wrapping_mul(i64::from(stride)) as isize
}

/// Operands that are read along the second axis: a tuple.
pub trait StridedOperands: Copy {
    /// What the function is called with.
    type Item: Copy;
    /// Where a thread's elements are.
    type Line: Copy;

    /// The thread's elements that begin at an index and go on along the second axis, `down` rows apart.
    fn line(&self, column: u32, row: u32, down: u32, outer: &[u32; AXES]) -> Self::Line;

    /// The thread's elements.
    ///
    /// # Safety
    /// The operands have them all.
    unsafe fn load(line: &Self::Line) -> [Self::Item; CHUNK];

    /// The thread's `k`-th element.
    ///
    /// # Safety
    /// The operands have it.
    unsafe fn load_one(line: &Self::Line, k: u32) -> Self::Item;
}

/// A thread's elements of an operand: evenly apart.
#[derive(Clone, Copy, Debug)]
pub struct Line<T> {
    start: *const T,
    step: isize,
    number: T,
    is_number: bool,
}

impl<T: Value> Strided<T> {
    #[inline(always)]
    fn line(&self, column: u32, row: u32, down: u32, outer: &[u32; AXES]) -> Line<T> {
        Line {
            start: self.start.wrapping_offset(offset(&self.strides, column, row, outer)),
            step: between(self.strides[1], down),
            number: self.number,
            is_number: self.is_number,
        }
    }
}

impl<T: Value> Line<T> {
    #[inline(always)]
    unsafe fn load(&self) -> [T; CHUNK] {
        if self.is_number {
            [self.number; CHUNK]
        } else {
            // SAFETY: the caller's.
            core::array::from_fn(|k| unsafe { self.start.wrapping_offset(k as isize * self.step).read() })
        }
    }

    #[inline(always)]
    unsafe fn load_one(&self, k: u32) -> T {
        if self.is_number {
            self.number
        } else {
            // SAFETY: the caller's.
            unsafe { self.start.wrapping_offset(k as isize * self.step).read() }
        }
    }
}

macro_rules! tuples {
    ($($($name:ident $item:ident $line:ident)*;)*) => {$(
        #[allow(non_snake_case, reason = "one pattern for all lengths")]
        impl<$($name: Value),*> StridedOperands for ($(Strided<$name>,)*) {
            type Item = ($($name,)*);
            type Line = ($(Line<$name>,)*);

            #[inline(always)]
            fn line(&self, column: u32, row: u32, down: u32, outer: &[u32; AXES]) -> Self::Line {
                let ($($name,)*) = self;
                ($($name.line(column, row, down, outer),)*)
            }

            #[inline(always)]
            unsafe fn load(($($line,)*): &Self::Line) -> [Self::Item; CHUNK] {
                // SAFETY: the caller's.
                $(let $item = unsafe { $line.load() };)*
                core::array::from_fn(|k| ($($item[k],)*))
            }

            #[inline(always)]
            unsafe fn load_one(($($line,)*): &Self::Line, k: u32) -> Self::Item {
                // SAFETY: the caller's.
                ($(unsafe { $line.load_one(k) },)*)
            }
        }
    )*};
}

tuples! {
    A a la;
    A a la B b lb;
    A a la B b lb C c lc;
    A a la B b lb C c lc D d ld;
    A a la B b lb C c lc D d ld E e le;
    A a la B b lb C c lc D d ld E e le F f lf;
    A a la B b lb C c lc D d ld E e le F f lf G g lg;
    A a la B b lb C c lc D d ld E e le F f lf G g lg H h lh;
}
