//! NaNs that need not have the right bits yet.
//!
//! Arithmetic on `f32` gives all NaNs the same bits, which takes three operations on vectors for each of its own. Most results go
//! to further arithmetic, which does not see these bits. So they are made canonical only where something does: a store, an
//! operation on integers, a called handler, the interpreter. Until then a register is *loose*. That is possible where it is
//! *numeric*: whatever way control came, each lane holds a number that arithmetic gave, or a constant, which making it canonical
//! does not change. A register that holds other bits on one of the ways is made canonical where the ways meet.

use crate::base::flow::Set;
use crate::base::ir::{Element, NAN_F32, Value, Writer};
use crate::compile::kernel::{Kernel, Place};
use crate::machine::op::{Linear, OpKind};
use crate::machine::program::{Class, Flow, Program};

/// What is known of the registers at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Nans {
    /// They may hold NaNs with any bits; those that are numeric do.
    loose: Set,
    numeric: Set,
}

impl Nans {
    /// Of registers that may hold anything.
    pub(super) fn unknown(count: usize) -> Self {
        Self { loose: Set::none(count), numeric: Set::none(count) }
    }

    /// What holds where ways meet.
    pub(super) fn join(&mut self, other: &Self) {
        self.loose.unite(&other.loose);
        self.numeric.intersect(&other.numeric);
    }

    pub(super) fn is_loose(&self, number: usize) -> bool {
        self.loose.has(number) && self.numeric.has(number)
    }

    pub(super) fn is_numeric(&self, number: usize) -> bool {
        self.numeric.has(number)
    }

    /// A register was made canonical.
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

/// Whether an operation computes a number of 32 bits from others of which no bits of a NaN are seen: its form ends by making
/// NaNs canonical.
pub(super) fn is_arithmetic(program: &Program, index: usize) -> bool {
    let (op, facts) = (&program.ops[index], &program.facts[index]);
    let OpKind::Lanes { form, .. } = facts.kind else {
        return false;
    };
    let (Some(write), Element::F32, Some(Class::W32)) = (form.form, form.result, facts.classes[0]) else {
        return false;
    };
    let operand = |element: &Element| Value::named("%x", *element, true);
    let operands: Vec<_> = form.operands.iter().map(operand).collect();
    form.operands.iter().all(|element| *element == Element::F32)
        && Writer::new().leave_nan(true, |w| write(w, op.extra, &operands)).1
}

impl Kernel<'_> {
    /// Whether an operation gives NaNs with any bits, while lanes wait at some blocks.
    pub(super) fn leaves_nan(&self, index: usize, nans: &Nans, pending: &Set) -> bool {
        self.is_arithmetic[index] && self.gives(index, nans, pending).0
    }

    /// The operands that an operation moves to its destination without looking at them.
    fn moves(&self, index: usize) -> &'static [usize] {
        let facts = self.facts(index);
        match facts.kind {
            _ if facts.flow != Flow::Next || facts.classes[0] != Some(Class::W32) => &[],
            OpKind::Lanes { linear: Linear::Copy, form, .. }
                if form.form.is_some() && facts.classes[1] == facts.classes[0] && form.operands == [form.result] =>
            {
                &[1]
            }
            OpKind::Select => &[1, 2],
            _ => &[],
        }
    }

    /// Whether registers that an operation writes are numeric then, and whether they are loose.
    fn gives(&self, index: usize, nans: &Nans, pending: &Set) -> (bool, bool) {
        // What lanes that wait hold there stays as it is.
        let suits = |number: &usize| nans.numeric.has(*number) || !self.is_kept(*number, pending);
        if !self.written(index).iter().all(suits) {
            return (false, false);
        }
        if self.is_arithmetic[index] {
            return (true, true);
        }
        let moves = self.moves(index);
        let operands = self.operands(index).into_iter();
        let moved: Vec<_> = operands.filter(|operand| moves.contains(&operand.position)).collect();
        let is_numeric = |place| match place {
            Place::Constant(bits) => {
                let bits = bits as u32;
                bits & 0x7fff_ffff <= 0x7f80_0000 || bits == NAN_F32
            }
            Place::Register(number) => nans.numeric.has(number),
            Place::Given { .. } | Place::Memory(..) => false,
        };
        let is_loose = |place| matches!(place, Place::Register(number) if nans.is_loose(number));
        let numeric = !moved.is_empty() && moved.iter().all(|operand| is_numeric(operand.place));
        (numeric, numeric && moved.iter().any(|operand| is_loose(operand.place)))
    }

    /// Updates what is known for what an operation does, while lanes wait at some blocks.
    pub(super) fn transfer_nans(&self, index: usize, nans: &mut Nans, pending: &Set) {
        let (is_numeric, is_loose) = self.gives(index, nans, pending);
        for number in self.written(index) {
            let stays = is_numeric && nans.is_loose(number) && self.is_kept(number, pending);
            nans.set(number, is_numeric, is_loose || stays);
        }
    }

    /// Whether the registers that an operation writes are numeric then.
    pub(super) fn gives_numbers(&self, index: usize, nans: &Nans, pending: &Set) -> bool {
        self.gives(index, nans, pending).0
    }

    /// The registers that have to be made canonical before an operation.
    pub(super) fn to_make_canonical(&self, index: usize, nans: &Nans, pending: &Set) -> Vec<usize> {
        let (is_numeric, _) = self.gives(index, nans, pending);
        let is_comparison = match self.facts(index).kind {
            OpKind::Test { form, .. } => {
                form.form.is_some() && form.operands.iter().all(|element| *element == Element::F32)
            }
            _ => false,
        };
        let moves = self.moves(index);
        // Whether the bits of a NaN do not matter there.
        let is_blind = |position| is_comparison || self.is_arithmetic[index] || is_numeric && moves.contains(&position);
        let operands = self.operands(index).into_iter();
        operands
            .filter_map(|operand| match operand.place {
                Place::Register(number) if nans.is_loose(number) => {
                    let is_concerned = if operand.is_written {
                        !is_numeric && (self.facts(index).conditional || self.is_kept(number, pending))
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
