//! Lost updates: a thread loads a value, computes a new value from it and stores the new value, all by atomic accesses,
//! and nothing prevents a write of another thread between the load and the store.
//!
//! No two of these accesses race. The mistake is that load and store together are not atomic (Flanagan and Freund,
//! "Atomizer", POPL 2004). The pairs of stores and the loads that their values are computed from, [`UpdatePairs`], are
//! found when a module is loaded (`load/instrument/updates.rs`). A store updates an address if its thread's last
//! execution of one of these loads read the same address. The update is lost if a write of another thread is ordered
//! neither before the load nor behind the store.
//!
//! * A load in a loop may wait for a value. Writes that such a load would synchronize with, if it acquired, count as
//!   ordered before it. A load outside of every loop does not wait: which write it reads is left to chance.
//! * An atomic operation of the same thread on the address, after the load, counts as the load: a `compare_exchange` that succeeds
//!   says that the value has not changed.
//! * Writes are stores, and atomic operations that always write: a compare-and-swap of another thread may have failed.
//! * Threads that store the same value, computed by `and`, `or`, `min` or `max` alone, lose nothing.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use crate::base::lanes::LANES;
use crate::base::report::AccessKind;
use crate::check::clock::{Thread, VectorClock};
use crate::check::record::{Conflict, ConflictKind, ThreadAccess};
use crate::check::thread_state::ThreadState;

/// Where the value of a store comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The load.
    pub(crate) load: u32,
    /// Whether only idempotent operations lie between load and store: `and`, `or`, `min`, `max`.
    pub(crate) is_idempotent: bool,
}

/// The stores of a program whose values are computed from loads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct UpdatePairs {
    pub(crate) stores: HashMap<u32, Vec<Origin>>,
    /// The loads, and whether each lies in a loop.
    pub(crate) loads: HashMap<u32, bool>,
    /// Atomic operations that write, whatever they read.
    pub(crate) writers: HashSet<u32>,
}

/// The clock of a thread.
#[derive(Debug, Clone)]
pub(super) struct Knowledge {
    warp: u32,
    known: Arc<VectorClock>,
}

impl Knowledge {
    fn of(clock: &ThreadState) -> Self {
        Self { warp: clock.warp, known: Arc::clone(&clock.known) }
    }

    /// The clock that the thread would have if its loads so far had acquired.
    fn acquired(clock: &ThreadState) -> Self {
        let mut knowledge = Self::of(clock);
        let sequential = &clock.sequential_seen;
        for seen in clock.seen.iter().chain([&sequential.device, &sequential.system]).flatten() {
            Arc::make_mut(&mut knowledge.known).join(seen);
        }
        knowledge
    }

    /// Whether the thread `own` knows of a write.
    fn has(&self, own: Thread, write: &Write) -> bool {
        let other = write.access.thread;
        let is_of_warp = own.block == other.block && own.warp() == other.warp();
        is_of_warp && write.epoch <= self.warp || self.known.epoch(other) >= write.epoch
    }
}

/// The last execution of a load by a lane.
#[derive(Debug, Clone)]
struct Load {
    access: ThreadAccess,
    address: u64,
    knowledge: Knowledge,
}

/// The load that a store belongs to.
struct Update {
    load: Load,
    is_idempotent: bool,
}

/// A write to an address.
#[derive(Debug, Clone)]
struct Write {
    access: ThreadAccess,
    epoch: u32,
    /// The load, if the write is an update, and whether the update is idempotent.
    update: Option<(ThreadAccess, bool)>,
}

/// The number of writes to an address that are remembered.
const WRITES: usize = 8;

/// The last execution of a load by each lane of a warp.
type LoadsOfWarp = Box<[Option<Load>; LANES]>;

/// The updates of the launches that are checked together.
#[derive(Default)]
pub(super) struct Updates {
    pairs: Arc<UpdatePairs>,
    /// By block and warp: by the instruction.
    loads: HashMap<(u32, u16), Vec<(u32, LoadsOfWarp)>>,
    writes: BTreeMap<u64, Vec<Write>>,
}

impl Updates {
    /// A launch of a program begins.
    pub(super) fn begin(&mut self, pairs: &Arc<UpdatePairs>) {
        *self = Self { pairs: Arc::clone(pairs), ..Self::default() };
    }

    /// A launch of another program begins beside the others. Its instructions are counted from `first_source`.
    pub(super) fn join(&mut self, pairs: &UpdatePairs, first_source: u32) {
        let at = |source: u32| source + first_source;
        let origin = |origin: &Origin| Origin { load: at(origin.load), ..*origin };
        let all = Arc::make_mut(&mut self.pairs);
        let stores = pairs.stores.iter();
        all.stores.extend(stores.map(|(store, origins)| (at(*store), origins.iter().map(origin).collect())));
        all.loads.extend(pairs.loads.iter().map(|(load, is_in_loop)| (at(*load), *is_in_loop)));
        all.writers.extend(pairs.writers.iter().map(|writer| at(*writer)));
    }

    /// Whether the program can have lost updates.
    pub(super) fn are_possible(&self) -> bool {
        !self.pairs.stores.is_empty()
    }

    /// A block has ended.
    pub(super) fn end(&mut self, ended: u32) {
        self.loads.retain(|(block, _), _| *block != ended);
    }

    /// Forgets the writes to memory that another block gets.
    pub(super) fn forget(&mut self, range: Range<u64>) {
        while let Some((address, _)) = self.writes.range(range.clone()).next() {
            let address = *address;
            self.writes.remove(&address);
        }
    }

    /// The clock of a lane before an access, if the access is a load outside of loops whose value may be updated.
    pub(super) fn before(&self, access: &ThreadAccess, clock: &ThreadState) -> Option<Knowledge> {
        let waits_for_nothing =
            access.kind != AccessKind::Write && self.pairs.loads.get(&access.source) == Some(&false);
        waits_for_nothing.then(|| Knowledge::of(clock))
    }

    /// Notes an atomic access of a lane that has acquired, and has not published anything yet. `before` is what [`Updates::before`]
    /// gave. Returns the lost update, if the access loses one.
    pub(super) fn note(
        &mut self,
        access: ThreadAccess,
        address: u64,
        clock: &ThreadState,
        before: Option<Knowledge>,
    ) -> Option<Conflict> {
        let thread = access.thread;
        let (reads, writes) = match access.kind {
            AccessKind::Read => (true, false),
            AccessKind::Write => (false, true),
            AccessKind::Atomic => (true, self.pairs.writers.contains(&access.source)),
        };
        let conflict = if writes {
            let update = (!reads).then(|| self.update(&access, address)).flatten();
            // A load that sees a write behind a fence synchronises with the fence.
            let epoch = clock.fenced.as_ref().map_or(clock.epoch, |fence| fence.epoch);
            let write = Write {
                access,
                epoch,
                update: update.as_ref().map(|update| (update.load.access, update.is_idempotent)),
            };
            self.written(write, &Knowledge::of(clock), update, address)
        } else {
            None
        };
        if access.kind == AccessKind::Atomic {
            self.reloaded(thread, address, &Knowledge::acquired(clock));
        }
        if reads && self.pairs.loads.contains_key(&access.source) {
            self.loaded(Load { access, address, knowledge: before.unwrap_or_else(|| Knowledge::acquired(clock)) });
        }
        conflict
    }

    /// The load whose value a store has updated.
    fn update(&self, store: &ThreadAccess, address: u64) -> Option<Update> {
        let thread = store.thread;
        let origins = self.pairs.stores.get(&store.source)?;
        let loads = self.loads.get(&(thread.block, thread.warp()))?;
        origins.iter().find_map(|origin| {
            let (_, lanes) = loads.iter().find(|(load, _)| *load == origin.load)?;
            let load = lanes[usize::from(thread.index) % LANES].as_ref()?;
            (load.address == address).then(|| Update { load: load.clone(), is_idempotent: origin.is_idempotent })
        })
    }

    /// Remembers a load.
    fn loaded(&mut self, load: Load) {
        let Thread { block, index } = load.access.thread;
        let source = load.access.source;
        let loads = self.loads.entry((block, load.access.thread.warp())).or_default();
        let place = match loads.iter().position(|(known, _)| *known == source) {
            Some(place) => place,
            None => {
                loads.push((source, Box::new([const { None }; LANES])));
                loads.len() - 1
            }
        };
        loads[place].1[usize::from(index) % LANES] = Some(load);
    }

    /// An atomic operation of a thread has read the address again.
    fn reloaded(&mut self, thread: Thread, address: u64, knowledge: &Knowledge) {
        let loads = self.loads.get_mut(&(thread.block, thread.warp())).into_iter().flatten();
        for (_, lanes) in loads {
            if let Some(load) = &mut lanes[usize::from(thread.index) % LANES]
                && load.address == address
            {
                load.knowledge = knowledge.clone();
            }
        }
    }

    /// Compares a write with those of other threads, and remembers it.
    fn written(&mut self, write: Write, now: &Knowledge, update: Option<Update>, address: u64) -> Option<Conflict> {
        let own = write.access.thread;
        let known = self.writes.entry(address).or_default();
        let others = known.iter().filter(|other| other.access.thread != own);
        let conflict = others.into_iter().find_map(|other| {
            let is_after_load = update.as_ref().is_some_and(|update| !update.load.knowledge.has(own, other));
            let is_before_store = other.update.is_some() && !now.has(own, other);
            let updates = [write.update, other.update];
            let is_idempotent = updates.iter().all(|update| update.is_some_and(|(_, is)| is));
            (is_after_load || is_before_store).then(|| Conflict {
                touch: write.access,
                earlier: other.access,
                loads: updates.map(|update| Some(update?.0)),
                address,
                kind: ConflictKind::LostUpdate { is_idempotent },
            })
        });
        known.retain(|other| other.access.thread != own || other.update.is_some() && write.update.is_none());
        if known.len() == WRITES {
            known.remove(0);
        }
        known.push(write);
        conflict
    }
}
