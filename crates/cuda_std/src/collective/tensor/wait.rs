//! Waits of a pipeline, which end, and with a message, where what they wait for cannot come.
//!
//! * A thread of the grid has panicked. It may be the one that is waited for, and the host is told of it anyway, so that a thread
//!   whose wait is not over within a millisecond or less exits, too.
//! * The roles of a block, or of the blocks of a cluster that have tiles in common, do not pass equally many stages. The producer
//!   finds that out, by [`Notes`] of those that end too early, and by stages beyond the last that it lets consumers have, and panics.
//!
//! All of this is beside the way of a kernel whose waits are short. Each instruction there counts: they stand between the
//! products, whose kernels are as long as some thousand instructions take.

use crate::abi::record;
use crate::device::{intrinsics, waiting, wgmma};

/// How many attempts of a wait fail before it looks why it is long.
const ATTEMPTS: u32 = 64;

/// What a thread in a long wait does after another thread of the grid has panicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InVain {
    /// Exits.
    Leave,
    /// Goes on as if the wait were over: the thread then accesses only stages, whose contents no longer matter.
    GoOn,
    /// Keeps waiting: the wait ends even after a panic.
    Wait,
}

/// Waits until `is_over`, each attempt for some microseconds. When some have failed, does what is to be done if a thread of the grid has
/// panicked, and otherwise calls `look` before the next one.
///
/// # Safety
///
/// Where the threads of a warp group have products under way, they come here `TOGETHER`.
#[inline(always)]
unsafe fn wait_until<const TOGETHER: bool, const CLUSTER: u32>(
    in_vain: InVain,
    is_over: impl Fn() -> bool,
    mut look: impl FnMut(),
) {
    if in_vain == InVain::Wait {
        while !is_over() {}
        return;
    }
    if is_over() {
        return;
    }
    loop {
        // Not each time, since it takes long to look into the device's memory.
        let mut attempts = 0;
        while attempts < ATTEMPTS {
            if is_over() {
                return;
            }
            // SAFETY: always.
            attempts = unsafe { waiting::add_one(attempts) };
        }
        if record::has_panicked() {
            if in_vain == InVain::GoOn {
                return;
            }
            // SAFETY: the caller's.
            unsafe { leave::<TOGETHER, CLUSTER>() }
        }
        look();
    }
}

/// Exits, when copies have arrived that were begun before, none of this thread's reads shared memory any more, and the blocks of the
/// cluster do nothing more to each other's.
///
/// # Safety
///
/// As for [`wait_until`].
#[inline(always)]
unsafe fn leave<const TOGETHER: bool, const CLUSTER: u32>() -> ! {
    intrinsics::nanosleep(100_000);
    // SAFETY: the caller's. All threads of the cluster that do not exit come to its barrier, here or at the end of their roles.
    unsafe {
        if TOGETHER {
            // The assembler has to see the end of products before that of a thread: without it, all products wait for each other.
            waiting::wgmma_abandon();
        }
        wgmma::store_wait_read();
        if CLUSTER > 1 {
            wgmma::cluster_arrive();
            wgmma::cluster_wait();
        }
    }
    #[cfg(target_arch = "nvptx64")]
    intrinsics::exit();
    #[cfg(not(target_arch = "nvptx64"))]
    intrinsics::device_only("leave")
}

/// Waits until the phase of a barrier is over, a thread that has no products under way.
///
/// The wait orders no ordinary accesses, and need not: tensor copies write the stages and products read them, and both
/// are complete when the barrier counts them. So arrivals at the barriers of other blocks need no wider scope, which
/// would make each consumer wait for its earlier stores.
#[inline(always)]
pub(super) fn wait<const CLUSTER: u32>(barrier: u32, parity: u32, in_vain: InVain, look: impl FnMut()) {
    // SAFETY: a barrier of a pipeline, which is initialised.
    unsafe {
        let is_over = || wgmma::mbarrier_try_wait(barrier, parity) != 0;
        wait_until::<false, CLUSTER>(in_vain, is_over, look);
    }
}

/// The same wait, by the threads of a warp group together.
#[inline(always)]
pub(super) fn wait_together<const CLUSTER: u32>(barrier: u32, parity: u32, in_vain: InVain) {
    // SAFETY: a barrier of a pipeline, which is initialised.
    unsafe {
        let is_over = || wgmma::mbarrier_try_wait(barrier, parity) != 0;
        wait_until::<true, CLUSTER>(in_vain, is_over, || {});
    }
}

/// The same for what other blocks of the cluster wrote before they arrived, which is seen afterwards.
#[inline(always)]
pub(super) fn wait_for_cluster<const CLUSTER: u32>(barrier: u32, parity: u32) {
    // SAFETY: a barrier that is initialised.
    unsafe {
        let is_over = || wgmma::mbarrier_try_wait_acquire_cluster(barrier, parity) != 0;
        wait_until::<true, CLUSTER>(InVain::Leave, is_over, || {});
    }
}

/// Panics: one text and one place for all that find it out.
#[cold]
#[inline(always)]
pub(super) fn unequal() -> ! {
    panic!("the producer and the consumers of a pipeline do not pass equally many stages")
}

/// With which stages the roles of a pipeline have ended, in shared memory: for each block of the cluster the producer, then each
/// warp group of consumers. 0 while a role lasts, or a [note](note_of).
#[derive(Debug)]
#[repr(C)]
pub(super) struct Notes {
    ended: [[u8; 8]; 8],
    /// The barrier at which the block's consumers arrive when their role ends.
    left: u64,
}

/// The stage that comes next, and the parity of the round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Position {
    pub(super) stage: u32,
    pub(super) round: u32,
}

impl Position {
    pub(super) const START: Self = Self { stage: 0, round: 0 };

    #[inline(always)]
    pub(super) fn advance<const STAGES: usize>(&mut self) {
        self.stage += 1;
        if self.stage == STAGES as u32 {
            self.stage = 0;
            self.round ^= 1;
        }
    }
}

/// The stage with which a role has ended, or that a wait is for, as a note: of stages that are no further apart than a pipeline has,
/// these are different.
#[inline(always)]
pub(super) fn note_of<const STAGES: usize>(Position { stage, round }: Position) -> u32 {
    const { assert!(STAGES <= 127, "a pipeline has 1 to 127 stages") };
    1 + stage + STAGES as u32 * round
}

/// The notes at an address of the block's shared memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct NotesAt {
    pub(super) address: u32,
    /// How many blocks of the cluster tell each other.
    pub(super) blocks: u32,
}

impl NotesAt {
    /// Makes them, for so many warp groups of consumers.
    ///
    /// # Safety
    ///
    /// They are in the memory of a pipeline, and no thread uses them yet.
    #[inline(always)]
    pub(super) unsafe fn initialise(self, groups: u32) {
        for block in 0..self.blocks {
            // SAFETY: the caller's.
            unsafe { waiting::clear_notes(self.address + 8 * block) };
        }
        // SAFETY: as above.
        unsafe { wgmma::mbarrier_init(self.left(), 4 * groups) };
    }

    /// The barrier at which each warp of consumers arrives when its role ends.
    #[inline(always)]
    pub(super) fn left(self) -> u32 {
        self.address + core::mem::offset_of!(Notes, left) as u32
    }

    /// Notes with which stage a role of this block has ended: the producer, 0, or a warp group of consumers, from 1.
    #[inline(always)]
    pub(super) fn end(self, role: u32, note: u32) {
        // SAFETY: of this pipeline; the other blocks of the cluster exist until all blocks are done.
        unsafe {
            if self.blocks > 1 {
                let place = self.address + 8 * intrinsics::rank_in_cluster() + role;
                for block in 0..self.blocks {
                    waiting::leave_note_to(place, block, note);
                }
            } else {
                waiting::leave_note(self.address + role, note);
            }
        }
    }

    /// Panics, if a role has ended with the stage that this producer waits for: it does not fill it, or does not release it.
    #[inline(always)]
    pub(super) fn check(self, note: u32) {
        for place in 0..8 * self.blocks {
            // SAFETY: of this pipeline.
            if unsafe { waiting::note(self.address + place) } == note {
                unequal();
            }
        }
    }
}
