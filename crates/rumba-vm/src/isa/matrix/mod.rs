//! The common parts of the matrix instructions: the places of elements in registers, many operands, and products.
//!
//! The instructions themselves are in files of their own.

pub(crate) mod descriptor;
pub(crate) mod dot;
pub(crate) mod element;
pub(crate) mod fragment;
pub(crate) mod halves;
pub(crate) mod interned;
pub(crate) mod operands;
pub(crate) mod product;
pub(crate) mod rows;
pub(crate) mod sparse;
pub(crate) mod tensor_move;
pub(crate) mod tensor_product;
pub(crate) mod warpgroup;
