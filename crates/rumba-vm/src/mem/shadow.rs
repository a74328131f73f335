//! Memory that starts as zeros and takes room where it is touched: what checks keep beside a range of addresses. What it
//! means is theirs to say.

use std::io;

use crate::mem::pages::Pages;

/// A reservation of the host's address space.
#[derive(Debug)]
pub(crate) struct Shadow(Pages);

impl Shadow {
    /// Reserves room.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        let pages = Pages::usable(bytes)?;
        pages.prefer_huge(pages.range());
        Ok(Self(pages))
    }

    /// Where it starts: aligned to a page.
    pub(crate) fn base<T>(&self) -> *mut T {
        self.0.base()
    }

    /// Makes it zeros again, and gives its memory back.
    pub(crate) fn clear(&self) {
        self.0.discard(self.0.range());
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> usize {
        self.0.bytes()
    }
}
