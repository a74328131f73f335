//! Blocks that run from their first operation to their last without being started: nothing is prepared for warps that wait.

use crate::run::ahead::Ahead;
use crate::run::block::Begun;
use crate::run::progress::Done;
use crate::run::resident::InitialState;
use crate::run::worker::Worker;

/// A block may have to be started after all once for so many blocks that have ended, and so often at first.
const SUCCESSES: u64 = 8;
const FIRST: u64 = 32;

/// The result of running a block without starting it.
pub(super) enum Attempt {
    /// The block was not tried.
    None,
    /// The block has ended.
    Ended,
    /// The block has to be started. Its resident is the last idle one.
    Begun(Begun),
}

/// The record of a worker's attempts to run blocks without starting them.
#[derive(Default)]
pub(super) struct Attempts {
    ended: u64,
    begun: u64,
    ahead: Ahead,
}

impl Attempts {
    /// Tries to run a block without starting it, given its number and its coordinates, and the end of the blocks that the worker
    /// runs next.
    pub(super) fn run(
        &mut self,
        initial: &InitialState<'_>,
        worker: &mut Worker,
        (number, coordinates): (u64, [u32; 3]),
        end: u64,
        done: &mut Done,
    ) -> Attempt {
        let context = initial.context;
        worker.forget_what_was_freed(context);
        let (Some(runner), Some(resident)) = (initial.runner.as_ref().filter(|_| initial.is_alone), worker.next_idle())
        else {
            return Attempt::None;
        };
        if self.begun * SUCCESSES > self.ended + FIRST || !resident.is_prepared(context) {
            return Attempt::None;
        }
        let place = context.place(coordinates, 0);
        resident.index = number;
        let ahead = |warp| self.ahead.before(warp, number, end);
        match resident.run_alone(initial, runner, &place, ahead, &mut done.operations) {
            Ok(()) => {
                self.ended += 1;
                if let (Some(native), Some(sites)) = (context.native, worker.sites()) {
                    self.ahead.after(number, sites, &native.metadata.sites, initial.warps);
                }
                done.block(context);
                Attempt::Ended
            }
            Err(begun) => {
                self.begun += 1;
                Attempt::Begun(begun)
            }
        }
    }
}
