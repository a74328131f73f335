//! Variables of the text and parts of the register file. They have types, which LLVM's pointers have not: neither its parser nor its
//! verifier sees that a value of another type is stored.

use crate::base::ir::{Element, ty};

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
        Self { pointer: pointer.into(), element, is_vector: false }
    }

    /// A place of a number for each lane.
    pub(super) fn lanes(pointer: impl Into<String>, element: Element) -> Self {
        Self { is_vector: true, ..Self::one(pointer, element) }
    }

    /// A variable of 32 bits.
    pub(super) fn word(pointer: impl Into<String>) -> Self {
        Self::one(pointer, Element::I32)
    }

    pub(super) fn ty(&self) -> String {
        ty(self.element, self.is_vector)
    }

    /// Vectors have the alignment of the register file's slots.
    pub(super) fn alignment(&self) -> &'static str {
        if self.is_vector { ", align 64" } else { "" }
    }
}
