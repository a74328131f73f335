//! The address space of a device: one reservation of the host's address space, cut into windows.
//!
//! Device addresses are host addresses inside it. Nothing is backed by memory until it is committed. Who owns which
//! bytes of a window is not known here.

use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::seats::SEATS;

const MIB: usize = 1 << 20;
const GIB: usize = 1 << 30;

/// Commits happen in steps of this size.
const STEP: usize = 2 * MIB;

/// Bytes of address space that a block's shared memory takes.
pub(crate) const SHARED_STRIDE: usize = 256 * 1024;

/// A part of the reservation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Window {
    /// Its first address.
    pub(crate) start: u64,
    /// The address behind its last.
    pub(crate) end: u64,
}

impl Window {
    /// Whether `address` lies in it.
    #[inline(always)]
    pub(crate) fn contains(self, address: u64) -> bool {
        address.wrapping_sub(self.start) < self.end - self.start
    }

    /// Its size.
    pub(crate) fn bytes(self) -> usize {
        (self.end - self.start) as usize
    }

    /// The part of a window that the launch in a seat has.
    pub(crate) fn of_seat(self, seat: usize) -> Self {
        let bytes = (self.bytes() / SEATS) as u64;
        let start = self.start + seat as u64 * bytes;
        Self {
            start,
            end: start + bytes,
        }
    }
}

/// The reservation.
#[derive(Debug)]
pub(crate) struct Arena {
    base: *mut libc::c_void,
    bytes: usize,
    /// Addresses of functions; never memory.
    pub(crate) functions: Window,
    /// Parameters of the running launches, read-only for kernels.
    pub(crate) parameters: Window,
    /// Variables in `.const`.
    pub(crate) constants: Window,
    /// Barriers of the grids of the running launches.
    pub(crate) grids: Window,
    /// Shared memory, [`SHARED_STRIDE`] bytes for each resident block.
    pub(crate) shared: Window,
    /// Stacks of threads.
    pub(crate) local: Window,
    /// Everything that is allocated, and global variables.
    pub(crate) heap: Window,
    /// Committed prefix of each window, by its start.
    committed: Mutex<Vec<(u64, u64)>>,
}

// SAFETY: the base address is only used to unmap; everything else is plain data behind a lock.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Reserves room for `heap` bytes of heap and `blocks` resident blocks of each launch.
    pub(crate) fn new(heap: usize, blocks: usize) -> io::Result<Self> {
        let round = |bytes: usize| bytes.next_multiple_of(STEP);
        let sizes = [
            16 * MIB,
            SEATS * 2 * MIB,
            256 * MIB,
            STEP,
            SEATS * round(blocks * SHARED_STRIDE),
            SEATS * 64 * GIB,
            round(heap),
        ];
        let bytes = sizes.iter().sum::<usize>() + STEP;
        // SAFETY: an anonymous mapping at an address of the system's choice replaces nothing.
        let base = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let mut next = (base as u64).next_multiple_of(STEP as u64);
        let [functions, parameters, constants, grids, shared, local, heap] = sizes.map(|size| {
            let start = next;
            next += size as u64;
            Window { start, end: next }
        });
        Ok(Self {
            base,
            bytes,
            functions,
            parameters,
            constants,
            grids,
            shared,
            local,
            heap,
            committed: Mutex::new(Vec::new()),
        })
    }

    /// Whether any byte of a range lies in it.
    pub(crate) fn overlaps(&self, address: u64, bytes: u64) -> bool {
        let start = self.base as u64;
        address < start + self.bytes as u64 && address.saturating_add(bytes.max(1)) > start
    }

    /// Makes the first `bytes` bytes of `window` usable memory; what was usable stays as it is.
    pub(crate) fn commit(&self, window: Window, bytes: usize) -> io::Result<()> {
        let end = window.start + bytes as u64;
        if end > window.end {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        let mut committed = self.committed.lock().unwrap_or_else(PoisonError::into_inner);
        let index = match committed.iter().position(|(start, _)| *start == window.start) {
            Some(index) => index,
            None => {
                committed.push((window.start, window.start));
                committed.len() - 1
            }
        };
        let from = committed[index].1;
        if end <= from {
            return Ok(());
        }
        let to = end.next_multiple_of(STEP as u64).min(window.end);
        protect(from..to)?;
        if window == self.heap {
            // SAFETY: advice about our own pages; failure only costs speed.
            unsafe {
                libc::madvise(from as *mut libc::c_void, (to - from) as usize, libc::MADV_HUGEPAGE);
            }
        }
        committed[index].1 = to;
        Ok(())
    }

    /// Bytes at the start of the heap that are usable memory.
    pub(crate) fn committed_heap(&self) -> u64 {
        let committed = self.committed.lock().unwrap_or_else(PoisonError::into_inner);
        committed
            .iter()
            .find(|(start, _)| *start == self.heap.start)
            .map_or(0, |(start, end)| end - start)
    }

    /// Whether a range of the heap is usable memory, whoever it belongs to.
    pub(crate) fn is_committed(&self, address: u64, bytes: u64) -> bool {
        let end = self.heap.start + self.committed_heap();
        address >= self.heap.start && address.checked_add(bytes).is_some_and(|last| last <= end)
    }

    /// Asks the system for the memory behind a large range at once: that takes a fraction of the time that its pages take
    /// when they are touched one by one.
    pub(crate) fn populate(&self, range: Range<u64>) {
        const WORTHWHILE: u64 = 256 * 1024;
        let (start, end) = (range.start & !4095, range.end.next_multiple_of(4096));
        if end - start >= WORTHWHILE && self.is_committed(start, end - start) {
            // SAFETY: pages of our own mapping, which keep what they hold; failure only costs speed.
            unsafe {
                libc::madvise(
                    start as *mut libc::c_void,
                    (end - start) as usize,
                    libc::MADV_POPULATE_WRITE,
                );
            }
        }
    }

    /// Gives the memory behind a range back to the system; it reads as zeros afterwards.
    pub(crate) fn discard(&self, range: Range<u64>) {
        let start = range.start.next_multiple_of(4096);
        let end = range.end & !4095;
        if start < end && start >= self.base as u64 && end <= self.base as u64 + self.bytes as u64 {
            // SAFETY: whole pages of our own mapping, which the caller owns and no longer needs.
            unsafe {
                libc::madvise(start as *mut libc::c_void, (end - start) as usize, libc::MADV_DONTNEED);
            }
        }
    }
}

fn protect(range: Range<u64>) -> io::Result<()> {
    let bytes = (range.end - range.start) as usize;
    // SAFETY: pages of our own reservation become readable and writable.
    let result = unsafe {
        libc::mprotect(
            range.start as *mut libc::c_void,
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
        )
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing that points into it outlives the device.
        unsafe {
            libc::munmap(self.base, self.bytes);
        }
    }
}
