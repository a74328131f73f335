//! The bits of registers that may be set: addresses of tiles are put together by `or` from parts that share none, and
//! are sums then.

use crate::arith::{LaneForm, all, up_to};
use crate::base::flow::Set;
use crate::base::ir::Value;
use crate::compile::kernel::{Kernel, Location, raw};
use crate::machine::op::opcode::Opcode;
use crate::machine::program::{Class, Fixed, Flow, Program};
use crate::machine::special::Special;

/// For each register the bits that may be set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Bits {
    /// In some lane.
    lanes: Vec<u64>,
    /// In the first lane of some group.
    firsts: Vec<u64>,
}

impl Bits {
    /// Nothing is known of so many registers.
    pub(super) fn unknown(registers: usize) -> Self {
        let unknown = vec![u64::MAX; registers];
        Self { lanes: unknown.clone(), firsts: unknown }
    }

    /// The facts where two paths join, and whether they change.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        let lanes = self.lanes.iter_mut().zip(&other.lanes);
        let firsts = self.firsts.iter_mut().zip(&other.firsts);
        let mut is_changed = false;
        for (known, other) in lanes.chain(firsts) {
            is_changed |= join(known, *other);
        }
        is_changed
    }
}

/// The bits of a slot that the launch fills, for groups of so many lanes: in some lane, and in the first lane of some group.
pub(super) fn of_fixed(program: &Program, class: Class, value: &Fixed, group: usize) -> [u64; 2] {
    let most = match value {
        Fixed::Special(Special::Tid(axis)) => match program.required_block {
            Some(block) => u64::from(block[usize::from(*axis)]).saturating_sub(1),
            None => MOST_THREADS - 1,
        },
        Fixed::Special(Special::LaneId) => 31,
        Fixed::Special(Special::CtaId(_)) => i32::MAX as u64,
        _ => u64::MAX,
    };
    let bits = up_to(most) & all(raw(class));
    let first = match value {
        Fixed::Special(Special::Tid(0) | Special::LaneId) => bits & !(group as u64 - 1),
        _ => bits,
    };
    [bits, first]
}

/// Threads of a block in one dimension.
const MOST_THREADS: u64 = 1024;

/// The bits where two paths join, and whether they change. A change is widened to the numbers of a type: loops would otherwise change bit by
/// bit.
fn join(known: &mut u64, other: u64) -> bool {
    let is_changed = other & !*known != 0;
    if is_changed {
        let both = *known | other;
        let types = [u64::from(u8::MAX), u64::from(u16::MAX), u64::from(u32::MAX)];
        let most = types.into_iter().find(|most| both <= *most).unwrap_or(u64::MAX);
        *known = most & (u64::MAX << both.trailing_zeros());
    }
    is_changed
}

impl Kernel<'_> {
    /// The bits that may be set in an operand.
    pub(super) fn bits(&self, index: usize, position: usize, bits: &Bits) -> u64 {
        self.bits_in(index, position, bits)[0]
    }

    /// The bits that may be set in an operand, and those in the first lane of some group.
    fn bits_in(&self, index: usize, position: usize, bits: &Bits) -> [u64; 2] {
        let found = self.operand(index, position).map_or([u64::MAX; 2], |place| self.both_of(place, bits));
        let all = self.class(index, position).map_or(u64::MAX, |class| all(raw(class)));
        found.map(|bits| bits & all)
    }

    /// The bits that may be set in a location. Its largest value is the one with all these bits.
    pub(super) fn bits_of(&self, place: Location, bits: &Bits) -> u64 {
        self.both_of(place, bits)[0]
    }

    fn both_of(&self, place: Location, bits: &Bits) -> [u64; 2] {
        match place {
            Location::Constant(value) => [value; 2],
            Location::Given { slot, .. } => self.bits_of_fixed[usize::from(slot)],
            Location::Register(number) => [bits.lanes[number], bits.firsts[number]],
            Location::Memory(..) => [u64::MAX; 2],
        }
    }

    /// Updates the bits for what an operation does, while lanes wait at some blocks.
    pub(super) fn transfer_bits(&self, index: usize, bits: &mut Bits, pending: &Set) {
        let [lanes, first] = self.bits_of_result(index, bits);
        for number in self.written(index) {
            let is_kept = self.is_kept(number, pending);
            for (known, result) in [(&mut bits.lanes[number], lanes), (&mut bits.firsts[number], first)] {
                *known = if is_kept { *known | result } else { result };
            }
        }
    }

    /// The bits that may be set in what an operation writes.
    fn bits_of_result(&self, index: usize, bits: &Bits) -> [u64; 2] {
        let descriptor = self.descriptor(index);
        let Some(class) = descriptor.classes[0].filter(|_| descriptor.flow == Flow::Next) else {
            return [u64::MAX; 2];
        };
        let result = match descriptor.opcode {
            Opcode::Lanes { form: LaneForm { form: Some(function), operands, .. } } => {
                let (extra, count) = (self.op(index).extra, operands.len());
                function.possible_bits(extra, &self.known(index, count, bits), &self.firsts(index, count, bits))
            }
            Opcode::Select => {
                let [a, b] = [1, 2].map(|position| self.bits_in(index, position, bits));
                [a[0] | b[0], a[1] | b[1]]
            }
            Opcode::Load { bytes, count: 1, .. } if bytes < 4 => [up_to((1 << (8 * bytes)) - 1); 2],
            _ => [u64::MAX; 2],
        };
        result.map(|bits| bits & all(raw(class)))
    }

    /// The numbers and the bits that are known of the first operands.
    pub(super) fn known(&self, index: usize, count: usize, bits: &Bits) -> Vec<Value> {
        let known = |position: usize| {
            let element = self.element(index, position);
            Some(match self.operand(index, position)? {
                Location::Constant(value) => Value::integer(element, value),
                Location::Given { .. } | Location::Register(_) | Location::Memory(..) => {
                    Value::named("", element, false).with_possible_bits(self.bits(index, position, bits))
                }
            })
        };
        (1..=count).filter_map(known).collect()
    }

    /// The bits of the first operands that may be set in the first lane of some group.
    pub(super) fn firsts(&self, index: usize, count: usize, bits: &Bits) -> Vec<u64> {
        (1..=count).map(|position| self.bits_in(index, position, bits)[1]).collect()
    }
}
