//! An output that a static keeps would be written after its launch.
use cuda_std::prelude::*;

use once_cell::race::OnceRef;


pub struct Cell(DisjointSlice<'static, u32>);

fn for_ever(y: DisjointSlice<u32>) -> Cell {
    Cell(y)
}

#[kernel]
pub fn keep(y: DisjointSlice<u32>) {
    let _ = for_ever(y);
}

fn main() {}
