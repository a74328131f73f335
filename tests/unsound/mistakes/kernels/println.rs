//! Rust: `println!` and `dbg!` of the standard library.

use cuda_std::prelude::*;

#[kernel]
pub fn show(x: &[f32]) {
    println!("{}", x[0]);
    dbg!(x[0]);
}
