//! PTX as text: lexer, parser, syntax tree, printer and diagnostics.
//!
//! [`parse`] turns a source into an [`ast::Module`] that borrows its names from it, or into a list
//! of [`Diagnostic`]s, which a [`Report`] shows with line, column and excerpt. [`parse_declarations`] leaves out the bodies of functions. Displaying a module
//! (or any part of it) prints PTX that reads back as the same tree. [`LineIndex`] finds the line of
//! an instruction at run time.
//!
//! [`foot`] is what the builder of kernels writes behind the PTX, as comments, and a [`set`] has such texts for several
//! architectures, of which a device runs what [`Target`] says.
//!
//! It covers what today's compilers print (LLVM's NVPTX back end, nvcc, NVRTC, libNVVM) and what
//! older ones printed since PTX 2. It deliberately knows no semantics: which instructions exist,
//! what types they take and what a name stands for is up to the reader of the tree.

#![forbid(unsafe_code)]

pub mod ast;
mod diagnostic;
pub mod foot;
mod lexer;
mod line_index;
mod parser;
mod print;
pub mod set;
mod spelling;
mod target;

pub use diagnostic::{Colour, Diagnostic, Report};
pub use line_index::{LineIndex, Position};
pub use parser::{parse, parse_declarations};
pub use target::{Directive, NoTarget, Target, skip_blank};
