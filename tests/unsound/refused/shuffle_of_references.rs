//! A reference to one lane's local memory is no reference in another.
use cuda_std::prelude::*;

#[kernel]
pub fn exchange(mut y: DisjointSlice<u32>) {
    let local = thread::thread_idx_x();
    let other = warp::shuffle_xor(&local, 1);
    if let Some(y) = y.own() {
        *y = *other;
    }
}

fn main() {}
