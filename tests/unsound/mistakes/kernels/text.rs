//! Rust: text.

use cuda_std::prelude::*;

#[kernel]
pub fn label(mut y: DisjointSlice<u8>) {
    let name = String::from("x");
    let text = format!("{}", 1);
}
