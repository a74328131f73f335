//! An output that is leaked, with an element that a static keeps behind the launch.
extern crate alloc;

use alloc::boxed::Box;

use cuda_std::prelude::*;

use once_cell::race::OnceRef;

static KEPT: OnceRef<'static, u32> = OnceRef::new();

#[kernel]
pub fn keep(y: DisjointSlice<u32>) {
    if let Some(own) = Box::leak(Box::new(y)).own() {
        let _ = KEPT.set(own);
    }
}

fn main() {}
