//! A worker: the blocks and clusters that it keeps from launch to launch, and the caches of its operations.

use std::cell::UnsafeCell;

use crate::machine::bounds::{Bounds, CACHES, TABLES};
use crate::machine::cluster::Cluster;
use crate::machine::context::Context;
use crate::machine::program::SITES;
use crate::run::block::Begun;
use crate::run::resident::{InitialState, Resident};

/// A cluster that a worker keeps.
struct ResidentCluster {
    /// Shared with the states of the blocks.
    state: Box<UnsafeCell<Cluster>>,
    /// Indices of its blocks among the worker's residents, by rank.
    members: Vec<usize>,
}

// SAFETY: a cluster is used by one worker at a time.
unsafe impl Send for ResidentCluster {}

impl ResidentCluster {
    /// The state that its blocks share. Does not use `get_mut`, which would invalidate the blocks' own pointers.
    fn state(&mut self) -> &mut Cluster {
        // SAFETY: the worker that owns the cluster calls this, so none of the cluster's blocks is running.
        unsafe { &mut *self.state.get() }
    }
}

/// The state that a worker keeps from launch to launch.
pub(crate) struct Worker {
    number: usize,
    caches: Vec<Bounds>,
    /// The addresses that native code has last accessed at its sites.
    sites: Vec<u64>,
    epoch: u64,
    residents: Vec<Resident>,
    /// For each resident, a cluster that is free whenever the resident is.
    clusters: Vec<ResidentCluster>,
    /// The residents without a block.
    idle: Vec<usize>,
}

impl Worker {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number,
            caches: Vec::new(),
            sites: Vec::new(),
            epoch: 0,
            residents: Vec::new(),
            clusters: Vec::new(),
            idle: Vec::new(),
        }
    }

    /// The initial state of the blocks of a launch. All residents are idle: the blocks of other launches have ended, and bounds
    /// that operations of another launch have cached are forgotten.
    pub(crate) fn reset<'c>(&mut self, context: &'c Context<'c>) -> InitialState<'c> {
        self.idle = (0..self.residents.len()).rev().collect();
        // Operations share bounds modulo their number; bounds without an operation are never read.
        let caches = context.program.debug.points.len().clamp(1, CACHES);
        self.caches.resize(TABLES * CACHES, Bounds::default());
        for half in self.caches.chunks_exact_mut(CACHES) {
            half[..caches].fill(Bounds::default());
        }
        self.epoch = context.allocations.epoch();
        self.sites.clear();
        self.sites.resize(SITES, 0);
        InitialState::new(context, self.number, self.caches.as_mut_ptr(), self.sites.as_mut_ptr())
    }

    /// Forgets the bounds that operations have cached if memory was freed meanwhile.
    pub(super) fn forget_what_was_freed(&mut self, context: &Context<'_>) {
        let epoch = context.allocations.epoch();
        if epoch != self.epoch {
            self.epoch = epoch;
            self.caches.fill(Bounds::default());
            context.report_again();
        }
    }

    /// The addresses that native code has last accessed at its sites.
    pub(super) fn sites(&self) -> Option<&[u64; SITES]> {
        self.sites.first_chunk()
    }

    /// Zeros all registers, so that a block finds the same values in unwritten registers in each run.
    pub(crate) fn clear_registers(&mut self) {
        self.residents.iter_mut().for_each(Resident::clear_registers);
    }

    /// The number of blocks that have begun and not ended.
    pub(super) fn busy(&self) -> usize {
        self.residents.len() - self.idle.len()
    }

    /// The resident of the next block that begins, if one is idle.
    pub(super) fn next_idle(&mut self) -> Option<&mut Resident> {
        self.idle.last().map(|resident| &mut self.residents[*resident])
    }

    pub(crate) fn known(&self, index: usize) -> &Resident {
        &self.residents[index]
    }

    pub(crate) fn resident(&mut self, index: usize) -> &mut Resident {
        &mut self.residents[index]
    }

    /// The cluster of a resident.
    pub(super) fn cluster(&mut self, resident: usize) -> &mut Cluster {
        self.clusters[self.residents[resident].cluster].state()
    }

    /// The residents of a resident's cluster, by rank.
    pub(super) fn members(&self, resident: usize) -> &[usize] {
        &self.clusters[self.residents[resident].cluster].members
    }

    /// Takes an idle resident, or makes one.
    fn take(&mut self) -> usize {
        self.idle.pop().unwrap_or_else(|| {
            self.residents.push(Resident::new(self.residents.len()));
            self.clusters.push(ResidentCluster { state: Box::default(), members: Vec::new() });
            self.residents.len() - 1
        })
    }

    /// Begins the blocks of a cluster, given the number of the first block and the cluster's coordinates. The first block may have
    /// begun, in the next idle resident. Returns the residents of the blocks, by rank.
    pub(crate) fn begin(
        &mut self,
        initial: &InitialState<'_>,
        (first, coordinates): (u64, [u32; 3]),
        begun: Option<Begun>,
    ) -> std::io::Result<&[usize]> {
        let context = initial.context;
        let cluster = self.take();
        let mut members = std::mem::take(&mut self.clusters[cluster].members);
        // A launch that was stopped leaves the members of its last clusters behind.
        members.clear();
        members.push(cluster);
        for _ in 1..context.cluster_size() {
            members.push(self.take());
        }
        self.clusters[cluster].state().clear();
        let state = self.clusters[cluster].state.get();
        for (rank, resident) in (0..).zip(&members) {
            let resident = &mut self.residents[*resident];
            resident.index = first + u64::from(rank);
            resident.cluster = cluster;
            resident.rank = rank;
            resident.stalled = 0;
            let place = context.place(coordinates, rank);
            // SAFETY: the cluster is this worker's, in a box that it keeps; it was cleared, and its blocks are run by the caller.
            if let Err(error) = unsafe { resident.start(initial, &place, state, begun) } {
                self.idle.append(&mut members);
                return Err(error);
            }
        }
        self.clusters[cluster].members = members;
        Ok(&self.clusters[cluster].members)
    }

    /// Ends a block. The residents of a cluster are idle when all its blocks have ended.
    pub(crate) fn finish(&mut self, resident: usize) {
        let Resident { cluster, rank, .. } = self.residents[resident];
        let cluster = &mut self.clusters[cluster];
        cluster.state().finish(rank);
        if cluster.state().unfinished == 0 {
            self.idle.append(&mut cluster.members);
        }
    }
}
