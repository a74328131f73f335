//! The kernels of the runtime's algorithms, `rumba::algorithms`, and of the arithmetic of its arrays, which say what they
//! are for and launch them.
//!
//! They are ordinary kernels with nothing of the runtime in them. What they expect of their launches stands with each;
//! only the runtime needs to know it.
#![no_std]

pub mod arithmetic;
pub mod histogram;
pub mod random;
pub mod reduce;
pub mod scan;
pub mod sort;
pub mod transpose;

use cuda_std::prelude::*;

/// Sets all words to zero.
#[kernel]
pub fn clear(mut words: Disjoint<u32, Striped<4>>) {
    words.each(|_, word| *word = 0);
}

/// Each element becomes its index.
#[kernel]
pub fn count_up(mut indices: Disjoint<u32, Striped<4>>) {
    indices.each(|i, index| *index = i as u32);
}
