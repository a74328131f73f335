//! Tests of the programs and of files of NumPy.

mod npy;
mod programs;
