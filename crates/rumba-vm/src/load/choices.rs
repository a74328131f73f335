//! Points of choice as a program has them: with the values that are needed behind each.
//!
//! Where lanes come back to a point of choice and all of these are the same, nothing has happened in between.

use std::collections::HashMap;

use crate::base::flow::{BasicBlock, Liveness, Set};
use crate::exec::choice::CHOICE;
use crate::load::liveness::LiveOp;
use crate::lower::virtual_op::{FIXED, VReg, VirtualOp};

/// Whether an operation is a point of choice.
pub(crate) fn is_choice(virtual_op: &VirtualOp) -> bool {
    virtual_op.handlers.baseline as usize == CHOICE.baseline as usize
}

/// Predicates that are constant.
const CONSTANT: u16 = 2;

/// The virtual slots and the predicates that are live before each point of choice, by its index among the operations.
pub(crate) fn live(
    slots: usize,
    predicates: u16,
    blocks: &[BasicBlock],
    ops: &[LiveOp<'_>],
) -> HashMap<usize, Vec<VReg>> {
    let mut found = HashMap::new();
    if !ops.iter().any(|op| is_choice(op.virtual_op)) {
        return found;
    }
    let number = |place: VReg| match place {
        VReg::Slot(slot) if slot & FIXED == 0 => Some(slot as usize),
        VReg::Predicate(predicate) if predicate >= CONSTANT => Some(slots + usize::from(predicate)),
        VReg::Slot(_) | VReg::Predicate(_) | VReg::None => None,
    };
    let before = |live: &mut Set, index: usize| {
        let LiveOp { virtual_op, conditional } = &ops[index];
        let places = || virtual_op.places().into_iter().enumerate();
        let is_written = |position: usize| virtual_op.defines >> position & 1 != 0;
        if !conditional {
            places()
                .filter(|(position, _)| is_written(*position))
                .filter_map(|(_, place)| number(place))
                .for_each(|place| live.remove(place));
        }
        places()
            .filter(|(position, _)| !is_written(*position) || *conditional)
            .filter_map(|(_, place)| number(place))
            .for_each(|place| live.insert(place));
    };
    let liveness = Liveness::new(blocks, slots + usize::from(predicates), before);
    for block in blocks {
        let mut live = liveness.after(block);
        for index in block.ops.clone().rev() {
            before(&mut live, index);
            if is_choice(ops[index].virtual_op) {
                let place = |number: usize| match number.checked_sub(slots) {
                    Some(predicate) => VReg::Predicate(predicate as u16),
                    None => VReg::Slot(number as u32),
                };
                found.insert(index, live.members().map(place).collect());
            }
        }
    }
    found
}
