//! Kernels in the forms that `#[kernel]` takes. tests/tests/it/forms.rs launches them and looks at their PTX; what they compute is
//! of no use.

pub mod arrays;
pub mod blocks;
pub mod conditions;
pub mod contracts;
pub mod generic;
pub mod reductions;
pub mod rust_cuda;
pub mod symmetric;
