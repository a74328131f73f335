//! How the threads of a block, and the blocks of a cluster, begin the roles of a pipeline: all of them, and with the same task.
//!
//! Blocks of a cluster arrive at each other's barriers and copy to each other's stages, which a block that has ended does not have any
//! more. So each block first writes to its own memory that it is here, and looks into that of the others behind a barrier of the cluster.
//! Until then their memory is there: the last thread of a block that returns without roles waits for the others to look. A thread
//! that panics waits for nothing, but is noted for the whole grid.

use crate::abi::record;
use crate::collective::agreement::are_equal;
use crate::device::sync::{sync_threads, sync_threads_count};
use crate::device::thread::{index_in_block, threads_in_block};
use crate::device::warp_group::load_four;
use crate::device::{waiting, wgmma};

/// What the threads of a block, and the blocks of a cluster, have to pass alike: the stages of a sum, the tiles, and the memory of results.
pub(super) type Task = [u32; 7];

/// The threads that have to call a pipeline's roles, and the arguments that all of them have to pass.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meet {
    /// The arguments that determine the number of stages. None for roles that detect unequal numbers themselves.
    pub(super) task: Option<Task>,
    /// Whether blocks of a cluster use each other's memory.
    pub(super) joint: bool,
}

/// The description of a block's call in shared memory.
#[derive(Debug)]
#[repr(C, align(16))]
pub(super) struct Meeting {
    /// 0, or [`HERE`] and the task.
    words: [u32; 8],
    /// Threads that have returned without roles.
    ended: u32,
}

/// The block has come to its roles.
const HERE: u32 = 1;

/// The meeting at an address of the block's shared memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct MeetingAt(pub(super) u32);

impl MeetingAt {
    /// The block is not here yet. All threads of the block come here, before any of them may end.
    #[inline(always)]
    pub(super) fn open(self) {
        if index_in_block() == 0 {
            // SAFETY: the meeting's memory.
            unsafe {
                waiting::store_word(self.0, 0);
                waiting::store_word(self.ended(), 0);
            }
        }
        sync_threads();
    }

    /// Writes that this block is here, one thread of it, and its task.
    #[inline(always)]
    pub(super) fn come(self, task: Task) {
        let [a, b, c, d, e, f, g] = task;
        // SAFETY: the meeting's memory. Threads that return meanwhile read the first word.
        unsafe {
            waiting::store_word(self.0, HERE);
            waiting::store_word(self.0 + 4, a);
            wgmma::store_pair(self.0 + 8, b, c);
            wgmma::store_pair(self.0 + 16, d, e);
            wgmma::store_pair(self.0 + 24, f, g);
        }
    }

    /// Whether all threads of the block have come with the same task, and so have all `BLOCKS` blocks of the cluster where these are several.
    /// All threads come here, behind a barrier of those that have to be here.
    ///
    /// Each thread looks at all blocks: a look by some, whose result depends on the thread, costs registers in the roles.
    #[inline(always)]
    pub(super) fn is_complete<const BLOCKS: u32>(self, task: Task) -> bool {
        let [a, b, c, d, e, f, g] = task;
        let own = [HERE, a, b, c, d, e, f, g];
        let words = |[a, b, c, d]: [u32; 4], [e, f, g, h]: [u32; 4]| [a, b, c, d, e, f, g, h];
        // SAFETY: the meeting's memory, which a thread has written before the barrier if it is here.
        let here = |block: u32| unsafe {
            HERE == if BLOCKS > 1 { waiting::word_of(self.0, block) } else { waiting::word(self.0) }
        };
        // SAFETY: as above.
        let agrees = |block: u32| unsafe {
            let load = |address| {
                if BLOCKS > 1 { wgmma::load_four(address, block).map(f32::to_bits) } else { load_four(address) }
            };
            are_equal(words(load(self.0), load(self.0 + 16)), own)
        };
        // A block that panicked has recorded its panic; other blocks keep their memory until all blocks have compared.
        let is_safe = BLOCKS == 1 || !record::has_panicked();
        let all = is_safe && (0..BLOCKS).all(here) && (0..BLOCKS).all(agrees);
        sync_threads_count(all) == threads_in_block()
    }

    /// The end of a thread. The last one of a block without roles waits until blocks that have come have looked, and have ended then.
    #[inline(always)]
    pub(super) fn leave(self) {
        // SAFETY: the meeting's memory; all threads of the cluster that do not exit come to its barrier twice, here or in their roles.
        unsafe {
            if waiting::word(self.0) == 0 && waiting::count_one(self.ended()) + 1 == threads_in_block() {
                wgmma::cluster_arrive();
                wgmma::cluster_wait();
                wgmma::cluster_arrive();
                wgmma::cluster_wait();
            }
        }
    }

    #[inline(always)]
    fn ended(self) -> u32 {
        self.0 + core::mem::offset_of!(Meeting, ended) as u32
    }
}
