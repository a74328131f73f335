//! Decoupled look-back by groups: how a block of a scan learns what everything before its tile comes to.
//!
//! Each block publishes what its tile comes to, with a mark beside each word, so that nothing else needs an order. [`GROUP`]
//! tiles are a group, and the last tile of a group publishes what everything up to its end comes to instead. So a block needs
//! the last of the group before its own, and the tiles of its group that are before it. In decoupled look-back (Merrill and
//! Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back") a block takes whatever is known when it looks, so that
//! sums of floats differ from run to run; here it takes the same each time, and looks at no more than a group.

use bytemuck::Pod;

use super::{from_words, words};
use crate::collective::warp::{self, WARP_SIZE};
use crate::device::thread::block_idx_x;
use crate::mem::atomic::Atomic;

/// Tiles of a group.
const GROUP: u32 = LOOKS as u32 * WARP_SIZE;

/// Tiles of a group that a lane looks at.
pub(super) const LOOKS: usize = 4;

/// Places of a group in `published`. The last tile's is at the end of a cache line of its own: all blocks of the next group
/// look there, again and again, and what others write to the same line would wait for them.
const PLACES: u32 = GROUP + 16;

/// How many values have a place in `published`, for so many tiles.
#[must_use]
pub const fn places(tiles: usize) -> usize {
    tiles.div_ceil(GROUP as usize).saturating_mul(PLACES as usize)
}

/// The block's tile among those of its group. One warp of the block uses it, all of its lanes together.
///
/// Blocks must be started in the order of their numbers, as GPUs do: a block waits for earlier ones only.
#[derive(Clone, Copy, Debug)]
pub struct LookBack<'p> {
    published: &'p [Atomic<u64>],
    /// The group's first place.
    start: u32,
    /// Tiles of the group before this one.
    earlier: u32,
}

impl<'p> LookBack<'p> {
    /// Of the calling block. `published` is all zero when the launch starts, and has as many elements as the
    /// [`scan_places`](super::scan_places) for all tiles have words of 32 bits.
    #[inline(always)]
    #[must_use]
    pub fn new(published: &'p [Atomic<u64>]) -> Self {
        let tile = block_idx_x();
        Self {
            published,
            start: tile / GROUP * PLACES,
            earlier: tile % GROUP,
        }
    }

    /// Whether the tile is the last of its group: then it publishes what everything up to its end comes to, and no block needs
    /// what it comes to itself.
    #[inline(always)]
    #[must_use]
    pub fn is_last(self) -> bool {
        self.earlier == GROUP - 1
    }

    /// Tiles of the group before this one.
    #[inline(always)]
    pub(super) fn earlier(self) -> u32 {
        self.earlier
    }

    /// Whether there is a group before.
    #[inline(always)]
    pub(super) fn has_group_before(self) -> bool {
        self.start > 0
    }

    /// Where a word of the value at a place is published.
    #[inline(always)]
    fn word<T>(self, place: u32, word: usize) -> &'p Atomic<u64> {
        &self.published[place as usize * (size_of::<T>() / 4) + word]
    }

    /// The value at a place, if all of its words are known.
    #[inline(always)]
    fn look<T: Pod>(self, place: u32) -> Option<T> {
        let mut is_known = true;
        let value = from_words(|i| {
            let word = self.word::<T>(place, i).load();
            is_known &= word != 0;
            word as u32
        });
        is_known.then_some(value)
    }

    /// Publishes what the tile comes to, or everything up to its end if it [is the last](Self::is_last). The first lane's
    /// value counts.
    #[inline(always)]
    pub fn publish<T: Pod>(self, value: T) {
        if warp::lane_id() == 0 {
            let end = if self.is_last() { PLACES - 1 } else { self.earlier };
            for (i, word) in words(&value).iter().enumerate() {
                self.word::<T>(self.start + end, i).store(1 << 32 | u64::from(*word));
            }
        }
    }

    /// Waits for what is before the tile, and calls `found` with each value as it is known. The first to come, with the number
    /// 0, is the last of the group before, which the last lane has; in those with higher numbers, up to 4, lanes have the
    /// tiles of the group in their order.
    #[inline(always)]
    pub fn each_earlier<T: Pod>(self, mut found: impl FnMut(usize, T)) {
        // A look at a time: more of them would queue up before the loads of other blocks, and all blocks wait for those.
        let lane = warp::lane_id();
        let place = |k: usize| (self.start + k as u32 * WARP_SIZE + lane).wrapping_sub(WARP_SIZE);
        let wanted = self.start - u32::from(self.has_group_before())..self.start + self.earlier;
        let mut missing = (0..=LOOKS).fold(0, |bits, k| bits | u32::from(wanted.contains(&place(k))) << k);
        while warp::any(missing != 0) {
            for k in 0..=LOOKS {
                if missing & 1 << k != 0
                    && let Some(value) = self.look(place(k))
                {
                    found(k, value);
                    missing ^= 1 << k;
                }
            }
        }
    }
}
