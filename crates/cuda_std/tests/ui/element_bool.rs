use cuda_std::prelude::*;

#[kernel]
pub fn select(mask: &[bool], letters: &[char], mut chosen: DisjointSlice<bool>) {
    let _ = (mask, letters, chosen.own());
}

fn main() {}
