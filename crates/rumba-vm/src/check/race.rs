//! Data races by happens-before, in all memory that threads of a launch can share: shared memory, device memory, the
//! workspace of the grid's barrier, and what the host has registered of its own. Also between launches that run at the same time and
//! wait for each other ([`crate::check::joining`]).
//!
//! Two accesses to a byte race if one of them writes, they are not both atomic for each other, and nothing orders them:
//! no barrier, no `bar.warp.sync`, no release that an acquire has seen (manual, chapter 8, "Memory Consistency Model").
//! The lockstep of a warp orders nothing.
//!
//! A thread that executes a fence and then exits counts, for each later completion of a barrier of its block, as one that
//! has released what precedes the fence. PTX says of a barrier only that threads which have exited are not waited for; an
//! exit itself orders nothing, so that what a thread did after its last fence, or without one, still races.
//!
//! The clocks of threads are in [`crate::check::clock`], earlier accesses in
//! [`crate::check::cells`]; [`crate::check::monitor`] reports events to this module.
//!
//! Copies that are under way (`cp.async`) count as accesses of the thread that begins them, when it begins them.

use std::collections::hash_map::Entry;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use crate::base::lanes::{LANES, lanes_of, mask_of};
use crate::base::report::AccessKind;
use crate::check::agent::{Agent, Agents};
use crate::check::cells::Cells;
use crate::check::clock::{Thread, VectorClock};
use crate::check::launches::LaunchShape;
use crate::check::log::LoggedAccess;
use crate::check::order::{Order, SCOPES, Scope};
use crate::check::program::OfProgram;
use crate::check::proxy::AGENT;
use crate::check::published::{NEAR, Published, WideClocks, gather};
use crate::check::reads::{GroupAccess, Growth, ReadKey};
use crate::check::record::{Conflict, Record, ThreadAccess};
use crate::check::row::Runs;
use crate::check::strided::Strided;
use crate::check::thread_state::{ArrivedLanes, BarrierState, ThreadState, WarpState, thread};
pub(crate) use crate::check::thread_state::{Arriving, BarrierPhase};
use crate::check::updates::Updates;
use crate::mem::arena::{Arena, Window};
use crate::mem::unwritten::Unwritten;

/// An access of a warp's lanes to memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Access {
    pub(crate) block: u32,
    pub(crate) warp: u8,
    /// The instruction.
    pub(crate) source: u32,
    /// Bytes of each lane.
    pub(crate) bytes: u64,
    pub(crate) kind: AccessKind,
    pub(crate) order: Order,
    /// The agent that makes the access, if not the lanes themselves.
    pub(crate) agent: Option<Agent>,
}

impl Access {
    fn thread(&self, lane: usize) -> Thread {
        thread(self.block, self.warp, lane)
    }

    fn touch(&self, lane: usize) -> ThreadAccess {
        ThreadAccess {
            thread: self.thread(lane),
            bytes: self.bytes,
            kind: self.kind,
            source: self.source,
            asynchronous: None,
        }
    }
}

/// The races of one launch, or of launches that are checked together ([`Races::join`]).
pub(crate) struct Races {
    /// Where the warps of the blocks that run are.
    pub(super) blocks: HashMap<u32, usize>,
    /// The block that was looked up last.
    last: (u32, usize),
    warps: Vec<Vec<WarpState>>,
    /// Their shared memory, in the same order.
    shared: Vec<Range<u64>>,
    free: Vec<usize>,
    pub(super) cells: Cells,
    published: HashMap<u64, Published>,
    /// The mbarriers, and what those publish that arrive there in the phase under way: at its end it becomes `published`.
    pub(super) mbarriers: HashSet<u64>,
    pub(super) arriving: HashMap<u64, Published>,
    pub(super) barriers: HashMap<BarrierPhase, BarrierState>,
    /// The clocks that threads of a block released by their last fence before they exited.
    exited: HashMap<u32, Arc<VectorClock>>,
    /// Operations that threads have begun.
    pub(super) agents: Agents,
    /// Loads and stores by atomic accesses, for lost updates.
    pub(super) updates: Updates,
    /// The instructions that initialise mbarriers.
    pub(super) initialisers: HashSet<u32>,
    /// The conflicts found since the last query.
    pub(crate) found: Vec<Conflict>,
}

impl Races {
    /// The race detector for the memory of a device.
    pub(crate) fn new(arena: &Arena) -> io::Result<Self> {
        Ok(Self {
            blocks: HashMap::default(),
            last: (u32::MAX, 0),
            warps: Vec::new(),
            shared: Vec::new(),
            free: Vec::new(),
            cells: Cells::new(arena)?,
            published: HashMap::default(),
            mbarriers: HashSet::default(),
            arriving: HashMap::default(),
            barriers: HashMap::default(),
            exited: HashMap::default(),
            agents: Agents::default(),
            updates: Updates::default(),
            initialisers: HashSet::default(),
            found: Vec::new(),
        })
    }

    /// A launch of a program begins, which can access these ranges of the host's own memory.
    ///
    /// # Errors
    /// If the system refuses address space.
    pub(crate) fn launch(
        &mut self,
        shape: LaunchShape,
        host: &[Window],
        allocations: Vec<Window>,
        program: &OfProgram<'_>,
    ) -> io::Result<()> {
        self.blocks.clear();
        self.last = (u32::MAX, 0);
        self.free = (0..self.warps.len()).collect();
        self.cells.begin((program, shape), host, allocations)?;
        self.published.clear();
        self.mbarriers.clear();
        self.arriving.clear();
        self.barriers.clear();
        self.exited.clear();
        self.agents.clear();
        self.updates.begin(program.updates);
        self.initialisers.clear();
        self.found.clear();
        Ok(())
    }

    /// Whether accesses to the memory at an address are remembered.
    pub(crate) fn knows(&self, address: u64) -> bool {
        self.cells.knows(address)
    }

    /// A block begins, with shared memory that another block had before.
    pub(crate) fn begin(&mut self, block: u32, shared: Range<u64>) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.warps.push(Vec::new());
            self.shared.push(0..0);
            self.warps.len() - 1
        });
        self.blocks.insert(block, place);
        self.shared[place] = shared.clone();
        let (threads, before) = (self.cells.launches.shape(block).threads, self.cells.launches.before(block));
        let warps = &mut self.warps[place];
        warps.clear();
        warps.extend((0..threads.div_ceil(LANES as u32)).map(|index| WarpState {
            whole: ThreadState::fresh(before),
            lanes: None,
            apart: false,
            mask: mask_of(threads - index * LANES as u32),
        }));
        self.cells.forget(shared.start, shared.end);
        self.updates.forget(shared.clone());
        self.published.retain(|address, _| !shared.contains(address));
        self.mbarriers.retain(|address| !shared.contains(address));
        self.arriving.retain(|address, _| !shared.contains(address));
    }

    /// A block has ended: other blocks may still acquire its releases, but its own clocks are no longer needed.
    pub(crate) fn end(&mut self, block: u32) {
        if let Some(place) = self.blocks.remove(&block) {
            let launches = &mut self.cells.launches;
            if launches.are_several() {
                self.warps[place]
                    .iter()
                    .for_each(|warp| warp.knowledge().for_each(|known| launches.leave(block, known)));
            }
            self.free.push(place);
        }
        self.last = (u32::MAX, 0);
        self.exited.remove(&block);
        self.updates.end(block);
        self.barriers.retain(|barrier, _| match barrier {
            BarrierPhase::Block { block: of, .. } => *of != block,
            BarrierPhase::Cluster { .. } | BarrierPhase::Grid { .. } => true,
        });
    }

    /// Where a warp is: its block's place, and its own. Threads of blocks that have not begun know nothing.
    fn place(&mut self, block: u32, warp: u8) -> (usize, usize) {
        if self.last.0 != block {
            let place = match self.blocks.get(&block) {
                Some(place) => *place,
                None => {
                    self.begin(block, 0..0);
                    self.blocks[&block]
                }
            };
            self.last = (block, place);
        }
        (self.last.1, usize::from(warp))
    }

    pub(super) fn warp(&mut self, block: u32, warp: u8) -> &mut WarpState {
        let (block, warp) = self.place(block, warp);
        &mut self.warps[block][warp]
    }

    /// Accesses by lanes of a warp whose addresses have a stride. Returns what native code compares with the patterns of reads from then on.
    pub(crate) fn strided(&mut self, access: &Access, places: &Strided) -> ReadKey {
        let (block, warp) = self.place(access.block, access.warp);
        let known = &self.warps[block][warp];
        let Strided { lanes, hosts, stride } = *places;
        let clock = known.clock(lanes.trailing_zeros() as usize);
        let view = clock.view();
        let what = (access.bytes, access.kind, access.order);
        let record = Record::new(access.block, access.warp, clock.epoch, access.source, what);
        let (bytes, stride) = (access.bytes as u32, stride as u32);
        let groups = GroupAccess { record, block: view.block, bytes, stride, lanes, hosts };
        let is_plain = access.agent.is_none() && !known.apart && !access.order.is_strong();
        if is_plain && self.cells.put_affine(&groups, &view, &mut self.found) {
            return ReadKey::new(access.block, clock.epoch, clock.block);
        }
        self.lanes(access, lanes, |lane| places.host(lane));
        // A store that releases begins an epoch.
        self.read_key(access.block, access.warp)
    }

    /// Where native code finds the patterns of reads.
    pub(crate) fn growths(&mut self) -> *mut Growth {
        self.cells.reads().growths()
    }

    /// What native code compares with the patterns of reads, for a warp.
    pub(crate) fn read_key(&mut self, block: u32, warp: u8) -> ReadKey {
        let (block_place, warp) = self.place(block, warp);
        let known = &self.warps[block_place][warp];
        let clock = known.clock(0);
        if known.apart { ReadKey::NONE } else { ReadKey::new(block, clock.epoch, clock.block) }
    }

    /// Lets native code take in only reads of memory of which each byte was written, by an instruction that has just read in a block.
    pub(crate) fn limit(&mut self, instruction: u32, block: u32, map: &Unwritten) {
        let (place, _) = self.place(block, 0);
        self.cells.reads.limit(instruction, &self.shared[place], map);
    }

    /// Lets native code take in no reads before it reports one.
    pub(crate) fn revoke(&mut self) {
        self.cells.reads().revoke();
    }

    /// Accesses by lanes of a warp, in their order.
    pub(crate) fn lanes(&mut self, access: &Access, lanes: u32, host: impl Fn(usize) -> u64) {
        if let Some(agent) = access.agent {
            lanes_of(lanes).for_each(|lane| self.by_agent(access, agent, host(lane)));
            return;
        }
        if access.order.is_strong() && (self.updates.are_possible() || self.orders(access)) {
            for lane in lanes_of(lanes) {
                let address = host(lane);
                let (block, warp) = self.place(access.block, access.warp);
                let before = self.updates.before(&access.touch(lane), self.warps[block][warp].clock(lane));
                // Whether a wait has seen its phase end, it tells by itself.
                let waits = access.kind == AccessKind::Read && self.mbarriers.contains(&address);
                if access.kind != AccessKind::Write && !waits {
                    self.acquire_from(access, lane, address);
                }
                self.alike(access, 1 << lane, &host);
                let clock = self.warps[block][warp].clock(lane);
                let lost = self.updates.note(access.touch(lane), address, clock, before);
                self.found.extend(lost);
                if access.kind != AccessKind::Read {
                    self.publish(access, lane, address);
                }
            }
            return;
        }
        let mut left = if access.order.is_strong() { self.log(access, lanes, &host) } else { lanes };
        while left != 0 {
            let alike = self.warp(access.block, access.warp).agreeing(left);
            left &= !alike;
            self.alike(access, alike, &host);
        }
    }

    /// Notes a strong access by lanes that pass nothing on, as far as nothing can race with it yet; returns the other lanes.
    fn log(&mut self, access: &Access, lanes: u32, host: impl Fn(usize) -> u64) -> u32 {
        let (block, warp) = self.place(access.block, access.warp);
        let known = &self.warps[block][warp];
        let clock = known.clock(lanes.trailing_zeros() as usize);
        if known.apart || !clock.plain {
            return lanes;
        }
        let what = (access.bytes, access.kind, access.order);
        let record = Record::new(access.block, access.warp, clock.epoch, access.source, what);
        let bytes = access.bytes as u32;
        self.cells.log_strong(LoggedAccess { record, known: [clock.block, clock.warp], bytes, lanes }, host)
    }

    /// Whether an atomic access may pass something on between threads.
    fn orders(&mut self, access: &Access) -> bool {
        !self.published.is_empty()
            || !self.arriving.is_empty()
            || access.kind != AccessKind::Read
                && (access.order.releases() || self.warp(access.block, access.warp).publishes())
    }

    /// Accesses by lanes that know the same.
    fn alike(&mut self, access: &Access, mut lanes: u32, host: impl Fn(usize) -> u64) {
        let (block, warp) = self.place(access.block, access.warp);
        let clock = self.warps[block][warp].clock(lanes.trailing_zeros() as usize);
        let view = clock.view();
        let what = (access.bytes, access.kind, access.order);
        let record = Record::new(access.block, access.warp, clock.epoch, access.source, what);
        if !access.order.is_strong() {
            let affine = GroupAccess::of_lanes((record, view.block), access.bytes, lanes, &host);
            if affine.is_some_and(|affine| self.cells.put_affine(&affine, &view, &mut self.found)) {
                return;
            }
            if access.kind == AccessKind::Read {
                let known = [clock.block, clock.warp];
                lanes = self.cells.log_read(LoggedAccess { record, known, bytes: access.bytes as u32, lanes }, &host);
                if lanes == 0 {
                    return;
                }
            }
            if let Some(runs) = Runs::of_lanes(&record, access.bytes, lanes, &host) {
                return self.cells.put_runs(&runs, &view, &mut self.found);
            }
        }
        let may_share = access.kind == AccessKind::Read || access.order.is_strong();
        self.cells.put_each((&record, &view), (lanes, access.bytes, may_share), host, &mut self.found);
    }

    /// An mbarrier is initialised by an instruction or, if there is none, ends.
    pub(crate) fn mbarrier(&mut self, object: u64, initialiser: Option<u32>) {
        self.cells.keep_for_proxies();
        self.published.remove(&object);
        self.arriving.remove(&object);
        if let Some(source) = initialiser {
            self.mbarriers.insert(object);
            self.initialisers.insert(source);
        } else {
            self.mbarriers.remove(&object);
        }
    }

    /// The phase of an mbarrier has ended: waits learn of those who arrived in it, and not of who arrives in the next one
    /// (manual, section 9.7.13.16.16).
    pub(crate) fn end_phase(&mut self, object: u64) {
        let Some(arrived) = self.arriving.remove(&object) else {
            return;
        };
        match self.published.entry(object) {
            Entry::Occupied(mut before) => before.get_mut().join(arrived),
            Entry::Vacant(place) => drop(place.insert(arrived)),
        }
    }

    /// An atomic read has seen the last atomic write of its address.
    pub(crate) fn acquire_from(&mut self, access: &Access, lane: usize, address: u64) {
        let Some(published) = self.published.get(&address) else {
            return;
        };
        let (block, scope) = (access.block, access.order.scope);
        if let Some(known) = &published.agents {
            let known = Arc::clone(known);
            let lanes = 1 << lane;
            self.warp(block, access.warp).each(lanes, |_, clock| clock.acquire(&known, block));
        }
        let Some(published) = self.published.get(&address) else {
            return;
        };
        let launches = &self.cells.launches;
        let (writer, written) = published.writer;
        if !launches.includes(scope.min(written), writer, block) {
            return;
        }
        let device = launches.device(block);
        // The clocks by the narrowest scope that an acquire has to have.
        let mut seen: [Option<Arc<VectorClock>>; SCOPES] = Default::default();
        let all = published.all.seen_on(device);
        seen[Scope::Device as usize] = all.device;
        if launches.whole() == Scope::System {
            seen[Scope::System as usize] = all.system;
        }
        for release in &published.near {
            let narrowest = launches.narrowest(release.block, block);
            if narrowest < Scope::Device && narrowest <= release.scope {
                gather(&mut seen[narrowest as usize], &release.known);
            }
        }
        let acquires = access.order.acquires();
        let sequential = published.sequential.seen_on(device);
        self.warp(access.block, access.warp).each(1 << lane, |_, clock| {
            clock.sequential_seen.join(&sequential);
            for (at, known) in seen.iter().enumerate() {
                let Some(known) = known else { continue };
                if acquires && at <= scope as usize {
                    clock.acquire(known, block);
                } else {
                    gather(&mut clock.seen[at], known);
                }
            }
        });
    }

    /// An atomic write heads a release sequence if its thread has released something. A read-modify-write continues the one
    /// of the write that it has read.
    fn publish(&mut self, access: &Access, lane: usize, address: u64) {
        let (block, scope) = (access.block, access.order.scope);
        let by = access.thread(lane);
        let releases = access.order.releases();
        let warp = self.warp(block, access.warp);
        let mut publish = None;
        if releases {
            warp.each(1 << lane, |_, clock| {
                // A release is a fence for this write alone.
                let before = clock.fenced.take();
                clock.release(scope);
                let fenced = std::mem::replace(&mut clock.fenced, before);
                publish = fenced.map(|fenced| (fenced.of(by), scope));
            });
        } else if let Some(fenced) = &warp.clock(lane).fenced {
            publish = Some((fenced.of(by), fenced.scope));
        }
        let clock = warp.clock(lane);
        let mut sequential = clock.sequential.clone();
        if let Some(fenced) = &clock.sequential_fence {
            sequential.add(fenced.scope, &fenced.of(by));
        }
        let is_mbarrier = self.mbarriers.contains(&address);
        if is_mbarrier {
            // That operations are over is no matter of the order of memory: who waits for the phase knows it, whatever the
            // scopes are.
            let known = warp_agents(self.warp(block, access.warp), lane);
            if !known.is_empty() {
                let fresh = || Published::by(block, scope);
                gather(&mut self.arriving.entry(address).or_insert_with(fresh).agents, &Arc::new(known));
            }
        }
        let launches = &self.cells.launches;
        let continues = |published: &Published| {
            let (writer, written) = published.writer;
            access.kind == AccessKind::Atomic && launches.includes(scope.min(written), writer, block)
        };
        let all = if is_mbarrier { &mut self.arriving } else { &mut self.published };
        if publish.is_none() && sequential.is_empty() && !all.get(&address).is_some_and(continues) {
            if !is_mbarrier {
                all.remove(&address);
            }
            return;
        }
        let fresh = || Published::by(block, scope);
        let published = all.entry(address).or_insert_with(fresh);
        if !continues(published) {
            let agents = published.agents.take();
            *published = Published { agents, ..fresh() };
        }
        published.writer = (block, scope);
        let device = launches.device(block);
        published.sequential.add(device, &sequential);
        if let Some((known, scope)) = publish {
            published.add((block, device), scope, known);
            if published.near.len() > NEAR {
                let blocks = &self.blocks;
                let is_near = |other: u32| blocks.keys().any(|block| launches.includes(Scope::Cluster, *block, other));
                published.near.retain(|release| is_near(release.block));
            }
        }
    }

    /// A fence of lanes.
    ///
    /// Fences of sequential consistency synchronise with each other in an order of their own (manual, section 8.9.3), which
    /// cannot contradict what is observed: if a write behind one is seen by a read before another, with barriers of the
    /// block in between on either side, the first comes first. So `membar.gl` by every thread of a block, a barrier, and an
    /// atomic operation by one thread release for all of them. What nothing has observed stays unordered here.
    pub(crate) fn fence(&mut self, block: u32, warp: u8, lanes: u32, order: Order, is_sequential: bool) {
        let is_sequential = is_sequential && order.scope >= Scope::Device;
        self.warp(block, warp).each(lanes, |_, clock| {
            if order.acquires() {
                for at in 0..=order.scope as usize {
                    if let Some(known) = clock.seen[at].take() {
                        clock.acquire(&known, block);
                    }
                }
            }
            if is_sequential {
                let WideClocks { device, system } = &mut clock.sequential_seen;
                let system = if order.scope == Scope::System { system.take() } else { None };
                for known in [device.take(), system].into_iter().flatten() {
                    clock.acquire(&known, block);
                }
            }
            if order.releases() {
                clock.release(order.scope);
            }
            if is_sequential {
                clock.sequential_fence.clone_from(&clock.fenced);
            }
        });
    }

    /// Lanes exit. What they did before their last fence comes before what others do behind barriers of the block that are
    /// completed without them.
    pub(crate) fn exit(&mut self, block: u32, number: u8, lanes: u32) {
        let warp = self.warp(block, number);
        if !warp.has_fenced() {
            return;
        }
        let mut released = VectorClock::default();
        if warp.lanes.is_none() && lanes == warp.mask {
            if let Some(fenced) = &warp.whole.fenced {
                released = VectorClock::clone(&fenced.of_warp(thread(block, number, 0)));
            }
        } else {
            for lane in lanes_of(lanes) {
                if let Some(fenced) = &warp.clock(lane).fenced {
                    released.join(&fenced.of(thread(block, number, lane)));
                }
            }
        }
        Arc::make_mut(self.exited.entry(block).or_default()).join(&released);
    }

    /// Lanes of a warp synchronise with each other, all at once.
    pub(crate) fn warp_sync(&mut self, block: u32, number: u8, lanes: u32) {
        let warp = self.warp(block, number);
        let Some(first) = lanes_of(lanes).next() else { return };
        // All synchronized lanes continue in the same epoch, so that one entry of a clock stands for the warp.
        let latest = lanes_of(lanes).map(|lane| warp.clock(lane).epoch).max().unwrap_or(0);
        if warp.mask & !lanes == 0 {
            let mut known = Arc::clone(&warp.clock(first).known);
            for lane in lanes_of(lanes) {
                let theirs = &warp.clock(lane).known;
                if !Arc::ptr_eq(&known, theirs) {
                    let theirs = Arc::clone(theirs);
                    Arc::make_mut(&mut known).join(&theirs);
                }
            }
            warp.each(warp.mask, |_, clock| {
                if !Arc::ptr_eq(&clock.known, &known) {
                    clock.set_known(Arc::clone(&known), block);
                }
                clock.warp = latest;
                clock.epoch = latest + 1;
            });
            return;
        }
        let mut known = VectorClock::clone(&warp.clock(first).known);
        let mut of_warp = 0;
        for lane in lanes_of(lanes) {
            known.join(&warp.clock(lane).known);
            known.advance(thread(block, number, lane), latest);
            of_warp = of_warp.max(warp.clock(lane).warp);
        }
        let known = Arc::new(known);
        warp.each(lanes, |_, clock| {
            clock.set_known(Arc::clone(&known), block);
            clock.warp = of_warp;
            clock.epoch = latest + 1;
        });
    }

    /// Lanes arrive where others will learn of them.
    pub(crate) fn arrive(&mut self, barrier: BarrierPhase, block: u32, number: u8, lanes: u32, how: Arriving) {
        if !self.barriers.contains_key(&barrier) {
            self.barriers.remove(&barrier.last_but_one());
        }
        let mut arrived = self.barriers.remove(&barrier).unwrap_or_default();
        let warp = self.warp(block, number);
        let whole = warp.lanes.is_none() && lanes == warp.mask;
        if how == Arriving::Relaxed {
            warp.each(lanes, |lane, clock| {
                arrived.join_released(clock, thread(block, number, lane), whole);
            });
            arrived.result = None;
            self.barriers.insert(barrier, arrived);
            return;
        }
        warp.each(lanes, |lane, clock| {
            // Threads that met before mostly know the same.
            let is_known = |last_joined: &Arc<VectorClock>| Arc::ptr_eq(last_joined, &clock.known);
            if !arrived.last_joined.as_ref().is_some_and(is_known) {
                Arc::make_mut(&mut arrived.known).join(&clock.known);
                arrived.last_joined = Some(Arc::clone(&clock.known));
            }
            if let Some(fenced) = &clock.sequential_fence {
                let own = thread(block, number, lane);
                let known = if whole { fenced.of_warp(own) } else { fenced.of(own) };
                arrived.sequential.add(fenced.scope, &known);
            }
            arrived.sequential.join(&clock.sequential);
            arrived.sequential_seen.join(&clock.sequential_seen);
            arrived.arrivals.push(ArrivedLanes {
                block,
                warp: number,
                mask: if whole { lanes } else { 1 << lane },
                epoch: clock.epoch,
                known: clock.warp,
                whole,
            });
            arrived.epoch = arrived.epoch.max(clock.epoch);
            clock.epoch += 1;
        });
        let waits = how == Arriving::Waiting;
        arrived.passing |= !waits;
        arrived.waiting += u32::from(waits) * lanes.count_ones();
        arrived.result = None;
        self.barriers.insert(barrier, arrived);
    }

    /// Lanes learn of those who came to a barrier, and keep what they have learnt since they came themselves.
    pub(crate) fn learn(&mut self, barrier: BarrierPhase, block: u32, number: u8, lanes: u32) {
        let Some(arrived) = self.barriers.get_mut(&barrier) else {
            return;
        };
        let known = arrived.result(None);
        self.warp(block, number).each(lanes, |_, clock| clock.acquire(&known, block));
    }

    /// All have come: lanes that waited go on, knowing of all.
    pub(crate) fn leave(&mut self, barrier: BarrierPhase, block: u32, number: u8, lanes: u32) {
        let threads = self.cells.launches.shape(block).threads;
        let Some(arrived) = self.barriers.get_mut(&barrier) else {
            return;
        };
        if arrived.result.is_none()
            && let BarrierPhase::Block { block, .. } = barrier
            && let Some(known) = self.exited.get(&block)
        {
            Arc::make_mut(&mut arrived.known).join(known);
        }
        // A thread may have learnt of others since it came, where arrivals and waits are apart.
        let keeps = matches!(barrier, BarrierPhase::Cluster { .. });
        let whole_block =
            matches!(barrier, BarrierPhase::Block { .. }) && arrived.waiting == threads && !arrived.passing;
        if whole_block
            && arrived.result.is_none()
            && let Some(place) = self.blocks.get(&block)
        {
            self.cells.settle(&self.shared[*place]);
        }
        let known = arrived.result(whole_block.then_some(block));
        let epoch = arrived.epoch;
        let (sequential, seen) = (arrived.sequential.clone(), arrived.sequential_seen.clone());
        self.warp(block, number).each(lanes, |_, clock| {
            if keeps {
                clock.acquire(&known, block);
                clock.sequential.join(&sequential);
                clock.sequential_seen.join(&seen);
                return;
            }
            // The fence of this thread is included in the joined clocks.
            clock.sequential_fence = None;
            clock.sequential.clone_from(&sequential);
            clock.sequential_seen.clone_from(&seen);
            clock.set_known(Arc::clone(&known), block);
            if whole_block {
                clock.epoch = clock.epoch.max(epoch + 1);
            }
        });
    }
}

/// The entries of a lane's clock for completed asynchronous operations.
fn warp_agents(warp: &WarpState, lane: usize) -> VectorClock {
    warp.clock(lane).known.of_bit(AGENT)
}

#[cfg(test)]
mod tests;
