//! Look-back of a scan: computes the prefix of a tile from values that earlier blocks have published.
//!
//! A block publishes what its tile comes to, with a mark beside each word, so that nothing else needs an order. [`GROUP`]
//! tiles are a group, and the last tile of a group publishes what everything up to its end comes to instead. So a block needs
//! the last of the group before its own, and the tiles of its group that are before it. In decoupled look-back (Merrill and
//! Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back") a block takes whatever is known when it looks, so that
//! sums of floats differ from run to run; here it takes the same each time, and looks at no more than a group.

use bytemuck::Pod;

use super::{from_words, words};
use crate::abi::record;
use crate::collective::warp::{self, WARP_SIZE};
use crate::device::thread::{block_idx_x, nanosleep};
use crate::device::waiting;
use crate::mem::atomic::Atomic;

/// Tiles of a group that a lane looks at.
pub(super) const LOOKS: usize = 4;

/// Tiles of a group.
const GROUP: u32 = LOOKS as u32 * WARP_SIZE;

/// After how many looks in vain a warp looks whether a thread of the grid has panicked, which takes long.
const PATIENCE: u32 = 256;

/// Places of a group in `published`. The last tile's is at the end of a cache line of its own: all blocks of the next group
/// look there, again and again, and what others write to the same line would wait for them.
const PLACES: u32 = GROUP + 16;

/// How many values have a place in what [`LookBack`] publishes, for so many tiles.
#[must_use]
pub const fn places(tiles: usize) -> usize {
    tiles.div_ceil(GROUP as usize).saturating_mul(PLACES as usize)
}

/// Computes the prefix of a block's tile in a scan: the number of the block is the number of its tile.
///
/// Blocks must be started in the order of their numbers, as GPUs do: a block waits for earlier ones only.
///
/// ```
/// use cuda_std::algorithms::{LookBack, scan_places};
/// use cuda_std::prelude::*;
///
/// /// `sums[i]` is the sum of `x[0]` to `x[i]`: a scan with tiles of one element.
/// #[kernel(block = 32)]
/// pub fn scan_ones(x: &[u32], published: &[Atomic<u64>], mut sums: Disjoint<u32, PerBlock>) {
///     let own = x[thread::block_idx_x() as usize];
///     let look_back = LookBack::of_block(published);
///     let mut before = 0;
///     look_back.wait(&own, 1000, |_, earlier: u32| before += earlier);
///     let end = warp::reduce_sum(before) + own;
///     look_back.publish_end(|| Some(end));
///     if let Some(sum) = sums.own() {
///         *sum = end;
///     }
/// }
///
/// # fn main() {
/// let mut sums = [0; 300];
/// examples::launch((300, 32), scan_ones(&[1; 300], &mut [0; scan_places(300)], &mut sums));
/// assert_eq!((sums[0], sums[299]), (1, 300));
/// # }
/// ```
#[derive(Clone, Copy)]
pub struct LookBack<'p> {
    published: &'p [Atomic<u64>],
    group: u32,
    pub(super) earlier: u32,
}

impl<'p> LookBack<'p> {
    /// The look-back of the calling block. `published` was all zero before the launch, and has as many elements as the
    /// [`places`] of all blocks have words of 32 bits.
    #[inline(always)]
    #[must_use]
    pub fn of_block(published: &'p [Atomic<u64>]) -> Self {
        let tile = block_idx_x();
        Self { published, group: tile / GROUP, earlier: tile % GROUP }
    }

    /// Publishes what the block's tile comes to, and waits until everything before it is known. `receive` is given it in each
    /// lane of the warp that calls, piece by piece: piece 0 is what comes before the group, which the last lane is given;
    /// then lane `l` is given the tiles `l` and as many as a warp has lanes behind, if they are before the block's. The first
    /// look is after `pause` nanoseconds: what takes longer than that is not worth a look, and looks are in the way of loads.
    #[inline(always)]
    pub fn wait<T: Pod>(&self, whole: &T, pause: u32, mut receive: impl FnMut(usize, T)) {
        // No block waits for the own sum of the last of a group, but many wait for the sum from the start.
        if !self.is_last() {
            self.publish(self.start() + self.earlier, whole);
            nanosleep(pause);
        }
        // First the last of the group before, then what comes behind it. A look at a time: more of them would queue up before
        // the loads of other blocks, and all blocks wait for those.
        let start = self.start();
        let place = |k: usize| (start + k as u32 * WARP_SIZE + warp::lane_id()).wrapping_sub(WARP_SIZE);
        let wanted = start - u32::from(self.group > 0)..start + self.earlier;
        let mut missing = (0..=LOOKS).fold(0, |bits, k| bits | u32::from(wanted.contains(&place(k))) << k);
        let mut looks = 0_u32;
        while warp::any(missing != 0) {
            looks = looks.wrapping_add(1);
            // A block that has panicked publishes nothing.
            if looks.is_multiple_of(PATIENCE) && warp::any(record::has_panicked()) {
                waiting::exit();
            }
            for k in 0..=LOOKS {
                if missing & 1 << k != 0
                    && let Some(value) = self.look(place(k))
                {
                    receive(k, value);
                    missing ^= 1 << k;
                }
            }
        }
    }

    /// Publishes what everything up to the end of the block's tile comes to, if other blocks wait for that.
    #[inline(always)]
    pub fn publish_end<T: Pod>(&self, end: impl FnOnce() -> Option<T>) {
        if self.is_last()
            && let Some(end) = end()
        {
            self.publish(self.start() + PLACES - 1, &end);
        }
    }

    /// Whether the tile is in the first group.
    #[inline(always)]
    pub(super) fn is_in_first_group(&self) -> bool {
        self.group == 0
    }

    /// Whether the tile is the last of its group.
    #[inline(always)]
    fn is_last(&self) -> bool {
        self.earlier == GROUP - 1
    }

    #[inline(always)]
    fn start(&self) -> u32 {
        self.group * PLACES
    }

    /// Where a word of a value is published.
    #[inline(always)]
    fn cell<T>(&self, place: u32, word: usize) -> &'p Atomic<u64> {
        &self.published[place as usize * (size_of::<T>() / 4) + word]
    }

    #[inline(always)]
    fn publish<T: Pod>(&self, place: u32, value: &T) {
        if warp::lane_id() == 0 {
            for (i, word) in words(value).iter().enumerate() {
                self.cell::<T>(place, i).store(1 << 32 | u64::from(*word));
            }
        }
    }

    /// A value, if all of its words are known.
    #[inline(always)]
    fn look<T: Pod>(&self, place: u32) -> Option<T> {
        let mut is_known = true;
        let value = from_words(|i| {
            let word = self.cell::<T>(place, i).load();
            is_known &= word >= 1 << 32;
            word as u32
        });
        is_known.then_some(value)
    }
}
