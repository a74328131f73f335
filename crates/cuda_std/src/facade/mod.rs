//! What the author of a kernel meets first: the prelude, and the compiler's messages for what outputs, shared memory and
//! indices do not allow.

mod help;
pub mod prelude;
