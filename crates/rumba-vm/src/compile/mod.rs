//! Native code of kernels: from the operations of a program to text in LLVM's assembly language.
//!
//! A warp is one thread of the code, and a register a vector of 32 lanes, or one number where all lanes hold the same or
//! neighbouring numbers (`shape`). The code runs a warp whose lanes are together: where they part, and where something
//! happens that it has no form for, it stores the registers and names the operation at which the interpreter goes on. How
//! warps come to native code and leave it is told in [`crate::exec::native`].
//!
//! How an instruction is written stands beside its handler, in the kind of its operations; no instruction is named here.

pub(crate) mod function;
mod kernel;
mod memory;
mod registers;
mod shape;
