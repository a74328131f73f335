//! A kernel's arrays: outputs and their layouts, views of arrays with strides, and functions that are called for every
//! element of arrays.

pub mod output;
pub(crate) mod strided;
#[doc(hidden)]
pub mod vectorize;
pub mod view;
