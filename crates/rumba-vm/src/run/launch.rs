//! Running a kernel: the assignment of blocks to workers, and their order.
//!
//! Workers take blocks in order from a counter. A block that does not finish within its turn may be waiting for others: its worker
//! then starts more blocks, up to what a device would keep resident, and lets them take turns. [`crate::run::resident`] describes the
//! initial state of a block.

use std::collections::VecDeque;

use thiserror::Error;

use crate::check::turns::Turns;
use crate::machine::context::Context;
use crate::machine::fault::{Fault, LaunchError};
use crate::run::alone::{Attempt, Attempts};
use crate::run::block::{Outcome, WARP_TURN};
use crate::run::faults;
use crate::run::progress::{Done, Progress};
use crate::run::resident::InitialState;
use crate::run::seeded;
use crate::run::share::Share;
use crate::run::worker::Worker;

/// The number of operations after which a worker switches to other blocks.
const BLOCK_TURN: u64 = 1 << 20;
/// The same number in a run with a seed: more blocks are under way at once.
const SHORT_TURN: u64 = 1 << 14;
/// The same number, and that for a warp, while launches take turns: one of them mostly polls until the other one has got on.
const JOINT_TURN: i32 = 1 << 12;

/// The parameters of a launch.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// The parameters, laid out as the kernel declares them.
    pub parameters: &'a [u8],
    /// Whether all blocks have to be resident at once.
    pub cooperative: bool,
    /// Blocks of a cluster in each dimension, if the launch says so.
    pub cluster: Option<[u32; 3]>,
    /// The ordinal of the device that the kernel runs on, as far as scopes of memory operations depend on it.
    pub device: u32,
}

/// The statistics of a launch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Operations executed, each for a whole warp.
    pub warp_instructions: u64,
    /// Blocks executed.
    pub blocks: u64,
    /// Workers that took part.
    pub workers: usize,
}

/// Why a launch failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LaunchFailure {
    /// The launch was refused before it began.
    #[error(transparent)]
    Refused(#[from] LaunchError),
    /// The kernel made a mistake.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// A worker's part of a launch.
pub(crate) fn work(context: &Context<'_>, progress: &Progress, worker: &mut Worker) {
    let size = context.cluster_size() as usize;
    let initial = worker.reset(context);
    let mut work = Work {
        context,
        progress,
        initial,
        worker,
        share: Share::new(context),
        alone: Attempts::default(),
        done: Done::default(),
        running: VecDeque::new(),
        wanted: if context.cooperative { context.residency } else { size },
        is_drained: false,
        waiting: 0,
    };
    loop {
        let _turn = context.place_in_session.turns.map(Turns::take);
        work.begin();
        let Some(current) = work.running.pop_front() else { break };
        work.turn(current);
    }
    work.done.tell(context, progress);
}

/// The state of a worker during a launch.
struct Work<'a, 'c> {
    context: &'a Context<'c>,
    progress: &'a Progress,
    initial: InitialState<'a>,
    worker: &'a mut Worker,
    share: Share,
    alone: Attempts,
    done: Done,
    /// The residents whose blocks take turns.
    running: VecDeque<usize>,
    /// The number of blocks that take turns, as long as there are enough.
    wanted: usize,
    /// Whether no block is left to begin.
    is_drained: bool,
    /// The number of consecutive turns in which a block had nothing to do.
    waiting: usize,
}

impl Work<'_, '_> {
    /// Begins blocks until enough of them take turns.
    fn begin(&mut self) {
        let (context, progress) = (self.context, self.progress);
        let size = context.cluster_size() as usize;
        while !self.is_drained && self.worker.busy() + size <= self.wanted {
            if self.share.is_used_up() && (self.done.blocks > 0 || self.done.operations > 0) {
                self.done.tell(context, progress);
            }
            let cluster = if progress.is_halted() { None } else { self.share.take(context) };
            let cluster = cluster.map(|(cluster, coordinates)| (cluster * size as u64, coordinates));
            let Some(cluster @ (first, coordinates)) = cluster.filter(|(first, _)| !progress.is_needless(*first))
            else {
                self.is_drained = true;
                return;
            };
            let begun = match self.alone.run(&self.initial, self.worker, cluster, self.share.end(), &mut self.done) {
                Attempt::Ended => continue,
                Attempt::Begun(begun) => Some(begun),
                Attempt::None => None,
            };
            if let Some(seed) = context.seed {
                self.initial.native = seeded::code(context, seed, first, progress.executed() + self.done.operations);
            }
            match self.worker.begin(&self.initial, cluster, begun) {
                Ok(members) => self.running.extend(members),
                Err(error) => progress.fail(context, first, faults::refused(context, coordinates, &error)),
            }
        }
    }

    /// Gives a block its turn.
    fn turn(&mut self, current: usize) {
        let (context, progress) = (self.context, self.progress);
        self.worker.forget_what_was_freed(context);
        let resident = self.worker.resident(current);
        let index = resident.index;
        if progress.is_needless(index) || progress.is_over(context) {
            return self.worker.finish(current);
        }
        if progress.is_halted() {
            return progress.was_live(resident.block.live(context));
        }
        let epoch = if context.cooperative { context.grid_barrier.epoch() } else { 0 };
        let outcome = resident.block.run(turn_of(context), self.initial.runner.as_ref(), &mut self.done.operations);
        if let Outcome::Finished = outcome {
            self.done.block(context);
            self.waiting = 0;
            context.observe_end(index as u32);
            return self.worker.finish(current);
        }
        // Other blocks may be waiting for the effects of this turn.
        self.done.tell(context, progress);
        if !matches!(outcome, Outcome::Blocked { progress: false, .. }) {
            self.worker.cluster(current).idle = 0;
            self.waiting = 0;
            if context.cooperative {
                context.grid_barrier.progressed();
            }
        }
        match outcome {
            Outcome::Finished => {}
            Outcome::Preempted => {
                self.wanted = (self.wanted + context.cluster_size() as usize).min(context.residency);
                self.running.push_back(current);
            }
            Outcome::Blocked { grid, .. } => self.blocked(current, epoch, grid),
            Outcome::Deadlock => {
                progress.fail(context, index, faults::deadlock(context, self.worker, current, false));
                self.worker.finish(current);
            }
            Outcome::Fault(warp, raw) => {
                let block = &self.worker.known(current).block;
                progress.fail(context, index, faults::describe(context, block, warp, *raw, Vec::new()));
                self.worker.finish(current);
            }
        }
    }

    /// Handles a block all of whose threads wait: for blocks of its cluster, for the grid, or in vain.
    fn blocked(&mut self, current: usize, epoch: u64, waits_for_grid: bool) {
        let (context, progress) = (self.context, self.progress);
        let cluster = self.worker.cluster(current);
        cluster.idle = if waits_for_grid { 0 } else { cluster.idle + 1 };
        let is_alone = cluster.idle > cluster.unfinished;
        let resident = self.worker.resident(current);
        let is_all = context.cooperative && context.grid_barrier.stalls(epoch, &mut resident.stalled);
        if is_alone || is_all {
            // If another block has failed, this block may be waiting for it, and the deadlock is not reported.
            let index = resident.index;
            if !progress.has_failed() {
                progress.fail(context, index, faults::deadlock(context, self.worker, current, !is_alone));
            }
            return self.worker.finish(current);
        }
        self.running.push_back(current);
        self.waiting += 1;
        if self.waiting > self.running.len() {
            // The blocks of this worker wait for blocks of other workers.
            std::thread::yield_now();
        }
    }
}

/// The number of operations of a block's turn, and of a warp's turn in it.
fn turn_of(context: &Context<'_>) -> (u64, i32) {
    if context.place_in_session.turns.is_some_and(Turns::are_shared) {
        return (JOINT_TURN as u64, JOINT_TURN);
    }
    (if context.seed.is_some() { SHORT_TURN } else { BLOCK_TURN }, WARP_TURN)
}
