//! Which registers hold the same number in all lanes, or neighbouring ones, where the lanes of a warp are together.
//!
//! A forward analysis over the blocks of a kernel. That a register is as it says where a warp comes in from the interpreter is
//! tested there.

use crate::base::ir::LaneForm;
use crate::compile::kernel::{Kernel, Place, Register};
use crate::machine::op::{Linear, OpKind};
use crate::machine::program::{Class, Flow};

/// How the lanes of a register differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// They do not.
    Uniform,
    /// Within each group of lanes by this stride from lane to lane; the groups may differ in any way.
    Affine(i64),
    /// In any way.
    Varying,
}

impl Shape {
    /// A stride within each of so many groups.
    pub(super) fn affine(stride: i64, groups: usize) -> Self {
        if stride == 0 && groups == 1 {
            Self::Uniform
        } else {
            Self::Affine(stride)
        }
    }

    /// The stride, if there is one.
    pub(super) fn stride(self) -> Option<i64> {
        match self {
            Self::Uniform => Some(0),
            Self::Affine(stride) => Some(stride),
            Self::Varying => None,
        }
    }

    /// What holds of a register that has one of two shapes.
    fn join(self, other: Self) -> Self {
        match (self, other) {
            _ if self == other => self,
            (Self::Uniform, Self::Affine(0)) | (Self::Affine(0), Self::Uniform) => Self::Affine(0),
            _ => Self::Varying,
        }
    }
}

/// The shape of each register.
pub(super) type Shapes = Vec<Shape>;

/// How an operation over lanes is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LanePlan {
    pub(super) result: Shape,
    /// Operands, bit 1 for `a`, whose numbers of 32 bits must not wrap within a group.
    pub(super) checks: u8,
}

const WHOLE: LanePlan = LanePlan {
    result: Shape::Varying,
    checks: 0,
};

impl Kernel<'_> {
    /// The shapes at the start of each block that is reached.
    pub(super) fn shapes(&self) -> Vec<Option<Shapes>> {
        let mut found: Vec<Option<Shapes>> = vec![None; self.blocks.len()];
        found[0] = Some(vec![Shape::Varying; self.registers.len()]);
        let mut changed = vec![false; self.blocks.len()];
        changed[0] = true;
        while let Some(block) = changed.iter().position(|changed| *changed) {
            changed[block] = false;
            let Some(mut shapes) = found[block].clone() else {
                continue;
            };
            for index in self.blocks[block].ops.clone() {
                self.transfer(index, &mut shapes);
            }
            for successor in &self.blocks[block].successors {
                let there = &mut found[*successor];
                let Some(known) = there else {
                    *there = Some(shapes.clone());
                    changed[*successor] = true;
                    continue;
                };
                for (known, shape) in known.iter_mut().zip(&shapes) {
                    let joined = known.join(*shape);
                    changed[*successor] |= joined != *known;
                    *known = joined;
                }
            }
        }
        found
    }

    /// Updates the shapes for what an operation does.
    pub(super) fn transfer(&self, index: usize, shapes: &mut Shapes) {
        let result = self.result(index, shapes);
        for number in self.written(index) {
            shapes[number] = result;
        }
    }

    /// The shape of an operand.
    pub(super) fn shape(&self, place: Place, shapes: &Shapes) -> Shape {
        match place {
            Place::Constant(_) => Shape::Uniform,
            Place::Given { shape, .. } => shape,
            Place::Register(number) => shapes[number],
            Place::Memory(..) => Shape::Varying,
        }
    }

    /// The shape of what an operation writes.
    fn result(&self, index: usize, shapes: &Shapes) -> Shape {
        let facts = self.facts(index);
        if facts.flow != Flow::Next {
            return Shape::Varying;
        }
        match facts.kind {
            OpKind::Lanes { linear, form, .. } => self.plan_lanes(index, linear, form, shapes).result,
            OpKind::Test { .. } | OpKind::Masks { .. } => self.uniform_if_all_are(index, shapes),
            OpKind::Select => self.plan_select(index, shapes),
            OpKind::Load { .. } => match self.operand(index, 1).map(|place| self.shape(place, shapes)) {
                Some(shape @ (Shape::Uniform | Shape::Affine(0))) => shape,
                Some(Shape::Affine(_) | Shape::Varying) | None => Shape::Varying,
            },
            OpKind::Opaque
            | OpKind::Barrier
            | OpKind::Carrier { .. }
            | OpKind::Store { .. }
            | OpKind::GuardBegin
            | OpKind::GuardEnd => Shape::Varying,
        }
    }

    fn sources(&self, index: usize, shapes: &Shapes) -> Vec<(usize, Place, Shape)> {
        let operands = self.operands(index).into_iter();
        operands
            .filter(|operand| !operand.is_written)
            .map(|operand| (operand.position, operand.place, self.shape(operand.place, shapes)))
            .collect()
    }

    fn uniform_if_all_are(&self, index: usize, shapes: &Shapes) -> Shape {
        let sources = self.sources(index, shapes);
        if sources.iter().all(|(.., shape)| *shape == Shape::Uniform) {
            Shape::Uniform
        } else {
            Shape::Varying
        }
    }

    /// How a selection is computed.
    pub(super) fn plan_select(&self, index: usize, shapes: &Shapes) -> Shape {
        let shape = |position| {
            self.operand(index, position)
                .map_or(Shape::Varying, |place| self.shape(place, shapes))
        };
        match (shape(3), shape(1).stride(), shape(2).stride()) {
            (Shape::Uniform, Some(a), Some(b)) if a == b => {
                if shape(1) == shape(2) {
                    shape(1)
                } else {
                    Shape::Affine(a)
                }
            }
            _ => Shape::Varying,
        }
    }

    /// How an operation over lanes is computed.
    pub(super) fn plan_lanes(&self, index: usize, linear: Linear, form: LaneForm, shapes: &Shapes) -> LanePlan {
        self.linear(index, linear, form, shapes).unwrap_or(WHOLE)
    }

    fn linear(&self, index: usize, linear: Linear, form: LaneForm, shapes: &Shapes) -> Option<LanePlan> {
        let sources = self.sources(index, shapes);
        let class = self.facts(index).classes[0]?;
        // What another function reads lies in the register file.
        let Some(Place::Register(_)) = self.operand(index, 0) else {
            return None;
        };
        if sources.iter().all(|(.., shape)| *shape == Shape::Uniform) {
            return Some(LanePlan {
                result: Shape::Uniform,
                checks: 0,
            });
        }
        // The others are computed from lanes that were stored.
        form.form?;
        let mut strides = [0; 5];
        for (position, place, shape) in &sources {
            strides[*position] = narrow(shape.stride()?, self.class(*place)?);
        }
        if strides == [0; 5] {
            return Some(LanePlan {
                result: Shape::Affine(0),
                checks: 0,
            });
        }
        let [_, a, b, c, _] = strides;
        let product = |signed: Option<bool>| -> Option<i64> {
            let constant = |position: usize| {
                let Place::Constant(bits) = self.operand(index, position)? else {
                    return None;
                };
                Some(match signed {
                    None => bits.cast_signed(),
                    Some(false) => i64::from(bits as u32),
                    Some(true) => i64::from(bits as i32),
                })
            };
            match (a, b) {
                (0, 0) => Some(0),
                (_, 0) => Some(a.wrapping_mul(constant(2)?)),
                (0, _) => Some(b.wrapping_mul(constant(1)?)),
                _ => None,
            }
        };
        let checked = |mask: u8| -> u8 { mask & (u8::from(a != 0) << 1 | u8::from(b != 0) << 2) };
        let (stride, checks) = match linear {
            Linear::No => return None,
            Linear::Copy => (a, 0),
            Linear::ZeroExtended | Linear::SignExtended => (a, checked(0b010)),
            Linear::Sum => (a.wrapping_add(b), 0),
            Linear::Difference => (a.wrapping_sub(b), 0),
            Linear::Product => (product(None)?, 0),
            Linear::WideProduct => (product(Some(false))?, checked(0b110)),
            Linear::SignedWideProduct => (product(Some(true))?, checked(0b110)),
            Linear::ProductSum => (product(None)?.wrapping_add(c), 0),
            Linear::WideProductSum => (product(Some(false))?.wrapping_add(c), checked(0b110)),
            Linear::SignedWideProductSum => (product(Some(true))?.wrapping_add(c), checked(0b110)),
            Linear::Shift => match self.operand(index, 2)? {
                Place::Constant(amount) if b == 0 => (a.checked_shl(u32::try_from(amount).ok()?)?, 0),
                _ => return None,
            },
        };
        Some(LanePlan {
            result: Shape::affine(narrow(stride, class), self.groups()),
            checks,
        })
    }

    /// The width of an operand that is a slot.
    pub(super) fn class(&self, place: Place) -> Option<Class> {
        match place {
            Place::Constant(_) => Some(Class::W64),
            Place::Given { class, .. } | Place::Memory(_, class) => Some(class),
            Place::Register(number) => match self.registers[number] {
                Register::Slot(_, class) => Some(class),
                Register::Predicate(_) => None,
            },
        }
    }
}

/// A stride as one of a value of this width.
fn narrow(stride: i64, class: Class) -> i64 {
    match class {
        Class::W32 => i64::from(stride as i32),
        Class::W64 | Class::W128 => stride,
    }
}
