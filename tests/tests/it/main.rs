//! The tests that are neither a case on an engine nor a kernel of a corpus (those are `trials`), in one program.

mod agreement;
mod apps;
mod arrays;
mod blocks;
mod catalogue;
mod common;
mod faults;
mod findings;
mod forms;
mod indices;
mod invariants;
mod layers;
mod linking;
mod prose;
mod ptx;
mod reductions;
mod reports;
mod shared;
mod steps;
mod symmetric;
mod tensor;
mod traffic;
mod ulp;
mod variants;
