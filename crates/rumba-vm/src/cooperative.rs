//! The functions of cooperative groups that compiled code calls by name instead of bringing them: `cudaCGSynchronize`
//! and its kin, for the group of all threads of a grid.
//!
//! Groups of several grids are refused: no launch makes them. Newer compilers do without these functions: the code finds
//! its workspace in `%envreg1` and `%envreg2` and builds a barrier there.

use crate::access::Element;
use crate::block::BlockState;
use crate::native::{argument, set_result, writable};
use crate::op::{Handlers, Pc};
use crate::warp::{Wait, Warp, lanes_of};

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
    // SAFETY: the block is not in use by anybody else while one of its warps runs.
    let block: &mut BlockState = unsafe { &mut *warp.block };
    let phase = block.arrive_at_grid(waiting.count_ones());
    warp.observe_grid(phase, waiting, true);
    warp.park_some(pc.next(), waiting, Wait::Grid { phase })
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
    // SAFETY: the block is not in use by anybody else while one of its warps runs.
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
