//! The tests of the layers, in one program.

mod goldens;
mod norms;
mod programs;
mod training;
mod weights;
