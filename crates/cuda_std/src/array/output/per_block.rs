//! Outputs of one element per block.

use super::{Disjoint, Layout, Reach, Sealed};
use crate::abi::parameter::{Element, Role};
use crate::device::thread::{block_number, is_first_in_block};

/// The layout in which each block of the launch has one element, which the block's first thread writes.
///
/// ```
/// # use cuda_std::prelude::*;
/// # fn kernel(total: f32, mut sums: Disjoint<f32, PerBlock>) {
/// sums.store(total);
/// # }
/// ```
///
/// Blocks are numbered along x, then y, then z. The launcher refuses a launch with more blocks than
/// there are elements.
#[derive(Debug)]
pub enum PerBlock {}

impl Sealed for PerBlock {}

impl Layout for PerBlock {
    type Shape = usize;
    const ROLE: Role = Role::PerBlock;
    const REACH: Reach = Reach::Block;
}

impl<T: Element> Disjoint<'_, T, PerBlock> {
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
        (block < self.shape).then(|| unsafe { &mut *self.start.add(block) })
    }

    /// Writes the block's element, in the block's first thread; the others do nothing.
    ///
    /// `st.global`; PTX 1.0.
    #[inline(always)]
    pub fn store(&mut self, value: T) {
        if let Some(own) = self.own() {
            *own = value;
        }
    }
}
