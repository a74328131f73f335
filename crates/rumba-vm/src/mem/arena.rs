//! The address space of a device: one reservation of the host's address space, cut into windows.
//!
//! Device addresses are host addresses inside it. Nothing is backed by memory until it is committed. Who owns which
//! bytes of a window is not known here.

use std::io;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::mem::pages::Pages;

const MIB: usize = 1 << 20;

/// Bytes of the window for stacks for each block that may be resident, and at most: 2048 threads of 32 blocks of a multiprocessor have
/// 1 MiB each, which is twice what CUDA allows. Launches that run at once share it. At most of the heap. Miri has no reservations: there
/// an arena is as small as tests can do with.
const STACKS_OF_BLOCK: usize = if cfg!(miri) { 16 * MIB } else { 64 * MIB };
const MOST_STACKS: usize = if cfg!(miri) { 16 * MIB } else { 64 << 30 };
const MOST_HEAP: usize = if cfg!(miri) { 64 * MIB } else { 1 << 40 };

/// Commits happen in steps of this size.
pub(crate) const STEP: usize = 2 * MIB;

/// Bytes of address space that a block's shared memory takes.
pub(crate) const SHARED_STRIDE: usize = 256 * 1024;

/// The same of its shared memory and of its tensor memory behind that.
pub(crate) const BLOCK_STRIDE: usize = 2 * SHARED_STRIDE;

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

    /// The part of a window that the launch in a slot has.
    pub(crate) fn of_slot(self, slot: usize) -> Self {
        let bytes = (self.bytes() / LAUNCH_SLOTS) as u64;
        let start = self.start + slot as u64 * bytes;
        Self { start, end: start + bytes }
    }
}

/// The reservation.
#[derive(Debug)]
pub(crate) struct Arena {
    pages: Pages,
    /// Addresses of functions; never memory.
    pub(crate) functions: Window,
    /// Parameters of the running launches, read-only for kernels.
    pub(crate) parameters: Window,
    /// Variables in `.const`.
    pub(crate) constants: Window,
    /// Barriers of the grids of the running launches.
    pub(crate) grids: Window,
    /// Shared and tensor memory, [`BLOCK_STRIDE`] bytes for each resident block.
    pub(crate) shared: Window,
    /// Stacks of threads.
    pub(crate) local: Window,
    /// Everything that is allocated, and global variables.
    pub(crate) heap: Window,
    /// Committed prefix of each window, by its start.
    committed: Mutex<Vec<(u64, u64)>>,
}

impl Arena {
    /// Reserves room for `heap` bytes of heap and `blocks` resident blocks of each launch.
    pub(crate) fn new(heap: usize, blocks: usize) -> io::Result<Self> {
        let round = |bytes: usize| bytes.next_multiple_of(STEP);
        let sizes = [
            16 * MIB,
            LAUNCH_SLOTS * 2 * MIB,
            256 * MIB,
            STEP,
            LAUNCH_SLOTS * round(blocks * BLOCK_STRIDE),
            (blocks * STACKS_OF_BLOCK).min(MOST_STACKS),
            round(heap.min(MOST_HEAP)),
        ];
        let bytes = sizes.iter().sum::<usize>() + STEP;
        let pages = Pages::reserve(bytes)?;
        let mut next = pages.range().start.next_multiple_of(STEP as u64);
        let [functions, parameters, constants, grids, shared, local, heap] = sizes.map(|size| {
            let start = next;
            next += size as u64;
            Window { start, end: next }
        });
        Ok(Self {
            pages,
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

    /// Whether an address lies in the tensor memory of a block.
    pub(crate) fn tensor(&self, address: u64) -> bool {
        self.shared.contains(address) && (address - self.shared.start) % BLOCK_STRIDE as u64 >= SHARED_STRIDE as u64
    }

    /// Whether any byte of a range lies in it.
    pub(crate) fn overlaps(&self, address: u64, bytes: u64) -> bool {
        let pages = self.pages.range();
        address < pages.end && address.saturating_add(bytes.max(1)) > pages.start
    }

    /// Makes the first `bytes` bytes of `window` usable memory; the contents of usable memory stay unchanged.
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
        self.pages.make_usable(from..to)?;
        // The first step stays on small pages: the system zeroes a large page whole, and many programs use a few bytes.
        if window == self.heap && from > window.start {
            self.pages.prefer_huge(from..to);
        }
        committed[index].1 = to;
        Ok(())
    }

    /// Bytes at the start of the heap that are usable memory.
    pub(crate) fn committed_heap(&self) -> u64 {
        let committed = self.committed.lock().unwrap_or_else(PoisonError::into_inner);
        committed.iter().find(|(start, _)| *start == self.heap.start).map_or(0, |(start, end)| end - start)
    }

    /// Whether a range of the heap is usable memory, of any allocation.
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
            self.pages.populate(start..end);
        }
    }

    /// Gives the memory behind a range back to the system; it reads as zeros afterwards.
    pub(crate) fn discard(&self, range: Range<u64>) {
        self.pages.discard(range);
    }
}

/// How many launches run at once.
pub(crate) const LAUNCH_SLOTS: usize = 8;
