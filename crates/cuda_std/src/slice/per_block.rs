//! Outputs of one element per block.

use crate::parameter::{Element, KernelParameter, Role, start_of};
use crate::thread::{block_number, is_first_in_block};

/// An output with one element for each block of the launch, which the block's first thread writes.
///
/// ```
/// # use cuda_std::prelude::*;
/// # fn kernel(total: f32, mut sums: PerBlock<f32>) {
/// if let Some(sum) = sums.own() {
///     *sum = total;
/// }
/// # }
/// ```
///
/// Blocks are numbered along x, then y, then z. The launcher refuses a launch with more blocks than
/// there are elements.
#[derive(Debug)]
pub struct PerBlock<T> {
    start: *mut T,
    length: usize,
}

impl<T: Element> PerBlock<T> {
    /// How many elements there are: at least as many as blocks.
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

    /// The block's element in the block's first thread, `None` in the other threads.
    #[inline(always)]
    #[must_use]
    pub fn own(&mut self) -> Option<&mut T> {
        if !is_first_in_block() {
            return None;
        }
        let block = block_number() as usize;
        // SAFETY: within the slice. Only one thread of the grid is the first of this block, and it
        // has no other reference to the element, since `self` is borrowed.
        (block < self.length).then(|| unsafe { &mut *self.start.add(block) })
    }
}

// SAFETY: pointer and length; one thread of a block reaches the block's element, the others none.
unsafe impl<T: Element> KernelParameter for PerBlock<T> {
    const ROLE: Role = Role::PerBlock;
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
