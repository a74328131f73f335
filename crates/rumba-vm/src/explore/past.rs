//! The happens-before order: for each lane, barrier and copy the events that precede all its later events, in every
//! order that is equivalent to the present one.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use crate::base::lanes::{LANES, lanes_of};
use crate::explore::event::Object;

/// A set of events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Past(Vec<u64>);

impl Past {
    /// The first `count` events.
    pub(crate) fn all(count: usize) -> Self {
        let mut all = Self::default();
        (0..count).for_each(|event| all.insert(event));
        all
    }

    pub(crate) fn has(&self, event: usize) -> bool {
        self.0.get(event / 64).is_some_and(|word| word >> (event % 64) & 1 != 0)
    }

    pub(crate) fn insert(&mut self, event: usize) {
        if self.0.len() <= event / 64 {
            self.0.resize(event / 64 + 1, 0);
        }
        self.0[event / 64] |= 1 << (event % 64);
    }

    pub(crate) fn unite(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = usize> {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(index, word)| (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| index * 64 + bit))
    }
}

type Lanes = [Arc<Past>; LANES];

/// The pasts of a launch.
#[derive(Debug)]
pub(crate) struct Pasts<K> {
    /// The past of all threads when the launch begins.
    start: Arc<Past>,
    warps: HashMap<(u32, u32), Lanes>,
    /// Of those who arrived at a phase of a barrier, with their warps, and of the threads of a warp that have exited.
    barriers: HashMap<K, (Past, Vec<(u32, u32)>)>,
    exits: HashMap<(u32, u32), Past>,
    copies: HashMap<u32, Arc<Past>>,
    /// The number of the next copy of the order.
    pub(crate) next_copy: u32,
    /// How often each mbarrier has ended a phase, or was made anew.
    phases: HashMap<u64, u32>,
    /// Whether threads have met, or exited, since this was last taken.
    pub(crate) has_met: bool,
}

impl<K: Hash + Eq> Pasts<K> {
    /// The pasts of a launch after `events` events and `copies` copies.
    pub(crate) fn new(events: usize, copies: u32) -> Self {
        Self {
            start: Arc::new(Past::all(events)),
            warps: HashMap::new(),
            barriers: HashMap::new(),
            exits: HashMap::new(),
            copies: HashMap::new(),
            next_copy: copies,
            phases: HashMap::new(),
            has_met: false,
        }
    }

    fn lanes(&mut self, block: u32, warp: u32) -> &mut Lanes {
        let start = &self.start;
        self.warps.entry((block, warp)).or_insert_with(|| std::array::from_fn(|_| Arc::clone(start)))
    }

    /// The joint past of some lanes.
    pub(crate) fn of_lanes(&mut self, block: u32, warp: u32, mask: u32) -> Past {
        let lanes = self.lanes(block, warp);
        let mut all = Past::default();
        let mut last: Option<&Arc<Past>> = None;
        for lane in lanes_of(mask) {
            if last.is_none_or(|last| !Arc::ptr_eq(last, &lanes[lane])) {
                all.unite(&lanes[lane]);
            }
            last = Some(&lanes[lane]);
        }
        all
    }

    /// The lanes of a warp, to restore them.
    pub(crate) fn copy_of(&mut self, block: u32, warp: u32) -> Lanes {
        self.lanes(block, warp).clone()
    }

    pub(crate) fn restore(&mut self, block: u32, warp: u32, lanes: Lanes) {
        self.warps.insert((block, warp), lanes);
    }

    /// Gives some lanes another past.
    pub(crate) fn set_lanes(&mut self, block: u32, warp: u32, mask: u32, past: &Arc<Past>) {
        let lanes = self.lanes(block, warp);
        lanes_of(mask).for_each(|lane| lanes[lane] = Arc::clone(past));
    }

    /// Lanes meet.
    pub(crate) fn meet(&mut self, block: u32, warp: u32, mask: u32) {
        self.has_met = true;
        let past = Arc::new(self.of_lanes(block, warp, mask));
        self.set_lanes(block, warp, mask, &past);
    }

    /// Lanes arrive at a phase of a barrier.
    pub(crate) fn arrive(&mut self, barrier: K, block: u32, warp: u32, mask: u32) {
        self.has_met = true;
        let past = self.of_lanes(block, warp, mask);
        let (all, warps) = self.barriers.entry(barrier).or_default();
        all.unite(&past);
        warps.push((block, warp));
    }

    /// Lanes go on from a phase of a barrier. It was for all threads of `blocks` that had not exited, or, if these are none, for a
    /// number of threads: then a warp counts as a whole whose other lanes have exited.
    pub(crate) fn leave(&mut self, barrier: &K, blocks: std::ops::Range<u32>, (block, warp, mask): (u32, u32, u32)) {
        self.has_met = true;
        let mut past = self.of_lanes(block, warp, mask);
        let nothing = (Past::default(), Vec::new());
        let (arrived, warps) = self.barriers.get(barrier).unwrap_or(&nothing);
        past.unite(arrived);
        for (warp, exited) in &self.exits {
            if blocks.contains(&warp.0) || warps.contains(warp) {
                past.unite(exited);
            }
        }
        self.set_lanes(block, warp, mask, &Arc::new(past));
    }

    /// Lanes exit.
    pub(crate) fn exit(&mut self, block: u32, warp: u32, mask: u32) {
        self.has_met = true;
        let past = self.of_lanes(block, warp, mask);
        self.exits.entry((block, warp)).or_default().unite(&past);
    }

    /// A lane begins a copy. Gives its number.
    pub(crate) fn begin_copy(&mut self, (block, warp, lane): (u32, u32, usize)) -> u32 {
        self.has_met = true;
        let number = self.next_copy;
        self.next_copy += 1;
        let past = Arc::clone(&self.lanes(block, warp)[lane]);
        self.copies.insert(number, past);
        number
    }

    /// An mbarrier ends a phase, or is made anew.
    pub(crate) fn end_phase(&mut self, mbarrier: u64) {
        *self.phases.entry(mbarrier).or_default() += 1;
    }

    /// How often an object did so.
    pub(crate) fn phase_of(&self, object: &Object) -> u32 {
        match object {
            Object::Mbarrier(address) => self.phases.get(address).copied().unwrap_or(0),
            Object::Memory { .. } | Object::Barrier { .. } => 0,
        }
    }

    /// The past of a copy.
    pub(crate) fn of_copy(&self, number: u32) -> Past {
        self.copies.get(&number).map_or_else(Past::default, |past| Past::clone(past))
    }
}

#[cfg(test)]
mod tests {
    use super::{Past, Pasts};
    use std::sync::Arc;

    #[test]
    fn who_waits_knows_who_arrived() {
        let mut pasts: Pasts<u32> = Pasts::new(1, 0);
        let mut past = pasts.of_lanes(0, 0, 1);
        past.insert(70);
        pasts.set_lanes(0, 0, 1, &Arc::new(past));
        pasts.arrive(7, 0, 0, 1);
        assert!(!pasts.of_lanes(0, 1, u32::MAX).has(70));
        pasts.leave(&7, 0..1, (0, 1, 2));
        assert_eq!(pasts.of_lanes(0, 1, 2).members().collect::<Vec<_>>(), [0, 70]);
        assert_eq!(pasts.of_lanes(0, 1, 1), Past::all(1));
    }

    #[test]
    fn exits_count_where_all_threads_are_waited_for() {
        let mut pasts: Pasts<u32> = Pasts::new(0, 0);
        let mut past = Past::default();
        past.insert(3);
        pasts.set_lanes(0, 2, 1, &Arc::new(past));
        pasts.exit(0, 2, 1);
        pasts.arrive(7, 0, 0, 1);
        pasts.leave(&7, 0..0, (0, 0, 1));
        assert!(!pasts.of_lanes(0, 0, 1).has(3));
        pasts.leave(&7, 0..1, (0, 0, 1));
        assert!(pasts.of_lanes(0, 0, 1).has(3));
    }

    #[test]
    fn lanes_that_meet_share_their_pasts() {
        let mut pasts: Pasts<u32> = Pasts::new(0, 0);
        let mut past = Past::default();
        past.insert(3);
        pasts.set_lanes(0, 0, 1, &Arc::new(past));
        pasts.begin_copy((0, 0, 0));
        pasts.meet(0, 0, 3);
        assert!(pasts.of_lanes(0, 0, 2).has(3) && pasts.of_copy(0).has(3));
        assert!(!pasts.of_lanes(0, 0, 4).has(3));
    }
}
