//! From an instruction of the syntax tree to operations: the interface that instruction files use.
//!
//! Slots are virtual here; liveness and slot assignment come afterwards.

use thiserror::Error;

use crate::op::Handlers;
use crate::types::ScalarType;

/// Where an operand lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Place {
    /// Not used.
    None,
    /// A virtual slot: a register, a constant, a scratch value.
    Slot(u32),
    /// A predicate.
    Predicate(u16),
}

/// An operation whose operands are places.
#[derive(Clone, Copy)]
pub struct Draft {
    /// What it does.
    pub handlers: Handlers,
    /// The destination.
    pub dst: Place,
    /// The first source.
    pub a: Place,
    /// The second source.
    pub b: Place,
    /// The third source.
    pub c: Place,
    /// The fourth source.
    pub d: Place,
    /// See [`crate::op::Op::extra`].
    pub extra: u16,
    /// See [`crate::op::Op::imm`].
    pub imm: u64,
}

impl Draft {
    /// An operation without operands.
    pub const fn new(handlers: Handlers) -> Self {
        let none = Place::None;
        Self {
            handlers,
            dst: none,
            a: none,
            b: none,
            c: none,
            d: none,
            extra: 0,
            imm: 0,
        }
    }

    /// `dst = f(a)`
    pub const fn unary(handlers: Handlers, dst: Place, a: Place) -> Self {
        Self {
            dst,
            a,
            ..Self::new(handlers)
        }
    }

    /// `dst = f(a, b)`
    pub const fn binary(handlers: Handlers, dst: Place, a: Place, b: Place) -> Self {
        Self {
            dst,
            a,
            b,
            ..Self::new(handlers)
        }
    }

    /// `dst = f(a, b, c)`
    pub const fn ternary(handlers: Handlers, dst: Place, a: Place, b: Place, c: Place) -> Self {
        Self {
            dst,
            a,
            b,
            c,
            ..Self::new(handlers)
        }
    }
}

/// Why an instruction cannot be executed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct LowerError {
    /// A sentence that names the cause and, where there is one, the remedy.
    pub message: String,
}

impl LowerError {
    /// An error with this text.
    pub fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
        }
    }
}

/// One instruction being lowered.
pub struct Lowering<'m> {
    drafts: Vec<Draft>,
    _module: std::marker::PhantomData<&'m ()>,
}

impl Lowering<'_> {
    /// How many operands the instruction has, as written, destinations included.
    pub fn operand_count(&self) -> usize {
        0
    }

    /// Operand `index` as destination of a value of type `ty`; the register has exactly that width.
    pub fn destination(&mut self, index: usize, ty: ScalarType) -> Result<Place, LowerError> {
        let _ = (index, ty);
        Ok(Place::None)
    }

    /// Operand `index` as destination of a value of type `ty`; the register may be wider (`cvt`, `ld`): the value is
    /// then sign- or zero-extended as `ty` says.
    pub fn wide_destination(&mut self, index: usize, ty: ScalarType) -> Result<Place, LowerError> {
        let _ = (index, ty);
        Ok(Place::None)
    }

    /// The two halves of an operand written `p|q`; a half that is missing or `_` is [`Place::None`].
    /// Either half may be a predicate or, for type `ty`, a register.
    pub fn destination_pair(
        &mut self,
        index: usize,
        ty: ScalarType,
    ) -> Result<(Place, Place), LowerError> {
        let _ = (index, ty);
        Ok((Place::None, Place::None))
    }

    /// Operand `index` as source of type `ty`: a register of that width or an immediate (which becomes a constant).
    /// For [`ScalarType::Pred`] a predicate that is not negated, or 0/1.
    pub fn source(&mut self, index: usize, ty: ScalarType) -> Result<Place, LowerError> {
        let _ = (index, ty);
        Ok(Place::None)
    }

    /// Like [`Self::source`], but the register may be wider (`cvt`, `st`): the low bits count.
    pub fn wide_source(&mut self, index: usize, ty: ScalarType) -> Result<Place, LowerError> {
        let _ = (index, ty);
        Ok(Place::None)
    }

    /// Operand `index` as predicate source that may be written `!p`: the predicate, and whether it is negated.
    pub fn predicate_source(&mut self, index: usize) -> Result<(Place, bool), LowerError> {
        let _ = index;
        Ok((Place::None, false))
    }

    /// The value of operand `index` if it is an integer literal.
    pub fn literal(&self, index: usize) -> Option<i128> {
        let _ = index;
        None
    }

    /// A constant of type `ty` with these bits in every lane.
    pub fn constant(&mut self, ty: ScalarType, bits: u128) -> Place {
        let _ = (ty, bits);
        Place::None
    }

    /// The predicate that is always `value`.
    pub fn constant_predicate(&mut self, value: bool) -> Place {
        Place::Predicate(u16::from(value))
    }

    /// A value that lives within this instruction only.
    pub fn scratch(&mut self, ty: ScalarType) -> Place {
        let _ = ty;
        Place::None
    }

    /// Appends an operation.
    pub fn emit(&mut self, draft: Draft) {
        self.drafts.push(draft);
    }
}
