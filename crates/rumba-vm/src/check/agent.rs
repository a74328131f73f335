//! Asynchronous operations as threads of their own: copies, products and the operations of tensor memory, whose accesses a
//! thread knows of only after waiting for the operation, and the writes that proxy fences have made known to them.
//!
//! An operation takes over the clock of the thread that begins it. Its accesses belong to an agent: an entry of vector
//! clocks like a thread's, which only the operation's completion mechanism passes on (manual, section 8.1.1, "Scope and
//! Applicability of the Model", and 9.7.9.25.2, "Async proxy"): the phase of an mbarrier, or `wait_group`. So an access
//! that comes too early is found in every order of the threads.
//!
//! Ordinary writes are in the generic proxy. An operation of another proxy is ordered behind such writes only by a
//! proxy fence (manual, section 8.10.3, "Proxy-preserved base causality order"): the fence copies the clock of its
//! thread to entries of the other proxy, which are passed on like all other entries.

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
    /// The agent that accesses memory for the operation.
    index: u16,
    /// The number of the operation.
    pub(crate) number: u32,
    /// The proxy through which its accesses have to know of ordinary writes, if they have to.
    proxy: Option<Proxy>,
}

/// The mechanism by which threads learn that an operation is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Completion {
    /// The phase of the mbarrier at a host address.
    Barrier(u64),
    /// A wait for groups of copies.
    Group,
    /// A wait for groups of products of the warp group.
    Products,
    /// A wait of the warp for its loads from tensor memory.
    TensorLoads,
    /// A wait of the warp for its stores to tensor memory.
    TensorStores,
    /// The phase of an mbarrier at which the thread's commit of its products and copies in tensor memory arrives.
    TensorCommit,
}

impl Completion {
    /// Whether all lanes of a warp begin such an operation.
    fn is_of_warp(self) -> bool {
        matches!(self, Self::Products | Self::TensorLoads | Self::TensorStores)
    }
}

// The agents of a block, by their indices: for the bulk groups of each thread one agent for reads and one for writes,
// since a thread can wait for reads alone; one for the products of each warp, for its loads from tensor memory and for its
// stores there; one for each mbarrier and thread; and one for what each thread does in tensor memory until it commits that.
const READS: u16 = 0;
const WRITES: u16 = 1024;
const PRODUCTS: u16 = 2048;
const LOADS: u16 = PRODUCTS + 32;
const STORES: u16 = LOADS + 32;
const BARRIERS: u16 = STORES + 32;
const TENSOR: u16 = 8192 - 1024;
const END: u16 = 8192;

impl Agent {
    /// The same operation, for its reads or its writes.
    pub(crate) fn of_kind(self, kind: AccessKind) -> Self {
        let index = match (kind, self.index) {
            (AccessKind::Write | AccessKind::Atomic, READS..WRITES) => self.index + WRITES,
            (_, index) => index,
        };
        Self { index, ..self }
    }

    /// The same operation, for accesses whose proxy does not matter.
    pub(crate) fn in_any_proxy(self) -> Self {
        Self { proxy: None, ..self }
    }

    /// The same operation, for its reads of a tensor map.
    pub(crate) fn reading_map(self) -> Self {
        Self { proxy: Some(Proxy::MapAcquired), ..self }
    }

    /// The same operation, for its accesses to shared memory, or to global memory.
    pub(crate) fn accessing(self, is_shared: bool) -> Self {
        let proxy = if is_shared { Proxy::Shared } else { Proxy::Global };
        Self { proxy: self.proxy.map(|_| proxy), ..self }
    }
}

/// One or several copies that an mbarrier tracks.
struct UnderWay {
    agent: Thread,
    /// The clock of the thread that began the copy, at that time.
    known: Arc<VectorClock>,
    /// The number of destination blocks in which the copy has not arrived yet.
    left: usize,
}

/// The operations of a launch.
#[derive(Default)]
pub(super) struct Agents {
    /// The number of operations begun so far.
    count: u32,
    /// The clock of the thread that began the last operation.
    known: Arc<VectorClock>,
    /// The agents of mbarriers and threads, and the threads by agents.
    indices: HashMap<(u64, Thread), u16>,
    threads: HashMap<(u32, u16), Thread>,
    /// The last product of each warp.
    products: HashMap<(u32, u8), u32>,
    /// The last operation on tensor memory of each agent, and what its thread knew then.
    tensor: HashMap<Thread, (u32, Arc<VectorClock>)>,
    /// By their numbers.
    under_way: HashMap<u32, UnderWay>,
    /// The bytes that copies to global memory will write.
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
            Completion::TensorLoads => LOADS + by.index / LANES as u16,
            Completion::TensorStores => STORES + by.index / LANES as u16,
            Completion::TensorCommit => TENSOR + by.index,
            Completion::Barrier(object) => {
                let next = BARRIERS + (self.indices.len() % usize::from(TENSOR - BARRIERS)) as u16;
                let index = *self.indices.entry((object, by)).or_insert(next);
                self.threads.insert((by.block, index), by);
                index
            }
        }
    }

    /// An access, attributed to the thread that began the operation.
    pub(super) fn resolve(&self, access: &mut ThreadAccess) {
        let Thread { block, index } = access.thread;
        if block & AGENT == 0 {
            return;
        }
        let block = block & !ROLES;
        access.asynchronous = Some(match index {
            WRITES..PRODUCTS => Asynchronous::Store,
            PRODUCTS..LOADS => Asynchronous::Product,
            LOADS..STORES => Asynchronous::TensorLoad,
            STORES..BARRIERS => Asynchronous::TensorStore,
            TENSOR..END => Asynchronous::Tensor,
            _ => Asynchronous::Copy,
        });
        access.thread = match index {
            ..WRITES => Thread { block, index },
            WRITES..PRODUCTS => Thread { block, index: index - WRITES },
            PRODUCTS..BARRIERS => Thread { block, index: (index - PRODUCTS) % 32 * LANES as u16 },
            TENSOR..END => Thread { block, index: index - TENSOR },
            _ => self.threads.get(&(block, index)).copied().unwrap_or(Thread { block, index: 0 }),
        };
    }
}

impl Races {
    /// The conflicts found since the last query. Operations on an mbarrier are atomic for each other, whatever their
    /// scopes.
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

    /// A lane begins an operation; all lanes of the warp begin a product, or a load or store of tensor memory.
    pub(crate) fn issue(&mut self, block: u32, warp: u8, lane: usize, completion: Completion) -> Agent {
        self.cells.keep_for_proxies();
        let (by, is_of_warp) = (thread(block, warp, lane), completion.is_of_warp());
        let state = self.warp(block, warp);
        let lanes = if is_of_warp { state.mask } else { 1 << lane };
        let mut known = VectorClock::default();
        state.each(lanes, |lane, clock| {
            known.join(&clock.known);
            let own = thread(block, warp, lane);
            if is_of_warp {
                known.advance_warp(own, clock.epoch.max(clock.warp));
            } else {
                known.advance_warp(own, clock.warp);
                known.advance(own, clock.epoch);
            }
            clock.epoch += 1;
        });
        let agents = &mut self.agents;
        agents.count += 1;
        let (index, number) = (agents.index(by, completion), agents.count);
        let agent = Thread { block: block | AGENT, index };
        if completion == Completion::TensorCommit {
            // Products and copies of one thread are executed in order.
            known.advance(agent, number);
        }
        agents.known = Arc::new(known);
        match completion {
            Completion::Barrier(_) => {
                let known = Arc::clone(&agents.known);
                agents.under_way.insert(number, UnderWay { agent, known, left: 1 });
            }
            Completion::Products => drop(agents.products.insert((block, warp), number)),
            Completion::TensorLoads | Completion::TensorStores | Completion::TensorCommit => {
                agents.tensor.insert(agent, (number, Arc::clone(&agents.known)));
            }
            Completion::Group => {}
        }
        Agent { index, number, proxy: Some(Proxy::Shared) }
    }

    /// The operation issued last accesses memory.
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

    /// Forgets the copies of a block that has ended.
    pub(crate) fn end_stores(&mut self, block: u32) {
        self.agents.stores.end(block);
    }

    /// Whether both sides of a conflict are copies to global memory that write the same bytes.
    pub(crate) fn stores_same(&self, conflict: &Conflict) -> bool {
        let Conflict { touch, earlier, address, .. } = conflict;
        self.agents.stores.rewrites(touch.thread, earlier.thread, *address)
    }

    /// Notes the number of destination blocks of a copy.
    pub(crate) fn expect_deliveries(&mut self, number: u32, count: usize) {
        if let Some(copy) = self.agents.under_way.get_mut(&number) {
            copy.left = count;
        }
    }

    /// A copy that an mbarrier in a block's shared memory tracks has arrived. Threads that wait for the mbarrier's
    /// phase know of it.
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
        self.bring(block, object, known);
    }

    /// Adds a clock to those that the phase of an mbarrier in a block's shared memory brings.
    fn bring(&mut self, block: u32, object: u64, known: Arc<VectorClock>) {
        let fresh = || Published::by(block, Scope::Device);
        let published = self.arriving.entry(object).or_insert_with(fresh);
        published.writer = (block, Scope::Device);
        published.add((block, self.cells.launches.device(block)), Scope::Device, known);
    }

    /// A lane commits its products and copies in tensor memory to an mbarrier in the shared memory of block `owner`.
    pub(crate) fn commit_tensor(&mut self, block: u32, warp: u8, lane: usize, (owner, object): (u32, u64)) {
        let index = self.agents.index(thread(block, warp, lane), Completion::TensorCommit);
        let agent = Thread { block: block | AGENT, index };
        if let Some((number, known)) = self.agents.tensor.get(&agent) {
            let (number, mut known) = (*number, Arc::clone(known));
            Arc::make_mut(&mut known).advance(agent, number);
            self.bring(owner, object, known);
        }
    }

    /// A warp has waited for its loads from tensor memory, or for its stores there.
    pub(crate) fn wait_tensor(&mut self, block: u32, warp: u8, completion: Completion) {
        let index = self.agents.index(thread(block, warp, 0), completion);
        let agent = Thread { block: block | AGENT, index };
        let Some((number, _)) = self.agents.tensor.get(&agent) else {
            return;
        };
        let mut known = VectorClock::default();
        known.advance(agent, *number);
        let known = Arc::new(known);
        let state = self.warp(block, warp);
        let lanes = state.mask;
        state.each(lanes, |_, clock| clock.acquire(&known, block));
    }

    /// Forgets the accesses to tensor memory that is handed out again.
    pub(crate) fn renew(&mut self, start: u64, bytes: u64) {
        self.cells.forget(start, start + bytes);
    }

    /// A lane knows that its bulk copies up to some group are over: that they have read their sources or, unless it
    /// `only_reads`, are complete.
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

    /// Adds the completion of a warp's products to the clock of the barrier phase at which the warp has arrived.
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

    /// A proxy fence of lanes copies their clocks for one proxy, or for the generic proxy, to another proxy.
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
