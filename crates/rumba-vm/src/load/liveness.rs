//! Liveness of virtual slots, and their assignment to shared places of the register file.
//!
//! Lanes are independent of each other: an operation writes its own lanes only, so the liveness of one thread's values is
//! the liveness of all. Slots of different widths never share a place, so that an operation's destination overlaps its
//! sources entirely or not at all.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use crate::base::flow::{BasicBlock, Liveness};
use crate::lower::virtual_op::{FIXED, VReg, VirtualOp};
use crate::machine::program::Class;

/// An operation as far as liveness is concerned.
pub(crate) struct LiveOp<'a> {
    pub(crate) virtual_op: &'a VirtualOp,
    /// Whether some lanes keep the old value of its destination.
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

/// Assigns places to virtual slots, one for each element of `classes`.
pub(crate) fn assign(classes: &[Class], blocks: &[BasicBlock], ops: &[LiveOp<'_>]) -> Assignment {
    let intervals = intervals(classes.len(), blocks, ops);
    let mut assignment = Assignment { index: vec![0; classes.len()], counts: [0; 3] };
    for (number, class) in [Class::W32, Class::W64, Class::W128].into_iter().enumerate() {
        let mut wanted: Vec<usize> =
            (0..classes.len()).filter(|slot| classes[*slot] == class && intervals[*slot].is_some()).collect();
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

/// A slot that never leaves the block it is written in.
const LOCAL: u32 = u32::MAX;

/// Numbers the slots that may be live between blocks: those of several blocks, and those that are read before they are
/// written. Most slots are not among them.
fn crossing(slots: usize, blocks: &[BasicBlock], ops: &[LiveOp<'_>]) -> (Vec<u32>, Vec<usize>) {
    let mut seen_in = vec![usize::MAX; slots];
    let mut number = vec![LOCAL; slots];
    let mut list = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        for op in &ops[block.ops.clone()] {
            let used = used(op).map(|slot| (slot, true));
            for (slot, reads) in used.chain(defined(op).map(|slot| (slot, false))) {
                let first = seen_in[slot] == usize::MAX;
                let local = if first { !reads } else { seen_in[slot] == index };
                if !local && number[slot] == LOCAL {
                    number[slot] = list.len() as u32;
                    list.push(slot);
                }
                seen_in[slot] = index;
            }
        }
    }
    (number, list)
}

/// From where to where each slot is live. An operation reads at twice its index and writes just after.
fn intervals(slots: usize, blocks: &[BasicBlock], ops: &[LiveOp<'_>]) -> Vec<Option<(u32, u32)>> {
    let (number, crossing) = crossing(slots, blocks, ops);
    let liveness = Liveness::new(blocks, crossing.len(), |live, op| {
        let numbered = |slot: usize| (number[slot] != LOCAL).then_some(number[slot] as usize);
        defined(&ops[op]).filter_map(numbered).for_each(|slot| live.remove(slot));
        used(&ops[op]).filter_map(numbered).for_each(|slot| live.insert(slot));
    });
    let mut intervals: Vec<Option<(u32, u32)>> = vec![None; slots];
    let mut extend = |slot: usize, at: u32| {
        let interval = intervals[slot].get_or_insert((at, at));
        interval.0 = interval.0.min(at);
        interval.1 = interval.1.max(at);
    };
    for (index, block) in blocks.iter().enumerate() {
        let (start, end) = (2 * block.ops.start as u32, (2 * block.ops.end as u32).saturating_sub(1));
        for slot in liveness.before(index).members() {
            extend(crossing[slot], start);
        }
        for slot in liveness.after(block).members() {
            extend(crossing[slot], end);
        }
        for (position, op) in block.ops.clone().zip(&ops[block.ops.clone()]) {
            for slot in used(op) {
                extend(slot, 2 * position as u32);
            }
            for (_, slot) in slots_of(op.virtual_op).filter(|(defines, _)| *defines) {
                extend(slot, 2 * position as u32 + 1);
            }
        }
    }
    intervals
}

/// The virtual slots of an operation, and whether it writes them.
fn slots_of(virtual_op: &VirtualOp) -> impl Iterator<Item = (bool, usize)> {
    let defines = virtual_op.defines;
    virtual_op.places().into_iter().enumerate().filter_map(move |(position, place)| match place {
        VReg::Slot(slot) if slot & FIXED == 0 => Some((defines >> position & 1 != 0, slot as usize)),
        VReg::Slot(_) | VReg::Predicate(_) | VReg::None => None,
    })
}

fn used(op: &LiveOp<'_>) -> impl Iterator<Item = usize> {
    let conditional = op.conditional;
    slots_of(op.virtual_op).filter(move |(defines, _)| !defines || conditional).map(|(_, slot)| slot)
}

fn defined(op: &LiveOp<'_>) -> impl Iterator<Item = usize> {
    let conditional = op.conditional;
    slots_of(op.virtual_op).filter(move |(defines, _)| *defines && !conditional).map(|(_, slot)| slot)
}

#[cfg(test)]
mod tests {
    use super::{LiveOp, assign};
    use crate::base::flow::BasicBlock;
    use crate::lower::virtual_op::{VReg, VirtualOp};
    use crate::machine::op::{Handlers, Pc};
    use crate::machine::program::Class;
    use crate::machine::warp::Warp;

    unsafe fn nothing(_: &mut Warp, pc: Pc) -> Pc {
        pc
    }

    fn virtual_op(dst: Option<u32>, a: Option<u32>, b: Option<u32>) -> VirtualOp {
        let place = |slot: Option<u32>| slot.map_or(VReg::None, VReg::Slot);
        VirtualOp::binary(Handlers::same(nothing), place(dst), place(a), place(b))
    }

    fn places(classes: &[Class], blocks: &[BasicBlock], drafts: &[(VirtualOp, bool)]) -> (Vec<u16>, [u32; 3]) {
        let ops: Vec<LiveOp<'_>> =
            drafts.iter().map(|(virtual_op, conditional)| LiveOp { virtual_op, conditional: *conditional }).collect();
        let assignment = assign(classes, blocks, &ops);
        (assignment.index, assignment.counts)
    }

    #[test]
    fn a_destination_takes_the_place_of_a_source_that_ends() {
        let drafts = [
            (virtual_op(Some(0), None, None), false),
            (virtual_op(Some(1), Some(0), None), false),
            (virtual_op(Some(2), Some(1), None), false),
            (virtual_op(None, Some(2), None), false),
        ];
        let blocks = [BasicBlock { ops: 0..4, successors: vec![] }];
        assert_eq!(places(&[Class::W32; 3], &blocks, &drafts), (vec![0, 0, 0], [1, 0, 0]));
        // But not if it is wider.
        let classes = [Class::W32, Class::W64, Class::W32];
        assert_eq!(places(&classes, &blocks, &drafts).1, [1, 1, 0]);
    }

    #[test]
    fn values_that_live_together_lie_apart() {
        let drafts = [
            (virtual_op(Some(0), None, None), false),
            (virtual_op(Some(1), None, None), false),
            (virtual_op(Some(2), Some(0), Some(1)), false),
            (virtual_op(None, Some(2), Some(0)), false),
        ];
        let blocks = [BasicBlock { ops: 0..4, successors: vec![] }];
        let (index, counts) = places(&[Class::W32; 3], &blocks, &drafts);
        assert_eq!(counts, [2, 0, 0]);
        assert_ne!(index[0], index[1]);
        assert_ne!(index[0], index[2]);
    }

    #[test]
    fn a_value_of_a_loop_lives_through_all_of_it() {
        // 0 is set before the loop and read at its start; 1 is used within the loop only.
        let drafts = [
            (virtual_op(Some(0), None, None), false),
            (virtual_op(Some(1), Some(0), None), false),
            (virtual_op(Some(2), Some(1), None), false),
            (virtual_op(None, Some(2), None), false),
        ];
        let blocks = [BasicBlock { ops: 0..1, successors: vec![1] }, BasicBlock { ops: 1..4, successors: vec![1] }];
        let (index, _) = places(&[Class::W32; 3], &blocks, &drafts);
        assert_ne!(index[0], index[1]);
        assert_ne!(index[0], index[2]);
    }

    #[test]
    fn a_conditional_write_keeps_the_old_value_alive() {
        let drafts = [
            (virtual_op(Some(0), None, None), false),
            (virtual_op(Some(1), None, None), false),
            (virtual_op(None, Some(1), None), false),
            (virtual_op(Some(0), None, None), true),
            (virtual_op(None, Some(0), None), false),
        ];
        let blocks = [BasicBlock { ops: 0..5, successors: vec![] }];
        let (index, _) = places(&[Class::W32; 2], &blocks, &drafts);
        assert_ne!(index[0], index[1]);
    }
}
