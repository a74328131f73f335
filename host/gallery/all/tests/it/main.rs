//! The tests of the gallery, in one program.

mod gallery;
mod programs;
