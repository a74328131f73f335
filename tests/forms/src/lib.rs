//! Kernels in the forms that `#[kernel]` takes. tests/forms.rs launches them and looks at their PTX; what they compute is
//! of no use.
#![no_std]

pub mod contracts;
pub mod generic;
