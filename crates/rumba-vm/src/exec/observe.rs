//! The events that warps and launches report to the checks: accesses, barriers, fences, exits, copies.
//!
//! The detectors of [`crate::check`] make all decisions. A launch without checks pays one test.

use crate::base::lanes::{BARRIERS, LANES, SHARED_START, lanes_of};
use crate::base::report::AccessKind;
use crate::check::agent::{Agent, Completion};
use crate::check::clock::Thread;
use crate::check::flight::Flight;
use crate::check::monitor::Monitor;
use crate::check::notes::Actor;
use crate::check::order::Order;
use crate::check::proxy::Proxy;
use crate::check::race;
use crate::check::race::{Arriving, BarrierPhase, Races};
use crate::check::reads::{Growth, ReadKey};
use crate::check::record::ThreadAccess;
use crate::check::strided::Strided;
use crate::check::watch::StoreAccess;
use crate::explore::past::Pasts;
use crate::machine::block::GROUP_WARPS;
use crate::machine::context::Context;
use crate::machine::op::Pc;
use crate::machine::warp::Warp;
use crate::mem::copies::Delivery;
use crate::mem::unwritten::Unwritten;
use rumba_checks::FindingKind;
use std::ops::Range;

/// The mask of some lanes.
#[inline(always)]
fn mask_of_lanes(lanes: impl Iterator<Item = usize>) -> u32 {
    lanes.fold(0, |mask, lane| mask | 1 << lane)
}

/// The most bytes from the first to the last access of lanes that are looked at together.
const TOGETHER: u64 = 4096;

/// The lanes whose accesses meet bytes that were not written.
fn unwritten_lanes(map: &Unwritten, lanes: u32, host: impl Fn(usize) -> u64, bytes: u64) -> u32 {
    // Mostly every byte was written before, and so was the memory between the lanes.
    let (low, high) =
        lanes_of(lanes).fold((u64::MAX, 0), |(low, high), lane| (low.min(host(lane)), high.max(host(lane))));
    let is_near = low <= high && high - low <= TOGETHER;
    if is_near && !map.any(low, high - low + bytes) {
        return 0;
    }
    mask_of_lanes(lanes_of(lanes).filter(|lane| map.any(host(*lane), bytes)))
}

impl Warp {
    /// Whether the launch is monitored.
    #[inline(always)]
    pub(crate) fn is_monitored(&self) -> bool {
        self.context().monitor.is_some()
    }

    /// The number by which the checks know its block.
    fn block_number(&self) -> u32 {
        // SAFETY: the block outlives its warps' turns, and its number does not change meanwhile.
        self.context().known_block(unsafe { (*self.block).number })
    }

    /// Accesses by lanes at host addresses.
    pub(crate) fn observe(
        &self,
        source: u32,
        lanes: u32,
        host: impl Fn(usize) -> u64,
        (bytes, kind, order): (u64, AccessKind, Order),
        agent: Option<Agent>,
        place: impl Fn(u64) -> String,
    ) {
        let context = self.context();
        let Some(monitor) = context.monitor else { return };
        let (block, warp) = (self.block_number(), self.index as u8);
        let known_source = context.known_source(source);
        if kind != AccessKind::Read {
            self.tell_watch(source, lanes, &host, bytes);
        }
        if let Some(map) = &context.allocations.unwritten {
            // The program itself tracks these undefined values: only an operation that depends on them is a mistake.
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
            for lane in lanes_of(unwritten_lanes(map, lanes, &host, bytes)) {
                let address = host(lane);
                if kind != AccessKind::Write
                    && let Some(first) = map.met(address, bytes)
                    && !follows(first)
                {
                    let index = (usize::from(warp) * LANES + lane) as u16;
                    let touch = ThreadAccess {
                        thread: Thread { block, index },
                        bytes,
                        kind,
                        source: known_source,
                        asynchronous: None,
                    };
                    monitor.note(FindingKind::UnwrittenRead, touch, &[], first, place);
                }
                if kind != AccessKind::Read {
                    map.write(address, bytes);
                }
            }
        }
        let access = race::Access { block, warp, source: known_source, bytes, kind, order, agent };
        monitor.race(
            |conflict| self.rewrites(conflict, lanes, &host),
            |races| {
                races.lanes(&access, lanes, &host);
                // A strong access may begin an epoch or acquire one.
                if order.is_strong() {
                    self.read_key.set(races.read_key(block, warp));
                }
            },
            place,
        );
    }

    /// Accesses by lanes at host addresses with a stride. That of a write is 0 or at least the bytes of a lane's access.
    pub(crate) fn observe_strided(
        &self,
        source: u32,
        places: &Strided,
        (bytes, kind, order): (u64, AccessKind, Order),
        place: impl Fn(u64) -> String,
    ) {
        let context = self.context();
        let Some(monitor) = context.monitor else { return };
        let host = |lane: usize| places.host(lane);
        if kind != AccessKind::Read {
            self.tell_watch(source, places.lanes, host, bytes);
        }
        if let Some(map) = &context.allocations.unwritten {
            for (start, length, is_dense) in places.spans(bytes) {
                if kind == AccessKind::Write && is_dense {
                    map.write(start, length);
                } else if map.any(start, length) {
                    // Between the bytes of two lanes nothing is written.
                    return self.observe(source, places.lanes, host, (bytes, kind, order), None, place);
                }
            }
        }
        let access = race::Access {
            block: self.block_number(),
            warp: self.index as u8,
            source: context.known_source(source),
            bytes,
            kind,
            order,
            agent: None,
        };
        monitor.race(
            |conflict| self.rewrites(conflict, places.lanes, host),
            |races| {
                self.read_key.set(races.strided(&access, places));
                if kind == AccessKind::Read
                    && let Some(map) = &context.allocations.unwritten
                {
                    races.limit(access.source, access.block, map);
                }
            },
            place,
        );
    }

    /// Reports stores by lanes, if the launch watches a range of memory.
    #[inline]
    fn tell_watch(&self, source: u32, lanes: u32, host: impl Fn(usize) -> u64, bytes: u64) {
        let Some(watch) = self.context().watch else { return };
        // SAFETY: the block outlives its warps' turns, and its coordinates do not change meanwhile.
        let block = unsafe { (*self.block).coordinates };
        for lane in lanes_of(lanes) {
            let address = host(lane);
            let access = StoreAccess { lane, source, address, bytes };
            watch.tell(block, self.index, access);
        }
    }

    /// Whether accesses to an allocation must be reported, even if they are in bounds.
    pub(crate) fn watches(&self, start: u64, bytes: u64) -> bool {
        let context = self.context();
        let is_partial = |map: &Unwritten| map.knows(start) && !map.is_written(start, start + bytes);
        context.monitor.is_some_and(|monitor| {
            context.watch.is_some()
                || monitor.knows(start)
                || context.allocations.unwritten.as_ref().is_some_and(is_partial)
        })
    }

    /// Stops monitoring shared memory of which every byte was written, if no other check monitors it.
    fn relax(&mut self) {
        let context = self.context();
        if let Some(monitor) = context.monitor
            && !monitor.seeks_races()
            && self.shared_known() < self.shared_end
            && let Some(map) = &context.allocations.unwritten
        {
            let bytes = self.shared_end - SHARED_START;
            if !map.any(self.shared_base + SHARED_START, bytes) {
                // SAFETY: the block is not in use elsewhere while one of its warps runs.
                unsafe { (*self.block).shared_known = self.shared_end };
            }
        }
    }

    /// Monitors memory again in which a byte at a host address has become undefined. Other workers learn of it with their next
    /// turn: a thread that waits for this one ends its turn.
    pub(crate) fn monitor_again(&self, host: u64) {
        self.forget_bounds();
        self.context().report_again();
        // SAFETY: the block and its cluster belong to the worker that runs this warp.
        unsafe {
            let cluster = (*self.block).cluster();
            if let Some(state) = cluster.owner(host).and_then(|(rank, _)| cluster.state(rank)) {
                (*state).shared_known = SHARED_START;
            }
        }
        self.context().allocations.forget_bounds();
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
                source: self.context().known_source(pc.source),
                bytes: 8,
                kind: AccessKind::Read,
                order: Order::from_bits(pc.extra, AccessKind::Read),
                agent: None,
            };
            races.acquire_from(&access, lane, object);
        });
    }

    /// The active lanes exit.
    pub(crate) fn observe_exit(&self) {
        self.tell_pasts(|pasts, block, warp| pasts.exit(block, warp, self.active));
        self.tell_races(|races, block, warp| races.exit(block, warp, self.active));
    }

    /// Lanes have met at `bar.warp.sync`.
    pub(crate) fn observe_warp_sync(&self, mask: u32) {
        self.tell_pasts(|pasts, block, warp| pasts.meet(block, warp, mask));
        self.tell_races(|races, block, warp| races.warp_sync(block, warp, mask));
    }

    /// Lanes have reconverged, and continue together.
    pub(crate) fn observe_merge(&self, mask: u32) {
        self.tell_pasts(|pasts, block, warp| pasts.meet(block, warp, mask));
    }

    /// A lane begins a copy that an mbarrier tracks. Returns the copy's number in the explored order.
    pub(crate) fn observe_tracked(&self, lane: usize) -> u32 {
        let mut number = 0;
        self.tell_pasts(|pasts, block, warp| number = pasts.begin_copy((block, warp, lane)));
        number
    }

    /// Lanes arrive at a barrier of their block, and wait there unless they are `passing`.
    pub(crate) fn observe_arrival(&self, id: u8, phase: u32, mask: u32, passing: bool) {
        self.tell_races(|races, block, warp| {
            let how = if passing { Arriving::Passing } else { Arriving::Waiting };
            races.arrive(BarrierPhase::Block { block, id, phase }, block, warp, mask, how);
        });
        self.tell_pasts(|pasts, block, warp| pasts.arrive(BarrierPhase::Block { block, id, phase }, block, warp, mask));
    }

    /// Lanes that waited at a barrier of their block go on.
    pub(crate) fn observe_departure(&mut self, id: u8, phase: u32, mask: u32) {
        self.relax();
        self.tell_races(|races, block, warp| races.leave(BarrierPhase::Block { block, id, phase }, block, warp, mask));
        self.tell_pasts(|pasts, block, warp| {
            let barrier = BarrierPhase::Block { block, id, phase };
            // SAFETY: no warp of the block runs, and the barrier is one of its own.
            let expected = unsafe { (*self.block).barriers[usize::from(id)].last_expected };
            let blocks = if expected == 0 { block..block + 1 } else { 0..0 };
            pasts.leave(&barrier, blocks, (block, warp, mask));
        });
    }

    /// A warp has committed this many groups of products: others of its warp group learn of it by their waits.
    pub(crate) fn observe_commit(&self, groups: u32, mask: u32) {
        self.tell_races(|races, block, warp| {
            let meeting = products(block, warp, groups);
            races.arrive(meeting, block, warp, mask, Arriving::Passing);
            races.bring_products(meeting, block, warp);
        });
        self.tell_pasts(|pasts, block, warp| pasts.arrive(products(block, warp as u8, groups), block, warp, mask));
    }

    /// A lane begins an operation, or all lanes begin a product. Returns the agent of its accesses, if races are looked
    /// for.
    pub(crate) fn begin_operation(&self, lane: usize, completion: Completion) -> Option<Agent> {
        let mut agent = None;
        self.tell_races(|races, block, warp| agent = Some(races.issue(block, warp, lane, completion)));
        agent
    }

    /// All lanes have waited for the warp's loads from tensor memory, or for its stores there.
    pub(crate) fn observe_tensor_wait(&self, completion: Completion) {
        self.tell_races(|races, block, warp| races.wait_tensor(block, warp, completion));
    }

    /// A lane commits its operations in tensor memory to an mbarrier in the shared memory of a block.
    pub(crate) fn observe_tensor_commit(&self, lane: usize, (owner, object): (u32, u64)) {
        let owner = self.context().known_block(owner);
        self.tell_races(|races, block, warp| races.commit_tensor(block, warp, lane, (owner, object)));
    }

    /// Tensor memory at host addresses is handed out.
    pub(crate) fn observe_tensor_allocation(&self, start: u64, bytes: u64) {
        self.context().observe_fresh(start, bytes);
        self.tell_races(|races, _, _| races.renew(start, bytes));
    }

    /// A lane has begun a copy in a group: an operation with this number.
    pub(crate) fn observe_store(&self, lane: usize, number: u32, delivery: &Delivery) {
        self.tell_races(|races, block, warp| races.begin_store(block, warp, lane, number, delivery));
    }

    /// Lanes have waited for copies in groups.
    pub(crate) fn observe_groups_landed(&self, landed: &[(usize, u32)], only_reads: bool) {
        for (lane, number) in landed {
            self.tell_races(|races, block, warp| races.land(block, warp, *lane, *number, only_reads));
        }
    }

    /// A fence of the active lanes between proxies: from the generic one, if none is given.
    pub(crate) fn observe_proxy_fence(&self, from: Option<Proxy>, to: Proxy) {
        self.tell_races(|races, block, warp| races.proxy_fence(block, warp, self.active, from, to));
    }

    /// Lanes have waited for this many groups of products of their warp group.
    pub(crate) fn observe_products(&self, groups: u32, mask: u32) {
        self.tell_races(|races, block, warp| races.learn(products(block, warp, groups), block, warp, mask));
        self.tell_pasts(|pasts, block, warp| {
            pasts.leave(&products(block, warp as u8, groups), 0..0, (block, warp, mask));
        });
    }

    /// Lanes arrive at the barrier of their cluster, or go on from it.
    pub(crate) fn observe_cluster(&self, phase: u32, mask: u32, arriving: Option<Arriving>) {
        let (size, known) = (self.context().cluster_size(), self.context().place_in_session.first_block);
        let first = |block: u32| (block - known) / size * size + known;
        let barrier = |block| BarrierPhase::Cluster { first: first(block), phase };
        self.observe_barrier(mask, arriving, barrier, |block| first(block)..first(block) + size);
    }

    /// Lanes arrive at the barrier of the grid, or go on from it.
    pub(crate) fn observe_grid(&self, phase: u32, mask: u32, arriving: Option<Arriving>) {
        let blocks = self.context().blocks().min(u64::from(u32::MAX)) as u32;
        let first = self.context().place_in_session.first_block;
        self.observe_barrier(mask, arriving, |_| BarrierPhase::Grid { first, phase }, |_| 0..blocks);
    }

    /// `phase` and `blocks` say for a block which barrier it is, and which blocks are waited for.
    fn observe_barrier(
        &self,
        mask: u32,
        arriving: Option<Arriving>,
        phase: impl Fn(u32) -> BarrierPhase,
        blocks: impl Fn(u32) -> Range<u32>,
    ) {
        self.tell_pasts(|pasts, block, warp| {
            if arriving.is_some() {
                pasts.arrive(phase(block), block, warp, mask);
            } else {
                pasts.leave(&phase(block), blocks(block), (block, warp, mask));
            }
        });
        self.tell_races(|races, block, warp| match arriving {
            Some(how) => races.arrive(phase(block), block, warp, mask, how),
            None => races.leave(phase(block), block, warp, mask),
        });
    }

    /// Calls a function with the happens-before order, if orders are explored, and the numbers of the block and of the
    /// warp.
    fn tell_pasts(&self, tell: impl FnOnce(&mut Pasts<BarrierPhase>, u32, u32)) {
        if let Some(mut pasts) = self.context().monitor.and_then(Monitor::pasts) {
            tell(&mut pasts, self.block_number(), self.index);
        }
    }

    /// Calls a function with the race detector, and the numbers of the block and of the warp.
    fn tell_races(&self, join_into: impl FnOnce(&mut Races, u32, u8)) {
        self.read_key.set(ReadKey::NONE);
        self.context().tell_races(|races| join_into(races, self.block_number(), self.index as u8));
    }
}

/// The number of the barrier at which the warps of a group meet that have committed this many groups of products,
/// behind the numbers of PTX barriers. Each of the last eight groups has a barrier of its own, since up to eight can be
/// pending after a wait.
fn products(block: u32, warp: u8, groups: u32) -> BarrierPhase {
    const LEFT: u32 = 8;
    let id = BARRIERS as u32 + u32::from(warp) / GROUP_WARPS as u32 * LEFT + groups % LEFT;
    BarrierPhase::Block { block, id: id as u8, phase: groups / LEFT }
}

impl Context<'_> {
    /// Where native code finds the patterns of reads, if races are looked for.
    pub(crate) fn growths(&self) -> *mut Growth {
        let mut growths = std::ptr::null_mut();
        self.tell_races(|races| growths = races.growths());
        growths
    }

    /// Lets native code report its next reads, since memory was freed or has become undefined.
    pub(crate) fn report_again(&self) {
        self.tell_races(Races::revoke);
    }

    /// The numbers by which the checks know a block and an instruction: those of launches that are checked together differ.
    fn known_block(&self, block: u32) -> u32 {
        self.place_in_session.first_block + block
    }

    fn known_source(&self, source: u32) -> u32 {
        self.place_in_session.first_source + source
    }

    /// Whether races are looked for.
    pub(crate) fn seeks_races(&self) -> bool {
        self.monitor.is_some_and(Monitor::seeks_races)
    }

    /// A block begins, with a part of the window for shared memory.
    pub(crate) fn observe_begin(&self, block: u32, shared: std::ops::Range<u64>) {
        self.tell_races(|races| races.begin(self.known_block(block), shared));
    }

    /// Memory is handed out to a block: it counts as unwritten.
    pub(crate) fn observe_fresh(&self, start: u64, bytes: u64) {
        if let Some(map) = &self.allocations.unwritten {
            map.begin(start, bytes);
        }
    }

    /// An instruction initializes an mbarrier; without an instruction, the mbarrier ends.
    pub(crate) fn observe_mbarrier(&self, object: u64, initialiser: Option<u32>) {
        let initialiser = initialiser.map(|source| self.known_source(source));
        self.tell_races(|races| races.mbarrier(object, initialiser));
        if let Some(mut pasts) = self.monitor.and_then(Monitor::pasts) {
            pasts.end_phase(object);
        }
    }

    /// Copies with a number have this many destination blocks.
    pub(crate) fn observe_copies(&self, number: u32, count: usize) {
        self.tell_races(|races| races.expect_deliveries(number, count));
    }

    /// A copy that an mbarrier of a block tracks has arrived.
    pub(crate) fn observe_delivery(&self, block: u32, object: u64, number: u32) {
        self.tell_races(|races| races.deliver(self.known_block(block), object, number));
    }

    /// The phase of an mbarrier has ended.
    pub(crate) fn observe_phase(&self, object: u64) {
        self.tell_races(|races| races.end_phase(object));
        if let Some(mut pasts) = self.monitor.and_then(Monitor::pasts) {
            pasts.end_phase(object);
        }
    }

    /// A block has ended.
    pub(crate) fn observe_end(&self, block: u32) {
        let block = self.known_block(block);
        self.tell_races(|races| {
            races.end(block);
            races.end_stores(block);
        });
    }

    fn tell_races(&self, join_into: impl FnOnce(&mut Races)) {
        if let Some(monitor) = self.monitor {
            monitor.race(|_| false, join_into, |_| String::new());
        }
    }
}

impl Warp {
    /// Lanes that execute an instruction, as actors of a report.
    pub(crate) fn actor(&self, source: u32, lanes: u32, what: &'static str) -> Actor {
        // SAFETY: the block outlives its warps' turns, and its coordinates do not change meanwhile.
        let block = unsafe { (*self.block).coordinates };
        Actor { block, warp: self.index, lanes, source, what }
    }

    /// Notes a mistake of lanes at an instruction.
    #[cold]
    pub(crate) fn note(&self, kind: FindingKind, actor: Actor, other: Option<Actor>, detail: impl FnOnce() -> String) {
        if let Some(notes) = self.context().notes {
            notes.note(kind, actor, other, detail);
        }
    }
}

impl Warp {
    /// A lane begins a copy between host addresses, which ends by a wait for its group.
    pub(crate) fn begin_flight(&mut self, pc: Pc, lane: usize, to: Range<u64>, from: Range<u64>) {
        if self.context().seeks_races() {
            let actor = self.actor(pc.source, 1 << lane, "copy");
            let flight = Flight { actor, lane, to, from };
            // SAFETY: the block is not in use elsewhere while one of its warps runs.
            unsafe { (*self.block).flights.push(flight) };
        }
    }

    /// Copies of the warp's groups may have arrived.
    pub(crate) fn land_groups(&mut self) {
        let copies = &self.copies;
        // SAFETY: as above.
        let flights = unsafe { &mut (*self.block).flights };
        flights.retain(|flight| flight.actor.warp != self.index || copies.holds(flight.lane, flight.to.start));
    }
}
