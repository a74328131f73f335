//! Rust: a hash map.

use cuda_std::prelude::*;

#[kernel]
pub fn count(x: &[u32]) {
    let mut counts = HashMap::new();
    *counts.entry(x[0]).or_insert(0) += 1;
}
