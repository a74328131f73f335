//! Shared memory that is leaked: a static would keep what other blocks get after this one.
extern crate alloc;

use alloc::boxed::Box;

use cuda_std::prelude::*;

use once_cell::race::OnceRef;

static KEPT: OnceRef<'static, [u32; 64]> = OnceRef::new();

#[kernel]
pub fn keep(tile: Shared<Tile<u32, 64>>) {
    let _ = KEPT.set(Box::leak(Box::new(tile.sync())).get());
}

#[kernel]
pub fn keep_a_front(tiles: Alternating<Tile<u32, 64>>) {
    let _ = KEPT.set(Box::leak(Box::new(tiles)).front());
}

#[kernel]
pub fn keep_a_stage(tiles: Pipeline<Tile<u32, 64>>) {
    let _ = KEPT.set(Box::leak(Box::new(tiles.start())).front());
}

fn main() {}
