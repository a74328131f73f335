//! Scalar functions as native code and its analyses use them: what is written for a function, and which bits of its result may
//! be set.

use std::fmt;

use crate::arith::emit::{Builder, Operand};
use crate::base::ir::{Element, Value, Writer};

/// A scalar function of an operation's `extra` and of operands.
#[derive(Clone, Copy)]
pub struct Form(fn(&Builder, u16, &[Value]) -> Operand);

impl Form {
    /// The function that puts its operations into a builder, and returns the result.
    pub const fn new(build: fn(&Builder, u16, &[Value]) -> Operand) -> Self {
        Self(build)
    }

    /// Writes the function.
    pub fn write(self, w: &mut Writer, extra: u16, operands: &[Value]) -> Value {
        let builder = Builder::new();
        let result = self.0(&builder, extra, operands);
        let [value] = builder.finish(w, [result]);
        value
    }

    /// The bits of the result that may be set, given those of the operands.
    pub fn possible_bits(self, extra: u16, operands: &[Value]) -> u64 {
        let builder = Builder::new();
        let result = self.0(&builder, extra, operands);
        builder.possible_bits(result)
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Form")
    }
}

/// A scalar function over lanes, and the types of its operands and of its result.
#[derive(Clone, Copy)]
pub struct LaneForm {
    /// The function; without it, native code calls the handler.
    pub form: Option<Form>,
    /// The types of the operation's sources.
    pub operands: &'static [Element],
    /// The type of the result.
    pub result: Element,
}

impl fmt::Debug for LaneForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} -> {:?}", self.operands, self.result)
    }
}
