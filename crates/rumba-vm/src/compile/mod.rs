//! Native code of kernels: from the operations of a program to text in LLVM's assembly language.
//!
//! A warp is one thread of the code, and a register a vector of 32 lanes, or one number where all lanes hold the same or
//! neighbouring numbers (`shape`). Each basic block is written twice, for warps whose 32 lanes are all there and for some of
//! them. Lanes that part wait at the block that comes later, and those run first that are in an earlier one: as in
//! [`crate::exec::schedule`]. Where a warp waits for others or ends, where its turn is over and where lanes do what they have to
//! do together while some wait, the code stores the registers and names the operation at which the interpreter goes on. How
//! warps come to native code and leave it is told in [`crate::exec::native`].
//!
//! `groups` chooses how many lanes share a number and a stride. Three analyses say what the text may leave out: `shape`, what is the same in all lanes; `bits`, which bits may be set; `nan`,
//! whose NaNs are seen. Accesses are written in `memory`, vectors of neighbouring lanes in `neighbours`, gathers and scatters in
//! `scattered`, the comparison with bounds in `bounds`, what the check for races does with reads in `reads`, the look at undefined memory in `written`, what is left in the register file in `layout`.
//!
//! A text is written only where its code is not kept: `fingerprint` hashes what a text is made from, and `record` is what is kept with
//! the code.
//!
//! How an instruction is written stands beside its handler, in the kind of its operations; no instruction is named here.

mod ahead;
mod atomic;
mod bits;
mod bounds;
mod checks;
pub(crate) mod fingerprint;
pub(crate) mod function;
pub(crate) mod groups;
pub(crate) mod kernel;
mod layout;
mod memory;
mod nan;
mod neighbours;
mod operations;
mod reads;
pub(crate) mod record;
mod registers;
mod scattered;
mod shape;
mod together;
mod variables;
mod written;
