//! Shared memory under other names, and threads that leave before a barrier that others pass: what tests/it/shared.rs launches.

use cuda_std::prelude::*;
use cuda_std::shared::Storage;

type Keys<'l> = SharedSlice<'l, u32>;

/// Half of the block reads behind the slice's barrier while the other half writes behind `sync_threads`: two barriers, so that
/// no thread gets past either.
#[kernel]
pub fn alias_beside_sync_threads(mut out: DisjointSlice<u32>, mut keys: Keys) {
    if let Some(own) = keys.own() {
        *own = 1;
    }
    if thread::thread_idx_x() < 32 {
        let keys = keys.sync();
        if let Some(out) = out.own() {
            *out = keys.iter().sum();
        }
    } else {
        sync_threads();
        if let Some(own) = keys.own() {
            *own = 1000;
        }
        if let Some(out) = out.own() {
            *out = 7;
        }
    }
}

/// Two slices by an alias have two barriers.
#[kernel]
pub fn aliases(mut out: DisjointSlice<u32>, mut a: Keys, mut b: Keys) {
    let thread = thread::thread_idx_x();
    if let (Some(a), Some(b)) = (a.own(), b.own()) {
        (*a, *b) = (thread, 2 * thread);
    }
    let (a, b) = (a.sync(), b.sync());
    if let Some(out) = out.own() {
        let other = 63 - thread as usize;
        *out = a[other] + b[other];
    }
}

/// Half of the block returns before the barrier.
#[kernel]
pub fn returns_early(mut out: DisjointSlice<u32>, mut tile: Shared<Tile<u32, 64>>) {
    *tile.own() = 5;
    if thread::thread_idx_x() < 32 {
        return;
    }
    let tile = tile.sync();
    if let Some(out) = out.own() {
        *out = tile[0];
    }
}

/// Half of the block panics before the barrier, for an index of the host's.
#[kernel]
pub fn panics_early(x: &[u32], mut out: DisjointSlice<u32>, mut tile: Shared<Tile<u32, 64>>) {
    *tile.own() = 5;
    let thread = thread::thread_idx_x() as usize;
    let own = x[if thread < 32 { x.len() } else { thread % x.len() }];
    let tile = tile.sync();
    if let Some(out) = out.own() {
        *out = tile[0] + own;
    }
}

/// Half of the block returns between two steps.
#[kernel]
pub fn returns_between_turns(mut out: DisjointSlice<u32>, mut tiles: Alternating<Tile<u32, 64>>) {
    *tiles.back() = 5;
    tiles.swap();
    *tiles.back() = tiles.front()[0] + 1;
    if thread::thread_idx_x() < 32 {
        return;
    }
    tiles.swap();
    if let Some(out) = out.own() {
        *out = tiles.front()[0];
    }
}

/// Half of the block returns while its copies are under way.
#[kernel]
pub fn returns_while_copying(x: &[u32], mut out: DisjointSlice<u32>, tiles: Pipeline<Tile<u32, 64>>) {
    let mut stages = tiles.start();
    stages.fetch(|i| x.get(i));
    if thread::thread_idx_x() < 32 {
        return;
    }
    stages.advance();
    if let Some(out) = out.own() {
        *out = stages.front()[0];
    }
}

/// The same of threads that forget their stages.
#[kernel]
pub fn forgets_while_copying(x: &[u32], mut out: DisjointSlice<u32>, tiles: Pipeline<Tile<u32, 64>>) {
    let mut stages = tiles.start();
    stages.fetch(|i| x.get(i));
    if thread::thread_idx_x() < 32 {
        core::mem::forget(stages);
        return;
    }
    stages.advance();
    if let Some(out) = out.own() {
        *out = stages.front()[0];
    }
}

/// Half of the block panics while its copies are under way.
#[kernel]
pub fn panics_while_copying(x: &[u32], mut out: DisjointSlice<u32>, tiles: Pipeline<Tile<u32, 64>>) {
    let mut stages = tiles.start();
    stages.fetch(|i| x.get(i));
    let thread = thread::thread_idx_x() as usize;
    let own = x[if thread < 32 { x.len() } else { thread % x.len() }];
    stages.advance();
    if let Some(out) = out.own() {
        *out = stages.front()[0] + own;
    }
}

/// A static in shared memory that is not `mut` gives an address, and nothing else.
#[kernel]
pub fn address_of_storage(mut out: DisjointSlice<u32>) {
    #[cuda_std::address_space(shared)]
    static TILE: Storage<[u32; 64]> = Storage::uninit();

    if let Some(out) = out.own() {
        *out = TILE.as_mut_ptr().is_aligned().into();
    }
}
