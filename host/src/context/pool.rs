//! Device memory kept between launches, so that passing host slices again and again does not
//! allocate again and again.
//!
//! Blocks are reused only for exactly the size they were made for. A tight fit would save memory but
//! hide accesses beyond the end of a slice from a device that checks them.

use crate::context::raw;

/// Free blocks, the most recently used last.
#[derive(Default)]
pub(crate) struct Pool {
    blocks: Vec<(usize, u64)>,
    held: usize,
}

impl Pool {
    /// Bytes that are kept at most; beyond, the longest unused go first.
    const LIMIT: usize = 512 << 20;
    /// Blocks that are kept at most.
    const BLOCKS: usize = 32;

    /// A block of exactly this size, if there is one.
    pub(crate) fn take(&mut self, bytes: usize) -> Option<u64> {
        let index = self.blocks.iter().rposition(|block| block.0 == bytes)?;
        self.held -= bytes;
        Some(self.blocks.remove(index).1)
    }

    /// Takes a block that no work uses any more. The context must be current.
    ///
    /// # Safety
    /// The block has `bytes` bytes, is from `cuMemAlloc` or [`Pool::take`] in the context of this pool, and is the
    /// pool's from now on.
    pub(crate) unsafe fn give(&mut self, bytes: usize, address: u64) {
        self.blocks.push((bytes, address));
        self.held += bytes;
        while self.held > Pool::LIMIT || self.blocks.len() > Pool::BLOCKS {
            let (bytes, address) = self.blocks.remove(0);
            self.held -= bytes;
            // SAFETY: `give` was promised an allocation, and the list has forgotten it. An error here is a fault that every
            // later call reports.
            let _ = unsafe { raw::free(address) };
        }
    }

    /// Gives all memory back to the driver. The context must be current.
    pub(crate) fn release(&mut self) {
        for (_, address) in self.blocks.drain(..) {
            // SAFETY: as in `give`.
            let _ = unsafe { raw::free(address) };
        }
        self.held = 0;
    }

    /// Forgets the memory: the driver has released it already.
    pub(crate) fn forget(&mut self) {
        *self = Pool::default();
    }
}
