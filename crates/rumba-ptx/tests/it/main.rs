//! The tests of the parser and the printer, in one program.

mod properties;
mod samples;
