//! The state that the warps of a block share: its barriers, its cluster, and its asynchronous copies.

use crate::base::lanes::{BARRIERS, FULL, LANES, MAX_WARPS, SHARED_START, lanes_of, mask_of};
use crate::check::arrivals::SyncHistory;
use crate::check::flight::Flights;
use crate::check::notes::Actor;
use crate::machine::cluster::{Cluster, GridBarrier};
use crate::machine::tensor_memory::TensorMemory;
use crate::mem::copies::Tracked;

/// One of the block's barriers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Barrier {
    /// Lanes that have arrived, of each warp.
    arrived: [u32; MAX_WARPS],
    /// How many that are.
    pub(crate) threads: u32,
    /// How many it waits for; 0 for all that have not exited.
    pub(crate) expected: u32,
    /// How many of those that have arrived came with a true predicate.
    positive: u32,
    /// How often it was completed.
    pub(crate) phase: u32,
    /// Threads and true predicates of the last completion, and how many it was for.
    pub(crate) result: (u32, u32),
    pub(crate) last_expected: u32,
}

const FRESH_BARRIER: Barrier = Barrier {
    arrived: [0; MAX_WARPS],
    threads: 0,
    expected: 0,
    positive: 0,
    phase: 0,
    result: (0, 0),
    last_expected: 0,
};

/// The state that the warps of a block share.
#[derive(Debug)]
pub(crate) struct BlockState {
    /// Lanes of each warp that have not exited.
    pub(crate) live: [u32; MAX_WARPS],
    pub(crate) live_threads: u32,
    pub(crate) barriers: [Barrier; BARRIERS],
    /// Barriers that threads have arrived at.
    pub(crate) used: u16,
    /// Barriers that were completed, and whose waiters are to be woken; [`OUTSIDE`] for those of cluster and grid.
    pub(crate) completed: u32,
    /// Where the block lies in the grid.
    pub(crate) coordinates: [u32; 3],
    /// Its number in the order in which blocks are begun.
    pub(crate) number: u32,
    /// The block's cluster, and its rank there.
    pub(crate) cluster: *mut Cluster,
    pub(crate) rank: u32,
    pub(crate) grid: *const GridBarrier,
    /// The end of the shared memory that needs no further check: all of it, or nothing if accesses are monitored.
    pub(crate) shared_known: u64,
    /// Host addresses of the mbarriers in the block's shared memory.
    pub(crate) mbarriers: Vec<u64>,
    /// Copies that these keep track of.
    pub(crate) tracked: Vec<Tracked>,
    /// Copies under way, if races are looked for.
    pub(crate) flights: Flights,
    /// Groups of products of warp groups that each warp has committed.
    pub(crate) commits: [u32; MAX_WARPS],
    /// Its tensor memory.
    pub(crate) tensor: TensorMemory,
    /// How often an mbarrier was changed.
    pub(crate) mbarrier_changes: u64,
    /// The history for the check of synchronization, if the check is on.
    pub(crate) sync_history: Option<Box<SyncHistory>>,
    /// Threads that have arrived at the barrier of the grid; the block arrives there when all have.
    pub(crate) grid_arrived: u32,
}

pub(crate) use crate::check::groups::GROUP_WARPS;

/// In [`BlockState::completed`]: a barrier beyond the block.
const OUTSIDE: u32 = 1 << BARRIERS;

impl BlockState {
    pub(crate) fn new() -> Self {
        Self {
            live: [0; MAX_WARPS],
            live_threads: 0,
            barriers: [FRESH_BARRIER; BARRIERS],
            used: 0,
            completed: 0,
            coordinates: [0; 3],
            number: 0,
            cluster: std::ptr::null_mut(),
            rank: 0,
            grid: std::ptr::null(),
            shared_known: SHARED_START,
            mbarriers: Vec::new(),
            tracked: Vec::new(),
            flights: Flights::default(),
            commits: [0; MAX_WARPS],
            tensor: TensorMemory::default(),
            mbarrier_changes: 0,
            sync_history: None,
            grid_arrived: 0,
        }
    }

    pub(crate) fn start(&mut self, threads: u32) {
        for id in lanes_of(u32::from(self.used)) {
            self.barriers[id] = FRESH_BARRIER;
        }
        self.used = 0;
        self.completed = 0;
        self.mbarriers.clear();
        self.tracked.clear();
        self.flights.retain(|_| false);
        self.commits = [0; MAX_WARPS];
        self.tensor.clear();
        self.grid_arrived = 0;
        self.live_threads = threads;
        let (whole, rest) = self.live.split_at_mut((threads as usize / LANES).min(MAX_WARPS));
        whole.fill(FULL);
        rest.fill(0);
        if let Some(last) = rest.first_mut() {
            *last = mask_of(threads % LANES as u32);
        }
    }

    /// Notes that lanes of a warp have exited: barriers no longer wait for them.
    pub(crate) fn exited(&mut self, warp: u32, mask: u32) {
        self.live[warp as usize] &= !mask;
        self.live_threads -= mask.count_ones();
        for id in lanes_of(u32::from(self.used)) {
            self.complete(id);
        }
        if self.change_cluster(|cluster| cluster.exited(self.rank, warp, mask)) {
            self.completed |= OUTSIDE;
        }
        self.complete_grid();
    }

    /// The block's cluster.
    pub(crate) fn cluster(&self) -> &Cluster {
        // SAFETY: the launch has set it, it belongs to the worker that runs the block, and what changes it
        // (`change_cluster`) returns before anything else looks.
        unsafe { &*self.cluster }
    }

    /// Changes the block's cluster. No reference to it is held meanwhile.
    pub(crate) fn change_cluster<R>(&self, change: impl FnOnce(&mut Cluster) -> R) -> R {
        // SAFETY: the launch has set it, and it belongs to the worker that runs the block. A cluster knows no more of its
        // blocks than their addresses, so that `change` cannot come back here.
        change(unsafe { &mut *self.cluster })
    }

    /// Lanes arrive at the barrier of the cluster.
    pub(crate) fn arrive_at_cluster(&mut self, warp: u32, mask: u32) -> Result<(), String> {
        if self.change_cluster(|cluster| cluster.arrive(self.rank, warp, mask))? {
            self.completed |= OUTSIDE;
        }
        Ok(())
    }

    /// Threads arrive at the barrier of the grid, and wait for the phase that is given to end.
    pub(crate) fn arrive_at_grid(&mut self, threads: u32) -> u32 {
        // SAFETY: the launch has set it and outlives its blocks.
        let phase = unsafe { (*self.grid).phase() };
        self.grid_arrived += threads;
        self.complete_grid();
        phase
    }

    fn complete_grid(&mut self) {
        if self.grid_arrived > 0 && self.grid_arrived >= self.live_threads {
            self.grid_arrived = 0;
            // SAFETY: as in `arrive_at_grid`.
            unsafe { (*self.grid).arrive() };
            self.completed |= OUTSIDE;
        }
    }

    /// A warp commits a group of products, for which the others of its warp group may be waiting. Says how many it has committed.
    pub(crate) fn commit(&mut self, warp: u32) -> u32 {
        let commits = &mut self.commits[warp as usize];
        *commits += 1;
        self.completed |= OUTSIDE;
        *commits
    }

    /// A warp frees columns of tensor memory, for which others may be waiting.
    pub(crate) fn free_columns(&mut self, first: u32, columns: u32, actor: Actor) -> Result<(), String> {
        self.completed |= OUTSIDE;
        self.tensor.free(first, columns, actor)
    }

    /// Whether all warps of a warp's group have committed `groups` groups of products.
    pub(crate) fn has_committed(&self, warp: u32, groups: u32) -> bool {
        let first = warp as usize / GROUP_WARPS * GROUP_WARPS;
        let others = self.commits[first..].iter().take(GROUP_WARPS);
        others.copied().all(|commits| commits >= groups)
    }

    /// How often a barrier was completed.
    pub(crate) fn phase(&self, id: usize) -> u32 {
        self.barriers[id].phase
    }

    /// Lanes of a warp arrive at a barrier for `expected` threads, some of them with a true predicate.
    pub(crate) fn arrive(
        &mut self,
        id: usize,
        warp: u32,
        mask: u32,
        expected: u32,
        positive: u32,
    ) -> Result<(), String> {
        let barrier = &mut self.barriers[id];
        if barrier.threads != 0 && barrier.expected != expected {
            let name = |count| {
                if count == 0 { "all threads".to_owned() } else { format!("{count} threads") }
            };
            return Err(format!(
                "barrier {id} is used for {} here and for {} by threads that wait at it",
                name(expected),
                name(barrier.expected)
            ));
        }
        barrier.expected = expected;
        let arrived = &mut barrier.arrived[warp as usize];
        barrier.threads += (mask & !*arrived).count_ones();
        barrier.positive += positive;
        *arrived |= mask;
        self.used |= 1 << id;
        self.complete(id);
        Ok(())
    }

    /// Completes a barrier at which all threads have arrived at once. The phase that ended.
    pub(crate) fn pass(&mut self, id: usize) -> u32 {
        let phase = self.barriers[id].phase;
        self.barriers[id].phase = phase + 1;
        self.used |= 1 << id;
        phase
    }

    fn complete(&mut self, id: usize) {
        let barrier = &mut self.barriers[id];
        if barrier.threads == 0 {
            return;
        }
        let complete = if barrier.expected == 0 {
            barrier.threads >= self.live_threads
        } else {
            // A warp that has arrived with all its lanes counts as a whole one, exited lanes included.
            let weights = barrier.arrived.iter().zip(&self.live).map(|(arrived, live)| {
                if *arrived != 0 && live & !arrived == 0 { LANES as u32 } else { arrived.count_ones() }
            });
            weights.sum::<u32>() >= barrier.expected
        };
        if complete {
            let phase = barrier.phase + 1;
            let result = (barrier.threads, barrier.positive);
            *barrier = Barrier { phase, result, last_expected: barrier.expected, ..FRESH_BARRIER };
            self.completed |= 1 << id;
        }
    }
}

/// The result of `bar.red`, by the operation's `extra`.
pub(crate) const RESULT_COUNT: u16 = 0;

/// Whether all predicates were true.
pub(crate) const RESULT_ALL: u16 = 1;

/// Whether any predicate was true.
pub(crate) const RESULT_ANY: u16 = 2;
