//! Registers whose NaNs are not canonical yet.
//!
//! Arithmetic on `f32` gives all NaNs the same bits, which takes three vector operations for each arithmetic operation.
//! Most results go to further arithmetic, which ignores the bits of NaNs. So NaNs are made canonical only before an
//! operation that sees their bits: a store, an operation on integers, a called handler, the interpreter. Until then the
//! register is *loose*. Only a *numeric* register may be loose: on every path of control each lane holds the result of
//! arithmetic, or a constant that canonicalization does not change. A register that holds other bits on one of the
//! paths is made canonical where the paths join.

use crate::base::flow::Set;
use crate::base::ir::{Element, NAN_F32, Value, Writer};
use crate::compile::kernel::{Kernel, Location};
use crate::machine::op::opcode::Opcode;
use crate::machine::program::{Class, Flow, Program};

/// The facts about registers at a program point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nans {
    /// The registers that may hold NaNs with any bits; only those that are numeric are loose.
    loose: Set,
    numeric: Set,
}

impl Nans {
    /// The facts about registers with unknown contents.
    pub(super) fn unknown(count: usize) -> Self {
        Self { loose: Set::none(count), numeric: Set::none(count) }
    }

    /// The facts where two paths join, and whether they change.
    pub(super) fn join(&mut self, other: &Self) -> bool {
        self.loose.unite(&other.loose) | self.numeric.intersect(&other.numeric)
    }

    pub(super) fn is_loose(&self, number: usize) -> bool {
        self.loose.has(number) && self.numeric.has(number)
    }

    pub(super) fn is_numeric(&self, number: usize) -> bool {
        self.numeric.has(number)
    }

    /// Notes that a register was made canonical.
    pub(super) fn tighten(&mut self, number: usize) {
        self.loose.remove(number);
    }

    fn set(&mut self, number: usize, is_numeric: bool, is_loose: bool) {
        for (set, is_member) in [(&mut self.numeric, is_numeric), (&mut self.loose, is_loose)] {
            if is_member {
                set.insert(number);
            } else {
                set.remove(number);
            }
        }
    }
}

/// Whether an operation computes a number of 32 bits without looking at the bits of NaNs in its operands: its form ends
/// by making NaNs canonical.
pub(super) fn is_arithmetic(program: &Program, index: usize) -> bool {
    let (op, descriptor) = (&program.ops[index], &program.descriptors[index]);
    let Opcode::Lanes { form } = descriptor.opcode else {
        return false;
    };
    let (Some(function), Element::F32, Some(Class::W32)) = (form.form, form.result, descriptor.classes[0]) else {
        return false;
    };
    let operand = |element: &Element| Value::named("%x", *element, true);
    let operands: Vec<_> = form.operands.iter().map(operand).collect();
    form.operands.iter().all(|element| *element == Element::F32)
        && Writer::new().leave_nan(true, |w| function.write(w, op.extra, &operands)).1
}

impl Kernel<'_> {
    /// Whether an operation gives NaNs with any bits, while lanes wait at some blocks.
    pub(super) fn leaves_nan(&self, index: usize, nans: &Nans, pending: &Set) -> bool {
        self.is_arithmetic[index] && self.gives(index, nans, pending).0
    }

    /// The operands that an operation copies to its destination unchanged.
    fn moves(&self, index: usize) -> &'static [usize] {
        let descriptor = self.descriptor(index);
        match descriptor.opcode {
            _ if descriptor.flow != Flow::Next || descriptor.classes[0] != Some(Class::W32) => &[],
            Opcode::Lanes { form }
                if descriptor.classes[1] == descriptor.classes[0]
                    && form.operands == [form.result]
                    && form.is_copy(self.op(index).extra) =>
            {
                &[1]
            }
            Opcode::Select => &[1, 2],
            _ => &[],
        }
    }

    /// Whether the registers that an operation writes are numeric afterwards, and whether they are loose.
    fn gives(&self, index: usize, nans: &Nans, pending: &Set) -> (bool, bool) {
        // Waiting lanes keep the contents of the written registers.
        let suits = |number| nans.numeric.has(number) || !self.is_kept(number, pending);
        if !self.written(index).all(suits) {
            return (false, false);
        }
        if self.is_arithmetic[index] {
            return (true, true);
        }
        let moves = self.moves(index);
        if moves.is_empty() {
            return (false, false);
        }
        let moved = || self.operands(index).iter().filter(|operand| moves.contains(&operand.position));
        let is_numeric = |place| match place {
            Location::Constant(bits) => {
                let bits = bits as u32;
                bits & 0x7fff_ffff <= 0x7f80_0000 || bits == NAN_F32
            }
            Location::Register(number) => nans.numeric.has(number),
            Location::Given { .. } | Location::Memory(..) => false,
        };
        let is_loose = |place| matches!(place, Location::Register(number) if nans.is_loose(number));
        let numeric = moved().next().is_some() && moved().all(|operand| is_numeric(operand.place));
        (numeric, numeric && moved().any(|operand| is_loose(operand.place)))
    }

    /// Updates the facts for an operation, while lanes wait at some blocks.
    pub(super) fn transfer_nans(&self, index: usize, nans: &mut Nans, pending: &Set) {
        let (is_numeric, is_loose) = self.gives(index, nans, pending);
        for number in self.written(index) {
            let stays = is_numeric && nans.is_loose(number) && self.is_kept(number, pending);
            nans.set(number, is_numeric, is_loose || stays);
        }
    }

    /// Whether the registers that an operation writes are numeric afterwards.
    pub(super) fn gives_numbers(&self, index: usize, nans: &Nans, pending: &Set) -> bool {
        self.gives(index, nans, pending).0
    }

    /// The registers that have to be made canonical before an operation.
    pub(super) fn to_make_canonical(&self, index: usize, nans: &Nans, pending: &Set) -> Vec<usize> {
        let (is_numeric, _) = self.gives(index, nans, pending);
        let is_comparison = match self.descriptor(index).opcode {
            Opcode::Test { form, .. } => {
                form.form.is_some() && form.operands.iter().all(|element| *element == Element::F32)
            }
            _ => false,
        };
        let moves = self.moves(index);
        // Whether this operand's NaN bits do not matter.
        let is_blind = |position| is_comparison || self.is_arithmetic[index] || is_numeric && moves.contains(&position);
        let operands = self.operands(index).iter();
        operands
            .filter_map(|operand| match operand.place {
                Location::Register(number) if nans.is_loose(number) => {
                    let is_concerned = if operand.is_written {
                        !is_numeric && (self.descriptor(index).conditional || self.is_kept(number, pending))
                    } else {
                        !is_blind(operand.position)
                    };
                    is_concerned.then_some(number)
                }
                _ => None,
            })
            .collect()
    }
}
