//! Operations whose operands are not slots yet: virtual registers, predicates, labels.

use crate::machine::op::Handlers;

/// Where an operand lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VReg {
    /// Not used.
    None,
    /// A virtual slot: a register, a constant, a scratch value.
    Slot(u32),
    /// A predicate.
    Predicate(u16),
}

/// Marks a virtual slot that belongs to the program and is filled by the launch.
pub(crate) const FIXED: u32 = 1 << 31;

impl VReg {
    /// Whether it is a slot that the launch fills and that no operation writes.
    pub(crate) fn is_fixed(self) -> bool {
        matches!(self, Self::Slot(slot) if slot & FIXED != 0)
    }
}

/// An operation whose operands are places.
#[derive(Clone, Copy)]
pub struct VirtualOp {
    /// The handlers.
    pub handlers: Handlers,
    /// The destination.
    pub dst: VReg,
    /// The first source.
    pub a: VReg,
    /// The second source.
    pub b: VReg,
    /// The third source.
    pub c: VReg,
    /// The fourth source.
    pub d: VReg,
    /// The places among `dst`, `a`, `b`, `c`, `d` that are written instead of read: bits 0 to 4.
    pub defines: u8,
    /// See [`crate::machine::op::Op::extra`].
    pub extra: u16,
    /// See [`crate::machine::op::Op::imm`].
    pub imm: u64,
    /// Bytes of each of the values that a load or store moves between memory and its places other than `a`; 0 if it is none.
    pub moves: u8,
}

/// For [`VirtualOp::defines`]: `dst` and `c`.
pub(crate) const DST_AND_C: u8 = 0b1001;

impl VirtualOp {
    /// An operation without operands.
    pub const fn new(handlers: Handlers) -> Self {
        let none = VReg::None;
        Self { handlers, dst: none, a: none, b: none, c: none, d: none, defines: 1, extra: 0, imm: 0, moves: 0 }
    }

    /// `dst = f(a)`
    pub const fn unary(handlers: Handlers, dst: VReg, a: VReg) -> Self {
        Self { dst, a, ..Self::new(handlers) }
    }

    /// `dst = f(a, b)`
    pub const fn binary(handlers: Handlers, dst: VReg, a: VReg, b: VReg) -> Self {
        Self { dst, a, b, ..Self::new(handlers) }
    }

    /// `dst = f(a, b, c)`
    pub const fn ternary(handlers: Handlers, dst: VReg, a: VReg, b: VReg, c: VReg) -> Self {
        Self { dst, a, b, c, ..Self::new(handlers) }
    }

    /// Its places, in the order of the bits of `defines`.
    pub(crate) fn places(&self) -> [VReg; 5] {
        [self.dst, self.a, self.b, self.c, self.d]
    }
}

/// Index of a label of the function.
pub(crate) type LabelId = u32;

/// Where control goes after an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Control {
    /// To the next operation.
    Next,
    /// To the next operation, but the operation may have to wait for other lanes and then runs again.
    Park,
    /// To a label.
    Jump(LabelId),
    /// To a label for the lanes of the predicate in `a`, negated if `extra` is not 0; on for the others.
    Branch(LabelId),
    /// To one of the labels, by the index in `a`.
    Table(Vec<LabelId>),
    /// To a function of the program, and then on.
    Call(usize),
    /// To a function that is found at run time, and then on.
    CallIndirect,
    /// On, having made or given back the function's frame.
    Frame,
    /// Nowhere within this function.
    End,
}

/// A node of a function before its blocks are ordered.
#[derive(Clone)]
pub(crate) enum Node {
    /// A label.
    Label(LabelId),
    /// An operation.
    Op {
        virtual_op: VirtualOp,
        control: Control,
        /// Index of the PTX instruction.
        source: u32,
        /// Whether lanes may skip the operation, so that it does not end the live range of the old value of `dst`.
        conditional: bool,
    },
}
