//! Which virtual slots hold a value that is still needed, and which places of the register file they share.
//!
//! Lanes are independent of each other: an operation writes its own lanes only, so the liveness of one thread's values is
//! the liveness of all. Slots of different widths never share a place, so that an operation's destination overlaps its
//! sources entirely or not at all.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::ops::Range;

use crate::lower::{Draft, FIXED, Place};
use crate::program::Class;

/// A block as far as liveness is concerned.
pub(crate) struct LiveBlock {
    /// Its operations.
    pub(crate) ops: Range<usize>,
    /// Indices of blocks.
    pub(crate) successors: Vec<usize>,
}

/// An operation as far as liveness is concerned.
pub(crate) struct LiveOp<'a> {
    pub(crate) draft: &'a Draft,
    /// Whether some lanes keep what was in its destination.
    pub(crate) conditional: bool,
}

/// Where the virtual slots of a function lie.
#[derive(Debug, Default)]
pub(crate) struct Assignment {
    /// Index among the slots of the same class.
    pub(crate) index: Vec<u16>,
    /// Number of slots of 32, 64 and 128 bits.
    pub(crate) counts: [u32; 3],
}

/// Assigns places to virtual slots, of which there is one for each of `classes`.
pub(crate) fn assign(classes: &[Class], blocks: &[LiveBlock], ops: &[LiveOp<'_>]) -> Assignment {
    let intervals = intervals(classes.len(), blocks, ops);
    let mut assignment = Assignment {
        index: vec![0; classes.len()],
        counts: [0; 3],
    };
    for (number, class) in [Class::W32, Class::W64, Class::W128].into_iter().enumerate() {
        let mut wanted: Vec<usize> = (0..classes.len())
            .filter(|slot| classes[*slot] == class && intervals[*slot].is_some())
            .collect();
        wanted.sort_by_key(|slot| intervals[*slot]);
        let mut free = BTreeSet::new();
        let mut active = BinaryHeap::new();
        let mut count = 0;
        for slot in wanted {
            let Some((start, end)) = intervals[slot] else { continue };
            while let Some(Reverse((ended, place))) = active.peek().copied() {
                if ended >= start {
                    break;
                }
                active.pop();
                free.insert(place);
            }
            let place = free.pop_first().unwrap_or_else(|| {
                count += 1;
                count - 1
            });
            assignment.index[slot] = place as u16;
            active.push(Reverse((end, place)));
        }
        assignment.counts[number] = count;
    }
    assignment
}

/// From where to where each slot is live. An operation reads at twice its index and writes just after.
fn intervals(slots: usize, blocks: &[LiveBlock], ops: &[LiveOp<'_>]) -> Vec<Option<(u32, u32)>> {
    let words = slots.div_ceil(64);
    let mut live_in = vec![vec![0u64; words]; blocks.len()];
    let mut live_out = vec![vec![0u64; words]; blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for index in (0..blocks.len()).rev() {
            let block = &blocks[index];
            let mut live = vec![0u64; words];
            for successor in &block.successors {
                for (word, other) in live.iter_mut().zip(&live_in[*successor]) {
                    *word |= other;
                }
            }
            if live != live_out[index] {
                live_out[index].clone_from(&live);
            }
            for op in ops[block.ops.clone()].iter().rev() {
                for slot in defined(op) {
                    live[slot / 64] &= !(1 << (slot % 64));
                }
                for slot in used(op) {
                    live[slot / 64] |= 1 << (slot % 64);
                }
            }
            if live != live_in[index] {
                live_in[index] = live;
                changed = true;
            }
        }
    }
    let mut intervals: Vec<Option<(u32, u32)>> = vec![None; slots];
    let mut extend = |slot: usize, at: u32| {
        let interval = intervals[slot].get_or_insert((at, at));
        interval.0 = interval.0.min(at);
        interval.1 = interval.1.max(at);
    };
    for (index, block) in blocks.iter().enumerate() {
        let (start, end) = (2 * block.ops.start as u32, (2 * block.ops.end as u32).saturating_sub(1));
        for slot in members(&live_in[index]) {
            extend(slot, start);
        }
        for slot in members(&live_out[index]) {
            extend(slot, end);
        }
        for (position, op) in block.ops.clone().zip(&ops[block.ops.clone()]) {
            for slot in used(op) {
                extend(slot, 2 * position as u32);
            }
            for (_, slot) in slots_of(op.draft).filter(|(defines, _)| *defines) {
                extend(slot, 2 * position as u32 + 1);
            }
        }
    }
    intervals
}

fn members(set: &[u64]) -> impl Iterator<Item = usize> {
    set.iter().enumerate().flat_map(|(index, word)| {
        (0..64)
            .filter(move |bit| word >> bit & 1 != 0)
            .map(move |bit| index * 64 + bit)
    })
}

/// The virtual slots of an operation, and whether it writes them.
fn slots_of(draft: &Draft) -> impl Iterator<Item = (bool, usize)> {
    let defines = draft.defines;
    draft
        .places()
        .into_iter()
        .enumerate()
        .filter_map(move |(position, place)| match place {
            Place::Slot(slot) if slot & FIXED == 0 => Some((defines >> position & 1 != 0, slot as usize)),
            Place::Slot(_) | Place::Predicate(_) | Place::None => None,
        })
}

fn used(op: &LiveOp<'_>) -> impl Iterator<Item = usize> {
    let conditional = op.conditional;
    slots_of(op.draft)
        .filter(move |(defines, _)| !defines || conditional)
        .map(|(_, slot)| slot)
}

fn defined(op: &LiveOp<'_>) -> impl Iterator<Item = usize> {
    let conditional = op.conditional;
    slots_of(op.draft)
        .filter(move |(defines, _)| *defines && !conditional)
        .map(|(_, slot)| slot)
}
