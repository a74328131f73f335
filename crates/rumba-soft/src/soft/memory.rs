//! The table of allocations: address, size, kind and context.
//!
//! The bytes belong to the machine; this table answers the questions of the driver API about them. Module
//! variables are not listed: the machine knows their bounds.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError, RwLock, RwLockWriteGuard};

/// The call that made an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `cuMemAlloc` and its kin.
    Device,
    /// `cuMemAllocAsync` and its kin.
    Pooled {
        /// The pool it came from.
        pool: usize,
    },
    /// An allocation node of a graph.
    Graph,
    /// `cuMemAllocManaged`.
    Managed,
    /// `cuMemMap`, made accessible by `cuMemSetAccess`.
    Mapped,
    /// The elements of a CUDA array, which no address names.
    Array,
    /// `cuMemHostAlloc`, with its flags.
    Host {
        /// The flags it was made with.
        flags: u32,
    },
    /// `cuMemHostRegister`, with its flags: the memory is the caller's own.
    Registered {
        /// The flags it was registered with.
        flags: u32,
    },
}

/// One allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    pub(crate) kind: Kind,
    /// Handle and life of the context that owns it.
    pub(crate) context: usize,
    pub(crate) life: u64,
    /// Never the same for two allocations of a process.
    pub(crate) id: u64,
}

/// The last advice of `cuMemAdvise` and `cuMemPrefetchAsync` for an allocation. It changes nothing, and can be queried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Advice {
    pub(crate) read_mostly: bool,
    /// Ordinals of devices; -1 is the host, -2 nowhere.
    pub(crate) preferred: i32,
    pub(crate) accessed_by: Vec<i32>,
    pub(crate) prefetched: i32,
}

impl Default for Advice {
    fn default() -> Self {
        Self { read_mostly: false, preferred: -2, accessed_by: Vec::new(), prefetched: -2 }
    }
}

/// The advice on managed memory, by the number of the allocation.
#[derive(Default)]
pub(crate) struct Advices {
    known: RwLock<BTreeMap<u64, Advice>>,
}

impl Advices {
    pub(crate) fn of(&self, allocation: &Allocation) -> Advice {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&allocation.id).cloned().unwrap_or_default()
    }

    pub(crate) fn change(&self, allocation: &Allocation, change: impl FnOnce(&mut Advice)) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        change(known.entry(allocation.id).or_default());
    }
}

/// A pool for stream-ordered allocation.
pub(crate) struct Pool {
    /// The ordinal of its device.
    pub(crate) device: i32,
    /// Three switches for reuse, then the release threshold in bytes. Nothing is held back, so they change nothing.
    pub(crate) settings: Mutex<[u64; 4]>,
    /// The most bytes that were in use since that was set to 0.
    pub(crate) high: AtomicU64,
}

impl Pool {
    pub(crate) fn new(device: i32) -> Self {
        Self { device, settings: Mutex::new([1, 1, 1, 0]), high: AtomicU64::new(0) }
    }
}

/// All allocations.
#[derive(Default)]
pub(crate) struct Memory {
    live: RwLock<BTreeMap<u64, Allocation>>,
}

impl Memory {
    pub(crate) fn insert(&self, allocation: Allocation) {
        self.write().insert(allocation.start, allocation);
    }

    /// How many allocations there are, and their bytes.
    pub(crate) fn count(&self) -> (usize, u64) {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        (live.len(), live.values().map(|one| one.bytes).sum())
    }

    /// The allocation that holds `address`.
    pub(crate) fn holding(&self, address: u64) -> Option<Allocation> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        let (_, allocation) = live.range(..=address).next_back()?;
        (address - allocation.start < allocation.bytes).then(|| allocation.clone())
    }

    /// Calls `access` if one allocation holds a range, which stays until `access` returns.
    pub(crate) fn while_held<R>(&self, address: u64, bytes: u64, access: impl FnOnce() -> R) -> Option<R> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        let (_, allocation) = live.range(..=address).next_back()?;
        let offset = address - allocation.start;
        let holds = offset < allocation.bytes && bytes <= allocation.bytes - offset;
        holds.then(access)
    }

    /// Takes out the allocation that starts at `address` if `fits` says so.
    pub(crate) fn remove(&self, address: u64, fits: impl Fn(Kind) -> bool) -> Option<Allocation> {
        let mut live = self.write();
        if fits(live.get(&address)?.kind) { live.remove(&address) } else { None }
    }

    /// Takes out what lies in the `bytes` at `address` and was made accessible there.
    pub(crate) fn remove_mapped(&self, address: u64, bytes: u64) -> Vec<Allocation> {
        let mut live = self.write();
        let fits = |one: &&Allocation| {
            one.kind == Kind::Mapped && one.start < address.saturating_add(bytes) && address < one.start + one.bytes
        };
        let found: Vec<Allocation> = live.values().filter(fits).cloned().collect();
        for one in &found {
            live.remove(&one.start);
        }
        found
    }

    /// Takes out everything that one life of a context owned.
    pub(crate) fn remove_owned(&self, life: u64) -> Vec<Allocation> {
        let mut live = self.write();
        let (owned, kept): (BTreeMap<_, _>, BTreeMap<_, _>) =
            std::mem::take(&mut *live).into_iter().partition(|(_, one)| one.life == life);
        *live = kept;
        owned.into_values().collect()
    }

    /// Whether an allocation lies in the `bytes` at `address`, wholly or in part.
    pub(crate) fn overlaps(&self, address: u64, bytes: u64) -> bool {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        let before = live.range(..address.saturating_add(bytes)).next_back();
        before.is_some_and(|(start, allocation)| start + allocation.bytes > address)
    }

    /// All allocations of a kind.
    pub(crate) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = Allocation> + use<> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        let found: Vec<Allocation> = live.values().filter(|one| one.kind == kind).cloned().collect();
        found.into_iter()
    }

    /// Makes the allocation that starts at `address` one of another kind.
    pub(crate) fn turn(&self, address: u64, kind: Kind) {
        if let Some(allocation) = self.write().get_mut(&address) {
            allocation.kind = kind;
        }
    }

    /// Bytes that are allocated from `pool`.
    pub(crate) fn pooled(&self, pool: usize) -> u64 {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.values().filter(|one| one.kind == Kind::Pooled { pool }).map(|one| one.bytes).sum()
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<u64, Allocation>> {
        self.live.write().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocation(start: u64, bytes: u64, kind: Kind, life: u64) -> Allocation {
        Allocation { start, bytes, kind, context: 1, life, id: start }
    }

    #[test]
    fn addresses_are_found_to_the_byte() {
        let memory = Memory::default();
        memory.insert(allocation(0x1000, 100, Kind::Device, 1));
        assert!(memory.holding(0xfff).is_none());
        assert_eq!(memory.holding(0x1063).map(|one| one.start), Some(0x1000));
        assert!(memory.holding(0x1064).is_none());
    }

    #[test]
    fn a_context_takes_its_own_along() {
        let memory = Memory::default();
        memory.insert(allocation(0x1000, 100, Kind::Device, 1));
        memory.insert(allocation(0x2000, 100, Kind::Managed, 2));
        assert!(memory.remove(0x2000, |kind| kind == Kind::Device).is_none());
        assert!(memory.overlaps(0xfff, 2) && memory.overlaps(0x1063, 1) && memory.overlaps(0, 0x3000));
        assert!(!memory.overlaps(0xfff, 1) && !memory.overlaps(0x1064, 16));
        assert_eq!(memory.remove_owned(1).len(), 1);
        assert!(memory.holding(0x1000).is_none());
        assert!(memory.holding(0x2000).is_some());
    }
}
