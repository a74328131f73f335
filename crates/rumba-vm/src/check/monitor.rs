//! What the doors tell the checks that remember: who accessed what, who met whom. It decides nothing; [`super::race`]
//! and [`super::unwritten`] do.
//!
//! A launch that looks for races runs on one worker, in one order, so that what is found is a function of the program and
//! its input. Reads of what was never written are looked for on all workers, and told of the first thread that made one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::check::clock::Thread;
use crate::check::finding::{Finding, FindingKind, Side};
use crate::check::memory::GROUPS;
use crate::check::order::Order;
use crate::check::race::{Conflict, Meeting, Races, Touch};
use crate::check::unwritten::Unwritten;
use crate::fault::{Access, AccessKind};
use crate::launch::Context;
use crate::target::GROUP;
use crate::warp::{FULL, LANES, Warp, lanes_of};

/// The first of the findings at an instruction, or at two, and how many there are.
struct Found {
    touch: Touch,
    /// The earlier access of a race.
    conflict: Option<Conflict>,
    address: u64,
    place: String,
    count: u64,
}

/// The checks of one launch.
pub(crate) struct Monitor {
    races: Option<Mutex<Races>>,
    found: Mutex<HashMap<(FindingKind, u32, u32), Found>>,
}

impl Monitor {
    pub(crate) fn new(races: Option<Races>) -> Self {
        Self {
            races: races.map(Mutex::new),
            found: Mutex::default(),
        }
    }

    /// Notes a finding of an access, with an earlier one if it is a race. `place` says what lies at an address.
    #[cold]
    fn note(
        &self,
        kind: FindingKind,
        touch: Touch,
        conflict: Option<Conflict>,
        address: u64,
        place: impl FnOnce(u64) -> String,
    ) {
        let other = conflict.map_or(touch.source, |conflict| conflict.source);
        let key = (kind, touch.source.min(other), touch.source.max(other));
        let mut all = lock(&self.found);
        let count = all.get(&key).map_or(0, |found| found.count) + 1;
        // Workers come in any order, threads have one. Races are found by one worker, in one.
        let is_first = |found: &Found| conflict.is_none() && touch.thread < found.touch.thread;
        if all.get(&key).is_none_or(is_first) {
            let place = place(address);
            let found = Found {
                touch,
                conflict,
                address,
                place,
                count,
            };
            all.insert(key, found);
        } else if let Some(found) = all.get_mut(&key) {
            found.count = count;
        }
    }

    /// Looks for an earlier access that is not ordered before this one.
    fn race(&self, races: &mut Races, touch: Touch, place: impl FnOnce(u64) -> String) {
        let Some(conflict) = races.touch(touch) else {
            return;
        };
        let kind = if conflict.scoped {
            FindingKind::ScopedRace
        } else {
            FindingKind::DataRace
        };
        self.note(kind, touch, Some(conflict), conflict.address, place);
    }

    /// What was found, in the order of the program.
    pub(crate) fn take(&self, context: &Context<'_>) -> Vec<Finding> {
        let mut found: Vec<_> = lock(&self.found).drain().collect();
        found.sort_by_key(|(key, _)| *key);
        let debug = &context.program.debug;
        let side = |thread: Thread, address: u64, kind: AccessKind, bytes: u64, source: u32| {
            let (ptx, ptx_line) = debug.ptx(source);
            let index = u32::from(thread.index);
            let arena = context.arena;
            let space = match address {
                _ if arena.shared.contains(address) => "shared",
                _ if arena.local.contains(address) => "local",
                _ => "global",
            };
            Side {
                block: context.coordinates(u64::from(thread.block)),
                thread: context.thread(index / LANES as u32, index % LANES as u32),
                access: Access {
                    kind,
                    bytes: bytes as u32,
                    space,
                },
                locations: debug.locations(source),
                ptx,
                ptx_line,
            }
        };
        let findings = found.into_iter().map(|((kind, ..), found)| {
            let Found { touch, conflict, .. } = found;
            let own = side(touch.thread, found.address, touch.kind, touch.bytes, touch.source);
            let other = conflict.map(|other| side(other.thread, found.address, other.kind, other.bytes, other.source));
            Finding {
                kind,
                kernel: Some(context.program.name.clone()),
                sides: std::iter::once(own).chain(other).collect(),
                address: found.address,
                place: found.place,
                count: found.count,
            }
        });
        findings.collect()
    }
}

fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads of a warp's lanes.
fn threads(warp: &Warp, mask: u32) -> impl Iterator<Item = Thread> + use<> {
    // SAFETY: the block outlives its warps' turns, and its number does not change meanwhile.
    let block = unsafe { (*warp.block).number };
    let first = warp.index as usize * LANES;
    lanes_of(mask).map(move |lane| Thread {
        block,
        index: (first + lane) as u16,
    })
}

impl Warp {
    /// Whether the launch is monitored.
    #[inline(always)]
    pub(crate) fn is_monitored(&self) -> bool {
        self.context().monitor.is_some()
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
        let touch = |lane, thread| Touch {
            thread,
            address: host(lane),
            bytes,
            kind,
            order,
            source,
        };
        if let Some(map) = &context.allocations.unwritten {
            for (lane, thread) in lanes_of(lanes).zip(threads(self, lanes)) {
                let address = host(lane);
                if kind != AccessKind::Write
                    && let Some(first) = map.met(address, bytes)
                {
                    let kind = FindingKind::UnwrittenRead;
                    monitor.note(kind, touch(lane, thread), None, first, &place);
                }
                if kind != AccessKind::Read {
                    map.write(address, bytes);
                }
            }
        }
        if let Some(races) = &monitor.races {
            let mut races = lock(races);
            for (lane, thread) in lanes_of(lanes).zip(threads(self, lanes)) {
                let touch = touch(lane, thread);
                if context.arena.shared.contains(touch.address) || context.arena.heap.contains(touch.address) {
                    monitor.race(&mut races, touch, &place);
                }
            }
        }
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
        let host = |lane: usize| hosts[lane / GROUP] + step * (lane % GROUP) as u64;
        if let Some(monitor) = context.monitor
            && monitor.races.is_none()
            && let Some(map) = &context.allocations.unwritten
        {
            let whole = bytes + step * (GROUP as u64 - 1);
            let in_a_row = step != 0 && hosts.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == whole);
            let (count, whole) = if in_a_row {
                (1, whole * GROUPS as u64)
            } else {
                (GROUPS, whole)
            };
            let mut ranges = hosts.into_iter().take(count);
            match kind {
                AccessKind::Write => return ranges.for_each(|start| map.write(start, whole)),
                AccessKind::Read | AccessKind::Atomic if !ranges.any(|start| map.any(start, whole)) => return,
                AccessKind::Read | AccessKind::Atomic => {}
            }
        }
        self.observe(source, FULL, host, (bytes, kind, order), place);
    }

    /// Whether accesses to an allocation have to be told of, even where they are in bounds.
    pub(crate) fn watches(&self, start: u64, bytes: u64) -> bool {
        let context = self.context();
        context.monitor.is_some_and(|monitor| {
            let is_partial = |map: &Unwritten| !map.is_written(start, start + bytes);
            context.arena.heap.contains(start)
                && (monitor.races.is_some() || context.allocations.unwritten.as_ref().is_some_and(is_partial))
        })
    }

    /// A fence of the active lanes.
    pub(crate) fn observe_fence(&self, order: Order) {
        self.tell_races(|races| threads(self, self.active).for_each(|thread| races.fence(thread, order)));
    }

    /// Lanes have met at `bar.warp.sync`.
    pub(crate) fn observe_warp_sync(&self, mask: u32) {
        self.tell_races(|races| {
            let threads: Vec<_> = threads(self, mask).collect();
            races.warp_sync(&threads, mask == u32::MAX);
        });
    }

    /// Lanes arrive at a barrier of their block, and wait there unless they are `passing`.
    pub(crate) fn observe_arrival(&self, id: u8, phase: u32, mask: u32, passing: bool) {
        self.observe_meeting(mask, |races, thread| {
            let block = thread.block;
            races.arrive(Meeting::Block { block, id, phase }, thread, passing);
        });
    }

    /// Lanes that waited at a barrier of their block go on.
    pub(crate) fn observe_departure(&self, id: u8, phase: u32, mask: u32) {
        self.observe_meeting(mask, |races, thread| {
            let block = thread.block;
            races.leave(Meeting::Block { block, id, phase }, thread);
        });
    }

    /// Lanes arrive at the barrier of their cluster, or go on from it.
    pub(crate) fn observe_cluster(&self, phase: u32, mask: u32, arriving: bool) {
        let size = self.context().cluster_size();
        self.observe_meeting(mask, |races, thread| {
            let first = thread.block / size * size;
            let meeting = Meeting::Cluster { first, phase };
            if arriving {
                races.arrive(meeting, thread, false);
            } else {
                races.leave(meeting, thread);
            }
        });
    }

    /// Lanes arrive at the barrier of the grid, or go on from it.
    pub(crate) fn observe_grid(&self, phase: u32, mask: u32, arriving: bool) {
        self.observe_meeting(mask, |races, thread| {
            if arriving {
                races.arrive(Meeting::Grid { phase }, thread, false);
            } else {
                races.leave(Meeting::Grid { phase }, thread);
            }
        });
    }

    fn observe_meeting(&self, mask: u32, tell: impl Fn(&mut Races, Thread)) {
        self.tell_races(|races| threads(self, mask).for_each(|thread| tell(races, thread)));
    }

    fn tell_races(&self, tell: impl FnOnce(&mut Races)) {
        self.context().tell_races(tell);
    }
}

impl Context<'_> {
    /// A block begins, with a part of the window for shared memory.
    pub(crate) fn observe_begin(&self, block: [u32; 3], shared: std::ops::Range<u64>) {
        self.tell_races(|races| races.begin(self.number_of(block), shared));
    }

    /// Memory is handed out to a block: what was there before counts as unwritten.
    pub(crate) fn observe_fresh(&self, start: u64, bytes: u64) {
        if let Some(map) = &self.allocations.unwritten {
            map.hand_out(start, bytes);
        }
    }

    /// A block has ended.
    pub(crate) fn observe_end(&self, block: [u32; 3]) {
        self.tell_races(|races| races.end(self.number_of(block)));
    }

    fn tell_races(&self, tell: impl FnOnce(&mut Races)) {
        if let Some(monitor) = self.monitor
            && let Some(races) = &monitor.races
        {
            tell(&mut lock(races));
        }
    }

    /// The number of a block, counted cluster by cluster: the inverse of [`Context::coordinates`].
    fn number_of(&self, block: [u32; 3]) -> u32 {
        let linear = |[x, y, z]: [u32; 3], [columns, rows, _]: [u32; 3]| x + columns * (y + rows * z);
        let inside = [0, 1, 2].map(|axis| block[axis] % self.cluster[axis]);
        let cluster = [0, 1, 2].map(|axis| block[axis] / self.cluster[axis]);
        linear(cluster, self.clusters()) * self.cluster_size() + linear(inside, self.cluster)
    }
}
