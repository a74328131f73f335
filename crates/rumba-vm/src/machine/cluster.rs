//! Clusters: blocks that run at once, on one worker, and can reach each other's shared memory; their barrier, and the
//! barrier of a whole grid.
//!
//! Every block belongs to a cluster, most to one of their own. That all blocks of a cluster stay on one worker is what
//! lets shared memory do without atomic instructions. Which clusters run when is decided in [`crate::run::launch`].

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::base::lanes::{MAX_WARPS, SHARED_START};
use crate::machine::block::BlockState;
use crate::mem::arena::SHARED_STRIDE;

/// Where, in an address of the window `.shared::cluster`, the rank of the block starts. Such an address holds the rank
/// plus one, so that the block's own addresses, which hold 0, are addresses of that window as well.
pub(crate) const RANK_SHIFT: u32 = 24;

/// One block of a cluster.
#[derive(Debug)]
struct Member {
    /// Where its shared memory with offset 0 would lie.
    base: u64,
    state: *mut BlockState,
    finished: bool,
    /// Lanes that have arrived at the barrier, of each warp.
    arrived: [u32; MAX_WARPS],
    /// Lanes that have arrived, now or in the phase before, and not waited since.
    owing: [u32; MAX_WARPS],
}

/// The state that the blocks of a cluster share. All of it belongs to one worker.
#[derive(Debug, Default)]
pub(crate) struct Cluster {
    /// The members of the largest cluster so far; see [`Self::members`].
    places: Vec<Member>,
    size: usize,
    /// Whether a thread came to the barrier.
    used: bool,
    /// How often the barrier was completed.
    phase: u32,
    arrived: u32,
    live: u32,
    /// Blocks that have not finished.
    pub(crate) unfinished: u32,
    /// How many blocks in a row, when it was their turn, found nothing to do.
    pub(crate) idle: u32,
}

impl Cluster {
    fn members(&self) -> &[Member] {
        &self.places[..self.size]
    }

    /// Makes it a cluster without blocks.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.used) {
            for member in &mut self.places {
                member.arrived = [0; MAX_WARPS];
                member.owing = [0; MAX_WARPS];
            }
        }
        self.size = 0;
        self.phase = 0;
        self.arrived = 0;
        self.live = 0;
        self.unfinished = 0;
        self.idle = 0;
    }

    /// Adds a block of `threads` threads; the first has rank 0.
    pub(crate) fn join(&mut self, base: u64, state: *mut BlockState, threads: u32) {
        if let Some(member) = self.places.get_mut(self.size) {
            member.base = base;
            member.state = state;
            member.finished = false;
        } else {
            self.places.push(Member { base, state, finished: false, arrived: [0; MAX_WARPS], owing: [0; MAX_WARPS] });
        }
        self.size += 1;
        self.live += threads;
        self.unfinished += 1;
    }

    /// How often the barrier was completed.
    pub(crate) fn phase(&self) -> u32 {
        self.phase
    }

    /// Notes that a block has ended: its shared memory is gone.
    pub(crate) fn finish(&mut self, rank: u32) {
        self.places[rank as usize].finished = true;
        self.unfinished -= 1;
        self.idle = 0;
    }

    /// Notes that lanes have exited: the barrier no longer waits for them. Says whether that completed it.
    pub(crate) fn exited(&mut self, rank: u32, warp: u32, mask: u32) -> bool {
        let arrived = &mut self.places[rank as usize].arrived[warp as usize];
        self.arrived -= (*arrived & mask).count_ones();
        *arrived &= !mask;
        self.live -= mask.count_ones();
        self.complete()
    }

    /// Lanes arrive at the barrier. Says whether that completed it, or why it may not be.
    pub(crate) fn arrive(&mut self, rank: u32, warp: u32, mask: u32) -> Result<bool, String> {
        self.used = true;
        let member = &mut self.places[rank as usize];
        let again = member.owing[warp as usize] & mask;
        if again != 0 {
            return Err(format!(
                "lanes {again:#010x} arrive at the barrier of the cluster again without having waited at it"
            ));
        }
        member.owing[warp as usize] |= mask;
        member.arrived[warp as usize] |= mask;
        self.arrived += mask.count_ones();
        Ok(self.complete())
    }

    /// Lanes come to wait at the barrier: those that have to, and the phase that they wait for the end of.
    pub(crate) fn wait(&mut self, rank: u32, warp: u32, mask: u32) -> Result<(u32, u32), String> {
        let member = &mut self.places[rank as usize];
        let strange = mask & !member.owing[warp as usize];
        if strange != 0 {
            return Err(format!(
                "lanes {strange:#010x} wait at the barrier of the cluster without having arrived at it"
            ));
        }
        member.owing[warp as usize] &= !mask;
        Ok((member.arrived[warp as usize] & mask, self.phase))
    }

    fn complete(&mut self) -> bool {
        if self.arrived == 0 || self.arrived < self.live {
            return false;
        }
        self.arrived = 0;
        self.phase += 1;
        for member in &mut self.places {
            member.arrived = [0; MAX_WARPS];
        }
        true
    }

    /// How many threads have arrived at the barrier, of how many.
    pub(crate) fn progress(&self) -> (u32, u32) {
        (self.arrived, self.live)
    }

    /// Whether the block with this rank has ended.
    pub(crate) fn has_ended(&self, rank: u32) -> bool {
        self.members().get(rank as usize).is_some_and(|member| member.finished)
    }

    /// Number of blocks.
    pub(crate) fn size(&self) -> u32 {
        self.members().len() as u32
    }

    /// Where shared memory of the block with this rank starts.
    pub(crate) fn base(&self, rank: u32) -> Option<u64> {
        self.members().get(rank as usize).map(|member| member.base)
    }

    /// The block whose shared memory holds a host address, and the offset in it.
    pub(crate) fn owner(&self, address: u64) -> Option<(u32, u64)> {
        self.members().iter().zip(0..).find_map(|(member, rank)| {
            let offset = address.wrapping_sub(member.base);
            (offset < SHARED_STRIDE as u64).then_some((rank, offset))
        })
    }

    /// The rank and the offset that an address of the window `.shared::cluster` means, seen from the block `own`.
    pub(crate) fn split(address: u64, own: u32) -> (u32, u64) {
        match address >> RANK_SHIFT {
            0 => (own, address),
            rank => ((rank - 1).min(u64::from(u32::MAX)) as u32, address & ((1 << RANK_SHIFT) - 1)),
        }
    }

    /// The address in that window of an offset in the shared memory of a block.
    pub(crate) fn address(rank: u32, offset: u64) -> u64 {
        (u64::from(rank) + 1) << RANK_SHIFT | offset
    }

    /// The host address of `bytes` bytes at `offset` in the shared memory of a block, which ends at `end`.
    pub(crate) fn resolve(&self, rank: u32, offset: u64, bytes: u64, end: u64) -> Result<u64, String> {
        let Some(member) = self.members().get(rank as usize) else {
            return Err(format!(
                "that is the shared memory of block {rank} of the cluster, which has {}",
                self.members().len()
            ));
        };
        if member.finished {
            return Err(format!("that is the shared memory of block {rank} of the cluster, which has ended"));
        }
        if offset < SHARED_START || offset.saturating_add(bytes) > end {
            return Err(format!(
                "the shared memory of block {rank} of the cluster has {} bytes and starts at {SHARED_START:#x}",
                end.saturating_sub(SHARED_START)
            ));
        }
        Ok(member.base + offset)
    }

    /// The state of the block with this rank.
    pub(crate) fn state(&self, rank: u32) -> Option<*mut BlockState> {
        self.members().get(rank as usize).map(|member| member.state)
    }
}

/// The barrier of a grid, for all its blocks on all workers.
#[derive(Debug)]
pub(crate) struct GridBarrier {
    phase: AtomicU32,
    state: Mutex<GridState>,
}

#[derive(Debug)]
struct GridState {
    arrived: u64,
    /// Blocks that have not ended.
    live: u64,
    /// How often anything was done that may let a waiting block go on, and how many blocks were found to wait since then.
    epoch: u64,
    stalled: u64,
}

impl GridBarrier {
    pub(crate) fn new(blocks: u64) -> Self {
        Self {
            phase: AtomicU32::new(0),
            state: Mutex::new(GridState { arrived: 0, live: blocks, epoch: 1, stalled: 0 }),
        }
    }

    /// How often it was completed.
    pub(crate) fn phase(&self) -> u32 {
        self.phase.load(Ordering::Acquire)
    }

    /// A block arrives with all its threads.
    pub(crate) fn arrive(&self) {
        self.change(|state| state.arrived += 1);
    }

    /// Blocks have ended, and are no longer waited for.
    pub(crate) fn finish(&self, blocks: u64) {
        self.change(|state| state.live -= blocks);
    }

    /// A block did something for which others may be waiting.
    pub(crate) fn progressed(&self) {
        self.change(|_| {});
    }

    /// How often a block did something for which others may be waiting.
    pub(crate) fn epoch(&self) -> u64 {
        self.state().epoch
    }

    /// Notes that a block has only waited for other blocks since the epoch `now`; `seen` is the last epoch in which it
    /// was noted. Returns whether all blocks that have not ended only wait.
    pub(crate) fn stalls(&self, now: u64, seen: &mut u64) -> bool {
        let mut state = self.state();
        if now != state.epoch {
            return false;
        }
        if std::mem::replace(seen, now) != now {
            state.stalled += 1;
        }
        state.stalled >= state.live
    }

    fn state(&self) -> MutexGuard<'_, GridState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut GridState)) {
        let mut state = self.state();
        change(&mut state);
        state.epoch += 1;
        state.stalled = 0;
        if state.arrived > 0 && state.arrived >= state.live {
            state.arrived = 0;
            self.phase.fetch_add(1, Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> Cluster {
        let mut cluster = Cluster::default();
        cluster.join(0x10_0000, std::ptr::null_mut(), 32);
        cluster.join(0x20_0000, std::ptr::null_mut(), 33);
        cluster
    }

    #[test]
    fn the_barrier_waits_for_every_thread_that_has_not_exited() {
        let mut cluster = pair();
        assert_eq!(cluster.arrive(0, 0, u32::MAX), Ok(false));
        assert_eq!(cluster.wait(0, 0, 1), Ok((1, 0)));
        assert_eq!(cluster.arrive(1, 0, u32::MAX), Ok(false));
        assert!(cluster.exited(1, 1, 1));
        assert_eq!(cluster.wait(1, 0, u32::MAX), Ok((0, 1)));
        assert_eq!(cluster.phase(), 1);
    }

    #[test]
    fn arriving_twice_and_waiting_unarrived_are_mistakes() {
        let mut cluster = pair();
        assert!(cluster.wait(0, 0, 4).is_err());
        cluster.arrive(0, 0, 7).unwrap();
        assert!(cluster.arrive(0, 0, 2).is_err());
    }

    #[test]
    fn addresses_belong_to_blocks_that_have_not_ended() {
        let mut cluster = pair();
        assert_eq!(cluster.owner(0x20_0010), Some((1, 16)));
        assert_eq!(cluster.owner(0x30_0010), None);
        let (rank, offset) = Cluster::split(Cluster::address(1, 1028), 0);
        assert_eq!((rank, offset), (1, 1028));
        assert_eq!(cluster.resolve(rank, offset, 4, 1032), Ok(0x20_0404));
        assert!(cluster.resolve(rank, offset, 8, 1032).is_err());
        assert!(cluster.resolve(2, offset, 4, 1032).is_err());
        cluster.finish(1);
        assert!(cluster.resolve(rank, offset, 4, 1032).is_err());
    }

    #[test]
    fn a_grid_stalls_when_all_its_blocks_do() {
        let barrier = GridBarrier::new(3);
        let [mut a, mut b] = [0; 2];
        let first = barrier.epoch();
        assert!(!barrier.stalls(first, &mut a) && !barrier.stalls(first, &mut a) && !barrier.stalls(first, &mut b));
        barrier.finish(1);
        assert!(!barrier.stalls(barrier.epoch(), &mut a));
        barrier.progressed();
        assert!(!barrier.stalls(barrier.epoch(), &mut b));
        assert!(!barrier.stalls(first, &mut a));
        assert!(barrier.stalls(barrier.epoch(), &mut a));
    }

    #[test]
    fn a_grid_does_not_wait_for_blocks_that_have_ended() {
        let barrier = GridBarrier::new(3);
        barrier.arrive();
        barrier.arrive();
        assert_eq!(barrier.phase(), 0);
        barrier.finish(1);
        assert_eq!(barrier.phase(), 1);
    }
}
