//! Programs in PTX that are made by chance, and whether all engines agree about them.
//!
//! [`program`] makes a [`Case`] from [`Choices`], which are a seed's or a fuzzer's bytes; [`Engines`] runs it in each way that the
//! machine has, and compares memory, findings, faults and output; [`reduce`] makes it smaller. The program `fuzz-engines` does so
//! for many seeds, on machines without a toolchain, too. The instructions of the programs are rows of `tables`, and a test asks for each row.

mod accesses;
mod area;
mod case;
mod choices;
mod compiler;
mod control;
mod engines;
mod forms;
mod functions;
mod generator;
mod module;
mod reduce;
mod tables;
mod template;

pub use case::{Argument, Case, CaseError, Shape};
pub use choices::Choices;
pub use compiler::library;
pub use engines::{Agreement, Disagreement, Engines};
pub use generator::{Program, features, program};
pub use reduce::reduce;
