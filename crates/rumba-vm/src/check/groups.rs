//! The instructions that the warps of a warp group have executed together, and how many registers their threads
//! have.

use std::collections::VecDeque;

use crate::check::notes::Actor;

/// Warps of a warp group.
pub(crate) const GROUP_WARPS: usize = 4;

/// The instructions of one warp group that all its warps have to execute (manual, section 9.7.16.2: "All the warps in the
/// warpgroup must execute the same `wgmma` instruction").
#[derive(Debug, Default)]
pub(crate) struct WarpGroup {
    /// The instructions that some warps have reached, but not all, with the first warp that reached each.
    ahead: VecDeque<(u32, u32)>,
    /// How many came before these, and how many each warp has come to.
    passed: u64,
    came: [u64; GROUP_WARPS],
    /// Whether a mistake of the group was reported: all later instructions would be reported, too.
    told: bool,
    /// Registers of each of its threads, if they were changed, and where.
    pub(crate) registers: Option<(u32, Actor)>,
}

impl WarpGroup {
    /// A warp comes to such an instruction. Another one and its warp, if that came to it instead.
    pub(crate) fn come(&mut self, warp: u32, source: u32) -> Option<(u32, u32)> {
        let came = &mut self.came[warp as usize % GROUP_WARPS];
        let place = (*came - self.passed) as usize;
        *came += 1;
        match self.ahead.get(place) {
            None => self.ahead.push_back((source, warp)),
            Some(known) if known.0 != source => {
                return (!std::mem::replace(&mut self.told, true)).then_some(*known);
            }
            Some(_) => {}
        }
        let all = self.came.into_iter().min().unwrap_or(0);
        while self.passed < all {
            self.ahead.pop_front();
            self.passed += 1;
        }
        None
    }

    /// The next instruction that a warp has not come to but another one has: told once.
    pub(crate) fn missed_by(&mut self, warp: u32) -> Option<(u32, u32)> {
        let place = (self.came[warp as usize % GROUP_WARPS] - self.passed) as usize;
        let missed = *self.ahead.get(place)?;
        (!std::mem::replace(&mut self.told, true)).then_some(missed)
    }
}
