//! The history of the barriers of a running block: arrivals and exits of its threads.

use std::collections::HashMap;

use crate::base::lanes::{BARRIERS, LANES, MAX_WARPS, lanes_of, mask_of};
use crate::check::groups::{GROUP_WARPS, WarpGroup};
use crate::check::notes::Actor;
use crate::check::transactions::Transactions;

/// Lanes that arrived at a barrier.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) warp: u32,
    pub(crate) lanes: u32,
    pub(crate) source: u32,
    /// Whether all lanes of the warp have to execute the instruction together.
    pub(crate) aligned: bool,
    pub(crate) phase: u32,
}

/// The history of synchronization in a running block.
#[derive(Debug, Default)]
pub(crate) struct SyncHistory {
    pub(crate) threads: u32,
    /// By barrier and warp, the last arrival of all lanes at once.
    pub(crate) whole: [[Option<Arrival>; MAX_WARPS]; BARRIERS],
    /// Barriers that threads arrived at.
    pub(crate) used: u16,
    /// Arrivals of parts of warps, or by instructions for single threads.
    pub(crate) partial: [Vec<Arrival>; BARRIERS],
    /// Lanes that have exited: warp, lanes, instruction.
    pub(crate) exits: Vec<(u32, u32, u32)>,
    /// Where mbarriers were initialised.
    pub(crate) initialised: HashMap<u64, Actor>,
    /// Where mbarriers were invalidated.
    pub(crate) invalidated: HashMap<u64, Actor>,
    /// The counts of valid mbarriers.
    pub(crate) mbarriers: HashMap<u64, Transactions>,
    /// Where threads, by warp and lane, last began a copy in a group.
    pub(crate) copies: HashMap<(u32, usize), Actor>,
    /// Its warp groups.
    pub(crate) groups: [WarpGroup; MAX_WARPS / GROUP_WARPS],
}

impl SyncHistory {
    /// A block of `threads` threads begins.
    pub(crate) fn begin(&mut self, threads: u32) {
        self.threads = threads;
        for id in lanes_of(u32::from(std::mem::take(&mut self.used))) {
            self.whole[id] = [None; MAX_WARPS];
            self.partial[id].clear();
        }
        self.exits.clear();
        self.initialised.clear();
        self.invalidated.clear();
        self.mbarriers.clear();
        self.copies.clear();
        self.groups = Default::default();
    }

    /// The arrivals at a barrier in a phase, warp by warp.
    pub(crate) fn arrivals(&self, id: usize, phase: u32) -> Vec<Arrival> {
        let all = self.whole[id].iter().flatten().chain(&self.partial[id]);
        let mut all: Vec<_> = all.filter(|arrival| arrival.phase == phase).copied().collect();
        all.sort_by_key(|arrival| arrival.warp);
        all
    }

    /// The lanes that a warp began with.
    fn lanes_of_warp(&self, warp: u32) -> u32 {
        mask_of(self.threads.saturating_sub(warp * LANES as u32))
    }

    /// Lanes of a warp that were there once and have exited.
    pub(crate) fn gone(&self, warp: u32, live: u32) -> u32 {
        self.lanes_of_warp(warp) & !live
    }

    /// Notes that lanes exit.
    pub(crate) fn exit(&mut self, warp: u32, lanes: u32, source: u32) {
        match self.exits.iter_mut().find(|(known, _, at)| *known == warp && *at == source) {
            Some((_, known, _)) => *known |= lanes,
            None => self.exits.push((warp, lanes, source)),
        }
    }
}
