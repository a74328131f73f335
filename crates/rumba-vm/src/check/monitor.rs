//! What the doors tell the checks that remember: who accessed what, who met whom. It decides nothing; [`super::race`]
//! and [`super::unwritten`] do.
//!
//! A launch that looks for races runs on one worker, in one order, so that what is found is a function of the program and
//! its input. Reads of what was never written are looked for on all workers, and told of the first thread that made one.

use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::check::clock::Thread;
use crate::check::finding::{Finding, FindingKind, Severity, Side};
use crate::check::memory::GROUPS;
use crate::check::order::Order;
use crate::check::race::{self, Meeting, Races};
use crate::check::record::{ConflictKind, Touch};
use crate::check::unwritten::Unwritten;
use crate::fault::{Access, AccessKind};
use crate::launch::Context;
use crate::op::Pc;
use crate::program::SHARED_START;
use crate::target::GROUP;
use crate::warp::{FULL, LANES, Warp, lanes_of};

/// The first of the findings at an instruction, or at two, and how many there are.
struct Found {
    touch: Touch,
    /// The earlier access of a race.
    earlier: Option<Touch>,
    address: u64,
    place: String,
    severity: Severity,
    count: u64,
}

/// The checks of one launch.
pub(crate) struct Monitor {
    /// Used by the one worker that there is then.
    races: Option<UnsafeCell<Races>>,
    found: Mutex<HashMap<(FindingKind, u32, u32), Found>>,
}

// SAFETY: a launch that looks for races has one worker, and what uses them returns before anything else does.
unsafe impl Sync for Monitor {}

impl Monitor {
    pub(crate) fn new(races: Option<Races>) -> Self {
        Self {
            races: races.map(UnsafeCell::new),
            found: Mutex::default(),
        }
    }

    /// Notes a finding of an access, with an earlier one if it is a race. `place` says what lies at an address.
    #[cold]
    fn note(
        &self,
        kind: FindingKind,
        touch: Touch,
        earlier: Option<Touch>,
        address: u64,
        place: impl FnOnce(u64) -> String,
    ) {
        let other = earlier.map_or(touch.source, |earlier| earlier.source);
        let key = (kind, touch.source.min(other), touch.source.max(other));
        let mut all = lock(&self.found);
        let count = all.get(&key).map_or(0, |found| found.count) + 1;
        // The lanes of a warp run in step on today's devices, but nothing promises it.
        let place_of = |thread: Thread| (thread.block, warp_of(thread));
        let is_of_warp = earlier.is_some_and(|earlier| place_of(earlier.thread) == place_of(touch.thread));
        let own = if kind == FindingKind::DataRace && is_of_warp {
            Severity::Warning
        } else {
            kind.severity()
        };
        let severity = all.get(&key).map_or(own, |found| found.severity.max(own));
        // Workers come in any order, threads have one. Races are found by one worker, in one.
        let is_first = |found: &Found| earlier.is_none() && touch.thread < found.touch.thread;
        if all.get(&key).is_none_or(is_first) {
            let place = place(address);
            let found = Found {
                touch,
                earlier,
                address,
                place,
                severity,
                count,
            };
            all.insert(key, found);
        } else if let Some(found) = all.get_mut(&key) {
            found.count = count;
            found.severity = severity;
        }
    }

    /// Lets the races look at something, and notes what they find.
    #[inline]
    fn race(&self, warp: Option<&Warp>, look: impl FnOnce(&mut Races), place: impl Fn(u64) -> String) {
        let Some(races) = &self.races else { return };
        // SAFETY: one worker has them, and nothing that is called from here comes back here.
        let races = unsafe { &mut *races.get() };
        look(races);
        if !races.found.is_empty() {
            self.note_races(warp, races, place);
        }
    }

    #[cold]
    fn note_races(&self, warp: Option<&Warp>, races: &mut Races, place: impl Fn(u64) -> String) {
        for conflict in races.found.drain(..) {
            let is_write = |touch: &Touch| touch.kind == AccessKind::Write;
            let both_write = is_write(&conflict.touch) && is_write(&conflict.earlier);
            let kind = match conflict.kind {
                ConflictKind::Stale => FindingKind::StaleLoad,
                ConflictKind::Scoped => FindingKind::ScopedRace,
                ConflictKind::Volatile => FindingKind::VolatileRace,
                ConflictKind::Race if both_write && warp.is_some_and(|warp| warp.rewrites(&conflict)) => {
                    FindingKind::SameValueRace
                }
                ConflictKind::Race => FindingKind::DataRace,
            };
            self.note(kind, conflict.touch, Some(conflict.earlier), conflict.address, &place);
        }
    }

    /// What looked for races.
    pub(crate) fn into_races(self) -> Option<Races> {
        self.races.map(UnsafeCell::into_inner)
    }

    /// What was found, in the order of the program.
    pub(crate) fn take(&self, context: &Context<'_>) -> Vec<Finding> {
        let mut found: Vec<_> = lock(&self.found).drain().collect();
        found.sort_by_key(|(key, _)| *key);
        let debug = &context.program.debug;
        let side = |touch: Touch, address: u64| {
            let Touch {
                thread,
                bytes,
                kind,
                source,
            } = touch;
            let (ptx, ptx_line) = debug.ptx(source);
            let index = u32::from(thread.index);
            let arena = context.arena;
            let space = match address {
                _ if arena.shared.contains(address) => "shared",
                _ if arena.local.contains(address) => "local",
                _ => "global",
            };
            let access = Access {
                kind,
                bytes: bytes as u32,
                space,
            };
            Side {
                block: context.coordinates(u64::from(thread.block)),
                thread: context.thread(index / LANES as u32, index % LANES as u32),
                threads: 1,
                what: access.to_string(),
                access: Some(access),
                locations: debug.locations(source),
                ptx,
                ptx_line,
            }
        };
        let findings = found.into_iter().map(|((kind, ..), found)| {
            let own = side(found.touch, found.address);
            let other = found.earlier.map(|other| side(other, found.address));
            Finding {
                kind,
                severity: found.severity,
                kernel: Some(context.program.name.clone()),
                sides: std::iter::once(own).chain(other).collect(),
                address: Some(found.address),
                place: found.place,
                count: found.count,
                seed: context.seed,
            }
        });
        findings.collect()
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The warp that a thread belongs to, in its block.
fn warp_of(thread: Thread) -> usize {
    usize::from(thread.index) / LANES
}

impl Warp {
    /// Whether the launch is monitored.
    #[inline(always)]
    pub(crate) fn is_monitored(&self) -> bool {
        self.context().monitor.is_some()
    }

    /// The number of its block.
    fn block_number(&self) -> u32 {
        // SAFETY: the block outlives its warps' turns, and its number does not change meanwhile.
        unsafe { (*self.block).number }
    }

    /// Accesses by lanes at host addresses.
    pub(crate) fn observe(
        &self,
        source: u32,
        lanes: u32,
        host: impl Fn(usize) -> u64,
        (bytes, kind, order): (u64, AccessKind, Order),
        place: impl Fn(u64) -> String,
    ) {
        let context = self.context();
        let Some(monitor) = context.monitor else { return };
        let (block, warp) = (self.block_number(), self.index as u8);
        if let Some(map) = &context.allocations.unwritten {
            // Of these values it is known that they are undefined: the mistake is what depends on them.
            let program = context.program;
            let is_read = kind == AccessKind::Read;
            let arena = context.arena;
            let is_private = |address| arena.shared.contains(address) || arena.local.contains(address);
            let follows = |address| {
                is_read
                    && (program.undefines && map.is_undefined(address, 1)
                        || is_private(address) && program.followed.contains(&source))
            };
            let place = |address| map.explain(address, place(address));
            for lane in lanes_of(lanes) {
                let address = host(lane);
                if kind != AccessKind::Write
                    && let Some(first) = map.met(address, bytes)
                    && !follows(first)
                {
                    let index = (usize::from(warp) * LANES + lane) as u16;
                    let touch = Touch {
                        thread: Thread { block, index },
                        bytes,
                        kind,
                        source,
                    };
                    monitor.note(FindingKind::UnwrittenRead, touch, None, first, place);
                }
                if kind != AccessKind::Read {
                    map.write(address, bytes);
                }
            }
        }
        let access = race::Access {
            block,
            warp,
            source,
            bytes,
            kind,
            order,
        };
        monitor.race(Some(self), |races| races.lanes(&access, lanes, host), place);
    }

    /// Accesses by all lanes, each group of which starts at a host address and goes on in steps: of as many bytes as a lane
    /// accesses, or of none.
    pub(crate) fn observe_groups(
        &self,
        source: u32,
        hosts: [u64; GROUPS],
        step: u64,
        (bytes, kind, order): (u64, AccessKind, Order),
        place: impl Fn(u64) -> String,
    ) {
        let context = self.context();
        let Some(monitor) = context.monitor else { return };
        if let Some(map) = &context.allocations.unwritten {
            let whole = bytes + step * (GROUP as u64 - 1);
            let in_a_row = step != 0 && hosts.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == whole);
            let (count, whole) = if in_a_row {
                (1, whole * GROUPS as u64)
            } else {
                (GROUPS, whole)
            };
            let mut ranges = hosts.into_iter().take(count);
            let host = |lane: usize| hosts[lane / GROUP] + step * (lane % GROUP) as u64;
            match kind {
                AccessKind::Write => ranges.for_each(|start| map.write(start, whole)),
                AccessKind::Read | AccessKind::Atomic => {
                    if ranges.any(|start| map.any(start, whole)) {
                        return self.observe(source, FULL, host, (bytes, kind, order), place);
                    }
                }
            }
        }
        let access = race::Access {
            block: self.block_number(),
            warp: self.index as u8,
            source,
            bytes,
            kind,
            order,
        };
        monitor.race(Some(self), |races| races.groups(&access, hosts, step), place);
    }

    /// Whether accesses to an allocation have to be told of, even where they are in bounds.
    pub(crate) fn watches(&self, start: u64, bytes: u64) -> bool {
        let context = self.context();
        // What is written may become undefined again.
        let undefines = context.program.undefines;
        let is_partial = |map: &Unwritten| map.knows(start) && (undefines || !map.is_written(start, start + bytes));
        // SAFETY: as in `Monitor::race`.
        let is_shared = |races: &UnsafeCell<Races>| unsafe { (*races.get()).knows(start) };
        context.monitor.is_some_and(|monitor| {
            monitor.races.as_ref().is_some_and(is_shared)
                || context.allocations.unwritten.as_ref().is_some_and(is_partial)
        })
    }

    /// Stops asking about shared memory of which every byte was written, if nothing else is to be known of it.
    fn relax(&mut self) {
        let context = self.context();
        if let Some(monitor) = context.monitor
            && monitor.races.is_none()
            && !context.program.undefines
            && self.shared_known < self.shared_end
            && let Some(map) = &context.allocations.unwritten
        {
            let bytes = self.shared_end - SHARED_START;
            if !map.any(self.shared_base + SHARED_START, bytes) {
                self.shared_known = self.shared_end;
            }
        }
    }

    /// A fence of the active lanes.
    pub(crate) fn observe_fence(&self, order: Order, is_sequential: bool) {
        self.tell_races(|races, block, warp| races.fence(block, warp, self.active, order, is_sequential));
    }

    /// A lane has waited for a phase of an mbarrier that has ended.
    pub(crate) fn observe_wait(&self, pc: Pc, lane: usize, object: u64) {
        self.tell_races(|races, block, warp| {
            let access = race::Access {
                block,
                warp,
                source: pc.source,
                bytes: 8,
                kind: AccessKind::Read,
                order: Order::from_bits(pc.extra, AccessKind::Read),
            };
            races.see(&access, lane, object);
        });
    }

    /// The active lanes exit.
    pub(crate) fn observe_exit(&self) {
        self.tell_races(|races, block, warp| races.exit(block, warp, self.active));
    }

    /// Lanes have met at `bar.warp.sync`.
    pub(crate) fn observe_warp_sync(&self, mask: u32) {
        self.tell_races(|races, block, warp| races.warp_sync(block, warp, mask));
    }

    /// Lanes arrive at a barrier of their block, and wait there unless they are `passing`.
    pub(crate) fn observe_arrival(&self, id: u8, phase: u32, mask: u32, passing: bool) {
        self.tell_races(|races, block, warp| {
            races.arrive(Meeting::Block { block, id, phase }, block, warp, mask, passing);
        });
    }

    /// Lanes that waited at a barrier of their block go on.
    pub(crate) fn observe_departure(&mut self, id: u8, phase: u32, mask: u32) {
        self.relax();
        self.tell_races(|races, block, warp| races.leave(Meeting::Block { block, id, phase }, block, warp, mask));
    }

    /// Lanes arrive at the barrier of their cluster, or go on from it.
    pub(crate) fn observe_cluster(&self, phase: u32, mask: u32, arriving: bool) {
        let size = self.context().cluster_size();
        self.observe_meeting(mask, arriving, |block| Meeting::Cluster {
            first: block / size * size,
            phase,
        });
    }

    /// Lanes arrive at the barrier of the grid, or go on from it.
    pub(crate) fn observe_grid(&self, phase: u32, mask: u32, arriving: bool) {
        self.observe_meeting(mask, arriving, |_| Meeting::Grid { phase });
    }

    fn observe_meeting(&self, mask: u32, arriving: bool, meeting: impl Fn(u32) -> Meeting) {
        self.tell_races(|races, block, warp| {
            if arriving {
                races.arrive(meeting(block), block, warp, mask, false);
            } else {
                races.leave(meeting(block), block, warp, mask);
            }
        });
    }

    /// Tells the races of something that this warp does: the numbers of its block and its own.
    fn tell_races(&self, tell: impl FnOnce(&mut Races, u32, u8)) {
        self.context()
            .tell_races(|races| tell(races, self.block_number(), self.index as u8));
    }
}

impl Context<'_> {
    /// Whether races are looked for.
    pub(crate) fn seeks_races(&self) -> bool {
        self.monitor.is_some_and(|monitor| monitor.races.is_some())
    }

    /// A block begins, with a part of the window for shared memory.
    pub(crate) fn observe_begin(&self, block: u32, shared: std::ops::Range<u64>) {
        self.tell_races(|races| races.begin(block, shared));
    }

    /// Memory is handed out to a block: what was there before counts as unwritten.
    pub(crate) fn observe_fresh(&self, start: u64, bytes: u64) {
        if let Some(map) = &self.allocations.unwritten {
            map.begin(start, bytes);
        }
    }

    /// An mbarrier is initialised or, if it is not `valid`, ends.
    pub(crate) fn observe_mbarrier(&self, object: u64, valid: bool) {
        self.tell_races(|races| races.mbarrier(object, valid));
    }

    /// The phase of an mbarrier has ended.
    pub(crate) fn observe_phase(&self, object: u64) {
        self.tell_races(|races| races.end_phase(object));
    }

    /// A block has ended.
    pub(crate) fn observe_end(&self, block: u32) {
        self.tell_races(|races| races.end(block));
    }

    fn tell_races(&self, tell: impl FnOnce(&mut Races)) {
        if let Some(monitor) = self.monitor {
            monitor.race(None, tell, |_| String::new());
        }
    }
}
