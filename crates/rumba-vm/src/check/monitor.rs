//! The reports of the access path, barriers and fences to the checks that keep a history: accesses, and threads that
//! synchronize. The decisions are made by [`crate::check::race`] and [`crate::mem::unwritten`].
//!
//! A launch that looks for races runs on one worker, in one order, so that its findings are a function of the program
//! and its input. Launches that are checked together report to one detector, in turns. All workers look for reads of unwritten memory; the report names the first thread that made such a
//! read.

use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::lanes::LANES;
use crate::base::report::AccessKind;
use crate::check::clock::Thread;
use crate::check::joint::JointRaces;
use crate::check::proxy::Proxy;
use crate::check::race::{BarrierPhase, Races};
use crate::check::record::{Asynchronous, Conflict, ConflictKind, ThreadAccess};
use crate::explore::past::Pasts;
use rumba_checks::{FindingKind, Severity};

/// The first finding at an instruction, or at a pair of instructions, and the number of findings there.
pub(crate) struct Found {
    pub(crate) touch: ThreadAccess,
    /// The earlier access of a race, and the loads of updates.
    pub(crate) others: Vec<ThreadAccess>,
    pub(crate) address: u64,
    pub(crate) place: String,
    pub(crate) severity: Severity,
    pub(crate) count: u64,
}

/// The check of races of a launch. A launch with this check has one worker.
pub(crate) enum Detector {
    /// The worker alone uses the check.
    Own(Box<UnsafeCell<Races>>),
    /// The worker uses the check in its turns alone.
    Joint(Arc<JointRaces>),
}

impl Detector {
    fn races(&self) -> *mut Races {
        match self {
            Self::Own(races) => races.get(),
            Self::Joint(joint) => joint.get(),
        }
    }
}

/// The checks of one launch.
pub(crate) struct Monitor {
    /// The check of races, and where it is: each access asks for that.
    detector: Option<Detector>,
    races: *mut Races,
    /// The happens-before order of operations, if orders are explored.
    pasts: Option<Mutex<Pasts<BarrierPhase>>>,
    found: Mutex<HashMap<(FindingKind, u32, u32), Found>>,
}

// SAFETY: a launch that looks for races has one worker, which uses `races` in its turn if other launches use it, too; and each use
// returns before the next one begins.
unsafe impl Sync for Monitor {}

impl Monitor {
    pub(crate) fn new(detector: Option<Detector>, pasts: Option<Pasts<BarrierPhase>>) -> Self {
        let place = detector.as_ref().map_or(std::ptr::null_mut(), Detector::races);
        Self { detector, races: place, pasts: pasts.map(Mutex::new), found: Mutex::default() }
    }

    /// Notes a finding of an access, with the other accesses involved. `place` describes the object at an address.
    #[cold]
    pub(crate) fn note(
        &self,
        kind: FindingKind,
        touch: ThreadAccess,
        others: &[ThreadAccess],
        address: u64,
        place: impl FnOnce(u64) -> String,
    ) {
        let earlier = others.first();
        let other = earlier.map_or(touch.source, |earlier| earlier.source);
        let key = (kind, touch.source.min(other), touch.source.max(other));
        let mut all = lock(&self.found);
        let count = all.get(&key).map_or(0, |found| found.count) + 1;
        // The lanes of a warp run in lockstep on today's devices, but nothing promises it.
        let place_of = |thread: Thread| (thread.block, warp_of(thread));
        let is_of_warp = earlier.is_some_and(|earlier| place_of(earlier.thread) == place_of(touch.thread));
        let is_own = |earlier: &ThreadAccess| earlier.thread == touch.thread;
        let own = match kind {
            FindingKind::DataRace if is_of_warp => Severity::Warning,
            // A thread that overwrites memory that only it has read before has read nothing stale.
            FindingKind::StaleLoad if touch.kind == AccessKind::Write && earlier.is_some_and(is_own) => Severity::Info,
            _ => kind.severity(),
        };
        let severity = all.get(&key).map_or(own, |found| found.severity.max(own));
        // Workers report in any order; threads are ordered by their numbers. Races are found by one worker, in one
        // order.
        let is_first = |found: &Found| earlier.is_none() && touch.thread < found.touch.thread;
        if all.get(&key).is_none_or(is_first) {
            let place = place(address);
            let found = Found { touch, others: others.to_vec(), address, place, severity, count };
            all.insert(key, found);
        } else if let Some(found) = all.get_mut(&key) {
            found.count = count;
            found.severity = severity;
        }
    }

    /// Runs `look` on the check of races, and notes the conflicts found.
    #[inline]
    pub(crate) fn race(
        &self,
        rewrites: impl Fn(&Conflict) -> bool,
        look: impl FnOnce(&mut Races),
        place: impl Fn(u64) -> String,
    ) {
        // SAFETY: `detector` keeps the check. One worker uses the check, in its turn, and nothing called from here calls this
        // function again.
        let Some(races) = (unsafe { self.races.as_mut() }) else { return };
        look(races);
        if !races.found.is_empty() {
            self.note_races(rewrites, races, place);
        }
    }

    #[cold]
    fn note_races(&self, rewrites: impl Fn(&Conflict) -> bool, races: &mut Races, place: impl Fn(u64) -> String) {
        for conflict in races.take() {
            let is_write = |touch: &ThreadAccess| touch.kind == AccessKind::Write;
            let is_read = |touch: &ThreadAccess| touch.kind == AccessKind::Read;
            let both_write = is_write(&conflict.touch) && is_write(&conflict.earlier);
            let is_copy = |by| matches!(by, Some(Asynchronous::Copy | Asynchronous::Store));
            let by = [&conflict.earlier, &conflict.touch].map(|touch| touch.asynchronous);
            let initialises = [&conflict.earlier, &conflict.touch].iter().any(|touch| races.initialises(touch.source));
            let kind = match conflict.kind {
                ConflictKind::Unfenced(Proxy::MapAcquired) => FindingKind::StaleTensorMap,
                ConflictKind::Unfenced(_) => FindingKind::MissingProxyFence,
                _ if initialises => FindingKind::UnseenMbarrier,
                ConflictKind::Race if by.into_iter().all(|by| by.is_some_and(Asynchronous::is_of_tensor)) => {
                    FindingKind::PendingTensorOperation
                }
                // Copies to the same global memory are stores.
                ConflictKind::Race if both_write && by == [Some(Asynchronous::Store); 2] => {
                    if races.stores_same(&conflict) { FindingKind::SameValueRace } else { FindingKind::DataRace }
                }
                // An access to memory that an asynchronous operation under way reads or writes.
                ConflictKind::Race if is_copy(by[1]) && !is_read(&conflict.touch) => FindingKind::EarlyRefill,
                ConflictKind::Race if is_copy(by[0]) => FindingKind::PendingCopy,
                ConflictKind::Race if matches!(by[0], Some(Asynchronous::Product | Asynchronous::Tensor)) => {
                    FindingKind::PendingProduct
                }
                ConflictKind::Stale => FindingKind::StaleLoad,
                ConflictKind::Scoped => FindingKind::ScopedRace,
                ConflictKind::Volatile => FindingKind::VolatileRace,
                ConflictKind::LostUpdate { is_idempotent: true } if rewrites(&conflict) => continue,
                ConflictKind::LostUpdate { .. } => FindingKind::LostUpdate,
                ConflictKind::Race if both_write && rewrites(&conflict) => FindingKind::SameValueRace,
                ConflictKind::Race => FindingKind::DataRace,
            };
            let others: Vec<_> =
                std::iter::once(conflict.earlier).chain(conflict.loads.into_iter().flatten()).collect();
            self.note(kind, conflict.touch, &others, conflict.address, &place);
        }
    }

    /// The happens-before order of operations, if orders are explored.
    pub(crate) fn pasts(&self) -> Option<MutexGuard<'_, Pasts<BarrierPhase>>> {
        self.pasts.as_ref().map(lock)
    }

    /// Takes the findings noted so far.
    pub(crate) fn drain(&self) -> Vec<((FindingKind, u32, u32), Found)> {
        lock(&self.found).drain().collect()
    }

    /// Whether races are looked for.
    pub(crate) fn seeks_races(&self) -> bool {
        self.detector.is_some()
    }

    /// Whether races are looked for in an allocation.
    pub(crate) fn knows(&self, start: u64) -> bool {
        // SAFETY: as in [`Self::race`].
        unsafe { self.races.as_ref() }.is_some_and(|races| races.knows(start))
    }

    /// Gives the check of races back, if this launch alone has used it.
    pub(crate) fn into_races(self) -> Option<Races> {
        match self.detector? {
            Detector::Own(races) => Some((*races).into_inner()),
            Detector::Joint(_) => None,
        }
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The warp that a thread belongs to, in its block.
fn warp_of(thread: Thread) -> usize {
    usize::from(thread.index) / LANES
}
