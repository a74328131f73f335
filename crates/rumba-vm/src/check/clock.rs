//! Vector clocks of threads, compressed by the structure of a grid.
//!
//! Every thread counts epochs; one ends whenever the thread publishes something. A thread that knows another one's epoch
//! knows everything that the other one did in it and before. After a barrier all threads of a block know the same, so
//! most entries are about whole blocks or warps, and single threads are the exception.

use crate::base::lanes::LANES;
use crate::check::proxy::ROLES;

/// The bits of a block's number that count the blocks of a launch, if several launches are checked together. The bits above, below
/// those of [`crate::check::proxy`], count the launches.
const BLOCK_BITS: u32 = 16;

/// The most blocks of a launch that is checked together with others.
pub(crate) const MOST_BLOCKS: u32 = 1 << BLOCK_BITS;

/// The most launches that are checked together.
pub(crate) const MOST_LAUNCHES: u32 = !ROLES / MOST_BLOCKS + 1;

/// The index of the launch that a block belongs to, if several launches are checked together.
pub(crate) fn launch_of(block: u32) -> u32 {
    (block & !ROLES) >> BLOCK_BITS
}

/// A thread: the number of its block in the grid, and its own in the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Thread {
    pub(crate) block: u32,
    pub(crate) index: u16,
}

impl Thread {
    /// The number of its warp in the block.
    pub(crate) fn warp(self) -> u16 {
        self.index / LANES as u16
    }
}

/// Epochs of a block's threads. Each list is in order of its first members.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct OfBlock {
    /// Of every thread.
    all: u32,
    /// Of every thread of a warp.
    warps: Vec<(u16, u32)>,
    /// Of single threads.
    threads: Vec<(u16, u32)>,
}

/// The highest epochs that are known, of each thread.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct VectorClock {
    /// In the order of the blocks' numbers.
    blocks: Vec<(u32, OfBlock)>,
    /// The indices of launches of which everything is known, in their order.
    launches: Vec<u32>,
}

/// Notes an epoch unless a later one is known.
fn raise(list: &mut Vec<(u16, u32)>, key: u16, epoch: u32) {
    match list.binary_search_by_key(&key, |(key, _)| *key) {
        Ok(place) => list[place].1 = list[place].1.max(epoch),
        Err(place) => list.insert(place, (key, epoch)),
    }
}

fn find(list: &[(u16, u32)], key: u16) -> u32 {
    list.binary_search_by_key(&key, |(key, _)| *key).map_or(0, |place| list[place].1)
}

impl VectorClock {
    /// The latest epoch of a thread that is known; 0 if none is.
    pub(crate) fn epoch(&self, thread: Thread) -> u32 {
        match self.blocks.binary_search_by_key(&thread.block, |(block, _)| *block) {
            Ok(place) => {
                let of = &self.blocks[place].1;
                of.all.max(find(&of.warps, thread.warp())).max(find(&of.threads, thread.index))
            }
            Err(_) if self.has_launch_of(thread.block) => u32::MAX,
            Err(_) => 0,
        }
    }

    /// Whether everything is known of the launch of a block.
    pub(super) fn has_launch_of(&self, block: u32) -> bool {
        !self.launches.is_empty() && self.launches.binary_search(&launch_of(block)).is_ok()
    }

    /// Learns everything of a launch that has ended.
    pub(crate) fn advance_launch(&mut self, launch: u32) {
        if let Err(place) = self.launches.binary_search(&launch) {
            self.launches.insert(place, launch);
            self.blocks.retain(|(block, _)| launch_of(*block) != launch);
        }
    }

    /// The epoch that all threads of a block are known to have reached, and whether nothing else is known.
    pub(crate) fn of_block(&self, block: u32) -> (u32, bool) {
        let knows_no_launch = self.launches.is_empty();
        match self.blocks.as_slice() {
            [] => (0, knows_no_launch),
            [(only, of)] if *only == block => (of.all, knows_no_launch && of.warps.is_empty() && of.threads.is_empty()),
            blocks => {
                let place = blocks.binary_search_by_key(&block, |(block, _)| *block);
                (place.map_or(0, |place| blocks[place].1.all), false)
            }
        }
    }

    fn block(&mut self, block: u32) -> &mut OfBlock {
        let place = match self.blocks.binary_search_by_key(&block, |(block, _)| *block) {
            Ok(place) => place,
            Err(place) => {
                self.blocks.insert(place, (block, OfBlock::default()));
                place
            }
        };
        &mut self.blocks[place].1
    }

    /// Learns of a thread's epoch.
    pub(crate) fn advance(&mut self, thread: Thread, epoch: u32) {
        if self.epoch(thread) < epoch {
            raise(&mut self.block(thread.block).threads, thread.index, epoch);
        }
    }

    /// Learns that all threads of the warp of `thread` have reached an epoch.
    pub(crate) fn advance_warp(&mut self, thread: Thread, epoch: u32) {
        let of = self.block(thread.block);
        if of.all < epoch {
            raise(&mut of.warps, thread.warp(), epoch);
            let (warp, known) = (thread.warp(), find(&of.warps, thread.warp()));
            of.threads.retain(|(index, epoch)| index / LANES as u16 != warp || *epoch > known);
        }
    }

    /// Learns that all threads of a block have reached an epoch.
    pub(crate) fn advance_block(&mut self, block: u32, epoch: u32) {
        let of = self.block(block);
        of.all = of.all.max(epoch);
        let all = of.all;
        of.warps.retain(|(_, epoch)| *epoch > all);
        of.threads.retain(|(_, epoch)| *epoch > all);
    }

    /// Copies the entries of blocks whose numbers have the bits `from` under a mask to the blocks with the bits `to`
    /// instead.
    pub(crate) fn pass_on(&mut self, mask: u32, from: u32, to: u32) {
        let known: Vec<_> = self.blocks.iter().filter(|(block, _)| block & mask == from).cloned().collect();
        let blocks = known.into_iter().map(|(block, of)| (block & !mask | to, of)).collect();
        self.join(&Self { blocks, launches: Vec::new() });
    }

    /// The entries of blocks whose numbers have a bit set.
    pub(crate) fn of_bit(&self, bit: u32) -> Self {
        let blocks = self.blocks.iter().filter(|(block, _)| block & bit != 0);
        Self { blocks: blocks.cloned().collect(), launches: Vec::new() }
    }

    /// Whether nothing is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.launches.is_empty()
    }

    /// Learns everything that `other` knows.
    pub(crate) fn join(&mut self, other: &Self) {
        other.launches.iter().for_each(|launch| self.advance_launch(*launch));
        for (block, of) in &other.blocks {
            if self.has_launch_of(*block) {
                continue;
            }
            self.advance_block(*block, of.all);
            for (warp, epoch) in &of.warps {
                let index = warp * LANES as u16;
                self.advance_warp(Thread { block: *block, index }, *epoch);
            }
            for (index, epoch) in &of.threads {
                let index = *index;
                self.advance(Thread { block: *block, index }, *epoch);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_BLOCKS, Thread, VectorClock};

    fn thread(block: u32, index: u16) -> Thread {
        Thread { block, index }
    }

    #[test]
    fn what_is_known_of_a_group_is_known_of_its_threads() {
        let mut known = VectorClock::default();
        known.advance(thread(1, 40), 7);
        known.advance_warp(thread(1, 32), 3);
        known.advance_block(1, 2);
        assert_eq!([0, 32, 40, 63, 64].map(|index| known.epoch(thread(1, index))), [2, 3, 7, 3, 2]);
        assert_eq!(known.epoch(thread(0, 40)), 0);
        known.advance_warp(thread(1, 41), 7);
        known.advance(thread(1, 40), 5);
        assert_eq!(known.epoch(thread(1, 40)), 7);
        known.advance_block(1, 9);
        assert_eq!(known.blocks.len(), 1);
        assert!(known.blocks[0].1.warps.is_empty() && known.blocks[0].1.threads.is_empty());
    }

    #[test]
    fn what_is_known_of_a_launch_is_known_of_its_blocks() {
        let of_second = |block| MOST_BLOCKS + block;
        let mut known = VectorClock::default();
        known.advance_block(of_second(3), 5);
        known.advance_block(7, 5);
        let before = known.clone();
        known.advance_launch(1);
        known.join(&before);
        assert_eq!(
            [of_second(3), of_second(4), 7, 8].map(|block| known.epoch(thread(block, 9))),
            [u32::MAX, u32::MAX, 5, 0]
        );
        assert_eq!(known.of_block(7), (5, false));
        assert_eq!(known.blocks.len(), 1);
    }

    #[test]
    fn joining_takes_the_latest_of_both() {
        let mut one = VectorClock::default();
        one.advance(thread(2, 1), 4);
        one.advance_block(0, 1);
        let mut other = VectorClock::default();
        other.advance_warp(thread(2, 0), 3);
        other.advance(thread(2, 2), 9);
        let mut joined = one.clone();
        joined.join(&other);
        for (block, index) in (0..3).flat_map(|block| (0..64).map(move |index| (block, index))) {
            let thread = thread(block, index);
            assert_eq!(joined.epoch(thread), one.epoch(thread).max(other.epoch(thread)));
        }
    }
}
