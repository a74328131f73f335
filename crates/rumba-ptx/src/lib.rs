//! PTX as text: lexer, parser, syntax tree, printer and diagnostics.
//!
//! Knows no instruction semantics.

pub mod ast;
