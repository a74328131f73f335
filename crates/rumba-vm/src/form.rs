//! What the shape of an operation tells a program for lanes in lockstep (see [`crate::lockstep`]).
//!
//! A value is *regular* if within each group of 8 lanes every lane holds the same *step* more than the lane before it; the
//! first lanes of the groups, its *heads*, then stand for all of it. Combinators of shapes say what an operation can do
//! with heads; nothing here knows an instruction.

use crate::op::Handler;

/// What an operation can do instead of its work on 32 lanes, if the lanes are all active.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// Nothing: it reads and writes whole slots.
    Opaque,
    /// `dst` is a function of the sources, lane by lane.
    Lanes {
        /// Computes the heads of `dst` from the heads of the sources.
        heads: Handler,
        /// When the result is regular.
        linear: Linear,
    },
    /// The predicate `dst` is a function of the sources, lane by lane.
    Test {
        /// Reads the sources `a` and `b` by their heads; the two halves of `imm` are their steps.
        spread: Handler,
    },
    /// Loads from the address in `a`.
    Load {
        /// Bytes of a lane.
        bytes: u8,
        /// Where each group has one address, loads lanes.
        uniform: Handler,
        /// Where each group has one address, loads heads; for operations with one destination.
        heads: Option<Handler>,
        /// Where a lane's bytes lie behind those of the lane before it.
        contiguous: Handler,
    },
    /// Stores to the address in `a`.
    Store {
        /// Bytes of a lane.
        bytes: u8,
        /// Where each group has one address.
        uniform: Handler,
        /// Where a lane's bytes lie behind those of the lane before it.
        contiguous: Handler,
    },
    /// Restricts the active lanes to those of predicate `a`, negated if `extra` is not 0, for `imm` operations.
    GuardBegin,
    /// Ends what [`Form::GuardBegin`] began.
    GuardEnd,
}

/// How a function's result depends on the steps of its operands, in the arithmetic of its width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linear {
    /// It is regular only where all operands have the step 0.
    No,
    /// `a`, cut to the width of the result.
    Copy,
    /// `a`, zero-extended from 32 bits if they wrap nowhere within a group.
    ZeroExtended,
    /// `a`, sign-extended from 32 bits if they wrap nowhere within a group.
    SignExtended,
    /// `a + b`
    Sum,
    /// `a - b`
    Difference,
    /// `a * b`
    Product,
    /// `a * b`, of zero-extended operands of 32 bits.
    WideProduct,
    /// `a * b`, of sign-extended operands of 32 bits.
    SignedWideProduct,
    /// `a * b + c`
    ProductSum,
    /// `a * b + c`, where `a` and `b` are zero-extended from 32 bits.
    WideProductSum,
    /// `a * b + c`, where `a` and `b` are sign-extended from 32 bits.
    SignedWideProductSum,
    /// `a << b`
    Shift,
}

impl Linear {
    /// The same for operands of `bits` bits: values that are narrower than their lanes wrap elsewhere.
    #[must_use]
    pub const fn of_bits(self, bits: u32) -> Self {
        if bits < 32 { Self::No } else { self }
    }
}
