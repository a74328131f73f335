//! Ranges of the host's address space: reserved at once, backed by memory where they are used.
//!
//! Miri has neither `mprotect` nor `madvise`. Under Miri a range is an ordinary allocation, smaller and entirely
//! usable.

use std::io;
use std::ops::Range;

/// A range of the host's address space, initially zero.
#[derive(Debug)]
pub(crate) struct Pages {
    base: *mut libc::c_void,
    bytes: usize,
}

// SAFETY: the value only owns memory; code that shares the memory justifies its own accesses.
unsafe impl Send for Pages {}
// SAFETY: as above.
unsafe impl Sync for Pages {}

#[cfg(not(miri))]
impl Pages {
    /// Reserves addresses without memory; [`Self::make_usable`] adds memory.
    pub(crate) fn reserve(bytes: usize) -> io::Result<Self> {
        Self::map(bytes, libc::PROT_NONE)
    }

    /// Reserves addresses that are usable memory.
    pub(crate) fn usable(bytes: usize) -> io::Result<Self> {
        Self::map(bytes, libc::PROT_READ | libc::PROT_WRITE)
    }

    fn map(bytes: usize, protection: i32) -> io::Result<Self> {
        let bytes = Self::round(bytes)?;
        // SAFETY: an anonymous mapping at an address of the system's choice replaces nothing.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                protection,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { base, bytes })
    }

    /// Makes the whole pages of a range readable and writable; the contents of pages that already are stay unchanged.
    pub(crate) fn make_usable(&self, range: Range<u64>) -> io::Result<()> {
        let Some((start, bytes)) = self.whole_pages(&range) else {
            return Ok(());
        };
        // SAFETY: pages of our own reservation become readable and writable.
        if unsafe { libc::mprotect(start, bytes, libc::PROT_READ | libc::PROT_WRITE) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Asks for large pages. Failure only costs speed.
    pub(crate) fn prefer_huge(&self, range: Range<u64>) {
        self.advise(&range, libc::MADV_HUGEPAGE);
    }

    /// Asks for the memory behind usable pages at once. Failure only costs speed.
    pub(crate) fn populate(&self, range: Range<u64>) {
        self.advise(&range, libc::MADV_POPULATE_WRITE);
    }

    /// Gives the memory behind the whole pages of a range back to the system; they read as zeros afterwards.
    pub(crate) fn discard(&self, range: Range<u64>) {
        self.advise(&range, libc::MADV_DONTNEED);
    }

    fn advise(&self, range: &Range<u64>, advice: i32) {
        if let Some((start, bytes)) = self.whole_pages(range) {
            // SAFETY: whole pages of our own mapping.
            unsafe { libc::madvise(start, bytes, advice) };
        }
    }
}

#[cfg(miri)]
impl Pages {
    /// Allocates zeros.
    pub(crate) fn reserve(bytes: usize) -> io::Result<Self> {
        let bytes = Self::round(bytes)?;
        // SAFETY: the layout is not empty.
        let base = unsafe { std::alloc::alloc_zeroed(Self::layout(bytes)) };
        // Addresses inside of it are passed around as numbers.
        base.expose_provenance();
        Ok(Self { base: base.cast(), bytes })
    }

    fn layout(bytes: usize) -> std::alloc::Layout {
        std::alloc::Layout::from_size_align(bytes, Self::PAGE as usize).expect("a size that was allocated")
    }

    /// As above.
    pub(crate) fn usable(bytes: usize) -> io::Result<Self> {
        Self::reserve(bytes)
    }

    /// It is.
    pub(crate) fn make_usable(&self, _: Range<u64>) -> io::Result<()> {
        Ok(())
    }

    /// Nothing to do.
    pub(crate) fn prefer_huge(&self, _: Range<u64>) {}

    /// Nothing to do.
    pub(crate) fn populate(&self, _: Range<u64>) {}

    /// Makes whole pages zeros.
    pub(crate) fn discard(&self, range: Range<u64>) {
        if let Some((start, bytes)) = self.whole_pages(&range) {
            // SAFETY: the pages are inside of our allocation.
            unsafe { start.cast::<u8>().write_bytes(0, bytes) };
        }
    }
}

impl Pages {
    /// The size of the system's pages.
    const PAGE: u64 = 4096;

    /// At least one page, and whole ones.
    fn round(bytes: usize) -> io::Result<usize> {
        let rounded = bytes.max(1).checked_next_multiple_of(Self::PAGE as usize);
        rounded.ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// The start address, aligned to a page.
    pub(crate) fn base<T>(&self) -> *mut T {
        self.base.cast()
    }

    /// The size in bytes: the requested size, rounded up to whole pages.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The whole range.
    pub(crate) fn range(&self) -> Range<u64> {
        let start = self.base as u64;
        start..start + self.bytes as u64
    }

    /// The whole pages of a range, if the range contains any and they belong to `self`.
    fn whole_pages(&self, range: &Range<u64>) -> Option<(*mut libc::c_void, usize)> {
        let (start, end) = (range.start.next_multiple_of(Self::PAGE), range.end & !(Self::PAGE - 1));
        let own = self.range();
        let inside = start < end && own.start <= start && end <= own.end;
        inside.then(|| (start as *mut libc::c_void, (end - start) as usize))
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        #[cfg(not(miri))]
        // SAFETY: the mapping is ours, and nothing that points into it outlives this.
        unsafe {
            libc::munmap(self.base, self.bytes);
        }
        #[cfg(miri)]
        // SAFETY: allocated by `reserve` with this layout, and nothing that points into it outlives this.
        unsafe {
            std::alloc::dealloc(self.base.cast(), Self::layout(self.bytes));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Pages;

    #[test]
    fn a_size_is_rounded_up_to_whole_pages() {
        for (asked, given) in [(0, 1), (1, 1), (Pages::PAGE as usize, 1), (Pages::PAGE as usize + 1, 2)] {
            let pages = Pages::usable(asked).expect("there is memory");
            assert_eq!(pages.bytes() as u64, given * Pages::PAGE);
        }
        assert!(Pages::reserve(usize::MAX).is_err());
    }

    #[test]
    fn discarded_pages_are_zeros_and_their_neighbours_stay() {
        const BYTES: u64 = 4 * Pages::PAGE;
        let pages = Pages::reserve(BYTES as usize).expect("there is address space");
        let start = pages.range().start;
        pages.make_usable(start..start + BYTES).expect("there is memory");
        // SAFETY: the pages are usable now, and not known elsewhere.
        unsafe { pages.base::<u8>().write_bytes(7, BYTES as usize) };
        // Whole pages only, and none of another allocation.
        pages.discard(start + 1..start + 3 * Pages::PAGE + 1);
        pages.discard(start + 3 * Pages::PAGE..start + 2 * BYTES);
        // SAFETY: as above.
        let at = |offset: u64| unsafe { ((start + offset) as *const u8).read() };
        let seen = [0, Pages::PAGE - 1, Pages::PAGE, 3 * Pages::PAGE - 1, 3 * Pages::PAGE, BYTES - 1].map(at);
        assert_eq!(seen, [7, 7, 0, 0, 7, 7]);
    }
}
