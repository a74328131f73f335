//! The functions of cooperative groups that compiled code calls by name instead of bringing them: `cudaCGSynchronize`
//! and its kin, for the group of all threads of a grid.
//!
//! A barrier of that kind that is never completed is found here, too: the workspace is the launch's own, so that once all
//! threads of the grid have exited, wait, or only ask whether the counter there has changed, nothing can change it.
//!
//! Groups of several grids are refused: no launch makes them. Newer compilers do without these functions: the code finds
//! its workspace in `%envreg1` and `%envreg2` and builds a barrier there.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::base::lanes::lanes_of;
use crate::check::race::Arriving;
use crate::isa::native::{argument, set_result, writable};
use crate::machine::block::BlockState;
use crate::machine::op::{Handlers, Pc};
use crate::machine::warp::{Wait, Warp};
use crate::mem::atomic::Element;

/// Where the counter lies in a grid's workspace.
const GRID_COUNTER: u64 = 4;

/// `cudaCGScopeGrid`
const SCOPE_GRID: u64 = 1;

/// `cudaSuccess`
const SUCCESS: u64 = 0;
/// `cudaErrorInvalidValue`
const INVALID_VALUE: u64 = 1;

/// The operation behind a name, and whether it may have to wait.
pub(crate) fn find(name: &str) -> Option<(Handlers, bool)> {
    Some(match name {
        "cudaCGGetIntrinsicHandle" => (Handlers::same(handle), false),
        "cudaCGSynchronize" | "cudaCGSynchronizeGrid" => (Handlers::same(synchronize), true),
        "cudaCGGetSize" => (Handlers::same(size), false),
        "cudaCGGetRank" => (Handlers::same(rank), false),
        _ => return None,
    })
}

/// `handle = cudaCGGetIntrinsicHandle(scope)`; 0 if the launch has no such group.
unsafe fn handle(warp: &mut Warp, pc: Pc) -> Pc {
    let workspace = warp.context().grid_workspace;
    for lane in lanes_of(warp.active) {
        let scope = argument(warp, pc.a, lane) as u32;
        let handle = if u64::from(scope) == SCOPE_GRID { workspace } else { 0 };
        set_result(warp, pc, lane, handle);
    }
    pc.next()
}

/// Whether a handle is that of the launch's grid.
fn is_grid(warp: &Warp, handle: u64) -> bool {
    handle != 0 && handle == warp.context().grid_workspace
}

/// `error = cudaCGSynchronize(handle, flags)`
unsafe fn synchronize(warp: &mut Warp, pc: Pc) -> Pc {
    let mut waiting = 0;
    for lane in lanes_of(warp.active) {
        let known = is_grid(warp, argument(warp, pc.a, lane));
        waiting |= u32::from(known) << lane;
        set_result(warp, pc, lane, if known { SUCCESS } else { INVALID_VALUE });
    }
    if waiting == 0 {
        return pc.next();
    }
    // SAFETY: the block is not in use elsewhere while one of its warps runs.
    let block: &mut BlockState = unsafe { &mut *warp.block };
    let phase = block.arrive_at_grid(waiting.count_ones());
    warp.observe_grid(phase, waiting, Some(Arriving::Waiting));
    warp.park_some(pc.next(), waiting, Wait::Grid { phase })
}

/// Reads of the barrier's state that find the same, with nothing else in between, after which they count as in vain.
const VAIN: u32 = 256;
/// Operations between two of them that are no more than a loop that asks.
const ASKING: u64 = 64;

impl Warp {
    /// The active lanes have read from `[a + imm]`, and may be waiting there for something.
    pub(crate) fn poll_grid_barrier(&mut self, pc: Pc) {
        let workspace = self.context().grid_workspace;
        if workspace == 0 {
            return;
        }
        let addresses = self.lanes::<u64>(pc.a);
        let asks = |lane: usize| {
            // SAFETY: the slot has 32 lanes of 64 bits.
            let address = unsafe { (*addresses.add(lane)).wrapping_add(pc.imm) };
            (address == workspace + GRID_COUNTER).then_some(address)
        };
        let Some(address) = lanes_of(self.active).map(asks).reduce(|a, b| if a == b { a } else { None }).flatten()
        else {
            return;
        };
        // SAFETY: it was just found to be that of the workspace.
        let found = unsafe { grid_counter(address) };
        self.grid_polls.record(self.executed(), found.into(), ASKING);
    }

    /// Whether lanes do nothing but ask the barrier of the grid, which has not changed since they began, and all others of
    /// the warp wait.
    pub(crate) fn asks_grid(&self) -> bool {
        let polls = &self.grid_polls;
        polls.is_vain(VAIN)
            && polls.since(self.executed()) <= ASKING
            && self.splits.iter().all(|split| split.wait != Wait::Ready)
            // SAFETY: only a launch with a workspace waits for its grid.
            && u64::from(unsafe { grid_counter(self.context().grid_workspace + GRID_COUNTER) }) == polls.found()
    }
}

/// The value of the counter of a grid's barrier.
///
/// # Safety
/// The address is that of the counter in the workspace of a launch under way.
unsafe fn grid_counter(address: u64) -> u32 {
    // SAFETY: the caller's promise; others may change it at any time.
    unsafe { AtomicU32::from_ptr(address as *mut u32) }.load(Ordering::Acquire)
}

/// Writes two words where two pointers say, unless they are null.
fn write_pair(warp: &Warp, pc: Pc, lane: usize, values: [u32; 2]) -> bool {
    let mut fine = true;
    for (slot, value) in [pc.a, pc.b].into_iter().zip(values) {
        let address = argument(warp, slot, lane);
        if address == 0 {
            continue;
        }
        if !address.is_multiple_of(4) || writable(warp, lane, address) < 4 {
            fine = false;
            continue;
        }
        // SAFETY: the four bytes were just found to be the device's; races are the kernel's own.
        unsafe { u32::write(address, value) };
    }
    fine
}

/// `error = cudaCGGetSize(&threads, &grids, handle)`
unsafe fn size(warp: &mut Warp, pc: Pc) -> Pc {
    let context = warp.context();
    let threads = (context.blocks() * u64::from(context.threads())) as u32;
    for lane in lanes_of(warp.active) {
        let known = is_grid(warp, argument(warp, pc.c, lane));
        let fine = known && write_pair(warp, pc, lane, [threads, 1]);
        set_result(warp, pc, lane, if fine { SUCCESS } else { INVALID_VALUE });
    }
    pc.next()
}

/// `error = cudaCGGetRank(&thread, &grid, handle)`
unsafe fn rank(warp: &mut Warp, pc: Pc) -> Pc {
    let context = warp.context();
    // SAFETY: the block is not in use elsewhere while one of its warps runs.
    let block = unsafe { (*warp.block).coordinates };
    let [width, height, _] = context.grid.map(u64::from);
    let number = u64::from(block[0]) + width * (u64::from(block[1]) + height * u64::from(block[2]));
    let first = number * u64::from(context.threads()) + u64::from(warp.index) * 32;
    for lane in lanes_of(warp.active) {
        let known = is_grid(warp, argument(warp, pc.c, lane));
        let fine = known && write_pair(warp, pc, lane, [(first + lane as u64) as u32, 0]);
        set_result(warp, pc, lane, if fine { SUCCESS } else { INVALID_VALUE });
    }
    pc.next()
}
