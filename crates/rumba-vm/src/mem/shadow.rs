//! Shadow memory: state of the checks for a range of addresses. It is initially zero, and only touched pages use
//! memory. The checks define the meaning of its contents.

use std::io;

use crate::mem::pages::Pages;

/// A reservation of the host's address space.
#[derive(Debug)]
pub(crate) struct Shadow(Pages);

/// The bytes at the start that stay on small pages: a small launch touches a few of them, and the system zeroes a large page whole.
const SMALL: u64 = 2 << 20;

impl Shadow {
    /// Reserves addresses.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        let pages = Pages::usable(bytes)?;
        let range = pages.range();
        pages.prefer_huge((range.start + SMALL).min(range.end)..range.end);
        Ok(Self(pages))
    }

    /// The start address, aligned to a page.
    pub(crate) fn base<T>(&self) -> *mut T {
        self.0.base()
    }

    /// Zeros the contents, and returns the memory to the system.
    pub(crate) fn clear(&self) {
        self.0.discard(self.0.range());
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes()
    }
}
