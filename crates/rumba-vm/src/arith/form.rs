//! Scalar functions as native code and its analyses use them: what is written for a function, which bits of its result may be set, and how
//! the result differs from lane to lane.

use std::fmt;

use crate::arith::emit::{Builder, Operand};
use crate::arith::order::Truths;
use crate::arith::strides::{Steps, Stride};
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

    /// Writes the function for the first lane, given the operands of this lane and how they differ from lane to lane.
    pub fn write_first(self, w: &mut Writer, extra: u16, operands: &[Value], steps: &Steps<'_>) -> Value {
        let builder = Builder::new();
        let result = self.0(&builder, extra, operands);
        builder.finish_first(w, result, steps)
    }

    /// Writes for which lanes the function is true, given the operands of the first lane and how they differ from lane to lane, if it is a
    /// comparison of these.
    pub fn write_truths(self, w: &mut Writer, extra: u16, operands: &[Value], steps: &Steps<'_>) -> Option<Truths> {
        let builder = Builder::new();
        let result = self.0(&builder, extra, operands);
        builder.finish_truths(w, result, steps)
    }

    /// The bits of the result that may be set, given those of the operands: in some lane, and in the first lane of some group, where
    /// operands have only these bits.
    pub fn possible_bits(self, extra: u16, operands: &[Value], firsts: &[u64]) -> [u64; 2] {
        let builder = Builder::new();
        let result = self.0(&builder, extra, operands);
        let known = builder.known(result, &Steps { firsts, ..Steps::default() });
        [known.bits, known.first]
    }

    /// The stride of the result, given how the operands differ from lane to lane.
    pub fn stride(self, extra: u16, operands: &[Value], steps: &Steps<'_>) -> Option<Stride> {
        let builder = Builder::new();
        let result = self.0(&builder, extra, operands);
        builder.known(result, steps).stride
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

impl LaneForm {
    /// Whether the result has a stride where one operand has a stride and the others are constants.
    pub fn is_linear(self, extra: u16) -> bool {
        let of = |position: usize| {
            // The others share no bit with this one.
            let operand = |(other, element): (usize, &Element)| match other == position {
                true => Value::named("", *element, false).with_possible_bits(!1),
                false => Value::integer(*element, 1),
            };
            let operands: Vec<_> = self.operands.iter().enumerate().map(operand).collect();
            let steps: Vec<_> = (0..operands.len()).map(|other| i64::from(other == position)).collect();
            let steps = Steps { steps: &steps, ..Steps::default() };
            self.form.is_some_and(|form| form.stride(extra, &operands, &steps).is_some())
        };
        (0..self.operands.len()).any(of)
    }

    /// Whether the result is the operand, or its low bits.
    pub fn is_copy(self, extra: u16) -> bool {
        let (Some(form), [element]) = (self.form, self.operands) else { return false };
        let operand = Value::named("", *element, false);
        let steps = Steps { steps: &[1], ..Steps::default() };
        form.stride(extra, &[operand], &steps).is_some_and(|stride| stride.source.is_some())
    }
}

impl fmt::Debug for LaneForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} -> {:?}", self.operands, self.result)
    }
}
