//! From the syntax tree to operations: names, registers, operands, and the interface that instructions use.

pub(crate) mod address;
pub(crate) mod availability;
pub(crate) mod element;
pub(crate) mod error;
pub(crate) mod fit;
pub(crate) mod fixed;
pub(crate) mod instruction;
pub(crate) mod lowering;
pub mod notation;
pub(crate) mod scope;
pub(crate) mod sources;
pub(crate) mod symbols;
pub(crate) mod vectors;
pub(crate) mod virtual_op;
