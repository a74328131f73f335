//! What the doors tell the checks that remember: who accessed what, who met whom. It decides nothing; [`super::race`]
//! does.
//!
//! A launch that is monitored runs on one worker, in one order, so that what is found is a function of the program and its
//! input.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::check::clock::Thread;
use crate::check::finding::{Finding, FindingKind, Side};
use crate::check::order::Order;
use crate::check::race::{Conflict, Meeting, Races, Touch};
use crate::fault::{Access, AccessKind};
use crate::launch::Context;
use crate::warp::{LANES, Warp, lanes_of};

/// The first of the findings at two instructions, and how many there are.
struct Found {
    touch: Touch,
    conflict: Conflict,
    place: String,
    count: u64,
}

/// The checks of one launch.
pub(crate) struct Monitor {
    pub(crate) races: Races,
    found: HashMap<(FindingKind, u32, u32), Found>,
}

/// A monitor as a launch has it.
pub(crate) type Shared = Mutex<Monitor>;

impl Monitor {
    /// For a launch with blocks of this many threads and clusters of this many blocks.
    pub(crate) fn new(threads: u32, cluster: u32) -> Self {
        Self {
            races: Races::new(threads, cluster),
            found: HashMap::new(),
        }
    }

    /// An access by one thread. `place` says what lies at an address.
    fn touch(&mut self, touch: Touch, place: impl FnOnce(u64) -> String) {
        let Some(conflict) = self.races.touch(touch) else {
            return;
        };
        let kind = if conflict.scoped {
            FindingKind::ScopedRace
        } else {
            FindingKind::DataRace
        };
        let lines = (touch.source.min(conflict.source), touch.source.max(conflict.source));
        let found = self.found.entry((kind, lines.0, lines.1)).or_insert_with(|| Found {
            touch,
            conflict,
            place: place(conflict.address),
            count: 0,
        });
        found.count += 1;
    }

    /// What was found, in the order of the program.
    fn take(&mut self, context: &Context<'_>) -> Vec<Finding> {
        let mut found: Vec<_> = self.found.drain().collect();
        found.sort_by_key(|(key, _)| *key);
        let debug = &context.program.debug;
        let side = |thread: Thread, kind: AccessKind, bytes: u64, space: &'static str, source: u32| {
            let (ptx, ptx_line) = debug.ptx(source);
            let index = u32::from(thread.index);
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
            let Found {
                touch,
                conflict,
                place,
                count,
            } = found;
            let space = if context.arena.shared.contains(touch.address) {
                "shared"
            } else {
                "global"
            };
            Finding {
                kind,
                kernel: context.program.name.clone(),
                side: side(touch.thread, touch.kind, touch.bytes, space, touch.source),
                other: side(conflict.thread, conflict.kind, conflict.bytes, space, conflict.source),
                address: conflict.address,
                place,
                count,
            }
        });
        findings.collect()
    }
}

/// What a launch that has ended was found to do.
pub(crate) fn findings(monitor: &Shared, context: &Context<'_>) -> Vec<Finding> {
    lock(monitor).take(context)
}

/// Takes the monitor of a launch.
fn lock(monitor: &Shared) -> MutexGuard<'_, Monitor> {
    monitor.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The threads of a warp's lanes.
fn threads(warp: &Warp, mask: u32) -> impl Iterator<Item = Thread> + use<> {
    // SAFETY: the block outlives its warps' turns, and its coordinates do not change meanwhile.
    let coordinates = unsafe { (*warp.block).coordinates };
    let block = warp.context().number_of(coordinates);
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
        let Some(monitor) = self.context().monitor else { return };
        let arena = self.context().arena;
        let mut monitor = lock(monitor);
        for (lane, thread) in lanes_of(lanes).zip(threads(self, lanes)) {
            let address = host(lane);
            if arena.shared.contains(address) || arena.heap.contains(address) {
                let touch = Touch {
                    thread,
                    address,
                    bytes,
                    kind,
                    order,
                    source,
                };
                monitor.touch(touch, &place);
            }
        }
    }

    /// A fence of the active lanes.
    pub(crate) fn observe_fence(&self, order: Order) {
        if let Some(monitor) = self.context().monitor {
            let mut monitor = lock(monitor);
            for thread in threads(self, self.active) {
                monitor.races.fence(thread, order);
            }
        }
    }

    /// Lanes have met at `bar.warp.sync`.
    pub(crate) fn observe_warp_sync(&self, mask: u32) {
        if let Some(monitor) = self.context().monitor {
            let threads: Vec<_> = threads(self, mask).collect();
            lock(monitor).races.warp_sync(&threads, mask == u32::MAX);
        }
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
        if let Some(monitor) = self.context().monitor {
            let mut monitor = lock(monitor);
            for thread in threads(self, mask) {
                tell(&mut monitor.races, thread);
            }
        }
    }
}

impl Context<'_> {
    /// A block begins, with a part of the window for shared memory.
    pub(crate) fn observe_begin(&self, block: [u32; 3], shared: std::ops::Range<u64>) {
        if let Some(monitor) = self.monitor {
            lock(monitor).races.begin(self.number_of(block), shared);
        }
    }

    /// A block has ended.
    pub(crate) fn observe_end(&self, block: [u32; 3]) {
        if let Some(monitor) = self.monitor {
            lock(monitor).races.end(self.number_of(block));
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
