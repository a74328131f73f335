//! The owners of the bytes of the heap and of constant memory.
//!
//! Allocations are 256-byte aligned, have red zones on both sides, start out filled with a pattern, and rest in
//! quarantine after they are freed, so that stray accesses meet an address of no allocation. What a kernel may do
//! with an address is decided where kernels access memory, with what is found here.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use thiserror::Error;

use crate::mem::arena::{Arena, Window};
use crate::mem::unwritten::Unwritten;

/// Every allocation starts at a multiple of this.
pub(crate) const ALIGNMENT: u64 = 256;

/// Bytes on each side of an allocation that belong to none.
const REDZONE: u64 = 256;

/// The fill byte of fresh memory: a huge negative number as `f32` and `f64`, and an invalid pointer or index.
pub(crate) const FRESH: u8 = 0xCD;

/// The number of bytes of an allocation that are filled. The bytes behind them read as zeros: an allocation as large as
/// the device's memory is made at once, and uses memory of the system only where it is accessed.
const FILLED: u64 = 256 << 20;

/// Freed blocks at least this large give their memory back to the system at once.
const LARGE: u64 = 1 << 20;

/// Errors in the host's use of memory.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MemoryError {
    /// A request for nothing.
    #[error("an allocation of 0 bytes was requested; ask for at least one byte")]
    Empty,
    /// More than there is.
    #[error("out of device memory: {requested} bytes were requested and {free} of {total} are free")]
    OutOfMemory {
        /// Bytes asked for.
        requested: usize,
        /// Bytes left.
        free: usize,
        /// Bytes of the device.
        total: usize,
    },
    /// The operating system refused.
    #[error("the system refused {requested} bytes for device memory: {reason}")]
    System {
        /// Bytes asked for.
        requested: usize,
        /// The system's own words.
        reason: String,
    },
    /// Freed something that is not an allocation.
    #[error("{address:#x} cannot be freed: {place}")]
    NotAnAllocation {
        /// The address given.
        address: u64,
        /// Where it lies instead.
        place: String,
    },
    /// Touched bytes outside of an allocation.
    #[error("{what} of {bytes} bytes at {address:#x} leaves device memory: {place}")]
    OutOfBounds {
        /// Copy, fill, read, write.
        what: &'static str,
        /// Where it starts.
        address: u64,
        /// How long it is.
        bytes: usize,
        /// Where that lies.
        place: String,
    },
}

/// The kind of an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AllocationKind {
    /// Allocated by the host.
    Host,
    /// Allocated by a kernel with `malloc`.
    Device,
    /// A module's variable in `.global`.
    Global,
    /// A module's variable in `.const`.
    Constant,
    /// The parameters of the running kernel.
    Parameters,
}

/// One block of device memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocation {
    /// Its first address.
    pub start: u64,
    /// Its size as requested.
    pub bytes: usize,
    /// Its kind.
    pub kind: AllocationKind,
    /// Where it was made, or the variable's name.
    pub origin: Option<String>,
}

impl Allocation {
    /// The address behind its last byte.
    pub fn end(&self) -> u64 {
        self.start + self.bytes as u64
    }

    /// Whether kernels may write to it.
    pub fn is_writable(&self) -> bool {
        !matches!(self.kind, AllocationKind::Constant | AllocationKind::Parameters)
    }

    fn describe(&self) -> String {
        let bytes = self.bytes;
        let name = self.origin.as_deref();
        match self.kind {
            AllocationKind::Host => match name {
                Some(origin) => format!("a block of {bytes} bytes allocated at {origin}"),
                None => format!("a block of {bytes} bytes"),
            },
            AllocationKind::Device => format!("a block of {bytes} bytes allocated by a kernel"),
            AllocationKind::Global => {
                format!("the variable `{}` of {bytes} bytes", name.unwrap_or("?"))
            }
            AllocationKind::Constant => {
                format!("the constant `{}` of {bytes} bytes", name.unwrap_or("?"))
            }
            AllocationKind::Parameters => format!("the kernel's parameters, {bytes} bytes"),
        }
    }
}

#[derive(Debug, Clone)]
struct Heap {
    window: Window,
    /// Nothing was ever allocated from here on.
    fresh: u64,
    /// Ranges that can be used again, by start: their length.
    reusable: BTreeMap<u64, u64>,
}

impl Heap {
    fn new(window: Window) -> Self {
        Self { window, fresh: window.start, reusable: BTreeMap::new() }
    }

    /// Finds a range of `bytes`, which is a multiple of the alignment.
    fn take(&mut self, bytes: u64) -> Option<u64> {
        let found = self.reusable.iter().find(|(_, length)| **length >= bytes).map(|(s, l)| (*s, *l));
        if let Some((start, length)) = found {
            self.reusable.remove(&start);
            if length > bytes {
                self.reusable.insert(start + bytes, length - bytes);
            }
            return Some(start);
        }
        let start = self.fresh;
        (self.window.end - start >= bytes).then(|| {
            self.fresh += bytes;
            start
        })
    }

    fn give_back(&mut self, mut start: u64, mut length: u64) {
        if let Some(next) = self.reusable.remove(&(start + length)) {
            length += next;
        }
        let before = self.reusable.range(..start).next_back().map(|(s, l)| (*s, *l));
        if let Some((previous, previous_length)) = before
            && previous + previous_length == start
        {
            self.reusable.remove(&previous);
            start = previous;
            length += previous_length;
        }
        self.reusable.insert(start, length);
    }
}

#[derive(Debug, Clone)]
struct State {
    live: BTreeMap<u64, Allocation>,
    quarantine: VecDeque<Allocation>,
    quarantine_bytes: u64,
    heap: Heap,
    constants: Heap,
    used: u64,
    /// How often a kernel has allocated or freed.
    by_kernels: u64,
}

/// The allocations at some time.
#[derive(Debug)]
pub(crate) struct SavedAllocations(State);

/// The table of allocations of a device.
#[derive(Debug)]
pub(crate) struct Allocations {
    state: RwLock<State>,
    limit: u64,
    quarantine_limit: u64,
    /// Grows whenever an allocation disappears or bytes become undefined; earlier lookups may be wrong then.
    epoch: AtomicU64,
    /// The map of device memory that was never written, if a check needs it.
    pub(crate) unwritten: Option<Unwritten>,
}

/// The bytes that an allocation takes in its heap.
fn footprint(bytes: u64) -> u64 {
    bytes.next_multiple_of(ALIGNMENT) + 2 * REDZONE
}

impl Allocations {
    pub(crate) fn new(arena: &Arena, limit: u64, unwritten: Option<Unwritten>) -> Self {
        Self {
            state: RwLock::new(State {
                live: BTreeMap::new(),
                quarantine: VecDeque::new(),
                quarantine_bytes: 0,
                heap: Heap::new(arena.heap),
                constants: Heap::new(arena.constants),
                used: 0,
                by_kernels: 0,
            }),
            limit,
            quarantine_limit: (limit / 4).min(4 << 30),
            epoch: AtomicU64::new(0),
            unwritten,
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// See [`Self::epoch`](struct field).
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Makes earlier lookups invalid.
    pub(crate) fn forget_bounds(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
    }

    /// Free and total bytes.
    pub(crate) fn info(&self) -> (usize, usize) {
        let used = self.read().used;
        ((self.limit - used.min(self.limit)) as usize, self.limit as usize)
    }

    /// The allocations as they are now.
    pub(crate) fn save(&self) -> SavedAllocations {
        SavedAllocations(self.read().clone())
    }

    /// Goes back to saved allocations, if kernels have allocated or freed since. No other work has.
    pub(crate) fn put_back(&self, saved: &SavedAllocations) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.by_kernels != saved.0.by_kernels {
            state.clone_from(&saved.0);
            self.forget_bounds();
        }
    }

    /// The memory that kernels can write to.
    pub(crate) fn writable(&self) -> Vec<Window> {
        let state = self.read();
        let writable = state.live.values().filter(|allocation| allocation.is_writable());
        let window = |allocation: &Allocation| Window { start: allocation.start, end: allocation.end() };
        writable.map(window).collect()
    }

    /// Memory of the host's own that kernels can access.
    pub(crate) fn registered(&self, arena: &Arena) -> Vec<Window> {
        let state = self.read();
        let (below, above) = (state.live.range(..arena.functions.start), state.live.range(arena.heap.end..));
        let window = |allocation: &Allocation| Window { start: allocation.start, end: allocation.end() };
        below.chain(above).map(|(_, allocation)| window(allocation)).collect()
    }

    /// Allocates and fills with [`FRESH`], large blocks in part.
    pub(crate) fn allocate(
        &self,
        arena: &Arena,
        bytes: usize,
        kind: AllocationKind,
        origin: Option<String>,
    ) -> Result<u64, MemoryError> {
        self.allocate_filled(arena, bytes, (kind, FRESH), origin)
    }

    /// Allocates and fills with `fresh`; what lies behind the first [`FILLED`] bytes is zero.
    pub(crate) fn allocate_filled(
        &self,
        arena: &Arena,
        bytes: usize,
        (kind, fresh): (AllocationKind, u8),
        origin: Option<String>,
    ) -> Result<u64, MemoryError> {
        if bytes == 0 {
            return Err(MemoryError::Empty);
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        let length = bytes as u64;
        let free = self.limit - state.used.min(self.limit);
        let out_of_memory =
            MemoryError::OutOfMemory { requested: bytes, free: free as usize, total: self.limit as usize };
        if length > free {
            return Err(out_of_memory);
        }
        let needed = footprint(length);
        let heap = if kind == AllocationKind::Constant { &mut state.constants } else { &mut state.heap };
        let mut place = heap.take(needed);
        while place.is_none() {
            let Some(oldest) = state.quarantine.pop_front() else {
                return Err(out_of_memory);
            };
            state.quarantine_bytes -= footprint(oldest.bytes as u64);
            let from = if oldest.kind == AllocationKind::Constant { &mut state.constants } else { &mut state.heap };
            from.give_back(oldest.start - REDZONE, footprint(oldest.bytes as u64));
            let heap = if kind == AllocationKind::Constant { &mut state.constants } else { &mut state.heap };
            place = heap.take(needed);
        }
        let heap = if kind == AllocationKind::Constant { &state.constants } else { &state.heap };
        let place = place.unwrap_or(heap.window.start);
        let extent = (heap.fresh - heap.window.start) as usize;
        arena
            .commit(heap.window, extent)
            .map_err(|error| MemoryError::System { requested: bytes, reason: error.to_string() })?;
        let start = place + REDZONE;
        let filled = length.min(FILLED);
        arena.populate(start..start + filled);
        // SAFETY: the range was committed above and belongs to no other allocation.
        unsafe { std::ptr::write_bytes(start as *mut u8, fresh, filled as usize) };
        arena.discard(start + filled..start + length);
        state.used += length;
        state.by_kernels += u64::from(kind == AllocationKind::Device);
        if let Some(map) = &self.unwritten {
            match kind {
                AllocationKind::Host | AllocationKind::Device => map.allocate(start, length),
                AllocationKind::Global | AllocationKind::Constant | AllocationKind::Parameters => {}
            }
        }
        state.live.insert(start, Allocation { start, bytes, kind, origin });
        Ok(start)
    }

    /// Enters memory that is managed elsewhere.
    pub(crate) fn register(&self, start: u64, bytes: usize, kind: AllocationKind, origin: Option<String>) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.live.insert(start, Allocation { start, bytes, kind, origin });
    }

    /// Removes what [`Self::register`] entered.
    pub(crate) fn unregister(&self, start: u64) {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.live.remove(&start);
        self.forget_bounds();
    }

    /// Frees an allocation of one of `kinds`.
    pub(crate) fn free(&self, arena: &Arena, address: u64, kinds: &[AllocationKind]) -> Result<(), MemoryError> {
        let known = self.read().live.get(&address).is_some_and(|known| kinds.contains(&known.kind));
        if !known {
            return Err(MemoryError::NotAnAllocation { address, place: self.describe(address, 1) });
        }
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let state = &mut *state;
        let Some(allocation) = state.live.remove(&address) else {
            return Err(MemoryError::NotAnAllocation { address, place: "it was just freed".into() });
        };
        self.forget_bounds();
        let bytes = allocation.bytes as u64;
        state.used -= bytes;
        state.by_kernels += u64::from(allocation.kind == AllocationKind::Device);
        if let Some(map) = &self.unwritten {
            map.free(allocation.start, bytes);
        }
        if bytes >= LARGE {
            arena.discard(allocation.start..allocation.end());
        }
        state.quarantine_bytes += footprint(bytes);
        state.quarantine.push_back(allocation);
        while state.quarantine_bytes > self.quarantine_limit {
            let Some(oldest) = state.quarantine.pop_front() else {
                break;
            };
            let length = footprint(oldest.bytes as u64);
            state.quarantine_bytes -= length;
            let heap = if oldest.kind == AllocationKind::Constant { &mut state.constants } else { &mut state.heap };
            heap.give_back(oldest.start - REDZONE, length);
        }
        Ok(())
    }

    /// The allocation that holds `address`.
    pub(crate) fn find(&self, address: u64) -> Option<Allocation> {
        self.bounds(address, Clone::clone)
    }

    /// Calls `look` with the allocation that holds `address`, and returns its result.
    pub(crate) fn bounds<T>(&self, address: u64, look: impl FnOnce(&Allocation) -> T) -> Option<T> {
        let state = self.read();
        let (_, allocation) = state.live.range(..=address).next_back()?;
        (address < allocation.end()).then(|| look(allocation))
    }

    /// The allocation that holds all of `bytes` bytes at `address`, or an error that says what `what` missed.
    pub(crate) fn check(&self, what: &'static str, address: u64, bytes: usize) -> Result<(), MemoryError> {
        let fits = self.bounds(address, |allocation| bytes as u64 <= allocation.end() - address);
        if fits == Some(true) || bytes == 0 {
            return Ok(());
        }
        Err(MemoryError::OutOfBounds { what, address, bytes, place: self.describe(address, bytes as u64) })
    }

    /// Where `bytes` bytes at `address` lie, seen from the nearest allocation.
    pub(crate) fn describe(&self, address: u64, bytes: u64) -> String {
        let state = self.read();
        let before = state.live.range(..=address).next_back().map(|(_, found)| found);
        let after = state.live.range(address..).next().map(|(_, found)| found);
        if let Some(inside) = before
            && address < inside.end()
        {
            let offset = address - inside.start;
            let excess = (address + bytes).saturating_sub(inside.end());
            return if excess == 0 {
                format!("{offset} bytes into {}", inside.describe())
            } else {
                format!("it starts {offset} bytes into {} and ends {excess} bytes after its end", inside.describe())
            };
        }
        let freed = state.quarantine.iter().rev().find(|old| (old.start..old.end()).contains(&address));
        if let Some(freed) = freed {
            let offset = address - freed.start;
            return format!("{offset} bytes into {}, which was freed", freed.describe());
        }
        let behind = before.map(|found| (address - found.end(), found));
        let ahead = after.map(|found| (found.start - address, found));
        match (behind, ahead) {
            (Some((distance, found)), other) if other.is_none_or(|(gap, _)| distance <= gap) => {
                format!("{distance} bytes after the end of {}", found.describe())
            }
            (_, Some((gap, found))) => format!("{gap} bytes before {}", found.describe()),
            _ => "nothing is allocated".into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{AllocationKind, Allocations, FRESH, MemoryError};
    use crate::mem::arena::Arena;

    fn heap(limit: u64) -> (Arena, Allocations) {
        let arena = Arena::new(64 << 20, 1).unwrap();
        let allocations = Allocations::new(&arena, limit, None);
        (arena, allocations)
    }

    #[test]
    fn allocations_do_not_touch_each_other() {
        let (arena, heap) = heap(1 << 20);
        let take = |bytes| heap.allocate(&arena, bytes, AllocationKind::Host, None).unwrap();
        let (a, b) = (take(1), take(1000));
        assert!(b - a >= 512 && a % 256 == 0 && b % 256 == 0);
        // SAFETY: the block was just allocated.
        assert_eq!(unsafe { *(a as *const u8) }, FRESH);
        assert_eq!(heap.find(b + 999).unwrap().start, b);
        assert!(heap.find(b + 1000).is_none());
        assert_eq!(heap.describe(b + 1003, 4), "3 bytes after the end of a block of 1000 bytes");
        assert_eq!(heap.describe(a - 8, 4), "8 bytes before a block of 1 bytes");
        assert_eq!(
            heap.describe(b + 998, 4),
            "it starts 998 bytes into a block of 1000 bytes and ends 2 bytes after its end"
        );
    }

    #[test]
    fn freed_memory_is_used_again_but_not_at_once() {
        let (arena, heap) = heap(1 << 20);
        let first = heap.allocate(&arena, 1000, AllocationKind::Host, None).unwrap();
        let epoch = heap.epoch();
        heap.free(&arena, first, &[AllocationKind::Host]).unwrap();
        assert_ne!(heap.epoch(), epoch);
        assert_eq!(heap.describe(first + 1, 1), "1 bytes into a block of 1000 bytes, which was freed");
        let mut again = None;
        for round in 0..1000 {
            let block = heap.allocate(&arena, 1000, AllocationKind::Host, None).unwrap();
            heap.free(&arena, block, &[AllocationKind::Host]).unwrap();
            if block == first {
                again = Some(round);
                break;
            }
        }
        assert!(again.is_some_and(|round| round > 10), "{again:?}");
    }

    #[test]
    fn memory_runs_out_and_comes_back() {
        let (arena, heap) = heap(1 << 20);
        let take = |bytes| heap.allocate(&arena, bytes, AllocationKind::Host, None);
        let whole = take(1 << 20).unwrap();
        assert!(matches!(take(1), Err(MemoryError::OutOfMemory { free: 0, .. })));
        heap.free(&arena, whole, &[AllocationKind::Host]).unwrap();
        assert_eq!(heap.info(), (1 << 20, 1 << 20));
        for _ in 0..200 {
            let block = take(1 << 20).unwrap();
            heap.free(&arena, block, &[AllocationKind::Host]).unwrap();
        }
    }

    #[test]
    fn kinds_are_freed_by_their_owners_only() {
        let (arena, heap) = heap(1 << 20);
        let block = heap.allocate(&arena, 8, AllocationKind::Device, None).unwrap();
        assert!(heap.free(&arena, block, &[AllocationKind::Host]).is_err());
        heap.free(&arena, block, &[AllocationKind::Device]).unwrap();
    }
}
