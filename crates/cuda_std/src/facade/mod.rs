//! The entry points for authors of kernels: the prelude, and the compiler's messages for misuse of outputs, shared
//! memory and indices.

mod help;
pub mod prelude;
