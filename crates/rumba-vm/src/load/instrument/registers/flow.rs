//! The treatment of undefined values by operations: which operands decide something, which results depend on which
//! operands, and which registers may be read before they are written.

use crate::base::flow::Set;
use crate::load::cfg;
use crate::lower::instruction::{Extremes, Undefined};
use crate::lower::lowering::Function;
use crate::lower::virtual_op::{Control, FIXED, Node, VReg, VirtualOp};
use crate::machine::op::opcode::Guard;
use crate::machine::program::Class;

/// The effect of undefined operands on an operation's results.
#[derive(Clone, Copy)]
pub(super) enum Flow {
    /// The results are defined if all operands are, or if the results do not depend on the undefined operands.
    Computes,
    /// `dst` is defined if `a` is defined in the source lane; see [`Undefined::Shuffles`].
    Shuffles(fn(&VirtualOp, VReg, VReg) -> (VirtualOp, VirtualOp)),
    /// Undefined operands make the stored bytes undefined.
    Stores,
    /// Undefined bytes in memory make the results undefined.
    Loads,
    /// The results are always defined.
    Decides,
}

/// The effect of undefined operands on an operation's results, and which of its places decide something.
pub(super) fn flow(virtual_op: &VirtualOp, control: &Control, undefined: Undefined) -> (Flow, u8) {
    pub(super) const A: u8 = 0b00010;
    let attributes = virtual_op.handlers.opcode.attributes();
    match control {
        Control::Branch(_) | Control::Table(_) => (Flow::Decides, !0),
        _ if attributes.guard == Some(Guard::Begins) => (Flow::Decides, !0),
        _ if attributes.is_per_lane => (Flow::Computes, 0),
        _ if attributes.extra_operands == Some(true) => (Flow::Decides, 0),
        _ if virtual_op.moves != 0 && virtual_op.defines == 0 => (Flow::Stores, A),
        _ if virtual_op.moves != 0 => (Flow::Loads, A),
        _ => match undefined {
            // The lane that is read and the mask.
            Undefined::Shuffles(follow) => (Flow::Shuffles(follow), !A),
            Undefined::Decides => (Flow::Decides, !0),
            Undefined::Spreads | Undefined::Absorbs(_) | Undefined::Selects | Undefined::Packs => (Flow::Computes, 0),
        },
    }
}

/// Operations in which one operand can mask another (absorption).
///
/// A result does not depend on an operand if it is the same for every value of the operand. For these operations it
/// suffices to try the extreme values, so the operation is executed once more for each extreme value, in the lanes with
/// an undefined operand. If two operands are undefined, the result counts as undefined.
pub(super) struct Absorption;

impl Absorption {
    const BITS: [u64; 4] = [0, u64::MAX, i64::MIN as u64 | 1 << 31, i64::MAX as u64 & !(1 << 31)];
    const WORDS: [u64; 12] = [
        0,
        0xffff_ffff,
        0x8000_0000,
        0x7fff_ffff,
        0x8000_8000,
        0x7fff_7fff,
        // The infinities of `.f32`, `.f16`, `.bf16`.
        0x7f80_0000,
        0xff80_0000,
        0x7c00_7c00,
        0xfc00_fc00,
        0x7f80_7f80,
        0xff80_ff80,
    ];
    const DOUBLE_WORDS: [u64; 6] =
        [0, u64::MAX, i64::MIN as u64, i64::MAX as u64, f64::INFINITY.to_bits(), f64::NEG_INFINITY.to_bits()];

    /// The values to try for an operand of a class.
    pub(super) fn probes(undefined: Undefined, class: Class) -> &'static [u64] {
        match (undefined, class) {
            (Undefined::Absorbs(Extremes::Numbers), Class::W32) => &Self::WORDS,
            (Undefined::Absorbs(Extremes::Numbers), Class::W64 | Class::W128) => &Self::DOUBLE_WORDS,
            _ => &Self::BITS,
        }
    }

    /// Whether the extreme values of an operation are known.
    pub(super) fn is_known(virtual_op: &VirtualOp, undefined: Undefined) -> bool {
        let is_predicate = |place: &VReg| matches!(place, VReg::Predicate(_) | VReg::None);
        virtual_op.defines == 1
            && (matches!(undefined, Undefined::Absorbs(_)) || virtual_op.places().iter().all(is_predicate))
    }
}

/// How an operation packs two values into a register, or unpacks them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// `dst` = `b` in the lower half, `a` in the upper one
    Packs,
    /// `dst` = `a`
    Copies,
    Other,
}

impl Packing {
    /// Where registers have the classes of `class`.
    pub(super) fn of(virtual_op: &VirtualOp, undefined: Undefined, class: impl Fn(VReg) -> Option<Class>) -> Self {
        let half = match class(virtual_op.dst) {
            Some(Class::W32) => 16,
            Some(Class::W64) => 32,
            Some(Class::W128) | None => return Self::Other,
        };
        let is_copy = || virtual_op.handlers.opcode.is_copy(virtual_op.extra);
        match undefined {
            Undefined::Packs if virtual_op.b != VReg::None && virtual_op.extra == half => Self::Packs,
            Undefined::Packs if class(virtual_op.a) == class(virtual_op.dst) && is_copy() => Self::Copies,
            _ => Self::Other,
        }
    }
}

/// A number for each register: the slots, then the predicates.
pub(super) struct Numbers {
    pub(super) slots: usize,
    pub(super) count: usize,
}

impl Numbers {
    pub(super) fn of(&self, place: VReg) -> Option<usize> {
        match place {
            VReg::Slot(slot) if slot & FIXED == 0 => Some(slot as usize),
            VReg::Predicate(index @ 2..) => Some(self.slots + usize::from(index) - 2),
            VReg::None | VReg::Slot(_) | VReg::Predicate(_) => None,
        }
    }

    pub(super) fn read<'a>(&'a self, virtual_op: &'a VirtualOp) -> impl Iterator<Item = usize> + 'a {
        self.some(virtual_op, false)
    }

    pub(super) fn written<'a>(&'a self, virtual_op: &'a VirtualOp) -> impl Iterator<Item = usize> + 'a {
        self.some(virtual_op, true)
    }

    pub(super) fn some<'a>(&'a self, virtual_op: &'a VirtualOp, written: bool) -> impl Iterator<Item = usize> + 'a {
        let places = virtual_op.places().into_iter().enumerate();
        places
            .filter(move |(index, _)| (virtual_op.defines >> index & 1 != 0) == written)
            .filter_map(|(_, place)| self.of(place))
    }
}

/// Registers that may be read before they are written.
pub(super) fn doubtful(function: &Function<'_>, numbers: &Numbers) -> Vec<bool> {
    let graph = cfg::graph(function);
    let mut at_end: Vec<Option<Set>> = vec![None; graph.blocks.len()];
    let mut doubtful = vec![false; numbers.count];
    let walk = |index: usize, mut assigned: Set, mut tell: Option<&mut Vec<bool>>| {
        for node in &function.nodes[graph.blocks[index].ops.clone()] {
            let Node::Op { virtual_op, conditional, .. } = node else {
                continue;
            };
            if let Some(doubtful) = tell.as_deref_mut() {
                for number in numbers.read(virtual_op) {
                    doubtful[number] |= !assigned.has(number);
                }
            }
            if !conditional {
                numbers.written(virtual_op).for_each(|number| assigned.insert(number));
            }
        }
        assigned
    };
    let at_start = |index: usize, at_end: &[Option<Set>]| {
        // The first block may also be jumped to; it is entered with nothing all the same.
        let mut assigned = if index == 0 { Set::none(numbers.count) } else { Set::all(numbers.count) };
        for before in &graph.predecessors[index] {
            if let Some(before) = &at_end[*before] {
                assigned.intersect(before);
            }
        }
        assigned
    };
    let mut changed = true;
    while changed {
        changed = false;
        for index in graph.order.iter().copied() {
            let after = walk(index, at_start(index, &at_end), None);
            if at_end[index].as_ref() != Some(&after) {
                at_end[index] = Some(after);
                changed = true;
            }
        }
    }
    for index in graph.order.iter().copied() {
        walk(index, at_start(index, &at_end), Some(&mut doubtful));
    }
    doubtful
}
