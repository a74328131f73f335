//! Bounds of the memory that operations accessed last, cached by each worker, and the comparison of addresses with them.

use crate::base::report::AccessKind;

/// A range of memory in which an operation's accesses need no further check.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Bounds {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
}

/// A comparison of addresses with bounds. It does not stop at the first address out of bounds: the compiler vectorizes
/// loops without exits.
pub(crate) struct BoundsCheck {
    start: u64,
    /// An access is in bounds if it starts no further than this from the start of a range that it fits into.
    room: u64,
    outside: bool,
    /// All addresses, by `or`: only their lowest bits tell something.
    low: u64,
}

impl BoundsCheck {
    /// A comparison of accesses of `bytes` bytes.
    #[inline(always)]
    pub(crate) fn new(bounds: Bounds, bytes: u64) -> Self {
        Self { start: bounds.start, room: bounds.bytes.wrapping_sub(bytes), outside: bounds.bytes < bytes, low: 0 }
    }

    #[inline(always)]
    pub(crate) fn add(&mut self, address: u64) {
        self.outside |= address.wrapping_sub(self.start) > self.room;
        self.low |= address;
    }

    /// Whether all were in bounds.
    #[inline(always)]
    pub(crate) fn is_inside(&self) -> bool {
        !self.outside
    }

    /// Whether all were multiples of a power of two.
    #[inline(always)]
    pub(crate) fn is_aligned(&self, bytes: u64) -> bool {
        self.low & (bytes - 1) == 0
    }
}

/// Number of [`Bounds`] in each of a worker's tables; operations share them modulo this.
pub(crate) const CACHES: usize = 4096;

/// A worker's tables: for reads and for writes, each of memory that needs no further check and of memory whose accesses the monitor is told of.
pub(crate) const TABLES: usize = 4;

/// The index of an operation's bounds among all tables, given the number of its instruction. `is_monitored` says that the
/// monitor is told of the accesses.
#[inline(always)]
pub(crate) fn index_of(source: u32, kind: AccessKind, is_monitored: bool) -> usize {
    let writes = !matches!(kind, AccessKind::Read);
    let table = usize::from(writes) + 2 * usize::from(is_monitored);
    table * CACHES + source as usize % CACHES
}
