//! Asynchronous operations as threads of their own: copies and products whose accesses no thread knows of until it has waited
//! for them, and what proxy fences have made known to them.
//!
//! An operation that a thread begins knows what its thread knows. What it accesses belongs to an agent: an entry of vector
//! clocks as that of a thread, which is passed on by what completes the operation alone (manual, section 8.1.1, "Scope and
//! Applicability of the Model", and 9.7.9.25.2, "Async proxy"): the phase of an mbarrier, `wait_group`. So an access that
//! comes too early is found in whatever order the threads run.
//!
//! Ordinary writes are in the generic proxy. An operation of another proxy has to know of them by a proxy fence on the way
//! (manual, section 8.10.3, "Proxy-preserved base causality order"): such a fence copies what its thread knows to entries of
//! that proxy, and these are passed on as all others.

use std::sync::Arc;

use rustc_hash::FxHashMap as HashMap;

use crate::base::lanes::LANES;
use crate::base::report::AccessKind;
use crate::check::batch::parts;
use crate::check::clock::{Thread, VectorClock};
use crate::check::order::Scope;
use crate::check::proxy::{AGENT, Proxy, ROLES};
use crate::check::published::Published;
use crate::check::race::{Access, BarrierPhase, Races};
use crate::check::record::{Asynchronous, Conflict, ConflictKind, Record, ThreadAccess, View};
use crate::check::stores::Stores;
use crate::check::thread_state::thread;
use crate::mem::copies::Delivery;

/// An operation that a thread has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Agent {
    /// Who accesses memory for it.
    index: u16,
    /// The number of the operation.
    pub(crate) number: u32,
    /// By which proxy its accesses have to know of ordinary writes, if by one.
    proxy: Option<Proxy>,
}

/// What tells threads that an operation is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The phase of the mbarrier at a host address.
    Barrier(u64),
    /// A wait for groups of copies.
    Group,
    /// A wait for groups of products of the warp group.
    Products,
}

// The agents of a block, by their indices: of copies in groups one for what each thread's read and one for what they write,
// as these can be waited for by themselves, one for the products of each warp, and one for each mbarrier and thread.
const READS: u16 = 0;
const WRITES: u16 = 1024;
const PRODUCTS: u16 = 2048;
const BARRIERS: u16 = PRODUCTS + 32;
const END: u16 = 8192;

impl Agent {
    /// The same operation, where it reads or writes memory.
    pub(crate) fn of_kind(self, kind: AccessKind) -> Self {
        let index = match (kind, self.index) {
            (AccessKind::Write | AccessKind::Atomic, READS..WRITES) => self.index + WRITES,
            (_, index) => index,
        };
        Self { index, ..self }
    }

    /// The same where it is no matter which proxy an access is made by.
    pub(crate) fn in_any_proxy(self) -> Self {
        Self { proxy: None, ..self }
    }

    /// The same where it reads a tensor map.
    pub(crate) fn reading_map(self) -> Self {
        Self { proxy: Some(Proxy::MapAcquired), ..self }
    }

    /// The same where it accesses shared memory, or global memory.
    pub(crate) fn accessing(self, is_shared: bool) -> Self {
        let proxy = if is_shared { Proxy::Shared } else { Proxy::Global };
        Self { proxy: self.proxy.map(|_| proxy), ..self }
    }
}

/// A copy that an mbarrier keeps track of, or several.
struct UnderWay {
    agent: Thread,
    /// What the thread knew that began it.
    known: Arc<VectorClock>,
    /// How many blocks it goes to that it has not arrived in.
    left: usize,
}

/// The operations of a launch.
#[derive(Default)]
pub(super) struct Agents {
    /// How many were begun.
    count: u32,
    /// What the thread knew that began the last one.
    known: Arc<VectorClock>,
    /// The agents of mbarriers and threads, and the threads by agents.
    indices: HashMap<(u64, Thread), u16>,
    threads: HashMap<(u32, u16), Thread>,
    /// The last product of each warp.
    products: HashMap<(u32, u8), u32>,
    /// By their numbers.
    under_way: HashMap<u32, UnderWay>,
    /// What copies to global memory will write.
    stores: Stores,
}

impl Agents {
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    fn index(&mut self, by: Thread, completion: Completion) -> u16 {
        match completion {
            Completion::Group => READS + by.index,
            Completion::Products => PRODUCTS + by.index / LANES as u16,
            Completion::Barrier(object) => {
                let next = BARRIERS + (self.indices.len() % usize::from(END - BARRIERS)) as u16;
                let index = *self.indices.entry((object, by)).or_insert(next);
                self.threads.insert((by.block, index), by);
                index
            }
        }
    }

    /// An access as the thread's that began the operation.
    pub(super) fn resolve(&self, access: &mut ThreadAccess) {
        let Thread { block, index } = access.thread;
        if block & AGENT == 0 {
            return;
        }
        let block = block & !ROLES;
        access.asynchronous = Some(match index {
            WRITES..PRODUCTS => Asynchronous::Store,
            PRODUCTS..BARRIERS => Asynchronous::Product,
            _ => Asynchronous::Copy,
        });
        access.thread = match index {
            ..WRITES => Thread { block, index },
            WRITES..PRODUCTS => Thread { block, index: index - WRITES },
            PRODUCTS..BARRIERS => Thread { block, index: (index - PRODUCTS) * LANES as u16 },
            _ => self.threads.get(&(block, index)).copied().unwrap_or(Thread { block, index: 0 }),
        };
    }
}

impl Races {
    /// What was found since the last query. Operations on an mbarrier are atomic for each other, whatever their scopes.
    pub(crate) fn take(&mut self) -> Vec<Conflict> {
        let mut found = std::mem::take(&mut self.found);
        found.retain(|conflict| {
            conflict.kind != ConflictKind::Scoped || !self.mbarriers.contains(&(conflict.address & !7))
        });
        for conflict in &mut found {
            self.agents.resolve(&mut conflict.touch);
            self.agents.resolve(&mut conflict.earlier);
        }
        found
    }

    /// Whether an instruction initialises mbarriers.
    pub(crate) fn initialises(&self, source: u32) -> bool {
        self.initialisers.contains(&source)
    }

    /// A lane begins an operation; of a product, all lanes of the warp.
    pub(crate) fn issue(&mut self, block: u32, warp: u8, lane: usize, completion: Completion) -> Agent {
        self.cells.keep_for_proxies();
        let (by, is_product) = (thread(block, warp, lane), completion == Completion::Products);
        let state = self.warp(block, warp);
        let lanes = if is_product { state.mask } else { 1 << lane };
        let mut known = VectorClock::default();
        state.each(lanes, |lane, clock| {
            known.join(&clock.known);
            let own = thread(block, warp, lane);
            if is_product {
                known.advance_warp(own, clock.epoch.max(clock.warp));
            } else {
                known.advance_warp(own, clock.warp);
                known.advance(own, clock.epoch);
            }
            clock.epoch += 1;
        });
        let agents = &mut self.agents;
        agents.count += 1;
        agents.known = Arc::new(known);
        let (index, number) = (agents.index(by, completion), agents.count);
        match completion {
            Completion::Barrier(_) => {
                let agent = Thread { block: block | AGENT, index };
                let known = Arc::clone(&agents.known);
                agents.under_way.insert(number, UnderWay { agent, known, left: 1 });
            }
            Completion::Products => drop(agents.products.insert((block, warp), number)),
            Completion::Group => {}
        }
        Agent { index, number, proxy: Some(Proxy::Shared) }
    }

    /// The operation that was begun last accesses memory.
    pub(super) fn by_agent(&mut self, access: &Access, agent: Agent, address: u64) {
        let what = (access.bytes, access.kind, access.order);
        let (warp, lane) = ((agent.index / LANES as u16) as u8, u64::from(agent.index) % LANES as u64);
        let record = Record::new(access.block | AGENT, warp, agent.number, access.source, what);
        let view = View { block: 0, warp: 0, plain: false, known: &self.agents.known, proxy: agent.proxy };
        for (start, bytes) in parts(address, access.bytes) {
            let record = record.by_word(bytes, lane * 0x0101_0101_0101_0101);
            self.cells.put_apart(start, &record, &view, &mut self.found);
        }
    }

    /// A lane has begun a copy to global memory.
    pub(crate) fn begin_store(&mut self, block: u32, warp: u8, lane: usize, number: u32, delivery: &Delivery) {
        let thread = thread(block, warp, lane);
        self.agents.stores.begin(thread, number, delivery.clone());
    }

    /// The copies of a block that has ended are forgotten.
    pub(crate) fn end_stores(&mut self, block: u32) {
        self.agents.stores.end(block);
    }

    /// Whether both sides of a conflict are copies to global memory that write the same there.
    pub(crate) fn stores_same(&self, conflict: &Conflict) -> bool {
        let Conflict { touch, earlier, address, .. } = conflict;
        self.agents.stores.rewrites(touch.thread, earlier.thread, *address)
    }

    /// A copy goes to so many blocks.
    pub(crate) fn expect_deliveries(&mut self, number: u32, count: usize) {
        if let Some(copy) = self.agents.under_way.get_mut(&number) {
            copy.left = count;
        }
    }

    /// A copy has arrived that an mbarrier in a block's shared memory keeps track of. Who waits for its phase knows of it.
    pub(crate) fn deliver(&mut self, block: u32, object: u64, number: u32) {
        let Some(copy) = self.agents.under_way.get_mut(&number) else {
            return;
        };
        copy.left = copy.left.saturating_sub(1);
        let (agent, mut known) = (copy.agent, Arc::clone(&copy.known));
        if copy.left == 0 {
            self.agents.under_way.remove(&number);
        }
        Arc::make_mut(&mut known).advance(agent, number);
        let fresh = || Published::by(block, Scope::Device);
        let published = self.arriving.entry(object).or_insert_with(fresh);
        published.writer = (block, Scope::Device);
        published.add(block, Scope::Device, known);
    }

    /// A lane knows that its copies in groups are over up to one: that they have read their sources or, unless it `only_reads`,
    /// all of them.
    pub(crate) fn land(&mut self, block: u32, warp: u8, lane: usize, number: u32, only_reads: bool) {
        // Copies arrive in every wait, also in one for their reads.
        self.agents.stores.arrive(thread(block, warp, lane), number);
        let own = thread(block, warp, lane).index;
        let mut known = VectorClock::default();
        let mut learn = |index| {
            let block = block | AGENT;
            known.advance(Thread { block, index }, number);
        };
        learn(READS + own);
        if !only_reads {
            learn(WRITES + own);
        }
        let known = Arc::new(known);
        self.warp(block, warp).each(1 << lane, |_, clock| clock.acquire(&known, block));
    }

    /// What waits learn of a warp's products by a barrier that it has come to.
    pub(crate) fn bring_products(&mut self, barrier: BarrierPhase, block: u32, warp: u8) {
        let Some(number) = self.agents.products.get(&(block, warp)) else {
            return;
        };
        if let Some(arrived) = self.barriers.get_mut(&barrier) {
            let agent = Thread { block: block | AGENT, index: PRODUCTS + u16::from(warp) };
            Arc::make_mut(&mut arrived.known).advance(agent, *number);
            arrived.last_joined = None;
            arrived.result = None;
        }
    }

    /// A fence of lanes makes what they know of one proxy, or of the generic one, known to another.
    pub(crate) fn proxy_fence(&mut self, block: u32, warp: u8, lanes: u32, from: Option<Proxy>, to: Proxy) {
        self.cells.keep_for_proxies();
        let state = self.warp(block, warp);
        let whole = state.lanes.is_none() && lanes == state.mask;
        state.each(lanes, |lane, clock| {
            let mut known = VectorClock::clone(&clock.known);
            let bits = from.map_or(0, |proxy| proxy as u32);
            known.pass_on(ROLES, bits, to as u32);
            if from.is_none() {
                let own = thread(block | to as u32, warp, lane);
                known.advance_warp(own, if whole { clock.epoch.max(clock.warp) } else { clock.warp });
                known.advance(own, clock.epoch);
                clock.epoch += 1;
            }
            clock.set_known(Arc::new(known), block);
        });
    }
}
