//! Operands and a result of any strides.

use super::{AXES, CHUNK, Value};
use crate::abi::parameter::{KernelParameter, Role};
use crate::device::intrinsics;
use crate::device::thread::{
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

// SAFETY: an address and a stride for each axis of the result, or a number and an address that is not read.
unsafe impl<T: Value> KernelParameter for Strided<T> {
    const ROLE: Role = Role::Input;
    type Element = T;
    type A = &'static [T; 0];
    type B = [i32; AXES];
    type C = T;
    type D = u32;
    type Value<'l> = Self;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, strides: Self::B, number: T, is_number: u32) -> Self {
        Self { start: start.as_ptr(), strides, number, is_number: is_number != 0 }
    }
}

/// The axes of a strided result, the fastest first.
#[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
pub struct Axes {
    /// Length of each axis: at most 2³¹ - 1. Axes beyond `count` have length 1.
    pub(crate) lengths: [u32; AXES],
    /// The number of axes.
    pub(crate) count: u32,
    /// The product of the lengths of all but the first two: at most 2³¹ - 1.
    pub(crate) outer: u32,
    /// How far apart along the second axis the elements are that a thread has at a time: 1, or the height of a block.
    pub(crate) down: u32,
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
        let down = self.axes.down;
        let own = thread_idx_y() * if down == 1 { CHUNK as u32 } else { 1 };
        let tall = block_dim_y() * CHUNK as u32;
        let mut layer = block_idx_z();
        while layer < self.axes.outer {
            let outer = (self.axes.count > 2).then(|| self.axes.outer_index(layer));
            let operands = operands.lines(column, down, outer.as_ref());
            let result = Line::new(self.start, &self.strides, column, down, outer.as_ref());
            let mut row = block_idx_y().wrapping_mul(tall).wrapping_add(own);
            while row < rows {
                // SAFETY: here and below: inside the axes, which operands and result share. Each thread of the grid has
                // columns, rows and layers that no other has.
                if row.wrapping_add(down * (CHUNK as u32 - 1)) < rows {
                    // SAFETY: as above.
                    let items = unsafe { I::load(&operands, row) };
                    let mut element = result.element(row).cast_mut();
                    for item in items {
                        // SAFETY: as above.
                        unsafe { element.write(function(item)) };
                        element = element.wrapping_offset(result.step);
                    }
                } else {
                    for k in 0..CHUNK as u32 {
                        let row = row.wrapping_add(k * down);
                        if row < rows {
                            let element = result.element(row).cast_mut();
                            // SAFETY: as above.
                            unsafe { element.write(function(I::load_one(&operands, row))) };
                        }
                    }
                }
                // Below 2³²: `rows` is below 2³¹, and a grid has fewer threads. A step that the compiler does not see through
                // keeps it from a pointer for each element, which would all step along in registers.
                row = intrinsics::opaque(row.wrapping_add(grid_dim_y().wrapping_mul(tall)));
            }
            layer = layer.wrapping_add(grid_dim_z());
        }
    }
}

/// A thread's column in a layer of an array. The thread processes [`CHUNK`] rows at a time.
#[derive(Clone, Copy, Debug)]
struct Line<T> {
    /// Its first row.
    start: *const T,
    /// The distance from a row to the next.
    stride: i32,
    /// The distance from one of the thread's rows to its next. With 1 the rows are neighbours.
    step: isize,
}

impl<T> Line<T> {
    #[inline(always)]
    fn new(start: *const T, strides: &[i32; AXES], column: u32, down: u32, outer: Option<&[u32; AXES]>) -> Self {
        let outer = outer.map_or(0, |at| offset(strides, at));
        Self {
            start: start.wrapping_offset(between(strides[0], column).wrapping_add(outer)),
            stride: strides[1],
            step: between(strides[1], down),
        }
    }

    #[inline(always)]
    fn element(&self, row: u32) -> *const T {
        self.start.wrapping_offset(between(self.stride, row))
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

// SAFETY: address, strides and axes of distinct elements. A thread reaches its own elements only: see `each`.
unsafe impl<T: Value> KernelParameter for StridedResult<T> {
    const ROLE: Role = Role::PerThread { rank: 3, elements: 1 };
    type Element = T;
    type A = &'static mut [T; 0];
    type B = [i32; AXES];
    type C = Axes;
    type D = ();
    type Value<'l> = Self;

    #[inline(always)]
    unsafe fn assemble(start: Self::A, strides: Self::B, axes: Axes, (): ()) -> Self {
        Self { start: start.as_mut_ptr(), strides, axes }
    }
}

/// How far an element is from the first two axes, along the others.
#[inline(always)]
pub(super) fn offset(strides: &[i32; AXES], outer: &[u32; AXES]) -> isize {
    let mut offset = 0_isize;
    for_outer_axes!(|AXIS| offset = offset.wrapping_add(between(strides[AXIS], outer[AXIS])));
    offset
}

/// How far elements are from each other that are some steps apart along an axis.
#[inline(always)]
fn between(stride: i32, steps: u32) -> isize {
    i64::from(steps as i32).wrapping_mul(i64::from(stride)) as isize
}

/// Reads `CHUNK` consecutive elements as one integer, if they are aligned for it and an integer type has their size.
///
/// As an integer, because the compiler would merge loads of the elements with the loads for other steps.
///
/// # Safety
/// The elements can be read.
#[inline(always)]
unsafe fn read_at_once<T: Value>(start: *const T) -> Option<[T; CHUNK]> {
    /// # Safety
    /// The elements can be read, and `I` has the size of `CHUNK` elements.
    #[inline(always)]
    unsafe fn read<T: Value, I: Value>(start: *const T) -> Option<[T; CHUNK]> {
        let whole = start.cast::<I>();
        // SAFETY: the caller's; both are plain data.
        whole.is_aligned().then(|| unsafe { core::mem::transmute_copy(&whole.read()) })
    }
    // SAFETY: the caller's, and the size is that of `CHUNK` elements.
    unsafe {
        match size_of::<T>() {
            1 => read::<T, u32>(start),
            2 => read::<T, u64>(start),
            4 => read::<T, u128>(start),
            8 => read::<T, [u128; 2]>(start),
            _ => None,
        }
    }
}

/// Operands that are read along the second axis: a tuple.
pub trait StridedOperands: Copy {
    /// The arguments of the function.
    type Item: Copy;
    /// The thread's column in a layer of each.
    type Lines: Copy;

    /// The thread's column. The thread processes rows that are `down` apart.
    fn lines(&self, column: u32, down: u32, outer: Option<&[u32; AXES]>) -> Self::Lines;

    /// The thread's elements from a row on.
    ///
    /// # Safety
    /// The operands have them all.
    unsafe fn load(lines: &Self::Lines, row: u32) -> [Self::Item; CHUNK];

    /// The element in a row.
    ///
    /// # Safety
    /// The operands have it.
    unsafe fn load_one(lines: &Self::Lines, row: u32) -> Self::Item;
}

/// The thread's column in a layer of an operand.
#[derive(Clone, Copy, Debug)]
pub struct OperandLine<T> {
    line: Line<T>,
    number: T,
    is_number: bool,
}

impl<T: Value> Strided<T> {
    #[inline(always)]
    fn line(&self, column: u32, down: u32, outer: Option<&[u32; AXES]>) -> OperandLine<T> {
        OperandLine {
            line: Line::new(self.start, &self.strides, column, down, outer),
            number: self.number,
            is_number: self.is_number,
        }
    }
}

impl<T: Value> OperandLine<T> {
    #[inline(always)]
    unsafe fn load(&self, row: u32) -> [T; CHUNK] {
        if self.is_number {
            return [self.number; CHUNK];
        }
        let mut element = self.line.element(row);
        if self.line.step == 1
            // SAFETY: the caller's; the elements follow each other.
            && let Some(elements) = unsafe { read_at_once(element) }
        {
            return elements;
        }
        core::array::from_fn(|_| {
            // SAFETY: the caller's.
            let value = unsafe { element.read() };
            element = element.wrapping_offset(self.line.step);
            value
        })
    }

    #[inline(always)]
    unsafe fn load_one(&self, row: u32) -> T {
        if self.is_number {
            self.number
        } else {
            // SAFETY: the caller's.
            unsafe { self.line.element(row).read() }
        }
    }
}

macro_rules! tuples {
    ($($($name:ident $item:ident $line:ident)*;)*) => {$(
        #[allow(non_snake_case, reason = "one pattern for all lengths")]
        impl<$($name: Value),*> StridedOperands for ($(Strided<$name>,)*) {
            type Item = ($($name,)*);
            type Lines = ($(OperandLine<$name>,)*);

            #[inline(always)]
            fn lines(&self, column: u32, down: u32, outer: Option<&[u32; AXES]>) -> Self::Lines {
                let ($($name,)*) = self;
                ($($name.line(column, down, outer),)*)
            }

            #[inline(always)]
            unsafe fn load(($($line,)*): &Self::Lines, row: u32) -> [Self::Item; CHUNK] {
                // SAFETY: the caller's.
                $(let $item = unsafe { $line.load(row) };)*
                core::array::from_fn(|k| ($($item[k],)*))
            }

            #[inline(always)]
            unsafe fn load_one(($($line,)*): &Self::Lines, row: u32) -> Self::Item {
                // SAFETY: the caller's.
                ($(unsafe { $line.load_one(row) },)*)
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
