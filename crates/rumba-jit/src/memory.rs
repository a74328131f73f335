//! Memory that code is written to and then run from. No page is writable and executable at once.

use std::io;
use std::ops::Range;
use std::ptr::{NonNull, null_mut};

/// Pages of this process, readable and writable when they are made.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the pages belong to the process, not to a thread, and only `&mut self` writes to them.
unsafe impl Send for Memory {}
// SAFETY: as above.
unsafe impl Sync for Memory {}

/// The accesses that pages allow, beside reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protection {
    Read,
    Execute,
}

/// Bytes of a page.
pub(crate) fn page() -> usize {
    // SAFETY: a question without arguments that matter.
    let bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    usize::try_from(bytes).unwrap_or(4096)
}

impl Memory {
    /// Pages with at least `bytes` bytes, all zero.
    pub(crate) fn new(bytes: usize) -> io::Result<Self> {
        let bytes = bytes.next_multiple_of(page()).max(page());
        // SAFETY: new pages, wherever the system likes, are nothing else's.
        let start = unsafe {
            let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            libc::mmap(null_mut(), bytes, protection, flags, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { start, bytes })
    }

    /// The address of the first byte.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// All bytes, before [`Self::protect`] has taken any away.
    ///
    /// # Safety
    /// No page is protected yet.
    pub(crate) unsafe fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the pages are mapped, initialised by the system, and borrowed through `self` alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }

    /// Takes the right to write away from pages. The range begins and ends with pages.
    pub(crate) fn protect(&mut self, range: Range<usize>, protection: Protection) -> io::Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let flags = match protection {
            Protection::Read => libc::PROT_READ,
            Protection::Execute => libc::PROT_READ | libc::PROT_EXEC,
        };
        assert!(range.end <= self.bytes, "the range lies within the memory");
        // SAFETY: the range lies within our own pages, and nothing is borrowed from them.
        unsafe {
            let start = self.start.as_ptr().add(range.start);
            if libc::mprotect(start.cast(), range.len(), flags) != 0 {
                return Err(io::Error::last_os_error());
            }
            if protection == Protection::Execute {
                synchronise(start, range.len());
            }
        }
        Ok(())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this value owns the pages, and every user of an address in them keeps the value alive.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

/// Makes bytes that were written as data visible as instructions. Processors of x86 do so by themselves.
///
/// # Safety
/// The bytes are mapped.
#[cfg(not(target_arch = "aarch64"))]
unsafe fn synchronise(_: *const u8, _: usize) {}

/// Makes bytes that were written as data visible as instructions (Arm Architecture Reference Manual, B2.4.4).
///
/// # Safety
/// The bytes are mapped.
#[cfg(target_arch = "aarch64")]
unsafe fn synchronise(start: *const u8, bytes: usize) {
    use std::arch::asm;
    // SAFETY: reading the register has no effect, and caches are maintained by address of mapped memory.
    unsafe {
        let types: u64;
        asm!("mrs {}, ctr_el0", out(reg) types, options(nomem, nostack, preserves_flags));
        let (instructions, data) = (4_usize << (types & 15), 4_usize << (types >> 16 & 15));
        let end = start as usize + bytes;
        for line in (start as usize & !(data - 1)..end).step_by(data) {
            asm!("dc cvau, {}", in(reg) line, options(nostack, preserves_flags));
        }
        asm!("dsb ish", options(nostack, preserves_flags));
        for line in (start as usize & !(instructions - 1)..end).step_by(instructions) {
            asm!("ic ivau, {}", in(reg) line, options(nostack, preserves_flags));
        }
        asm!("dsb ish", "isb", options(nostack, preserves_flags));
    }
}
