//! Reserved addresses, memory without addresses, and how one is mapped to the other.
//!
//! Memory is a file of the system's memory, so that it can be mapped more than once and outlives its mappings. Kernels see
//! a mapping once access to it is set. Memory cannot be shared with other processes.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Mappings begin and end at multiples of this many bytes, as on an H200.
pub(crate) const GRANULARITY: u64 = 2 << 20;

/// Bytes of all memory without an address.
static HELD: AtomicU64 = AtomicU64::new(0);

/// Bytes of memory without an address that are in use.
pub(crate) fn held() -> u64 {
    HELD.load(Ordering::Relaxed)
}

/// Memory without an address.
pub(crate) struct Physical {
    pub(crate) bytes: u64,
    /// The device that it was asked of.
    pub(crate) device: i32,
    file: OwnedFd,
}

impl Physical {
    pub(crate) fn new(bytes: u64, device: i32) -> io::Result<Self> {
        // SAFETY: the name is NUL-terminated; the result is checked.
        let file = unsafe { libc::memfd_create(c"rumba".as_ptr(), libc::MFD_CLOEXEC) };
        if file < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just made and is not shared.
        let file = unsafe { OwnedFd::from_raw_fd(file) };
        // SAFETY: the descriptor is open.
        if unsafe { libc::ftruncate(file.as_raw_fd(), bytes as libc::off_t) } != 0 {
            return Err(io::Error::last_os_error());
        }
        HELD.fetch_add(bytes, Ordering::Relaxed);
        Ok(Self { bytes, device, file })
    }
}

impl Drop for Physical {
    fn drop(&mut self) {
        HELD.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// A mapping within a reservation.
pub(crate) struct Mapping {
    pub(crate) bytes: u64,
    pub(crate) memory: Arc<Physical>,
    /// 0, 1 or 3: none, reading, reading and writing.
    pub(crate) access: u64,
    /// Whether a call is about to unmap it, and waits for work that uses it.
    is_ending: bool,
}

/// All reservations and mappings, by their start.
#[derive(Default)]
pub(crate) struct Addresses {
    state: Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    reserved: BTreeMap<u64, u64>,
    pub(crate) mapped: BTreeMap<u64, Mapping>,
}

impl Addresses {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Reserves addresses, aligned as asked.
    pub(crate) fn reserve(&mut self, bytes: u64, alignment: u64) -> io::Result<u64> {
        let all = bytes.checked_add(alignment).ok_or(io::ErrorKind::OutOfMemory)? as usize;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: the place is not fixed.
        let start = unsafe { map(0, all, libc::PROT_NONE, flags, -1, 0) }?;
        let aligned = start.next_multiple_of(alignment);
        let after = start + all as u64 - (aligned + bytes);
        for (place, rest) in [(start, aligned - start), (aligned + bytes, after)] {
            if rest > 0 {
                // SAFETY: the range is part of the mapping that was just made, and not of what is kept.
                unsafe { libc::munmap(place as *mut _, rest as usize) };
            }
        }
        self.reserved.insert(aligned, bytes);
        Ok(aligned)
    }

    /// Gives a reservation back; `false` if it is none, or has mappings.
    pub(crate) fn release(&mut self, start: u64, bytes: u64) -> bool {
        if self.reserved.get(&start) != Some(&bytes) || self.mapped.range(start..start + bytes).next().is_some() {
            return false;
        }
        self.reserved.remove(&start);
        // SAFETY: the range was reserved by `reserve`, and nothing is mapped in it.
        unsafe { libc::munmap(start as *mut _, bytes as usize) };
        true
    }

    /// How many reservations and mappings there are.
    pub(crate) fn count(&self) -> (usize, usize) {
        (self.reserved.len(), self.mapped.len())
    }

    /// Whether any byte of a range is reserved.
    pub(crate) fn reserves(&self, start: u64, bytes: u64) -> bool {
        let before = self.reserved.range(..start.saturating_add(bytes.max(1))).next_back();
        before.is_some_and(|(first, size)| first + size > start)
    }

    /// Whether a range is reserved, and free of mappings or full of them.
    pub(crate) fn is_free(&self, start: u64, bytes: u64) -> bool {
        let Some(end) = start.checked_add(bytes) else {
            return false;
        };
        let reserved = self.reserved.range(..=start).next_back();
        let inside = reserved.is_some_and(|(first, size)| end <= first + size);
        let before = self.mapped.range(..end).next_back();
        inside && before.is_none_or(|(first, mapping)| first + mapping.bytes <= start)
    }

    /// Whether whole mappings make up a range, none of which is ending.
    pub(crate) fn is_mapped(&self, start: u64, bytes: u64) -> bool {
        let Some(end) = start.checked_add(bytes) else {
            return false;
        };
        let mut place = start;
        for (first, mapping) in self.mapped.range(start..end) {
            if *first != place || mapping.is_ending {
                return false;
            }
            place += mapping.bytes;
        }
        place == end
    }

    /// Maps the first bytes of memory; `false` if the range is not reserved, or not free of mappings.
    pub(crate) fn map(&mut self, start: u64, bytes: u64, memory: Arc<Physical>) -> io::Result<bool> {
        if !self.is_free(start, bytes) {
            return Ok(false);
        }
        let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_FIXED);
        // SAFETY: the range is reserved, and nothing is mapped in it.
        unsafe { map(start, bytes as usize, protection, flags, memory.file.as_raw_fd(), 0) }?;
        self.mapped.insert(start, Mapping { bytes, memory, access: 0, is_ending: false });
        Ok(true)
    }

    /// Begins to end the mappings of a range; `false` if whole mappings do not make it up. Until [`Self::unmap`], no other call
    /// maps, shows or releases the range.
    pub(crate) fn begin_unmap(&mut self, start: u64, bytes: u64) -> bool {
        let is_mapped = self.is_mapped(start, bytes);
        if is_mapped {
            self.mark(start, bytes, true);
        }
        is_mapped
    }

    /// Ends the mappings of a range, which stays reserved. The caller has begun that by [`Self::begin_unmap`].
    pub(crate) fn unmap(&mut self, start: u64, bytes: u64) -> io::Result<()> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: mappings of this state make up the range, and stay while they are marked.
        if let Err(error) = unsafe { map(start, bytes as usize, libc::PROT_NONE, flags, -1, 0) } {
            self.mark(start, bytes, false);
            return Err(error);
        }
        let ended = self.mapped.range(start..start + bytes).map(|(first, _)| *first);
        for first in ended.collect::<Vec<u64>>() {
            self.mapped.remove(&first);
        }
        Ok(())
    }

    fn mark(&mut self, start: u64, bytes: u64, is_ending: bool) {
        for (_, mapping) in self.mapped.range_mut(start..start + bytes) {
            mapping.is_ending = is_ending;
        }
    }
}

/// Maps pages of the system's memory.
///
/// # Safety
/// A fixed place is a range of reserved addresses, whose state is locked and in which no Rust object lies.
unsafe fn map(start: u64, bytes: usize, protection: i32, flags: i32, file: i32, offset: i64) -> io::Result<u64> {
    // SAFETY: the caller's promise; without a fixed place nothing that is mapped changes.
    let place = unsafe { libc::mmap(start as *mut _, bytes, protection, flags, file, offset) };
    if place == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(place as u64) }
}

/// Bytes of memory that the machine has, or the largest number if the system does not say.
pub(crate) fn memory_of_the_host() -> u64 {
    // SAFETY: questions without arguments that matter.
    let [pages, page] = unsafe { [libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)] };
    match (u64::try_from(pages), u64::try_from(page)) {
        (Ok(pages), Ok(page)) => pages.saturating_mul(page),
        _ => u64::MAX,
    }
}

/// Pages that the system is asked about at once.
const PAGES_AT_ONCE: usize = 1 << 12;

/// Whether every byte of a range of the process has memory behind it, or a file: whether it was mapped.
pub(crate) fn is_mapped_by_the_system(start: u64, bytes: u64) -> bool {
    // Miri has no such question.
    if cfg!(miri) {
        return true;
    }
    // SAFETY: a question without arguments that matter.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
    let Some(end) = start.checked_add(bytes) else {
        return false;
    };
    let mut resident = [0; PAGES_AT_ONCE];
    let mut next = start / page * page;
    while next < end {
        let length = (end - next).min(PAGES_AT_ONCE as u64 * page);
        // SAFETY: the system looks at no memory but its own tables, and writes a byte for each page.
        if unsafe { libc::mincore(next as *mut _, length as usize, resident.as_mut_ptr()) } != 0 {
            return false;
        }
        next += length;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_outlives_its_mapping() {
        let addresses = Addresses::default();
        let mut state = addresses.lock();
        let start = state.reserve(2 * GRANULARITY, GRANULARITY).expect("addresses");
        assert!(start.is_multiple_of(GRANULARITY) && state.is_free(start, 2 * GRANULARITY));
        let memory = Arc::new(Physical::new(GRANULARITY, 0).expect("memory"));
        let second = start + GRANULARITY;
        for place in [start, second] {
            assert!(state.map(place, GRANULARITY, Arc::clone(&memory)).expect("a mapping"));
        }
        assert!(!state.map(second, GRANULARITY, memory).expect("nothing to do"), "it is mapped");
        assert!(state.is_mapped(start, 2 * GRANULARITY) && !state.is_mapped(start, GRANULARITY + 1));
        // SAFETY: both addresses were just mapped, to the same memory.
        let seen = unsafe {
            (start as *mut u32).write_volatile(7);
            (second as *const u32).read_volatile()
        };
        assert_eq!(seen, 7);
        assert!(!state.release(start, 2 * GRANULARITY), "it has mappings");
        assert!(state.begin_unmap(start, 2 * GRANULARITY));
        assert!(!state.begin_unmap(start, 2 * GRANULARITY), "the mappings are ending");
        assert!(!state.is_mapped(start, GRANULARITY) && !state.is_free(start, GRANULARITY));
        assert!(!state.release(start, 2 * GRANULARITY), "the mappings are still there");
        state.unmap(start, 2 * GRANULARITY).expect("no mapping");
        assert!(state.is_free(start, GRANULARITY) && state.release(start, 2 * GRANULARITY));
        // The range now belongs to another mapping.
        assert!(!state.begin_unmap(start, 2 * GRANULARITY));
        let memory = Arc::new(Physical::new(GRANULARITY, 0).expect("memory"));
        assert!(!state.map(start, GRANULARITY, memory).expect("nothing to do"));
    }
}
