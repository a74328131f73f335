//! Variables of the text and parts of the register file. They have types, which LLVM's pointers have not: neither its parser nor its
//! verifier sees that a value of another type is stored.

use std::fmt;

use crate::base::ir::{Element, Value, ty};
use crate::compile::function::Function;

/// A place in memory with a type: a variable of the text, or a part of the register file.
#[derive(Debug, Clone)]
pub(super) struct Variable {
    pub(super) pointer: String,
    pub(super) element: Element,
    pub(super) is_vector: bool,
}

impl Variable {
    /// A place of one number.
    pub(super) fn one(pointer: impl Into<String>, element: Element) -> Self {
        Self {
            pointer: pointer.into(),
            element,
            is_vector: false,
        }
    }

    /// A place of a number for each lane.
    pub(super) fn lanes(pointer: impl Into<String>, element: Element) -> Self {
        Self {
            is_vector: true,
            ..Self::one(pointer, element)
        }
    }

    /// A variable of 32 bits.
    pub(super) fn word(pointer: impl Into<String>) -> Self {
        Self::one(pointer, Element::I32)
    }

    pub(super) fn ty(&self) -> String {
        ty(self.element, self.is_vector)
    }

    /// Vectors have the alignment of the register file's slots.
    fn alignment(&self) -> &'static str {
        if self.is_vector { ", align 64" } else { "" }
    }
}

impl Function<'_> {
    /// Declares a variable.
    pub(super) fn variable(&mut self, variable: Variable) -> Variable {
        let (name, ty) = (variable.pointer.clone(), variable.ty());
        let known = self.variables.entry(name).or_insert_with(|| ty.clone()).clone();
        if known != ty {
            self.refuse(format_args!(
                "{} is a variable of {known} and of {ty}",
                variable.pointer
            ));
        }
        variable
    }

    /// Lets the kernel stay interpreted. The text is wrong in a way that LLVM does not see, which is a mistake of this crate.
    fn refuse(&mut self, why: fmt::Arguments<'_>) {
        debug_assert!(false, "{}: {why}", self.kernel.program.name);
        self.is_wrong = true;
    }

    /// Reads a variable.
    pub(super) fn get(&mut self, variable: &Variable) -> Value {
        let Variable {
            pointer,
            element,
            is_vector,
        } = variable;
        let text = format!("load {}, ptr {pointer}{}", variable.ty(), variable.alignment());
        self.w.value(*element, *is_vector, text)
    }

    /// Writes a variable, with a value of its type: of any other one, bytes beside it would be written.
    pub(super) fn set(&mut self, variable: &Variable, value: &Value) {
        if value.ty() != variable.ty() {
            let Variable { pointer, .. } = variable;
            self.refuse(format_args!(
                "{pointer} is a place of {}, and {value} is stored there",
                variable.ty()
            ));
        }
        let (pointer, alignment) = (&variable.pointer, variable.alignment());
        self.w.line(format_args!("store {value}, ptr {pointer}{alignment}"));
    }
}
