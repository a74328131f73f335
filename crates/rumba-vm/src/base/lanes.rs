//! Lanes of a warp and masks of them, and the limits of blocks, clusters and their memory.

/// Threads in a warp.
pub const LANES: usize = 32;

/// The mask of a warp with all lanes active.
pub const FULL: u32 = u32::MAX;

/// The indices of the lanes of a mask.
#[inline(always)]
pub(crate) fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        if rest == 0 {
            return None;
        }
        let lane = rest.trailing_zeros() as usize;
        rest &= rest - 1;
        Some(lane)
    })
}

/// The mask of the first `count` lanes.
pub(crate) fn mask_of(count: u32) -> u32 {
    if count >= LANES as u32 { u32::MAX } else { (1 << count) - 1 }
}

/// Lanes that are looked at together, and numbers in a vector: rows of a two-dimensional block are often that short.
pub(crate) const GROUP: usize = 8;

/// Groups of lanes in a warp.
pub(crate) const GROUPS: usize = LANES / GROUP;

/// Barriers of a block.
pub(crate) const BARRIERS: usize = 16;

/// Warps of the largest block.
pub(crate) const MAX_WARPS: usize = 32;

/// The offset of the first byte that a block's shared memory has: what lies below is the system's, as on real devices.
pub(crate) const SHARED_START: u64 = 1024;

/// The offset of the first byte of a thread's stack, so that null is not a variable.
pub(crate) const STACK_START: u64 = 256;

/// Blocks of the largest cluster.
pub(crate) const MAX_CLUSTER: u32 = 16;
