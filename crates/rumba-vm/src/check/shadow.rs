//! Memory that starts as zeros and takes room where it is touched: what checks keep beside a range of addresses. What it
//! means is theirs to say.

use std::io;

/// A reservation of the host's address space.
#[derive(Debug)]
pub(crate) struct Shadow {
    base: *mut libc::c_void,
    bytes: usize,
}

// SAFETY: it is memory and nothing else; whoever shares it says how it is accessed.
unsafe impl Send for Shadow {}
// SAFETY: as above.
unsafe impl Sync for Shadow {}

impl Shadow {
    /// Reserves room.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        // SAFETY: an anonymous mapping at an address of the system's choice replaces nothing.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes.max(1),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: advice about our own pages; failure only costs speed.
        unsafe { libc::madvise(base, bytes.max(1), libc::MADV_HUGEPAGE) };
        Ok(Self { base, bytes })
    }

    /// Where it starts: aligned to a page.
    pub(crate) fn base<T>(&self) -> *mut T {
        self.base.cast()
    }

    /// Makes it zeros again, and gives its memory back.
    pub(crate) fn clear(&self) {
        // SAFETY: the mapping is ours.
        unsafe { libc::madvise(self.base, self.bytes, libc::MADV_DONTNEED) };
    }

    /// Its size.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Shadow {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing that points into it outlives this.
        unsafe { libc::munmap(self.base, self.bytes.max(1)) };
    }
}
